//! Networks with round trips of up to a second and more: what a message costs there without loss.

use rmpp_core::sim::{Faults, Network};
use rmpp_core::{Caps, Config, Endpoint, Event, Instant, Landing, NodeId, Placement};

const MS: u64 = 1_000_000;
const PACKET: usize = 1_444;

/// Header and payload bytes.
type Packet = (Vec<u8>, usize);

/// Two nodes at the ends of a long path.
struct Pair {
    ends: [Endpoint; 2],
    network: Network<Packet>,
    now: Instant,
    packets: u64,
    /// Messages that have arrived at each end, and sends that have ended there.
    arrived: [u64; 2],
    ended: [u64; 2],
}

impl Pair {
    fn new(caps: Caps, round_trip_ns: u64) -> Self {
        let config = Config::with_caps(2, PACKET, caps);
        let faults = Faults {
            min_delay_ns: round_trip_ns / 2,
            ..Faults::none()
        };
        Self {
            ends: [0, 1].map(|node| Endpoint::new(NodeId(node), config.clone())),
            network: Network::new(1, faults),
            now: Instant::ZERO,
            packets: 0,
            arrived: [0; 2],
            ended: [0; 2],
        }
    }

    fn send(&mut self, from: usize, len: u64, awaited: bool) {
        let to = NodeId(1 - from as u32);
        let sent = self.ends[from].send(to, len, awaited, self.now);
        sent.expect("a send the protocol can do");
        self.service(from);
    }

    fn service(&mut self, at: usize) {
        while let Some(packet) = self.ends[at].poll_transmit(self.now) {
            self.packets += 1;
            let datagram = (packet.header.to_vec(), packet.len);
            let from = NodeId(at as u32);
            self.network.send(self.now, from, packet.to, datagram);
        }
        while let Some(event) = self.ends[at].poll_event() {
            match event {
                Event::Arrived(_) => self.arrived[at] += 1,
                Event::Sent(_) => self.ended[at] += 1,
                Event::Due { message, .. } => {
                    self.ends[at].land(message, Landing::Accept, self.now);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Goes on until `is_done`, or until `limit_ns`; answers whether it is done.
    fn run(&mut self, limit_ns: u64, is_done: impl Fn(&Self) -> bool) -> bool {
        while !is_done(self) {
            let timers = self.ends.iter().filter_map(Endpoint::next_timeout);
            let next = timers.chain(self.network.next_delivery()).min();
            let Some(next) = next.filter(|at| at.0 < limit_ns) else {
                return false;
            };
            self.now = self.now.max(next);
            while let Some((from, to, (header, len))) = self.network.deliver(self.now) {
                let at = to.0 as usize;
                let outcome = self.ends[at].handle_packet(from, &header, len, self.now);
                if let Ok(Placement::First { message, .. }) = outcome {
                    self.ends[at].land(message, Landing::Accept, self.now);
                }
                self.service(at);
            }
            for at in 0..2 {
                self.ends[at].handle_timeout(self.now);
                self.service(at);
            }
        }
        true
    }
}

/// Packets per message of a ping-pong of `count` messages of 8 bytes.
fn ping_pong(caps: Caps, round_trip_ns: u64, count: u64) -> f64 {
    let mut pair = Pair::new(caps, round_trip_ns);
    for number in 0..count {
        let from = (number % 2) as usize;
        pair.send(from, 8, false);
        let due = number / 2 + 1;
        assert!(pair.run(u64::MAX, |pair| pair.arrived[1 - from] == due));
    }
    pair.packets as f64 / count as f64
}

#[test]
fn rule_t_a_ping_pong_over_a_long_path_repeats_nothing() {
    // What goes before the first round trip has been measured comes on top.
    for (caps, most) in [(Caps::FAST, 1.1), (Caps::CLASSIC, 3.05)] {
        for round_trip in [4, 10, 50, 200, 600] {
            let packets = ping_pong(caps, round_trip * MS, 400);
            assert!(
                packets <= most,
                "{packets} packets per message at {round_trip} ms, {caps:?}"
            );
        }
    }
}

#[test]
fn rule_t_one_message_at_a_time_costs_itself_and_its_answer() {
    for (caps, most) in [(Caps::FAST, 2.1), (Caps::CLASSIC, 3.1)] {
        for round_trip in [4, 10, 50, 200, 600] {
            let mut pair = Pair::new(caps, round_trip * MS);
            for number in 1..=400 {
                pair.send(0, 8, true);
                assert!(pair.run(u64::MAX, |pair| pair.ended[0] == number));
            }
            let packets = pair.packets as f64 / 400.0;
            assert!(
                packets <= most,
                "{packets} packets per message at {round_trip} ms, {caps:?}"
            );
        }
    }
}

#[test]
fn rule_t_long_messages_end_where_a_round_trip_takes_longer_than_the_longest_timeout() {
    for caps in [Caps::FAST, Caps::CLASSIC] {
        let mut pair = Pair::new(caps, 1_200 * MS);
        for number in 1..=20 {
            pair.send(0, 100_000, true);
            let limit = pair.now.0 + 60_000 * MS;
            assert!(
                pair.run(limit, |pair| pair.ended[0] == number),
                "message {number} takes more than a minute, {caps:?}"
            );
        }
    }
}
