//! Large systems in virtual time: what a node keeps, what a message costs, what is dropped. Links
//! of 10 Gb/s, 10 us, 1 MiB of room before each node, packets of 1,444 bytes. `RMPP_NODES=n` sets
//! the number of nodes; 10,000 take 17 GB.

use std::time::Instant;

use rmpp_core::{Caps, Config};
use rmpp_sim::{Faults, Outcome, Traffic, Wires};

const PACKET_BYTES: usize = 1_444;
const PROFILES: [(&str, Caps); 2] = [("classic", Caps::CLASSIC), ("fast", Caps::FAST)];
/// To how many others each node sends.
const PARTNERS: u32 = 64;

fn nodes() -> u32 {
    let set = std::env::var("RMPP_NODES");
    set.map_or(2_048, |text| text.parse().expect("RMPP_NODES is a number"))
}

fn traffic(nodes: u32, caps: Caps, sends: Vec<Vec<(u32, u64)>>) -> Traffic {
    Traffic {
        config: Config::with_caps(nodes, PACKET_BYTES, caps),
        wires: Wires {
            bytes_per_us: 1_250,
            port_bytes: 1 << 20,
        },
        faults: Faults::none(),
        seed: 1,
        sends,
        landing_ns: 0,
        window: 64,
        limit_ns: 60_000_000_000,
    }
}

/// Each node sends 8 bytes to many others, in the order in which a ring is shifted.
fn all_to_all(nodes: u32) -> Vec<Vec<(u32, u64)>> {
    let partners = PARTNERS.min(nodes - 1);
    let stride = (nodes - 1) / partners;
    let to = |from: u32, phase: u32| ((from + 1 + phase * stride) % nodes, 8);
    let node = |from| (0..partners).map(|phase| to(from, phase)).collect();
    (0..nodes).map(node).collect()
}

/// 64 nodes send 1 MiB each to node 0, four times.
fn incast() -> Vec<Vec<(u32, u64)>> {
    let node = |from| vec![(0, 1 << 20); if from == 0 { 0 } else { 4 }];
    (0..65).map(node).collect()
}

fn report(what: &str, nodes: u32, profile: &str, outcome: &Outcome, began: Instant) {
    let per_peer = outcome.peer_state_bytes / nodes as usize;
    println!(
        "{what:<11} {nodes:>6} nodes {profile:<8} {:>9} messages {:>6.2} packets {:>6.2} datagrams \
         per message {:>8.1} MB/s {:>7} dropped {:>5} B per peer {:>9} B beside {:>9.3} ms virtual \
         {:>6.1} s real{}",
        outcome.messages,
        outcome.packets_per_message(),
        outcome.datagrams as f64 / outcome.messages.max(1) as f64,
        outcome.goodput(),
        outcome.overflowed,
        per_peer,
        outcome.other_state_bytes,
        outcome.virtual_ns as f64 / 1e6,
        began.elapsed().as_secs_f64(),
        if outcome.is_finished {
            ""
        } else {
            ", UNFINISHED"
        },
    );
}

fn run(what: &str, profile: (&str, Caps), sends: Vec<Vec<(u32, u64)>>) -> Outcome {
    let began = Instant::now();
    let outcome = traffic(nodes(), profile.1, sends).run();
    report(what, nodes(), profile.0, &outcome, began);
    assert!(outcome.is_finished, "{what} {}: {outcome:?}", profile.0);
    outcome
}

#[test]
fn all_nodes_send_to_many() {
    for profile in PROFILES {
        let outcome = run("all-to-all", profile, all_to_all(nodes()));
        assert_eq!(outcome.overflowed, 0, "small messages need no room");
        assert!(outcome.packets_per_message() <= 3.0, "{outcome:?}");
        let per_peer = outcome.peer_state_bytes / nodes() as usize;
        assert!(per_peer <= 192, "{per_peer} bytes per peer");
    }
}

#[test]
fn many_nodes_send_to_one() {
    for profile in PROFILES {
        let outcome = run("incast", profile, incast());
        // Data without a grant is a gamble when many begin at once (rule U).
        let most_lost = if profile.1.has(Caps::UNSCHED) {
            0.1
        } else {
            0.001
        };
        let lost = outcome.overflowed as f64 / outcome.packets as f64;
        assert!(
            lost < most_lost,
            "{}: {lost} of the packets dropped",
            profile.0
        );
        let most = 1_250.0 * PACKET_BYTES as f64 / (PACKET_BYTES as f64 + 142.0);
        let share = outcome.goodput() / most;
        assert!(
            share > 0.8,
            "{}: {share} of what the link carries",
            profile.0
        );
    }
}
