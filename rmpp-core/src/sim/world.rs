//! Endpoints over a faulty network in virtual time, checked after each step.

use alloc::collections::BinaryHeap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::checker::{Checker, Outcome, Verdict, all_gone, hold};
use super::network::{Faults, Network};
use super::node::{Node, Packet, Payload};
use super::plan::{Pattern, Plan};
use crate::endpoint::Endpoint;
use crate::error::SendError;
use crate::event::{Event, Landing, Placement, Transmit};
use crate::ids::{IncomingId, NodeId, OutgoingId};
use crate::packet::{Header, Kind};
use crate::rng::Rng;
use crate::time::{Instant, nanoseconds};

/// The cookie of the simulated job (rule E).
const COOKIE: u64 = 0xc00c_1e00;
/// I16: so long after the network has healed all must be done.
const HEALING_NS: u64 = 10_000_000_000;
/// So long one packet type alone may be lost.
const ONE_KIND_NS: u64 = 2_000_000_000;
/// I15: no run takes so many steps.
const MOST_STEPS: u64 = 5_000_000;
/// So many packets that fail rule S are thrown in.
const MOST_FORGED: u32 = 300;

/// What a run that kept all invariants has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Messages sent.
    pub messages: u64,
    /// Packets handed to the network.
    pub packets: u64,
    /// Steps taken, each of them checked.
    pub steps: u64,
    /// Digest of everything that happened, in order.
    pub digest: u64,
    /// Virtual time that passed, in nanoseconds.
    pub virtual_ns: u64,
}

#[derive(Clone, Debug)]
enum Act {
    Send,
    Abort(u32),
    Land(u32, IncomingId, u32, Landing),
    Sleep(usize),
    Wake(u32),
    Cut(usize),
    Late(NodeId, NodeId, Packet),
    Unstall(u32),
    Forge,
    MendKind,
    Heal,
}

/// A run. Everything in it follows from its plan.
pub struct World {
    plan: Plan,
    rng: Rng,
    now: Instant,
    nodes: Vec<Node>,
    network: Network<Packet>,
    checker: Checker,
    /// When what is to happen; the list beside it holds what.
    agenda: BinaryHeap<Reverse<(Instant, usize)>>,
    acts: Vec<Option<Act>>,
    free_acts: Vec<usize>,
    to_send: u32,
    forged: u32,
    calm: bool,
    healed: Option<Instant>,
    verbose: bool,
    report: Report,
}

impl World {
    /// The beginning of the run that `plan` describes; `verbose` prints one line per event.
    #[must_use]
    pub fn new(plan: Plan, verbose: bool) -> Self {
        let config = &plan.config;
        let nodes = (0..config.nodes).map(|node| {
            let mut own = config.clone();
            own.seed = plan.seed ^ u64::from(node);
            // A node that sleeps must not blame the others for it (rule T).
            if plan.pauses.iter().any(|pause| pause.node == node) {
                own.lost_after = Some(core::time::Duration::from_secs(120));
            }
            Node::new(Endpoint::new(NodeId(node), own))
        });
        let mut world = Self {
            rng: Rng::new(plan.seed),
            now: Instant::ZERO,
            nodes: nodes.collect(),
            network: Network::new(plan.seed ^ 0x2e7, plan.faults.clone()),
            checker: Checker::new(config.nodes, config.packet_bytes, config.max_rcv_buf),
            agenda: BinaryHeap::new(),
            acts: Vec::new(),
            free_acts: Vec::new(),
            to_send: plan.messages,
            forged: 0,
            calm: plan.is_calm(),
            healed: None,
            verbose,
            report: Report::default(),
            plan,
        };
        world.fill_agenda();
        world
    }

