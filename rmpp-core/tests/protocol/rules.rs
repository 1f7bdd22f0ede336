//! Scripted exchanges: each rule of docs/protocol.md in the smallest setting that shows it.

use std::time::Duration;

use crate::wire::{self, PACKET, Wire, config};
use rmpp_core::{
    Config, Dropped, Endpoint, Event, Flags, HEADER_BYTES, Header, Instant, Kind, Landing, Message,
    NodeId, OutgoingId, Placement, SendError,
};

const MS: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

fn sent(wire: &Wire, id: OutgoingId) -> bool {
    wire.events[0].contains(&Event::Sent(id, ()))
}

fn header_of(kind: Kind) -> Header {
    Header {
        kind,
        version: 1,
        src: 0x0102_0304,
        msg_id: 0x1122_3344,
        len: 0x5566_7788,
        seq: 0x99aa_bbcc,
        info1: 0x000f,
        info2: 0xa0b0,
        msg_num: 0xddee_ff01,
        ack: 0,
        flags: Flags::NONE,
    }
}

#[test]
fn rule_p1_golden_bytes_of_all_ten_types() {
    let codes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    for (kind, code) in Kind::ALL.into_iter().zip(codes) {
        let golden: [u8; HEADER_BYTES] = [
            0x00, code, 0x00, 0x01, 0x01, 0x02, 0x03, 0x04, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66,
            0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xa0, 0xb0, 0x00, 0x0f, 0xdd, 0xee, 0xff, 0x01,
        ];
        assert_eq!(*header_of(kind).encode(), golden, "{}", kind.name());
        assert_eq!(Header::decode(&golden), Some(header_of(kind)));
    }
}

#[test]
fn rule_p1_packets_name_their_message_alike_in_both_directions() {
    let mut wire = Wire::new(2, config(2));
    wire.send(0, 1, 5 * PACKET);
    wire.run();
    assert!(wire.trace.len() > 5);
    assert!(
        wire.trace
            .iter()
            .all(|p| (p.header.src, p.header.msg_id) == (0, 0))
    );
}

#[test]
fn rule_p2_another_version_is_dropped() {
    let mut wire = Wire::new(2, config(2));
    wire.send(0, 1, 8);
    let mut packet = wire.take(0).expect("LAST_RTS");
    packet.header.version = 2;
    assert_eq!(wire.give(&packet), Err(Dropped::Version));
    packet.header.version = 1;
    assert!(wire.give(&packet).is_ok());
}

#[test]
fn rule_p3_a_short_message_takes_three_packets() {
    for len in [0, 1, 8, PACKET] {
        let mut wire = Wire::new(2, config(2));
        let id = wire.send(0, 1, len);
        wire.run();
        assert_eq!(wire.kinds(), ["LAST_RTS", "MSGEND", "GCH"], "{len} bytes");
        assert!(sent(&wire, id));
        assert!(matches!(wire.events[1][..], [Event::Arrived(..)]));
    }
}

#[test]
fn rule_p4_grants_shrink_as_messages_flow_in_and_grow_again() {
    let mut config = config(4);
    config.max_rcv_buf = 4 + 20;
    let mut wire = Wire::new(4, config);
    let grants = |wire: &mut Wire| -> Vec<u16> {
        let packets = wire.take_all(0);
        let cts: Vec<_> = packets
            .iter()
            .filter(|p| p.header.kind == Kind::Cts)
            .collect();
        cts.iter().map(|p| p.header.info1).collect()
    };
    for from in 1..4 {
        wire.send(from, 0, 40 * PACKET);
        let rts = wire.take(from).expect("RTS");
        wire.give(&rts).expect("a new message");
    }
    assert_eq!(grants(&mut wire), [16, 4, 1]);
    assert_eq!(wire.nodes[0].survey().outstanding, 21);
    wire.abandon(1);
    let null = wire.take(1).expect("NULL");
    wire.give(&null).expect("an abort");
    assert_eq!(wire.nodes[0].survey().outstanding, 5);
    wire.send(1, 0, 40 * PACKET);
    let rts = wire.take(1).expect("RTS");
    wire.give(&rts).expect("a new message");
    assert_eq!(grants(&mut wire), [15], "24 - 4 - 5 are free");
}

