//! Arbitrary packets from a lying peer, thrown at a live pair: no panic, no leak of grants, no
//! growth. `RMPP_SEED=n` runs one seed alone.

use std::time::Duration;

use crate::wire::{self, PACKET, Packet, Wire, config};
use rmpp_core::Rng;
use rmpp_core::{Flags, Header, Kind, Landing, NodeId};

const SEEDS: u64 = 60;
const PACKETS: u64 = 2_000;

/// A packet that never was, near enough to real ones to get deep.
fn lie(rng: &mut Rng, seen: &[Packet]) -> Packet {
    let mut packet = match seen.len() {
        0 => arbitrary(rng),
        len => seen[rng.below(len as u64) as usize].clone(),
    };
    for _ in 0..rng.below(4) {
        let small = rng.below(40) as u32;
        let header = &mut packet.header;
        match rng.below(9) {
            0 => header.kind = rng.pick(&Kind::ALL),
            1 => header.src = small % 3,
            2 => header.msg_id = header.msg_id.wrapping_add(small).wrapping_sub(20),
            3 => {
                header.len = rng.pick(&[
                    0,
                    100,
                    101,
                    300,
                    5_000,
                    u64::from(u32::MAX),
                    u64::from(small),
                ])
            }
            4 => header.seq = rng.pick(&[0, 1, 2, u32::MAX, small]),
            5 => header.info1 = rng.pick(&[0, 1, 16, u16::MAX]),
            6 => {
                header.info2 = header
                    .info2
                    .wrapping_add(rng.pick(&[1, 2, u16::MAX, 1 << 15]))
            }
            7 => header.msg_num = header.msg_num.wrapping_add(small).wrapping_sub(20),
            _ => packet.len = rng.pick(&[0, 1, 99, 100, 101, 65_507]),
        }
    }
    packet
}

fn arbitrary(rng: &mut Rng) -> Packet {
    let header = Header {
        kind: rng.pick(&Kind::ALL),
        version: 1,
        src: rng.below(3) as u32,
        msg_id: rng.bits() as u32,
        len: rng.bits() >> 32,
        seq: rng.bits() as u32,
        info1: rng.bits() as u16,
        info2: rng.bits() as u16,
        msg_num: rng.bits() as u32,
        ack: 0,
        flags: Flags::NONE,
    };
    Packet {
        from: NodeId(0),
        to: NodeId(1),
        header,
        tail: Vec::new(),
        len: rng.below(200) as usize,
    }
}

fn run(seed: u64) {
    let mut rng = Rng::new(seed);
    let mut wire = Wire::new(2, config(2));
    let mut seen = Vec::new();
    let mut live = 0;
    for _ in 0..PACKETS {
        wire.landing = rng.pick(&[Some(Landing::Accept), Some(Landing::Drop), None]);
        let from = rng.below(2) as u32;
        match rng.below(12) {
            0 => drop(wire.send(from, 1 - from, rng.below(20 * PACKET))),
            1 => wire.land_all(from, Landing::Accept),
            2 => {
                wire.now = wire.now.plus(Duration::from_millis(rng.below(300)));
                wire.timeouts();
            }
            3..=6 => {
                let Some(packet) = wire.take(from) else {
                    continue;
                };
                let _ = wire.give(&packet);
                seen.push(packet);
            }
            _ => {
                let mut packet = lie(&mut rng, &seen);
                if rng.chance(300_000) {
                    (packet.from, packet.to) = (packet.to, packet.from);
                }
                let _ = wire.give(&packet);
                live += 1;
            }
        }
        for node in &wire.nodes {
            let survey = node.survey();
            assert_eq!(survey.outstanding, survey.granted, "seed {seed}");
            let next = node.state().next_timeout;
            assert!(
                next.is_none_or(|at| at.0 < u64::MAX / 2),
                "seed {seed}: {next:?}"
            );
        }
    }
    assert!(live > 100);
}

#[test]
fn rule_s_a_false_peer_can_harm_only_its_own_messages() {
    match std::env::var("RMPP_SEED") {
        Ok(seed) => run(seed.parse().expect("RMPP_SEED is a number")),
        Err(_) => (0..SEEDS).for_each(run),
    }
}

#[test]
fn rule_s_random_bytes_do_nothing() {
    let mut rng = Rng::new(7);
    let mut wire = Wire::new(3, config(3));
    wire.send(0, 1, 8);
    for _ in 0..100_000 {
        let mut bytes: Vec<u8> = (0..rng.below(60)).map(|_| rng.bits() as u8).collect();
        if bytes.len() > 4 && rng.chance(500_000) {
            let kind = rng.below(12) as u8;
            bytes[..4].copy_from_slice(&[0, kind, 0, 1]);
        }
        let before = wire.nodes[1].survey();
        let from = NodeId(rng.below(5) as u32);
        let len = rng.below(200) as usize;
        let outcome = wire::handle((&mut wire.nodes[1], from), &bytes, len, wire.now);
        assert!(outcome.is_err(), "{bytes:?}");
        assert_eq!(wire.nodes[1].survey(), before);
    }
}
