//! The rules of the fast profile, one by one.

use core::time::Duration;

use rmpp_core::{Caps, Config, Dropped, Event, Flags, Kind, Landing, Placement};

use crate::wire::{self, PACKET, Packet, Wire};

const MS: Duration = Duration::from_millis(1);

fn with(caps: &str) -> Config {
    let caps = Caps::parse(caps).expect("a profile");
    let mut config = Config::with_caps(2, PACKET as usize, caps);
    config.unscheduled_bytes = 4 * PACKET as usize;
    config
}

fn fast() -> Wire {
    Wire::new(2, with("fast"))
}

fn seqs(packets: &[Packet]) -> Vec<u32> {
    packets.iter().map(|packet| packet.header.seq).collect()
}

fn kinds(packets: &[Packet]) -> Vec<Kind> {
    packets.iter().map(|packet| packet.header.kind).collect()
}

#[test]
fn rule_k_a_ping_pong_is_one_packet_each_way() {
    let mut wire = fast();
    for round in 0..100 {
        wire.send(round % 2, 1 - round % 2, 8);
        wire.run();
    }
    assert_eq!(wire.trace.len(), 100, "{:?}", wire.kinds());
    let sent = |node: usize| {
        wire.events[node]
            .iter()
            .filter(|e| matches!(e, Event::Sent(..)))
    };
    assert_eq!(
        sent(0).count() + sent(1).count(),
        99,
        "all but the last are acknowledged"
    );
}

#[test]
fn rule_k_a_stream_is_acknowledged_seldom_and_its_end_after_a_while() {
    let mut wire = fast();
    for _ in 0..320 {
        wire.send(0, 1, 8);
        wire.run();
    }
    assert_eq!(wire.trace.len(), 320 + 10);
    wire.send(0, 1, 8);
    wire.run();
    assert!(wire.take(1).is_none(), "not yet");
    wire.now = wire.now.plus(MS / 5);
    wire.timeouts();
    let ack = wire.take(1).expect("an acknowledgement that goes alone");
    assert!(ack.header.kind == Kind::MsgEnd && ack.header.flags.has(Flags::PURE));
    wire.give(&ack).expect("good news");
    assert_eq!(wire.events[0].len(), 321);
    assert!(wire.nodes[0].state().is_quiet && wire.nodes[1].state().is_quiet);
}

#[test]
fn rule_k_an_awaited_message_is_acknowledged_at_once() {
    let mut wire = fast();
    wire.send_awaited(0, 1, 8);
    wire.run();
    assert_eq!(wire.kinds(), ["LAST_RTS", "MSGEND"]);
    assert!(matches!(wire.events[0][..], [Event::Sent(..)]));
    wire.send_awaited(0, 1, 2 * PACKET);
    wire.run();
    assert_eq!(wire.kinds()[2..], ["RTS", "LAST_DATA", "MSGEND"]);
    assert!(matches!(wire.events[0][..], [_, Event::Sent(..)]));
}

#[test]
fn rule_k_a_ping_pong_of_a_few_packets_costs_no_extra_packet() {
    let mut wire = fast();
    for round in 0..400 {
        wire.send(round % 2, 1 - round % 2, 5 * PACKET);
        wire.run();
    }
    assert_eq!(wire.trace.len(), 2000, "nobody asks for what he has");
    let is_sent = |event: &&Event| matches!(event, Event::Sent(..));
    let sent = |node: usize| wire.events[node].iter().filter(is_sent).count();
    assert_eq!(sent(0) + sent(1), 399, "all but the last are acknowledged");
}

/// A message of five packets of which one got lost, then ten short ones, in the script's hand.
fn gapped() -> (Wire, Vec<Packet>) {
    let mut wire = fast();
    wire.send(0, 1, 5 * PACKET);
    wire.send_many(10, 0, 1, 8);
    let packets = wire.take_all(0);
    let is_lost = |packet: &Packet| packet.header.seq == 2;
    let come: Vec<_> = packets.into_iter().filter(|p| !is_lost(p)).collect();
    (wire, come)
}

fn ends(wire: &Wire, node: usize) -> usize {
    let is_sent = |event: &&Event| matches!(event, Event::Sent(..));
    wire.events[node].iter().filter(is_sent).count()
}

#[test]
fn rule_k_no_acknowledgement_passes_a_message_that_lacks_a_packet() {
    let (mut wire, packets) = gapped();
    wire.give_all(&packets);
    let nak = wire.take(1).expect("a CTS that asks for the lost packet");
    assert_eq!((nak.header.kind, nak.header.seq), (Kind::Cts, 2));
    // The CTS gets lost; whatever goes that way acknowledges nothing.
    wire.send(1, 0, 8);
    let other = wire.take(1).expect("LAST_RTS");
    assert_eq!(other.header.ack, 0);
    wire.give(&other).expect("a new message");
    assert_eq!(ends(&wire, 0), 0);
    while ends(&wire, 0) < 11 {
        pass(&mut wire, MS);
    }
    assert_eq!(wire.nodes[0].state().counters.data_repeated, 1);
}

#[test]
fn rule_k_after_a_nak_reached_the_sender_later_messages_are_acknowledged() {
    let (mut wire, packets) = gapped();
    let (last, first) = packets.split_last().expect("many");
    wire.give_all(first);
    let nak = wire.take(1).expect("a CTS that asks for the lost packet");
    wire.give(&nak).expect("what is missing");
    let again = wire.take(0).expect("the lost packet");
    assert_eq!(again.header.seq, 2);
    wire.give(&again).expect("the data that was missing");
    wire.give(last).expect("the last short one");
    let end = wire
        .take(1)
        .expect("its end, by name: it was named in a CTS");
    assert!(end.header.kind == Kind::MsgEnd && !end.header.flags.has(Flags::PURE));
    assert_eq!(end.header.ack, 11);
    wire.give(&end).expect("its end");
    wire.run();
    assert_eq!(ends(&wire, 0), 11);
}