#[test]
fn rule_p5_a_long_message_is_figure_6() {
    let mut wire = Wire::new(2, config(2));
    let id = wire.send(0, 1, (1 + 16 + 16 + 3) * PACKET);
    wire.run();
    let block = |n: usize, last: &'static str| {
        let mut kinds = vec!["CTS"];
        kinds.extend(std::iter::repeat_n("DATA", n - 1));
        kinds.push(last);
        kinds
    };
    let mut expected = vec!["RTS"];
    expected.extend(block(16, "STOP_DATA"));
    expected.extend(block(16, "STOP_DATA"));
    expected.extend(block(3, "LAST_DATA"));
    expected.extend(["MSGEND", "GCH"]);
    assert_eq!(wire.kinds(), expected);
    let seqs: Vec<u32> = wire.data().map(|p| p.header.seq).collect();
    assert_eq!(seqs, (1..=35).collect::<Vec<_>>());
    assert!(
        wire.data()
            .all(|p| (p.header.info1, p.header.info2) == (16, 0))
    );
    assert!(sent(&wire, id));
}

#[test]
fn rule_p5_one_grant_is_outstanding_at_a_time() {
    let mut wire = Wire::new(2, config(2));
    let (_, block) = wire.first_block(100 * PACKET);
    assert_eq!(block.len(), 16, "no more than granted");
    for data in &block[..15] {
        wire.give(data).expect("data in sequence");
        assert!(wire.take(1).is_none(), "no grant before STOP_DATA");
    }
    wire.give(&block[15]).expect("STOP_DATA");
    assert_eq!(wire.take(1).expect("CTS").header.kind, Kind::Cts);
}

#[test]
fn rule_p6_a_lost_msgend_is_sent_again() {
    let mut wire = Wire::new(2, config(2));
    let id = wire.send(0, 1, 8);
    let first = wire.take(0).expect("LAST_RTS");
    wire.give(&first).expect("a new message");
    assert_eq!(wire.take(1).expect("MSGEND").header.kind, Kind::MsgEnd);
    wire.give(&first).expect("a repeated message");
    let end = wire.take(1).expect("MSGEND again");
    assert_eq!(end.header.kind, Kind::MsgEnd);
    wire.give(&end).expect("the end");
    assert!(sent(&wire, id));
    assert_eq!(wire.events[1].len(), 1, "it arrived once");
}

#[test]
fn rule_p6_each_answer_that_is_given_again_is_counted() {
    let mut wire = Wire::new(2, config(2));
    wire.send(0, 1, 8);
    let first = wire.take(0).expect("LAST_RTS");
    for again in 0..4 {
        wire.give(&first).expect("a message, the same each time");
        assert_eq!(wire.take_all(1).len(), 1);
        assert_eq!(wire.nodes[1].state().counters.answered_again, again);
    }
}

#[test]
fn rule_p6_a_refused_message_is_answered_with_msgdrop_each_time() {
    let mut wire = Wire::new(2, config(2));
    wire.landing = Some(Landing::Drop);
    let id = wire.send(0, 1, 10 * PACKET);
    let first = wire.take(0).expect("RTS");
    for _ in 0..3 {
        wire.give(&first).expect("a message");
        let answer = wire.take(1).expect("MSGDROP");
        assert_eq!(answer.header.kind, Kind::MsgDrop);
    }
    wire.give(&first).expect("a message");
    wire.run();
    assert_eq!(wire.events[0], [Event::Refused(id, ())]);
    assert!(wire.events[1].is_empty());
}

#[test]
fn rule_p7_gch_frees_the_state_and_only_after_the_end() {
    let mut wire = Wire::new(2, config(2));
    wire.landing = None;
    wire.send(0, 1, 8);
    let first = wire.take(0).expect("LAST_RTS");
    wire.give(&first).expect("a new message");
    let gch = first.as_kind(Kind::Gch);
    assert_eq!(wire.give(&gch), Err(Dropped::Unexpected), "it is not over");
    wire.land_all(1, Landing::Accept);
    assert_eq!(wire.nodes[1].survey().incoming_done, 1);
    wire.run();
    assert_eq!(wire.nodes[1].survey().incoming_done, 0);
    assert_eq!(
        wire.give(&gch),
        Err(Dropped::Unexpected),
        "nothing is known of it"
    );
}

