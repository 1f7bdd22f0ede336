//! Messages on their way out.

mod acks;
mod answers;
mod ends;
mod held;
mod message;
mod queues;
mod round_trip;
mod states;
mod transmit;
mod wake;

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;

use crate::bits::Bits;
use crate::common::{Common, Kept, give_back};
use crate::config::{Bug, Config};
use crate::event::{Message, Transmit};
use crate::ids::{Key, OutgoingId};
use crate::list::{Linked, Links, List};
use crate::slab::Slab;
use crate::table::Table;
use crate::time::{Instant, nanoseconds};
use crate::timers::RoundTrip;
use states::State;

/// The sending side of an endpoint: its messages on their way out, and the paths to its peers.
#[cfg_attr(feature = "simulated", derive(Clone, Hash))]
pub(crate) struct Sender<K: Kept> {
    queues: Queues<K>,
    /// By this `derive` sees which values are in `queues`.
    kept: PhantomData<K::Out>,
    lost_after_ns: u64,
    unheard_after_ns: u64,
    /// The peer whose acknowledgement came last, and when, until the messages are completed: the
    /// answer to a message need not wait for that.
    unsettled: Option<(u32, Instant)>,
}

/// The messages on their way out, their names, and the lists that they are in.
#[cfg_attr(feature = "simulated", derive(Clone, Hash))]
struct Queues<K: Kept> {
    messages: Slab<Outgoing<K::Out>>,
    /// Where they are, by their names.
    at: Table,
    next_msg_id: u32,
    to: Vec<ToPeer>,
    /// The paper's list `sending` (and aborts that wait for their answer).
    sending: List,
    /// Messages with something to transmit.
    ready: VecDeque<Key>,
}

/// The path to a peer: measured round trip, silence, acknowledgements, and the heads of the queues
/// of live messages. Of fixed size. Between messages the queues are empty, and what remains is
/// worth time only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToPeer {
    /// Messages whose first packet may not yet be sent: the first-packet window is full.
    waiting: List,
    /// `send_pending` (paper §3.4): first packet not yet answered, in order of `msgNum`.
    pending: List,
    /// The messages of `send_pending` that the peer holds (rule H).
    held: List,
    /// When held messages are asked after again.
    held_due: Instant,
    /// When `suspects` are asked after: their answers may have been lost. `NEVER`: there are none.
    suspects_due: Instant,
    /// Bytes under way before their first packet is acknowledged (rule M).
    pending_bytes: u64,
    /// Bytes sent since the peer was last asked for an acknowledgement.
    unasked_bytes: u64,
    /// Since when nothing that asks for an answer has got any; `NEVER`: nothing is open.
    silent_since: Instant,
    /// When the last packet of the peer came; `ZERO`: none has come.
    heard_at: Instant,
    /// When a first packet was repeated last. An earlier packet measures no round trip: its
    /// acknowledgement may have waited for the repeated one.
    repeated_at: Instant,
    /// The estimate of the round trip (rule T).
    round_trip: RoundTrip,
    /// Messages sent since then.
    unasked: u16,
    /// All messages to the peer with numbers before this are accepted (rule K).
    acked: u32,
    /// The latest message for which a CTS came, or the acknowledged number if that is later. All
    /// messages before it have been announced (rule R).
    answered: u32,
    /// How often the timeout has been doubled.
    backoff: u8,
    /// How often the wait before the next question about held messages has been doubled.
    held_backoff: u8,
    /// How many held messages are asked after out of turn, because others were answered.
    suspects: u16,
    /// Declared lost (rule T).
    lost: bool,
}

impl ToPeer {
    const NEW: Self = Self {
        waiting: List::EMPTY,
        pending: List::EMPTY,
        held: List::EMPTY,
        held_due: Instant::NEVER,
        suspects_due: Instant::NEVER,
        pending_bytes: 0,
        unasked_bytes: 0,
        silent_since: Instant::NEVER,
        heard_at: Instant::ZERO,
        repeated_at: Instant::ZERO,
        round_trip: RoundTrip::UNKNOWN,
        unasked: 0,
        acked: 0,
        answered: 0,
        backoff: 0,
        held_backoff: 0,
        suspects: 0,
        lost: false,
    };

