//! What both sides of an endpoint use: configuration, numbers of messages, timers, counters, and
//! the queues of what leaves it.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use crate::alarms::Alarms;
use crate::bits::Bits;
use crate::caps::Caps;
use crate::config::{Bug, Config};
use crate::counters::Counters;
use crate::event::{Event, Transmit};
use crate::ids::{IncomingId, NodeId};
use crate::packet::Header;
use crate::peer::Peer;
use crate::time::Instant;
use crate::timers::Timeouts;

/// What the layer above keeps with messages that leave, and with those that come.
pub(crate) trait Kept {
    type Out;
    type In;
}

impl<Out, In> Kept for (Out, In) {
    type Out = Out;
    type In = In;
}

pub(crate) type EventOf<K> = Event<<K as Kept>::Out, <K as Kept>::In>;

/// An endpoint lends this to the side that has something to do. It calls neither of them.
#[cfg_attr(feature = "simulated", derive(Clone, Hash))]
pub(crate) struct Common<K: Kept> {
    me: u32,
    config: Config,
    peers: Vec<Peer>,
    /// Packets without payload that are ready to go, and where to.
    answers: VecDeque<(u32, Header)>,
    events: VecDeque<Event<K::Out, K::In>>,
    alarms: Alarms,
    timeouts: Timeouts,
    now: Instant,
    counters: Counters,
}

impl<K: Kept> Common<K> {
    pub(crate) fn new(me: NodeId, config: Config) -> Self {
        let first = config.first_msg_num;
        let peer = Peer::at(first, first);
        Self {
            me: me.0,
            peers: vec![peer; config.nodes as usize],
            answers: VecDeque::new(),
            events: VecDeque::new(),
            alarms: Alarms::new(),
            timeouts: Timeouts::new(&config),
            now: Instant::ZERO,
            counters: Counters::default(),
            config,
        }
    }

    #[inline]
    pub(crate) fn me(&self) -> u32 {
        self.me
    }

    #[inline]
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Returns true if a test has planted `bug`.
    #[inline]
    pub(crate) fn has(&self, bug: Bug) -> bool {
        self.config.has(bug)
    }

    #[inline]
    pub(crate) fn caps(&self) -> Caps {
        self.config.caps
    }

    /// The two integers that are kept for a peer.
    #[inline]
    pub(crate) fn numbers(&self, peer: u32) -> Peer {
        self.peers[peer as usize]
    }

    /// The same two, to be changed.
    #[inline]
    pub(crate) fn numbers_mut(&mut self, peer: u32) -> &mut Peer {
        &mut self.peers[peer as usize]
    }

    #[cfg(feature = "simulated")]
    pub(crate) fn all_numbers(&self) -> &[Peer] {
        &self.peers
    }

    #[inline]
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The counters, to count something.
    #[inline]
    pub(crate) fn counts(&mut self) -> &mut Counters {
        &mut self.counters
    }

