//! Traffic: how much gets through a network of limited rate, and at what cost. Nothing is checked
//! here; [`World`](super::World) does that.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rmpp_core::{
    Caps, Config, Endpoint, Event, FAST_HEADER_BYTES, HeaderBytes, IncomingId, Instant, Landing,
    Message, NodeId, Placement, Transmit,
};

use super::network::{Faults, Network, Wires};

/// Bytes of a datagram on the wire beside its packets: Ethernet with preamble and gap 38, IP 20,
/// UDP 8, cookie and rank 12.
const AROUND_BYTES: u64 = 78;

/// Packets of a run that a node hands out at once.
const MOST_AT_ONCE: u32 = 44;

/// The traffic, and the network below it.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Parameters of the endpoints.
    pub config: Config,
    /// The links.
    pub wires: Wires,
    /// Their faults.
    pub faults: Faults,
    /// Where chance comes from.
    pub seed: u64,
    /// The messages of each node, in order: destination, and bytes.
    pub sends: Vec<Vec<(u32, u64)>>,
    /// How long a message waits until it lands, in nanoseconds.
    pub landing_ns: u64,
    /// How many sends a node has open at a time.
    pub window: usize,
    /// When to give up, in nanoseconds.
    pub limit_ns: u64,
}

/// The outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// True if all messages were sent in time.
    pub is_finished: bool,
    /// Messages that ended as received at their sender.
    pub messages: u64,
    /// Bytes of all messages that were to be sent.
    pub payload_bytes: u64,
    /// Packets handed to the layer below.
    pub packets: u64,
    /// Datagrams that they went in.
    pub datagrams: u64,
    /// Datagrams for which the link to their node had no room.
    pub overflowed: u64,
    /// When the last message was sent, in nanoseconds.
    pub virtual_ns: u64,
    /// Bytes that an endpoint keeps for all its peers together.
    pub peer_state_bytes: usize,
    /// Bytes that the largest endpoint keeps beside, at the end: room for messages and answers.
    pub other_state_bytes: usize,
}

impl Outcome {
    /// Packets per message.
    #[must_use]
    pub fn packets_per_message(&self) -> f64 {
        self.packets as f64 / self.messages.max(1) as f64
    }

    /// Bytes of messages per microsecond.
    #[must_use]
    pub fn goodput(&self) -> f64 {
        self.payload_bytes as f64 * 1_000.0 / self.virtual_ns.max(1) as f64
    }
}

/// Packets that travel together: header and payload bytes.
type Datagram = Vec<(HeaderBytes, usize)>;

struct Driver {
    endpoint: Endpoint,
    /// Place in the list of sends.
    next: usize,
    open: usize,
    /// The timer that is in the list of timers.
    timer: Instant,
}

/// A run under way.
struct Run {
    traffic: Traffic,
    now: Instant,
    network: Network<Datagram>,
    /// Made when the node first does something.
    drivers: Vec<Option<Box<Driver>>>,
    timers: BinaryHeap<Reverse<(Instant, u32)>>,
    landings: BinaryHeap<Reverse<(Instant, u32, IncomingId)>>,
    to_send: usize,
    outcome: Outcome,
}

impl Traffic {
    /// Runs until all is sent, or it is time to give up.
    #[must_use]
    pub fn run(self) -> Outcome {
        let network = Network::new(self.seed, self.faults.clone()).with_wires(self.wires);
        let mut run = Run {
            now: Instant::ZERO,
            network,
            drivers: (0..self.config.nodes).map(|_| None).collect(),
            timers: BinaryHeap::new(),
            landings: BinaryHeap::new(),
            to_send: self.sends.iter().map(Vec::len).sum(),
            outcome: Outcome::default(),
            traffic: self,
        };
        run.run();
        run.outcome
    }
}

impl Run {
    fn run(&mut self) {
        for node in 0..self.traffic.sends.len() as u32 {
            self.service(node);
        }
        while self.to_send > 0 && self.now.0 < self.traffic.limit_ns {
            let timer = self.timers.peek().map(|entry| entry.0.0);
            let landing = self.landings.peek().map(|entry| entry.0.0);
            let planned = timer.into_iter().chain(landing);
            let Some(at) = planned.chain(self.network.next_delivery()).min() else {
                break;
            };
            self.now = self.now.max(at);
            while let Some((from, to, datagram)) = self.network.deliver(self.now) {
                self.arrive(from, to.0, &datagram);
            }
            self.handle_timers();
            self.handle_landings();
        }
        self.close();
    }

    fn close(&mut self) {
        let outcome = &mut self.outcome;
        outcome.is_finished = self.to_send == 0;
        let sends = self.traffic.sends.iter().flatten();
        outcome.payload_bytes = sends.map(|send| send.1).sum();
        outcome.virtual_ns = self.now.0;
        outcome.overflowed = self.network.overflowed();
        for driver in self.drivers.iter().flatten() {
            outcome.packets += driver.endpoint.state().counters.sent_total();
            let (peers, other) = driver.endpoint.state_bytes();
            outcome.peer_state_bytes = peers;
            outcome.other_state_bytes = outcome.other_state_bytes.max(other);
        }
    }

