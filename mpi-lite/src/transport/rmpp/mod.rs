//! RMPP over UDP: `rmpp-core` gives the protocol, `Socket` the datagrams, `Driver` the bytes.
//!
//! One socket per rank, bound to the interface that the launcher chose. Each datagram begins with
//! a seal of the job and the sender's rank; both and the source address are checked before any
//! state of the protocol is touched (rules E and S of `docs/protocol.md`).

mod driver;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod guest;
mod inbox;
mod incoming;
mod mtu;
mod outbox;
mod parcel;
mod round;
mod seal;
mod socket;

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::time::Duration;

pub(crate) use driver::Driver;
use rmpp_core::{Caps, Config, FAST_HEADER_BYTES, NodeId, OutgoingId};
use round::{Round, SALT_BYTES};
use seal::{KEY_BYTES, Seal};
use serde::{Deserialize, Serialize};
use socket::{Job, Socket};

use super::{Arrival, Capabilities, Landing, Outbound, Peer, Progress, Refusal, Sink, Transport};
use crate::clock::{Clock, Instant};
use crate::config::{Acks, Secure, Settings};
use crate::counters::Datagrams;

/// Bytes in front of the packets of a datagram.
const WRAP_BYTES: usize = 16;

/// The greatest UDP payload over IPv4 (RFC 768, RFC 791).
const DATAGRAM_MAX: usize = 65_507;

/// What a rank tells all others about its end of the network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// Where its socket listens.
    pub address: SocketAddr,
    /// Payload bytes of a packet that its interface carries unfragmented.
    pub packet_bytes: u32,
    /// What its protocol does beyond the classic profile, as bits (`rmpp_core::Caps`).
    pub caps: u16,
    /// Bytes of its receive buffer, as the system counts them.
    pub buffer_bytes: u64,
    /// Ranks for each core of its node, rounded up: how long it may take until a packet is seen.
    pub crowd: u32,
    /// How it seals datagrams; all ranks must do it alike.
    pub secure: Secure,
    /// Random bytes of this Init: no two rounds of it have the same keys.
    pub salt: [u8; SALT_BYTES],
}

/// Reads the cards of the ranks of a job, on `hosts`, from their bytes, by rank.
///
/// # Errors
/// A line for humans that names the first rank whose card cannot be read.
pub fn read_cards(cards: &[Vec<u8>], hosts: &[String]) -> Result<Vec<Card>, String> {
    let read = |(rank, bytes): (usize, &Vec<u8>)| {
        postcard::from_bytes(bytes).map_err(|_| {
            let host = hosts.get(rank).map_or("?", String::as_str);
            let len = bytes.len();
            format!(
                "the card of rank {rank} on {host} ({len} bytes) cannot be read: run all ranks \
                 with the same mpi-lite"
            )
        })
    };
    cards.iter().enumerate().map(read).collect()
}

/// Checks that the ranks of a job, on `hosts`, seal their datagrams alike.
///
/// # Errors
/// A line for humans that names the first rank that differs from rank 0.
pub fn agree(cards: &[Card], hosts: &[String]) -> Result<(), String> {
    let Some((rank, card)) = (0..)
        .zip(cards)
        .find(|(_, card)| card.secure != cards[0].secure)
    else {
        return Ok(());
    };
    let host = |rank: usize| hosts.get(rank).map_or("?", String::as_str);
    Err(format!(
        "rank {rank} on {} has MPILITE_SECURE={}, but rank 0 on {} has {}: set it alike for all \
         ranks, by mpirun --secure={}",
        host(rank),
        card.secure,
        host(0),
        cards[0].secure,
        card.secure.max(cards[0].secure),
    ))
}

/// How many messages may wait for their acknowledgement, where they share datagrams: a quarter of
/// what may be under way.
const ACK_EVERY: u32 = 128;

/// How long timers may wait for that at most, should datagrams come without end.
const BEHIND_MAX: Duration = Duration::from_millis(1);

/// Packets that follow RTS without a grant, even if that is more than the core's measure: with one
/// packet of the loopback the sender is done before the grant is there.
const UNSCHEDULED_PACKETS: usize = 2;

