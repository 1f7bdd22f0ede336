//! MPI over U-Net: a reliable stream per peer, with lazy acknowledgements.
//!
//! Source: B. Pfrommer, *MPI over U-Net*, 1997, section "Description of the Protocol" (below:
//! "paper"). It is a go-back-N protocol with a window. `ours` marks what the paper does not have.
//!
//! | event | condition | action | source |
//! |---|---|---|---|
//! | a fragment is pushed | the window has room | it gets the next number and is sent | paper |
//! | a packet is due | | it carries the report that is owed (piggyback) | paper |
//! | a packet comes | it is the next one | it is kept, and not acknowledged | paper |
//! | a packet comes | duplicate or out of order | dropped; it is acknowledged at once | paper |
//! | a duplicate acknowledgement comes | the first of a gap | go back to the gap | ours [^1] |
//! | a fragment is taken | acknowledgements are eager | an acknowledgement at once | paper |
//! | a fragment is taken | half of the window is not reported | acknowledge at once | ours [^2] |
//! | a report is owed | for a quarter of the least timeout, at most 250 us | it goes | ours [^3] |
//! | a report comes | it moves an edge of the window | the timer begins anew | paper |
//! | the timer ends | it is that of the left edge | go back; double the timeout, clamped | paper |
//! | the timer ends | all is received, but not taken | repeat the last packet | ours [^4] |
//! | `close` | | reports that are owed go at once, from now on | paper: finalize |
//! | the timer ends | `close`, and repeated 16 times | it is lost, with a warning | paper [^5] |
//! | the timer ends | silent for `lost_after`, and repeated | the peer is lost | ours |
//!
//! [^1]: The paper does not say what a duplicate acknowledgement is for.
//! [^2]: Else a process that only sends would stall.
//! [^3]: The last message of an exchange has no reply.
//! [^4]: Its duplicate acknowledgement shows the room.
//! [^5]: "A fixed number of times".
//!
//! The paper's receiver has two places: U-Net's receive queue, and behind it a receive window of
//! one packet, which acknowledges what the program takes. Here the queue lies behind the window. So
//! a packet carries two numbers: up to *received* nothing is repeated, and from *taken* on the
//! sender may have one window of packets under way. A queue of one window never overflows.
//!
//! The paper limits the window by U-Net's queues. Here it is the share of a peer in the receive
//! buffer of the socket: [`window`].
//!
//! The release has two ways and no packet of its own: before a process leaves it has the
//! acknowledgements of all that it has sent, and has acknowledged all that it has received. The
//! last acknowledgement may get lost; then the peer repeats to nobody, and warns (paper).
//!
//! # Header
//!
//! All numbers are big endian. The numbers of packets wrap.
//!
//! | bytes | field | of data | of an acknowledgement |
//! |---|---|---|---|
//! | 0 | kind | 1 | 2 |
//! | 1 | flags | 1: *received* is missing, a later one has come; else 0 | likewise |
//! | 2, 3 | length | of the body in bytes | 0 |
//! | 4 to 7 | number | of the packet in its stream | 0 |
//! | 8 to 11 | received | all packets before this one are received | likewise |
//! | 12 to 15 | taken | the program has taken all packets before this one | likewise |
//! | 16 and on | body | the fragment, 1 byte or more | nothing |

mod packet;
mod receiving;
mod ring;
mod sending;
mod silence;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use self::packet::{HEADER_BYTES, Header, Kind};
use self::receiving::{Habit, Receiver, Reception};
use self::sending::{NEVER, Patience, Sender, Verdict};
use super::pipe::{Fragment, Notice, Pipe, Setup};
use crate::clock::Instant;
use crate::counters;
use crate::transport::{PeerId, Tallies};

/// The number of the first packet of each stream. The numbers wrap soon: each job tests that.
const FIRST: u32 = u32::MAX - 99;

/// The least window: half of it is acknowledged at once.
const WINDOW_LEAST: u32 = 4;

/// The greatest window: it bounds the memory of a peer, and what one loss repeats.
const WINDOW_MOST: u32 = 256;

