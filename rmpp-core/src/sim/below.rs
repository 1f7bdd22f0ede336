//! The layer below the endpoints: carries packets, and hears what becomes of messages.

use alloc::format;
use alloc::string::String;

use super::checker::{Outcome, Verdict, hold};
use super::node::Packet;
use super::witness::Witness;
use super::world::{Act, COOKIE, MOST_UNDER_WAY, World};
use crate::event::{Event, Landing, Placement, Transmit};
use crate::ids::{IncomingId, NodeId};
use crate::packet::{Flags, Header, Kind};

impl World {
    pub(super) fn arrive(&mut self, from: NodeId, to: NodeId, packet: Packet) -> Verdict {
        if self.nodes[to.0 as usize].asleep {
            if self.plan.dead() != Some(to.0) {
                self.nodes[to.0 as usize].inbox.push_back((from, packet));
            }
            return Ok(());
        }
        // Rule E: another job's packet goes no further, nor one that was damaged.
        if packet.cookie != COOKIE {
            return Ok(());
        }
        let len = packet.payload.map_or(0, |payload| payload.len);
        let node = &mut self.nodes[to.0 as usize];
        let outcome = node
            .endpoint
            .handle_packet(from, &packet.header, len, self.now);
        let code = match outcome {
            Ok(_) => 0,
            Err(reason) => 1 + reason as u64,
        };
        if self.verbose {
            self.describe(to.0, &packet, outcome.err());
        }
        self.note(
            "packet",
            to.0,
            packet.payload.map_or(u32::MAX, |p| p.tag),
            code,
        );
        match outcome {
            Ok(placement) => self.place(to.0, &packet, placement)?,
            Err(_) if self.calm && self.plan.abort_ppm == 0 => {
                return Err(format!(
                    "P14: a packet was dropped in a calm run: {outcome:?}"
                ));
            }
            Err(_) => {}
        }
        self.service(to.0)
    }

    pub(super) fn describe(
        &self,
        to: u32,
        packet: &Packet,
        dropped: Option<crate::error::Dropped>,
    ) {
        let Some(h) = Header::decode(&packet.header) else {
            return;
        };
        let fate = dropped.map_or(String::from("taken"), |reason| format!("dropped: {reason}"));
        let tag = self.tag_of(&h);
        std::println!(
            "{:>15} node {to:<3} <- {} of message {tag:?} seq {} n {} attempt {}: {fate}",
            self.now.0,
            h.kind.name(),
            h.seq,
            h.info1,
            h.info2
        );
    }

    pub(super) fn tag_of(&self, header: &Header) -> Option<u32> {
        let node = self.nodes.get(header.src as usize)?;
        node.tables.tag_of(header, self.plan.config.first_msg_id)
    }

