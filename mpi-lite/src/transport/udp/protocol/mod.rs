//! The interface between a packet protocol, the guest, and its carrier. A protocol has messages and
//! no sockets, the carrier has sockets and no messages.

pub(crate) mod pipe;
#[cfg(test)]
pub(crate) mod pipe_tests;
pub(crate) mod rmpp;
pub(crate) mod sctp;

use core::ops::Deref;
use std::net::SocketAddr;

use crate::clock::Instant;
use crate::data::{Area, Part};
use crate::memory::Span;
use crate::transport::{Arrival, Outbound, PeerId, Refusal, Sink};

/// Bytes of the header that most packets have.
pub(crate) const HEADER_BYTES: usize = 36;

/// The header of a packet on its way out.
pub(crate) trait Header: Deref<Target = [u8]> {
    /// The header of the packet that comes `count` behind this one in a run of packets.
    fn behind(&self, count: u32) -> Self;
}

/// An outgoing packet, or a run of packets that differ only in their numbers.
pub(crate) struct Parcel<'a, H> {
    pub(crate) to: PeerId,
    /// The header of the first packet. Those behind it have [`Header::behind`].
    pub(crate) header: &'a H,
    pub(crate) packets: u32,
    /// The envelope before the body of a first packet; else empty.
    pub(crate) envelope: &'a [u8],
    /// The bodies of all packets, each as long as the others.
    pub(crate) body: Part<'a>,
}

impl<'a, H: Header> Parcel<'a, H> {
    /// Header and body of the packet with this place in the run.
    #[inline]
    pub(crate) fn packet(&self, number: u32) -> (H, Part<'a>) {
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
    /// Why this host refuses to send there, in words, if it has lately.
    pub(crate) refusal: Option<String>,
}

/// A packet protocol, with the places of the bytes of its messages.
///
/// The carrier begins messages, hands in received packets, sends packets that are due, keeps the
/// time, and passes events on.
pub(crate) trait Protocol {
    /// The name of a message that has begun.
    type Message: Copy;
    /// A header on its way out.
    type Header: Header;
    /// A packet that is expected.
    type Expected: Expected;
    /// Packets to be taken in as one.
    type Run: Run;

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

    /// Hands out the message that `send` has just begun, if it is a short one that may go now.
    /// Returns true if it went; `note_sent` then starts its timer.
    fn transmit_first(
        &mut self,
        message: Self::Message,
        send: impl FnMut(&Parcel<'_, Self::Header>),
    ) -> bool;

    /// Notes that the packet of `transmit_first` is on its way.
    fn note_sent(&mut self, message: Self::Message, now: Instant);

    /// Returns true if an urgent packet is due.
    fn is_pressed(&self) -> bool;

    /// The packet that is likely to come next, and the memory where its payload belongs. That is
    /// written by nobody else, and read by nobody until the message is complete.
    fn awaited(&mut self) -> Option<(Self::Expected, Span)>;

    /// Notes that the payload of the next packet is in its place already: the packet is the one
    /// that was `awaited` last.
    fn note_in_place(&mut self);

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

    /// The run of packets that `datagram` begins, if it is one packet of a kind that has them.
    fn run_of(&self, datagram: &[u8]) -> Option<Self::Run>;

    /// Handles a run of packets. `payload` returns the payload of each, by its place in the run.
    fn take_run<'a>(
        &mut self,
        from: PeerId,
        run: Self::Run,
        payload: impl Fn(u32) -> &'a [u8],
        now: Instant,
    );

    /// Notes that datagrams were dropped on this side for want of room.
    fn note_overflow(&mut self);

    /// Lands a message that was held. Returns true if it is complete.
    fn land(&mut self, arrival: Arrival, area: Area, now: Instant) -> bool;

    /// Reports to `sink` what has happened, until `wants_more` returns false. `route` is the way to
    /// a peer. Returns true if there was anything.
    fn tell(&mut self, now: Instant, sink: &mut impl Sink, route: impl Fn(PeerId) -> Route)
    -> bool;

    /// Returns true if `tell` has something to report.
    fn has_news(&self) -> bool;

    /// Returns true if packets of long messages went or came since this was last called.
    fn has_moved(&mut self) -> bool;

    /// Returns when `handle_timeout` must be called.
    fn next_timeout(&self) -> Option<Instant>;

    /// Does what is due. Returns true if anything was.
    fn handle_timeout(&mut self, now: Instant) -> bool;

    /// Returns true if all sent messages are with their receivers.
    fn is_quiet(&self) -> bool;
}