/// The most that an acknowledgement waits: a few round trips, in which a reply could have come.
const DELAY_MOST: Duration = Duration::from_micros(250);

/// Packets that may be under way to a peer: the share of each peer in a receive buffer, which all
/// processes have alike. The system charges a datagram with whole pages, small ones with about
/// twice their size.
fn window(setup: &Setup) -> u32 {
    let charge = 2 * (setup.packet_bytes + 512).next_multiple_of(2048);
    let peers = setup.nodes.saturating_sub(1).max(1) as usize;
    let share = u32::try_from(setup.buffer_bytes / charge / peers).unwrap_or(u32::MAX);
    let window = share.clamp(WINDOW_LEAST, WINDOW_MOST);
    1 << window.ilog2()
}

/// What a peer's stream keeps to.
struct Rules {
    patience: Patience,
    habit: Habit,
    fragment_bytes: usize,
}

/// A peer with which packets are exchanged.
struct Connection {
    sender: Sender,
    receiver: Receiver,
    /// It is in the list of peers to which packets are due.
    is_listed: bool,
    /// Its entry among the timers; `NEVER`: none.
    timeout_at: Instant,
}

impl Connection {
    fn new(window: u32) -> Box<Self> {
        Box::new(Self {
            sender: Sender::new(window, FIRST),
            receiver: Receiver::new(window, FIRST),
            is_listed: false,
            timeout_at: NEVER,
        })
    }

    /// Returns true if a packet is due.
    fn is_due(&self) -> bool {
        self.sender.has_unsent() || self.receiver.is_urgent()
    }

    /// Sends what is due. Returns true if all of it went.
    fn transmit(
        &mut self,
        now: Instant,
        rules: &Rules,
        counters: &mut counters::Unet,
        mut send: impl FnMut(&[u8]) -> bool,
    ) -> bool {
        let Self {
            sender, receiver, ..
        } = self;
        while sender.has_unsent() {
            if !send(sender.packet(receiver.report())) {
                return false;
            }
            counters.packets_sent += 1;
            counters.acks_piggybacked += u64::from(receiver.owes());
            counters.retransmitted += u64::from(sender.note_sent(now, &rules.patience));
            receiver.note_reported();
        }
        if receiver.is_urgent() {
            let header = Header {
                kind: Kind::Acknowledgement,
                body_bytes: 0,
                report: receiver.report(),
            };
            if !send(&header.bytes()) {
                return false;
            }
            counters.packets_sent += 1;
            counters.acks_sent += 1;
            counters.duplicate_acks_sent += u64::from(receiver.is_duplicate());
            receiver.note_reported();
        }
        true
    }

    /// Handles a packet. Returns true if a fragment has arrived.
    fn handle(
        &mut self,
        (header, body): (Header, &[u8]),
        now: Instant,
        rules: &Rules,
        counters: &mut counters::Unet,
    ) -> bool {
        if !self.sender.can_be(header.report) || !self.receiver.can_be(header.kind) {
            counters.malformed += 1;
            return false;
        }
        self.sender.handle(header.report, now, &rules.patience);
        let Kind::Data(number) = header.kind else {
            return false;
        };
        counters.data_received += 1;
        let reception = self.receiver.handle(number, body, now, &rules.habit);
        match reception {
            Reception::Kept => {}
            Reception::Duplicate => counters.duplicates += 1,
            Reception::OutOfOrder => counters.out_of_order += 1,
            Reception::NoRoom => counters.no_room += 1,
        }
        reception == Reception::Kept
    }

    /// Does what is due.
    fn handle_timeout(
        &mut self,
        now: Instant,
        rules: &Rules,
        counters: &mut counters::Unet,
    ) -> Verdict {
        if self.receiver.timeout_at() <= now {
            self.receiver.hurry();
        }
        if self.sender.timeout_at() > now {
            return Verdict::Waits;
        }
        counters.timeouts += 1;
        self.sender.handle_timeout(now, &rules.patience)
    }
}

