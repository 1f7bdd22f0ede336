//! Networks with links of a rate.

use rmpp_core::{Instant, NodeId};
use rmpp_sim::{Faults, Network, Wires};

const WIRES: Wires = Wires {
    bytes_per_us: 1_000,
    port_bytes: 2_000,
};
const NODE: NodeId = NodeId(9);

fn arrivals(network: &mut Network<u32>) -> Vec<(u64, u32)> {
    let mut seen = Vec::new();
    while let Some(at) = network.next_delivery() {
        while let Some((_, _, datagram)) = network.deliver(at) {
            seen.push((at.0, datagram));
        }
    }
    seen
}

#[test]
fn datagrams_of_a_node_leave_one_after_the_other() {
    let mut network = Network::new(0, Faults::none()).with_wires(WIRES);
    for number in 0..3 {
        network.send_sized(Instant::ZERO, (NodeId(0), NODE), 500, number);
    }
    let expected = [(11_000, 0), (11_500, 1), (12_000, 2)];
    assert_eq!(arrivals(&mut network), expected);
}

#[test]
fn the_port_to_a_node_overflows_when_many_send_to_it() {
    let mut network = Network::new(0, Faults::none()).with_wires(WIRES);
    for from in 0..8 {
        network.send_sized(Instant::ZERO, (NodeId(from), NODE), 1_000, from);
    }
    assert_eq!(
        arrivals(&mut network).len(),
        3,
        "one on the link, 2,000 B wait"
    );
    assert_eq!(network.overflowed(), 5);
}