    /// Something that asks for an answer goes out.
    #[inline]
    fn mark_silence(&mut self, now: Instant) {
        self.silent_since = self.silent_since.min(now);
    }

    /// The message whose first packet is repeated when it is due.
    fn oldest_pending(&self, config: &Config) -> Option<u32> {
        match config.has(Bug::RepeatYoungest) {
            true => self.pending.tail(),
            false => self.pending.head(),
        }
    }

    /// This node slept: the peer gets its full time again.
    fn forgive(&mut self, now: Instant) {
        if self.silent_since != Instant::NEVER {
            self.silent_since = now;
        }
    }
}

/// The state of an outgoing message.
#[derive(Clone, Debug, Hash)]
struct Outgoing<Out> {
    to: u32,
    msg_id: u32,
    msg_num: u32,
    len: u64,
    state: State,
    /// Which of its path's or the endpoint's lists it is in.
    place: Place,
    /// True if it is in the queue of messages with something to transmit.
    ready: bool,
    /// Bytes that it has under way before its first packet is acknowledged (rule M).
    charge: u64,
    /// True if answers that name it find it.
    named: bool,
    /// True if the layer above waits for its end.
    awaited: bool,
    /// True if its first packet (or NULL) was ever handed out.
    opened: bool,
    /// Time-outs in a row since the receiver last answered; doubles the wait.
    tries: u8,
    /// How often it has been tried again (`info2`).
    attempt: u16,
    /// The latest attempt that the receiver has answered with a hold (rule H).
    held_at: u16,
    /// Size of the current grant (`info1`).
    grant: u16,
    /// True if its first packet (or the NULL in its place) is to go out (again).
    opener_due: bool,
    /// The number of the last NAK obeyed (rule R).
    nak: u16,
    /// The packet that the last CTS expects next, and how many it lacks of those sent (rule R).
    asked: (u32, u32),
    /// True if the next packet that ends a burst bears PROBE (rule R).
    probing: bool,
    /// The packets to send again, from `resend_from` on (rule R).
    resend: Bits,
    resend_from: u32,
    /// Next data packet to send.
    next: u32,
    /// Last data packet granted.
    limit: u32,
    /// Last data packet ever sent.
    furthest: u32,
    /// When data packet 1 of the present attempt went out.
    begun_at: Instant,
    /// When the packet that is to be answered went out.
    sent_at: Instant,
    measure: Measure,
    /// When it is sent again; `NEVER` while it waits to go out.
    deadline: Instant,
    links: Links,
    /// The value that the layer above keeps with it; it is there until the end.
    kept: Option<Out>,
}

/// The part of a message that measuring the round trip needs (rule T).
#[derive(Clone, Copy, Debug, Default)]
struct Measure {
    /// When its first packet went out for the first time.
    opened_at: Instant,
    /// True if the packet that is to be answered is data that had not been sent before.
    is_timed: bool,
}

impl Hash for Measure {
    /// It changes the length of timeouts alone, which the explorer takes to be alike.
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// The lists of paper §3.4 on the send side, `send_pending` in three parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// Beyond the first-packet window.
    Waiting,
    /// `send_pending`.
    Pending,
    /// `send_pending`, known to the receiver.
    Held,
    /// `sending`.
    Sending,
}

impl<Out> Linked for Outgoing<Out> {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }

    fn next(&self) -> u32 {
        self.links.next()
    }
}

