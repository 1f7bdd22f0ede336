//! Rule T on paths from microseconds to seconds: what is not lost is sent once, and the timeout
//! follows the path.

use std::collections::VecDeque;
use std::time::Duration;

use rmpp_core::{Caps, Config, Endpoint, Event, HeaderBytes, Instant, Landing, NodeId, Placement};

const PACKET: usize = 1_444;
const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// Two nodes, and a path of constant delay between them that loses nothing.
struct Pair {
    nodes: [Endpoint; 2],
    now: Instant,
    one_way_ns: u64,
    /// When it arrives, at whom, header and payload bytes; in this order.
    under_way: VecDeque<(Instant, usize, HeaderBytes, usize)>,
    ended: [usize; 2],
    arrived: [usize; 2],
    steps: u32,
}

impl Pair {
    fn new(profile: &str, round_trip_ns: u64) -> Self {
        let config = Config::with_caps(2, PACKET, Caps::parse(profile).expect("a profile"));
        Self::with(config, round_trip_ns)
    }

    fn with(config: Config, round_trip_ns: u64) -> Self {
        let node = |n| Endpoint::new(NodeId(n), config.clone());
        Self {
            nodes: [node(0), node(1)],
            now: Instant::ZERO,
            one_way_ns: round_trip_ns / 2,
            under_way: VecDeque::new(),
            ended: [0; 2],
            arrived: [0; 2],
            steps: 0,
        }
    }

    fn send(&mut self, from: usize, len: u64, awaited: bool) {
        let to = NodeId(1 - from as u32);
        let sent = self.nodes[from].send(to, len, awaited, self.now);
        sent.expect("a send the protocol can do");
    }

    /// Sends what there is to send, and hears what has become of it.
    fn service(&mut self) {
        for at in 0..2 {
            while let Some(packet) = self.nodes[at].poll_transmit(self.now) {
                let due = self.now.plus(Duration::from_nanos(self.one_way_ns));
                self.under_way
                    .push_back((due, 1 - at, packet.header, packet.len));
            }
            while let Some(event) = self.nodes[at].poll_event() {
                match event {
                    Event::Sent(_) => self.ended[at] += 1,
                    Event::Arrived(_) => self.arrived[at] += 1,
                    Event::Due { message, .. } => {
                        self.nodes[at].land(message, Landing::Accept, self.now);
                    }
                    other => panic!("nothing is lost or given up: {other:?}"),
                }
            }
        }
    }

    /// Goes on to the next packet that arrives or timer that is due.
    fn step(&mut self) {
        self.steps += 1;
        assert!(self.steps < 300_000, "no end: {} packets", self.packets());
        let timers = self.nodes.iter().filter_map(Endpoint::next_timeout);
        let arrival = self.under_way.iter().map(|packet| packet.0).min();
        let next = timers.chain(arrival).min().expect("something is under way");
        self.now = self.now.max(next);
        while let Some(at) = self
            .under_way
            .iter()
            .position(|packet| packet.0 <= self.now)
        {
            let (_, to, header, len) = self.under_way.remove(at).expect("it is there");
            let from = NodeId(1 - to as u32);
            let outcome = self.nodes[to].handle_packet(from, &header, len, self.now);
            if let Ok(Placement::First { message, .. }) = outcome {
                self.nodes[to].land(message, Landing::Accept, self.now);
            }
        }
        for node in &mut self.nodes {
            node.handle_timeout(self.now);
        }
    }

    fn packets(&self) -> u64 {
        self.nodes
            .iter()
            .map(|node| node.counters().sent_total())
            .sum()
    }

    /// Sends to and fro; each waits for the message of the other.
    fn ping_pong(&mut self, rounds: usize, len: u64) {
        for _ in 0..rounds {
            for from in 0..2 {
                let before = self.arrived[1 - from];
                self.send(from, len, false);
                self.service();
                while self.arrived[1 - from] == before {
                    self.step();
                    self.service();
                }
            }
        }
    }

    /// Sends one way; each message waits for the end of the one before.
    fn one_at_a_time(&mut self, count: usize, len: u64, awaited: bool) {
        for _ in 0..count {
            let before = self.ended[0];
            self.send(0, len, awaited);
            self.service();
            while self.ended[0] == before {
                self.step();
                self.service();
            }
        }
    }

    /// Packets of node 0 that began a message.
    fn openers(&self) -> u64 {
        let counters = self.nodes[0].counters();
        counters.messages_sent + counters.first_repeated
    }

    /// How long node 0 waits before it sends a message of 8 bytes again that was lost.
    fn recovery_ns(&mut self) -> u64 {
        self.send(0, 8, true);
        let lost = self.nodes[0].poll_transmit(self.now);
        assert!(lost.is_some());
        let sent_at = self.now;
        let repeated = self.nodes[0].counters().first_repeated;
        let before = self.ended[0];
        let mut waited_ns = None;
        while self.ended[0] == before {
            self.step();
            self.service();
            if self.nodes[0].counters().first_repeated > repeated && waited_ns.is_none() {
                waited_ns = Some(self.now.since(sent_at).as_nanos() as u64);
            }
        }
        waited_ns.expect("it was repeated")
    }
}

const ROUND_TRIPS_MS: [u64; 7] = [1, 4, 10, 20, 50, 200, 1_200];

