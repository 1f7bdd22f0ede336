//! Messages over TCP, as in the thesis "Scalable MPI" on LAM's TCP and SCTP modules, chapter 3.
//!
//! * `tcp` (3.1, LAM-TCP): one connection for each pair of processes. A message whose packet is
//!   lost delays all later ones of the pair, whatever their tags.
//! * `tcp-trc` (3.2, a socket per message stream): one connection for each tag, rank and context. A
//!   lost packet delays the messages of its tag alone. Each needs a descriptor and memory of the
//!   system, so it does not scale (3.3.1); it is here to be measured.
//!
//! The thesis has no message layer above the connections of 3.2: a receive with a wildcard calls
//! `select()` for all that could match, and the first one wins. So it takes the second of two
//! messages first if their tags differ, which MPI forbids (MPI 5.0, 3.5). Here `Streams` numbers
//! the messages of a pair and announces them in that order; bodies come independently. Instead of
//! `select()` one `epoll` descriptor watches all connections: its cost does not grow with them
//! (3.3.3).
//!
//! A process connects when it sends the first message of a channel, so that idle pairs cost
//! nothing. Both ends prove that they know the job's key (`proof`); what follows is neither
//! authentic nor secret. Strangers are closed and counted, and disturb nobody.
//!
//! TCP repeats and acknowledges by itself. The thread that waits only moves bytes: see
//! [`Transport::progress`].

mod card;
mod door;
mod doors;
mod line;
mod moving;
mod opening;
mod poller;
mod proof;
mod socket;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test that hangs must end")]
pub(super) mod tests;
mod unacked;
mod words;

use core::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use socket2::Socket;

pub use card::Card;
use doors::Doors;
use line::{Line, LineState};
use poller::{Interest, Poller, Source};
use proof::{KEY_BYTES, Prover};

use super::streams::{BODY_LIMIT, Streams};
use super::{
    Arrival, Capabilities, EnvelopeBytes, Incoming, Landing, Lost, Outbound, PeerId, Progress,
    Refusal, Sink, Tallies, Token, Transport, Unheard,
};
use crate::clock::{Clock, Instant};
use crate::config::{Secure, Settings};
use crate::counters::Connections;
use crate::machine::cannot;

/// Bodies up to this are sent without asking the receiver. Source: the thesis, 3.1.3.
const SHORT_MOST: u64 = 65_536;

/// Data with gaps that fits a packet or two is packed faster before it is sent.
const PACKED_MOST: u64 = 2048;

/// Bytes that one call reads, beside those that go straight to their place.
const ROOM_BYTES: usize = 1 << 16;

/// How long a launcher has to say that a process has died, before others say that they lost it.
const LAUNCHER_TIME: Duration = Duration::from_secs(1);

/// How soon `progress` must be called while somebody waits for acknowledgements of the system,
/// which wake nobody.
const UNACKED_TIME: Duration = Duration::from_millis(1);

/// A single connection is read in each turn. epoll is asked for others in every turn of this
/// number.
const TURNS_PER_ASK: u32 = 16;

/// How channels become connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// `tcp`: all messages of a pair of processes share one.
    Pair,
    /// `tcp-trc`: each tag, rank and context has its own.
    Channel,
}

/// A socket that listens, without the addresses of its peers.
#[derive(Debug)]
pub struct Bound {
    listener: Socket,
    poller: Poller,
    card: Card,
    sharing: Sharing,
}