/// What the cards of a job have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Terms {
    nodes: u32,
    packet_bytes: usize,
    caps: Caps,
    /// The least receive buffer.
    buffer_bytes: u64,
    /// The greatest crowd.
    crowd: u32,
}

impl Terms {
    fn of(cards: &[Card]) -> Self {
        let least = |of: fn(&Card) -> u64| cards.iter().map(of).min().expect("a job has a rank");
        let caps = cards.iter().map(|card| Caps::from_bits(card.caps));
        Self {
            nodes: u32::try_from(cards.len()).expect("ranks are counted in 32 bits"),
            packet_bytes: least(|card| card.packet_bytes.into()) as usize,
            caps: caps.fold(Caps::FAST, Caps::and),
            buffer_bytes: least(|card| card.buffer_bytes),
            crowd: cards.iter().map(|card| card.crowd).max().unwrap_or(1),
        }
    }

    /// The protocol's parameters. All ranks come to the same, except for what is each one's own.
    fn config(&self, own_buffer_bytes: usize, settings: &Settings) -> Config {
        let mut config = Config::with_caps(self.nodes, self.packet_bytes, self.caps);
        config.max_rcv_buf = receive_packets(own_buffer_bytes, self.packet_bytes);
        be_patient(&mut config, settings.lost_s);
        config.min_timeout = (config.min_timeout * self.crowd.max(1)).min(config.max_timeout);
        if self.crowd > 1 {
            // Who is to answer may first have to wait for a core.
            config.probe_timeout = config.min_timeout;
        }
        if !self.caps.is_classic() {
            let share = self.buffer_bytes / u64::from(self.nodes);
            let packet = self.packet_bytes as u64;
            // Nobody can take back what comes unasked: all peers at once must find room.
            let unscheduled = config
                .unscheduled_bytes
                .max(UNSCHEDULED_PACKETS * self.packet_bytes);
            config.unscheduled_bytes = unscheduled.min(share as usize / 4);
            config.first_window_bytes = (share / 2).clamp(packet, (1 << 20).max(packet));
            if self.caps.has(Caps::COALESCE) {
                // A datagram brings dozens of messages: not each of them is worth an answer.
                config.ack_every = ACK_EVERY;
            }
            if settings.rmpp_ack == Acks::Eager {
                config.ack_every = 1;
            }
        }
        config
    }
}

/// A bound socket whose peers are not known yet.
#[derive(Debug)]
pub struct Bound {
    socket: Socket,
    card: Card,
}

impl Bound {
    /// Binds a socket to `address`, any port. `crowd`: ranks for each core of this node.
    ///
    /// # Errors
    /// A line for humans if the address is not one of this machine or sockets are forbidden.
    pub fn new(address: IpAddr, crowd: u32, settings: &Settings) -> Result<Self, String> {
        let socket = Socket::bind(address, settings)
            .map_err(|error| format!("cannot open a UDP socket on {address}: {error}"))?;
        let secure = settings.secure.unwrap_or(Secure::Cookie);
        let tail_bytes = seal::tail_bytes(secure) as u64;
        let limit = mtu::packet_bytes(address, socket.descriptor()).saturating_sub(tail_bytes);
        let packet_bytes = settings
            .packet_bytes
            .map_or(limit, |asked| asked.min(limit));
        if packet_bytes < 64 {
            return Err(format!("MPILITE_PACKET_BYTES={packet_bytes} is below 64"));
        }
        let address = socket
            .address()
            .map_err(|error| format!("cannot read the address of the UDP socket: {error}"))?;
        let card = Card {
            address,
            packet_bytes: u32::try_from(packet_bytes).unwrap_or(u32::MAX),
            caps: settings.rmpp.bits(),
            buffer_bytes: socket.receive_buffer() as u64,
            crowd,
            secure,
            salt: round::draw_salt()?,
        };
        Ok(Self { socket, card })
    }