#[test]
fn rule_p8_without_gch_the_state_goes_after_ten_minutes() {
    let mut wire = Wire::new(2, config(2));
    wire.send(0, 1, 8);
    let first = wire.take(0).expect("LAST_RTS");
    wire.give(&first).expect("a new message");
    let due = wire.nodes[1]
        .state()
        .next_timeout
        .expect("a timer for the state");
    assert_eq!(due, wire.now.plus(600 * SECOND));
    wire.now = Instant(due.0 - 1);
    wire.timeouts();
    assert_eq!(wire.nodes[1].survey().incoming_done, 1);
    wire.now = due;
    wire.timeouts();
    assert_eq!(wire.nodes[1].survey().incoming_done, 0);
    assert_eq!(wire.nodes[1].state().next_timeout, None);
}

#[test]
fn rule_p9_null_goes_out_until_it_is_answered() {
    let mut wire = Wire::new(2, config(2));
    let id = wire.send(0, 1, 8);
    wire.take(0).expect("LAST_RTS, lost");
    wire.nodes[0].outgoing().abort(id, wire.now);
    for attempt in 1..5 {
        let null = wire.take(0).expect("NULL");
        assert_eq!((null.header.kind, null.header.info2), (Kind::Null, attempt));
        wire.now = wire.now.plus(2 * SECOND);
        wire.timeouts();
    }
    wire.run();
    assert_eq!(wire.events[0], [Event::Cancelled(id, ())]);
    assert!(wire.events[1].is_empty(), "it was never announced");
    let next = wire.send(0, 1, 8);
    wire.run();
    assert!(sent(&wire, next), "the numbers are in step");
}

#[test]
fn rule_p10_a_later_number_is_rejected_until_its_turn() {
    let mut wire = Wire::new(2, config(2));
    let (a, b) = (wire.send(0, 1, 8), wire.send(0, 1, 4 * PACKET));
    let (first, second) = (wire.take(0).expect("LAST_RTS"), wire.take(0).expect("RTS"));
    assert_eq!(wire.give(&second), Err(Dropped::OutOfOrder));
    assert!(wire.take(1).is_none(), "a rejected packet is not answered");
    assert!(matches!(
        wire.give(&first),
        Ok(Placement::First { len: 8, .. })
    ));
    assert!(matches!(wire.give(&second), Ok(Placement::First { .. })));
    wire.run();
    assert!(sent(&wire, a) && sent(&wire, b));
}

#[test]
fn rule_p10_a_short_message_overtakes_a_long_one_after_both_were_announced() {
    let mut wire = Wire::new(2, config(2));
    let (long, short) = (wire.send(0, 1, 50 * PACKET), wire.send(0, 1, 8));
    wire.run();
    assert_eq!(
        wire.events[0],
        [Event::Sent(short, ()), Event::Sent(long, ())]
    );
}

/// Runs a message of 20 data packets up to its second block, which is lost.
fn lose_second_block() -> Wire {
    let mut wire = Wire::new(2, config(2));
    wire.send(0, 1, 21 * PACKET);
    for _ in 0..2 {
        let packets = wire.take_all(0);
        wire.give_all(&packets);
        let packets = wire.take_all(1);
        wire.give_all(&packets);
    }
    assert_eq!(wire.take_all(0).len(), 4, "the second block");
    wire
}

#[test]
fn rule_p11_a_message_begins_again_at_1_with_one_packet() {
    let mut wire = lose_second_block();
    assert!(wire.take(0).is_none());
    wire.now = wire.now.plus(SECOND);
    wire.timeouts();
    let again = wire.take_all(0);
    assert_eq!(again.len(), 1);
    let header = again[0].header;
    assert_eq!(
        (header.kind, header.seq, header.info2),
        (Kind::StopData, 1, 1)
    );
    wire.give(&again[0]).expect("a restart");
    let cts = wire.take(1).expect("CTS");
    assert_eq!(
        (cts.header.kind, cts.header.seq, cts.header.info2),
        (Kind::Cts, 2, 1)
    );
    wire.give(&cts).expect("a grant");
    wire.run();
    assert!(matches!(wire.events[0][..], [Event::Sent(..)]));
    let counters = wire.nodes[0].state().counters;
    assert_eq!((counters.restarts, counters.timeouts), (1, 1));
    assert_eq!(counters.data_repeated, 20, "all had gone out before");
}

