//! Two nodes exchange a long and a short message over a wire that forgets two packets.
//! The driver around the endpoint: clock, wire, payload.

use std::collections::VecDeque;
use std::time::Duration;

use rmpp_core::{Config, Endpoint, Event, Instant, Landing, Message, NodeId, Placement};

/// One node with its driver. The endpoint keeps the bytes of each message with it.
struct Node {
    me: NodeId,
    endpoint: Endpoint<Vec<u8>, Vec<u8>>,
}

/// A packet on the wire: from, to, header, payload.
type Packet = (NodeId, NodeId, Vec<u8>, Vec<u8>);

impl Node {
    fn new(me: u32) -> Self {
        let me = NodeId(me);
        let endpoint = Endpoint::new(me, Config::classic(2, 100));
        Self { me, endpoint }
    }

    fn send(&mut self, to: u32, bytes: &[u8], now: Instant) {
        let message = Message {
            len: bytes.len() as u64,
            is_awaited: true,
            kept: bytes.to_vec(),
        };
        let sent = self.endpoint.send(NodeId(to), message, now);
        sent.expect("the peer exists");
    }

    fn receive(&mut self, (from, _, header, payload): Packet, now: Instant) {
        let packet = self.endpoint.cut(&header, header.len() + payload.len());
        match self.endpoint.handle(from, &packet, now) {
            Ok(Placement::First { message, len }) => {
                let mut buffer = vec![0; len as usize];
                buffer[..payload.len()].copy_from_slice(&payload);
                let whole = self
                    .endpoint
                    .incoming()
                    .land(message, Landing::Accept, buffer, now);
                whole.iter().for_each(|buffer| self.print(buffer));
            }
            Ok(Placement::Data {
                message, offset, ..
            }) => {
                let buffer = self
                    .endpoint
                    .incoming()
                    .kept(message)
                    .expect("it has landed");
                buffer[offset as usize..][..payload.len()].copy_from_slice(&payload);
            }
            // Classic nodes keep no first packet before its turn.
            Ok(Placement::None | Placement::Early { .. }) | Err(_) => {}
        }
    }

    fn transmit(&mut self, wire: &mut VecDeque<Packet>, now: Instant) {
        while let Some(packet) = self.endpoint.poll_transmit(now, 1) {
            let payload = packet.message.map_or(Vec::new(), |message| {
                let bytes = self
                    .endpoint
                    .outgoing()
                    .kept(message)
                    .expect("it has not ended");
                bytes[packet.offset as usize..][..packet.len].to_vec()
            });
            wire.push_back((self.me, packet.to, packet.header.to_vec(), payload));
        }
    }

    fn report(&mut self) {
        while let Some(event) = self.endpoint.poll_event() {
            match event {
                Event::Arrived(_, buffer) => self.print(&buffer),
                Event::Sent(message, _) => println!("{}: {message:?} was received", self.me),
                other => println!("{}: {other:?}", self.me),
            }
        }
    }

    fn print(&self, buffer: &[u8]) {
        let text = String::from_utf8_lossy(buffer);
        println!("{}: {} bytes arrived: {text:.40}…", self.me, buffer.len());
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
    while !nodes.iter().all(|node| node.endpoint.state().is_quiet) {
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