    /// Runs to the end, checking each step.
    ///
    /// # Errors
    /// Says which invariant was broken when, and by what.
    pub fn run(mut self) -> Result<Report, String> {
        let seed = self.plan.seed;
        let verdict = self.run_to_end();
        if let (true, Err(violation)) = (self.verbose, &verdict) {
            std::println!("{:>15} violation: {violation}", self.now.0);
        }
        verdict.map_err(|violation| format!("seed {seed}, at {} ns: {violation}", self.now.0))?;
        self.report.messages = self.checker.messages.len() as u64;
        self.report.virtual_ns = self.now.0;
        Ok(self.report)
    }

    fn run_to_end(&mut self) -> Verdict {
        while !self.is_over() {
            let Some(at) = self.next_moment() else {
                return Err(String::from("I16: nothing will ever happen again"));
            };
            self.now = self.now.max(at);
            self.check_healing()?;
            self.happen()?;
            self.report.steps += 1;
            hold!(
                self.report.steps < MOST_STEPS,
                "I15: {MOST_STEPS} steps and no end"
            );
        }
        self.check_end()
    }

    fn fill_agenda(&mut self) {
        self.schedule(Instant::ZERO, Act::Send);
        for at in 0..self.plan.pauses.len() {
            let pause = self.plan.pauses[at];
            self.schedule(Instant(pause.at_ns), Act::Sleep(at));
            if pause.span_ns < u64::MAX {
                self.schedule(Instant(pause.at_ns + pause.span_ns), Act::Wake(pause.node));
            }
        }
        for at in 0..self.plan.cuts.len() {
            self.schedule(Instant(self.plan.cuts[at].at_ns), Act::Cut(at));
        }
        self.schedule(Instant(ONE_KIND_NS), Act::MendKind);
        if self.plan.forge_ns > 0 {
            self.schedule(Instant::ZERO, Act::Forge);
        }
    }

    fn schedule(&mut self, at: Instant, act: Act) {
        let slot = self.free_acts.pop().unwrap_or(self.acts.len());
        if slot == self.acts.len() {
            self.acts.push(None);
        }
        self.acts[slot] = Some(act);
        self.agenda.push(Reverse((at, slot)));
    }

    fn is_over(&self) -> bool {
        let dead = self.plan.dead();
        let quiet = |(_, node): (u32, &Node)| node.endpoint.is_quiet();
        self.healed.is_some()
            && self.checker.unfinished == 0
            && (0..)
                .zip(&self.nodes)
                .filter(|(n, _)| Some(*n) != dead)
                .all(quiet)
    }

    fn next_moment(&self) -> Option<Instant> {
        let planned = self.agenda.peek().map(|entry| entry.0.0);
        let awake = self.nodes.iter().filter(|node| !node.asleep);
        let timers = awake.filter_map(|node| node.endpoint.next_timeout());
        timers
            .chain(planned)
            .chain(self.network.next_delivery())
            .min()
    }

    /// Everything that is due now.
    fn happen(&mut self) -> Verdict {
        while let Some((from, to, packet)) = self.network.deliver(self.now) {
            self.arrive(from, to, packet)?;
        }
        while let Some(&Reverse((at, slot))) = self.agenda.peek() {
            if at > self.now {
                break;
            }
            self.agenda.pop();
            self.free_acts.push(slot);
            let act = self.acts[slot]
                .take()
                .ok_or("an agenda entry without its act")?;
            self.act(act)?;
        }
        for node in 0..self.nodes.len() as u32 {
            self.handle_timeout(node)?;
        }
        Ok(())
    }

    fn act(&mut self, act: Act) -> Verdict {
        match act {
            Act::Send => self.send(),
            Act::Abort(tag) => self.abort(tag),
            Act::Land(node, id, tag, landing) => self.land(node, id, tag, landing),
            Act::Sleep(pause) => self.fall_asleep(pause),
            Act::Wake(node) => self.wake_up(node),
            Act::Cut(at) => {
                let cut = self.plan.cuts[at];
                let until = Instant(cut.at_ns.saturating_add(cut.span_ns));
                self.network.cut(NodeId(cut.node), NodeId(cut.to), until);
                Ok(())
            }
            Act::Late(from, to, packet) => self.arrive(from, to, packet),
            Act::Unstall(node) => {
                self.nodes[node as usize].stalled = false;
                self.service(node)
            }
            Act::Forge => self.forge(),
            Act::MendKind => {
                let faults = Faults {
                    loss_of: None,
                    ..self.plan.faults.clone()
                };
                self.network.set_faults(faults);
                Ok(())
            }
            Act::Heal => self.heal(),
        }
    }