#[test]
fn rule_p12_only_the_oldest_first_packet_of_each_destination_is_repeated() {
    let mut wire = Wire::new(3, config(3));
    wire.send_many(3, 0, 1, 8);
    wire.send_many(2, 0, 2, 9 * PACKET);
    assert_eq!(wire.take_all(0).len(), 5, "all lost");
    wire.now = wire.now.plus(25 * MS);
    wire.timeouts();
    let mut again: Vec<_> = wire
        .take_all(0)
        .iter()
        .map(|p| (p.to.0, p.header.msg_num))
        .collect();
    again.sort_unstable();
    assert_eq!(again, [(1, 0), (2, 0)]);
}

#[test]
fn rule_p14_unexpected_packets_are_dropped_and_counted() {
    let mut wire = Wire::new(2, config(2));
    wire.landing = None;
    wire.send(0, 1, 10 * PACKET);
    let rts = wire.take(0).expect("RTS");
    let data = rts.data(1, 16);
    assert_eq!(wire.give(&data), Err(Dropped::Unexpected), "no message yet");
    wire.give(&rts).expect("a new message");
    assert_eq!(wire.give(&data), Err(Dropped::Unexpected), "no grant yet");
    wire.land_all(1, Landing::Accept);
    assert_eq!(wire.give(&rts.data(2, 16)), Err(Dropped::OutOfSequence));
    assert!(wire.give(&data).is_ok());
    assert_eq!(
        wire.give(&rts),
        Err(Dropped::Unexpected),
        "data has come since"
    );
    let stray = rts.answer(Kind::MsgEnd, |h| h.msg_id = 7);
    assert_eq!(
        wire.give(&stray),
        Err(Dropped::Unexpected),
        "an end of nothing"
    );
    assert_eq!(
        wire.nodes[1].state().counters.dropped(Dropped::Unexpected),
        3
    );
}

#[test]
fn rule_p15_state_lives_as_long_as_its_message() {
    let mut wire = Wire::new(2, config(2));
    wire.send(0, 1, 10 * PACKET);
    assert_eq!(wire.nodes[0].survey().outgoing, 1);
    assert!(!wire.nodes[0].state().is_quiet);
    let rts = wire.take(0).expect("RTS");
    wire.give(&rts).expect("a new message");
    assert_eq!(wire.nodes[1].survey().incoming_live, 1);
    wire.run();
    let (sender, receiver) = (wire.nodes[0].survey(), wire.nodes[1].survey());
    assert_eq!(
        (
            sender.outgoing,
            receiver.incoming_live,
            receiver.incoming_done
        ),
        (0, 0, 0)
    );
    assert!(wire.nodes.iter().all(|node| node.state().is_quiet));
}

#[test]
fn rule_a_an_old_number_without_state_is_answered() {
    let mut wire = Wire::new(2, config(2));
    wire.send(0, 1, 8);
    let first = wire.take(0).expect("LAST_RTS");
    wire.give(&first).expect("a new message");
    wire.take(1).expect("MSGEND, lost");
    wire.now = wire.now.plus(601 * SECOND);
    wire.timeouts();
    assert_eq!(wire.nodes[1].survey().incoming_done, 0, "forgotten");
    for packet in [
        first.clone(),
        first.as_kind(Kind::Null),
        first.long().data(1, 1),
    ] {
        let before = wire.nodes[1].survey();
        assert_eq!(
            wire.give(&packet),
            Ok(Placement::None),
            "{:?}",
            packet.header.kind
        );
        assert_eq!(wire.take(1).expect("an answer").header.kind, Kind::MsgEnd);
        assert_eq!(wire.nodes[1].survey(), before, "nothing was created");
    }
    wire.give(&first).expect("an old number");
    wire.run();
    assert!(
        matches!(wire.events[0][..], [Event::Sent(..)]),
        "the send ends"
    );
    assert_eq!(wire.events[1].len(), 1, "it arrived once");
}

