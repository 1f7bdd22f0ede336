//! A slot that two ranks pass to each other, each time with what they have to say next.
//!
//! A line of the ring crosses between the processors twice for each message: to the receiver, who
//! reads it, and back to the sender, who writes it again in the next round. Who answers in the line
//! that brought the message has it already. So the side that has the baton passes it with the next
//! thing it says, whatever that is, and all else goes through the ring; the order is that of the
//! positions in their stamps, as ever.

use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::Arc;

use super::segment::{RELAY_BYTES, Relay, Slot};
use crate::memory::Span;

/// Bit of a stamp: the second side has written it. So none takes its own words for the other's.
const SECOND: u64 = 1 << 63;

/// One side's view, which its two ends of the road share.
#[derive(Debug)]
pub(super) struct Baton {
    relay: &'static Relay,
    /// What this side does to its stamps, and the other one to its own.
    mine: u64,
    theirs: u64,
    /// Used by one thread at a time.
    is_here: AtomicBool,
}

impl Baton {
    /// Of one of the two sides; the first one has the baton at the beginning.
    pub(super) fn new(relay: &'static Relay, is_first: bool) -> Arc<Self> {
        let (mine, theirs) = if is_first { (0, SECOND) } else { (SECOND, 0) };
        Arc::new(Self {
            relay,
            mine,
            theirs,
            is_here: AtomicBool::new(is_first),
        })
    }

    #[inline(always)]
    fn is_here(&self) -> bool {
        self.is_here.load(Relaxed)
    }

    /// Where the next thing is to be written, if this side has the baton.
    #[inline(always)]
    pub(super) fn slot(&self) -> Option<&'static Slot> {
        self.is_here().then_some(&self.relay.slot)
    }

    /// Where its body is to be written, if it is so short that it can go along.
    #[inline]
    pub(super) fn room(&self, bytes: usize) -> Option<Span> {
        (self.is_here() && bytes <= RELAY_BYTES).then(|| self.relay.body(bytes))
    }

    /// All is written but the stamp: passes the baton.
    #[inline(always)]
    pub(super) fn pass(&self, stamp: u64) {
        self.is_here.store(false, Relaxed);
        self.relay.slot.stamp.store(stamp ^ self.mine, Release);
    }

    /// The stamp that the other side has written, or that of an older thing. What this side
    /// received last it must not see again.
    #[inline(always)]
    pub(super) fn look(&self) -> Option<(&'static Slot, u64)> {
        let slot = &self.relay.slot;
        (!self.is_here()).then(|| (slot, slot.stamp.load(Acquire) ^ self.theirs))
    }

    /// The body that came along with what was found in `slot`.
    #[inline]
    pub(super) fn brought(&self, slot: &'static Slot, bytes: usize) -> Option<Span> {
        let is_it = core::ptr::eq(slot, &self.relay.slot);
        (is_it && bytes <= RELAY_BYTES).then(|| self.relay.body(bytes))
    }

    /// What was found in `slot` is done with: if it came with the baton, this side has that now.
    /// Answers whether it did.
    #[inline(always)]
    pub(super) fn keep(&self, slot: &'static Slot) -> bool {
        let is_it = core::ptr::eq(slot, &self.relay.slot);
        if is_it {
            self.is_here.store(true, Relaxed);
        }
        is_it
    }
}
