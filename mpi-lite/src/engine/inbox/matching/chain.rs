//! Lists of places, threaded through an array: append and take out of the middle, in constant time
//! and without allocation.

const NONE: u32 = u32::MAX;

/// Bit of a chain of more than one place.
const MANY: u32 = 1 << 31;

/// The first place of a list, and whether others follow it. One word, because there is one for each
/// label of a deep queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chain(u32);

impl Chain {
    pub(super) const EMPTY: Self = Self(NONE);

    fn alone(place: u32) -> Self {
        assert!(place < NONE & !MANY, "fewer than 2^31 things wait");
        Self(place)
    }

    fn followed(place: u32) -> Self {
        Self(place | MANY)
    }

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self.0 == NONE
    }

    fn is_many(self) -> bool {
        self.0 & MANY != 0
    }

    #[inline]
    pub(super) fn first(self) -> Option<u32> {
        (!self.is_empty()).then_some(self.0 & !MANY)
    }
}

#[derive(Clone, Copy, Debug)]
struct Link {
    /// Of the first place, the last one.
    before: u32,
    after: u32,
}

/// The places before and behind each place in the one chain that it is in. They are not read for a
/// place that is alone: most chains have one place, and memory that is not touched costs nothing.
#[derive(Debug, Default)]
pub(super) struct Links(Vec<Link>);

impl Links {
    pub(super) fn append(&mut self, chain: &mut Chain, place: u32) {
        let last = Chain::alone(place);
        let Some(first) = chain.first() else {
            *chain = last;
            return;
        };
        let before = if chain.is_many() {
            let before = self.at(first).before;
            self.at(first).before = place;
            self.at(before).after = place;
            before
        } else {
            let (before, after) = (place, place);
            self.set(first, Link { before, after });
            first
        };
        let after = NONE;
        self.set(place, Link { before, after });
        *chain = Chain::followed(first);
    }

    fn at(&mut self, place: u32) -> &mut Link {
        &mut self.0[place as usize]
    }

    fn set(&mut self, place: u32, link: Link) {
        let at = place as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, link);
        }
        self.0[at] = link;
    }

    pub(super) fn remove(&mut self, chain: &mut Chain, place: u32) {
        let Some(mut first) = chain.first().filter(|_| chain.is_many()) else {
            *chain = Chain::EMPTY;
            return;
        };
        let Link { before, after } = *self.at(place);
        if place == first {
            first = after;
            self.at(first).before = before;
        } else {
            self.at(before).after = after;
            let behind = if after == NONE { first } else { after };
            self.at(behind).before = before;
        }
        *chain = if self.at(first).after == NONE {
            Chain::alone(first)
        } else {
            Chain::followed(first)
        };
    }
}