#[test]
fn rule_b_a_cts_that_comes_twice_grants_once() {
    let mut wire = Wire::new(2, config(2));
    wire.send(0, 1, 100 * PACKET);
    let rts = wire.take(0).expect("RTS");
    wire.give(&rts).expect("a new message");
    let cts = wire.take(1).expect("CTS");
    wire.give(&cts).expect("a grant");
    assert!(wire.give(&cts).is_err(), "before its block");
    let (head, rest) = (wire.take(0).expect("DATA"), wire.take_all(0));
    assert_eq!(rest.len(), 15);
    assert!(wire.give(&cts).is_err(), "after its block");
    assert!(wire.take(0).is_none());
    wire.give(&head).expect("data in sequence");
    wire.give_all(&rest);
    let next = wire.take(1).expect("CTS");
    assert_eq!(next.header.seq, 17);
    assert!(
        wire.give(&cts).is_err(),
        "an old one while the next is awaited"
    );
    wire.give(&next).expect("the next grant");
    assert_eq!(wire.take_all(0).len(), 16);
}

#[test]
fn rule_b_a_cts_of_an_earlier_attempt_grants_nothing() {
    let mut wire = lose_second_block();
    wire.now = wire.now.plus(SECOND);
    wire.timeouts();
    let again = wire.take(0).expect("STOP_DATA 1");
    let old = again.answer(Kind::Cts, |h| (h.seq, h.info1, h.info2) = (2, 16, 0));
    assert_eq!(wire.give(&old), Err(Dropped::OldAttempt));
    let present = again.answer(Kind::Cts, |h| (h.seq, h.info1, h.info2) = (2, 16, 1));
    assert!(wire.give(&present).is_ok());
}

#[test]
fn rule_c_the_oldest_finished_messages_are_forgotten_first() {
    let mut config = config(2);
    config.max_done_states = 2;
    let mut wire = Wire::new(2, config);
    wire.landing = Some(Landing::Drop);
    wire.send_many(4, 0, 1, 8);
    let packets = wire.take_all(0);
    wire.give_all(&packets);
    wire.take_all(1);
    assert_eq!(wire.nodes[1].survey().incoming_done, 2);
    // Forgotten ones are answered by rule A, the others by what they were answered with.
    let expected = [Kind::MsgEnd, Kind::MsgEnd, Kind::MsgDrop, Kind::MsgDrop];
    for (packet, kind) in packets.iter().zip(expected) {
        wire.give(packet).expect("a repeated message");
        assert_eq!(wire.take(1).expect("an answer").header.kind, kind);
    }
}

#[test]
fn rule_d_the_receiver_restarts_on_a_later_attempt_only() {
    let mut wire = Wire::new(2, config(2));
    wire.send(0, 1, 40 * PACKET);
    let rts = wire.take(0).expect("RTS");
    wire.give(&rts).expect("a new message");
    let attempt = |seq: u32, info2: u16| {
        let mut data = rts.data(seq, 16);
        data.header.info2 = info2;
        data
    };
    assert!(wire.give(&attempt(1, 0)).is_ok());
    assert!(wire.give(&attempt(2, 0)).is_ok());
    assert_eq!(
        wire.give(&attempt(1, 0)),
        Err(Dropped::OutOfSequence),
        "a copy of the first"
    );
    assert_eq!(
        wire.give(&attempt(4, 1)),
        Err(Dropped::OutOfSequence),
        "not its beginning"
    );
    assert!(wire.give(&attempt(1, 1)).is_ok(), "a restart");
    assert_eq!(wire.give(&attempt(3, 0)), Err(Dropped::OldAttempt));
    assert_eq!(wire.give(&attempt(1, 0)), Err(Dropped::OldAttempt));
    let survey = wire.nodes[1].survey();
    assert_eq!(survey.outstanding, survey.granted);
}