#[test]
fn rule_t_a_ping_pong_repeats_nothing_however_long_the_path() {
    for (profile, ideal) in [("fast", 1.0), ("classic", 3.0), ("fast,-lazy", 3.0)] {
        for round_trip_ms in ROUND_TRIPS_MS {
            let mut pair = Pair::new(profile, round_trip_ms * MS);
            pair.ping_pong(10, 8);
            let begun = pair.packets();
            pair.ping_pong(490, 8);
            let later = (pair.packets() - begun) as f64 / 980.0;
            let all = pair.packets() as f64 / 1_000.0;
            let what = format!("{profile} at {round_trip_ms} ms: {later}, with the first {all}");
            assert!(later <= ideal * 1.01 && all <= ideal * 1.1, "{what}");
        }
    }
}

#[test]
fn rule_t_messages_one_at_a_time_go_out_once_however_long_the_path() {
    for profile in ["fast", "classic", "fast,-ooo", "fast,-snak"] {
        for (round_trip_ms, awaited) in ROUND_TRIPS_MS
            .iter()
            .flat_map(|&ms| [(ms, true), (ms, false)])
        {
            let mut pair = Pair::new(profile, round_trip_ms * MS);
            pair.one_at_a_time(300, 8, awaited);
            let each = pair.openers() as f64 / 300.0;
            assert!(each <= 1.1, "{profile} at {round_trip_ms} ms: {each} each");
        }
    }
}

#[test]
fn rule_t_long_messages_end_in_a_few_round_trips_however_long_the_path() {
    for profile in [
        "classic",
        "fast",
        "fast,-unsched",
        "fast,-snak",
        "fast,-pipe",
    ] {
        for round_trip_ms in ROUND_TRIPS_MS {
            let mut pair = Pair::new(profile, round_trip_ms * MS);
            pair.one_at_a_time(20, 100_000, true);
            let ideal = 100_000_u64.div_ceil(PACKET as u64) + 8;
            let each = pair.packets() as f64 / 20.0;
            assert!(
                each <= 1.3 * ideal as f64,
                "{profile} at {round_trip_ms} ms: {each} packets each"
            );
            let trips = pair.now.since(Instant::ZERO).as_nanos() as f64
                / (round_trip_ms * MS) as f64
                / 20.0;
            assert!(
                trips <= 9.0,
                "{profile} at {round_trip_ms} ms: {trips} round trips each"
            );
        }
    }
}

#[test]
fn rule_t_a_pool_of_one_packet_on_a_long_path_repeats_next_to_nothing() {
    for profile in ["fast", "fast,-unsched", "classic"] {
        let mut config = Config::with_caps(2, PACKET, Caps::parse(profile).expect("a profile"));
        config.max_rcv_buf = 3;
        let mut pair = Pair::with(config, 1_000 * MS);
        pair.one_at_a_time(4, 100_000, true);
        let data = 4 * (100_000 / PACKET as u64);
        assert!(
            pair.packets() <= 3 * data,
            "{profile}: {} packets for {data} of data",
            pair.packets()
        );
    }
}

#[test]
fn rule_t_the_timeout_follows_a_path_that_becomes_longer_or_shorter() {
    for profile in ["fast", "classic"] {
        let mut pair = Pair::new(profile, 100 * US);
        pair.one_at_a_time(300, 8, true);
        for round_trip_ms in [300, 5, 2_000, 50] {
            pair.one_way_ns = round_trip_ms * MS / 2;
            pair.one_at_a_time(60, 8, true);
            let begun = pair.openers();
            pair.one_at_a_time(40, 8, true);
            assert!(
                pair.openers() - begun <= 41,
                "{profile} at {round_trip_ms} ms"
            );
        }
        pair.one_way_ns = 50 * US;
        pair.one_at_a_time(100, 8, true);
        let waited_ns = pair.recovery_ns();
        assert!(waited_ns <= 5 * MS, "{profile}: {waited_ns} ns");
    }
}

#[test]
fn rule_t_a_node_that_slept_does_not_make_the_path_long() {
    for profile in ["fast", "classic"] {
        for sleeper in 0..2 {
            let mut config = Config::with_caps(2, PACKET, Caps::parse(profile).expect("a profile"));
            config.lost_after = None;
            let mut pair = Pair::with(config, 100 * US);
            pair.one_at_a_time(100, 8, true);
            pair.send(0, 8, true);
            pair.service();
            if sleeper == 0 {
                // The packets wait for a node that looks at nothing.
                pair.now = pair.now.plus(Duration::from_secs(660));
            } else {
                pair.under_way
                    .iter_mut()
                    .for_each(|p| p.0 = p.0.plus(Duration::from_secs(660)));
            }
            while pair.ended[0] < 101 {
                pair.step();
                pair.service();
            }
            pair.one_at_a_time(5, 8, true);
            let waited_ns = pair.recovery_ns();
            assert!(
                waited_ns <= 50 * MS,
                "{profile}, node {sleeper} slept: {waited_ns} ns"
            );
        }
    }
}

#[test]
fn rule_t_who_waits_for_a_long_timer_has_not_slept() {
    let mut config = Config::with_caps(2, PACKET, Caps::FAST);
    // A timer of a path of a second is longer than half of this.
    config.lost_after = Some(Duration::from_secs(3));
    let mut pair = Pair::with(config, 900 * MS);
    pair.one_at_a_time(1, 8, true);
    assert!(pair.recovery_ns() <= 4_000 * MS);
    assert_eq!(pair.nodes[0].counters().own_pauses, 0);
}
