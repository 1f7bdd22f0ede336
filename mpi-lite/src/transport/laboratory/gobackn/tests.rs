//! Tests of the protocol: the rules of every pipe, each row of Table 1, and planted mistakes.

use std::time::Duration;

use super::super::pipe::{Fragment, Notice, Pipe, Setup};
use super::super::tests::{self as network, Faults, Network, setup};
use super::GoBackN;
use super::packet::{FragmentHeader, HEADER_BYTES, Kind};
use super::peer::FIRST_NUMBER;
use super::receive_ring::SLOTS;
use super::send_ring::WINDOW;
use super::table::Order;
use crate::clock::Instant;
use crate::transport::{PeerId, Tallies};

const PEER: PeerId = PeerId(1);
const NOW: Instant = Instant(1_000_000);

fn pipe() -> GoBackN {
    GoBackN::new(&setup(PeerId(0), 2))
}

/// A packet about fragment `place` of the connection; those before the first one are negative.
fn packet(kind: Kind, place: i32, attempt: u8, fragment: &[u8]) -> Vec<u8> {
    let header = FragmentHeader {
        kind,
        attempt,
        number: FIRST_NUMBER.wrapping_add_signed(place),
    };
    [&header.write(fragment.len()), fragment].concat()
}

fn handle(pipe: &mut GoBackN, kind: Kind, place: i32) {
    let fragment: &[u8] = if kind == Kind::Data { b"data" } else { b"" };
    pipe.handle(PEER, &packet(kind, place, 0, fragment), NOW);
}

fn push(pipe: &mut GoBackN, count: u32) {
    for _ in 0..count {
        assert!(pipe.has_room(PEER, 0));
        pipe.push(PEER, 0, NOW, |packet| packet.push(7));
    }
}

/// The packets that are due: what each is, its fragment's place in the connection, its attempt.
fn sent(pipe: &mut GoBackN, now: Instant) -> Vec<(Kind, i32, u8)> {
    let mut sent = Vec::new();
    let has_more = pipe.transmit(now, |to, packet| {
        assert_eq!(to, PEER);
        let (header, _) = FragmentHeader::read(packet).expect("a pipe sends what it understands");
        let place = header.number.wrapping_sub(FIRST_NUMBER).cast_signed();
        sent.push((header.kind, place, header.attempt));
        true
    });
    assert!(!has_more);
    sent
}

fn data(places: impl Iterator<Item = i32>, attempt: u8) -> Vec<(Kind, i32, u8)> {
    places.map(|place| (Kind::Data, place, attempt)).collect()
}

/// A pipe that has sent fragments 0 to `count - 1`.
fn sender(count: u32) -> GoBackN {
    let mut pipe = pipe();
    push(&mut pipe, count);
    assert_eq!(sent(&mut pipe, NOW), data(0..count as i32, 0));
    pipe
}

/// How many fragments may be pushed.
fn room(pipe: &mut GoBackN) -> u32 {
    let mut count = 0;
    while pipe.has_room(PEER, 0) {
        push(pipe, 1);
        count += 1;
    }
    count
}

/// The network's time passes until the next timer ends.
fn expire(pipe: &mut GoBackN) -> Instant {
    let end = pipe.next_timeout().expect("a timer runs");
    assert!(!pipe.handle_timeout(Instant(end.0 - 1)), "it is early");
    assert!(pipe.handle_timeout(end));
    end
}

#[test]
fn each_fragment_arrives_once_and_in_order() {
    network::for_seeds(500, |seed| {
        assert_eq!(network::check_exactly_once::<GoBackN>(seed), Ok(()));
    });
}

#[test]
fn numbers_wrap() {
    network::for_seeds(20, |seed| network::check_wrap::<GoBackN>(seed, 1_000));
}

#[test]
fn a_full_receive_ring_loses_nothing_and_makes_no_storm() {
    network::for_seeds(20, |seed| {
        let network = network::check_untaken::<GoBackN>(seed, 3);
        let counters = network.pipe(PeerId(0)).counters();
        let refused = counters.nacks_without_buffer;
        // Three senders, each at most 11 timeouts that double from 1 ms to 1 s, and 4 s with one
        // timeout each. The first time, a whole window is refused.
        assert!((3..=3 * 16).contains(&refused), "{refused}");
        assert!(counters.out_of_order < 200, "{counters:?}");
    });
}

