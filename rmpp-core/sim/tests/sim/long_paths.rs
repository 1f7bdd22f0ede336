//! Networks with round trips of up to a second and more: what a message costs there without loss.

use crate::pair::{MS, PACKET, Pair};
use rmpp_core::{Caps, Config};

fn pair(caps: Caps, round_trip_ns: u64) -> Pair {
    Pair::new(&Config::with_caps(2, PACKET, caps), round_trip_ns)
}

/// Packets per message of a ping-pong of `count` messages of 8 bytes.
fn ping_pong(caps: Caps, round_trip_ns: u64, count: usize) -> f64 {
    let mut pair = pair(caps, round_trip_ns);
    pair.ping_pong(count / 2, 8);
    pair.packets() as f64 / count as f64
}

#[test]
fn rule_t_a_ping_pong_over_a_long_path_repeats_nothing() {
    // Packets before the first measured round trip come on top.
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
            let mut pair = pair(caps, round_trip * MS);
            pair.one_at_a_time(400, 8, true);
            let packets = pair.packets() as f64 / 400.0;
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
        let mut pair = pair(caps, 1_200 * MS);
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

#[test]
fn rule_t_long_messages_side_by_side_repeat_no_data() {
    for (round_trip, flight) in [
        (1, 1),
        (100, 1),
        (100, 2),
        (1, 32),
        (10, 32),
        (100, 4),
        (100, 32),
        (100, 64),
    ] {
        let config = Config {
            max_rcv_buf: 2_900,
            ..Config::with_caps(2, PACKET, Caps::FAST)
        };
        let mut pair = Pair::new(&config, round_trip * MS);
        for number in 0..100 {
            pair.send(0, 1 << 20, true);
            if number >= flight {
                assert!(pair.run(u64::MAX, |pair| pair.ended[0] > number - flight));
            }
        }
        assert!(pair.run(u64::MAX, |pair| pair.ended[0] == 100));
        let counters = pair.nodes[0].state().counters;
        let what = format!("{round_trip} ms, {flight} at a time");
        assert_eq!(counters.data_repeated, 0, "{what}");
        // Before the first round trip was measured.
        assert!(counters.first_repeated <= 8, "{what}: {counters:?}");
    }
}
