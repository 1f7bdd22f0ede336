//! Packets and state of large systems, in virtual time: the endpoints of RMPP in its simulator, and
//! the other protocols over that of mpi-lite.

use std::fs;
use std::time::Instant;

use rmpp_core::{Caps, Config};
use rmpp_sim::{Faults, Outcome, Traffic, Wires};

use super::kept::Record;
use super::pipes::{self, PIPES};

/// What a reader runs to see the same of one size.
pub(super) const COMMAND: &str = "RMPP_NODES=2048 cargo test --release -p rmpp-sim \
    --test sim -- --nocapture cluster::";
/// The panels of the figures.
pub(super) const PACKETS: &str = "scale-packets";
pub(super) const PER_PEER: &str = "scale-per-peer";
pub(super) const PER_NODE: &str = "scale-per-node";
/// Data in a packet of an Ethernet: 1500 bytes without the headers of IPv4, UDP and RMPP.
const PACKET_BYTES: usize = 1_444;
/// To how many others each node sends a message of 8 bytes.
const PARTNERS: u32 = 64;
/// At most this part of the memory that is free is used.
const MOST_MEMORY: f64 = 0.9;
/// Bytes per pair of nodes before any were measured, and how much more the simulator keeps itself.
const GUESS: f64 = 165.0;
const BESIDE: f64 = 1.1;
const PROFILES: [(&str, Caps); 2] = [("rmpp", Caps::FAST), ("rmpp classic", Caps::CLASSIC)];

/// The greatest system of the other protocols: their simulator looks at each node at each step.
const MOST_NODES: u32 = 512;

/// To whom each node sends, in the order in which a ring is shifted.
fn partners(nodes: u32) -> Vec<Vec<u32>> {
    let partners = PARTNERS.min(nodes - 1);
    let stride = (nodes - 1) / partners;
    let to = |from: u32, phase: u32| (from + 1 + phase * stride) % nodes;
    let node = |from| (0..partners).map(|phase| to(from, phase)).collect();
    (0..nodes).map(node).collect()
}

/// Each node sends 8 bytes to many others.
fn all_to_many(nodes: u32) -> Vec<Vec<(u32, u64)>> {
    let eight = |partners: Vec<u32>| partners.into_iter().map(|to| (to, 8)).collect();
    partners(nodes).into_iter().map(eight).collect()
}

fn simulate(nodes: u32, caps: Caps) -> Outcome {
    let traffic = Traffic {
        config: Config::with_caps(nodes, PACKET_BYTES, caps),
        wires: Wires {
            bytes_per_us: 1_250,
            port_bytes: 1 << 20,
        },
        faults: Faults::none(),
        seed: 1,
        sends: all_to_many(nodes),
        landing_ns: 0,
        window: 64,
        limit_ns: 60_000_000_000,
    };
    traffic.run()
}

/// Memory in bytes that the system could give.
fn free_bytes() -> f64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|it| it.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) * 1024.0
}

/// Figures of each system, by its number of nodes. One that needs too much memory or comes after
/// `deadline` says so.
pub(super) fn measure(sizes: &[u32], deadline: Instant) -> Vec<Record> {
    // First those that are measured by the growth of this process.
    let pipes = measure_pipes(sizes, deadline);
    let mut records = Vec::new();
    for (who, caps) in PROFILES {
        for nodes in sizes {
            let count = f64::from(*nodes);
            let need = count * count * GUESS * BESIDE;
            let figures = if need > free_bytes() * MOST_MEMORY {
                Err(format!(
                    "not simulated: needs {:.0} GB of memory",
                    need / 1e9
                ))
            } else if Instant::now() > deadline {
                Err("not simulated: the time of the experiment was over".to_owned())
            } else {
                eprintln!("laboratory: scale: {who}, {nodes} nodes");
                figures_of(count, &simulate(*nodes, caps))
            };
            let figure = |index: usize| figures.clone().map(|all| all[index]);
            for (index, panel) in [PACKETS, PER_PEER, PER_NODE].into_iter().enumerate() {
                records.push(record(who, (panel, *nodes), figure(index)));
            }
        }
    }
    records.extend(pipes);
    records
}

/// The same of the protocols that carry streams. Their state is not told apart by peers.
fn measure_pipes(sizes: &[u32], deadline: Instant) -> Vec<Record> {
    let mut records = Vec::new();
    for (who, guest) in PIPES {
        for &nodes in sizes {
            let taken = if nodes > MOST_NODES {
                Err(format!("not simulated: more than {MOST_NODES} nodes"))
            } else if Instant::now() > deadline {
                Err("not simulated: the time of the experiment was over".to_owned())
            } else {
                eprintln!("laboratory: scale: {who}, {nodes} nodes");
                pipes::simulate((who, guest), PACKET_BYTES, &partners(nodes))
            };
            let packets = taken.as_ref().map(|it| it.packets_per_message);
            let packets = packets.map_err(String::clone);
            let per_peer = taken.and_then(|it| it.bytes_per_peer);
            let beside = Err("not told apart from that of the peers".to_owned());
            records.push(record(who, (PACKETS, nodes), packets));
            records.push(record(who, (PER_PEER, nodes), per_peer));
            records.push(record(who, (PER_NODE, nodes), beside));
        }
    }
    records
}

fn record(who: &str, (panel, nodes): (&str, u32), figure: Result<f64, String>) -> Record {
    Record {
        round: 0,
        who: who.to_owned(),
        what: format!("{panel}: {nodes}"),
        figure,
    }
}

/// Packets per message, bytes per peer, KiB of a node beside its peers.
fn figures_of(nodes: f64, outcome: &Outcome) -> Result<[f64; 3], String> {
    if !outcome.is_finished {
        return Err("failed: the simulation did not finish".to_owned());
    }
    let per_peer = outcome.peer_state_bytes as f64 / nodes;
    let beside = outcome.other_state_bytes as f64 / 1024.0;
    Ok([outcome.packets_per_message(), per_peer, beside])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_system_has_all_figures() {
        let deadline = Instant::now() + std::time::Duration::from_secs(600);
        let records = measure(&[2, 8], deadline);
        assert_eq!(records.len(), (PROFILES.len() + PIPES.len()) * 2 * 3);
        let is_expected = |it: &Record| {
            let is_told = it.what.starts_with(PACKETS) || it.who.starts_with("rmpp");
            it.figure.as_ref().map_or(!is_told, |it| *it > 0.0)
        };
        assert!(records.iter().all(is_expected), "{records:?}");
    }

    #[test]
    fn what_does_not_fit_into_memory_says_so() {
        let records = measure(&[4_000_000], Instant::now());
        let is_said = |it: &Record| {
            let why = it.figure.as_ref().err();
            why.is_some_and(|why| why.contains("GB") || !it.who.starts_with("rmpp"))
        };
        assert!(records.iter().all(is_said), "{records:?}");
    }
}