impl<K: Kept> Sender<K> {
    pub(crate) fn new(config: &Config) -> Self {
        let first = config.first_msg_num;
        let peer = ToPeer {
            acked: first,
            answered: first,
            ..ToPeer::NEW
        };
        Self {
            queues: Queues {
                messages: Slab::new(),
                at: Table::new(),
                next_msg_id: config.first_msg_id,
                to: vec![peer; config.nodes as usize],
                sending: List::EMPTY,
                ready: VecDeque::new(),
            },
            kept: PhantomData,
            lost_after_ns: config.lost_after.map_or(u64::MAX, nanoseconds),
            unheard_after_ns: config.unheard_after.map_or(u64::MAX, nanoseconds),
            unsettled: None,
        }
    }

    /// Begins a message; it is number next in the order of this pair.
    #[inline]
    pub(crate) fn begin(
        &mut self,
        common: &mut Common<K>,
        to: u32,
        message: Message<K::Out>,
    ) -> OutgoingId {
        let msg_num = common.numbers_mut(to).take_out();
        common.counts().messages_sent += 1;
        let msg_id = self.queues.take_msg_id();
        let charge = common.config().charge_of(message.len);
        let message = Outgoing::new(to, (msg_id, msg_num), message, charge);
        let (key, waits) = self.queues.enter(common, message);
        if waits {
            self.settle(common);
        }
        OutgoingId(key)
    }

    /// What is kept with a message that has not ended.
    #[inline]
    pub(crate) fn kept(&self, message: OutgoingId) -> Option<&K::Out> {
        let index = self.queues.messages.find(message.0)?;
        self.queues.messages[index].kept.as_ref()
    }

    /// A short message and its peer, if nothing else has something to transmit; `first_packet` is
    /// called for it then.
    #[inline]
    pub(crate) fn goes_first(&mut self, config: &Config, id: OutgoingId) -> Option<(u32, u32)> {
        let queues = &mut self.queues;
        let OutgoingId(key) = id;
        let is_alone = queues.ready.len() == 1 && queues.ready.front() == Some(&key);
        if !is_alone || !queues.messages[key.index].shape(config).is_short() {
            return None;
        }
        queues.ready.pop_front();
        queues.messages[key.index].ready = false;
        Some((key.index, queues.messages[key.index].to))
    }

    #[inline]
    pub(crate) fn first_packet(&mut self, common: &mut Common<K>, at: u32, ack: u32) -> Transmit {
        self.queues.make_opener(common, at, ack)
    }

    /// The packet that `first_packet` returned is on its way.
    #[inline]
    pub(crate) fn note_sent(&mut self, common: &mut Common<K>, message: OutgoingId) {
        if let Some(index) = self.queues.messages.find(message.0)
            && self.queues.messages[index].state == State::Waiting
            && !common.has(Bug::ForgetLaunch)
        {
            self.queues.note_launch(common, index);
        }
    }

    pub(crate) fn abort(&mut self, common: &mut Common<K>, message: OutgoingId) {
        if let Some(index) = self.queues.messages.find(message.0) {
            self.queues.abort(common, index);
        }
    }

    /// A packet of a peer has come.
    #[inline]
    pub(crate) fn note_heard(&mut self, from: u32, now: Instant) {
        let peer = &mut self.queues.to[from as usize];
        peer.silent_since = Instant::NEVER;
        peer.heard_at = now;
    }

    #[inline]
    pub(crate) fn is_lost(&self, peer: u32) -> bool {
        self.queues.to[peer as usize].lost
    }

    /// A peer is gone: forgets its messages, and returns what was kept with them.
    pub(crate) fn lose(&mut self, peer: u32) -> Vec<K::Out> {
        let messages = self.queues.messages.iter();
        let of_peer = messages.filter(|(_, message)| message.to == peer);
        let of_peer: Vec<u32> = of_peer.map(|(index, _)| index).collect();
        let mut unsent = Vec::new();
        for index in of_peer {
            self.queues.unlist(index);
            unsent.push(self.queues.forget_outgoing(index));
        }
        self.queues.to[peer as usize] = ToPeer {
            lost: true,
            ..ToPeer::NEW
        };
        unsent
    }