#[test]
fn a_dead_peer_is_lost_once() {
    network::for_seeds(10, network::check_lost::<GoBackN>);
}

#[test]
fn a_peer_that_never_answers_is_reported_once() {
    network::for_seeds(10, network::check_unheard::<GoBackN>);
}

#[test]
fn a_suspension_of_all_loses_nobody() {
    network::for_seeds(10, network::check_suspension::<GoBackN>);
}

#[test]
fn garbage_changes_nothing() {
    network::for_seeds(50, network::check_garbage::<GoBackN>);
}

#[test]
fn without_faults_no_packet_goes_twice() {
    let mut network = Network::<GoBackN>::new(2, 0, Faults::default());
    network.add_flow(PeerId(0), PeerId(1), 0, 1_000);
    assert_eq!(network.run_to_end(), Ok(()));
    let sender = network.pipe(PeerId(0)).counters();
    assert_eq!((sender.packets_sent, sender.acks_received), (1_000, 1_000));
    assert_eq!((sender.retransmitted, sender.timeouts), (0, 0));
    let receiver = network.pipe(PeerId(1)).counters();
    assert_eq!((receiver.data_received, receiver.acks_sent), (1_000, 1_000));
    assert_eq!((receiver.duplicates, receiver.nacks_sent), (0, 0));
}

#[test]
fn row_1_data_before_the_expected_is_acknowledged_again() {
    let mut pipe = pipe();
    handle(&mut pipe, Kind::Data, 0);
    handle(&mut pipe, Kind::Data, 0);
    let ack = (Kind::Ack, 0, 0);
    assert_eq!(sent(&mut pipe, NOW), [ack, ack]);
    assert!(pipe.next_fragment().is_some());
    assert_eq!(pipe.next_fragment(), None, "it was delivered once");
    assert_eq!(pipe.counters().duplicates, 1);
}

#[test]
fn row_2_expected_data_is_accepted_if_a_second_buffer_is_free() {
    let mut pipe = pipe();
    handle(&mut pipe, Kind::Data, 0);
    assert!(!pipe.is_quiet(), "an ACK is owed");
    assert_eq!(sent(&mut pipe, NOW), [(Kind::Ack, 0, 0)]);
    assert!(pipe.is_quiet());
    let fragment = Fragment {
        from: PEER,
        channel: 0,
        bytes: b"data",
    };
    assert_eq!(pipe.next_fragment(), Some(fragment));
}

#[test]
fn row_2_expected_data_is_refused_if_only_one_buffer_is_free() {
    let mut pipe = pipe();
    let last = SLOTS as i32 - 1;
    for place in 0..last {
        handle(&mut pipe, Kind::Data, place);
        assert_eq!(sent(&mut pipe, NOW), [(Kind::Ack, place, 0)]);
    }
    handle(&mut pipe, Kind::Data, last);
    assert_eq!(sent(&mut pipe, NOW), [(Kind::Nack, last, 0)]);
    assert_eq!(pipe.counters().nacks_without_buffer, 1);
    assert!(pipe.next_fragment().is_some());
    handle(&mut pipe, Kind::Data, last);
    assert_eq!(sent(&mut pipe, NOW), [(Kind::Ack, last, 0)]);
}

#[test]
fn row_3_data_behind_the_expected_is_dropped_and_refused() {
    let mut pipe = pipe();
    handle(&mut pipe, Kind::Data, 1);
    assert_eq!(sent(&mut pipe, NOW), [(Kind::Nack, 1, 0)]);
    assert!(!pipe.has_fragment());
    assert_eq!(pipe.counters().out_of_order, 1);
}

#[test]
fn row_4_an_ack_before_the_expected_is_ignored() {
    let mut pipe = sender(WINDOW);
    handle(&mut pipe, Kind::Ack, 0);
    handle(&mut pipe, Kind::Ack, 0);
    assert_eq!(sent(&mut pipe, NOW), []);
    assert_eq!(room(&mut pipe), 1);
}