impl Bound {
    /// Listens on `address`, with the port by `settings`.
    ///
    /// # Errors
    /// A line for humans if the address is not one of this machine, sockets are forbidden, or the
    /// settings ask for what TCP does not do.
    pub fn new(address: IpAddr, sharing: Sharing, settings: &Settings) -> Result<Self, String> {
        if let Some(secure @ (Secure::Tag | Secure::Encrypt)) = settings.secure {
            return Err(format!(
                "--transport tcp cannot do --secure={secure}: it proves the job's key when a \
                 connection is made, but does not protect what follows; use --transport rmpp"
            ));
        }
        let failed = |error| cannot(&format!("listen on a TCP socket on {address}"), &error);
        let listener = socket::listen(address, settings.port_range).map_err(failed)?;
        let poller = Poller::new().map_err(|error| cannot("make an epoll descriptor", &error))?;
        poller
            .add(&listener, Source::Listener, Interest::READS)
            .map_err(failed)?;
        let card = Card {
            address: socket::address(&listener).map_err(failed)?,
            salt: proof::draw()?,
        };
        Ok(Self {
            listener,
            poller,
            card,
            sharing,
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
        self,
        me: PeerId,
        cards: &[Card],
        key: &[u8; KEY_BYTES],
        context: (&Settings, Clock),
    ) -> Tcp {
        let (settings, clock) = context;
        let is_per_channel = self.sharing == Sharing::Channel;
        // The program needs some for itself.
        let is_tight = |limit| limit < 2 * cards.len() as u64;
        if is_per_channel || socket::limit().is_some_and(is_tight) {
            socket::raise_limit();
        }
        let nodes = u32::try_from(cards.len()).unwrap_or(u32::MAX);
        Tcp {
            me,
            addresses: cards.iter().map(|card| card.address).collect(),
            is_per_channel,
            lost_after: (settings.lost_s > 0).then(|| Duration::from_secs(settings.lost_s)),
            prover: Prover::new(key, cards),
            now: clock.now(),
            clock,
            streams: Streams::new(nodes, SHORT_MOST),
            poller: self.poller,
            doors: Doors::new(self.listener),
            lines: Vec::new(),
            open_lines: 0,
            by_name: BTreeMap::new(),
            opening: Vec::new(),
            broken: Vec::new(),
            listed: VecDeque::new(),
            held: Vec::new(),
            room: vec![0; ROOM_BYTES],
            turns: 0,
            was_cut: false,
            has_unacked: Cell::new(false),
            counters: Connections::default(),
        }
    }
}

/// Messages over TCP.
#[derive(Debug)]
pub struct Tcp {
    me: PeerId,
    /// Where the processes listen, by `PeerId`.
    addresses: Vec<SocketAddr>,
    /// Each channel has its own connection.
    is_per_channel: bool,
    lost_after: Option<Duration>,
    prover: Prover,
    clock: Clock,
    /// The time of the last turn.
    now: Instant,
    streams: Streams,
    poller: Poller,
    /// Connections in their handshakes, and the socket that accepts them.
    doors: Doors,
    lines: Vec<Line>,
    open_lines: usize,
    /// The lines by peer and channel key.
    by_name: BTreeMap<(PeerId, u32), u32>,
    /// Lines without a connection.
    opening: Vec<u32>,
    /// Lines that are broken, and whose peers are not lost yet.
    broken: Vec<u32>,
    /// Lines that may have something to write.
    listed: VecDeque<u32>,
    /// Lines whose stream did not want all bytes.
    held: Vec<u32>,
    /// Where bytes are read that do not go straight to their place.
    room: Vec<u8>,
    turns: u32,
    /// The sink wanted no more in the last turn.
    was_cut: bool,
    /// Somebody waits until the system has no unacknowledged bytes.
    has_unacked: Cell<bool>,
    counters: Connections,
}

impl Tcp {
    /// What was counted.
    #[must_use]
    pub fn counters(&self) -> Connections {
        Connections {
            refused: self.doors.refused(),
            ..self.counters.clone()
        }
    }

    /// Adds to `tallies` what it has counted.
    pub(super) fn count(&self, tallies: &mut Tallies) {
        tallies.tcp = self.counters();
        self.streams.count(tallies);
    }

    /// Delivers what is here. Returns false if the sink wants no more.
    #[inline]
    fn deliver(&mut self, sink: &mut impl Sink) -> bool {
        loop {
            self.streams.tell(sink);
            if !sink.wants_more() {
                return false;
            }
            if self.held.is_empty() || !self.offer_rests(sink) {
                return sink.wants_more();
            }
        }
    }

    /// Handles what is ready, until the sink wants no more: then returns false. `has_moved` becomes
    /// true if bytes came.
    fn take_in(&mut self, now: Instant, has_moved: &mut bool, sink: &mut impl Sink) -> bool {
        if !self.deliver(sink) {
            return false;
        }
        if let Some(index) = self.sole_line() {
            *has_moved |= self.read(index, sink);
            return self.deliver(sink);
        }
        if !self.poller.has_next() {
            self.counters.polls += 1;
            self.poller.ask();
        }
        while let Some((source, can_write)) = self.poller.next() {
            match source {
                Source::Listener => self.accept(now),
                Source::Door(index) => self.step(index, now),
                Source::Line(index) => *has_moved |= self.serve(index, can_write, sink),
            }
            if !self.deliver(sink) {
                return false;
            }
        }
        true
    }

    /// The only connection, if it may be read without asking whether it is ready: that saves a
    /// system call for each message. Now and then it is asked for all.
    #[inline]
    fn sole_line(&mut self) -> Option<u32> {
        self.turns = self.turns.wrapping_add(1);
        let is_sole = self.lines.len() == 1 && self.doors.is_empty() && !self.poller.has_next();
        if !is_sole || self.turns.is_multiple_of(TURNS_PER_ASK) || self.lines[0].is_held {
            return None;
        }
        match &self.lines[0].state {
            LineState::Open(connection) if !connection.is_blocked => Some(0),
            _ => None,
        }
    }
}

impl Transport for Tcp {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            body_limit: BODY_LIMIT,
            packed_most: PACKED_MOST,
            acknowledges: false,
            is_memory: false,
        }
    }

