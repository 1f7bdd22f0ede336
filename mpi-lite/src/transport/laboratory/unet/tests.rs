//! The rules of every pipe, and those of this protocol.

use std::time::Duration;

use super::super::pipe::{Notice, Pipe, Setup};
use super::super::tests as network;
use super::super::tests::{Faults, Network};
use super::packet::{HEADER_BYTES, Header, Kind, Report};
use super::sending::CLOSING_REPEATS;
use super::{FIRST, Unet, WINDOW_LEAST, WINDOW_MOST, window};
use crate::clock::Instant;
use crate::transport::PeerId;

const A: PeerId = PeerId(0);
const B: PeerId = PeerId(1);

#[test]
fn each_fragment_arrives_once_and_in_order() {
    network::for_seeds(500, |seed| {
        assert_eq!(network::check_exactly_once::<Unet>(seed), Ok(()));
    });
}

#[test]
fn the_numbers_of_packets_wrap() {
    network::for_seeds(5, |seed| network::check_wrap::<Unet>(seed, 500));
}

#[test]
fn a_receiver_that_takes_nothing_loses_nothing() {
    network::for_seeds(5, |seed| {
        let network = network::check_untaken::<Unet>(seed, 3);
        let counters = network.pipe(A).counters();
        assert_eq!(counters.no_room, 0);
    });
}

#[test]
fn a_dead_peer_is_lost_once() {
    network::for_seeds(5, network::check_lost::<Unet>);
}

#[test]
fn a_peer_that_never_answers_is_reported_once() {
    network::for_seeds(5, network::check_unheard::<Unet>);
}

#[test]
fn a_suspended_job_loses_nobody() {
    network::for_seeds(20, network::check_suspension::<Unet>);
}

#[test]
fn garbage_changes_nothing() {
    network::for_seeds(50, network::check_garbage::<Unet>);
}

/// A pair of processes; `change` changes their setups.
fn pair(change: impl Fn(&mut Setup)) -> (Unet, Unet) {
    let pipe = |me| {
        let mut setup = network::setup(me, 2);
        change(&mut setup);
        Unet::new(&setup)
    };
    (pipe(A), pipe(B))
}

fn at(micros: u64) -> Instant {
    Instant::ZERO.plus(Duration::from_micros(micros))
}

fn push(pipe: &mut Unet, to: PeerId, text: &[u8], now: Instant) {
    assert!(pipe.has_room(to, 0));
    pipe.push(to, 0, now, |packet| packet.extend_from_slice(text));
}

/// The packets that are due.
fn out(pipe: &mut Unet, now: Instant) -> Vec<Vec<u8>> {
    let mut packets = Vec::new();
    let has_more = pipe.transmit(now, |_, packet| {
        packets.push(packet.to_vec());
        true
    });
    assert!(!has_more, "everything went");
    packets
}

/// Takes all fragments that have arrived.
fn take(pipe: &mut Unet) -> Vec<Vec<u8>> {
    let mut texts = Vec::new();
    while let Some(fragment) = pipe.next_fragment() {
        texts.push(fragment.bytes.to_vec());
    }
    texts
}

fn header(packet: &[u8]) -> Header {
    Header::split(packet).expect("a pipe sends good packets").0
}

/// A packet with data, as a peer in its first state sends it.
fn data(number: u32) -> Vec<u8> {
    let report = Report {
        received: FIRST,
        taken: FIRST,
        has_gap: false,
    };
    let header = Header {
        kind: Kind::Data(number),
        body_bytes: 1,
        report,
    };
    [&header.bytes()[..], b"x"].concat()
}

