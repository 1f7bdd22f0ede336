//! Sleeping, and being woken, without a system call when nobody sleeps.
//!
//! A rank that goes to sleep sets a bit in its area, and then checks for messages once more. A
//! sender writes its slot, and then loads the bit. One of the two must see the other, so both need
//! a barrier between store and load. The sender's would cost as much as the message itself. So the
//! sleeper pays for both: membarrier(2) makes every running local peer pass one. If the system has
//! no membarrier, or ranks share cores and sleep all the time, senders fence.
//!
//! While the program computes, the ticker sees to long messages: it sleeps as well, and senders of
//! long messages wake it. They fence, since a fence costs little beside a long message.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use super::doorbells::Doorbells;
use super::segment::{ASLEEP, Area, DOZES, PARKED};
use crate::sync::{Barrier, compiler_fence, fence, membarrier, sleep_on, wake_from};

/// How this rank sleeps, and how it wakes others.
#[derive(Debug)]
pub(crate) struct Wakeup {
    area: &'static Area,
    doorbells: Doorbells,
    /// Ranks share cores.
    is_oversubscribed: bool,
    /// This rank's senders do not fence: it does, before it sleeps.
    pays: bool,
    /// This rank passes the barriers of others.
    is_registered: bool,
    /// How often this rank has woken another one.
    rung: AtomicU64,
}

impl Wakeup {
    /// `is_oversubscribed`: ranks share cores.
    pub(crate) fn new(area: &'static Area, doorbells: Doorbells, is_oversubscribed: bool) -> Self {
        let is_registered = membarrier(Barrier::JoinEverybody);
        let pays = is_registered && !is_oversubscribed;
        area.needs_fence.store(u64::from(!pays), SeqCst);
        Self {
            area,
            doorbells,
            is_oversubscribed,
            pays,
            is_registered,
            rung: AtomicU64::new(0),
        }
    }

    /// Sets whether ranks share cores, if that was not known before. All ranks must agree, before
    /// one sends to another.
    pub(crate) fn settle(&mut self, is_oversubscribed: bool) {
        self.is_oversubscribed = is_oversubscribed;
        self.pays = self.is_registered && !is_oversubscribed;
    }

    pub(crate) fn is_oversubscribed(&self) -> bool {
        self.is_oversubscribed
    }

    pub(crate) fn rung(&self) -> u64 {
        self.rung.load(Relaxed)
    }

    pub(crate) fn doorbell(&self) -> BorrowedFd<'_> {
        self.doorbells.mine()
    }

    /// Returns true if this rank must fence before it loads whether the rank of `area` sleeps.
    pub(crate) fn must_fence(&self, area: &Area) -> bool {
        self.is_oversubscribed || !self.is_registered || area.needs_fence.load(Acquire) != 0
    }

    /// Makes senders ring the doorbell. The caller must check for messages once more before it
    /// sleeps. Returns false if the system has refused the barrier: then a rank that is about to
    /// send may not ring, and the caller must not sleep.
    pub(crate) fn begin(&self) -> bool {
        self.area.attention.fetch_or(ASLEEP, SeqCst);
        if self.pays {
            return membarrier(Barrier::Everybody);
        }
        fence(SeqCst);
        true
    }

    pub(crate) fn end(&self) {
        self.area.attention.fetch_and(!ASLEEP, SeqCst);
        // Rung or not: from now on a sender finds nobody asleep.
        self.doorbells.silence();
    }

    /// Wakes the local peer of `area` if it sleeps. Call it after the writes that the peer must
    /// see.
    #[inline]
    pub(crate) fn wake(&self, local_peer: u32, area: &Area, must_fence: bool) {
        if must_fence {
            fence(SeqCst);
        } else {
            compiler_fence(SeqCst);
        }
        if area.attention.load(Relaxed) & ASLEEP != 0 {
            self.ring(local_peer, area);
        }
    }

    /// Wakes the local peer of `area` if it sleeps, or its ticker if it computes. Call it after the
    /// writes that the peer must see. For long messages, and for requests that the peer must serve
    /// before they can go on.
    pub(crate) fn wake_with_ticker(&self, local_peer: u32, area: &Area) {
        fence(SeqCst);
        if area.attention.load(Relaxed) & (ASLEEP | DOZES) != 0 {
            self.ring(local_peer, area);
        }
    }

    /// Wakes the ticker of the local peer of `area`, which has not noticed yet that its program
    /// computes: nothing has come from the local peer for a while.
    pub(crate) fn knock(&self, local_peer: u32, area: &Area) {
        self.wake_with_ticker(local_peer, area);
        if area.attention.load(Relaxed) & PARKED != 0 {
            Watch::of(area).unpark();
        }
    }

    #[cold]
    fn ring(&self, local_peer: u32, area: &Area) {
        const ANYBODY: u32 = ASLEEP | DOZES;
        // The first sender that sees it rings.
        if area.attention.fetch_and(!ANYBODY, SeqCst) & ANYBODY != 0 {
            self.rung.fetch_add(1, Relaxed);
            self.doorbells.ring(local_peer);
        }
    }

    /// What the ticker of this rank needs to sleep.
    pub(crate) fn watch(&self) -> Watch<'static> {
        Watch::of(self.area)
    }
}

/// How the ticker of a rank sleeps: so that a sender of a long message can wake it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch<'a> {
    area: &'a Area,
}

impl<'a> Watch<'a> {
    fn of(area: &'a Area) -> Self {
        Self { area }
    }

    /// The program computes: from now on, a sender of a long message rings the doorbell. The ticker
    /// looks once more before it sleeps.
    pub(crate) fn begin(self) {
        self.area.attention.fetch_or(DOZES, SeqCst);
        fence(SeqCst);
    }

    /// The ticker is awake.
    pub(crate) fn end(self) {
        self.area.attention.fetch_and(!DOZES, SeqCst);
    }

    /// The program takes turns itself: the ticker sleeps until `timeout`, or until it is woken by
    /// `unpark` or by a local peer that has had no answer for a while. It does not sleep if
    /// `is_over`. Returns true if it was woken.
    pub(crate) fn park(self, timeout: Duration, is_over: impl FnOnce() -> bool) -> bool {
        let seen = self.area.attention.fetch_or(PARKED, SeqCst) | PARKED;
        if !is_over() {
            sleep_on(&self.area.attention, seen, timeout);
        }
        self.area.attention.fetch_and(!PARKED, SeqCst) & PARKED == 0
    }

    /// Wakes the ticker from `park`.
    pub(crate) fn unpark(self) {
        self.area.attention.fetch_and(!PARKED, SeqCst);
        wake_from(&self.area.attention);
    }
}