#[test]
fn row_5_the_expected_ack_releases_the_buffer() {
    let mut pipe = sender(WINDOW);
    assert!(!pipe.has_room(PEER, 0));
    for place in 0..WINDOW as i32 {
        assert!(!pipe.is_quiet());
        handle(&mut pipe, Kind::Ack, place);
        assert!(pipe.has_room(PEER, 0));
    }
    assert!(pipe.is_quiet());
    assert_eq!(pipe.next_timeout(), None);
}

#[test]
fn row_6_an_ack_behind_the_expected_releases_nothing_and_goes_back() {
    let mut pipe = sender(WINDOW);
    handle(&mut pipe, Kind::Ack, 1);
    assert!(!pipe.has_room(PEER, 0));
    handle(&mut pipe, Kind::Ack, 2);
    assert_eq!(sent(&mut pipe, NOW), data(0..8, 1), "it goes back once");
    handle(&mut pipe, Kind::Ack, 3);
    assert_eq!(sent(&mut pipe, NOW), [], "this answers the first attempt");
    pipe.handle(PEER, &packet(Kind::Ack, 3, 1, b""), NOW);
    assert_eq!(sent(&mut pipe, NOW), data(0..8, 2));
}

#[test]
fn row_7_a_nack_for_a_gap_goes_back_at_once() {
    let mut pipe = sender(4);
    for place in 1..4 {
        handle(&mut pipe, Kind::Nack, place);
    }
    assert_eq!(sent(&mut pipe, NOW), data(0..4, 1));
    handle(&mut pipe, Kind::Nack, 3);
    assert_eq!(sent(&mut pipe, NOW), [], "this answers the first attempt");
    assert_eq!(pipe.counters().retransmitted, 4);
}

#[test]
fn row_7_a_nack_for_want_of_a_buffer_stops_the_transmission() {
    let mut pipe = sender(3);
    handle(&mut pipe, Kind::Nack, 0);
    handle(&mut pipe, Kind::Nack, 1);
    push(&mut pipe, 1);
    assert_eq!(sent(&mut pipe, NOW), []);
    let end = expire(&mut pipe);
    assert_eq!(sent(&mut pipe, end), data(0..1, 1), "one finds out");
    pipe.handle(PEER, &packet(Kind::Nack, 0, 1, b""), end);
    assert_eq!(sent(&mut pipe, end), []);
    let later = expire(&mut pipe);
    assert_eq!(later.since(end), 2 * end.since(NOW), "the wait doubles");
    assert_eq!(sent(&mut pipe, later), data(0..1, 2));
    pipe.handle(PEER, &packet(Kind::Ack, 0, 2, b""), later);
    assert_eq!(sent(&mut pipe, later), data(1..4, 2), "the others follow");
}

#[test]
fn row_8_a_malformed_packet_is_ignored() {
    let good = packet(Kind::Data, 0, 0, b"data");
    let with = |place: usize, byte| {
        let mut bytes = good.clone();
        bytes[place] = byte;
        bytes
    };
    let malformed = [
        Vec::new(),
        good[..HEADER_BYTES - 1].to_vec(),
        good[..HEADER_BYTES].to_vec(),
        [&good[..], b"more"].concat(),
        with(0, 0),
        with(0, 4),
        with(2, 1),
        with(3, 3),
        packet(Kind::Data, 0, 0, b""),
        packet(Kind::Ack, 0, 0, b"data"),
        packet(Kind::Nack, 0, 0, b"data"),
        packet(Kind::Data, 0, 0, &[0; 4_097]),
        packet(Kind::Data, WINDOW as i32, 0, b"beyond the window"),
    ];
    let mut pipe = pipe();
    for (count, bytes) in malformed.iter().enumerate() {
        pipe.handle(PEER, bytes, NOW);
        assert_eq!(pipe.counters().malformed, count as u64 + 1);
        assert_eq!(sent(&mut pipe, NOW), []);
        assert!(!pipe.has_fragment() && pipe.peers.iter().all(Option::is_none));
    }
    pipe.handle(PEER, &good, NOW);
    assert!(
        pipe.has_fragment(),
        "all of these are one byte from a good one"
    );
}