#[test]
fn rule_h_a_held_message_is_not_answered_but_its_sender_gets_a_hold() {
    let mut wire = Wire::new(2, config(2));
    wire.landing = None;
    let id = wire.send(0, 1, 4 * PACKET);
    let mut last = 0;
    // Ten minutes: five times what makes a silent peer lost.
    for _ in 0..600 {
        wire.run();
        wire.now = wire.now.plus(SECOND);
        wire.timeouts();
        last = wire.trace.len();
    }
    assert!(wire.events.iter().all(Vec::is_empty), "{:?}", wire.events);
    let kinds = wire.kinds();
    assert_eq!(kinds[..3], ["RTS", "RTS", "GCH"]);
    assert!(kinds[1..].chunks(2).all(|pair| pair == ["RTS", "GCH"]));
    assert!(last < 1300, "asked about once a second: {last}");
    assert_eq!(wire.trace[2].header.src, 0, "it bears the message's name");
    wire.land_all(1, Landing::Accept);
    wire.run();
    assert!(sent(&wire, id));
}

#[test]
fn rule_h_a_message_behind_a_held_one_is_repeated_in_its_turn() {
    let mut wire = Wire::new(2, config(2));
    wire.landing = None;
    wire.send(0, 1, 4 * PACKET);
    let held = wire.take(0).expect("RTS");
    wire.give(&held).expect("a new message");
    let next = wire.send(0, 1, 8);
    wire.take(0).expect("LAST_RTS, lost");
    wire.landing = Some(Landing::Accept);
    for _ in 0..3 {
        wire.now = wire.now.plus(50 * MS);
        wire.timeouts();
        wire.run();
    }
    assert_eq!(
        wire.events[0],
        [Event::Sent(next, ())],
        "the first is held, the second done"
    );
}

#[test]
fn rule_l_i3_data_of_an_earlier_message_of_the_same_name_is_not_the_awaited() {
    let mut wire = Wire::new(2, config(2));
    let (_, block) = wire.first_block(3 * PACKET);
    let mut old = block[0].clone();
    old.header.msg_num = old.header.msg_num.wrapping_sub(1);
    assert!(wire.awaited(&block[0]).is_some());
    assert!(wire.awaited(&old).is_none());
    assert_eq!(wire.give(&old), Err(Dropped::Mismatch));
    wire.give_all(&block);
    assert_eq!(wire.events[1].len(), 1, "it arrives");
}

#[test]
fn rule_l_a_message_longer_than_the_length_field_is_refused() {
    let mut endpoint: Endpoint = Endpoint::new(NodeId(0), Config::classic(2, 1000));
    let now = Instant::ZERO;
    let len = 1 << 32;
    assert_eq!(
        endpoint.send(NodeId(1), Message::of(len, false), now),
        Err(SendError::TooLong { len })
    );
    assert!(
        endpoint
            .send(NodeId(1), Message::of(len - 1, false), now)
            .is_ok()
    );
    let nodes = 2;
    assert_eq!(
        endpoint.send(NodeId(2), Message::of(1, false), now),
        Err(SendError::NoSuchNode {
            to: NodeId(2),
            nodes
        })
    );
    assert_eq!(
        endpoint.send(NodeId(0), Message::of(1, false), now),
        Err(SendError::ToSelf { to: NodeId(0) })
    );
}

#[test]
fn rule_m_the_first_packet_window_bounds_what_is_under_way() {
    let mut config = config(3);
    config.first_window = 2;
    let mut wire = Wire::new(3, config);
    wire.send_many(5, 0, 1, 8);
    wire.send(0, 2, 8);
    let under_way = wire.take_all(0);
    assert_eq!(under_way.iter().filter(|p| p.to.0 == 1).count(), 2);
    assert_eq!(
        under_way.iter().filter(|p| p.to.0 == 2).count(),
        1,
        "not held up by node 1"
    );
    wire.give_all(&under_way);
    wire.run();
    assert_eq!(wire.events[0].len(), 6);
}

#[test]
fn rule_n_null_consumes_its_number_once_in_every_state() {
    for seen in 0..4 {
        let mut wire = Wire::new(2, config(2));
        wire.landing = (seen > 1).then_some(Landing::Accept);
        wire.send(0, 1, if seen == 3 { 8 } else { 30 * PACKET });
        let first = wire.take(0).expect("a first packet");
        if seen > 0 {
            wire.give(&first).expect("a new message");
        }
        let null = first.as_kind(Kind::Null);
        for _ in 0..3 {
            wire.give(&null).expect("NULL");
            assert_eq!(wire.nodes[1].numbers(NodeId(0)).1, 1, "seen {seen}");
            let last = wire.take_all(1).pop().expect("an answer");
            assert_eq!(last.header.kind, Kind::MsgEnd);
        }
        let told = match wire.events[1][..] {
            [] => 0,
            [Event::Aborted(..)] => 1,
            [Event::Arrived(..)] => 2,
            _ => 3,
        };
        assert_eq!(told, [0, 1, 1, 2][seen], "seen {seen}");
        assert_eq!(wire.nodes[1].survey().outstanding, 0);
    }
}