#[test]
fn a_ping_pong_sends_one_packet_per_message() {
    let (mut a, mut b) = pair(|_| {});
    for round in 0..1_000 {
        let now = at(60 * round);
        let (sender, from, receiver, to) = if round % 2 == 0 {
            (&mut a, A, &mut b, B)
        } else {
            (&mut b, B, &mut a, A)
        };
        push(sender, to, b"ball", now);
        let packets = out(sender, now);
        assert_eq!(packets.len(), 1, "round {round}");
        let now = now.plus(Duration::from_micros(30));
        receiver.handle(from, &packets[0], now);
        assert_eq!(take(receiver), [b"ball"]);
        assert!(out(receiver, now).is_empty(), "no acknowledgement alone");
    }
    let counters = b.counters();
    assert_eq!((counters.acks_piggybacked, counters.acks_sent), (500, 0));
    assert_eq!(counters.retransmitted, 0);
}

#[test]
fn a_stream_in_one_direction_never_waits_for_a_timer_of_its_sender() {
    let mut network = Network::<Unet>::new(2, 1, Faults::default());
    network.add_flow(A, B, 0, 5_000);
    assert_eq!(network.run_to_end(), Ok(()));
    let (sender, receiver) = (network.pipe(A).counters(), network.pipe(B).counters());
    assert_eq!((sender.timeouts, sender.retransmitted), (0, 0));
    assert_eq!(receiver.duplicate_acks_sent, 0);
    let half = u64::from(window(&network::setup(A, 2)) / 2);
    let most = 5_000 / half + 1;
    assert!((1..=most).contains(&receiver.acks_sent), "{receiver:?}");
}

#[test]
fn the_last_message_is_acknowledged_before_its_sender_repeats_it() {
    let (mut a, mut b) = pair(|_| {});
    push(&mut a, B, b"last", at(0));
    let packets = out(&mut a, at(0));
    b.handle(A, &packets[0], at(30));
    take(&mut b);
    assert!(out(&mut b, at(30)).is_empty());
    assert!(!b.is_quiet(), "an acknowledgement is owed");
    let due = b.next_timeout().unwrap();
    assert!(due < a.next_timeout().unwrap());
    assert!(b.handle_timeout(due));
    let packets = out(&mut b, due);
    assert_eq!(packets.len(), 1);
    a.handle(B, &packets[0], due);
    assert!(a.is_quiet() && b.is_quiet());
    assert_eq!((a.next_timeout(), b.next_timeout()), (None, None));
}

#[test]
fn eager_acknowledgements_are_one_per_packet() {
    let (mut a, mut b) = pair(|setup| setup.acks_eagerly = true);
    for message in 0..300 {
        let now = at(10 * message);
        push(&mut a, B, b"x", now);
        for packet in out(&mut a, now) {
            b.handle(A, &packet, now);
        }
        assert_eq!(take(&mut b).len(), 1);
        let packets = out(&mut b, now);
        assert_eq!(packets.len(), 1);
        a.handle(B, &packets[0], now);
        assert!(a.is_quiet() && b.is_quiet());
    }
    assert_eq!(b.counters().acks_sent, 300);
    assert_eq!(b.counters().duplicate_acks_sent, 0);
}

#[test]
fn a_packet_out_of_order_brings_a_duplicate_acknowledgement_at_once() {
    let (mut a, mut b) = pair(|_| {});
    for text in [b"0", b"1", b"2", b"3"] {
        push(&mut a, B, text, at(0));
    }
    let packets = out(&mut a, at(0));
    b.handle(A, &packets[0], at(30));
    assert!(out(&mut b, at(30)).is_empty(), "in order: lazy");
    for packet in &packets[2..] {
        b.handle(A, packet, at(30));
        let reports = out(&mut b, at(30));
        assert_eq!(reports.len(), 1);
        let report = header(&reports[0]).report;
        assert_eq!(
            (report.received, report.has_gap),
            (FIRST.wrapping_add(1), true)
        );
        a.handle(B, &reports[0], at(60));
    }
    let again = out(&mut a, at(60));
    assert_eq!(again.len(), 3, "it goes back, but once");
    assert_eq!(a.counters().retransmitted, 3);
    for packet in &again {
        b.handle(A, packet, at(90));
    }
    assert_eq!(take(&mut b), [b"0", b"1", b"2", b"3"]);
    assert_eq!(b.counters().out_of_order, 2);
}