    /// One line, and one step of the digest, for each thing that happens.
    fn note(&mut self, what: &str, node: u32, tag: u32, detail: u64) {
        let mut digest = self.report.digest;
        let words = [self.now.0, u64::from(node), u64::from(tag), detail];
        for word in what.bytes().map(u64::from).chain(words) {
            digest = (digest ^ word)
                .wrapping_mul(0x0000_0100_0000_01b3)
                .rotate_left(29);
        }
        self.report.digest = digest;
        if self.verbose {
            let tag = if tag == u32::MAX {
                String::from("-")
            } else {
                format!("{tag}")
            };
            std::println!(
                "{:>15} node {node:<3} {what:<11} message {tag:<5} {detail}",
                self.now.0
            );
        }
    }

    // ---- the layer above ----

    fn send(&mut self) -> Verdict {
        let (from, to) = self.draw_pair();
        if !self.nodes[from as usize].asleep {
            let len = self.draw_len();
            let sent = self.nodes[from as usize]
                .endpoint
                .send(NodeId(to), len, self.now);
            match sent {
                Ok(id) => self.note_sent(from, to, len, id),
                Err(SendError::PeerLost { .. }) if self.plan.dead() == Some(to) => {}
                Err(error) => return Err(format!("I5: a send was refused: {error}")),
            }
            self.service(from)?;
        }
        self.to_send -= 1;
        let gap = if self.rng.chance(200_000) {
            0
        } else {
            self.plan.gap_ns
        };
        if self.to_send > 0 {
            let at = self.now.plus_ns(self.rng.below(2 * gap + 1));
            self.schedule(at, Act::Send);
        } else {
            let rest = self.rng.below(2_000_000_000);
            let at = self.now.0.max(self.plan.outages_end_ns()) + rest;
            self.schedule(Instant(at), Act::Heal);
        }
        Ok(())
    }

    fn draw_pair(&mut self) -> (u32, u32) {
        let nodes = u64::from(self.plan.config.nodes);
        let from = self.rng.below(nodes) as u32;
        let other = |from: u32, by: u64| ((u64::from(from) + 1 + by) % nodes) as u32;
        match self.plan.pattern {
            Pattern::OneWay => (from, other(from, 0)),
            Pattern::Incast if from != 0 => (from, 0),
            _ => (from, other(from, self.rng.below(nodes - 1))),
        }
    }

    /// Lengths on and around the borders between packets.
    fn draw_len(&mut self) -> u64 {
        let packet = self.plan.config.packet_bytes as u64;
        match self.rng.below(10) {
            0 => 0,
            1 => 1,
            2..=5 => self.rng.below(packet + 1),
            6 => packet + self.rng.below(3) - 1,
            _ => {
                let packets = 1 + self.rng.below(self.plan.max_packets);
                (packets + 1) * packet + self.rng.below(3) - 1
            }
        }
    }

    fn note_sent(&mut self, from: u32, to: u32, len: u64, id: OutgoingId) {
        let tag = self.checker.enter(from, to, len as u32);
        self.note("send", from, tag, len);
        let node = &mut self.nodes[from as usize];
        node.outgoing.put(id.index(), id, tag);
        node.sent.push(tag);
        if self.rng.chance(self.plan.abort_ppm) {
            let at = self.now.plus_ns(self.rng.below(5_000_000));
            self.schedule(at, Act::Abort(tag));
        }
    }