    fn witness(&mut self, at: u32) -> Witness<'_> {
        Witness {
            at,
            tables: &mut self.nodes[at as usize].tables,
            checker: &mut self.checker,
        }
    }

    pub(super) fn place(&mut self, at: u32, packet: &Packet, placement: Placement) -> Verdict {
        match self.witness(at).placed(packet, placement)? {
            Some((message, tag)) => self.decide_landing(at, message, tag),
            None => Ok(()),
        }
    }

    pub(super) fn decide_landing(&mut self, at: u32, id: IncomingId, tag: u32) -> Verdict {
        let unwanted = self.rng.chance(self.plan.refuse_ppm);
        let landing = if unwanted {
            Landing::Drop
        } else {
            Landing::Accept
        };
        if self.rng.chance(self.plan.later_ppm) {
            let later = self.now.plus_ns(self.rng.below(self.plan.later_ns));
            self.schedule(later, Act::Land(at, id, tag, landing));
            // A driver should say so, and may forget.
            if self.rng.chance(800_000) {
                let node = &mut self.nodes[at as usize];
                node.endpoint.land(id, Landing::Later, self.now);
            }
            return Ok(());
        }
        self.land(at, id, tag, landing)
    }

    /// Sends what an endpoint has to send, hears what it has to tell, and checks it.
    pub(super) fn service(&mut self, at: u32) -> Verdict {
        while !self.nodes[at as usize].stalled {
            let Some(transmit) = self.nodes[at as usize].endpoint.poll_transmit(self.now) else {
                break;
            };
            self.transmit(at, &transmit)?;
            if self.rng.chance(self.plan.stall_ppm) && self.healed.is_none() {
                self.nodes[at as usize].stalled = true;
                let until = self.now.plus_ns(self.rng.below(1_000_000));
                self.schedule(until, Act::Unstall(at));
            }
        }
        while let Some(event) = self.nodes[at as usize].endpoint.poll_event() {
            self.hear(at, event)?;
        }
        let cost = self.nodes[at as usize].endpoint.survey_cost();
        let every = (cost / 32 + 1) as u64;
        if self.plan.dead().is_some() || !self.report.packets.is_multiple_of(every) {
            return Ok(());
        }
        self.checker
            .node(at, &self.nodes[at as usize].endpoint.survey())
    }

    pub(super) fn transmit(&mut self, from: u32, transmit: &Transmit) -> Verdict {
        let header = Header::decode(&transmit.header).ok_or("P1: a header that is none")?;
        let (tag, payload) = if header.flags.has(Flags::PURE) {
            (u32::MAX, None)
        } else {
            let tag = self
                .tag_of(&header)
                .ok_or("P1: a packet of no known message")?;
            let payload = self.witness(from).transmitted(transmit, &header, tag)?;
            (tag, payload)
        };
        self.note(header.kind.name(), from, tag, u64::from(header.seq));
        self.report.packets += 1;
        let under_way = self.network.under_way();
        hold!(
            under_way < MOST_UNDER_WAY,
            "I15: node {from} sends without end"
        );
        let packet = Packet {
            cookie: COOKIE,
            header: transmit.header,
            payload,
        };
        self.launch(NodeId(from), transmit.to, header.kind, packet);
        Ok(())
    }

    pub(super) fn launch(&mut self, from: NodeId, to: NodeId, kind: Kind, packet: Packet) {
        if self.rng.chance(self.plan.stale_ppm) {
            let stale = Packet {
                cookie: COOKIE ^ 1,
                ..packet.clone()
            };
            let at = self.now.plus_ns(self.rng.below(1_000_000));
            self.schedule(at, Act::Late(from, to, stale));
        }
        if self.rng.chance(self.plan.late_ppm) {
            let at = self.now.plus_ns(self.rng.below(self.plan.late_ns));
            self.schedule(at, Act::Late(from, to, packet.clone()));
        }
        let is_damaged = self.rng.chance(self.plan.damage_ppm);
        let packet = Packet {
            cookie: packet.cookie ^ u64::from(is_damaged),
            ..packet
        };
        self.network
            .send_kind(self.now, (from, to), Some(kind), packet);
    }

    pub(super) fn hear(&mut self, at: u32, event: Event) -> Verdict {
        if let Event::Lost(peer) = event {
            return self.lose(at, peer.0);
        }
        if let Event::Due { message, len } = event {
            let tag = self.witness(at).due(message, len)?;
            self.note("due", at, tag, len);
            return self.decide_landing(at, message, tag);
        }
        let (what, tag) = self.witness(at).heard(event)?;
        self.note(what, at, tag, 0);
        Ok(())
    }

    pub(super) fn lose(&mut self, at: u32, peer: u32) -> Verdict {
        self.note("lost", at, u32::MAX, u64::from(peer));
        hold!(
            self.plan.dead() == Some(peer),
            "I5: node {at} gave up node {peer}, which lives"
        );
        self.end_all(|from, to| (from, to) == (at, peer))
    }

    pub(super) fn end_all(&mut self, which: impl Fn(u32, u32) -> bool) -> Verdict {
        for tag in 0..self.checker.messages.len() {
            let message = &self.checker.messages[tag];
            if message.outcome == Outcome::Open && which(message.from, message.to) {
                self.checker.end(tag as u32, Outcome::Lost)?;
            }
        }
        Ok(())
    }

    pub(super) fn handle_timeout(&mut self, at: u32) -> Verdict {
        let now = self.now;
        let node = &mut self.nodes[at as usize];
        if node.asleep || node.endpoint.next_timeout().is_none_or(|timer| timer > now) {
            return Ok(());
        }
        node.endpoint.handle_timeout(now);
        let next = node.endpoint.next_timeout();
        hold!(
            next.is_none_or(|timer| timer > now),
            "I15: node {at} has a timer in the past"
        );
        let (since, count) = node.timeouts_now;
        node.timeouts_now = if since == now {
            (now, count + 1)
        } else {
            (now, 1)
        };
        hold!(node.timeouts_now.1 <= 50, "I15: node {at} spins");
        self.service(at)
    }
}
