//! Corners of the rules that mutations of the code had found unguarded.

use std::time::Duration;

use rmpp_core::{Caps, Config, Flags, Kind, Landing, Message, NodeId, Placement};

use crate::wire::{self, PACKET, Wire};

fn with(caps: &str) -> Config {
    let caps = Caps::parse(caps).expect("a profile");
    Config::with_caps(2, PACKET as usize, caps)
}

#[test]
fn rule_t_the_grants_of_a_lost_peer_go_to_others() {
    for profile in ["classic", "fast"] {
        let mut wire = Wire::new(2, with(profile));
        // Node 0 has a grant when it falls silent; node 1 misses it.
        wire.send(0, 1, 50 * PACKET);
        let rts = wire.take(0).expect("RTS");
        wire.give(&rts).expect("a new message");
        assert!(wire.nodes[1].survey().outstanding > 0);
        wire.send(1, 0, 8);
        for _ in 0..1_000 {
            wire.take_all(1);
            wire.now = wire.nodes[1].state().next_timeout.unwrap_or(wire.now);
            wire.timeouts();
        }
        assert!(wire.has_lost(1, 0));
        let survey = wire.nodes[1].survey();
        assert_eq!(
            (survey.outstanding, survey.incoming_live),
            (0, 0),
            "{profile}"
        );
    }
}

#[test]
fn rule_k_each_message_has_its_own_id_even_if_no_state_is_kept() {
    let mut wire = Wire::new(2, with("fast"));
    let mut ids = Vec::new();
    for _ in 0..3 {
        wire.send(0, 1, 8);
        let packet = wire.take(0).expect("LAST_RTS");
        match wire.give(&packet) {
            Ok(Placement::First { message, .. }) => ids.push(message),
            other => panic!("{other:?}"),
        }
    }
    assert!(
        ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2],
        "{ids:?}"
    );
}

#[test]
fn rule_k_an_acknowledgement_does_not_pass_a_message_that_has_not_landed() {
    let mut wire = Wire::new(2, with("fast"));
    wire.landing = None;
    wire.send(0, 1, 8);
    let packet = wire.take(0).expect("LAST_RTS");
    // Announced; the layer above sends something before it lands the message.
    let now = wire.now;
    let header = packet.header.encode();
    let first = wire::handle((&mut wire.nodes[1], NodeId(0)), &header, 8, now);
    let Ok(Placement::First { message, .. }) = first else {
        panic!("{first:?}")
    };
    let answer = wire.nodes[1].send(NodeId(0), Message::of(8, false), now);
    let answer = wire.nodes[1]
        .outgoing()
        .first_packet(answer.expect("a send"));
    let answer = answer.expect("it may go at once");
    assert_eq!(
        wire.nodes[1]
            .incoming()
            .land(message, Landing::Later, (), now),
        None
    );
    let _ = wire::handle(
        (&mut wire.nodes[0], NodeId(1)),
        &answer.header,
        answer.len,
        now,
    );
    assert_eq!(wire.nodes[0].poll_event(), None, "nobody has accepted it");
}

#[test]
fn rule_o_a_null_ahead_of_its_turn_reports_the_gap() {
    let mut wire = Wire::new(2, with("fast"));
    wire.send(0, 1, 8);
    wire.send(0, 1, 8);
    wire.abandon(0);
    let packets = wire.take_all(0);
    let null = packets.iter().find(|p| p.header.kind == Kind::Null);
    let _ = wire.give(null.expect("NULL in the place of the second"));
    let told = wire.take(1).expect("told at once");
    assert!(told.header.flags.has(Flags::GAP), "{told:?}");
}

#[test]
fn rule_h_held_messages_are_asked_after_when_their_time_has_come() {
    let mut wire = Wire::new(2, with("fast"));
    wire.landing = Some(Landing::Later);
    wire.send(0, 1, 8);
    wire.run();
    // The answer is lost: nothing but its timer brings it again.
    wire.land_all(1, Landing::Accept);
    wire.take_all(1);
    assert_eq!(wire.nodes[0].stranded(), None);
    for _ in 0..20 {
        let Some(next) = wire.nodes[0].state().next_timeout else {
            break;
        };
        wire.now = next;
        wire.timeouts();
        wire.run();
    }
    assert_eq!(wire.events[0].len(), 1, "asked after, and answered again");
    assert!(wire.now.0 < Duration::from_secs(2).as_nanos() as u64);
}
