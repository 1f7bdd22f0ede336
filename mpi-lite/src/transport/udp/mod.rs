//! Messages over UDP: `Socket` carries the packets of a packet protocol, its guest, in datagrams.
//!
//! One socket per rank, bound to the interface that the launcher chose. Each datagram begins with
//! a seal of the job and the sender's rank; both and the source address are checked before any
//! state of the protocol is touched (rules E and S of `docs/protocol.md`).

mod card;
mod ends;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod inbox;
mod mtu;
mod options;
mod outbox;
pub(crate) mod protocol;
mod recorder;
mod refusals;
mod round;
mod seal;
mod shaper;
mod socket;
mod wrap;

use core::marker::PhantomData;
use std::net::IpAddr;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::time::Duration;
use wrap::{KEY_BYTES, WRAP_BYTES};

pub use card::{Card, agree};
pub use protocol::rmpp::Rmpp;
use protocol::{Agreed, Protocol, Run};
use round::Round;
use seal::Seal;
use shaper::Shaper;
use socket::{Job, Socket};

use super::{
    Arrival, Capabilities, Landing, Outbound, PeerId, Progress, Refusal, Sink, Tallies, Transport,
};
use crate::clock::{Clock, Instant};
use crate::config::{Secure, Settings};
use crate::machine::cannot;

/// How long timers wait at most until received datagrams are handled, if datagrams come without
/// end.
const BEHIND_MAX: Duration = Duration::from_millis(1);

/// A bound socket without the addresses of its peers.
#[derive(Debug)]
pub struct Bound<P = Rmpp> {
    socket: Socket,
    card: Card,
    protocol: PhantomData<P>,
}

#[expect(private_bounds, reason = "the protocols are ours alone")]
impl<P: Protocol> Bound<P> {
    /// Binds a socket to `address`, any port. `ranks_per_core`: ranks for each core of this node.
    ///
    /// # Errors
    /// A line for humans if the address is not one of this machine or sockets are forbidden.
    pub fn new(address: IpAddr, ranks_per_core: u32, settings: &Settings) -> Result<Self, String> {
        let socket = Socket::bind(address, settings)
            .map_err(|error| cannot(&format!("open a UDP socket on {address}"), &error))?;
        let secure = settings.secure.unwrap_or(Secure::Cookie);
        let limit = mtu::packet_bytes(address, socket.descriptor());
        let limit = limit.saturating_sub(P::HEADER_BYTES + seal::tail_bytes(secure)) as u64;
        let packet_bytes = settings
            .packet_bytes
            .map_or(limit, |asked| asked.min(limit));
        if packet_bytes < 64 {
            return Err(format!("MPILITE_PACKET_BYTES={packet_bytes} is below 64"));
        }
        let address = socket
            .address()
            .map_err(|error| cannot("read the address of the UDP socket", &error))?;
        let card = Card {
            address,
            packet_bytes: u32::try_from(packet_bytes).unwrap_or(u32::MAX),
            caps: settings.rmpp.bits(),
            buffer_bytes: socket.receive_buffer() as u64,
            ranks_per_core,
            secure,
            salt: round::draw_salt()?,
        };
        Ok(Self {
            socket,
            card,
            protocol: PhantomData,
        })
    }

    /// The card of this rank, for the others.
    #[must_use]
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// Makes the transport from the cards of all ranks. `key` is the job's.
    #[must_use]
    pub fn connect(
        mut self,
        me: PeerId,
        cards: &[Card],
        key: &[u8; KEY_BYTES],
        context: (&Settings, Clock),
    ) -> Udp<P> {
        let (settings, clock) = context;
        let round = Round::new(key, cards);
        let seal = Seal::new(self.card.secure, &round, me.0);
        let agreed = Agreed {
            me,
            cards,
            buffer_bytes: self.socket.receive_buffer(),
            seed: round.seed(me.0),
            settings,
        };
        let guest = P::new(&agreed);
        let packet_bytes = P::HEADER_BYTES + agreed.packet_bytes();
        let longest_bytes = WRAP_BYTES + packet_bytes + seal.tail_bytes();
        self.socket.know(Job {
            me: me.0,
            seal,
            peers: cards.iter().map(|card| card.address).collect(),
            longest_bytes,
            header_bytes: P::HEADER_BYTES,
            coalesces: guest.shares_datagrams(),
        });
        if let Some(network) = settings.network {
            self.socket
                .shape(Shaper::new(network, (me.0, cards.len()), clock));
        }
        if let Some(prefix) = &settings.packets {
            self.socket
                .record(prefix, (P::NUMBER, agreed.packet_bytes()));
        }
        Udp {
            guest,
            socket: self.socket,
            now: clock.now(),
            clock,
            from: PeerId(0),
            in_hand: 0..0,
            begun: Vec::new(),
            has_unflushed: false,
        }
    }
}

