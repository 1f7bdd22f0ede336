//! The contract of a transport, and the roads that keep it.
//!
//! A transport carries whole messages between processes, reliably and in order per pair. A message
//! is an envelope, which only the engine understands, and a body, which lies in the user's memory
//! and is not copied on the way down. It knows no tags and no communicators.
//!
//! Calls go down, and a link that makes progress delivers into a [`Sink`] that the caller lends it.
//! When the first packet of a message comes, [`Sink::arriving`] gets its envelope and returns a
//! [`Landing`]: matching happens once, before the bulk arrives, and a posted receive is filled in
//! place. `Landing::Later` is back pressure: nothing more of the message comes until it lands.
//! (RMPP paper, §3.6, Figure 7: the up-call (b), placement (c), completion (A).)

mod loopback;
pub mod shm;
#[cfg(feature = "sim")]
pub mod sim;
mod sink;
#[cfg(feature = "sim")]
pub mod tap;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test that hangs must end")]
mod tests;
pub mod udp;

use std::os::fd::BorrowedFd;

pub use loopback::Loopback;
pub use shm::Shm;
#[cfg(test)]
use sink::told;
pub use sink::{Incoming, Landing, Lost, Sink};
pub use udp::Udp;

use crate::clock::Instant;
use crate::counters::{Datagrams, Rows, Shared};
use crate::data::Area;
pub use crate::ids::Peer;
use crate::memory::Span;

/// Bytes of the engine's envelope in front of each message.
pub const ENVELOPE_BYTES: usize = 16;

/// The engine's envelope, opaque to transports.
pub type EnvelopeBytes = [u8; ENVELOPE_BYTES];

/// The engine's name for a send; comes back with [`Sink::sent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(pub u32);

/// A link's name for an incoming message: a small index, free again once the message is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival(pub u32);

/// Why a message cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is longer than the transport carries.
    TooLong {
        /// The greatest body, in bytes.
        limit: u64,
    },
    /// The peer is lost.
    Lost,
}

/// A message for [`Transport::send`].
#[derive(Clone, Debug)]
pub struct Outbound<'a> {
    /// The engine's envelope.
    pub envelope: &'a EnvelopeBytes,
    /// The body; stays untouched until `sent` or `lost`. It has gaps only if it is longer than
    /// [`Capabilities::packed_most`].
    pub body: Area,
    /// The engine's name for the send.
    pub token: Token,
    /// Somebody waits for `sent`: the receiver is asked to acknowledge at once, not when it suits
    /// it.
    pub is_awaited: bool,
    /// `sent` says that the message has found its receive (synchronous mode).
    pub needs_match: bool,
}

/// What a link can do; it never changes.
#[derive(Clone, Copy, Debug)]
pub struct Capabilities {
    /// The greatest body, in bytes.
    pub body_limit: u64,
    /// Bytes up to which the engine packs data with gaps before it sends it; what is longer is
    /// sent as it lies.
    pub packed_most: u64,
    /// Who waits until a send is finished waits for an acknowledgement that somebody sends for
    /// that alone.
    pub acknowledges: bool,
    /// Progress costs no system call: who waits for a message may look very often.
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

/// The contract; see the module.
pub trait Transport {
    /// What this link can do.
    fn capabilities(&self) -> Capabilities;

    /// Takes a short message whole, body and all, if the link can do so at once: nothing is kept of
    /// it, the body may be reused, and no `sent` follows. Returns true if it did.
    #[inline(always)]
    fn offer(&mut self, _to: Peer, _envelope: &EnvelopeBytes, _body: Span) -> bool {
        false
    }