#[test]
fn rule_k_one_repeated_packet_of_two_lost_ones_is_enough_to_acknowledge_later_messages() {
    let mut wire = fast();
    wire.send(0, 1, 5 * PACKET);
    wire.send_many(2, 0, 1, 8);
    let packets = wire.take_all(0);
    let missing = |packet: &&Packet| !matches!(packet.header.seq, 1 | 2);
    let come: Vec<_> = packets.iter().filter(missing).cloned().collect();
    wire.give_all(&come);
    let nak = wire.take(1).expect("a CTS that asks for two packets");
    wire.give(&nak).expect("what is missing");
    let again = wire.take_all(0);
    assert_eq!(seqs(&again), [1, 2]);
    wire.give(&again[0]).expect("data that was missing");
    wire.send(1, 0, 8);
    let other = wire.take(1).expect("LAST_RTS");
    assert_eq!(other.header.ack, 3, "the first has its own end now");
    wire.give(&other).expect("a new message");
    assert_eq!(ends(&wire, 0), 2, "the two short ones");
    wire.give(&again[1]).expect("data that was missing");
    wire.run();
    assert_eq!(ends(&wire, 0), 3);
}

#[test]
fn rule_r_a_cts_of_half_a_circle_ago_asks_for_nothing() {
    let mut wire = fast();
    wire.send(0, 1, 100 * PACKET);
    wire.run();
    // Numbers of short messages in between, but for a few of them.
    for quarter in 1..=3_u32 {
        let number = quarter << 30;
        for (node, peer) in [(0, 1), (1, 0)] {
            let peer = rmpp_core::NodeId(peer);
            wire.nodes[node].set_numbers(peer, (number, number));
        }
        wire.send_awaited(0, 1, 8);
        wire.run();
    }
    wire.send(0, 1, 5 * PACKET);
    let under_way = wire.take_all(0);
    wire.send(1, 0, 8);
    let other = wire.take(1).expect("LAST_RTS");
    wire.give(&other).expect("a new message");
    assert!(wire.take(0).is_none(), "nothing says that it is lost");
    wire.give_all(&under_way);
}

#[test]
fn rule_o_a_message_being_received_is_not_reported_missing() {
    let mut wire = fast();
    wire.send(0, 1, 5 * PACKET);
    wire.send_many(2, 0, 1, 8);
    let packets = wire.take_all(0);
    wire.give_all(&packets[..3]);
    wire.give(&packets[6])
        .expect("a first packet ahead of its turn");
    let nak = wire.take(1).expect("CTS, which gets lost");
    assert_eq!((nak.header.kind, nak.header.seq), (Kind::Cts, 3));
    let gap = wire.take(1).expect("the first short one is missing");
    assert!(gap.header.flags.has(Flags::GAP) && gap.header.ack == 0);
    wire.give(&gap).expect("a gap");
    let again = wire.take_all(0);
    let numbers: Vec<u32> = again.iter().map(|packet| packet.header.msg_num).collect();
    assert_eq!(numbers, [1], "{:?}", kinds(&again));
}

#[test]
fn rule_k_no_acknowledgement_passes_a_held_message_before_its_sender_confirms_the_hold() {
    let mut wire = fast();
    wire.landing = Some(Landing::Later);
    wire.send(0, 1, 8);
    let held = wire.take(0).expect("LAST_RTS");
    wire.give(&held).expect("a new message");
    let hint = wire.take(1).expect("GCH: it is held");
    assert_eq!(hint.header.kind, Kind::Gch);
    wire.landing = Some(Landing::Accept);
    wire.send_many(40, 0, 1, 8);
    wire.run();
    assert!(
        wire.events[0].is_empty(),
        "the acknowledgement stands before the held one"
    );
    wire.give(&hint).expect("the first is held");
    wire.run();
    wire.now = wire.now.plus(MS);
    wire.timeouts();
    wire.run();
    assert_eq!(wire.events[0].len(), 40, "all but the held one");
    wire.land_all(1, Landing::Accept);
    wire.run();
    assert_eq!(wire.events[0].len(), 41);
    assert!(wire.nodes[1].state().is_quiet);
}

/// Messages to node 1 that have been held for so long that they are seldom asked after.
fn long_held(config: Config, count: usize, len: u64) -> Wire {
    let mut wire = Wire::new(2, config);
    wire.landing = Some(Landing::Later);
    wire.send_many(count, 0, 1, len);
    wire.run();
    (0..20).for_each(|_| pass(&mut wire, 1000 * MS));
    assert!(wire.events[0].is_empty(), "all are held");
    wire.trace.clear();
    wire
}

fn pass(wire: &mut Wire, time: Duration) {
    wire.now = wire.now.plus(time);
    wire.timeouts();
    wire.run();
}

/// Returns true if a packet answers message `msg_num`; an acknowledgement that goes alone names
/// none.
fn answers(packet: &Packet, msg_num: u32) -> bool {
    packet.header.msg_num == msg_num && !packet.header.flags.has(Flags::PURE)
}

fn questions(wire: &Wire) -> usize {
    let is_first = |packet: &&Packet| matches!(packet.header.kind, Kind::Rts | Kind::LastRts);
    wire.trace.iter().filter(is_first).count()
}

#[test]
fn rule_h_lost_answers_to_many_held_messages_are_asked_for_in_a_fraction_of_a_second() {
    for len in [8, 10 * PACKET] {
        let mut wire = long_held(with("fast"), 20_000, len);
        wire.land_all(1, Landing::Accept);
        let answers = wire.take_all(1);
        let got_through = answers.iter().step_by(2).cloned().collect::<Vec<_>>();
        wire.give_all(&got_through);
        let mut waited_ms = 0;
        while wire.events[0].len() < 20_000 {
            pass(&mut wire, MS);
            waited_ms += 1;
            assert!(
                waited_ms < 500,
                "{} of {len} bytes ended",
                wire.events[0].len()
            );
        }
    }
}

