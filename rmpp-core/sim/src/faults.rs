//! Faults beside those of links: nodes that sleep, packets that lie; and how it ends.

use rmpp_core::{Flags, Header, Kind, NodeId};

use super::checker::{Outcome, Verdict, hold};
use super::network::Faults;
use super::node::Tagged;
use super::world::{Act, MOST_FORGED, World};

impl World {
    pub(super) fn fall_asleep(&mut self, pause: usize) -> Verdict {
        let pause = self.plan.pauses[pause];
        self.nodes[pause.node as usize].asleep = true;
        self.note("sleep", pause.node, u32::MAX, pause.span_ns);
        if self.plan.dead() == Some(pause.node) {
            for tag in 0..self.checker.messages.len() {
                let message = &self.checker.messages[tag];
                if message.outcome == Outcome::Open && message.from == pause.node {
                    self.checker.orphan(tag as u32);
                }
            }
        }
        Ok(())
    }

    pub(super) fn wake_up(&mut self, at: u32) -> Verdict {
        self.note("wake", at, u32::MAX, 0);
        self.nodes[at as usize].asleep = false;
        self.start_timers(at);
        // A driver may look at its timers or at its socket first.
        if self.rng.chance(500_000) {
            self.handle_timeout(at)?;
        }
        while let Some((from, packet)) = self.nodes[at as usize].inbox.pop_front() {
            self.arrive(from, NodeId(at), packet)?;
        }
        Ok(())
    }

    /// I10, I13: a packet that fails rule S changes nothing.
    pub(super) fn forge(&mut self) -> Verdict {
        let nodes = u64::from(self.plan.config.nodes);
        let (at, from) = (
            self.rng.below(nodes) as u32,
            NodeId(self.rng.below(nodes + 2) as u32),
        );
        let node = &self.nodes[at as usize];
        let next_in = |from: NodeId| match from.0 < self.plan.config.nodes {
            true => node.endpoint.numbers(from).1,
            false => 0,
        };
        let mut header = Header {
            kind: Kind::LastRts,
            version: self.plan.config.version,
            src: from.0,
            msg_id: self.rng.bits() as u32,
            len: 0,
            seq: 0,
            info1: 0,
            info2: 0,
            msg_num: next_in(from),
            ack: 0,
            flags: Flags::NONE,
        };
        let what = self.rng.below(6);
        match what {
            0 => header.version ^= 1 << self.rng.below(16),
            1 => {
                let other = (from.0 + 1) % self.plan.config.nodes;
                (header.src, header.msg_num) = (other, next_in(NodeId(other)));
            }
            2 => header.len = 1 + self.rng.below(1 << 31),
            3 => header.kind = Kind::Rts,
            _ => {}
        }
        let mut bytes = header.encode().to_vec();
        let mut end = bytes.len();
        match what {
            4 => bytes[1] = 11 + self.rng.below(200) as u8,
            5 => end = self.rng.below(28) as usize,
            _ => {}
        }
        self.forged += 1;
        if self.healed.is_none() && self.forged < MOST_FORGED {
            let at_ns = self.rng.below(2 * self.plan.forge_ns);
            self.schedule(self.now.plus_ns(at_ns), Act::Forge);
        }
        self.throw(at, from, &bytes[..end])
    }

    pub(super) fn throw(&mut self, at: u32, from: NodeId, bytes: &[u8]) -> Verdict {
        let node = &mut self.nodes[at as usize];
        if node.asleep {
            return Ok(());
        }
        let state = |endpoint: &Tagged| {
            (
                endpoint.survey(),
                endpoint.state().is_quiet,
                endpoint.state().next_timeout,
            )
        };
        let before = state(&node.endpoint);
        let outcome = node
            .endpoint
            .handle(from, &node.endpoint.cut(bytes, bytes.len()), self.now);
        hold!(
            outcome.is_err(),
            "I10: node {at} took a packet that fails rule S: {bytes:?}"
        );
        let after = state(&node.endpoint);
        hold!(
            before == after,
            "I10: a packet that fails rule S left a trace: {bytes:?}"
        );
        Ok(())
    }

    pub(super) fn heal(&mut self) -> Verdict {
        self.note("heal", 0, u32::MAX, 0);
        self.healed = Some(self.now);
        self.plan.faults = Faults::none();
        self.network.mend();
        self.network.set_faults(Faults::none());
        self.plan.refuse_ppm = 0;
        self.plan.damage_ppm = 0;
        Ok(())
    }
}