    /// Returns true if it has no message.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.queues.messages.len() == 0
    }

    /// Returns true if a message has something to transmit, or messages wait for room, and an
    /// acknowledgement that makes some has come.
    #[inline]
    pub(crate) fn is_pressed(&self) -> bool {
        let waits = |from: u32| {
            let peer = self.queues.to.get(from as usize);
            peer.is_some_and(|peer| peer.waiting.len() > 0)
        };
        !self.queues.ready.is_empty() || self.unsettled.is_some_and(|it| waits(it.0))
    }

    #[inline]
    pub(crate) fn give_back(&mut self) {
        give_back(&mut self.queues.ready);
    }
}

/// What the simulator asks of a sender.
#[cfg(feature = "simulated")]
impl<K: Kept> Sender<K> {
    /// An outgoing message that nothing will ever move on: it has nothing to transmit, no timer
    /// runs for it or for the one it waits for, and no acknowledgement waits to be looked at.
    /// `wake` is when the endpoint wakes. Returns true first if no acknowledgement waits.
    pub(crate) fn stranded(&self, common: &Common<K>, wake: Instant) -> (bool, Option<OutgoingId>) {
        let queued = |key: &&Key| self.queues.messages.find(**key).is_some();
        // What comes after each step looks at each message only once.
        let is_settled = self.unsettled.is_none();
        let runs =
            |at: Instant, timer: Instant| at != Instant::NEVER && timer <= at && wake <= timer;
        let stands = |index: u32, message: &Outgoing<K::Out>| {
            let path = &self.queues.to[message.to as usize];
            let of_path = || common.alarms().of_path(message.to);
            let moves = |index: u32| {
                let oldest = &self.queues.messages[index];
                oldest.ready || runs(oldest.deadline, of_path())
            };
            match message.place {
                Place::Sending => {
                    !message.ready && !runs(message.deadline, common.alarms().of_message(index))
                }
                Place::Held => !message.ready && !runs(path.held_due, of_path()),
                // The oldest one is timed, and those behind it wait for its end (rules P12, M).
                Place::Pending | Place::Waiting => !path.pending.head().is_some_and(moves),
            }
        };
        let (mut ready, mut stranded) = (0, None);
        for (index, message) in self.queues.messages.iter() {
            ready += usize::from(message.ready);
            if is_settled && stranded.is_none() && stands(index, message) {
                stranded = Some(index);
            }
        }
        let queued = self.queues.ready.iter().filter(queued).count();
        assert_eq!(queued, ready, "queued once each");
        let id = |index| OutgoingId(self.queues.messages.key(index));
        (is_settled, stranded.map(id))
    }

    /// The names of all messages that have not ended.
    pub(crate) fn live_msg_ids(&self) -> Vec<u32> {
        self.queues.messages.iter().map(|(_, m)| m.msg_id).collect()
    }

    /// Goes on as if `count` messages had been sent and had ended.
    pub(crate) fn skip_msg_ids(&mut self, count: u64) {
        let halves = |ids: u64| ids.div_ceil(queues::HALF_CIRCLE.into());
        let first = u64::from(self.queues.next_msg_id);
        if halves(first) != halves(first + count) {
            self.queues.enter_all_names();
        }
        self.queues.next_msg_id = self.queues.next_msg_id.wrapping_add(count as u32);
    }

    /// Bytes kept for all peers, and for the messages.
    pub(crate) fn bytes(&self) -> (usize, usize) {
        let queues = &self.queues;
        let ready = queues.ready.capacity() * size_of::<Key>();
        let rooms = queues.messages.bytes() + queues.at.bytes();
        (size_of_val(&*queues.to), rooms + ready)
    }
}

#[cfg(feature = "simulated")]
impl Hash for ToPeer {
    /// Without what only measures the time.
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.waiting, self.pending, self.held, self.lost).hash(state);
        (self.pending_bytes, self.unasked_bytes, self.unasked).hash(state);
        (self.acked, self.answered, self.suspects).hash(state);
        (self.held_due, self.suspects_due, self.silent_since).hash(state);
    }
}