#[test]
fn rule_h_a_slow_receiver_of_held_messages_is_asked_after_few_others() {
    let mut wire = long_held(with("fast"), 2000, 8);
    for _ in 0..100 {
        wire.land_first(1, Landing::Accept);
        wire.run();
        pass(&mut wire, 10 * MS);
    }
    assert_eq!(wire.events[0].len(), 100);
    // Twice in that second a quarter of all, as without; and three for each.
    let asked = questions(&wire);
    assert!(asked <= 2 * 500 + 3 * 100, "{asked} questions");
}

#[test]
fn rule_h_a_lost_answer_is_found_in_seconds_however_others_are_received() {
    for (len, answer) in [(8, Kind::MsgEnd), (1000 * PACKET, Kind::Cts)] {
        let mut wire = long_held(with("fast"), 2000, len);
        wire.land_first(1, Landing::Accept);
        let lost = wire.take_all(1);
        assert_eq!(kinds(&lost), [answer]);
        let lost = lost[0].header.msg_num;
        let is_it = |packet: &Packet| packet.header.kind == answer && answers(packet, lost);
        let mut waited_ms = 0;
        while !wire.trace.iter().any(is_it) {
            (0..9).for_each(|_| pass(&mut wire, 100 * MS));
            wire.land_first(1, Landing::Accept);
            wire.run();
            waited_ms += 900;
            assert!(waited_ms < 10_000, "{len} bytes");
        }
    }
}

#[test]
fn rule_h_one_answer_that_seems_lost_costs_a_few_questions() {
    let mut wire = long_held(with("fast"), 20_000, 8);
    // The news that the first one is still held is lost, and it is received then.
    let mut is_lost = false;
    while !is_lost {
        wire.now = wire.now.plus(100 * MS);
        wire.timeouts();
        let asked = wire.take_all(0);
        wire.give_all(&asked);
        let mut answered = wire.take_all(1);
        let all = answered.len();
        answered.retain(|packet| !answers(packet, 0));
        is_lost = answered.len() < all;
        wire.give_all(&answered);
        wire.run();
    }
    wire.trace.clear();
    wire.land_first(1, Landing::Accept);
    wire.run();
    assert_eq!(wire.events[0].len(), 1);
    (0..30).for_each(|_| pass(&mut wire, MS));
    let asked = questions(&wire);
    assert!(asked <= 4, "{asked} questions");
}

#[test]
fn rule_k_no_state_is_kept_of_ended_messages() {
    let mut wire = fast();
    wire.send(0, 1, 8);
    wire.send(0, 1, 50 * PACKET);
    let first = wire.take(0).expect("LAST_RTS");
    wire.give(&first).expect("a new message");
    wire.run();
    let survey = wire.nodes[1].survey();
    assert_eq!(survey.incoming_live + survey.incoming_done, 0);
    wire.give(&first).expect("rule A");
    let end = wire.take(1).expect("an answer without state");
    assert_eq!(end.header.kind, Kind::MsgEnd);
    assert!(!wire.kinds().contains(&"GCH"));
}

#[test]
fn rule_w_a_grant_that_comes_twice_or_late_grants_nothing() {
    let mut wire = Wire::new(2, with("fast,-unsched"));
    let (cts, block) = wire.first_block(500 * PACKET);
    assert_eq!(block.len(), usize::from(cts.header.info1));
    assert_eq!(
        kinds(&block)
            .iter()
            .filter(|&&k| k == Kind::StopData)
            .count(),
        1
    );
    wire.give(&cts).expect("the same grant");
    assert!(wire.take(0).is_none());
}

#[test]
fn rule_w_the_next_grant_comes_before_the_last_is_used_up() {
    let mut wire = Wire::new(2, with("fast,-unsched"));
    let (_, block) = wire.first_block(1000 * PACKET);
    let half = block.len().div_ceil(2);
    wire.give_all(&block[..half]);
    let next = wire.take(1).expect("a CTS at half of the window");
    assert!(u32::from(next.header.info1) + next.header.seq > block.len() as u32 + 1);
    assert!(wire.take(1).is_none(), "and only one");
}

#[test]
fn rule_u_the_first_data_follows_without_a_grant_and_no_more_of_it() {
    let mut wire = fast();
    wire.landing = None;
    wire.send(0, 1, 100 * PACKET);
    let packets = wire.take_all(0);
    assert_eq!(seqs(&packets), [0, 1, 2, 3, 4]);
    assert_eq!(packets[4].header.kind, Kind::StopData);
    wire.give(&packets[0]).expect("a new message");
    for packet in &packets[1..] {
        assert_eq!(
            wire.give(packet),
            Err(Dropped::Unexpected),
            "it has not landed"
        );
    }
    wire.land_all(1, Landing::Accept);
    wire.run();
    assert!(
        matches!(wire.events[0][..], [Event::Sent(..)]),
        "{:?}",
        wire.kinds()
    );
}

#[test]
fn rule_u_a_message_of_a_few_packets_needs_no_grant() {
    let mut wire = fast();
    wire.send(0, 1, 5 * PACKET);
    wire.run();
    let expected = ["RTS", "DATA", "DATA", "DATA", "LAST_DATA"];
    assert_eq!(wire.kinds(), expected);
}

/// A message of 50 data packets with everything granted, its data in the script's hand.
fn granted() -> (Wire, Vec<Packet>) {
    let mut wire = Wire::new(2, with("fast,-unsched"));
    let (_, data) = wire.first_block(50 * PACKET + 1);
    assert_eq!(data.len(), 50);
    (wire, data)
}

