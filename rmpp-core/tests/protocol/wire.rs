//! A wire under the test's hand: packets go where the test sends them, in its order.

#![allow(dead_code, reason = "each test uses its part")]

use std::collections::HashMap;

use rmpp_core::{
    Awaited, Config, Dropped, Endpoint, Event, Header, IncomingId, Instant, Kind, Landing, Message,
    NodeId, OutgoingId, Placement,
};

/// Payload bytes of a packet in these tests.
pub(crate) const PACKET: u64 = 100;

/// This many packets without any time that passes are a mistake.
const ENDLESS: usize = 1_000_000;

/// The classic profile with small packets.
pub(crate) fn config(nodes: u32) -> Config {
    Config::classic(nodes, PACKET as usize)
}

/// Hands `bytes`, with `len` bytes of payload behind them, to an endpoint as one datagram.
pub(crate) fn handle(
    (node, from): (&mut Endpoint, NodeId),
    bytes: &[u8],
    len: usize,
    now: Instant,
) -> Result<Placement, Dropped> {
    let sum = bytes.len() + len;
    let packet = node.cut(bytes, sum);
    if packet.is_any() && packet.bytes() < sum {
        // The bytes behind it are no packet.
        return Err(Dropped::Fields);
    }
    node.handle(from, &packet, now)
}

/// A packet in the script's hand.
#[derive(Clone, Debug)]
pub(crate) struct Packet {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) header: Header,
    /// The words behind the fixed part of a fast header.
    pub(crate) tail: Vec<u8>,
    pub(crate) len: usize,
}

impl Packet {
    /// A packet of the same message of another type, without payload.
    pub(crate) fn as_kind(&self, kind: Kind) -> Self {
        let header = Header {
            kind,
            seq: 0,
            info1: 0,
            ..self.header
        };
        Self {
            header,
            len: 0,
            ..self.clone()
        }
    }

    /// A packet of this message as if it were 1,000 bytes long.
    pub(crate) fn long(&self) -> Self {
        let mut packet = self.clone();
        packet.header.len = 1000;
        packet
    }

    /// Data packet `seq`, not the last, of a grant of `n`.
    pub(crate) fn data(&self, seq: u32, n: u16) -> Self {
        let header = Header {
            kind: Kind::Data,
            seq,
            info1: n,
            ..self.header
        };
        Self {
            header,
            len: PACKET as usize,
            ..self.clone()
        }
    }

    /// Its header.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.header.encode().to_vec();
        bytes.extend_from_slice(&self.tail);
        bytes
    }

    /// A packet that answers this one.
    pub(crate) fn answer(&self, kind: Kind, change: impl Fn(&mut Header)) -> Self {
        let mut answer = Self {
            from: self.to,
            to: self.from,
            ..self.as_kind(kind)
        };
        change(&mut answer.header);
        answer
    }
}

/// Endpoints and what the script has seen of them.
pub(crate) struct Wire {
    pub(crate) nodes: Vec<Endpoint>,
    pub(crate) now: Instant,
    /// How messages land; `None`: not yet.
    pub(crate) landing: Option<Landing>,
    /// All packets that `run` carried.
    pub(crate) trace: Vec<Packet>,
    /// All events, per node.
    pub(crate) events: Vec<Vec<Event>>,
    last_sent: HashMap<u32, OutgoingId>,
    announced: Vec<(u32, IncomingId)>,
}

impl Wire {
    pub(crate) fn new(nodes: u32, config: Config) -> Self {
        Self {
            nodes: (0..nodes)
                .map(|n| Endpoint::new(NodeId(n), config.clone()))
                .collect(),
            now: Instant::ZERO,
            landing: Some(Landing::Accept),
            trace: Vec::new(),
            events: vec![Vec::new(); nodes as usize],
            last_sent: HashMap::new(),
            announced: Vec::new(),
        }
    }

    pub(crate) fn send(&mut self, from: u32, to: u32, len: u64) -> OutgoingId {
        self.begin(from, to, len, false)
    }

    /// A send that somebody waits for.
    pub(crate) fn send_awaited(&mut self, from: u32, to: u32, len: u64) -> OutgoingId {
        self.begin(from, to, len, true)
    }

    fn begin(&mut self, from: u32, to: u32, len: u64, awaited: bool) -> OutgoingId {
        let sent = self.nodes[from as usize].send(NodeId(to), Message::of(len, awaited), self.now);
        let id = sent.expect("a send the protocol can do");
        self.last_sent.insert(from, id);
        id
    }

    /// Several sends alike.
    pub(crate) fn send_many(&mut self, count: usize, from: u32, to: u32, len: u64) {
        for _ in 0..count {
            self.send(from, to, len);
        }
    }

    /// Hands packets over in order, whatever becomes of them.
    pub(crate) fn give_all(&mut self, packets: &[Packet]) {
        for packet in packets {
            let _ = self.give(packet);
        }
    }

    /// Aborts the last send of a node.
    pub(crate) fn abandon(&mut self, from: u32) {
        self.nodes[from as usize]
            .outgoing()
            .abort(self.last_sent[&from], self.now);
    }

    /// The next packet a node has to send.
    pub(crate) fn take(&mut self, from: u32) -> Option<Packet> {
        let transmit = self.nodes[from as usize].poll_transmit(self.now, 1)?;
        let header = Header::decode(&transmit.header).expect("an endpoint makes good headers");
        Some(Packet {
            from: NodeId(from),
            to: transmit.to,
            header,
            tail: transmit.header[header.encode().len()..].to_vec(),
            len: transmit.len,
        })
    }