#[test]
fn a_packet_of_no_peer_is_ignored() {
    let mut pipe = pipe();
    let good = packet(Kind::Data, 0, 0, b"data");
    pipe.handle(PeerId(2), &good, NOW);
    pipe.handle(PeerId(u32::MAX), &good, NOW);
    assert!(!pipe.has_fragment());
    assert!(!pipe.has_room(PeerId(2), 0));
}

#[test]
fn an_answer_to_what_was_never_sent_is_ignored() {
    let mut pipe = sender(2);
    push(&mut pipe, 1);
    for kind in [Kind::Ack, Kind::Nack] {
        for place in [2, 3, 8, 1_000, i32::MIN] {
            handle(&mut pipe, kind, place);
        }
    }
    assert_eq!(sent(&mut pipe, NOW), data(2..3, 0));
    assert_eq!(room(&mut pipe), WINDOW - 3);
}

#[test]
fn an_ack_of_an_unsent_fragment_releases_nothing() {
    let mut pipe = pipe();
    push(&mut pipe, 1);
    handle(&mut pipe, Kind::Ack, 0);
    assert_eq!(sent(&mut pipe, NOW), data(0..1, 0));
    assert!(!pipe.is_quiet());
}

#[test]
fn timeouts_go_back_and_double_to_their_limit() {
    let mut pipe = sender(2);
    let (mut last, mut waits) = (NOW, Vec::new());
    for attempt in 1..=12 {
        let end = expire(&mut pipe);
        waits.push(end.since(last).as_millis());
        assert_eq!(sent(&mut pipe, end), data(0..2, attempt));
        last = end;
    }
    let wanted = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000, 1_000];
    assert_eq!(waits, wanted);
    pipe.handle(PEER, &packet(Kind::Ack, 0, 12, b""), last);
    let again = pipe.next_timeout().expect("a fragment waits").since(last);
    assert_eq!(again, Duration::from_millis(1), "an ACK ends the doubling");
}

#[test]
fn answers_make_no_endless_repetition_at_once() {
    let mut pipe = sender(2);
    for attempt in 0..10 {
        pipe.handle(PEER, &packet(Kind::Nack, 1, attempt, b""), NOW);
        let is_repeated = !sent(&mut pipe, NOW).is_empty();
        assert_eq!(is_repeated, attempt < 3, "attempt {attempt}");
    }
    let end = expire(&mut pipe);
    assert_eq!(sent(&mut pipe, end), data(0..2, 4));
}

#[test]
fn one_late_look_at_the_timer_loses_nobody() {
    let mut pipe = sender(1);
    let late = NOW.plus(Duration::from_secs(1_000));
    assert!(pipe.handle_timeout(late));
    assert_eq!(sent(&mut pipe, late), data(0..1, 1));
    let notice = pipe.next_notice();
    assert_eq!(notice, Some(Notice::Unheard(PEER, NOW)));
    assert_eq!(pipe.next_notice(), None);
}

#[test]
fn a_suspension_during_a_silence_begins_it_anew() {
    let mut pipe = sender(1);
    let mut now = NOW;
    while now.since(NOW) < Duration::from_secs(15) {
        now = expire(&mut pipe);
        sent(&mut pipe, now);
    }
    let resumed = now.plus(Duration::from_secs(12));
    while now < resumed.plus(Duration::from_secs(19)) {
        now = pipe.next_timeout().expect("a timer runs").max(resumed);
        assert!(pipe.handle_timeout(now));
        sent(&mut pipe, now);
        assert!(!pipe.peers[1].as_ref().is_some_and(|peer| peer.is_lost));
    }
}

#[test]
fn a_lost_peer_is_not_answered() {
    let mut pipe = sender(1);
    handle(&mut pipe, Kind::Data, 0);
    let mut now = NOW;
    while pipe.next_timeout().is_some() {
        now = expire(&mut pipe);
        sent(&mut pipe, now);
    }
    assert!(now.since(NOW) >= Duration::from_secs(20));
    assert_eq!(pipe.next_notice(), Some(Notice::Lost(PEER)));
    assert!(!pipe.has_fragment() && pipe.is_quiet());
    handle(&mut pipe, Kind::Data, 1);
    assert_eq!(sent(&mut pipe, now), []);
    assert!(!pipe.has_fragment());
}

