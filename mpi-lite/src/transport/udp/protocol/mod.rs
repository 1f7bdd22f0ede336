//! The interface between a packet protocol, the guest, and its carrier. A protocol has messages and
//! no sockets, the carrier has sockets and no messages.

pub(crate) mod rmpp;

use core::ops::Deref;
use std::borrow::Cow;
use std::net::SocketAddr;

use super::Card;
use crate::clock::Instant;
use crate::config::Settings;
use crate::data::{Area, AreaPart};
use crate::memory::Span;
use crate::transport::{Arrival, Hindrance, Outbound, PeerId, Refusal, Sink, Tallies};

/// Why a peer is lost.
const SILENT: &str = "it has given no answer for too long (MPILITE_LOST_S); is its host up, and \
                      does a firewall between the hosts keep UDP away?";

/// Why a peer is lost that has not answered, if it is not to blame itself.
#[cold]
pub(crate) fn silence(hindrance: Option<Hindrance>) -> Cow<'static, str> {
    match hindrance {
        Some(Hindrance::Refusal(refusal)) => {
            format!("it has given no answer for too long (MPILITE_LOST_S): {refusal}").into()
        }
        Some(Hindrance::BadNetwork(network)) => format!(
            "it has given no answer for too long (MPILITE_LOST_S): does --net {network} let any \
             through?"
        )
        .into(),
        None => SILENT.into(),
    }
}

/// The header of a packet on its way out.
pub(crate) trait OutgoingHeader {
    /// The bytes of the header.
    fn bytes(&self) -> &[u8];

    /// The bytes of the header of the packet that comes `count` behind this one in a run of
    /// packets.
    fn behind(&self, count: u32) -> impl Deref<Target = [u8]>;
}

/// An outgoing packet, or a run of packets that differ only in their numbers.
pub(crate) struct Parcel<'a, H: ?Sized> {
    pub(crate) to: PeerId,
    /// The header of the first packet. Those behind it have [`OutgoingHeader::behind`].
    pub(crate) header: &'a H,
    pub(crate) packets: u32,
    /// The envelope before the body of a first packet; else empty.
    pub(crate) envelope: &'a [u8],
    /// The bodies of all packets, each as long as the others.
    pub(crate) body: AreaPart<'a>,
}

impl<'a, H: OutgoingHeader + ?Sized> Parcel<'a, H> {
    /// Header and body of the packet with this place in the run.
    #[inline]
    pub(crate) fn packet(&self, number: u32) -> (impl Deref<Target = [u8]>, AreaPart<'a>) {
        let bytes = self.body.len() / self.packets as usize;
        let body = self.body.part(number as usize * bytes, bytes);
        (self.header.behind(number), body)
    }
}

/// An expected packet: the place of its payload is known before it comes.
pub(crate) trait Expected {
    /// Bytes of its header.
    fn header_bytes(&self) -> usize;

    /// Bytes of its payload.
    fn payload_bytes(&self) -> usize;

    /// Returns true if `packet`, which `from` has sent, begins as this one does.
    fn is(&self, from: PeerId, packet: &[u8]) -> bool;
}

/// Packets that come one behind the other, to be taken in as one.
pub(crate) trait Run {
    /// How many there are.
    fn count(&self) -> u32;

    /// Bytes of the header of each.
    fn header_bytes(&self) -> usize;

    /// Bytes of the payload of each.
    fn payload_bytes(&self) -> usize;

    /// Adds the packet that is all of `datagram`, if it is the next one. Returns true if it is.
    fn add(&mut self, datagram: &[u8]) -> bool;
}

/// The carrier's route to a peer.
#[derive(Debug, Default)]
pub(crate) struct Route {
    /// Where the peer's socket listens.
    pub(crate) address: Option<SocketAddr>,
    /// What stands in the way, as far as is known.
    pub(crate) hindrance: Option<Hindrance>,
}

/// What a protocol is made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Agreed<'a> {
    /// This process.
    pub(crate) me: PeerId,
    /// What all processes of the job have published, by `PeerId`.
    pub(crate) cards: &'a [Card],
    /// Bytes of the receive buffer of this process, as the system counts them.
    pub(crate) buffer_bytes: usize,
    /// The seed of random numbers.
    pub(crate) seed: u64,
    /// The settings of this process.
    pub(crate) settings: &'a Settings,
}

impl Agreed<'_> {
    /// Payload bytes of a packet that all paths carry.
    pub(crate) fn packet_bytes(&self) -> usize {
        let bytes = self.cards.iter().map(|card| card.packet_bytes);
        bytes.min().expect("a job has a rank") as usize
    }
}

/// A packet protocol, with the places of the bytes of its messages.
///
/// The carrier begins messages, hands in received packets, sends packets that are due, keeps the
/// time, and passes events on.
pub(crate) trait Protocol: Shortcuts + Sized {
    /// Its number in a record of packets (`packets`).
    const NUMBER: u8;

