//! The contract that every link keeps.

use std::os::fd::BorrowedFd;

use super::{Arrival, EnvelopeBytes, Landing, Outbound, PeerId, Refusal, Sink};
use crate::clock::Instant;
use crate::memory::Span;

/// What a link can do; it never changes.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// The greatest body, in bytes.
    pub body_limit: u64,
    /// Bytes up to which the engine packs data with gaps before it sends it; what is longer is
    /// sent as it lies.
    pub packed_most: u64,
    /// A thread that waits until a send is finished waits for an acknowledgement, which the peer
    /// sends for that alone.
    pub acknowledges: bool,
    /// Progress costs no system call: a thread that waits for a message may look very often.
    pub is_memory: bool,
}

/// How much a link did in one call of [`Transport::progress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Progress {
    /// Nothing.
    Idle,
    /// Bytes of long messages moved, of which there is nothing to tell yet.
    Moved,
    /// The sink was told something.
    Delivered,
}

/// The contract; see [the module](super).
pub trait Transport {
    /// What this link can do.
    fn capabilities(&self) -> Capabilities;

    /// Takes a short message whole, body and all, if the link can do so at once: nothing is kept of
    /// it, the body may be reused, and no `sent` follows. Returns true if it did.
    #[inline(always)]
    fn offer(&mut self, _to: PeerId, _envelope: &EnvelopeBytes, _body: Span) -> bool {
        false
    }

    /// Sends a message to `to`. It may wait for others that go the same way, until `flush` or
    /// `progress`, never longer. `Sink::sent` or `Sink::lost` ends it.
    ///
    /// # Errors
    /// [`Refusal`], at once; nothing was sent.
    fn send(&mut self, to: PeerId, message: Outbound<'_>) -> Result<(), Refusal>;

    /// Sends on what `send` kept waiting, as far as the receivers let it.
    fn flush(&mut self);

    /// Says where a message lands that was left with its sender by [`Landing::Later`]. Returns true
    /// if it is complete by that: no `arrived` follows, its name is free.
    fn land(&mut self, arrival: Arrival, landing: Landing) -> bool;

    /// Does what there is to do, and tells `sink` what has happened, until there is nothing left or
    /// the sink wants no more, which wants more at first. Never blocks.
    fn progress(&mut self, now: Instant, sink: &mut impl Sink) -> Progress;

    /// When `progress` must be called again even if nothing arrives.
    fn wake_at(&self) -> Option<Instant>;

    /// What becomes readable when `progress` has something to do.
    fn wake_on(&self) -> Option<BorrowedFd<'_>>;

    /// This process is about to sleep on `wake_on`: from now on its senders have to wake it.
    /// Returns true if nothing has come meanwhile.
    fn begin_sleep(&mut self) -> bool {
        true
    }

    /// It sleeps no more.
    fn end_sleep(&mut self) {}

    /// Back pressure: from now on bodies stay with their senders until their messages land, or may
    /// come along again. What is on its way still comes. A link on which `Landing::Later` does the
    /// same need not listen.
    fn push_back(&mut self, _away: bool) {}

    /// Returns true if everything that was sent is with its receivers.
    fn is_quiet(&self) -> bool;
}