/// What is known of a peer.
enum PeerState {
    /// Nothing was exchanged with it.
    Unused,
    Open(Box<Connection>),
    Lost,
}

/// The streams of a process.
pub struct Unet {
    me: PeerId,
    window: u32,
    rules: Rules,
    peers: Vec<PeerState>,
    /// Peers to which packets are due, each once.
    due: VecDeque<PeerId>,
    /// The sender of each fragment that waits to be taken, in the order of their arrival.
    arrived: VecDeque<PeerId>,
    /// When the timers of peers end.
    timers: BTreeSet<(Instant, PeerId)>,
    notices: VecDeque<Notice>,
    /// The last time that a caller has passed in.
    now: Instant,
    counters: counters::Unet,
}

impl Unet {
    /// What this process has counted.
    #[cfg(test)]
    pub(crate) fn counters(&self) -> &counters::Unet {
        &self.counters
    }

    /// Does something with a peer, then notes what became due. None if the peer is lost, or if it
    /// is no other process of the job.
    fn with<T>(
        &mut self,
        peer: PeerId,
        act: impl FnOnce(&mut Connection, &Rules, &mut counters::Unet) -> T,
    ) -> Option<T> {
        let state = self.peers.get_mut(peer.0 as usize);
        let state = state.filter(|_| peer != self.me)?;
        if matches!(state, PeerState::Unused) {
            *state = PeerState::Open(Connection::new(self.window));
        }
        let PeerState::Open(open) = state else {
            return None;
        };
        let result = act(open, &self.rules, &mut self.counters);
        if open.is_due() && !open.is_listed {
            open.is_listed = true;
            self.due.push_back(peer);
        }
        let timeout_at = open.sender.timeout_at().min(open.receiver.timeout_at());
        if timeout_at != open.timeout_at {
            self.timers.remove(&(open.timeout_at, peer));
            open.timeout_at = timeout_at;
            if timeout_at != NEVER {
                self.timers.insert((timeout_at, peer));
            }
        }
        Some(result)
    }

    /// Forgets a peer for good.
    fn lose(&mut self, peer: PeerId) {
        let state = &mut self.peers[peer.0 as usize];
        if let PeerState::Open(open) = state {
            self.timers.remove(&(open.timeout_at, peer));
        }
        *state = PeerState::Lost;
        self.due.retain(|&it| it != peer);
        self.arrived.retain(|&it| it != peer);
        self.notices.push_back(Notice::Lost(peer));
    }

    /// The peers with which packets are exchanged.
    fn open(&self) -> impl Iterator<Item = &Connection> {
        self.peers.iter().filter_map(|state| match state {
            PeerState::Open(peer) => Some(&**peer),
            PeerState::Unused | PeerState::Lost => None,
        })
    }
}

impl Pipe for Unet {
    const NUMBER: u8 = 2;
    const HEADER_BYTES: usize = HEADER_BYTES;

    // The paper's part on short and long messages is not known to us: the figure is ours.
    const SHORT_MOST: u64 = 16 << 10;

    fn new(setup: &Setup) -> Self {
        let bodies = 1..=usize::from(u16::MAX);
        let fragment_bytes = setup.packet_bytes.saturating_sub(HEADER_BYTES);
        assert!(bodies.contains(&fragment_bytes), "a length fits 16 bits");
        let delay = (setup.min_timeout / 4).min(DELAY_MOST);
        Self {
            me: setup.me,
            window: window(setup),
            rules: Rules {
                patience: Patience {
                    min_timeout: setup.min_timeout,
                    max_timeout: setup.max_timeout,
                    lost_after: setup.lost_after,
                    unheard_after: setup.unheard_after,
                    is_closing: false,
                },
                habit: Habit {
                    is_eager: setup.acks_eagerly,
                    delay,
                },
                fragment_bytes,
            },
            peers: (0..setup.nodes).map(|_| PeerState::Unused).collect(),
            due: VecDeque::new(),
            arrived: VecDeque::new(),
            timers: BTreeSet::new(),
            notices: VecDeque::new(),
            now: Instant::ZERO,
            counters: counters::Unet::default(),
        }
    }

