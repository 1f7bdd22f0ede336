//! The contract of a transport, and the roads that keep it.
//!
//! A transport carries whole messages between processes, reliably and in order per pair. A message
//! is an envelope, which only the engine understands, and a body, which lies in the user's memory
//! and is not copied on the way down. It knows no tags and no communicators.
//!
//! Calls go down, events come up. When the first packet of a message comes, [`Event::Arriving`]
//! tells its envelope, and the engine answers with a [`Landing`]: matching happens once, before
//! the bulk arrives, and a posted receive is filled in place. `Landing::Later` is the back
//! pressure: nothing more of the message comes until it lands. (RMPP paper, §3.6, Figure 7: the
//! up-call (b), placement (c), completion (A).)

mod loopback;
pub mod rmpp;
pub mod shm;
#[cfg(feature = "sim")]
pub mod sim;
#[cfg(feature = "sim")]
pub mod tap;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test that hangs must end")]
mod tests;

use std::net::SocketAddr;
use std::os::fd::BorrowedFd;

pub use loopback::Loopback;
pub use rmpp::Rmpp;
pub use shm::Shm;

use crate::clock::Instant;
use crate::counters::{Datagrams, Rows, Shared};
use crate::data::Area;
use crate::memory::Span;

/// Bytes of the engine's envelope in front of each message.
pub const ENVELOPE_BYTES: usize = 16;

/// The engine's envelope, opaque to transports.
pub type EnvelopeBytes = [u8; ENVELOPE_BYTES];

/// A process of the job: its rank in `MPI_COMM_WORLD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Peer(pub u32);

/// The engine's name for a send; comes back with [`Event::Sent`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(pub u32);

/// A link's name for an incoming message: a small index, free again after `Arrived`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival(pub u32);

/// Where an incoming message goes; the answer to [`Event::Arriving`].
#[derive(Clone, Debug)]
pub enum Landing {
    /// Into this memory, which has gaps only if the message is longer than
    /// [`Transport::packed_most`]. What does not fit is dropped, the message still arrives.
    Into(Area),
    /// Into a buffer of the transport, which comes up with [`Event::Arrived`]: at most so many
    /// bytes, however long its sender says that it is. What does not fit is dropped.
    Bounce(u64),
    /// Not yet: `land` will be called again. No more of the message is asked for.
    Later,
}

impl Landing {
    /// Nowhere: the message arrives, its bytes are dropped.
    pub const NOWHERE: Self = Self::Into(Area::EMPTY);
}

/// What [`Transport::land`] answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Landed {
    /// There is more to come: `Arrived` tells when all is there.
    Coming,
    /// The message is complete, as most short ones are; no `Arrived` follows, its name is free. The
    /// body, if it landed by [`Landing::Bounce`].
    Whole(Option<Bounced>),
}

/// The body of a message that landed by [`Landing::Bounce`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bounced {
    /// A few bytes, which need no memory of their own.
    Few(Few),
    /// A buffer of the transport.
    Buffer(Vec<u8>),
}

/// At most [`FEW_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Few {
    bytes: [u8; FEW_BYTES],
    len: u8,
}

/// A body of so many bytes is kept where others have the address of theirs.
pub const FEW_BYTES: usize = 32;

impl Few {
    /// `len` bytes that `fill` writes into the memory that it is given.
    #[inline(always)]
    fn filled(len: usize, fill: impl FnOnce(Span)) -> Self {
        let mut bytes = [0; FEW_BYTES];
        fill(Span::of(&mut bytes[..len]));
        let len = len as u8;
        Self { bytes, len }
    }
}

impl core::ops::Deref for Bounced {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Few(few) => &few.bytes[..usize::from(few.len)],
            Self::Buffer(buffer) => buffer,
        }
    }
}

/// What comes up from a transport.
#[derive(Debug)]
pub enum Event {
    /// The first packet of a message came; the engine answers by [`Transport::land`] before it
    /// polls again.
    Arriving {
        /// The link's name for the message.
        arrival: Arrival,
        /// Who sent it.
        from: Peer,
        /// The engine's envelope.
        envelope: EnvelopeBytes,
        /// Bytes of the body.
        len: u64,
    },
    /// A landed message is complete.
    Arrived {
        /// The link's name for the message, now free.
        arrival: Arrival,
        /// The body, if it landed by [`Landing::Bounce`].
        bounced: Option<Vec<u8>>,
    },
    /// The body of a message is with its receiver, or on a road that loses nothing: the span may be
    /// reused.
    Sent {
        /// The engine's name for the send.
        token: Token,
    },
    /// Nothing more comes from or goes to a peer. Rare: in a box, so that other events stay small.
    Lost(Box<Lost>),
}

