//! Tests of the associations: the rules of every pipe, and those of SCTP.

use std::time::Duration;

use super::super::tests::{self as rules, Rng, for_seeds, setup};
use super::*;

const A: PeerId = PeerId(0);
const B: PeerId = PeerId(1);

#[test]
fn each_fragment_arrives_once_and_in_order() {
    for_seeds(60, |seed| {
        if let Err(violation) = rules::check_exactly_once::<Sctp>(seed) {
            panic!("{violation}");
        }
    });
}

#[test]
fn the_numbers_of_a_stream_may_begin_again() {
    rules::check_wrap::<Sctp>(1, 66_000);
}

#[test]
fn a_receiver_that_takes_nothing_is_not_flooded() {
    for_seeds(3, |seed| {
        let network = rules::check_untaken::<Sctp>(seed, 2);
        let counters = network.pipe(A).counters();
        assert_eq!(counters.associations, 2);
        assert_eq!(counters.malformed, 0);
    });
}

#[test]
fn a_dead_peer_is_lost() {
    rules::check_lost::<Sctp>(1);
}

#[test]
fn a_peer_that_never_answers_is_unheard() {
    rules::check_unheard::<Sctp>(1);
}

#[test]
fn suspension_loses_nobody() {
    rules::check_suspension::<Sctp>(1);
}

#[test]
fn garbage_changes_nothing() {
    for_seeds(20, rules::check_garbage::<Sctp>);
}

/// Two processes, and packets that go where the test says.
fn pair() -> (Sctp, Sctp) {
    (Pipe::new(&setup(A, 2)), Pipe::new(&setup(B, 2)))
}

fn packets(pipe: &mut Sctp, now: Instant) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    let has_more = pipe.transmit(now, |_, packet| {
        packets.push(packet.to_vec());
        true
    });
    assert!(!has_more);
    packets
}

fn push(pipe: &mut Sctp, to: PeerId, channel: u32, bytes: &[u8], now: Instant) {
    pipe.push(to, channel, now, |packet| packet.extend_from_slice(bytes));
}

#[test]
fn a_lost_packet_delays_its_own_stream_alone() {
    let (mut a, mut b) = pair();
    let mut now = Instant(1_000);
    push(&mut a, B, 3, b"lost", now);
    assert_eq!(packets(&mut a, now).len(), 1);
    push(&mut a, B, 3, b"behind", now);
    push(&mut a, B, 4, b"beside", now);
    for packet in packets(&mut a, now) {
        b.handle(A, &packet, now);
    }
    let beside = b.next_fragment().expect("the other stream goes on");
    assert_eq!((beside.channel, beside.bytes), (4, &b"beside"[..]));
    assert!(!b.has_fragment(), "what is behind the gap waits");
    now = a.next_timeout().expect("the lost packet is missed");
    assert!(a.handle_timeout(now));
    for packet in packets(&mut a, now) {
        b.handle(A, &packet, now);
    }
    for expected in [&b"lost"[..], b"behind"] {
        let fragment = b.next_fragment().expect("it came again");
        assert_eq!((fragment.channel, fragment.bytes), (3, expected));
    }
    assert_eq!(a.counters().packets_repeated, 1);
}

#[test]
fn both_may_begin_at_the_same_time() {
    let (mut a, mut b) = pair();
    let now = Instant(1_000);
    push(&mut a, B, 0, b"from a", now);
    push(&mut b, A, 0, b"from b", now);
    for _ in 0..3 {
        let (from_a, from_b) = (packets(&mut a, now), packets(&mut b, now));
        from_a.iter().for_each(|packet| b.handle(A, packet, now));
        from_b.iter().for_each(|packet| a.handle(B, packet, now));
    }
    assert_eq!(a.next_fragment().expect("it came").bytes, b"from b");
    assert_eq!(b.next_fragment().expect("it came").bytes, b"from a");
    assert!(a.is_quiet() && b.is_quiet());
    assert_eq!(a.counters().malformed + b.counters().malformed, 0);
}

#[test]
fn packets_are_no_longer_than_the_setup_says() {
    let (mut a, mut b) = pair();
    let mut rng = Rng::new(7);
    let now = Instant(1_000);
    for _ in 0..2_000 {
        if a.has_room(B, 0) {
            let count = rng.within(1..60) as usize;
            let bytes = rng.bytes(count);
            push(&mut a, B, 0, &bytes, now);
        }
        if rng.chance(100) {
            for packet in packets(&mut a, now) {
                assert!(packet.len() <= setup(A, 2).packet_bytes, "{}", packet.len());
                b.handle(A, &packet, now);
            }
            for packet in packets(&mut b, now) {
                a.handle(B, &packet, now);
            }
        }
    }
    assert!(b.has_fragment());
}

#[test]
fn changed_packets_with_a_right_checksum_do_no_harm() {
    for_seeds(100, |seed| {
        let mut rng = Rng::new(seed);
        let mut network = rules::random_network::<Sctp>(seed);
        for _ in 0..300 {
            network.run_for(Duration::from_micros(rng.within(1..60)));
            let Some((from, to, mut packet)) = network.some_packet() else {
                continue;
            };
            for _ in 0..rng.within(1..4) {
                let at = rng.within(0..packet.len().min(60) as u64) as usize;
                packet[at] = rng.bits() as u8;
            }
            packet::seal(&mut packet);
            network.inject(from, to, &packet);
        }
        network.run_for(Duration::from_millis(100));
    });
}
