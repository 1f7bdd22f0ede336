//! Rule T on paths from microseconds to seconds: what is not lost is sent once, and the timeout
//! follows the path.

use std::time::Duration;

use crate::pair::{MS, PACKET, Pair};
use rmpp_core::{Caps, Config, Instant, NodeId};

const US: u64 = 1_000;

fn config(profile: &str) -> Config {
    Config::with_caps(2, PACKET, Caps::parse(profile).expect("a profile"))
}

fn pair(profile: &str, round_trip_ns: u64) -> Pair {
    Pair::new(&config(profile), round_trip_ns)
}

const ROUND_TRIPS_MS: [u64; 7] = [1, 4, 10, 20, 50, 200, 1_200];

#[test]
fn rule_t_a_ping_pong_repeats_nothing_however_long_the_path() {
    for (profile, ideal) in [("fast", 1.0), ("classic", 3.0), ("fast,-lazy", 3.0)] {
        for round_trip_ms in ROUND_TRIPS_MS {
            let mut pair = pair(profile, round_trip_ms * MS);
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
            let mut pair = pair(profile, round_trip_ms * MS);
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
            let mut pair = pair(profile, round_trip_ms * MS);
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
        let mut config = config(profile);
        config.max_rcv_buf = 3;
        let mut pair = Pair::new(&config, 1_000 * MS);
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
        let mut pair = pair(profile, 100 * US);
        pair.one_at_a_time(300, 8, true);
        for round_trip_ms in [300, 5, 2_000, 50] {
            pair.set_round_trip(round_trip_ms * MS);
            pair.one_at_a_time(60, 8, true);
            let begun = pair.openers();
            pair.one_at_a_time(40, 8, true);
            assert!(
                pair.openers() - begun <= 41,
                "{profile} at {round_trip_ms} ms"
            );
        }
        pair.set_round_trip(100 * US);
        pair.one_at_a_time(100, 8, true);
        let waited_ns = pair.recovery_ns();
        assert!(waited_ns <= 5 * MS, "{profile}: {waited_ns} ns");
    }
}

#[test]
fn rule_t_a_node_that_slept_does_not_make_the_path_long() {
    for profile in ["fast", "classic"] {
        for sleeper in 0..2 {
            let mut config = config(profile);
            config.lost_after = None;
            let mut pair = Pair::new(&config, 100 * US);
            pair.one_at_a_time(100, 8, true);
            let awake = pair.now.plus(Duration::from_secs(660));
            if sleeper == 1 {
                // The packets wait for a node that looks at nothing.
                pair.network.clog(NodeId(0), NodeId(1), awake);
            }
            pair.send(0, 8, true);
            pair.service(0);
            if sleeper == 0 {
                pair.now = awake;
            }
            assert!(pair.run(u64::MAX, |pair| pair.ended[0] == 101));
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
fn rule_t_a_node_that_waits_for_a_long_timer_has_not_slept() {
    let mut config = config("fast");
    // A timer of a path of a second is longer than half of this.
    config.lost_after = Some(Duration::from_secs(3));
    let mut pair = Pair::new(&config, 900 * MS);
    pair.one_at_a_time(1, 8, true);
    assert!(pair.recovery_ns() <= 4_000 * MS);
    assert_eq!(pair.nodes[0].state().counters.own_pauses, 0);
}

#[test]
fn rule_t_an_answer_right_after_a_repetition_does_not_make_the_path_short() {
    for profile in ["fast", "classic"] {
        let mut pair = pair(profile, 100 * MS);
        pair.one_at_a_time(50, 8, true);
        // This one takes a little longer than the timeout, and its answer comes after a repetition.
        pair.set_round_trip(150 * MS);
        let before = pair.openers();
        pair.one_at_a_time(1, 8, true);
        assert_eq!(pair.openers() - before, 2, "{profile}: it is repeated");
        pair.set_round_trip(100 * MS);
        let waited_ns = pair.recovery_ns();
        assert!(waited_ns >= 100 * MS, "{profile}: {waited_ns} ns");
    }
}

#[test]
fn rule_t_the_eighth_answer_that_comes_much_too_soon_shows_that_the_path_is_short() {
    // Answers of the fast profile do not name which of two packets they answer.
    let mut pair = pair("fast", 4 * MS);
    pair.one_at_a_time(50, 8, true);
    pair.set_round_trip(100 * US);
    for number in 1..=8 {
        let waited_ns = pair.recovery_ns();
        assert!(waited_ns >= 4 * MS, "{number}: {waited_ns} ns");
    }
    let waited_ns = pair.recovery_ns();
    assert!(waited_ns <= 2 * MS, "{waited_ns} ns");
}

/// One timer after the other rings for those that were lost together, and each is answered at once,
/// only sooner than answers used to come: this is one failure, not one for each.
#[test]
fn rule_t_many_messages_lost_at_once_double_the_timeout_as_often_as_one() {
    let mut pair = Pair::new(&Config::with_caps(2, PACKET, Caps::FAST), 60_000);
    pair.one_at_a_time(100, 8, true);
    pair.set_round_trip(20_000);
    for _ in 0..20 {
        pair.send(0, 8, true);
    }
    while pair.nodes[0].poll_transmit(pair.now, 1).is_some() {}
    assert!(pair.run(u64::MAX, |pair| pair.ended[0] == 120));
    let waited_ns = pair.recovery_ns();
    assert!(waited_ns < 20 * MS, "{waited_ns} ns");
}