    /// What the other ranks must know of this one.
    #[must_use]
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// The transport, once the cards of all ranks are here. `key` is the job's.
    #[must_use]
    pub fn connect(
        mut self,
        me: Peer,
        cards: &[Card],
        key: &[u8; KEY_BYTES],
        context: (&Settings, Clock),
    ) -> Rmpp {
        let (settings, clock) = context;
        let terms = Terms::of(cards);
        let round = Round::new(key, cards);
        let seal = Seal::new(self.card.secure, &round, me.0);
        let longest_bytes = WRAP_BYTES + FAST_HEADER_BYTES + terms.packet_bytes + seal.tail_bytes();
        self.socket.know(Job {
            me: me.0,
            seal,
            peers: cards.iter().map(|card| card.address).collect(),
            longest_bytes,
            coalesces: terms.caps.has(Caps::COALESCE),
        });
        let mut config = terms.config(self.socket.receive_buffer(), settings);
        config.seed = round.seed(me.0);
        let driver = Driver::new(NodeId(me.0), config);
        Rmpp {
            driver,
            socket: self.socket,
            now: clock.now(),
            clock,
            from: NodeId(0),
            in_hand: 0..0,
            begun: Vec::new(),
            has_unflushed: false,
        }
    }
}

/// A peer is lost after `lost_s` seconds of silence, 0: never.
fn be_patient(config: &mut Config, lost_s: u64) {
    config.lost_after = (lost_s > 0).then(|| Duration::from_secs(lost_s));
    if let Some(lost_after) = config.lost_after {
        // Who sleeps until the next timer must not take its sleep for a pause (rule T).
        config.max_timeout = config.max_timeout.min(lost_after / 4);
    }
}

/// How many full packets a socket buffer of `bytes` holds: the kernel charges a datagram with its
/// page-rounded memory, which for small ones is about twice their size (facts: truesize), and
/// half of the buffer is left to first packets and control packets.
fn receive_packets(bytes: usize, packet_bytes: usize) -> u32 {
    let charge = 2 * (packet_bytes + 512).next_multiple_of(2048);
    u32::try_from(bytes / charge).unwrap_or(u32::MAX).max(2)
}

/// What fits a packet or two is packed faster at once.
const PACKED_MOST: u64 = 2048;

/// RMPP over UDP.
#[derive(Debug)]
pub struct Rmpp {
    driver: Driver,
    socket: Socket,
    clock: Clock,
    /// The time of the last turn.
    now: Instant,
    /// Packets of one datagram that were not looked at yet: who sent them, where they are.
    from: NodeId,
    in_hand: Range<usize>,
    /// Messages that were handed to the socket since the last `flush`.
    begun: Vec<OutgoingId>,
    /// Something was sent that is not with the system yet, or packets came that may be answered.
    has_unflushed: bool,
}

impl Rmpp {
    /// Counters of the protocol.
    #[must_use]
    pub fn counters(&self) -> &rmpp_core::Counters {
        self.driver.counters()
    }

    /// Counters of the socket, also of datagrams dropped before the protocol saw them.
    #[must_use]
    pub fn datagrams(&self) -> Datagrams {
        self.socket.counters()
    }

    #[inline]
    fn pump(&mut self, now: Instant) {
        self.has_unflushed = false;
        self.now = now;
        let socket = &mut self.socket;
        while self
            .driver
            .transmit(self.now, socket.room(), |parcel| socket.push_parcel(parcel))
        {
            socket.flush();
            // That has taken its time: the timers of what follows begin now.
            self.now = self.clock.now();
        }
        socket.flush();
    }

    /// Whether timers wait until what has come is read: the answer they miss may be among it.
    #[inline]
    fn is_behind(&self, now: Instant) -> bool {
        let is_late = |due| now.since(due) >= BEHIND_MAX;
        self.socket.may_have_more() && !self.driver.next_timeout().is_some_and(is_late)
    }

    /// Takes the next datagram in hand; answers whether there was one.
    #[inline]
    fn take_datagram(&mut self) -> bool {
        let was_stretch = self.socket.is_at_end_of_stretch();
        if was_stretch {
            // Much may be in hand: nobody should wait for his answer until it is all done.
            self.pump(self.now);
        }
        let Some((from, place)) = self.socket.next() else {
            return false;
        };
        if was_stretch {
            // And what was sent meanwhile has taken its time.
            self.now = self.clock.now();
        }
        (self.from, self.in_hand) = (NodeId(from), place);
        true
    }

