//! The cores that the ranks of a node may use.
//!
//! A rank sees only the cores that it may use itself. Some jobs bind each rank to a core of its
//! own: then each sees one core, but they share none. So each rank writes down its cores, and all
//! are counted together.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use super::Node;

/// The most cores that are counted apart.
pub const CORES_MAX: usize = 1024;

/// A bit for each core.
pub(crate) const WORDS: usize = CORES_MAX / 64;

/// The part of the machine that a rank may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cores {
    /// The cores that it may run on, a bit for each.
    pub allowed: [u64; WORDS],
    /// How many cores it may use at a time, all ranks together.
    pub most: u32,
}

/// The cores of a rank as its local peers read them.
#[repr(C)]
pub(crate) struct Seen {
    allowed: [AtomicU64; WORDS],
    most: AtomicU64,
}

impl Seen {
    pub(crate) fn write(&self, cores: &Cores) {
        for (place, &word) in self.allowed.iter().zip(&cores.allowed) {
            place.store(word, Relaxed);
        }
        self.most.store(u64::from(cores.most), Relaxed);
    }
}

impl Node {
    /// How many cores the ranks of this node have together: the same for all of them, once all
    /// have come.
    #[must_use]
    pub fn cores(&self) -> usize {
        let (mut allowed, mut most) = ([0; WORDS], u64::MAX);
        for rank in 0..self.peers.len() as u32 {
            let seen = &self.segment.area(rank).cores;
            for (word, place) in allowed.iter_mut().zip(&seen.allowed) {
                *word |= place.load(Relaxed);
            }
            most = most.min(seen.most.load(Relaxed));
        }
        let count: u32 = allowed.iter().map(|word: &u64| word.count_ones()).sum();
        u64::from(count).min(most).max(1) as usize
    }

    /// Sets whether ranks of this node share cores. All of them must agree, before anything is
    /// sent.
    pub fn settle(&mut self, is_oversubscribed: bool) {
        self.wakeup.settle(is_oversubscribed);
    }
}
