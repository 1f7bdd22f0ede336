//! Packets and state of the protocols that carry streams, in virtual time: links of mpi-lite over
//! its simulated network.

use std::fs;

use mpi_lite::clock::Instant;
use mpi_lite::data::Area;
use mpi_lite::transport::sim::{Air, Guest};
use mpi_lite::transport::{
    Arrival, ENVELOPE_BYTES, Incoming, Landing, Link, Links, Lost, Outbound, PeerId, Sink, Token,
    Transport,
};
use rmpp_core::{Caps, Config};
use rmpp_sim::Faults;

/// The protocols, by the names of their transports, which are also those of their counters.
pub(super) const PIPES: [(&str, Guest); 3] = [
    ("gobackn", Guest::GoBackN),
    ("unet", Guest::Unet),
    ("sctp", Guest::Sctp),
];
/// In smaller systems the growth of this process's memory tells nothing about a pair of nodes.
const FEWEST_NODES: usize = 512;

/// What a system took.
#[derive(Debug)]
pub(super) struct Taken {
    /// Packets of all kinds per message.
    pub packets_per_message: f64,
    /// Growth of this process's resident memory, in bytes, for each pair of nodes.
    pub bytes_per_peer: Result<f64, String>,
}

/// What a node has heard.
#[derive(Debug, Default)]
struct Ear {
    arrived: usize,
    has_lost: bool,
}

impl Sink for Ear {
    fn arriving(&mut self, message: Incoming) -> Landing {
        self.arrived += usize::from(message.is_whole);
        Landing::NOWHERE
    }

    fn arrived(&mut self, _arrival: Arrival) {
        self.arrived += 1;
    }

    fn sent(&mut self, _token: Token) {}

    fn lost(&mut self, _lost: Lost) {
        self.has_lost = true;
    }

    fn wants_more(&self) -> bool {
        true
    }
}

/// Simulates a system without losses in which each node sends an empty message to each of its
/// `partners`. Returns what it took.
///
/// # Errors
/// In words: a message did not arrive, or a node counts a peer as lost.
pub(super) fn simulate(
    (name, guest): (&str, Guest),
    packet_bytes: usize,
    partners: &[Vec<u32>],
) -> Result<Taken, String> {
    let nodes = partners.len();
    let before = resident_bytes();
    let count = u32::try_from(nodes).map_err(|_| "too many nodes".to_owned())?;
    let config = Config::with_caps(count, packet_bytes, Caps::FAST);
    let air = Air::new(nodes, 1, Faults::none());
    let link = |me| Link::simulated(guest, &air, PeerId(me), &config);
    let mut links: Vec<Link> = (0..count).map(link).collect();
    let mut ears: Vec<Ear> = (0..count).map(|_| Ear::default()).collect();
    let mut messages = 0;
    for (link, partners) in links.iter_mut().zip(partners) {
        for &to in partners {
            send(link, PeerId(to))?;
            messages += 1;
        }
    }
    run(&air, &mut links, &mut ears);
    if ears.iter().any(|ear| ear.has_lost) {
        return Err("failed: a node counts another one as lost".to_owned());
    }
    if ears.iter().map(|ear| ear.arrived).sum::<usize>() != messages {
        return Err("failed: a message did not arrive".to_owned());
    }
    let grown = resident_bytes() - before;
    let packets: u64 = links.into_iter().map(|link| packets_sent(link, name)).sum();
    let bytes_per_peer = if nodes < FEWEST_NODES {
        Err("too few nodes to tell".to_owned())
    } else {
        Ok(grown / (nodes * nodes) as f64)
    };
    Ok(Taken {
        packets_per_message: packets as f64 / messages as f64,
        bytes_per_peer,
    })
}

fn send(link: &mut Link, to: PeerId) -> Result<(), String> {
    let message = Outbound {
        envelope: &[0; ENVELOPE_BYTES],
        body: Area::EMPTY,
        token: Token(0),
        is_awaited: false,
        needs_match: false,
    };
    link.send(to, message)
        .map_err(|refusal| format!("failed: a message cannot be sent: {refusal:?}"))?;
    link.flush();
    Ok(())
}

/// Lets time pass until nothing is under way and no timer runs.
fn run(air: &Air, links: &mut [Link], ears: &mut [Ear]) {
    loop {
        let mut wake_at: Option<Instant> = None;
        for (me, (link, ear)) in (0..).zip(links.iter_mut().zip(&mut *ears)) {
            let is_due = |link: &Link| link.wake_at().is_some_and(|at| at <= air.now());
            if air.has_mail(PeerId(me)) || is_due(link) {
                link.progress(air.now(), ear);
            }
            wake_at = wake_at.into_iter().chain(link.wake_at()).min();
        }
        if !air.advance(wake_at) {
            return;
        }
    }
}

/// Packets of this protocol that the only link of a process has sent.
fn packets_sent(link: Link, name: &str) -> u64 {
    let rows = Links::new(link, None, None).tallies().rows();
    let row = rows
        .iter()
        .find(|row| row.part == name && row.item == "packets_sent");
    row.map_or(0, |row| row.value)
}

/// Resident memory of this process, in bytes; 0 if the system does not say.
fn resident_bytes() -> f64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|it| it.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) * 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_protocol_carries_each_message_with_at_least_one_packet() {
        let partners: Vec<Vec<u32>> = (0..4)
            .map(|me| (0..4).filter(|to| *to != me).collect())
            .collect();
        for (name, guest) in PIPES {
            let taken = simulate((name, guest), 1_444, &partners);
            let packets = taken.map(|it| it.packets_per_message);
            assert!(
                packets.as_ref().is_ok_and(|it| *it >= 1.0),
                "{name}: {packets:?}"
            );
        }
    }
}
