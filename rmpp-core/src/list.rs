//! Queues threaded through a slab: push, pop and take out of the middle without allocation.

use crate::slab::{NO_POSITION, Slab};

const NONE: u32 = NO_POSITION;

/// Neighbours of a value in the one list it is in.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Links {
    previous: u32,
    next: u32,
}

impl Links {
    pub(crate) const LOOSE: Self = Self {
        previous: NONE,
        next: NONE,
    };
}

/// A value that can be in one list.
pub(crate) trait Linked {
    fn links(&mut self) -> &mut Links;
    fn next(&self) -> u32;
}

/// First and last of a chain of slab positions.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct List {
    head: u32,
    tail: u32,
    len: u32,
}

impl Links {
    pub(crate) fn next(&self) -> u32 {
        self.next
    }
}

impl List {
    pub(crate) const EMPTY: Self = Self {
        head: NONE,
        tail: NONE,
        len: 0,
    };

    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    #[cfg_attr(feature = "simulated", inline)]
    pub(crate) fn head(&self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    pub(crate) fn tail(&self) -> Option<u32> {
        (self.tail != NONE).then_some(self.tail)
    }

    /// The position after `index`, which is in this list.
    pub(crate) fn after<T: Linked>(slab: &Slab<T>, index: u32) -> Option<u32> {
        let next = slab[index].next();
        (next != NONE).then_some(next)
    }

    pub(crate) fn push_back<T: Linked>(&mut self, slab: &mut Slab<T>, index: u32) {
        debug_assert!(self.len() < slab.len(), "a value is in one list, once");
        *slab[index].links() = Links {
            previous: self.tail,
            next: NONE,
        };
        match self.tail {
            NONE => self.head = index,
            tail => slab[tail].links().next = index,
        }
        self.tail = index;
        self.len += 1;
    }

    pub(crate) fn remove<T: Linked>(&mut self, slab: &mut Slab<T>, index: u32) {
        debug_assert!(self.len > 0, "nothing is taken out of an empty list");
        let Links { previous, next } = *slab[index].links();
        match previous {
            NONE => self.head = next,
            previous => slab[previous].links().next = next,
        }
        match next {
            NONE => self.tail = previous,
            next => slab[next].links().previous = previous,
        }
        *slab[index].links() = Links::LOOSE;
        self.len -= 1;
    }
}