    /// Handles the packet in hand and those that follow it in its stretch, if they are of a kind
    /// that comes in runs. What ends the run is in hand then.
    fn take_run(&mut self) -> bool {
        let first = self.in_hand.clone();
        let Some(mut run) = self.driver.run_of(self.socket.bytes(first.clone())) else {
            return false;
        };
        let (from, mut apart) = (self.from, 0);
        self.in_hand.start = first.end;
        while let Some((next_from, place)) = self.socket.next_in_stretch() {
            if apart == 0 {
                apart = place.start - first.start;
            }
            let is_next = NodeId(next_from) == from
                && place.start == first.start + run.count() as usize * apart
                && run.takes(self.socket.bytes(place.clone()), place.len());
            if !is_next {
                (self.from, self.in_hand) = (NodeId(next_from), place);
                break;
            }
        }
        let payload = |number: u32| {
            let start = first.start + number as usize * apart + run.header_bytes();
            self.socket.bytes(start..start + run.payload_bytes())
        };
        self.driver.take_run(from, run, payload, self.now);
        self.has_unflushed = true;
        true
    }

    /// Handles the next packet of the datagram in hand. Returns true if `sink` was told of a
    /// message.
    #[inline]
    fn take_packet(&mut self, sink: &mut impl Sink) -> bool {
        if self.socket.is_in_place() {
            self.driver.note_in_place();
        }
        let left = self.socket.bytes(self.in_hand.clone());
        let (bytes, is_told) = self.driver.take_packet(self.from, left, self.now, sink);
        self.in_hand.start += bytes;
        self.has_unflushed = true;
        is_told
    }

    /// Tells `sink` what the protocol has to tell.
    #[inline]
    fn tell(&mut self, sink: &mut impl Sink) -> bool {
        let address = |peer: Peer| self.socket.address_of(peer.0);
        self.driver.tell(self.now, sink, address)
    }

    /// Asks the system once, and takes in what came of it until the sink wants no more. Returns
    /// true if the sink was told anything.
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
            if has_asked || !self.socket.fetch(self.driver.awaited()) {
                return has_told;
            }
            has_asked = true;
        }
    }
}

