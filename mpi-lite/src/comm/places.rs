//! Chooses the place of the node's memory where the members of a communicator have their site.
//!
//! Each process keeps a set of places that it may use. When a communicator is made its members
//! exchange these sets (`context`), and take the first place that is free for all of them. Slots
//! belong to ranks of the node, so groups without a common member may take the same place.
//!
//! A process that has left a place may use it again when all others have left it too. Until then
//! one of them may still have to read what this process brought there.

use crate::node::site::{PLACES, Site, SiteId};

/// The place of `MPI_COMM_WORLD`.
pub(super) const WORLD: SiteId = SiteId { place: 0, last: 0 };

const _: () = assert!(PLACES == u64::BITS);

/// Half of the places.
const HALF: u64 = u32::MAX as u64;

/// How far apart the first places of neighbouring hints are: odd, and about the golden section of
/// all places, so that few hints are spread evenly.
const APART: u32 = 39;

/// What a process offers when a communicator is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    /// Places that it may use, a bit each.
    pub(super) free: u64,
    /// The greatest number of an epoch that it has seen at any of them.
    pub(super) last: u64,
}

impl Offer {
    /// The offer of a process that takes any place.
    pub(super) const ANY: Self = Self {
        free: u64::MAX,
        last: 0,
    };

    /// Returns what both offer.
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            free: self.free & other.free,
            last: self.last.max(other.last),
        }
    }

    /// Returns the site that they take, if a place is free for all of them.
    pub(super) fn site_id(self) -> Option<SiteId> {
        let place = self.free.trailing_zeros();
        let last = self.last;
        (place < PLACES).then_some(SiteId { place, last })
    }
}

/// The places of a process.
#[derive(Debug)]
pub(super) struct Places {
    offer: Offer,
    /// Sites that this process has left.
    left: Vec<Site>,
}

impl Default for Places {
    fn default() -> Self {
        let offer = Offer {
            free: !(1 << WORLD.place),
            last: 0,
        };
        let left = Vec::new();
        Self { offer, left }
    }
}

impl Places {
    /// Returns places that may be used. They are offered to no other communicator until `settle`.
    ///
    /// Without a `hint` these are all that are free. With one it is half of the places, from one
    /// on that depends on the hint, as far as they are free. So several communicators that are made
    /// at once, with different hints, are offered different places, and their processes find a
    /// common one whichever they come to first. If they find none, they make do with messages.
    pub(super) fn offer(&mut self, hint: Option<u32>) -> Offer {
        let offer = &mut self.offer;
        self.left.retain(|site| {
            let is_over = site.is_over();
            if is_over {
                let SiteId { place, last } = site.site_id();
                offer.free |= 1 << place;
                offer.last = offer.last.max(last);
            }
            !is_over
        });
        let first = hint.map(|hint| hint.wrapping_mul(APART) % PLACES);
        let half = first.map_or(u64::MAX, |first| HALF.rotate_left(first));
        let Offer { free, last } = self.offer;
        let free = match free & half {
            0 => free,
            some => some,
        };
        self.offer.free &= !free;
        Offer { free, last }
    }

    /// Notes which of the offered places was taken.
    pub(super) fn settle(&mut self, offered: Offer, taken: Option<SiteId>) {
        let taken = taken.map_or(0, |site_id| 1 << site_id.place);
        self.offer.free |= offered.free & !taken;
    }

    /// Notes that this process comes to `site` no more.
    pub(super) fn leave(&mut self, site: Site) {
        site.leave();
        self.left.push(site);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two processes make two communicators at once and come to them in different order.
    #[test]
    fn communicators_made_at_once_find_places_in_any_order() {
        let pairs = (0..64).flat_map(|one| (1..=16).map(move |by| (one, one + by)));
        for (one, other) in pairs {
            let [mut here, mut there] = [Places::default(), Places::default()];
            let first = here.offer(Some(one));
            let second = here.offer(Some(other));
            let others = there.offer(Some(other));
            let ones = there.offer(Some(one));
            let [place, another] = [first.and(ones), second.and(others)].map(Offer::site_id);
            assert!(place.is_some() && another.is_some(), "{one} and {other}");
            assert_ne!(place, another);
        }
    }

    #[test]
    fn all_places_are_offered_in_the_end() {
        let mut places = Places::default();
        let mut taken = 0_u64;
        for _ in 1..PLACES {
            let offered = places.offer(Some(5));
            let site_id = offered.site_id().unwrap();
            places.settle(offered, Some(site_id));
            taken |= 1 << site_id.place;
        }
        assert_eq!(taken, !(1 << WORLD.place));
        assert_eq!(places.offer(Some(5)).site_id(), None);
    }
}
