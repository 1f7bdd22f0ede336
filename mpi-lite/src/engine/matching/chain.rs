//! Lists of places, threaded through an array: append and take out of the middle, in constant time
//! and without allocation.

const NONE: u32 = u32::MAX;

/// First and last place of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    first: u32,
    last: u32,
}

impl Chain {
    pub(super) const EMPTY: Self = Self {
        first: NONE,
        last: NONE,
    };

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first == NONE
    }

    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        (!self.is_empty()).then_some(self.first)
    }
}

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

/// The neighbours of each place in the one chain that it is in. That of a place that is alone is
/// not looked at: most chains are of one place, and memory that is not touched costs nothing.
#[derive(Debug, Default)]
pub(super) struct Links(Vec<Link>);

impl Links {
    pub(super) fn append(&mut self, chain: &mut Chain, place: u32) {
        let last = std::mem::replace(&mut chain.last, place);
        if last == NONE {
            chain.first = place;
            return;
        }
        let before = match chain.first {
            first if first == last => NONE,
            _ => self.0[last as usize].before,
        };
        let after = place;
        self.set(last, Link { before, after });
        let (before, after) = (last, NONE);
        self.set(place, Link { before, after });
    }

    fn set(&mut self, place: u32, link: Link) {
        let at = place as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, link);
        }
        self.0[at] = link;
    }

    pub(super) fn remove(&mut self, chain: &mut Chain, place: u32) {
        if chain.first == chain.last {
            *chain = Chain::EMPTY;
            return;
        }
        let Link { before, after } = self.0[place as usize];
        match before {
            NONE => chain.first = after,
            before => self.0[before as usize].after = after,
        }
        match after {
            NONE => chain.last = before,
            after => self.0[after as usize].before = before,
        }
    }
}