    #[inline]
    fn send(&mut self, to: PeerId, message: Outbound<'_>) -> Result<(), Refusal> {
        let key = if self.is_per_channel {
            message.channel()
        } else {
            0
        };
        if self.streams.is_lost(to) {
            return Err(Refusal::Lost);
        }
        let index = self.line_to(to, key);
        if let LineState::Closed(reason) = &self.lines[index as usize].state {
            // It left when nothing was on its way, or this process has no descriptor.
            let reason = reason.clone();
            self.interrupt(index, reason);
        }
        self.streams
            .send(self.lines[index as usize].stream, message)?;
        self.list_begun();
        Ok(())
    }

    #[inline]
    fn flush(&mut self) {
        self.write_all();
    }

    fn land(&mut self, arrival: Arrival, landing: Landing) -> bool {
        let is_complete = self.streams.land(arrival, landing);
        self.write_all();
        is_complete
    }

    fn progress(&mut self, now: Instant, sink: &mut impl Sink) -> Progress {
        self.now = self.now.max(now);
        self.has_unacked.set(false);
        let mut noted = Noted {
            sink,
            is_called: false,
        };
        let mut has_moved = self.write_all();
        let wants_more = self.take_in(now, &mut has_moved, &mut noted);
        self.was_cut = !wants_more;
        if wants_more && self.has_timers() {
            self.handle_time(now, &mut noted);
        }
        has_moved |= self.write_all();
        self.streams.tell(&mut noted);
        match (noted.is_called, has_moved) {
            (true, _) => Progress::Delivered,
            (false, true) => Progress::Moved,
            (false, false) => Progress::Idle,
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        let is_cut = self.was_cut && (self.poller.has_next() || !self.held.is_empty());
        if self.streams.has_news() || is_cut || !self.listed.is_empty() {
            return Some(Instant::ZERO);
        }
        let soon = self.has_unacked.get().then(|| self.now.plus(UNACKED_TIME));
        [self.next_time(), soon].into_iter().flatten().min()
    }

    fn wake_on(&self) -> Option<BorrowedFd<'_>> {
        Some(self.poller.descriptor())
    }

    fn push_back(&mut self, away: bool) {
        self.streams.push_back(away);
        self.list_begun();
    }

    fn is_quiet(&self) -> bool {
        let has_unacked = |line: &Line| match &line.state {
            LineState::Open(connection) => unacked::has_unacked(&connection.socket),
            LineState::Opening(_) | LineState::Closed(_) | LineState::Broken(..) => false,
        };
        if !self.streams.is_quiet() {
            return false;
        }
        self.has_unacked.set(self.lines.iter().any(has_unacked));
        !self.has_unacked.get()
    }
}

/// A sink that remembers whether it was called.
struct Noted<'a, S> {
    sink: &'a mut S,
    is_called: bool,
}

impl<S: Sink> Sink for Noted<'_, S> {
    fn arriving(&mut self, message: Incoming) -> Landing {
        self.is_called = true;
        self.sink.arriving(message)
    }

    fn arrived(&mut self, arrival: Arrival) {
        self.is_called = true;
        self.sink.arrived(arrival);
    }

    fn sent(&mut self, token: Token) {
        self.is_called = true;
        self.sink.sent(token);
    }

    fn lost(&mut self, lost: Lost) {
        self.is_called = true;
        self.sink.lost(lost);
    }

    fn unheard(&mut self, peer: Unheard) {
        self.is_called = true;
        self.sink.unheard(peer);
    }

    fn may_overtake(&self, from: PeerId, envelope: &EnvelopeBytes) -> bool {
        self.sink.may_overtake(from, envelope)
    }

    fn wants_more(&self) -> bool {
        self.sink.wants_more()
    }
}