#[test]
fn rule_r_only_missing_packets_are_sent_again() {
    let (mut wire, data) = granted();
    let lost = [3, 4, 17];
    for packet in data.iter().filter(|p| !lost.contains(&p.header.seq)) {
        wire.give(packet).expect("granted data, in any sequence");
    }
    wire.run();
    let again: Vec<u32> = wire.data().map(|packet| packet.header.seq).collect();
    assert_eq!(again, lost);
    assert!(matches!(wire.events[0][..], [Event::Sent(..)]));
    assert_eq!(wire.nodes[0].state().counters.data_repeated, 3);
}

#[test]
fn rule_r_a_nak_goes_out_when_three_later_packets_have_come() {
    let (mut wire, data) = granted();
    wire.give_all(&data[1..3]);
    assert!(wire.take(1).is_none(), "they may have overtaken the first");
    wire.give(&data[3]).expect("granted data");
    let nak = wire.take(1).expect("the first is lost");
    assert_eq!(
        (nak.header.kind, nak.header.seq, nak.header.info2),
        (Kind::Cts, 1, 1)
    );
    assert!(!nak.tail.is_empty());
    wire.give_all(&data[4..40]);
    assert!(wire.take(1).is_none(), "it is asked for once");
}

#[test]
fn rule_r_a_nak_is_obeyed_once() {
    let (mut wire, data) = granted();
    wire.give_all(&data[1..]);
    let nak = wire.take(1).expect("a NAK");
    wire.give(&nak).expect("a NAK");
    assert_eq!(seqs(&wire.take_all(0)), [1]);
    wire.give(&nak).expect("the same NAK");
    assert!(wire.take(0).is_none());
}

#[test]
fn rule_r_a_lost_tail_is_found_by_a_probe() {
    let (mut wire, data) = granted();
    wire.give_all(&data[..40]);
    assert!(wire.take(1).is_none(), "the receiver has no timer");
    wire.now = wire.now.plus(25 * MS);
    wire.timeouts();
    let probe = wire.take_all(0);
    assert_eq!(seqs(&probe), [50]);
    assert!(probe[0].header.flags.has(Flags::PROBE));
    assert_eq!(wire.nodes[0].state().counters.probes, 1);
    wire.give(&probe[0]).expect("the last packet");
    wire.run();
    let again: Vec<u32> = wire.data().map(|packet| packet.header.seq).collect();
    assert_eq!(again, (41..50).collect::<Vec<_>>());
    assert!(matches!(wire.events[0][..], [Event::Sent(..)]));
}

/// As when the receiver had no core for a while: it answers each probe, but asks once.
#[test]
fn rule_r_probes_that_waited_together_bring_missing_data_once() {
    let (mut wire, data) = granted();
    wire.give_all(&data[..40]);
    let mut probes = Vec::new();
    for _ in 0..10 {
        wire.now = wire.now.plus(2000 * MS);
        wire.timeouts();
        probes.extend(wire.take_all(0));
    }
    assert_eq!(seqs(&probes), [50; 10]);
    let mut answers = Vec::new();
    for probe in &probes {
        wire.give(probe).expect("the last packet");
        answers.extend(wire.take(1));
    }
    assert_eq!(answers.len(), 10);
    let mut again = Vec::new();
    for answer in &answers {
        wire.give(answer).expect("a NAK");
        again.extend(wire.take_all(0));
    }
    assert_eq!(seqs(&again), (41..50).collect::<Vec<_>>());
    // What the sender does not get is asked for again.
    wire.now = wire.now.plus(2000 * MS);
    wire.timeouts();
    let probe = wire.take_all(0);
    wire.give_all(&probe);
    wire.run();
    assert!(matches!(wire.events[0][..], [Event::Sent(..)]));
}

#[test]
fn rule_t_data_that_never_gets_through_is_sent_more_and_more_seldom() {
    let mut config = with("fast,-unsched");
    // The grant comes in no time: the timeout is the least one.
    config.min_timeout = 5 * MS;
    let mut wire = Wire::new(2, config);
    let (_, data) = wire.first_block(50 * PACKET + 1);
    wire.give_all(&data[..40]);
    let (mut sent, end) = (0, wire.now.plus(1000 * MS));
    while wire.now < end {
        let timer = wire.nodes[0].state().next_timeout.expect("a probe is due");
        wire.now = wire.now.max(timer);
        wire.timeouts();
        for packet in wire.take_all(0) {
            // It is lost each time.
            if packet.header.seq == 41 {
                sent += 1;
            } else {
                let _ = wire.give(&packet);
            }
        }
        for packet in wire.take_all(1) {
            let _ = wire.give(&packet);
        }
    }
    assert!((3..50).contains(&sent), "{sent} times in a second");
}

/// Two nodes that have measured their round trip: 50 us.
fn measured() -> Wire {
    measured_as(MS / 20)
}

/// Two nodes that have measured a round trip of this length.
fn measured_as(round_trip: Duration) -> Wire {
    let mut wire = fast();
    for _ in 0..20 {
        wire.send_awaited(0, 1, 3 * PACKET);
        let packets = wire.take_all(0);
        wire.now = wire.now.plus(round_trip);
        wire.give_all(&packets);
        wire.run();
    }
    assert!(wire.nodes[0].state().is_quiet);
    wire
}

/// How long node 0 waits for the answer to a message, which comes after 50 us.
fn wait_of(wire: &mut Wire) -> Duration {
    wire.send_awaited(0, 1, 3 * PACKET);
    let packets = wire.take_all(0);
    let due = wire.nodes[0]
        .state()
        .next_timeout
        .expect("it is not answered");
    let waits = due.since(wire.now);
    wire.now = wire.now.plus(MS / 20);
    wire.give_all(&packets);
    wire.run();
    waits
}

