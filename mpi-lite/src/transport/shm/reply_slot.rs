//! A slot and a buffer that two ranks pass to each other, each time with their next message or
//! note.
//!
//! A line of the ring crosses between the processors twice for each message: to the receiver, which
//! reads it, and back to the sender, which writes it again in the next round. A side that replies
//! in the line of the message has that line already. So the side that has the reply slot passes it
//! with the next thing it writes, whatever that is. All else goes through the ring.
//!
//! The buffer has the bodies, up to some length, of what the side sends that has it. The lines of a
//! body are then with the side that has read them, as the line of the slot is: a body of 16 KiB
//! takes a third less than through the ring. A long body is written and read in pieces. All but the
//! last have slots of the ring; the last one goes with the reply slot, which passes the buffer on.
//! So a side reads, without having the reply slot, only what slots of the ring have named, and it
//! has read that before it takes the reply slot.
//!
//! Passes are numbered, and the sides take turns by their parity. The line has the number of the
//! last pass or of the one before. It also has the count of ring slots that were written before:
//! the receiver reads those first, then the reply slot.

use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::Arc;

use crate::memory::Span;
use crate::node::segment::{Reply, RingSlot};

/// The upper half of the sequence word of pass `number`, behind `slots` slots of the ring. Half of
/// it each: of the passes two come into question, of the slots as many as the ring has.
#[inline(always)]
fn order(number: u32, slots: u64) -> u64 {
    u64::from(number & 0xffff) << 16 | slots & 0xffff
}

/// One side's view, which its two ends of the channel share.
#[derive(Debug)]
pub(super) struct ReplySlot {
    reply: &'static Reply,
    is_first: bool,
    /// Passes that this side has made or read. Used by one thread at a time.
    passes: AtomicU32,
}

impl ReplySlot {
    /// The view of one of the two sides. The first one has the reply slot at the beginning.
    pub(super) fn new(reply: &'static Reply, is_first: bool) -> Arc<Self> {
        Arc::new(Self {
            reply,
            is_first,
            passes: AtomicU32::new(0),
        })
    }

    #[inline(always)]
    fn passes(&self) -> u32 {
        self.passes.load(Relaxed)
    }

    /// Returns true if this side has the reply slot and its buffer.
    #[inline(always)]
    pub(super) fn is_here(&self) -> bool {
        self.passes().is_multiple_of(2) == self.is_first
    }

    #[inline(always)]
    fn count(&self) -> u32 {
        let number = self.passes().wrapping_add(1);
        self.passes.store(number, Relaxed);
        number
    }

    /// Returns the slot to be written next, if this side has the reply slot.
    #[inline(always)]
    pub(super) fn slot(&self) -> Option<&'static RingSlot> {
        self.is_here().then_some(&self.reply.slot)
    }

    /// Returns the `bytes` bytes at `at` of the buffer, if they lie within it.
    #[inline(always)]
    pub(super) fn part(&self, at: usize, bytes: usize) -> Option<Span> {
        self.reply.part(at, bytes)
    }

    /// Passes the reply slot, once its words are written, behind `slots` slots of the ring. `says`
    /// is the header.
    #[inline(always)]
    pub(super) fn pass(&self, slots: u64, says: u32) {
        let sequence = order(self.count(), slots) << 32 | u64::from(says);
        self.reply.slot.sequence.store(sequence, Release);
    }

    /// Returns the slot and its header, if the other side has passed the reply slot and `slots`
    /// slots of the ring were written before.
    #[inline(always)]
    pub(super) fn look(&self, slots: u64) -> Option<(&'static RingSlot, u32)> {
        if self.is_here() {
            return None;
        }
        let slot = &self.reply.slot;
        let sequence = slot.sequence.load(Acquire);
        let next = order(self.passes().wrapping_add(1), slots);
        (sequence >> 32 == next).then_some((slot, sequence as u32))
    }

    #[inline(always)]
    fn is_reply(&self, slot: &'static RingSlot) -> bool {
        core::ptr::eq(slot, &self.reply.slot)
    }

    /// Ends the use of `slot`. If it is the reply slot, this side has that now. Returns true if so.
    #[inline(always)]
    pub(super) fn keep(&self, slot: &'static RingSlot) -> bool {
        let is_reply = self.is_reply(slot);
        if is_reply {
            self.count();
        }
        is_reply
    }
}
