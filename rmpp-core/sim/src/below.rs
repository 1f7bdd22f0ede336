//! The layer below the endpoints: carries packets, and takes in events.

use rmpp_core::{
    Dropped, Event, FAST_HEADER_BYTES, Flags, Header, IncomingId, Instant, Kind, Landing, NodeId,
    Placement, Run, Transmit,
};

use super::checker::{Verdict, hold};
use super::node::{Node, Packet, Tagged, TaggedEvent};
use super::witness::Witness;
use super::world::{Act, COOKIE, MOST_UNDER_WAY, World};

/// Packets of a run that a node hands out at once.
const MOST_AT_ONCE: u64 = 8;

/// I3: what is kept with a message is found where its data is placed; with one that came early it
/// is from now on.
pub(super) fn keep(
    endpoint: &mut Tagged,
    packet: &Packet,
    placement: Placement,
    now: Instant,
) -> Verdict {
    let tag = packet.payload.map(|payload| payload.tag);
    match (placement, tag) {
        (Placement::Early { message }, Some(tag)) => {
            let whole = endpoint.incoming().land(message, Landing::Later, tag, now);
            hold!(whole.is_none(), "I2: message {tag} lands ahead of its turn");
        }
        (Placement::Data { message, .. }, Some(tag)) => {
            let kept = endpoint.incoming().kept(message).copied();
            hold!(
                kept == Some(tag),
                "I3: data of message {tag} is placed in {kept:?}"
            );
        }
        _ => {}
    }
    Ok(())
}

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
        self.start_timers(to.0);
        self.hear_at_hand(to.0)?;
        if let Some((run, packets)) = self.gather_run((from, to), &packet) {
            self.take_run((from, to), run, &packets)?;
        } else if self.whims.chance(self.plan.share_ppm) {
            let packets = self.gather_datagram((from, to), packet);
            self.take_datagram((from, to), &packets)?;
        } else {
            self.take_lone((from, to), &packet)?;
        }
        self.service_soon(to.0)
    }

    /// `packet` and those that arrive in this moment behind it, as many as may share a datagram.
    fn gather_datagram(&mut self, way: (NodeId, NodeId), packet: Packet) -> Vec<Packet> {
        let most = FAST_HEADER_BYTES + self.plan.config.packet_bytes;
        let mut bytes = packet.bytes();
        let mut packets = vec![packet];
        while let Some((from, to, next)) = self.network.arrived(self.now)
            && (from, to) == way
            && next.cookie == COOKIE
            && bytes + next.bytes() <= most
        {
            bytes += next.bytes();
            packets.extend(self.network.deliver(self.now).map(|delivered| delivered.2));
        }
        packets
    }

    /// Rule J: packets that share a datagram are cut apart where they were joined.
    fn take_datagram(&mut self, (from, to): (NodeId, NodeId), packets: &[Packet]) -> Verdict {
        let mut left: usize = packets.iter().map(Packet::bytes).sum();
        for packet in packets {
            self.hear_at_hand(to.0)?;
            let outcome = self.take_in((from, to), packet, left)?;
            left -= packet.bytes();
            self.note_taken((from, to), packet, outcome)?;
        }
        Ok(())
    }

    /// The packets that arrive in this moment behind `packet`, and are a run with it.
    fn gather_run(&mut self, way: (NodeId, NodeId), packet: &Packet) -> Option<(Run, Vec<Packet>)> {
        let endpoint = &self.nodes[way.1.0 as usize].endpoint;
        let mut run = Run::of(&endpoint.cut(&packet.header, packet.bytes()))?;
        let mut packets = vec![packet.clone()];
        while let Some((from, to, next)) = self.network.arrived(self.now)
            && (from, to) == way
            && next.cookie == COOKIE
            && run.takes(&next.header, next.bytes())
        {
            packets.extend(self.network.deliver(self.now).map(|delivered| delivered.2));
        }
        (packets.len() > 1).then_some((run, packets))
    }

    /// Hands a run to an endpoint as `mpi-lite`'s driver does.
    fn take_run(
        &mut self,
        (from, to): (NodeId, NodeId),
        mut run: Run,
        packets: &[Packet],
    ) -> Verdict {
        let mut left = packets.iter();
        while run.count() > 0 {
            let endpoint = &mut self.nodes[to.0 as usize].endpoint;
            let outcome = endpoint.handle(from, &run.packets(), self.now);
            let taken = match outcome {
                Ok(Placement::Data { packets, .. }) => packets,
                _ => 1,
            };
            run.skip(taken);
            for (number, packet) in left.by_ref().take(taken as usize).enumerate() {
                let apart = (number * run.payload_bytes()) as u64;
                let outcome = outcome.map(|placement| match placement {
                    Placement::Data {
                        message, offset, ..
                    } => Placement::Data {
                        message,
                        offset: offset + apart,
                        packets: 1,
                    },
                    other => other,
                });
                self.note_taken((from, to), packet, outcome)?;
            }
        }
        Ok(())
    }

    /// An endpoint has taken a packet in, or dropped it.
    fn note_taken(
        &mut self,
        (from, to): (NodeId, NodeId),
        packet: &Packet,
        outcome: Result<Placement, Dropped>,
    ) -> Verdict {
        let code = match outcome {
            Ok(_) => 0,
            Err(reason) => 1 + reason as u64,
        };
        if self.verbose {
            self.describe((from.0, to.0), packet, outcome.err());
        }
        self.note(
            "packet",
            to.0,
            packet.payload.map_or(u32::MAX, |p| p.tag),
            code,
        );
        match outcome {
            Ok(placement) => self.place(to.0, packet, placement),
            Err(Dropped::Unexpected) if self.ends_refused((from.0, to.0), packet) => Ok(()),
            Err(_) if self.calm && self.plan.abort_ppm == 0 => Err(format!(
                "P14: a packet was dropped in a calm run: {outcome:?}"
            )),
            Err(_) => Ok(()),
        }
    }

    /// Returns true if a packet ends a message that has ended as refused at its sender. Unscheduled
    /// data was still under way: each packet gets the refusal again, or the last one is answered as
    /// that of an old message.
    fn ends_refused(&self, (from, to): (u32, u32), packet: &Packet) -> bool {
        let Some(header) = Header::decode(&packet.header) else {
            return false;
        };
        matches!(header.kind, Kind::MsgEnd | Kind::MsgDrop)
            && header.src == to
            && self
                .tag_of(&header, from)
                .is_some_and(|tag| self.checker.is_refused(tag))
    }

    /// Takes in a packet as `mpi-lite`'s driver does: the place of the data that is expected next
    /// is fixed before the packet comes, and its payload is written there. Events may be taken in
    /// before the packet is handled.
    fn take_lone(&mut self, (from, to): (NodeId, NodeId), packet: &Packet) -> Verdict {
        let Node {
            endpoint, tables, ..
        } = &mut self.nodes[to.0 as usize];
        let awaited = tables
            .current
            .and_then(|id| endpoint.incoming().awaited(id));
        if let Some(awaited) = &awaited {
            self.witness(to.0).awaits(awaited)?;
            if self.whims.chance(500_000) {
                self.hear_all(to.0)?;
            }
        }
        let outcome = self.take_in((from, to), packet, packet.bytes())?;
        if let Some(awaited) = &awaited {
            let is_it = awaited.is(from, &packet.header);
            self.witness(to.0)
                .placed_as_awaited((awaited, is_it), packet, outcome)?;
        }
        self.note_taken((from, to), packet, outcome)
    }

    /// Hands a packet to an endpoint, which finds out where it ends: `left` bytes are left of its
    /// datagram, from its first one on.
    fn take_in(
        &mut self,
        (from, to): (NodeId, NodeId),
        packet: &Packet,
        left: usize,
    ) -> Result<Result<Placement, Dropped>, String> {
        let endpoint = &mut self.nodes[to.0 as usize].endpoint;
        let cut = endpoint.cut(&packet.header, left);
        let (bytes, cut_bytes) = (packet.bytes(), cut.bytes());
        hold!(
            cut.is_any() && cut_bytes == bytes,
            "J: a packet of {bytes} bytes is cut after {cut_bytes}"
        );
        Ok(endpoint.handle(from, &cut, self.now))
    }

    /// A node that takes in several packets at once looks now or later what they have acknowledged,
    /// and sends when it has taken in all of them.
    pub(super) fn service_soon(&mut self, at: u32) -> Verdict {
        if !self.rng.chance(self.plan.batch_ppm) {
            return self.service(at);
        }
        let node = &mut self.nodes[at as usize];
        node.has_more = true;
        if node.endpoint.state().is_pressed && self.whims.chance(300_000) {
            self.transmit_all(at)?;
        }
        if self.rng.chance(500_000) {
            self.hear_all(at)
        } else if self.whims.chance(500_000) {
            self.hear_at_hand(at)
        } else {
            Ok(())
        }
    }

    /// Hears what has become of messages, as far as that needs no looking. A driver does so before
    /// it takes a packet in, so that messages are announced in their order.
    pub(super) fn hear_at_hand(&mut self, at: u32) -> Verdict {
        while self.nodes[at as usize].endpoint.state().has_events
            && let Some(event) = self.nodes[at as usize].endpoint.poll_event()
        {
            self.hear(at, event)?;
        }
        Ok(())
    }

    fn hear_all(&mut self, at: u32) -> Verdict {
        while let Some(event) = self.nodes[at as usize].endpoint.poll_event() {
            self.hear(at, event)?;
        }
        let tables = &self.nodes[at as usize].tables;
        tables.outgoing.check_heard()?;
        tables.incoming.check_heard()
    }

    pub(super) fn describe(
        &self,
        (from, to): (u32, u32),
        packet: &Packet,
        dropped: Option<Dropped>,
    ) {
        let Some(h) = Header::decode(&packet.header) else {
            return;
        };
        let fate = dropped.map_or(String::from("taken"), |reason| format!("dropped: {reason}"));
        let tag = self.tag_of(&h, if h.src == to { from } else { to });
        std::println!(
            "{:>15} node {to:<3} <- {} of message {tag:?} seq {} n {} attempt {}: {fate}",
            self.now.0,
            h.kind.name(),
            h.seq,
            h.info1,
            h.info2
        );
    }

    pub(super) fn tag_of(&self, header: &Header, to: u32) -> Option<u32> {
        let node = self.nodes.get(header.src as usize)?;
        let first = self.plan.config.first_msg_num;
        node.tables.tag_of(header, to, first)
    }

    fn witness(&mut self, at: u32) -> Witness<'_> {
        Witness {
            at,
            tables: &mut self.nodes[at as usize].tables,
            checker: &mut self.checker,
        }
    }

    pub(super) fn place(&mut self, at: u32, packet: &Packet, placement: Placement) -> Verdict {
        if let Some((message, tag)) = self.witness(at).placed(packet, placement)? {
            return self.decide_landing(at, message, tag);
        }
        let endpoint = &mut self.nodes[at as usize].endpoint;
        keep(endpoint, packet, placement, self.now)
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
            // A driver should report it, and may forget.
            if self.rng.chance(800_000) {
                let node = &mut self.nodes[at as usize];
                node.endpoint
                    .incoming()
                    .land(id, Landing::Later, tag, self.now);
            }
            return Ok(());
        }
        self.land(at, id, tag, landing)
    }

    /// Sends the packets of an endpoint, takes in its events, and checks it.
    pub(super) fn service(&mut self, at: u32) -> Verdict {
        self.transmit_all(at)?;
        self.hear_all(at)?;
        let node = &mut self.nodes[at as usize];
        node.has_more = false;
        self.checker.node(at, &node.endpoint, node.begun.is_empty())
    }

    /// Sends the packets of an endpoint, as long as there is room.
    fn transmit_all(&mut self, at: u32) -> Verdict {
        // For I4 an arrival is noted before its sender gets the end.
        self.hear_at_hand(at)?;
        while !self.nodes[at as usize].stalled {
            let is_settled = self.whims.chance(200_000);
            if is_settled {
                self.hear_all(at)?;
            }
            let endpoint = &mut self.nodes[at as usize].endpoint;
            let is_pressed = endpoint.state().is_pressed;
            // As much as there is room for: now one packet, now several.
            let most = 1 + (self.report.steps % MOST_AT_ONCE) as u32;
            let Some(transmit) = endpoint.poll_transmit(self.now, most) else {
                hold!(
                    !endpoint.state().is_pressed,
                    "I15: node {at} is pressed, and has nothing to send"
                );
                break;
            };
            hold!(
                is_pressed || !is_settled,
                "I5: node {at} is not pressed, and has {transmit:?} to send"
            );
            for packet in transmit.each() {
                self.transmit(at, &packet)?;
            }
            if self.rng.chance(self.plan.stall_ppm) && self.healed.is_none() {
                self.nodes[at as usize].stalled = true;
                let until = self.now.plus_ns(self.rng.below(1_000_000));
                self.schedule(until, Act::Unstall(at));
            }
        }
        Ok(())
    }

    pub(super) fn transmit(&mut self, from: u32, transmit: &Transmit) -> Verdict {
        let header = Header::decode(&transmit.header).ok_or("P1: a header that is none")?;
        let (tag, payload) = if header.flags.has(Flags::PURE) {
            (u32::MAX, None)
        } else {
            let other = if header.src == from {
                transmit.to.0
            } else {
                from
            };
            let tag = self
                .tag_of(&header, other)
                .ok_or("P1: a packet of no known message")?;
            let payload = self.witness(from).transmitted(transmit, &header, tag)?;
            let endpoint = &mut self.nodes[from as usize].endpoint;
            let kept = transmit.message.map(|id| endpoint.outgoing().kept(id));
            hold!(
                kept.is_none_or(|kept| kept == Some(&tag)),
                "I3: message {tag} is sent as {kept:?}"
            );
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

    pub(super) fn hear(&mut self, at: u32, event: TaggedEvent) -> Verdict {
        if let Event::Lost {
            node,
            unsent,
            unfinished,
        } = event
        {
            return self.lose(at, node.0, (&unsent, &unfinished));
        }
        if let Event::Due { message, len, .. } = event {
            let tag = self.witness(at).due(message, len)?;
            self.note("due", at, tag, len);
            return self.decide_landing(at, message, tag);
        }
        let (what, tag) = self.witness(at).heard(event)?;
        self.note(what, at, tag, 0);
        Ok(())
    }

    fn lose(
        &mut self,
        at: u32,
        peer: u32,
        (unsent, unfinished): (&[u32], &[(IncomingId, Option<u32>)]),
    ) -> Verdict {
        self.note("lost", at, u32::MAX, u64::from(peer));
        hold!(
            self.plan.dead() == Some(peer),
            "I5: node {at} gave up node {peer}, which lives"
        );
        self.checker.bury(at, peer);
        self.witness(at).lost(peer, unsent, unfinished)
    }

    pub(super) fn handle_timeout(&mut self, at: u32) -> Verdict {
        let now = self.now;
        let node = &mut self.nodes[at as usize];
        if node.asleep
            || node
                .endpoint
                .state()
                .next_timeout
                .is_none_or(|timer| timer > now)
        {
            return Ok(());
        }
        self.start_timers(at);
        let node = &mut self.nodes[at as usize];
        node.endpoint.handle_timeout(now);
        // When its timers are due a driver asks whether packets found no room.
        if self.rng.chance(self.plan.overflow_ppm) {
            node.endpoint.incoming().note_overflow();
        }
        let next = node.endpoint.state().next_timeout;
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