#[test]
fn rule_t_an_answer_that_waited_for_the_repetition_of_another_does_not_make_the_path_long() {
    let mut wire = measured();
    pass(&mut wire, 10 * MS);
    let usual = wait_of(&mut wire);
    for repeated in 1..=20 {
        wire.send_many(2, 0, 1, 8);
        let packets = wire.take_all(0);
        wire.give(&packets[1]).expect("a message ahead of its turn");
        wire.take(1).expect("MSGEND that says so, which is lost");
        pass(&mut wire, MS * 2 / 5);
        assert_eq!(wire.nodes[0].state().counters.first_repeated, repeated);
        assert!(
            wire.nodes[0].state().is_quiet,
            "both are acknowledged by now"
        );
    }
    // The next answer ends the doubling.
    wait_of(&mut wire);
    pass(&mut wire, 10 * MS);
    let now = wait_of(&mut wire);
    assert!(now <= usual * 3 / 2, "{now:?}, before that {usual:?}");
}

/// How long node 0 waits for an answer that does not come, until it asks again.
fn patience(wire: &mut Wire) -> Duration {
    wire.send_awaited(0, 1, 8);
    wire.take(0).expect("LAST_RTS, which is lost");
    let (begin, before) = (wire.now, wire.nodes[0].state().counters.timeouts);
    while wire.nodes[0].state().counters.timeouts == before {
        let due = wire.nodes[0]
            .state()
            .next_timeout
            .expect("it is not answered");
        wire.now = wire.now.max(due);
        wire.timeouts();
    }
    wire.now.since(begin)
}

#[test]
fn rule_t_an_answer_soon_after_the_last_repetition_does_not_make_the_path_long() {
    let mut wire = measured();
    pass(&mut wire, 10 * MS);
    wire.send(0, 1, 8);
    let mut last = wire.take(0).expect("LAST_RTS, which is lost");
    let end = wire.now.plus(4000 * MS);
    while wire.now < end {
        wire.now = wire.nodes[0]
            .state()
            .next_timeout
            .expect("it is not answered");
        wire.timeouts();
        last = wire.take(0).unwrap_or(last);
    }
    // Sooner than ever before.
    wire.now = wire.now.plus(MS / 25);
    wire.give(&last).expect("a new message");
    wire.run();
    assert!(wire.nodes[0].state().is_quiet);
    let now = patience(&mut wire);
    assert!(
        now <= 1500 * MS,
        "{now:?}, the greatest timeout is a second"
    );
}

#[test]
fn rule_t_the_sleep_of_a_node_is_no_round_trip() {
    for len in [8, 3 * PACKET, 100 * PACKET] {
        let mut config = with("fast");
        config.lost_after = None;
        let mut wire = Wire::new(2, config);
        wire.send_awaited(0, 1, len);
        let packets = wire.take_all(0);
        wire.give_all(&packets);
        let answers = wire.take_all(1);
        wire.now = wire.now.plus(300_000 * MS);
        wire.give_all(&answers);
        wire.run();
        let waits = patience(&mut wire);
        assert!(waits < 10 * MS, "{waits:?} after {len} bytes");
    }
}

#[test]
fn rule_t_a_lost_packet_is_asked_after_well_before_the_timeout() {
    let mut wire = measured();
    wire.send_awaited(0, 1, 3 * PACKET);
    let sent = wire.take_all(0);
    wire.give_all(&sent);
    wire.take(1).expect("MSGEND, which is lost");
    wire.now = wire.now.plus(MS / 5);
    wire.timeouts();
    assert!(wire.take(0).is_none(), "200 us are allowed, and ack_delay");
    wire.now = wire.now.plus(MS / 5);
    wire.timeouts();
    wire.run();
    assert!(wire.nodes[0].state().is_quiet);
}

#[test]
fn rule_t_a_peer_that_answers_others_is_asked_after_the_timeout() {
    let mut wire = measured();
    wire.send(0, 1, 3 * PACKET);
    wire.take_all(0);
    let begin = wire.now;
    for _ in 0..9 {
        wire.now = wire.now.plus(MS / 10);
        wire.send(1, 0, 8);
        let other = wire.take(1).expect("LAST_RTS");
        wire.give(&other).expect("a message");
        wire.timeouts();
        assert_eq!(wire.nodes[0].state().counters.timeouts, 0);
    }
    wire.now = begin.plus(3 * MS / 2);
    wire.timeouts();
    assert_eq!(wire.nodes[0].state().counters.timeouts, 1);
}

#[test]
fn rule_t_each_packet_that_asks_what_is_missing_is_counted() {
    let (mut wire, _) = granted();
    let mut asked = 0;
    while asked < 5 {
        let due = wire.nodes[0].state().next_timeout.expect("a probe is due");
        wire.now = wire.now.max(due);
        wire.timeouts();
        let probes = wire.take_all(0);
        assert!(probes.iter().all(|p| p.header.flags.has(Flags::PROBE)));
        asked += probes.len() as u64;
        assert_eq!(wire.nodes[0].state().counters.probes, asked);
    }
}

#[test]
fn rule_k_an_answer_without_state_acknowledges_nothing_where_ack_is_not_in_use() {
    let mut wire = Wire::new(2, with("fast,-lazy"));
    wire.send(0, 1, 8);
    let mut first = wire.take(0).expect("LAST_RTS");
    wire.give(&first).expect("a new message");
    wire.run();
    assert_eq!(wire.nodes[1].survey().incoming_done, 0, "it is forgotten");
    first.header.ack = 7;
    wire.give(&first).expect("an old message");
    let end = wire.take(1).expect("MSGEND");
    assert_eq!((end.header.kind, end.header.ack), (Kind::MsgEnd, 0));
}

