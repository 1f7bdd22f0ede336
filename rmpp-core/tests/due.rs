//! What is due when a timer is looked at, and what is not yet.

mod wire;

use std::time::Duration;

use rmpp_core::NodeId;
use wire::{Wire, config};

#[test]
fn rule_p12_a_first_packet_is_not_repeated_because_that_to_another_node_is_due() {
    let mut wire = Wire::new(3, config(3));
    for to in [1, 2] {
        wire.send(0, to, 8);
        assert_eq!(wire.take_all(0).len(), 1, "it is lost");
        wire.now = wire.now.plus(Duration::from_millis(5));
    }
    for to in [1, 2] {
        let due = wire.nodes[0].next_timeout().expect("two are not answered");
        assert!(due >= wire.now);
        wire.now = due;
        wire.timeouts();
        let again = wire.take_all(0);
        let to_whom: Vec<_> = again.iter().map(|packet| packet.to).collect();
        assert_eq!(to_whom, [NodeId(to)]);
    }
}
