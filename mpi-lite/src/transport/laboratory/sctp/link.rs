//! One association: what `sctp-proto` keeps of it, and what we must know beside that.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant as StdInstant};

use bytes::Bytes;
use sctp_proto::{
    Association, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, Event, Payload,
    PayloadProtocolIdentifier, StreamEvent, TransportConfig,
};

use super::super::pipe::Setup;
use super::limits::{
    FIRST_TIMEOUT, FIRST_TSN, MESSAGE_BYTES, MESSAGES_MOST, STREAMS, WINDOW_BYTES,
};
use super::packet::{self, Chunk, Malformed, distance};
use crate::clock::Instant;
use crate::counters;
use crate::transport::PeerId;

/// What all associations of a process have in common.
pub(super) struct Terms {
    pub(super) setup: Setup,
    transport: Arc<TransportConfig>,
    endpoint: Arc<EndpointConfig>,
    /// The time of the standard library that is [`Instant::ZERO`].
    origin: StdInstant,
    /// Bytes of user data that one packet carries.
    pub(super) chunk_bytes: usize,
}

/// The association with one peer.
pub(super) struct Link {
    terms: Arc<Terms>,
    endpoint: Endpoint,
    association: Association,
    /// The verification tags of what we send, and of what we receive.
    peer_tag: u32,
    my_tag: u32,
    /// Packets that the association has handed out and the socket has not taken.
    pub(super) outgoing: VecDeque<Vec<u8>>,
    /// The messages that are not acknowledged: bytes, and the TSN of the last chunk.
    unacked: VecDeque<(usize, u32)>,
    unacked_bytes: usize,
    /// The TSN of the last chunk of the last message that was pushed.
    pushed: u32,
    /// The greatest TSN that was sent.
    sent: u32,
    /// The greatest TSN up to which the peer has acknowledged all.
    acked: u32,
    /// The TSN up to which we have acknowledged all.
    announced: u32,
    /// The receive window that the last SACK of ours has announced.
    window: u32,
    /// Bytes that were read from the association since then.
    freed: usize,
    /// Data has come since our last SACK.
    owes: bool,
    /// The streams that may have a message to read.
    pub(super) readable: [bool; STREAMS as usize],
    /// The streams of which the pipe holds a message.
    pub(super) held: [bool; STREAMS as usize],
    /// The last counts of the association that are in our counters: timeouts, fast repeats.
    counted: (u64, u64),
    /// When the first message was pushed.
    pub(super) first_push: Option<Instant>,
    pub(super) heard: bool,
    pub(super) unheard_said: bool,
    /// A packet came then, or a message was pushed while nothing was outstanding.
    pub(super) silent_since: Instant,
    /// The association may have packets to send: it waits in the queue of those.
    pub(super) is_due: bool,
    /// The deadline that is in the table of deadlines.
    pub(super) deadline: Option<Instant>,
}

impl Terms {
    pub(super) fn new(setup: &Setup) -> Self {
        // The library leaves 16 bytes out when it asks whether one more chunk fits, so its packets
        // are up to 16 bytes longer than it believes.
        let headers = packet::COMMON_BYTES + 2 * packet::DATA_BYTES;
        let chunk_bytes = (setup.packet_bytes.saturating_sub(headers) & !3).max(4);
        let mut endpoint = EndpointConfig::new();
        endpoint.max_payload_size(u32::try_from(chunk_bytes).expect("a packet is below 64 KiB"));
        let least = milliseconds(setup.min_timeout).max(1);
        let most = milliseconds(setup.max_timeout).max(least);
        let longest = fragment_bytes(chunk_bytes) + 4;
        let longest = u32::try_from(longest).expect("a fragment is below 4 GiB");
        let transport = TransportConfig::default()
            .with_max_receive_buffer_size(WINDOW_BYTES)
            .with_max_send_message_size(longest)
            .with_max_receive_message_size(longest)
            .with_max_num_outbound_streams(STREAMS)
            .with_max_num_inbound_streams(STREAMS)
            .with_max_data_retransmits(None)
            .with_rto_initial_ms(milliseconds(FIRST_TIMEOUT).clamp(least, most))
            .with_rto_min_ms(least)
            .with_rto_max_ms(most);
        Self {
            setup: *setup,
            transport: Arc::new(transport),
            endpoint: Arc::new(endpoint),
            origin: any_origin(),
            chunk_bytes,
        }
    }

    fn std(&self, now: Instant) -> StdInstant {
        self.origin + Duration::from_nanos(now.0)
    }

    fn ours(&self, then: StdInstant) -> Instant {
        Instant::ZERO.plus(then.saturating_duration_since(self.origin))
    }
}