#[test]
fn rule_a_only_the_last_packet_of_an_old_burst_is_answered() {
    let (mut wire, data) = granted();
    wire.give_all(&data);
    wire.run();
    wire.give_all(&data);
    let again = wire.take_all(1);
    assert_eq!(kinds(&again), [Kind::MsgEnd]);
}

#[test]
fn rule_r_data_that_comes_twice_is_placed_once() {
    let (mut wire, data) = granted();
    assert!(matches!(wire.give(&data[7]), Ok(Placement::Data { .. })));
    assert_eq!(wire.give(&data[7]), Ok(Placement::None));
    assert_eq!(wire.nodes[1].state().counters.duplicates, 1);
}

#[test]
fn rule_g_the_pool_is_shared_and_everyone_has_one_packet() {
    let mut config = with("fast,-unsched");
    config.nodes = 9;
    config.max_rcv_buf = 9 + 64;
    let mut wire = Wire::new(9, config);
    for from in 1..9 {
        wire.send(from, 0, 500 * PACKET);
        let rts = wire.take(from).expect("RTS");
        wire.give(&rts).expect("a new message");
    }
    let answers = wire.take_all(0);
    let grants: Vec<u16> = answers.iter().map(|cts| cts.header.info1).collect();
    assert_eq!(grants.len(), 8);
    assert!(grants.iter().all(|&n| n >= 1), "{grants:?}");
    let sum: u32 = grants.iter().map(|&n| u32::from(n)).sum();
    assert!(sum <= 64 + 8, "{grants:?}");
    wire.give_all(&answers);
    wire.run();
    for from in 1..9 {
        assert!(
            matches!(wire.events[from][..], [Event::Sent(..)]),
            "{:?}",
            wire.events[from]
        );
    }
}

#[test]
fn rule_g_a_peer_with_many_messages_has_no_greater_share_and_the_first_has_most_of_it() {
    let mut config = with("fast,-unsched");
    config.nodes = 3;
    config.max_rcv_buf = 3 + 64;
    let mut wire = Wire::new(3, config);
    let begin = |wire: &mut Wire, from| {
        wire.send(from, 0, 500 * PACKET);
        let rts = wire.take(from).expect("RTS");
        wire.give(&rts).expect("a new message");
        let cts = wire.take(0).expect("CTS");
        u32::from(cts.header.info1)
    };
    assert_eq!(begin(&mut wire, 2), 64, "nobody else is there");
    let grants: Vec<u32> = (0..8).map(|_| begin(&mut wire, 1)).collect();
    assert_eq!(grants, [1; 8], "a message without anything has one packet");
    let survey = wire.nodes[0].survey();
    assert_eq!(survey.outstanding, 64 + 8);

    let mut config = with("fast,-unsched");
    config.nodes = 3;
    config.max_rcv_buf = 3 + 64;
    let mut wire = Wire::new(3, config);
    wire.send(2, 0, 20 * PACKET);
    let rts = wire.take(2).expect("RTS");
    wire.give(&rts).expect("a new message");
    assert!(wire.take(0).is_some(), "it has 19 packets");
    let grants: Vec<u32> = (0..4).map(|_| begin(&mut wire, 1)).collect();
    assert_eq!(
        grants,
        [32, 1, 1, 1],
        "half of the pool is the peer's share"
    );
}

#[test]
fn rule_g_an_overflow_makes_grants_smaller_for_a_while() {
    let mut config = with("fast,-unsched");
    config.max_rcv_buf = 2 + 100;
    let mut wire = Wire::new(2, config);
    let grant = |wire: &mut Wire| {
        wire.send(0, 1, 900 * PACKET);
        let rts = wire.take(0).expect("RTS");
        wire.give(&rts).expect("a new message");
        let cts = wire.take(1).expect("CTS");
        wire.give(&cts).expect("a grant");
        wire.run();
        cts.header.info1
    };
    assert_eq!(grant(&mut wire), 100);
    wire.nodes[1].incoming().note_overflow();
    assert_eq!(grant(&mut wire), 50);
    assert_eq!(grant(&mut wire), 100, "900 packets have come meanwhile");
}

#[test]
fn rule_j_each_packet_says_where_it_ends() {
    let mut wire = fast();
    wire.send(0, 1, 0);
    wire.send(0, 1, 8);
    wire.send(0, 1, 3 * PACKET + 7);
    let node = &mut wire.nodes[0];
    let (mut datagram, mut lens) = (Vec::new(), Vec::new());
    while let Some(transmit) = node.poll_transmit(wire.now, 1) {
        datagram.extend_from_slice(&transmit.header);
        datagram.resize(datagram.len() + transmit.len, 7);
        lens.push((transmit.header.len(), transmit.len));
    }
    let mut rest = &datagram[..];
    for expected in lens {
        let cut = wire.nodes[1].cut(rest, rest.len());
        let payload_bytes = cut.bytes() - cut.header_bytes();
        assert!(cut.is_any());
        assert_eq!((cut.header_bytes(), payload_bytes), expected);
        rest = &rest[cut.bytes()..];
    }
    assert!(rest.is_empty() && !wire.nodes[1].cut(rest, 0).is_any());
    assert!(!wire.nodes[1].cut(&datagram[..20], 20).is_any());
}