    fn abort(&mut self, tag: u32) -> Verdict {
        let message = &mut self.checker.messages[tag as usize];
        let from = message.from;
        let node = &mut self.nodes[from as usize];
        if message.outcome != Outcome::Open || node.asleep {
            return Ok(());
        }
        message.abort_asked = true;
        let id = node
            .outgoing
            .id_of(tag)
            .ok_or("an open message has an id")?;
        node.endpoint.abort(id, self.now);
        self.note("abort", from, tag, 0);
        self.service(from)
    }

    fn land(&mut self, at: u32, id: IncomingId, tag: u32, landing: Landing) -> Verdict {
        let node = &mut self.nodes[at as usize];
        if node.asleep {
            if self.plan.dead() != Some(at) {
                let awake = Instant(self.plan.outages_end_ns() + 1);
                self.schedule(awake, Act::Land(at, id, tag, landing));
            }
            return Ok(());
        }
        // A message that was aborted meanwhile: the endpoint must leave it alone.
        if node.incoming.get(id.index(), id).is_some() {
            self.checker.messages[tag as usize].landing = Some(landing);
            if landing == Landing::Drop {
                node.incoming.take(id.index(), id);
            }
        }
        node.endpoint.land(id, landing, self.now);
        self.note("land", at, tag, u64::from(landing == Landing::Accept));
        self.service(at)
    }

    // ---- the layer below ----