impl Transport for Rmpp {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            body_limit: self.driver.body_limit(),
            packed_most: PACKED_MOST,
            acknowledges: true,
            is_memory: false,
        }
    }

    #[inline]
    fn send(&mut self, to: Peer, message: Outbound<'_>) -> Result<(), Refusal> {
        // The time matters when the message goes out.
        let id = self.driver.send(NodeId(to.0), message, self.now)?;
        let socket = &mut self.socket;
        let went = self
            .driver
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
        // What is timed is timed once it is on its way: that is soon enough, and the packet has
        // not waited for it.
        let now = self.clock.now();
        for id in self.begun.drain(..) {
            self.driver.note_sent(id, now);
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
        let is_complete = self.driver.land(arrival, area, now);
        self.pump(now);
        is_complete
    }

    fn progress(&mut self, now: Instant, sink: &mut impl Sink) -> Progress {
        self.now = self.now.max(now);
        if !self.begun.is_empty() {
            self.flush();
        }
        let mut has_told = self.take_in(sink);
        if !sink.wants_more() {
            // The next progress may be far away: what should not wait is sent.
            if self.driver.is_pressed() {
                self.pump(self.now);
            }
            return Progress::Delivered;
        }
        // As of when the system was asked: the answer may have come since.
        let was_due = !self.is_behind(now) && self.driver.handle_timeout(now);
        // Timers are a good time to ask: they are rare, and due when something was lost.
        if was_due && self.socket.has_overflowed() {
            self.driver.note_overflow();
        }
        if was_due || self.has_unflushed || self.driver.is_pressed() {
            self.pump(self.now);
            has_told |= self.tell(sink);
        }
        match self.driver.has_moved() {
            _ if has_told => Progress::Delivered,
            true => Progress::Moved,
            false => Progress::Idle,
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        let is_busy = !self.in_hand.is_empty() || self.socket.has_more();
        if is_busy || self.driver.has_news() || self.has_unflushed {
            return Some(Instant::ZERO);
        }
        self.driver.next_timeout()
    }

    fn wake_on(&self) -> Option<BorrowedFd<'_>> {
        Some(self.socket.descriptor())
    }

    fn is_quiet(&self) -> bool {
        self.driver.is_quiet()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(caps: Caps, buffer_bytes: u64, crowd: u32) -> Card {
        Card {
            address: ([127, 0, 0, 1], 1).into(),
            packet_bytes: 65_000,
            caps: caps.bits(),
            buffer_bytes,
            crowd,
            secure: Secure::Cookie,
            salt: [0; SALT_BYTES],
        }
    }

    #[test]
    fn a_job_uses_what_its_ranks_have_in_common() {
        let without = Caps::parse("fast,-ooo").unwrap();
        let cards = [card(Caps::FAST, 1 << 22, 1), card(without, 1 << 20, 3)];
        let terms = Terms::of(&cards);
        assert_eq!((terms.caps, terms.buffer_bytes), (without, 1 << 20));
        let settings = Settings {
            rmpp_ack: Acks::Eager,
            ..Settings::default()
        };
        let config = terms.config(1 << 22, &settings);
        assert_eq!(config.unscheduled_bytes, 2 * 65_000);
        let small = Terms {
            packet_bytes: 1404,
            ..terms
        };
        let small = small.config(1 << 22, &settings);
        assert_eq!(small.unscheduled_bytes, 65_536, "in packets of an Ethernet");
        assert_eq!(config.first_window_bytes, 1 << 18);
        assert_eq!(config.min_timeout, Duration::from_millis(3));
        assert_eq!(config.ack_every, 1);
        let classic = Terms::of(&[card(Caps::FAST, 1, 1), card(Caps::CLASSIC, 1, 1)]);
        assert!(classic.caps.is_classic());
    }

    #[test]
    fn a_card_that_cannot_be_read_is_named_by_its_rank() {
        let hosts = ["a", "b", "c"].map(str::to_owned);
        let card = postcard::to_allocvec(&card(Caps::FAST, 1 << 20, 1)).unwrap();
        let mut cards = vec![card; 3];
        assert_eq!(read_cards(&cards, &hosts).map(|cards| cards.len()), Ok(3));
        for bytes in [&[7][..], &[]] {
            cards[1] = bytes.to_vec();
            let error = read_cards(&cards, &hosts).unwrap_err();
            assert!(error.contains("card of rank 1 on b "), "{error}");
            assert_eq!(error.lines().count(), 1);
        }
    }

    #[test]
    fn ranks_that_seal_differently_do_not_start() {
        let with = |secure| Card {
            secure,
            ..card(Caps::FAST, 1 << 20, 1)
        };
        let hosts = ["a", "b", "c"].map(str::to_owned);
        for secure in [Secure::Cookie, Secure::Tag, Secure::Encrypt] {
            assert_eq!(agree(&[with(secure), with(secure)], &hosts), Ok(()));
        }
        let cards = [Secure::Tag, Secure::Tag, Secure::Cookie].map(with);
        let error = agree(&cards, &hosts).unwrap_err();
        let says = |word| error.contains(word);
        assert!(
            says("rank 2 on c") && says("=cookie") && says("rank 0 on a has tag"),
            "{error}"
        );
        assert_eq!(error.lines().count(), 1);
    }

    #[test]
    fn what_all_peers_send_unasked_fits_half_of_a_receive_buffer() {
        for nodes in [2, 8, 64, 1000] {
            let cards = vec![card(Caps::FAST, 1 << 23, 1); nodes];
            let config = Terms::of(&cards).config(1 << 23, &Settings::default());
            assert!(config.unscheduled_bytes * nodes <= 1 << 22, "{nodes}");
            assert!(config.first_window_bytes >= 65_000, "{nodes}");
        }
    }

    #[test]
    fn who_sleeps_until_its_next_timer_does_not_forgive_the_silence_of_its_peers() {
        for lost_s in 1..200 {
            let mut config = Config::classic(2, 1000);
            be_patient(&mut config, lost_s);
            let longest = config.max_timeout + config.max_timeout / 8;
            assert!(longest <= Duration::from_secs(lost_s) / 2, "{lost_s} s");
            assert!(longest > config.min_timeout, "{lost_s} s");
        }
    }
}
