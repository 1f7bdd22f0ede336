//! Two nodes at the ends of a path whose round trip the test sets: they send what they have to
//! send, accept what comes, and look at their timers when these are due.

#![allow(dead_code, reason = "each test uses its part")]

use rmpp_core::{
    Config, Endpoint, Event, IncomingId, Instant, Landing, Message, NodeId, Placement,
};
use rmpp_sim::{Faults, Network};

/// Payload bytes of a packet in these tests.
pub(crate) const PACKET: usize = 1_444;
pub(crate) const MS: u64 = 1_000_000;

/// A test that takes more steps than this has no end.
const MOST_STEPS: u32 = 300_000;

/// Header and payload bytes.
type Packet = (Vec<u8>, usize);

pub(crate) struct Pair {
    pub(crate) nodes: [Endpoint; 2],
    pub(crate) network: Network<Packet>,
    pub(crate) now: Instant,
    /// Messages that have arrived at each node, and sends that have ended there.
    pub(crate) arrived: [u64; 2],
    pub(crate) ended: [u64; 2],
    steps: u32,
}

fn path_of(round_trip_ns: u64) -> Faults {
    Faults {
        min_delay_ns: round_trip_ns / 2,
        ..Faults::none()
    }
}

impl Pair {
    pub(crate) fn new(config: &Config, round_trip_ns: u64) -> Self {
        Self {
            nodes: [0, 1].map(|node| Endpoint::new(NodeId(node), config.clone())),
            network: Network::new(1, path_of(round_trip_ns)),
            now: Instant::ZERO,
            arrived: [0; 2],
            ended: [0; 2],
            steps: 0,
        }
    }

    /// A packet takes half of `round_trip_ns` from now on.
    pub(crate) fn set_round_trip(&mut self, round_trip_ns: u64) {
        self.network.set_faults(path_of(round_trip_ns));
    }

    /// Begins a message; `service` lets it go.
    pub(crate) fn send(&mut self, from: usize, len: u64, awaited: bool) {
        let to = NodeId(1 - from as u32);
        let sent = self.nodes[from].send(to, Message::of(len, awaited), self.now);
        sent.expect("a send the protocol can do");
    }

    /// Sends the packets of a node, and takes in its events.
    pub(crate) fn service(&mut self, at: usize) {
        while let Some(packet) = self.nodes[at].poll_transmit(self.now, 1) {
            let datagram = (packet.header.to_vec(), packet.len);
            let from = NodeId(at as u32);
            self.network.send(self.now, from, packet.to, datagram);
        }
        while let Some(event) = self.nodes[at].poll_event() {
            match event {
                Event::Arrived(..) => self.arrived[at] += 1,
                Event::Sent(..) => self.ended[at] += 1,
                Event::Due { message, .. } => {
                    self.land(at, message);
                }
                other => panic!("nothing is lost or given up: {other:?}"),
            }
        }
    }

    fn land(&mut self, at: usize, message: IncomingId) {
        let whole = self.nodes[at]
            .incoming()
            .land(message, Landing::Accept, (), self.now);
        self.arrived[at] += u64::from(whole.is_some());
    }

    /// Goes on until `is_done`, or until `limit_ns`; answers whether it is done.
    pub(crate) fn run(&mut self, limit_ns: u64, is_done: impl Fn(&Self) -> bool) -> bool {
        (0..2).for_each(|at| self.service(at));
        while !is_done(self) {
            self.steps += 1;
            assert!(self.steps < MOST_STEPS, "no end: {}", self.packets());
            let timers = self
                .nodes
                .iter()
                .filter_map(|node| node.state().next_timeout);
            let next = timers.chain(self.network.next_delivery()).min();
            let Some(next) = next.filter(|at| at.0 < limit_ns) else {
                return false;
            };
            self.step(next);
        }
        true
    }

    /// The packets that arrive by then, and the timers that are due then.
    fn step(&mut self, to: Instant) {
        self.now = self.now.max(to);
        while let Some((from, to, (header, len))) = self.network.deliver(self.now) {
            let at = to.0 as usize;
            let packet = self.nodes[at].cut(&header, header.len() + len);
            let outcome = self.nodes[at].handle(from, &packet, self.now);
            if let Ok(Placement::First { message, .. }) = outcome {
                self.land(at, message);
            }
            self.service(at);
        }
        for at in 0..2 {
            self.nodes[at].handle_timeout(self.now);
            self.service(at);
        }
    }

    /// Packets sent so far by both.
    pub(crate) fn packets(&self) -> u64 {
        let sent = |node: &Endpoint| node.state().counters.sent_total();
        self.nodes.iter().map(sent).sum()
    }

    /// Sends to and fro; each waits for the message of the other.
    pub(crate) fn ping_pong(&mut self, rounds: usize, len: u64) {
        for from in (0..rounds).flat_map(|_| 0..2) {
            let due = self.arrived[1 - from] + 1;
            self.send(from, len, false);
            assert!(self.run(u64::MAX, |pair| pair.arrived[1 - from] == due));
        }
    }

    /// Sends one way; each message waits for the end of the one before.
    pub(crate) fn one_at_a_time(&mut self, count: usize, len: u64, awaited: bool) {
        for _ in 0..count {
            let due = self.ended[0] + 1;
            self.send(0, len, awaited);
            assert!(self.run(u64::MAX, |pair| pair.ended[0] == due));
        }
    }

    /// Packets of node 0 that began a message.
    pub(crate) fn openers(&self) -> u64 {
        let counters = self.nodes[0].state().counters;
        counters.messages_sent + counters.first_repeated
    }

    /// How long node 0 waits before it sends a message of 8 bytes again that was lost.
    pub(crate) fn recovery_ns(&mut self) -> u64 {
        self.send(0, 8, true);
        let lost = self.nodes[0].poll_transmit(self.now, 1);
        assert!(lost.is_some());
        let (sent_at, due) = (self.now, self.ended[0] + 1);
        let repeated = self.nodes[0].state().counters.first_repeated;
        let is_repeated = |pair: &Self| pair.nodes[0].state().counters.first_repeated > repeated;
        assert!(self.run(u64::MAX, is_repeated));
        let waited_ns = self.now.0 - sent_at.0;
        assert!(self.run(u64::MAX, |pair| pair.ended[0] == due));
        waited_ns
    }
}