#[test]
fn rule_o_later_first_packets_are_kept_and_only_the_lost_one_is_repeated() {
    let mut wire = fast();
    wire.send_many(10, 0, 1, 8);
    let packets = wire.take_all(0);
    wire.give(&packets[0]).expect("in order");
    for early in &packets[2..] {
        assert!(matches!(wire.give(early), Ok(Placement::Early { .. })));
    }
    assert!(wire.events[1].len() == 1, "the others wait");
    let gap = wire.take(1).expect("the sender is told");
    assert!(gap.header.flags.has(Flags::GAP) && gap.header.ack == 1);
    wire.now = wire.now.plus(MS / 2);
    wire.give(&gap).expect("a gap");
    let again = wire.take_all(0);
    assert_eq!(again.len(), 1);
    assert_eq!(again[0].header.msg_num, 1);
    wire.give(&gap).expect("the same gap");
    assert!(wire.take(0).is_none(), "not twice within a round trip");
    wire.give(&again[0]).expect("the lost one");
    let arrived = wire.events[1]
        .iter()
        .filter(|e| matches!(e, Event::Arrived(..)));
    assert_eq!(arrived.count(), 10);
    wire.run();
    assert_eq!(
        wire.events[0].len(),
        10,
        "the repeated one asked for the acknowledgement"
    );
}

/// Each repetition may bring the next word of the gap, and more than one where packets are doubled:
/// at the pace of the answers this feeds itself.
#[test]
fn rule_o_a_message_reported_missing_again_and_again_is_repeated_no_faster_than_by_a_timer() {
    let mut wire = measured();
    wire.send_many(2, 0, 1, 8);
    let packets = wire.take_all(0);
    wire.give(&packets[1]).expect("a message ahead of its turn");
    let gap = wire.take(1).expect("MSGEND that says so");
    let mut repeated = 0;
    for _ in 0..2_000 {
        wire.now = wire.now.plus(MS / 100);
        wire.give(&gap).expect("the same gap");
        repeated += wire.take_all(0).len();
    }
    assert!((3..=30).contains(&repeated), "{repeated} times in 20 ms");
}

#[test]
fn rule_o_a_gap_is_reported_at_once_even_if_a_message_is_accepted_meanwhile() {
    let mut wire = fast();
    wire.send_many(4, 0, 1, 8);
    let packets = wire.take_all(0);
    wire.give_all(&[packets[3].clone(), packets[0].clone()]);
    let gap = wire.take(1).expect("numbers 1 and 2 are missing");
    assert!(gap.header.flags.has(Flags::GAP) && gap.header.ack == 1);
}

#[test]
fn rule_l_long_lengths_travel_in_48_bits() {
    let mut wire = fast();
    let len = (1_u64 << 32) + 12_345;
    wire.landing = None;
    wire.send(0, 1, len);
    let rts = wire.take(0).expect("RTS");
    let placement = wire.give(&rts).expect("a new message");
    assert!(matches!(placement, Placement::First { len: said, .. } if said == len));
    let mut narrow = Wire::new(2, with("fast,-wide"));
    let refused = narrow.nodes[0].send(
        rmpp_core::NodeId(1),
        rmpp_core::Message::of(len, false),
        narrow.now,
    );
    assert!(refused.is_err());
}

#[test]
fn classic_packets_have_neither_the_version_nor_the_bytes_of_extensions() {
    let mut wire = Wire::new(2, wire::config(2));
    wire.send(0, 1, 8);
    wire.run();
    assert_eq!(wire.kinds(), ["LAST_RTS", "MSGEND", "GCH"]);
    wire.send(0, 1, 40 * PACKET);
    wire.run();
    let mut outstanding = 0;
    for packet in &wire.trace {
        let header = &packet.header;
        assert_eq!(
            (header.version, header.ack, header.flags),
            (1, 0, Flags::NONE)
        );
        assert!(header.encode().len() == 28 && packet.tail.is_empty());
        match header.kind {
            Kind::Cts => {
                assert!((1..=16).contains(&header.info1) && outstanding == 0);
                outstanding += 1;
            }
            Kind::StopData | Kind::LastData => outstanding -= 1,
            _ => {}
        }
    }
}

#[test]
fn rule_k_a_receiver_that_is_behind_is_asked_once_for_each_half_of_the_window() {
    let mut wire = fast();
    wire.send_many(512, 0, 1, 8);
    let asked = wire
        .take_all(0)
        .iter()
        .filter(|packet| packet.header.flags.has(Flags::ASKS))
        .count();
    assert_eq!(asked, 2);
}

#[test]
fn rule_o_a_gap_is_reported_even_if_another_packet_leaves_first() {
    let mut wire = fast();
    wire.send_many(2, 0, 1, 8);
    let packets = wire.take_all(0);
    wire.give(&packets[1]).expect("a message ahead of its turn");
    wire.send(1, 0, 8);
    let sent = wire.take_all(1);
    let gaps = sent
        .iter()
        .filter(|packet| packet.header.flags.has(Flags::GAP));
    assert_eq!(gaps.count(), 1, "{:?}", kinds(&sent));
}

#[test]
fn rule_o_a_gap_is_reported_by_msgend_and_by_no_other_packet() {
    let mut wire = fast();
    wire.send_many(3, 0, 1, 8);
    let packets = wire.take_all(0);
    wire.give(&packets[2]).expect("a message ahead of its turn");
    let gap = wire.take(1).expect("MSGEND");
    assert!(gap.header.flags.has(Flags::GAP) && !gap.tail.is_empty());
    for kind in [Kind::Gch, Kind::MsgDrop] {
        let _ = wire.give(&gap.as_kind(kind));
        assert!(wire.take_all(0).is_empty(), "{kind:?}");
    }
    wire.give(&gap).expect("news");
    assert_eq!(wire.take_all(0).len(), 2, "the two that are missing");
}