/// Data with gaps that fits a packet or two is packed faster before it is sent.
const PACKED_MOST: u64 = 2048;

/// A packet protocol over UDP.
#[expect(private_bounds, reason = "the protocols are ours alone")]
#[derive(Debug)]
pub struct Udp<P: Protocol = Rmpp> {
    guest: P,
    socket: Socket,
    clock: Clock,
    /// The time of the last turn.
    now: Instant,
    /// Packets of one datagram that were not looked at yet: their sender, and where they are.
    from: PeerId,
    in_hand: Range<usize>,
    /// Messages that were handed to the socket since the last `flush`.
    begun: Vec<P::Message>,
    /// Something was sent that is not with the system yet, or packets came that may be answered.
    has_unflushed: bool,
}

#[expect(private_bounds, reason = "the protocols are ours alone")]
impl<P: Protocol> Udp<P> {
    /// Adds to `tallies` what the protocol has counted, and the socket, also of datagrams dropped
    /// before the protocol saw them.
    pub(super) fn count(&self, tallies: &mut Tallies) {
        self.guest.count(tallies);
        tallies.udp = self.socket.counters();
    }

    #[inline]
    fn pump(&mut self, now: Instant) {
        self.has_unflushed = false;
        self.now = now;
        let socket = &mut self.socket;
        while self
            .guest
            .transmit(self.now, socket.room(), |parcel| socket.push_parcel(parcel))
        {
            socket.flush();
            // That took time: the timers of later packets begin now.
            self.now = self.clock.now();
        }
        socket.flush();
    }

    /// Returns true if timers must wait until received datagrams are read: the awaited answer may
    /// be among them.
    #[inline]
    fn is_behind(&self, now: Instant) -> bool {
        let is_late = |due| now.since(due) >= BEHIND_MAX;
        self.socket.may_have_more() && !self.guest.next_timeout().is_some_and(is_late)
    }

    /// Takes the next datagram in hand; returns true if there was one.
    #[inline]
    fn take_datagram(&mut self) -> bool {
        let was_stretch = self.socket.is_at_end_of_stretch();
        if was_stretch {
            // Many may be in hand: no peer should wait for its answer until all are handled.
            self.pump(self.now);
        }
        let Some((from, place)) = self.socket.next() else {
            return false;
        };
        if was_stretch {
            // What was sent meanwhile took time, too.
            self.now = self.clock.now();
        }
        (self.from, self.in_hand) = (PeerId(from), place);
        true
    }

    /// Handles the packet in hand and those that follow it in its stretch, if they are of a kind
    /// that comes in runs. What ends the run is in hand then.
    fn take_run(&mut self) -> bool {
        let first = self.in_hand.clone();
        let Some(mut run) = self.guest.run_of(self.socket.bytes(first.clone())) else {
            return false;
        };
        let (from, mut apart) = (self.from, 0);
        self.in_hand.start = first.end;
        while let Some((next_from, place)) = self.socket.next_in_stretch() {
            if apart == 0 {
                apart = place.start - first.start;
            }
            let is_next = PeerId(next_from) == from
                && place.start == first.start + run.count() as usize * apart
                && run.add(self.socket.bytes(place.clone()));
            if !is_next {
                (self.from, self.in_hand) = (PeerId(next_from), place);
                break;
            }
        }
        self.socket.note_run(from.0, &first, (run.count(), apart));
        if !self.in_hand.is_empty() {
            self.socket.note_arrival(self.from.0, self.in_hand.clone());
        }
        let (header_bytes, payload_bytes) = (run.header_bytes(), run.payload_bytes());
        let payload = |number: u32| {
            let start = first.start + number as usize * apart + header_bytes;
            self.socket.bytes(start..start + payload_bytes)
        };
        self.guest.take_run(from, run, payload, self.now);
        self.has_unflushed = true;
        true
    }

