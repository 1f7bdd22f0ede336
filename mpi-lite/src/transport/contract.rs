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
    /// Bytes up to which the engine packs data with gaps before it sends it. Longer data is sent as
    /// it lies.
    pub packed_most: u64,
    /// A send is finished when the peer has acknowledged it. The peer sends the acknowledgement for
    /// that alone.
    pub acknowledges: bool,
    /// Progress costs no system call. A thread that waits for a message may call it very often.
    pub is_memory: bool,
}

/// How much a link did in one call of [`Transport::progress`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Progress {
    /// Nothing.
    Idle,
    /// Bytes of long messages moved, but the sink was not called yet.
    Moved,
    /// The sink was called.
    Delivered,
}

/// The contract; see [the module](super).
pub trait Transport {
    /// What this link can do.
    fn capabilities(&self) -> Capabilities;

    /// Sends a short message at once, if the link can. Returns true if it did: the body may be
    /// reused, and no `sent` follows.
    #[inline(always)]
    fn offer(&mut self, _to: PeerId, _envelope: &EnvelopeBytes, _body: Span) -> bool {
        false
    }

    /// Sends a message to `to`. The link may keep it back until `flush` or `progress` is called, to
    /// send several together. `Sink::sent` or `Sink::lost` ends it.
    ///
    /// # Errors
    /// [`Refusal`]; nothing was sent.
    fn send(&mut self, to: PeerId, message: Outbound<'_>) -> Result<(), Refusal>;

    /// Sends what `send` has kept back, as far as the receivers have room.
    fn flush(&mut self);

    /// Lands a message that was left with its sender by [`Landing::Later`]. Returns true if that
    /// completes it: no `arrived` follows, and its name is free.
    fn land(&mut self, arrival: Arrival, landing: Landing) -> bool;

    /// Makes progress and reports it to `sink`, until nothing is left or `wants_more` returns
    /// false. `wants_more` must return true at the call. Never blocks.
    fn progress(&mut self, now: Instant, sink: &mut impl Sink) -> Progress;

    /// Returns when `progress` must be called again even if nothing arrives.
    fn wake_at(&self) -> Option<Instant>;

    /// Returns a descriptor that becomes readable when `progress` has something to do.
    fn wake_on(&self) -> Option<BorrowedFd<'_>>;

    /// Begins a sleep of this process on `wake_on`, or ends it. While it is asleep its senders have
    /// to wake it. Returns true if nothing has come meanwhile, so that it may sleep.
    fn set_asleep(&mut self, _is_asleep: bool) -> bool {
        true
    }

    /// Sets back pressure. If `away`, bodies stay with their senders until their messages land; if
    /// not, they may come along again. Bodies on their way still come. A link whose
    /// `Landing::Later` leaves bodies with their senders need not implement it.
    fn push_back(&mut self, _away: bool) {}

    /// Notes that `MPI_Finalize` has begun: this process will wait until `is_quiet` returns true.
    fn close(&mut self) {}

    /// Returns true if all sent messages are with their receivers.
    fn is_quiet(&self) -> bool;
}