    #[inline]
    pub(crate) fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }

    #[inline]
    pub(crate) fn timeouts_mut(&mut self) -> &mut Timeouts {
        &mut self.timeouts
    }

    #[inline]
    pub(crate) fn alarms(&self) -> &Alarms {
        &self.alarms
    }

    #[inline]
    pub(crate) fn alarms_mut(&mut self) -> &mut Alarms {
        &mut self.alarms
    }

    /// The latest time that the layer above has named.
    #[inline]
    pub(crate) fn now(&self) -> Instant {
        self.now
    }

    #[inline]
    pub(crate) fn set_now(&mut self, now: Instant) {
        self.now = now;
    }

    /// Queues an answer. One too many counts as lost on the way, which the protocol can bear.
    pub(crate) fn answer(&mut self, to: u32, header: Header) {
        if self.answers.len() >= self.config.max_answers {
            self.counters.answers_lost += 1;
            return;
        }
        self.answers.push_back((to, header));
    }

    /// The answer that leaves next, and the peer it goes to.
    #[inline]
    pub(crate) fn next_answer(&mut self) -> Option<(u32, Header)> {
        self.answers.pop_front()
    }

    #[inline]
    pub(crate) fn has_answers(&self) -> bool {
        !self.answers.is_empty()
    }

    /// Drops the answers to a peer that is lost.
    pub(crate) fn drop_answers(&mut self, peer: u32) {
        self.answers.retain(|answer| answer.0 != peer);
    }

    /// A packet as it leaves: encoded, and counted.
    #[inline]
    pub(crate) fn seal(&mut self, to: u32, header: Header, bits: Bits) -> Transmit {
        self.counters.sent[header.kind.index()] += 1;
        Transmit {
            to: NodeId(to),
            header: header.encode_with(bits),
            message: None,
            offset: 0,
            len: 0,
            packets: 1,
        }
    }

    /// Queues an event for the layer above.
    #[inline]
    pub(crate) fn raise(&mut self, event: EventOf<K>) {
        self.events.push_back(event);
    }

    #[inline]
    pub(crate) fn next_event(&mut self) -> Option<EventOf<K>> {
        self.events.pop_front()
    }

    #[inline]
    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Takes the event back that was raised last, if it says that `message` has arrived; returns
    /// what was kept with the message.
    #[inline]
    pub(crate) fn take_arrival(&mut self, message: IncomingId) -> Option<K::In> {
        match self.events.pop_back()? {
            Event::Arrived(id, kept) if id == message => Some(kept),
            other => {
                self.events.push_back(other);
                None
            }
        }
    }

    /// What was kept with a message, if an event says that it has arrived.
    pub(crate) fn arrived(&mut self, message: IncomingId) -> Option<&mut K::In> {
        self.events.iter_mut().rev().find_map(|event| match event {
            Event::Arrived(id, kept) if *id == message => Some(kept),
            _ => None,
        })
    }

    /// Gives the memory of long queues back that have been drained.
    #[inline]
    pub(crate) fn give_back(&mut self) {
        give_back(&mut self.events);
        give_back(&mut self.answers);
    }

    #[cfg(feature = "simulated")]
    pub(crate) fn bytes(&self) -> usize {
        self.answers.capacity() * size_of::<(u32, Header)>()
            + self.events.capacity() * size_of::<EventOf<K>>()
            + self.alarms.bytes_of_messages()
    }
}

/// An empty queue keeps room for this many entries.
pub(crate) const KEPT: usize = 4096;

/// Gives the memory of a long queue back that has been drained.
#[inline]
pub(crate) fn give_back<T>(queue: &mut VecDeque<T>) {
    if queue.capacity() > KEPT && queue.is_empty() {
        *queue = VecDeque::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Key;

    fn id(index: u32) -> IncomingId {
        IncomingId(Key {
            index,
            generation: 0,
        })
    }

    fn common() -> Common<((), u8)> {
        let config = Config {
            max_answers: 2,
            ..Config::classic(3, 100)
        };
        Common::new(NodeId(0), config)
    }

    #[test]
    fn an_answer_too_many_counts_as_lost() {
        let mut common = common();
        assert!(!common.has_answers());
        for to in [1, 2, 1] {
            common.answer(to, HEADER);
        }
        assert_eq!(common.counters().answers_lost, 1);
        common.drop_answers(1);
        assert_eq!(common.next_answer().map(|it| it.0), Some(2));
        assert!(common.next_answer().is_none());
    }

    const HEADER: Header = Header::bare(crate::packet::Kind::Gch, 1, 0);

    #[test]
    fn only_the_last_event_is_taken_back() {
        let mut common = common();
        common.raise(Event::Arrived(id(1), 10));
        common.raise(Event::Arrived(id(2), 20));
        assert_eq!(common.arrived(id(1)), Some(&mut 10));
        assert_eq!(common.take_arrival(id(1)), None);
        assert_eq!(common.take_arrival(id(2)), Some(20));
        assert_eq!(common.next_event(), Some(Event::Arrived(id(1), 10)));
        assert!(!common.has_events());
    }
}
