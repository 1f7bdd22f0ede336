//! The local peers that have ever sent something.

use std::sync::atomic::Ordering::Acquire;

use crate::node::segment::{Area, RANKS_MAX};

/// The local peers whose channels are looked at, in turn.
#[derive(Debug)]
pub(super) struct Callers {
    /// Where they say that they send.
    area: &'static Area,
    /// Ranks of the node.
    count: u32,
    /// The one at `next` has its turn.
    callers: Vec<u32>,
    next: usize,
    /// A bit for each that was ever one.
    met: [u64; RANKS_MAX as usize / 64],
}

impl Callers {
    /// Nobody yet. `count` ranks share the node, and write to `area`.
    pub(super) fn new(area: &'static Area, count: u32) -> Self {
        Self {
            area,
            count,
            callers: Vec::new(),
            next: 0,
            met: [0; RANKS_MAX as usize / 64],
        }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.callers.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> {
        self.callers.iter().copied()
    }

    /// The caller whose turn it is. There is one.
    #[inline(always)]
    pub(super) fn next(&mut self) -> u32 {
        if self.next >= self.callers.len() {
            self.next = 0;
        }
        let caller = self.callers[self.next];
        self.next += 1;
        caller
    }

    /// Nothing is read from it any more.
    pub(super) fn remove(&mut self, caller: u32) {
        self.callers.retain(|&other| other != caller);
    }

    /// Adds those that have sent something for the first time.
    pub(super) fn meet(&mut self) {
        let words = self.area.callers.iter().zip(&mut self.met);
        for (word, (callers, met)) in (0..self.count.div_ceil(64)).zip(words) {
            let mut new = callers.load(Acquire) & !*met;
            *met |= new;
            while new != 0 {
                let rank = word * 64 + new.trailing_zeros();
                new &= new - 1;
                if rank < self.count {
                    self.callers.push(rank);
                }
            }
        }
    }
}
