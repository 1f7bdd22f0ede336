//! The layer above the endpoints: sends and aborts messages, and lands them.

use rmpp_core::{Event, IncomingId, Instant, Landing, Message, NodeId, OutgoingId, SendError};

use super::checker::{Outcome, Verdict};
use super::node::Node;
use super::plan::Pattern;
use super::world::{Act, World};

impl World {
    pub(super) fn send(&mut self) -> Verdict {
        let (from, to) = self.draw_pair();
        if !self.nodes[from as usize].asleep {
            let len = self.draw_len();
            self.wrap_names(from);
            let message = Message {
                len,
                is_awaited: false,
                kept: self.checker.messages.len() as u32,
            };
            let endpoint = &mut self.nodes[from as usize].endpoint;
            let sent = endpoint.send(NodeId(to), message, self.now);
            match sent {
                Ok(id) => {
                    self.note_sent(from, to, len, id)?;
                    self.hear_at_hand(from)?;
                    self.hurry(from, len, id)?;
                }
                Err(SendError::PeerLost { .. }) if self.plan.dead() == Some(to) => {}
                Err(error) => return Err(format!("I5: a send was refused: {error}")),
            }
            self.service_soon(from)?;
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

    /// A driver may hand on the first packet of a message at once; every other one is. Its timer
    /// starts when the driver next looks at the clock.
    fn hurry(&mut self, from: u32, len: u64, id: OutgoingId) -> Verdict {
        let node = &mut self.nodes[from as usize];
        if node.stalled || len.is_multiple_of(2) {
            return Ok(());
        }
        if let Some(packet) = node.endpoint.outgoing().first_packet(id) {
            node.begun.push(id);
            self.transmit(from, &packet)?;
            let wait_ns = self.whims.pick(&[0, 0, 20_000]);
            if wait_ns == 0 {
                self.start_timers(from);
            } else {
                self.schedule(self.now.plus_ns(wait_ns), Act::StartTimers(from));
            }
        }
        Ok(())
    }

    /// A driver looks at the clock: what it has handed on since it last did is on its way.
    pub(super) fn start_timers(&mut self, at: u32) {
        let Node {
            endpoint, begun, ..
        } = &mut self.nodes[at as usize];
        for id in begun.drain(..) {
            endpoint.outgoing().note_sent(id, self.now);
        }
    }

    pub(super) fn draw_pair(&mut self) -> (u32, u32) {
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
    pub(super) fn draw_len(&mut self) -> u64 {
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

    /// Now and then a node has sent nearly 2^32 messages, and gives out names once more.
    fn wrap_names(&mut self, from: u32) {
        if self.rng.chance(self.plan.wrap_ppm) {
            let back = 1 + self.rng.below(20);
            let endpoint = &mut self.nodes[from as usize].endpoint;
            endpoint.skip_msg_ids((1 << 32) - back);
        }
    }

    fn note_sent(&mut self, from: u32, to: u32, len: u64, id: OutgoingId) -> Verdict {
        let tag = self.checker.enter(from, to, len);
        self.note("send", from, tag, len);
        let tables = &mut self.nodes[from as usize].tables;
        tables.outgoing.put(id.index(), id, tag)?;
        tables.note_sent(to, tag);
        if self.rng.chance(self.plan.abort_ppm) {
            let at = self.now.plus_ns(self.rng.below(5_000_000));
            self.schedule(at, Act::Abort(tag));
        }
        Ok(())
    }

    pub(super) fn abort(&mut self, tag: u32) -> Verdict {
        let message = &mut self.checker.messages[tag as usize];
        let from = message.from;
        let node = &mut self.nodes[from as usize];
        if message.outcome != Outcome::Open || node.asleep {
            return Ok(());
        }
        message.abort_asked = true;
        let id = node
            .tables
            .outgoing
            .id_of(tag)
            .ok_or("an open message has an id")?;
        node.endpoint.outgoing().abort(id, self.now);
        self.note("abort", from, tag, 0);
        self.service(from)
    }

    pub(super) fn land(&mut self, at: u32, id: IncomingId, tag: u32, landing: Landing) -> Verdict {
        let node = &mut self.nodes[at as usize];
        if node.asleep {
            if self.plan.dead() != Some(at) {
                let awake = Instant(self.plan.outages_end_ns() + 1);
                self.schedule(awake, Act::Land(at, id, tag, landing));
            }
            return Ok(());
        }
        if landing == Landing::Drop {
            // A dropped message has no event: events that it had before are taken in first.
            self.hear_at_hand(at)?;
        }
        let node = &mut self.nodes[at as usize];
        // A message that was aborted meanwhile: the endpoint must leave it alone.
        if node.tables.incoming.get(id.index(), id).is_some() {
            self.checker.messages[tag as usize].landing = Some(landing);
            if landing == Landing::Drop {
                node.tables.incoming.take(id.index(), id);
            }
        }
        let whole = node.endpoint.incoming().land(id, landing, tag, self.now);
        self.note("land", at, tag, u64::from(landing == Landing::Accept));
        if let Some(kept) = whole {
            self.hear(at, Event::Arrived(id, kept))?;
        }
        self.service(at)
    }
}