    /// Bytes of the header that most packets have.
    const HEADER_BYTES: usize;

    /// The end of one process.
    fn new(agreed: &Agreed<'_>) -> Self;

    /// Adds what was counted to `tallies`.
    fn count(&self, tallies: &mut Tallies);

    /// The greatest body, in bytes.
    fn body_limit(&self) -> u64;

    /// Begins a message; `transmit` sends it, or `transmit_first` its beginning.
    ///
    /// # Errors
    /// [`Refusal`]; nothing has begun.
    fn send(
        &mut self,
        to: PeerId,
        message: Outbound<'_>,
        now: Instant,
    ) -> Result<Self::Message, Refusal>;

    /// Hands out everything that is due, at first up to `room` packets at once. `send` returns how
    /// many packets it has room for now. Returns true if it had none: there may be more.
    fn transmit(
        &mut self,
        now: Instant,
        room: u32,
        send: impl FnMut(&Parcel<'_, Self::Header>) -> u32,
    ) -> bool;

    /// Handles the packet of `from` at the start of `left`, and reports the message that it begins
    /// to `sink`. Returns where the next packet begins, and true if a message was reported. Earlier
    /// events must have been reported by `tell`.
    fn take_packet(
        &mut self,
        from: PeerId,
        left: &[u8],
        now: Instant,
        sink: &mut impl Sink,
    ) -> (usize, bool);

    /// Lands a message that was held. Returns true if it is complete.
    fn land(&mut self, arrival: Arrival, area: Area, now: Instant) -> bool;

    /// Reports to `sink` what has happened, until `wants_more` returns false. `route` is the way to
    /// a peer. Returns true if there was anything.
    fn tell(&mut self, now: Instant, sink: &mut impl Sink, route: impl Fn(PeerId) -> Route)
    -> bool;

    /// Returns true if `tell` has something to report.
    fn has_news(&self) -> bool;

    /// Returns when `handle_timeout` must be called.
    fn next_timeout(&self) -> Option<Instant>;

    /// Does what is due. Returns true if anything was.
    fn handle_timeout(&mut self, now: Instant) -> bool;

    /// Returns true if all sent messages are with their receivers.
    fn is_quiet(&self) -> bool;
}

/// What a protocol may do beside [`Protocol`], to save time or copies. The defaults save nothing.
pub(crate) trait Shortcuts {
    /// The name of a message that has begun.
    type Message: Copy + core::fmt::Debug;
    /// A header on its way out.
    type Header: OutgoingHeader + ?Sized;
    /// A packet that is expected.
    type Expected: Expected;
    /// Packets to be taken in as one.
    type Run: Run;

    /// Returns true if several packets may share a datagram.
    fn shares_datagrams(&self) -> bool {
        false
    }

    /// Hands out the message that `send` has just begun, if it is a short one that may go now.
    /// Returns true if it went; `note_sent` then starts its timer.
    fn transmit_first(
        &mut self,
        _message: Self::Message,
        _send: impl FnMut(&Parcel<'_, Self::Header>),
    ) -> bool {
        false
    }

    /// Notes that the packet of `transmit_first` is on its way.
    fn note_sent(&mut self, _message: Self::Message, _now: Instant) {}

    /// Returns true if an urgent packet is due.
    fn is_pressed(&self) -> bool {
        false
    }

    /// The packet that is likely to come next, and the memory where its payload belongs. That is
    /// written by nobody else, and read by nobody until the message is complete.
    fn awaited(&mut self) -> Option<(Self::Expected, Span)> {
        None
    }

    /// Notes that the payload of the next packet is in its place already: the packet is the one
    /// that was `awaited` last.
    fn note_in_place(&mut self) {}

    /// The run of packets that `datagram` begins, if it is one packet of a kind that has them.
    fn run_of(&self, _datagram: &[u8]) -> Option<Self::Run> {
        None
    }

    /// Handles a run of packets. `payload` returns the payload of each, by its place in the run.
    fn take_run<'a>(
        &mut self,
        _from: PeerId,
        _run: Self::Run,
        _payload: impl Fn(u32) -> &'a [u8],
        _now: Instant,
    ) {
    }

    /// Notes that datagrams were dropped on this side for want of room.
    fn note_overflow(&mut self) {}

    /// Sets back pressure, as [`Transport::push_back`](crate::transport::Transport::push_back).
    fn push_back(&mut self, _away: bool) {}

    /// Notes that `MPI_Finalize` has begun, as
    /// [`Transport::close`](crate::transport::Transport::close).
    fn close(&mut self, _now: Instant) {}

    /// Returns true if packets of long messages went or came since this was last called.
    fn has_moved(&mut self) -> bool {
        false
    }
}