#[test]
fn a_duplicate_brings_a_duplicate_acknowledgement_at_once() {
    let (mut a, mut b) = pair(|_| {});
    push(&mut a, B, b"0", at(0));
    let packets = out(&mut a, at(0));
    b.handle(A, &packets[0], at(30));
    b.handle(A, &packets[0], at(30));
    let reports = out(&mut b, at(30));
    assert_eq!(reports.len(), 1);
    assert!(!header(&reports[0]).report.has_gap);
    a.handle(B, &reports[0], at(60));
    assert!(out(&mut a, at(60)).is_empty(), "nothing is missing");
    assert_eq!(take(&mut b).len(), 1);
    let counters = b.counters();
    assert_eq!((counters.duplicates, counters.duplicate_acks_sent), (1, 1));
}

#[test]
fn the_timeout_doubles_up_to_a_constant_and_an_acknowledgement_resets_it() {
    let (mut a, mut b) = pair(|_| {});
    push(&mut a, B, b"0", at(0));
    push(&mut a, B, b"1", at(0));
    let packets = out(&mut a, at(0));
    let mut now = at(0);
    for repeat in 0..15 {
        let due = a.next_timeout().unwrap();
        let millis = due.since(now).as_millis();
        assert_eq!(
            millis,
            (1 << repeat).min(1_000),
            "after {repeat} repetitions"
        );
        now = due;
        assert!(a.handle_timeout(now));
        assert_eq!(out(&mut a, now), packets, "it goes back to the left edge");
    }
    b.handle(A, &packets[0], now);
    take(&mut b);
    now = b.next_timeout().unwrap();
    b.handle_timeout(now);
    let reports = out(&mut b, now);
    a.handle(B, &reports[0], now);
    assert_eq!(a.next_timeout().unwrap().since(now).as_millis(), 1);
}

#[test]
fn a_timer_that_is_called_late_blames_nobody() {
    let (mut a, _) = pair(|_| {});
    push(&mut a, B, b"0", at(0));
    out(&mut a, at(0));
    for pause in 1..5 {
        // It repeats a few times, and sleeps for a thousand seconds.
        for _ in 0..3 {
            let due = a.next_timeout().unwrap();
            a.handle_timeout(due);
            out(&mut a, due);
        }
        let late = a.next_timeout().unwrap().plus(Duration::from_secs(1_000));
        a.handle_timeout(late);
        out(&mut a, late);
        assert_ne!(a.next_notice(), Some(Notice::Lost(B)), "pause {pause}");
    }
}

#[test]
fn a_peer_is_lost_only_after_a_repetition() {
    let (mut a, _) = pair(|setup| setup.lost_after = Some(Duration::from_micros(500)));
    push(&mut a, B, b"0", at(0));
    out(&mut a, at(0));
    let first = a.next_timeout().unwrap();
    a.handle_timeout(first);
    assert_eq!(a.next_notice(), None);
    assert_eq!(out(&mut a, first).len(), 1);
    a.handle_timeout(a.next_timeout().unwrap());
    assert_eq!(a.next_notice(), Some(Notice::Lost(B)));
    assert_eq!((a.next_notice(), a.next_timeout()), (None, None));
    a.handle(B, &data(FIRST), at(9_000));
    assert!(!a.has_fragment() && !a.has_room(B, 0) && a.is_quiet());
    assert!(out(&mut a, at(9_000)).is_empty());
}

#[test]
fn close_sends_what_is_owed_at_once() {
    let (mut a, mut b) = pair(|_| {});
    push(&mut a, B, b"0", at(0));
    for packet in out(&mut a, at(0)) {
        b.handle(A, &packet, at(30));
    }
    take(&mut b);
    b.close(at(40));
    let reports = out(&mut b, at(40));
    assert_eq!(reports.len(), 1);
    a.handle(B, &reports[0], at(70));
    push(&mut a, B, b"1", at(70));
    for packet in out(&mut a, at(70)) {
        b.handle(A, &packet, at(100));
    }
    take(&mut b);
    assert_eq!(
        out(&mut b, at(100)).len(),
        1,
        "no acknowledgement is delayed"
    );
    assert!(b.is_quiet());
}