#[test]
fn rule_q_first_packets_behind_a_repeated_one_follow_at_once() {
    let mut wire = Wire::new(2, config(2));
    wire.send_many(40, 0, 1, 8);
    let packets = wire.take_all(0);
    for rejected in &packets[1..] {
        assert_eq!(wire.give(rejected), Err(Dropped::OutOfOrder));
    }
    wire.now = wire.now.plus(25 * MS);
    wire.timeouts();
    let started = wire.now;
    wire.run();
    assert_eq!(wire.events[0].len(), 40, "with one timeout for all");
    assert_eq!(wire.now, started);
}

#[test]
fn rule_s_checks_run_in_order_and_a_wrong_packet_leaves_no_trace() {
    let mut wire = Wire::new(3, config(3));
    wire.send(0, 1, 8);
    let good = wire.take(0).expect("LAST_RTS").header;
    let check = |from: u32, change: &dyn Fn(&mut Header), len: usize, expected: Dropped| {
        let mut endpoint = Endpoint::new(NodeId(1), config(3));
        let before = endpoint.survey();
        let mut header = good;
        change(&mut header);
        let outcome = wire::handle(
            (&mut endpoint, NodeId(from)),
            &header.encode(),
            len,
            Instant(5),
        );
        assert_eq!(outcome, Err(expected), "{header:?}");
        assert_eq!(endpoint.survey(), before);
        assert_eq!(endpoint.poll_transmit(Instant(5), 1), None, "no answer");
        assert_eq!(endpoint.state().counters.dropped(expected), 1);
        assert_eq!(endpoint.state().counters.dropped.iter().sum::<u64>(), 1);
    };
    check(7, &|h| (h.version, h.src) = (2, 9), 8, Dropped::Version);
    check(7, &|h| h.src = 7, 8, Dropped::Source);
    check(1, &|h| h.src = 1, 8, Dropped::Source);
    check(2, &|_| {}, 8, Dropped::Source);
    check(0, &|h| h.src = 1, 8, Dropped::Source);
    check(0, &|h| h.kind = Kind::MsgEnd, 0, Dropped::Source);
    check(0, &|_| {}, 7, Dropped::Fields);
    check(0, &|h| h.len = 2000, 2000, Dropped::Fields);
    check(0, &|h| h.kind = Kind::Rts, 8, Dropped::Fields);
    check(
        0,
        &|h| (h.kind, h.len, h.info1) = (Kind::Data, 900, 1),
        100,
        Dropped::Fields,
    );
    check(
        0,
        &|h| (h.kind, h.len, h.seq) = (Kind::Data, 900, 1),
        100,
        Dropped::Fields,
    );
    check(
        0,
        &|h| (h.kind, h.src, h.len, h.seq) = (Kind::Cts, 1, 900, 1),
        0,
        Dropped::Fields,
    );
    check(0, &|h| h.kind = Kind::Null, 1, Dropped::Fields);
    let mut endpoint = Endpoint::new(NodeId(1), config(3));
    for len in 0..HEADER_BYTES {
        let short = wire::handle(
            (&mut endpoint, NodeId(0)),
            &good.encode()[..len],
            0,
            Instant(0),
        );
        assert_eq!(short, Err(Dropped::TooShort));
    }
    let mut unknown = good.encode().to_vec();
    unknown[1] = 11;
    let outcome = wire::handle((&mut endpoint, NodeId(0)), &unknown, 8, Instant(0));
    assert_eq!(outcome, Err(Dropped::Kind));
}