    /// Node 0 sends node 1 a message of `len` bytes, and is granted its first block: the CTS, and
    /// the block in the script's hand.
    pub(crate) fn first_block(&mut self, len: u64) -> (Packet, Vec<Packet>) {
        self.send(0, 1, len);
        let rts = self.take(0).expect("RTS");
        self.give(&rts).expect("a new message");
        let cts = self.take(1).expect("CTS");
        self.give(&cts).expect("a grant");
        let block = self.take_all(0);
        (cts, block)
    }

    /// All packets a node has to send.
    pub(crate) fn take_all(&mut self, from: u32) -> Vec<Packet> {
        let packets: Vec<_> = std::iter::from_fn(|| self.take(from))
            .take(ENDLESS)
            .collect();
        assert!(packets.len() < ENDLESS, "node {from} sends without end");
        packets
    }

    /// Hands a packet to the node it is for.
    pub(crate) fn give(&mut self, packet: &Packet) -> Result<Placement, Dropped> {
        let (to, now) = (packet.to.0, self.now);
        let awaited = self.awaited(packet);
        let node = &mut self.nodes[to as usize];
        let outcome = handle((node, packet.from), &packet.bytes(), packet.len, now);
        if let (Some(awaited), Ok(placement)) = (awaited, outcome) {
            // Its payload may have been received there already.
            let (message, offset, packets) = (awaited.message, awaited.offset, 1);
            let place = Placement::Data {
                message,
                offset,
                packets,
            };
            assert_eq!(placement, place);
            assert_eq!(awaited.payload_bytes, packet.len);
        }
        if let Ok(Placement::First { message, .. }) = outcome {
            self.announced.push((to, message));
            if let Some(landing) = self.landing {
                self.land(to, message, landing);
            }
        }
        self.collect();
        outcome
    }

    /// The awaited packet as which this one begins, of one of the messages announced last.
    pub(crate) fn awaited(&mut self, packet: &Packet) -> Option<Awaited> {
        let to = packet.to.0;
        let node = &mut self.nodes[to as usize];
        let last = self.announced.iter().rev().take(16);
        last.filter(|entry| entry.0 == to)
            .filter_map(|entry| node.incoming().awaited(entry.1))
            .find(|awaited| awaited.is(packet.from, &packet.bytes()))
    }

    fn land(&mut self, at: u32, message: IncomingId, landing: Landing) {
        let whole = self.nodes[at as usize]
            .incoming()
            .land(message, landing, (), self.now);
        let arrived = whole.map(|()| Event::Arrived(message, ()));
        self.events[at as usize].extend(arrived);
    }

    /// Returns true if node `at` has lost `peer`.
    pub(crate) fn has_lost(&self, at: usize, peer: u32) -> bool {
        let is_it = |event: &Event| matches!(event, Event::Lost { node, .. } if node.0 == peer);
        self.events[at].iter().any(is_it)
    }

    /// Lands all that was announced on a node and not landed.
    pub(crate) fn land_all(&mut self, at: u32, landing: Landing) {
        let its = self.announced.extract_if(.., |entry| entry.0 == at);
        let its: Vec<_> = its.collect();
        for (_, id) in its {
            self.land(at, id, landing);
        }
        self.collect();
    }

    /// Lands the first one that was announced on a node and not landed.
    pub(crate) fn land_first(&mut self, at: u32, landing: Landing) {
        let first = self.announced.iter().position(|entry| entry.0 == at);
        let (_, id) = self
            .announced
            .remove(first.expect("a message that has not landed"));
        self.land(at, id, landing);
        self.collect();
    }

    /// Carries packets until none is left; no time passes.
    pub(crate) fn run(&mut self) {
        let before = self.trace.len();
        while self.trace.len() - before < ENDLESS {
            let mut packets = Vec::new();
            (0..self.nodes.len() as u32).for_each(|node| packets.append(&mut self.take_all(node)));
            if packets.is_empty() {
                return;
            }
            for packet in packets {
                let _ = self.give(&packet);
                self.trace.push(packet);
            }
        }
        panic!("the nodes answer each other without end");
    }

    /// Lets all nodes look at their timers.
    pub(crate) fn timeouts(&mut self) {
        self.nodes
            .iter_mut()
            .for_each(|node| node.handle_timeout(self.now));
        self.collect();
    }

    /// Names of the packet types that `run` carried.
    pub(crate) fn kinds(&self) -> Vec<&'static str> {
        self.trace
            .iter()
            .map(|packet| packet.header.kind.name())
            .collect()
    }

    /// The data packets that `run` carried.
    pub(crate) fn data(&self) -> impl Iterator<Item = &Packet> {
        let is_data = |kind| matches!(kind, Kind::Data | Kind::StopData | Kind::LastData);
        self.trace
            .iter()
            .filter(move |packet| is_data(packet.header.kind))
    }

    fn collect(&mut self) {
        for at in 0..self.nodes.len() {
            while let Some(event) = self.nodes[at].poll_event() {
                if let Event::Due { message, .. } = event {
                    self.announced.push((at as u32, message));
                    if let Some(landing) = self.landing {
                        self.land(at as u32, message, landing);
                    }
                }
                self.events[at].push(event);
            }
        }
    }
}