    fn driver(&mut self, node: u32) -> &mut Driver {
        let config = &self.traffic.config;
        self.drivers[node as usize].get_or_insert_with(|| {
            let mut own = config.clone();
            own.seed ^= u64::from(node);
            Box::new(Driver {
                endpoint: Endpoint::new(NodeId(node), own),
                next: 0,
                open: 0,
                timer: Instant::NEVER,
            })
        })
    }

    fn arrive(&mut self, from: NodeId, to: u32, datagram: &Datagram) {
        let now = self.now;
        for (header, len) in datagram {
            let endpoint = &mut self.driver(to).endpoint;
            let packet = endpoint.cut(header, header.len() + len);
            let outcome = endpoint.handle(from, &packet, now);
            if let Ok(Placement::First { message, .. }) = outcome {
                self.land(to, message);
            }
        }
        self.service(to);
    }

    /// A message begins: it lands now or later.
    fn land(&mut self, at: u32, message: IncomingId) {
        let (now, wait_ns) = (self.now, self.traffic.landing_ns);
        let landing = if wait_ns > 0 {
            let due = now.plus_ns(wait_ns);
            self.landings.push(Reverse((due, at, message)));
            Landing::Later
        } else {
            Landing::Accept
        };
        self.driver(at)
            .endpoint
            .incoming()
            .land(message, landing, (), now);
    }

    fn handle_landings(&mut self) {
        while let Some(&Reverse((due, at, message))) = self.landings.peek() {
            if due > self.now {
                break;
            }
            self.landings.pop();
            let now = self.now;
            let endpoint = &mut self.driver(at).endpoint;
            endpoint.incoming().land(message, Landing::Accept, (), now);
            self.service(at);
        }
    }

    fn handle_timers(&mut self) {
        while let Some(&Reverse((at, node))) = self.timers.peek() {
            if at > self.now {
                break;
            }
            self.timers.pop();
            let now = self.now;
            let driver = self.driver(node);
            if driver.timer != at {
                continue;
            }
            driver.timer = Instant::NEVER;
            driver.endpoint.handle_timeout(now);
            self.service(node);
        }
    }

    /// Sends all packets that are ready, takes in the events, and sets the node's timer.
    fn service(&mut self, node: u32) {
        loop {
            self.send(node);
            self.transmit(node);
            if !self.hear(node) {
                break;
            }
        }
        let driver = self.driver(node);
        let Some(timer) = driver.endpoint.state().next_timeout else {
            return;
        };
        if timer < driver.timer {
            driver.timer = timer;
            self.timers.push(Reverse((timer, node)));
        }
    }

    fn send(&mut self, node: u32) {
        let (now, window) = (self.now, self.traffic.window);
        let sends = std::mem::take(&mut self.traffic.sends);
        let own = sends.get(node as usize).map_or(&[][..], Vec::as_slice);
        let driver = self.driver(node);
        while driver.open < window
            && let Some(&(to, len)) = own.get(driver.next)
        {
            let sent = driver
                .endpoint
                .send(NodeId(to), Message::of(len, false), now);
            sent.expect("a send that the plan of traffic may ask for");
            driver.next += 1;
            driver.open += 1;
        }
        self.traffic.sends = sends;
    }

    fn transmit(&mut self, node: u32) {
        let (now, config) = (self.now, &self.traffic.config);
        let together = config.caps.has(Caps::COALESCE);
        let most_bytes = config.packet_bytes + FAST_HEADER_BYTES;
        let mut open: Option<(NodeId, Datagram, usize)> = None;
        let mut run = None;
        loop {
            let next = run.as_mut().and_then(Iterator::next).or_else(|| {
                let endpoint = &mut self.driver(node).endpoint;
                run.insert(endpoint.poll_transmit(now, MOST_AT_ONCE)?.each())
                    .next()
            });
            let Some(packet) = next else {
                break;
            };
            let Transmit {
                to, header, len, ..
            } = packet;
            let bytes = header.len() + len;
            match &mut open {
                Some((same, datagram, sum))
                    if together && *same == to && *sum + bytes <= most_bytes =>
                {
                    datagram.push((header, len));
                    *sum += bytes;
                }
                _ => {
                    let full = open.replace((to, Vec::from([(header, len)]), bytes));
                    self.launch(node, full);
                }
            }
        }
        self.launch(node, open);
    }

    fn launch(&mut self, from: u32, datagram: Option<(NodeId, Datagram, usize)>) {
        if let Some((to, datagram, bytes)) = datagram {
            let bytes = bytes as u64 + AROUND_BYTES;
            self.outcome.datagrams += 1;
            let way = (NodeId(from), to);
            self.network.send_sized(self.now, way, bytes, datagram);
        }
    }

    /// Returns true if there was an event.
    fn hear(&mut self, node: u32) -> bool {
        let mut anything = false;
        while let Some(event) = self.driver(node).endpoint.poll_event() {
            anything = true;
            match event {
                Event::Due { message, .. } => self.land(node, message),
                Event::Sent(..) => {
                    self.driver(node).open -= 1;
                    self.to_send -= 1;
                    self.outcome.messages += 1;
                }
                _ => {}
            }
        }
        anything
    }
}
