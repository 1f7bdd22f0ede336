//! Timers that are due when they are looked at, and those that are not yet.

use std::time::Duration;

use crate::wire::{PACKET, Wire, config};
use rmpp_core::{Caps, Config, Instant, Kind, NodeId, OutgoingId};

#[test]
fn rule_p12_a_first_packet_is_not_repeated_because_that_to_another_node_is_due() {
    let mut wire = Wire::new(3, config(3));
    for to in [1, 2] {
        wire.send(0, to, 8);
        assert_eq!(wire.take_all(0).len(), 1, "it is lost");
        wire.now = wire.now.plus(Duration::from_millis(5));
    }
    for to in [1, 2] {
        let due = wire.nodes[0]
            .state()
            .next_timeout
            .expect("two are not answered");
        assert!(due >= wire.now);
        wire.now = due;
        wire.timeouts();
        let again = wire.take_all(0);
        let to_whom: Vec<_> = again.iter().map(|packet| packet.to).collect();
        assert_eq!(to_whom, [NodeId(to)]);
    }
}

/// Node 0 of `wire` is granted the first packets of `count` long messages to node 1, a microsecond
/// after each other, and gets no more packets of any.
fn stall(wire: &mut Wire, count: usize) -> Vec<OutgoingId> {
    let one = |_| {
        wire.now = wire.now.plus(Duration::from_micros(1));
        let message = wire.send(0, 1, 1_000 * PACKET);
        let opener = wire.take_all(0).remove(0);
        assert_eq!(opener.header.kind, Kind::Rts);
        wire.give(&opener).expect("a new message");
        let answers = wire.take_all(1);
        wire.give_all(&answers);
        wire.take_all(0);
        message
    };
    (0..count).map(one).collect()
}

fn fast() -> Wire {
    Wire::new(2, Config::with_caps(2, PACKET as usize, Caps::FAST))
}

/// How many timers a node looks at for each that rings, if `count` messages have one each.
fn looked_at(count: usize) -> u64 {
    let mut wire = fast();
    stall(&mut wire, count);
    let before = wire.nodes[0].timers_rung();
    loop {
        let due = wire.nodes[0]
            .state()
            .next_timeout
            .expect("none is answered");
        wire.now = wire.now.max(due);
        wire.timeouts();
        wire.take_all(0);
        let (rung, looked_at) = wire.nodes[0].timers_rung();
        if rung > before.0 + 3 * count as u64 {
            return (looked_at - before.1) / (rung - before.0);
        }
    }
}

#[test]
fn rule_t_a_look_at_the_timers_does_not_grow_with_the_messages_that_are_not_due() {
    for levels in [3, 6, 9, 12] {
        let each = looked_at(1 << levels);
        assert!(each <= 1 + levels, "{each} timers looked at of 2^{levels}");
    }
}

#[test]
fn rule_t_the_timers_of_many_messages_leave_no_memory_behind() {
    let mut wire = fast();
    let empty = wire.nodes[0].state_bytes().1;
    let messages = stall(&mut wire, 10_000);
    let full = wire.nodes[0].state_bytes().1;
    assert!(full >= empty + messages.len() * size_of::<Instant>());
    for message in messages {
        wire.nodes[0].outgoing().abort(message, wire.now);
    }
    wire.run();
    assert_eq!(wire.nodes[0].survey().outgoing, 0);
    let left = wire.nodes[0].state_bytes().1;
    assert!(left <= empty + 65_536, "{left} bytes of {full} are left");
}