/// A moment of the standard library, for `sctp-proto`, which counts in these: it stands for
/// [`Instant::ZERO`], and only differences to it mean anything.
#[expect(
    clippy::disallowed_methods,
    reason = "no time is read: any moment will do"
)]
fn any_origin() -> StdInstant {
    StdInstant::now()
}

/// Bytes of the longest fragment: about 16 KiB, and full packets.
pub(super) fn fragment_bytes(chunk_bytes: usize) -> usize {
    (MESSAGE_BYTES / chunk_bytes).max(1) * chunk_bytes - 4
}

fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// Any address: the association writes it beside its packets, and nobody reads it.
const NOWHERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

impl Link {
    /// An association that is established: both sides know the INIT chunk of each other.
    pub(super) fn new(terms: &Arc<Terms>, peer: PeerId, now: Instant) -> Self {
        let (my_tag, peer_tag) = (tag(terms.setup.me), tag(peer));
        let init = |tag| Bytes::from(packet::init(tag, WINDOW_BYTES, STREAMS, FIRST_TSN));
        let mut config = ClientConfig::new().with_snap(init(my_tag), init(peer_tag));
        config.transport = Arc::clone(&terms.transport);
        let mut endpoint = Endpoint::new(Arc::clone(&terms.endpoint), None);
        let (_, mut association) = endpoint
            .connect(config, NOWHERE)
            .expect("both INIT chunks are our own, and the tags differ");
        for stream in 0..STREAMS {
            association
                .open_stream(stream, PayloadProtocolIdentifier::Binary)
                .expect("the association is new");
        }
        let before = FIRST_TSN.wrapping_sub(1);
        Self {
            terms: Arc::clone(terms),
            endpoint,
            association,
            peer_tag,
            my_tag,
            outgoing: VecDeque::new(),
            unacked: VecDeque::new(),
            unacked_bytes: 0,
            pushed: before,
            sent: before,
            acked: before,
            announced: before,
            window: WINDOW_BYTES,
            freed: 0,
            owes: false,
            readable: [false; STREAMS as usize],
            held: [false; STREAMS as usize],
            counted: (0, 0),
            first_push: None,
            heard: false,
            unheard_said: false,
            silent_since: now,
            is_due: false,
            deadline: None,
        }
    }

    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.unacked.len() < MESSAGES_MOST && self.unacked_bytes + bytes <= WINDOW_BYTES as usize
    }

    pub(super) fn is_outstanding(&self) -> bool {
        !self.unacked.is_empty()
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.unacked.is_empty() && !self.owes && self.outgoing.is_empty()
    }

    /// Takes a message whose length is a multiple of 4.
    pub(super) fn push(&mut self, stream: u16, message: &[u8], now: Instant) {
        if self.unacked.is_empty() {
            self.silent_since = now;
        }
        self.first_push.get_or_insert(now);
        let chunks = message.len().div_ceil(self.terms.chunk_bytes);
        let chunks = u32::try_from(chunks).expect("a fragment is below 4 GiB");
        self.pushed = self.pushed.wrapping_add(chunks);
        self.unacked.push_back((message.len(), self.pushed));
        self.unacked_bytes += message.len();
        self.association
            .stream(stream)
            .and_then(|mut stream| stream.write(message).map(drop))
            .expect("the association is established, and its streams are never closed");
    }

    /// Gives a packet of the peer to the association.
    pub(super) fn handle(&mut self, bytes: &[u8], now: Instant) -> Result<(), Malformed> {
        let mut acked = self.acked;
        let (mut owes, mut comes_again) = (self.owes, false);
        for chunk in packet::chunks(bytes, self.my_tag)? {
            let chunk = chunk?;
            if !self.admits(chunk) {
                return Err(Malformed);
            }
            match chunk {
                Chunk::Data { tsn, .. } => {
                    owes = true;
                    comes_again |= distance(tsn, self.announced) <= 0;
                }
                Chunk::Sack { cumulative, .. } if distance(cumulative, acked) > 0 => {
                    acked = cumulative;
                }
                Chunk::Sack { .. } => {}
            }
        }
        if !self.feed(Bytes::copy_from_slice(bytes), now) {
            return Err(Malformed);
        }
        (self.acked, self.owes) = (acked, owes);
        if comes_again {
            self.answer_at_once(now);
        }
        self.heard = true;
        self.silent_since = now;
        while self
            .unacked
            .front()
            .is_some_and(|&(_, last)| distance(last, acked) <= 0)
        {
            let (bytes, _) = self.unacked.pop_front().expect("there is one");
            self.unacked_bytes -= bytes;
        }
        Ok(())
    }

    /// Returns true if the association can take the chunk. It fails at a SACK of what it has never
    /// sent; and what comes before its time by more than the peer may send is kept for ever.
    fn admits(&self, chunk: Chunk) -> bool {
        match chunk {
            Chunk::Data { tsn, stream } => {
                const MOST: i32 = (WINDOW_BYTES / 4) as i32;
                stream < STREAMS && distance(tsn, self.announced) <= MOST
            }
            Chunk::Sack {
                cumulative, gaps, ..
            } => {
                let most = distance(self.sent, cumulative);
                most >= 0 && packet::gaps_are_within(gaps, most)
            }
        }
    }

    /// Returns false if the checksum is wrong.
    fn feed(&mut self, bytes: Bytes, now: Instant) -> bool {
        let event = self
            .endpoint
            .handle(self.terms.std(now), NOWHERE, None, None, bytes);
        match event {
            Some((_, DatagramEvent::AssociationEvent(event))) => {
                self.association.handle_event(event);
                true
            }
            _ => false,
        }
    }

    /// Takes what has happened. Returns false if the association is gone.
    pub(super) fn take_events(&mut self, counters: &mut counters::Sctp) -> bool {
        let mut lives = true;
        while let Some(event) = self.association.poll() {
            match event {
                Event::Stream(StreamEvent::Readable { id }) if id < STREAMS => {
                    self.readable[usize::from(id)] = true;
                }
                Event::AssociationLost { .. } => lives = false,
                _ => {}
            }
        }
        let mut stats = self.association.stats();
        let now = (stats.get_num_t3timeouts(), stats.get_num_fast_retrans());
        counters.timeouts += now.0 - self.counted.0;
        counters.fast_repeats += now.1 - self.counted.1;
        self.counted = now;
        lives
    }

    /// Reads the next message of a stream.
    pub(super) fn read(&mut self, stream: u16) -> Option<Vec<u8>> {
        let message = self.association.stream(stream).ok()?.read().ok()?;
        let Some(message) = message else {
            self.readable[usize::from(stream)] = false;
            return None;
        };
        let mut bytes = vec![0; message.len()];
        message.read(&mut bytes).ok()?;
        self.freed += bytes.len();
        Some(bytes)
    }

    /// Announces the receive window again if it was almost closed and is open now (RFC 9260,
    /// section 6.2), which the library does not.
    /// Returns true if there is something to send for it.
    pub(super) fn open_window(&mut self, now: Instant) -> bool {
        let opens = self.window < WINDOW_BYTES / 2 && self.freed >= WINDOW_BYTES as usize / 4;
        if opens {
            self.answer_at_once(now);
            self.freed = 0;
        }
        opens
    }

    /// Lets the association send a SACK. The library has no call for this, but it answers data that
    /// it has already if the I bit asks for it. It answers a duplicate without the bit late, though
    /// RFC 9260, section 6.2, forbids to wait.
    fn answer_at_once(&mut self, now: Instant) {
        let known = packet::data(self.my_tag, self.announced);
        let is_fed = self.feed(Bytes::from(known), now);
        debug_assert!(is_fed, "the packet is our own");
    }

    /// Asks the association for packets that are due. Returns true if there are any.
    pub(super) fn collect(&mut self, now: Instant, counters: &mut counters::Sctp) -> bool {
        let Some(transmit) = self.association.poll_transmit(self.terms.std(now)) else {
            return false;
        };
        let Payload::RawEncode(packets) = transmit.payload else {
            return false;
        };
        let mut last_data = None;
        for packet in packets {
            let mut packet = Vec::from(packet);
            packet::shorten_sack(&mut packet, self.terms.setup.packet_bytes);
            if self.note_sent(&packet, counters) {
                last_data = Some(self.outgoing.len());
            }
            self.outgoing.push_back(packet);
        }
        if let Some(last) = last_data {
            packet::ask_for_answer(&mut self.outgoing[last]);
        }
        !self.outgoing.is_empty()
    }

    /// Notes what a packet of ours says. Returns true if it has data.
    fn note_sent(&mut self, packet: &[u8], counters: &mut counters::Sctp) -> bool {
        let (mut has_data, mut repeats) = (false, false);
        let chunks = packet::chunks(packet, self.peer_tag).into_iter().flatten();
        for chunk in chunks.flatten() {
            match chunk {
                Chunk::Data { tsn, .. } => {
                    has_data = true;
                    if distance(tsn, self.sent) > 0 {
                        self.sent = tsn;
                    } else {
                        repeats = true;
                    }
                }
                Chunk::Sack {
                    cumulative, window, ..
                } => {
                    (self.announced, self.window) = (cumulative, window);
                    (self.freed, self.owes) = (0, false);
                }
            }
        }
        counters.packets_repeated += u64::from(repeats);
        has_data
    }

    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.association
            .poll_timeout()
            .map(|then| self.terms.ours(then))
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.association.handle_timeout(self.terms.std(now));
    }
}

/// The verification tag of packets to a process. It is never 0.
pub(super) fn tag(peer: PeerId) -> u32 {
    peer.0.wrapping_add(1)
}