/// A peer that is lost. Sends to it get no `Sent`, messages of it no `Arrived`.
#[derive(Debug)]
pub struct Lost {
    /// The peer.
    pub peer: Peer,
    /// Incoming messages of it that will not be completed.
    pub unfinished: Vec<Arrival>,
    /// Outgoing messages to it that will not be completed.
    pub unsent: Vec<Token>,
    /// Why, in words.
    pub reason: &'static str,
}

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
    /// The body; stays untouched until `Sent` or `Lost`. It has gaps only if it is longer than
    /// [`Transport::packed_most`].
    pub body: Area,
    /// The engine's name for the send.
    pub token: Token,
    /// Somebody waits for `Sent`: the receiver is asked to acknowledge at once, not when it suits
    /// it.
    pub is_awaited: bool,
    /// `Sent` says that the message has found its receive (synchronous mode).
    pub needs_match: bool,
}

/// The contract; see the module.
pub trait Transport {
    /// The greatest body, in bytes.
    fn body_limit(&self) -> u64;

    /// Sends a message to `to`. It may wait for others that go the same way, until `flush` or
    /// `poll`, never longer.
    ///
    /// # Errors
    /// [`Refusal`], at once; nothing was sent.
    fn send(&mut self, to: Peer, message: Outbound<'_>) -> Result<(), Refusal>;

    /// Sends on what `send` kept waiting, as far as the receivers let it.
    fn flush(&mut self);

    /// Answers `Arriving`: at once, and again later if the answer was [`Landing::Later`].
    fn land(&mut self, arrival: Arrival, landing: Landing) -> Landed;

    /// The next event, `None` if nothing happens now. Never blocks. Who calls until it answers
    /// `None` gives the road one turn; more may have come meanwhile.
    fn poll(&mut self, now: Instant) -> Option<Event>;

    /// Ends a turn before `poll` has answered `None`: the rest stays for the next one. What
    /// should not wait is sent, because the next turn may be far away.
    fn pause(&mut self);

    /// When `poll` must be called again even if nothing arrives.
    fn wake_at(&self) -> Option<Instant>;

    /// What becomes readable when `poll` has something to do.
    fn wake_on(&self) -> Option<BorrowedFd<'_>>;

    /// This process is about to sleep on `wake_on`: whoever sends to it has to wake it. Answers
    /// whether nothing has come meanwhile.
    fn begin_rest(&mut self) -> bool {
        true
    }

    /// It sleeps no more.
    fn end_rest(&mut self) {}

    /// From now on bodies stay with their senders until their messages land, or may come along
    /// again. What is on its way still comes. A road on which `Landing::Later` does the same need
    /// not listen.
    fn keep_bodies_away(&mut self, _away: bool) {}

    /// Whether who waits until a send is finished waits for an acknowledgement that somebody sends
    /// for that alone.
    fn acknowledges(&self) -> bool {
        false
    }

    /// What moved on of long messages, in units of the road's own: a turn after which it has grown
    /// did something, though it may have had nothing to tell.
    fn moved(&self) -> u64 {
        0
    }

    /// Bytes up to which data with gaps is packed by the engine; what is longer goes as it lies.
    fn packed_most(&self) -> u64;

    /// Gives the memory of long tables back that are empty.
    fn shrink(&mut self) {}

    /// Whether everything that was sent is with its receivers.
    fn is_quiet(&self) -> bool;

    /// Where the socket of `peer` listens, on a road that has sockets.
    fn address(&self, _peer: Peer) -> Option<SocketAddr> {
        None
    }
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
    Rmpp(Rmpp),
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
            Link::Rmpp(rmpp) => {
                self.rmpp = rmpp.counters().clone();
                self.udp = rmpp.datagrams();
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
            Link::Rmpp($road) => $call,
            #[cfg(feature = "sim")]
            Link::Sim($road) => $call,
            #[cfg(feature = "sim")]
            Link::Tap($road) => $call,
        }
    };
}

impl Transport for Link {
    fn body_limit(&self) -> u64 {
        each!(self, road => road.body_limit())
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
    fn pause(&mut self) {
        each!(self, road => road.pause());
    }

    #[inline(always)]
    fn land(&mut self, arrival: Arrival, landing: Landing) -> Landed {
        each!(self, road => road.land(arrival, landing))
    }

    #[inline]
    fn poll(&mut self, now: Instant) -> Option<Event> {
        each!(self, road => road.poll(now))
    }

    fn wake_at(&self) -> Option<Instant> {
        each!(self, road => road.wake_at())
    }

    fn wake_on(&self) -> Option<BorrowedFd<'_>> {
        each!(self, road => road.wake_on())
    }

    fn begin_rest(&mut self) -> bool {
        each!(self, road => road.begin_rest())
    }

    fn end_rest(&mut self) {
        each!(self, road => road.end_rest());
    }

    fn keep_bodies_away(&mut self, away: bool) {
        each!(self, road => road.keep_bodies_away(away));
    }

    fn acknowledges(&self) -> bool {
        each!(self, road => road.acknowledges())
    }

    #[inline]
    fn moved(&self) -> u64 {
        each!(self, road => road.moved())
    }

    fn packed_most(&self) -> u64 {
        each!(self, road => road.packed_most())
    }

    fn shrink(&mut self) {
        each!(self, road => road.shrink());
    }

    fn is_quiet(&self) -> bool {
        each!(self, road => road.is_quiet())
    }

    fn address(&self, peer: Peer) -> Option<SocketAddr> {
        each!(self, road => road.address(peer))
    }
}