#[test]
fn after_close_a_peer_that_is_gone_is_given_up() {
    let (mut a, _) = pair(|setup| setup.lost_after = None);
    push(&mut a, B, b"0", at(0));
    out(&mut a, at(0));
    for _ in 0..100 {
        let due = a.next_timeout().unwrap();
        a.handle_timeout(due);
        out(&mut a, due);
    }
    assert!(!a.is_quiet() && !matches!(a.next_notice(), Some(Notice::Lost(_))));
    let (mut a, _) = pair(|setup| setup.lost_after = None);
    a.close(at(0));
    push(&mut a, B, b"0", at(0));
    out(&mut a, at(0));
    let mut repeats = 0;
    while let Some(due) = a.next_timeout() {
        a.handle_timeout(due);
        repeats += out(&mut a, due).len();
    }
    assert_eq!(repeats, CLOSING_REPEATS as usize);
    let notices: Vec<Notice> = std::iter::from_fn(|| a.next_notice()).collect();
    assert_eq!(notices.last(), Some(&Notice::Lost(B)));
    assert!(a.is_quiet());
}

#[test]
fn a_full_window_opens_as_its_receiver_takes() {
    let (mut a, mut b) = pair(|_| {});
    let window = window(&network::setup(A, 2)) as usize;
    for _ in 0..window {
        push(&mut a, B, b"x", at(0));
    }
    assert!(!a.has_room(B, 0));
    for packet in out(&mut a, at(0)) {
        b.handle(A, &packet, at(30));
    }
    assert!(out(&mut b, at(30)).is_empty());
    for _ in 0..window / 2 {
        b.next_fragment();
    }
    let reports = out(&mut b, at(40));
    assert_eq!(reports.len(), 1, "half of the window is taken");
    a.handle(B, &reports[0], at(70));
    assert!(a.is_quiet(), "all is received");
    for _ in 0..window / 2 {
        push(&mut a, B, b"x", at(70));
    }
    assert!(!a.has_room(B, 0), "the rest is not taken");
}

#[test]
fn a_sender_that_ignores_its_window_is_refused() {
    let (mut a, _) = pair(|_| {});
    let window = window(&network::setup(A, 2));
    for ahead in 0..=window {
        a.handle(B, &data(FIRST.wrapping_add(ahead)), at(0));
    }
    let counters = a.counters();
    assert_eq!(
        (counters.data_received, counters.no_room),
        (u64::from(window) + 1, 1)
    );
    assert_eq!(counters.malformed, 0);
    assert_eq!(take(&mut a).len(), window as usize);
}

#[test]
fn impossible_packets_are_counted_and_dropped() {
    let (mut a, _) = pair(|_| {});
    push(&mut a, B, b"0", at(0));
    out(&mut a, at(0));
    let good = header(&data(FIRST));
    let forged = |received: u32, taken: u32| {
        let report = Report {
            received: FIRST.wrapping_add(received),
            taken: FIRST.wrapping_add(taken),
            has_gap: false,
        };
        [&Header { report, ..good }.bytes()[..], b"x"].concat()
    };
    let window = window(&network::setup(A, 2));
    let far = data(FIRST.wrapping_add(window));
    let mut long = data(FIRST);
    long.resize(1_473, 0);
    long[2..4].copy_from_slice(&(1_473 - HEADER_BYTES as u16).to_be_bytes());
    let bad = [forged(2, 0), forged(0, 1), forged(1, 2), far, long];
    for (count, packet) in bad.iter().enumerate() {
        a.handle(B, packet, at(10));
        assert_eq!(a.counters().malformed, count as u64 + 1, "{packet:?}");
    }
    for from in [A, PeerId(2), PeerId(u32::MAX)] {
        a.handle(from, &data(FIRST), at(10));
    }
    assert_eq!(a.counters().malformed, 8);
    assert!(!a.has_fragment() && !a.is_quiet());
    a.handle(B, &forged(1, 1), at(10));
    assert!(a.has_fragment(), "a good one is still taken");
}