#[test]
fn rule_t_a_lost_peer_is_owed_no_acknowledgement() {
    let mut wire = fast();
    wire.send_many(2, 0, 1, 8);
    let packets = wire.take_all(0);
    wire.send(1, 0, 8);
    wire.give(&packets[1]).expect("a message ahead of its turn");
    let own = wire.take(1).expect("LAST_RTS; the gap is still to be told");
    assert_eq!(own.header.kind, Kind::LastRts);
    // The layer below has no room for anything.
    while let Some(due) = wire.nodes[1].state().next_timeout {
        assert!(due <= wire.now.plus(121_000 * MS), "{due:?}");
        wire.now = wire.now.max(due);
        wire.nodes[1].handle_timeout(wire.now);
    }
    wire.timeouts();
    assert!(wire.has_lost(1, 0));
    assert_eq!(wire.nodes[1].stranded(), None, "its books are in order");
    assert!(wire.take(1).is_none() && wire.nodes[1].state().is_quiet);
    assert_eq!(wire.nodes[1].state().next_timeout, None);
}

#[test]
fn rule_u_an_old_first_packet_does_not_end_the_block_of_a_newer_message() {
    let mut wire = fast();
    wire.send(0, 1, 8);
    let old = wire.take(0).expect("LAST_RTS");
    wire.give(&old).expect("a new message");
    wire.send(0, 1, 5 * PACKET);
    let block = wire.take_all(0);
    wire.give(&block[0]).expect("a new message");
    wire.give(&old).expect("rule A");
    let answers = wire.take_all(1);
    assert_eq!(
        kinds(&answers),
        [Kind::MsgEnd],
        "nothing of the block is missing yet"
    );
    wire.give_all(&block[1..]);
    wire.run();
    assert_eq!(wire.nodes[0].state().counters.data_repeated, 0);
}

#[test]
fn rule_o_short_messages_that_came_early_are_acknowledged_together_and_at_once() {
    let mut wire = fast();
    wire.send_many(20, 0, 1, 8);
    let packets = wire.take_all(0);
    wire.give_all(&packets[1..]);
    wire.take_all(1);
    wire.give(&packets[0]).expect("the one that was missing");
    let answers = wire.take_all(1);
    assert_eq!(answers.len(), 1, "{:?}", kinds(&answers));
    assert!(answers[0].header.flags.has(Flags::PURE));
    wire.give_all(&answers);
    assert_eq!(wire.events[0].len(), 20);
}

#[test]
fn grants_that_cannot_be_sent_do_not_pile_up_when_their_messages_end() {
    let mut config = with("fast");
    config.max_answers = 16;
    let mut wire = Wire::new(2, config);
    wire.send(0, 1, 1_000 * PACKET);
    let first = wire.take(0).expect("RTS");
    let bytes = |wire: &Wire| wire.nodes[1].state_bytes().1;
    let before = bytes(&wire);
    for number in 0..50_000 {
        for kind in [Kind::Rts, Kind::Null] {
            let mut packet = first.clone();
            packet.header.kind = kind;
            packet.len = if kind == Kind::Rts { first.len } else { 0 };
            (packet.header.msg_num, packet.header.msg_id) = (number, number);
            wire.give(&packet).expect("it is due");
        }
    }
    assert_eq!(wire.nodes[1].survey().incoming_live, 0);
    let now = bytes(&wire);
    assert!(now <= before + 100_000, "{now} bytes, {before} before");
}

#[test]
fn drained_long_queues_give_their_memory_back() {
    let mut wire = fast();
    wire.landing = Some(Landing::Later);
    let bytes = |wire: &Wire, node: usize| wire.nodes[node].state_bytes().1;
    let before = [bytes(&wire, 0), bytes(&wire, 1)];
    wire.send_many(50_000, 0, 1, 8);
    wire.run();
    assert!(bytes(&wire, 0) > 1 << 20 && bytes(&wire, 1) > 1 << 20);
    wire.land_all(1, Landing::Accept);
    while wire.events[0].len() < 50_000 {
        pass(&mut wire, 100 * MS);
    }
    // As much as a steady load keeps.
    for (node, before) in before.into_iter().enumerate() {
        let now = bytes(&wire, node);
        assert!(now <= before + (1 << 20), "node {node} keeps {now} bytes");
    }
    wire.landing = Some(Landing::Accept);
    wire.send_many(100, 0, 1, 8);
    wire.run();
    pass(&mut wire, MS);
    assert_eq!(wire.events[0].len(), 50_100);
}

/// When the first packet of a message of `len` bytes goes out again, in ms, if one behind it tells
/// each 0.1 ms that it is missing, on a path with a round trip of 50 ms.
fn repeated_for_a_gap(len: u64) -> Vec<u128> {
    let mut wire = measured_as(50 * MS);
    let begun = wire.now;
    wire.send(0, 1, len);
    let lost = wire.take_all(0);
    assert!(!lost.is_empty());
    wire.send(0, 1, 8);
    let later = wire.take(0).expect("a message behind it");
    wire.give(&later).expect("a message ahead of its turn");
    let gap = wire.take(1).expect("MSGEND that says so");
    let mut times = Vec::new();
    for _ in 0..6_000 {
        wire.now = wire.now.plus(MS / 10);
        wire.give(&gap).expect("the same gap");
        let first = |packet: &Packet| matches!(packet.header.kind, Kind::Rts | Kind::LastRts);
        if wire.take_all(0).iter().any(first) {
            times.push(wire.now.since(begun).as_millis());
        }
    }
    times
}

/// The first block of a long message is on its way for two round trips (rule O): the third
/// repetition is not to come sooner after the second than the second after the first.
#[test]
fn rule_o_on_a_long_path_later_repetitions_of_a_long_message_are_not_faster_than_the_first() {
    for len in [8, 3 * PACKET] {
        let times = repeated_for_a_gap(len);
        let waits: Vec<u128> = times.windows(2).map(|two| two[1] - two[0]).collect();
        assert!(waits.len() >= 3, "{len} bytes: repeated after {times:?} ms");
        let is_slower = waits.windows(2).all(|two| two[0] * 9 / 10 <= two[1]);
        assert!(is_slower, "{len} bytes: waits of {waits:?} ms");
    }
}
