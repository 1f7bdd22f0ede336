//! Sleeping, and being woken, without a system call when nobody sleeps.
//!
//! Who goes to sleep says so in its area, and then looks once more. Who sends writes its slot, and
//! then looks whether the receiver sleeps. One of the two must see the other, so between writing
//! and looking both need a barrier. The sender's would cost as much as the message itself; so the
//! sleeper pays for both: membarrier(2) makes every running neighbour pass one. Where the system
//! does not know that, or ranks share cores and sleep all the time, senders fence.

use core::cell::Cell;
use core::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use std::os::fd::BorrowedFd;

use super::bells::Bells;
use super::segment::{ASLEEP, Area};
use crate::sync::{Barrier, compiler_fence, fence, membarrier};

/// How this rank sleeps, and how it wakes others.
#[derive(Debug)]
pub(super) struct Rest {
    area: &'static Area,
    bells: Bells,
    /// Ranks share cores.
    is_crowded: bool,
    /// This rank's senders do not fence: it does, before it sleeps.
    pays: bool,
    /// This rank passes the barriers of others.
    is_registered: bool,
    /// How often this rank has woken another one.
    rung: Cell<u64>,
}

impl Rest {
    /// `is_crowded`: ranks share cores.
    pub(super) fn new(area: &'static Area, bells: Bells, is_crowded: bool) -> Self {
        let is_registered = membarrier(Barrier::JoinEverybody);
        let pays = is_registered && !is_crowded;
        area.needs_fence.store(u64::from(!pays), SeqCst);
        Self {
            area,
            bells,
            is_crowded,
            pays,
            is_registered,
            rung: Cell::new(0),
        }
    }

    /// Says whether ranks share cores, if that was not known before. All ranks say the same, before
    /// one sends to another.
    pub(super) fn settle(&mut self, is_crowded: bool) {
        self.is_crowded = is_crowded;
        self.pays = self.is_registered && !is_crowded;
    }

    pub(super) fn is_crowded(&self) -> bool {
        self.is_crowded
    }

    pub(super) fn rung(&self) -> u64 {
        self.rung.get()
    }

    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        self.bells.mine()
    }

    /// Whether this rank has to fence before it looks whether the one of `area` sleeps.
    pub(super) fn must_fence(&self, area: &Area) -> bool {
        self.is_crowded || !self.is_registered || area.needs_fence.load(Acquire) != 0
    }

    /// From now on senders ring the bell. The caller looks once more before it sleeps. Answers
    /// whether that is sure: if the system has refused the barrier, who is about to send may not
    /// ring, and the caller must not sleep.
    pub(super) fn begin(&self) -> bool {
        self.area.attention.fetch_or(ASLEEP, SeqCst);
        if self.pays {
            return membarrier(Barrier::Everybody);
        }
        fence(SeqCst);
        true
    }

    pub(super) fn end(&self) {
        self.area.attention.fetch_and(!ASLEEP, SeqCst);
        // Rung or not: whoever rings after this finds nobody asleep.
        self.bells.silence();
    }

    /// Wakes the neighbour of `area` if it sleeps; what it shall see is written.
    #[inline]
    pub(super) fn wake(&self, neighbour: u32, area: &Area, must_fence: bool) {
        if must_fence {
            fence(SeqCst);
        } else {
            compiler_fence(SeqCst);
        }
        if area.attention.load(Relaxed) & ASLEEP != 0 {
            self.ring(neighbour, area);
        }
    }

    #[cold]
    fn ring(&self, neighbour: u32, area: &Area) {
        // The first who sees it rings.
        if area.attention.fetch_and(!ASLEEP, SeqCst) & ASLEEP != 0 {
            self.rung.set(self.rung.get() + 1);
            self.bells.ring(neighbour);
        }
    }
}