#[test]
fn rule_t_a_silent_peer_is_lost_after_its_time_and_not_before() {
    let mut wire = Wire::new(2, config(2));
    wire.landing = None;
    wire.send(0, 1, 8);
    wire.nodes[1]
        .send(NodeId(0), Message::of(8, false), wire.now)
        .expect("a send the other way");
    let coming = wire.take(1).expect("LAST_RTS");
    wire.give(&coming).expect("a new message");
    let mut lost_at = None;
    for second in 0..200 {
        wire.take_all(0);
        if wire.has_lost(0, 1) {
            lost_at = Some(second);
            break;
        }
        wire.now = wire.now.plus(SECOND);
        wire.timeouts();
    }
    assert!((119..=123).contains(&lost_at.expect("lost")), "{lost_at:?}");
    let survey = wire.nodes[0].survey();
    assert_eq!(
        (survey.outgoing, survey.incoming_live),
        (0, 0),
        "all is freed"
    );
    let to = NodeId(1);
    assert_eq!(
        wire.nodes[0].send(to, Message::of(8, false), wire.now),
        Err(SendError::PeerLost { to })
    );
    assert_eq!(wire.give(&coming), Err(Dropped::PeerLost));
}

#[test]
fn rule_t_a_peer_that_has_never_answered_is_reported_and_one_that_has_answered_is_not() {
    let mut config = config(2);
    config.unheard_after = Some(3 * SECOND);
    let mut wire = Wire::new(2, config);
    let reports = |wire: &mut Wire, seconds: u32| {
        let mut reported = Vec::new();
        for second in 0..seconds {
            wire.take_all(0);
            wire.now = wire.now.plus(SECOND);
            wire.timeouts();
            let its = wire.events[0].drain(..);
            let is_report = |event: &Event| {
                matches!(
                    event,
                    Event::Unheard {
                        node: NodeId(1),
                        ..
                    }
                )
            };
            reported.extend(its.filter(is_report).map(|_| second));
        }
        reported
    };
    wire.send(0, 1, 8);
    let seconds = reports(&mut wire, 20);
    assert_eq!(seconds.first(), Some(&2), "{seconds:?}");
    assert!(seconds.len() > 10, "with each repetition: {seconds:?}");
    wire.run();
    wire.send(0, 1, 8);
    assert!(reports(&mut wire, 20).is_empty(), "it has answered once");
}

#[test]
fn rule_t_a_node_that_slept_starts_its_timers_anew() {
    let mut wire = Wire::new(2, config(2));
    let id = wire.send(0, 1, 8);
    wire.take(0).expect("LAST_RTS, lost");
    wire.now = wire.now.plus(660 * SECOND);
    wire.timeouts();
    assert!(wire.events[0].is_empty(), "the peer is not to blame");
    assert_eq!(wire.nodes[0].state().counters.own_pauses, 1);
    wire.now = wire.now.plus(25 * MS);
    wire.timeouts();
    wire.run();
    assert!(sent(&wire, id));
}

#[test]
fn rule_t_a_restart_waits_as_long_as_the_attempt_it_throws_away_took() {
    let mut wire = Wire::new(2, config(2));
    wire.send(0, 1, 200 * PACKET);
    let slow = |wire: &mut Wire| {
        let packets = wire.take_all(0);
        wire.give_all(&packets);
        let packets = wire.take_all(1);
        wire.now = wire.now.plus(Duration::from_micros(100));
        wire.timeouts();
        wire.give_all(&packets);
    };
    // RTS, then blocks of 16 packets, each 100 us: the round trip alone would mean 1 ms.
    (0..3).for_each(|_| slow(&mut wire));
    wire.take_all(0);
    wire.now = wire.now.plus(Duration::from_micros(4_900));
    wire.timeouts();
    assert!(wire.take(0).is_none(), "5 ms at least");
    wire.now = wire.now.plus(Duration::from_micros(200));
    wire.timeouts();
    assert_eq!(wire.take(0).expect("a restart").header.seq, 1);

    let mut wire = Wire::new(2, config(2));
    wire.send(0, 1, 2_000 * PACKET);
    (0..101).for_each(|_| slow(&mut wire));
    wire.take_all(0);
    wire.now = wire.now.plus(9 * MS);
    wire.timeouts();
    assert!(
        wire.take(0).is_none(),
        "10 ms of work are worth 10 ms of patience"
    );
    wire.now = wire.now.plus(2 * MS);
    wire.timeouts();
    assert_eq!(wire.take(0).expect("a restart").header.seq, 1);
}