    fn arrive(&mut self, from: NodeId, to: NodeId, packet: Packet) -> Verdict {
        if self.nodes[to.0 as usize].asleep {
            if self.plan.dead() != Some(to.0) {
                self.nodes[to.0 as usize].inbox.push_back((from, packet));
            }
            return Ok(());
        }
        // Rule E: another job's packet goes no further.
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

    fn describe(&self, to: u32, packet: &Packet, dropped: Option<crate::error::Dropped>) {
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

    fn tag_of(&self, header: &Header) -> Option<u32> {
        let place = header.msg_id.wrapping_sub(self.plan.config.first_msg_id);
        self.nodes
            .get(header.src as usize)?
            .sent
            .get(place as usize)
            .copied()
    }

    fn place(&mut self, at: u32, packet: &Packet, placement: Placement) -> Verdict {
        let node = &mut self.nodes[at as usize];
        match (placement, packet.payload) {
            (Placement::None, _) => Ok(()),
            (Placement::First { message, len }, Some(payload)) => {
                hold!(
                    payload.offset == 0,
                    "I3: announced by bytes from {}",
                    payload.offset
                );
                node.incoming.put(message.index(), message, payload.tag);
                self.checker.announce(at, payload.tag, len)?;
                self.decide_landing(at, message, payload.tag)
            }
            (Placement::Data { message, offset }, Some(payload)) => {
                // The last packet's event is still to come, so the id is known.
                let tag = node.incoming.get(message.index(), message);
                hold!(
                    tag == Some(payload.tag),
                    "I3: {} placed in {tag:?}",
                    payload.tag
                );
                hold!(
                    offset == payload.offset,
                    "I3: {} placed at {offset}",
                    payload.offset
                );
                let header = Header::decode(&packet.header).ok_or("a header that was taken")?;
                self.checker.place(payload.tag, header.info2, header.seq)
            }
            (_, None) => Err(format!("I3: {placement:?} for a packet without payload")),
        }
    }

    fn decide_landing(&mut self, at: u32, id: IncomingId, tag: u32) -> Verdict {
        let unwanted = self.rng.chance(self.plan.refuse_ppm);
        let landing = if unwanted {
            Landing::Drop
        } else {
            Landing::Accept
        };
        if self.rng.chance(self.plan.later_ppm) {
            let later = self.now.plus_ns(self.rng.below(self.plan.later_ns));
            self.schedule(later, Act::Land(at, id, tag, landing));
            return Ok(());
        }
        self.land(at, id, tag, landing)
    }

    /// Sends what an endpoint has to send, hears what it has to tell, and checks it.
    fn service(&mut self, at: u32) -> Verdict {
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

    fn transmit(&mut self, from: u32, transmit: &Transmit) -> Verdict {
        let node = &self.nodes[from as usize];
        let header = Header::decode(&transmit.header).ok_or("P1: a header that is none")?;
        let payload = match transmit.message {
            None => None,
            Some(id) => {
                let tag = node.outgoing.get(id.index(), id);
                let tag = tag.ok_or("I4: a message is sent after its last event")?;
                Some(Payload {
                    tag,
                    offset: transmit.offset,
                    len: transmit.len,
                })
            }
        };
        let tag = self
            .tag_of(&header)
            .ok_or("P1: a packet of no known message")?;
        match header.kind {
            Kind::Cts => self
                .checker
                .allow(tag, u64::from(header.seq - 1 + u32::from(header.info1))),
            Kind::Data | Kind::StopData | Kind::LastData => {
                self.checker.data_sent(tag, header.seq)?;
            }
            _ => {}
        }
        self.note(header.kind.name(), from, tag, u64::from(header.seq));
        self.report.packets += 1;
        let packet = Packet {
            cookie: COOKIE,
            header: transmit.header,
            payload,
        };
        self.launch(NodeId(from), transmit.to, header.kind, packet);
        Ok(())
    }

    fn launch(&mut self, from: NodeId, to: NodeId, kind: Kind, packet: Packet) {
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
        self.network
            .send_kind(self.now, (from, to), Some(kind), packet);
    }

    fn hear(&mut self, at: u32, event: Event) -> Verdict {
        let node = &mut self.nodes[at as usize];
        let incoming = |node: &mut Node, id: IncomingId| node.incoming.take(id.index(), id);
        let outgoing = |node: &mut Node, id: OutgoingId| node.outgoing.take(id.index(), id);
        let unknown = "I1: an event for a message that had its last event";
        let (what, tag) = match event {
            Event::Arrived(id) => ("arrived", incoming(node, id).ok_or(unknown)?),
            Event::Aborted(id) => ("aborted", incoming(node, id).ok_or(unknown)?),
            Event::Sent(id) => ("sent", outgoing(node, id).ok_or(unknown)?),
            Event::Refused(id) => ("refused", outgoing(node, id).ok_or(unknown)?),
            Event::Cancelled(id) => ("cancelled", outgoing(node, id).ok_or(unknown)?),
            Event::Lost(peer) => return self.lose(at, peer.0),
        };
        self.note(what, at, tag, 0);
        match event {
            Event::Arrived(_) => self.checker.arrive(tag),
            Event::Aborted(_) => self.checker.abort(tag),
            Event::Sent(_) => self.checker.end(tag, Outcome::Sent),
            Event::Refused(_) => self.checker.end(tag, Outcome::Refused),
            _ => self.checker.end(tag, Outcome::Cancelled),
        }
    }

    fn lose(&mut self, at: u32, peer: u32) -> Verdict {
        self.note("lost", at, u32::MAX, u64::from(peer));
        hold!(
            self.plan.dead() == Some(peer),
            "I5: node {at} gave up node {peer}, which lives"
        );
        self.end_all(|from, to| (from, to) == (at, peer))
    }

    fn end_all(&mut self, which: impl Fn(u32, u32) -> bool) -> Verdict {
        for tag in 0..self.checker.messages.len() {
            let message = &self.checker.messages[tag];
            if message.outcome == Outcome::Open && which(message.from, message.to) {
                self.checker.end(tag as u32, Outcome::Lost)?;
            }
        }
        Ok(())
    }

    fn handle_timeout(&mut self, at: u32) -> Verdict {
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

    // ---- what goes wrong ----

    fn fall_asleep(&mut self, pause: usize) -> Verdict {
        let pause = self.plan.pauses[pause];
        self.nodes[pause.node as usize].asleep = true;
        self.note("sleep", pause.node, u32::MAX, pause.span_ns);
        if self.plan.dead() == Some(pause.node) {
            self.end_all(|from, _| from == pause.node)?;
        }
        Ok(())
    }

    fn wake_up(&mut self, at: u32) -> Verdict {
        self.note("wake", at, u32::MAX, 0);
        self.nodes[at as usize].asleep = false;
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
    fn forge(&mut self) -> Verdict {
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
        };
        let what = self.rng.below(6);
        match what {
            0 => header.version ^= 1 << self.rng.below(16),
            1 => {
                let other = (from.0 + 1) % self.plan.config.nodes;
                (header.src, header.msg_num) = (other, next_in(NodeId(other)));
            }
            2 => header.len = 1 + self.rng.below(1 << 31) as u32,
            3 => header.kind = Kind::Rts,
            _ => {}
        }
        let mut bytes = header.encode();
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

    fn throw(&mut self, at: u32, from: NodeId, bytes: &[u8]) -> Verdict {
        let node = &mut self.nodes[at as usize];
        if node.asleep {
            return Ok(());
        }
        let state = |endpoint: &Endpoint| {
            (
                endpoint.survey(),
                endpoint.is_quiet(),
                endpoint.next_timeout(),
            )
        };
        let before = state(&node.endpoint);
        let outcome = node.endpoint.handle_packet(from, bytes, 0, self.now);
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

    fn heal(&mut self) -> Verdict {
        self.note("heal", 0, u32::MAX, 0);
        self.healed = Some(self.now);
        self.plan.faults = Faults::none();
        self.network.mend();
        self.network.set_faults(Faults::none());
        self.plan.refuse_ppm = 0;
        Ok(())
    }

    // ---- the end ----

    /// I16: everything is done in time once the network has healed.
    fn check_healing(&self) -> Verdict {
        let Some(healed) = self.healed else {
            return Ok(());
        };
        let lost_after_ns = self
            .plan
            .dead()
            .and(self.plan.config.lost_after)
            .map_or(0, nanoseconds);
        // A late copy of a dead node's packet is a sign of life.
        let late_ns = if lost_after_ns > 0 {
            self.plan.late_ns
        } else {
            0
        };
        let limit = healed.plus_ns(HEALING_NS + lost_after_ns + late_ns);
        if self.now <= limit {
            return Ok(());
        }
        let open = self
            .checker
            .messages
            .iter()
            .filter(|m| m.outcome == Outcome::Open);
        let first = open.clone().next();
        Err(format!(
            "I16: {} sends are unfinished 10 s after all faults ended; the first: {first:?}",
            open.count()
        ))
    }

    /// I5, I8, I11, I15.
    fn check_end(&mut self) -> Verdict {
        let dead = self.plan.dead();
        self.checker.all_ended(dead)?;
        if dead.is_some() {
            return Ok(());
        }
        let later = self
            .now
            .plus(self.plan.config.done_state_lifetime)
            .plus_ns(3_000_000_000);
        for at in 0..self.nodes.len() as u32 {
            if self.calm {
                let kept = self.nodes[at as usize].endpoint.survey().incoming_done;
                let under_way = self.network.under_way();
                hold!(
                    kept <= under_way,
                    "I8: node {at} still remembers {kept} finished messages"
                );
            }
            let endpoint = &mut self.nodes[at as usize].endpoint;
            endpoint.handle_timeout(later);
            endpoint.handle_timeout(later);
            all_gone(at, endpoint)?;
        }
        self.check_numbers()
    }

    fn check_numbers(&self) -> Verdict {
        for (at, node) in (0..).map(NodeId).zip(&self.nodes) {
            for (to, peer) in (0..).map(NodeId).zip(&self.nodes) {
                let (out, _) = node.endpoint.numbers(to);
                let (_, due) = peer.endpoint.numbers(at);
                hold!(
                    out == due,
                    "I11: {at} sends number {out} next, {to} expects {due}"
                );
            }
        }
        Ok(())
    }
}