    /// Handles the next packet of the datagram in hand. Returns true if a message was reported to
    /// `sink`.
    #[inline]
    fn take_packet(&mut self, sink: &mut impl Sink) -> bool {
        if self.socket.is_in_place() {
            self.guest.note_in_place();
        }
        let left = self.socket.bytes(self.in_hand.clone());
        let (bytes, is_told) = self.guest.take_packet(self.from, left, self.now, sink);
        self.in_hand.start += bytes;
        self.has_unflushed = true;
        is_told
    }

    /// Reports the events of the protocol to `sink`.
    #[inline]
    fn tell(&mut self, sink: &mut impl Sink) -> bool {
        let route = |peer: PeerId| self.socket.route_to(peer.0);
        self.guest.tell(self.now, sink, route)
    }

    /// Asks the system once, and handles what has come until `wants_more` returns false. Returns
    /// true if the sink was called.
    #[inline]
    fn take_in(&mut self, sink: &mut impl Sink) -> bool {
        let (mut has_told, mut has_asked) = (false, false);
        loop {
            has_told |= self.tell(sink);
            if !sink.wants_more() {
                return has_told;
            }
            if !self.in_hand.is_empty() {
                if !self.socket.has_more_in_stretch() || !self.take_run() {
                    has_told |= self.take_packet(sink);
                }
                continue;
            }
            if self.take_datagram() {
                continue;
            }
            if has_asked || !self.socket.fetch(self.guest.awaited()) {
                return has_told;
            }
            has_asked = true;
        }
    }
}

impl<P: Protocol> Transport for Udp<P> {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            body_limit: self.guest.body_limit(),
            packed_most: PACKED_MOST,
            acknowledges: true,
            is_memory: false,
        }
    }

    #[inline]
    fn send(&mut self, to: PeerId, message: Outbound<'_>) -> Result<(), Refusal> {
        // The time matters when the message goes out.
        let id = self.guest.send(to, message, self.now)?;
        let socket = &mut self.socket;
        let went = self
            .guest
            .transmit_first(id, |parcel| _ = socket.push_parcel(parcel));
        if went {
            self.begun.push(id);
        } else {
            self.has_unflushed = true;
        }
        Ok(())
    }

    #[inline]
    fn flush(&mut self) {
        self.socket.flush();
        if self.begun.is_empty() && !self.has_unflushed {
            return;
        }
        // Timers start once the packet is on its way: that is soon enough, and does not delay the
        // packet.
        let now = self.clock.now();
        for id in self.begun.drain(..) {
            self.guest.note_sent(id, now);
        }
        if self.has_unflushed {
            self.pump(now);
        }
    }

    fn land(&mut self, arrival: Arrival, landing: Landing) -> bool {
        let Landing::Into(area) = landing else {
            return false;
        };
        let now = self.clock.now();
        let is_complete = self.guest.land(arrival, area, now);
        self.pump(now);
        is_complete
    }

    fn progress(&mut self, now: Instant, sink: &mut impl Sink) -> Progress {
        self.now = self.now.max(now);
        if !self.begun.is_empty() {
            self.flush();
        }
        let mut has_told = self.take_in(sink);
        self.socket.write_records();
        if !sink.wants_more() {
            // The next progress may be far away: urgent packets are sent now.
            if self.guest.is_pressed() {
                self.pump(self.now);
            }
            return Progress::Delivered;
        }
        // The time when the system was asked: an answer may have come since.
        let was_due = !self.is_behind(now) && self.guest.handle_timeout(now);
        // Timers are a good time to ask: they are rare, and due when something was lost.
        if was_due && self.socket.has_overflowed() {
            self.guest.note_overflow();
        }
        if was_due || self.has_unflushed || self.guest.is_pressed() {
            self.pump(self.now);
            has_told |= self.tell(sink);
        }
        match self.guest.has_moved() {
            _ if has_told => Progress::Delivered,
            true => Progress::Moved,
            false => Progress::Idle,
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        let is_busy = !self.in_hand.is_empty() || self.socket.has_more();
        if is_busy || self.guest.has_news() || self.has_unflushed {
            return Some(Instant::ZERO);
        }
        let dues = [self.guest.next_timeout(), self.socket.next_due()];
        dues.into_iter().flatten().min()
    }

    fn wake_on(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.descriptor())
    }

    fn push_back(&mut self, away: bool) {
        self.guest.push_back(away);
        self.has_unflushed = true;
    }

    fn close(&mut self) {
        self.guest.close(self.clock.now());
        self.has_unflushed = true;
    }

    fn is_quiet(&self) -> bool {
        self.guest.is_quiet()
    }
}