    /// Sends a message to `to`. It may wait for others that go the same way, until `flush` or
    /// `progress`, never longer. `Sink::sent` or `Sink::lost` ends it.
    ///
    /// # Errors
    /// [`Refusal`], at once; nothing was sent.
    fn send(&mut self, to: Peer, message: Outbound<'_>) -> Result<(), Refusal>;

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

    /// This process is about to sleep on `wake_on`: whoever sends to it has to wake it. Returns
    /// true if nothing has come meanwhile.
    fn begin_sleep(&mut self) -> bool {
        true
    }

    /// It sleeps no more.
    fn end_sleep(&mut self) {}

    /// Back pressure: from now on bodies stay with their senders until their messages land, or may
    /// come along again. What is on its way still comes. A link on which `Landing::Later` does the
    /// same need not listen.
    fn keep_bodies_away(&mut self, _away: bool) {}

    /// Returns true if everything that was sent is with its receivers.
    fn is_quiet(&self) -> bool;
}

/// A transport, one of the roads we have.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a process has a handful of links"
)]
pub enum Link {
    /// To this process itself.
    Loopback(Loopback),
    /// Memory that the ranks of a node share.
    Shm(Shm),
    /// RMPP over UDP.
    Udp(Udp),
    /// RMPP over a simulated network.
    #[cfg(feature = "sim")]
    Sim(sim::Sim),
    /// Another one, listened to.
    #[cfg(feature = "sim")]
    Tap(tap::Tap),
}

/// What the roads of a process have counted. A road that it does not use has counted nothing, so
/// that the rows are the same for all processes.
#[derive(Clone, Debug, Default)]
pub struct Tallies {
    shm: Shared,
    rmpp: rmpp_core::Counters,
    udp: Datagrams,
}

impl Tallies {
    /// What `links` have counted.
    #[must_use]
    pub fn of(links: &[Link]) -> Self {
        let mut tallies = Self::default();
        for link in links {
            tallies.read(link);
        }
        tallies
    }

    fn read(&mut self, link: &Link) {
        match link {
            Link::Loopback(_) => {}
            Link::Shm(shm) => self.shm = shm.counters(),
            Link::Udp(udp) => {
                self.rmpp = udp.counters().clone();
                self.udp = udp.datagrams();
            }
            #[cfg(feature = "sim")]
            Link::Sim(sim) => self.rmpp = sim.counters().clone(),
            #[cfg(feature = "sim")]
            Link::Tap(tap) => self.read(tap.link()),
        }
    }

    /// All of it, always as many rows and in the same order.
    #[must_use]
    pub fn rows(&self) -> Rows {
        let mut rows = self.shm.rows();
        rows.extend(self.rmpp.rows());
        rows.extend(self.udp.rows());
        rows
    }
}

macro_rules! each {
    ($link:expr, $road:ident => $call:expr) => {
        match $link {
            Link::Loopback($road) => $call,
            Link::Shm($road) => $call,
            Link::Udp($road) => $call,
            #[cfg(feature = "sim")]
            Link::Sim($road) => $call,
            #[cfg(feature = "sim")]
            Link::Tap($road) => $call,
        }
    };
}

impl Transport for Link {
    fn capabilities(&self) -> Capabilities {
        each!(self, road => road.capabilities())
    }

    #[inline(always)]
    fn offer(&mut self, to: Peer, envelope: &EnvelopeBytes, body: Span) -> bool {
        each!(self, road => road.offer(to, envelope, body))
    }

    #[inline]
    fn send(&mut self, to: Peer, message: Outbound<'_>) -> Result<(), Refusal> {
        each!(self, road => road.send(to, message))
    }

    #[inline]
    fn flush(&mut self) {
        each!(self, road => road.flush());
    }

    #[inline]
    fn land(&mut self, arrival: Arrival, landing: Landing) -> bool {
        each!(self, road => road.land(arrival, landing))
    }

    #[inline(always)]
    fn progress(&mut self, now: Instant, sink: &mut impl Sink) -> Progress {
        each!(self, road => road.progress(now, sink))
    }

    fn wake_at(&self) -> Option<Instant> {
        each!(self, road => road.wake_at())
    }

    fn wake_on(&self) -> Option<BorrowedFd<'_>> {
        each!(self, road => road.wake_on())
    }

    fn begin_sleep(&mut self) -> bool {
        each!(self, road => road.begin_sleep())
    }

    fn end_sleep(&mut self) {
        each!(self, road => road.end_sleep());
    }

    fn keep_bodies_away(&mut self, away: bool) {
        each!(self, road => road.keep_bodies_away(away));
    }

    fn is_quiet(&self) -> bool {
        each!(self, road => road.is_quiet())
    }
}
