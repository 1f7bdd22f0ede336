//! Two nodes exchange a long and a short message over a wire that forgets two packets.
//! The driver around the endpoint: clock, wire, payload.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use rmpp_core::{
    Config, Endpoint, Event, IncomingId, Instant, Landing, NodeId, OutgoingId, Placement,
};

/// One node with its driver.
struct Node {
    endpoint: Endpoint,
    outgoing: HashMap<OutgoingId, Vec<u8>>,
    incoming: HashMap<IncomingId, Vec<u8>>,
}

/// A packet on the wire: from, to, header, payload.
type Packet = (NodeId, NodeId, Vec<u8>, Vec<u8>);

impl Node {
    fn new(me: u32) -> Self {
        let endpoint = Endpoint::new(NodeId(me), Config::classic(2, 100));
        Self {
            endpoint,
            outgoing: HashMap::new(),
            incoming: HashMap::new(),
        }
    }

    fn send(&mut self, to: u32, bytes: &[u8], now: Instant) {
        let id = self
            .endpoint
            .send(NodeId(to), bytes.len() as u64, true, now);
        self.outgoing
            .insert(id.expect("the peer exists"), bytes.to_vec());
    }

    fn receive(&mut self, (from, _, header, payload): Packet, now: Instant) {
        let packet = self.endpoint.cut(&header, header.len() + payload.len());
        match self.endpoint.handle(from, &packet, now) {
            Ok(Placement::First { message, len }) => {
                let mut buffer = vec![0; len as usize];
                buffer[..payload.len()].copy_from_slice(&payload);
                self.incoming.insert(message, buffer);
                self.endpoint.land(message, Landing::Accept, now);
            }
            Ok(Placement::Data {
                message, offset, ..
            }) => {
                let buffer = self.incoming.get_mut(&message).expect("it was announced");
                buffer[offset as usize..][..payload.len()].copy_from_slice(&payload);
            }
            // Classic nodes keep no first packet before its turn.
            Ok(Placement::None | Placement::Early { .. }) | Err(_) => {}
        }
    }

    fn transmit(&mut self, wire: &mut VecDeque<Packet>, now: Instant) {
        while let Some(packet) = self.endpoint.poll_transmit(now, 1) {
            let payload = packet.message.map_or(Vec::new(), |message| {
                self.outgoing[&message][packet.offset as usize..][..packet.len].to_vec()
            });
            wire.push_back((
                self.endpoint.node(),
                packet.to,
                packet.header.to_vec(),
                payload,
            ));
        }
    }

    fn report(&mut self) {
        while let Some(event) = self.endpoint.poll_event() {
            println!("{}: {event:?}", self.endpoint.node());
            if let Event::Arrived(message) = event {
                let text = self.incoming.remove(&message).expect("it was announced");
                println!(
                    "  {} bytes: {:.40}…",
                    text.len(),
                    String::from_utf8_lossy(&text)
                );
            }
        }
    }
}

fn main() {
    let mut nodes = [Node::new(0), Node::new(1)];
    let mut wire = VecDeque::new();
    let mut now = Instant(0);
    let mut packets = 0_u32;
    nodes[0].send(
        1,
        "a long message in many packets ".repeat(40).as_bytes(),
        now,
    );
    nodes[0].send(1, b"a short message", now);
    nodes[1].send(0, b"and one the other way", now);
    while !nodes.iter().all(|node| node.endpoint.is_quiet()) {
        nodes
            .iter_mut()
            .for_each(|node| node.transmit(&mut wire, now));
        match wire.pop_front() {
            Some(packet) => {
                packets += 1;
                if ![5, 11].contains(&packets) {
                    nodes[packet.1.0 as usize].receive(packet, now);
                }
            }
            None => now = now.plus(Duration::from_millis(1)),
        }
        nodes.iter_mut().for_each(|node| {
            node.endpoint.handle_timeout(now);
            node.report();
        });
    }
    println!("{packets} packets in {:?}", now.since(Instant::ZERO));
}