#[test]
fn a_fragment_is_as_long_as_a_buffer_or_the_path() {
    let with = |packet_bytes| {
        let setup = Setup {
            packet_bytes,
            ..setup(PeerId(0), 2)
        };
        GoBackN::new(&setup).fragment_bytes()
    };
    assert_eq!(with(1_472), 1_464);
    network::check_limits::<GoBackN>();
    assert_eq!(with(65_507), 4_096);
}

#[test]
fn a_packet_that_is_not_taken_is_kept() {
    let mut pipe = pipe();
    push(&mut pipe, 2);
    handle(&mut pipe, Kind::Data, 0);
    assert!(pipe.transmit(NOW, |_, _| false));
    let all = [(Kind::Ack, 0, 0), (Kind::Data, 0, 0), (Kind::Data, 1, 0)];
    assert_eq!(sent(&mut pipe, NOW), all);
    assert_eq!(pipe.counters().retransmitted, 0);
}

/// A receiver with a planted mistake: it accepts data whose turn is over, or has not come.
struct Faulty<const IS_BEFORE: bool>(GoBackN);

impl<const IS_BEFORE: bool> Pipe for Faulty<IS_BEFORE> {
    const NUMBER: u8 = GoBackN::NUMBER;
    const HEADER_BYTES: usize = GoBackN::HEADER_BYTES;
    const SHORT_MOST: u64 = GoBackN::SHORT_MOST;

    fn new(setup: &Setup) -> Self {
        Self(GoBackN::new(setup))
    }

    fn count(&self, _tallies: &mut Tallies) {}

    fn fragment_bytes(&self) -> usize {
        self.0.fragment_bytes()
    }

    fn has_room(&self, to: PeerId, channel: u32) -> bool {
        self.0.has_room(to, channel)
    }

    fn push(&mut self, to: PeerId, channel: u32, now: Instant, fill: impl FnOnce(&mut Vec<u8>)) {
        self.0.push(to, channel, now, fill);
    }

    fn transmit(&mut self, now: Instant, send: impl FnMut(PeerId, &[u8]) -> bool) -> bool {
        self.0.transmit(now, send)
    }

    fn handle(&mut self, from: PeerId, packet: &[u8], now: Instant) {
        let mistake = [Order::Behind, Order::Before][usize::from(IS_BEFORE)];
        let expected = self.0.peer(from).map(|peer| peer.expected);
        match (FragmentHeader::read(packet), expected) {
            (Some((data, bytes)), Some(expected))
                if data.kind == Kind::Data && Order::of(data.number, expected) == mistake =>
            {
                let renamed = FragmentHeader {
                    number: expected,
                    ..data
                };
                let packet = [&renamed.write(bytes.len()), bytes].concat();
                self.0.handle(from, &packet, now);
            }
            _ => self.0.handle(from, packet, now),
        }
    }

    fn next_fragment(&mut self) -> Option<Fragment<'_>> {
        self.0.next_fragment()
    }

    fn has_fragment(&self) -> bool {
        self.0.has_fragment()
    }

    fn next_notice(&mut self) -> Option<Notice> {
        self.0.next_notice()
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.0.next_timeout()
    }

    fn handle_timeout(&mut self, now: Instant) -> bool {
        self.0.handle_timeout(now)
    }

    fn is_quiet(&self) -> bool {
        self.0.is_quiet()
    }
}

/// How many of the first 40 seeds show a mistake.
fn rejected<P: Pipe>() -> usize {
    let is_rejected = |seed: &u64| network::check_exactly_once::<P>(*seed).is_err();
    (0..40).filter(is_rejected).count()
}

#[test]
fn the_network_rejects_a_receiver_that_accepts_duplicates() {
    assert!(rejected::<Faulty<true>>() >= 10);
}

#[test]
fn the_network_rejects_a_receiver_that_accepts_data_out_of_order() {
    assert!(rejected::<Faulty<false>>() >= 10);
}
