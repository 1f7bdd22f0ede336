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

    /// The offer of a process that has no place.
    pub(super) const NONE: Self = Self { free: 0, last: 0 };

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
    /// Returns the places that may be used. Nothing is offered to another communicator until
    /// `settle`.
    pub(super) fn offer(&mut self) -> Offer {
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
        let offered = self.offer;
        self.offer.free = 0;
        offered
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