    fn count(&self, tallies: &mut Tallies) {
        tallies.unet = self.counters.clone();
    }

    fn fragment_bytes(&self) -> usize {
        self.rules.fragment_bytes
    }

    fn has_room(&self, to: PeerId, _channel: u32) -> bool {
        match self.peers.get(to.0 as usize) {
            Some(PeerState::Open(peer)) => peer.sender.has_room(),
            Some(PeerState::Unused) => to != self.me,
            Some(PeerState::Lost) | None => false,
        }
    }

    fn push(&mut self, to: PeerId, _channel: u32, now: Instant, fill: impl FnOnce(&mut Vec<u8>)) {
        self.now = now;
        let most = self.rules.fragment_bytes;
        let pushed = self.with(to, |peer, rules, _| {
            assert!(peer.sender.has_room(), "push needs room in the window");
            peer.sender.push(now, &rules.patience, fill)
        });
        let bytes = pushed.expect("push needs a peer that is not lost");
        assert!(
            (1..=most).contains(&bytes),
            "a fragment has 1 to {most} bytes"
        );
    }

    fn transmit(&mut self, now: Instant, mut send: impl FnMut(PeerId, &[u8]) -> bool) -> bool {
        self.now = now;
        while let Some(&to) = self.due.front() {
            let all_went = self.with(to, |peer, rules, counters| {
                let all_went = peer.transmit(now, rules, counters, |packet| send(to, packet));
                peer.is_listed = !all_went;
                all_went
            });
            if all_went == Some(false) {
                return true;
            }
            self.due.pop_front();
        }
        false
    }

    fn handle(&mut self, from: PeerId, packet: &[u8], now: Instant) {
        self.now = now;
        let is_known = (from.0 as usize) < self.peers.len() && from != self.me;
        let most = self.rules.fragment_bytes;
        let good = Header::split(packet).filter(|(_, body)| is_known && body.len() <= most);
        let Some(good) = good else {
            self.counters.malformed += 1;
            return;
        };
        let has_arrived = self.with(from, |peer, rules, counters| {
            peer.handle(good, now, rules, counters)
        });
        if has_arrived == Some(true) {
            self.arrived.push_back(from);
        }
    }

    fn next_fragment(&mut self) -> Option<Fragment<'_>> {
        let from = self.arrived.pop_front()?;
        let now = self.now;
        self.with(from, |peer, rules, _| peer.receiver.take(now, &rules.habit));
        let PeerState::Open(peer) = &mut self.peers[from.0 as usize] else {
            unreachable!("the fragments of a lost peer are dropped");
        };
        Some(Fragment {
            from,
            channel: 0,
            bytes: peer.receiver.last_taken(),
        })
    }

    fn has_fragment(&self) -> bool {
        !self.arrived.is_empty()
    }

    fn next_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.timers.first().map(|&(at, _)| at)
    }

    fn handle_timeout(&mut self, now: Instant) -> bool {
        self.now = now;
        let mut is_any = false;
        while let Some(&(at, peer)) = self.timers.first()
            && at <= now
        {
            is_any = true;
            let verdict = self.with(peer, |open, rules, counters| {
                open.handle_timeout(now, rules, counters)
            });
            match verdict {
                Some(Verdict::Lost) => self.lose(peer),
                Some(Verdict::Unheard(since)) => {
                    self.notices.push_back(Notice::Unheard(peer, since));
                }
                Some(Verdict::GoesBack | Verdict::Waits) | None => {}
            }
        }
        is_any
    }

    fn is_quiet(&self) -> bool {
        self.open()
            .all(|peer| peer.sender.is_received() && !peer.receiver.owes())
    }

    fn close(&mut self, now: Instant) {
        self.now = now;
        self.rules.patience.is_closing = true;
        self.rules.habit.delay = Duration::ZERO;
        for number in 0..self.peers.len() {
            if matches!(self.peers[number], PeerState::Open(_)) {
                self.with(PeerId(number as u32), |peer, _, _| peer.receiver.hurry());
            }
        }
    }
}