#[test]
fn a_peer_has_state_from_its_first_packet_on() {
    let mut pipe = Unet::new(&network::setup(A, 8_000));
    assert!(pipe.has_room(PeerId(7_999), 0));
    assert!(!pipe.has_room(PeerId(8_000), 0) && !pipe.has_room(A, 0));
    pipe.handle(B, b"garbage", at(0));
    assert_eq!(pipe.open().count(), 0);
    push(&mut pipe, PeerId(77), b"x", at(0));
    assert_eq!(pipe.open().count(), 1);
}

#[test]
fn the_memory_of_packets_is_used_again() {
    let (mut a, mut b) = pair(|_| {});
    let mut places = std::collections::BTreeSet::new();
    for message in 0..2_000 {
        let now = at(message);
        push(&mut a, B, b"0123456789", now);
        a.transmit(now, |_, packet| {
            places.insert(packet.as_ptr() as usize);
            b.handle(A, packet, now);
            true
        });
        take(&mut b);
        for packet in out(&mut b, now) {
            a.handle(B, &packet, now);
        }
    }
    assert_eq!(places.len(), window(&network::setup(A, 2)) as usize);
}

#[test]
fn the_window_is_a_share_of_the_receive_buffer() {
    let setup = |nodes, packet_bytes, buffer_bytes| Setup {
        packet_bytes,
        buffer_bytes,
        ..network::setup(A, nodes)
    };
    // 8 MiB: what Linux counts for a buffer of 4 MiB.
    assert_eq!(window(&setup(2, 1_404, 8 << 20)), WINDOW_MOST);
    assert_eq!(window(&setup(2, 65_000, 8 << 20)), 64);
    assert_eq!(window(&setup(9, 1_404, 8 << 20)), 256);
    assert_eq!(window(&setup(101, 1_404, 8 << 20)), 16);
    assert_eq!(window(&setup(8_000, 65_000, 8 << 20)), WINDOW_LEAST);
}

#[test]
fn a_window_opens_even_if_the_report_that_its_packets_are_taken_is_lost() {
    let (mut a, mut b) = pair(|_| {});
    while a.has_room(B, 0) {
        push(&mut a, B, b"x", at(0));
    }
    let packets = out(&mut a, at(0));
    for packet in packets.iter().chain(&packets[..1]) {
        b.handle(A, packet, at(30));
    }
    for report in out(&mut b, at(30)) {
        a.handle(B, &report, at(60));
    }
    assert!(a.is_quiet() && !a.has_room(B, 0), "received, not taken");
    take(&mut b);
    assert_eq!(out(&mut b, at(70)).len(), 1, "this report is lost");
    let due = a.next_timeout().unwrap();
    a.handle_timeout(due);
    let packets = out(&mut a, due);
    assert_eq!(packets.len(), 1, "it asks with one packet");
    b.handle(A, &packets[0], due);
    for report in out(&mut b, due) {
        a.handle(B, &report, due);
    }
    assert!(a.has_room(B, 0));
}

#[test]
fn what_a_lost_peer_has_sent_is_dropped() {
    let (mut a, _) = pair(|setup| setup.lost_after = Some(Duration::from_micros(500)));
    a.handle(B, &data(FIRST), at(0));
    push(&mut a, B, b"0", at(0));
    out(&mut a, at(0));
    assert!(a.has_fragment());
    while let Some(due) = a.next_timeout() {
        a.handle_timeout(due);
        out(&mut a, due);
    }
    assert_eq!(a.next_notice(), Some(Notice::Lost(B)));
    assert_eq!(a.next_fragment(), None);
}
