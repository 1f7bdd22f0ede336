//! Plays scripts: endpoints with the tables that their drivers keep, driven as `mpi-lite`'s driver
//! drives its own, and looked at after each line.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::tables::{HEADER_ROOM, Names, Packet, Played};
use super::{Line, Script};
use crate::endpoint::Endpoint;
use crate::event::{Event, Landing, Transmit};
use crate::ids::{IncomingId, NodeId, OutgoingId};
use crate::sim::checker::{Checker, Outcome, Verdict, hold};
use crate::time::Instant;

pub(super) const MS: u64 = 1_000_000;
/// Payload of which nobody believes that it fits is as good as any longer one.
pub(super) const MOST_PAYLOAD: usize = 2_000;
/// I15: so many packets one line moves at most.
const MOST_PACKETS: u32 = 20_000;

/// Packets of a run that a node hands out at once.
const MOST_AT_ONCE: u32 = 8;

/// A message that nobody vouches for.
pub(super) const NOBODY: u32 = u32::MAX;

/// One node with what its driver remembers.
pub(super) struct End {
    pub(super) core: Endpoint,
    pub(super) is_alive: bool,
    pub(super) landing: Landing,
    pub(super) outgoing: Names<OutgoingId>,
    pub(super) incoming: Names<IncomingId>,
    /// Announced, not landed.
    pub(super) waiting: Vec<IncomingId>,
    pub(super) last_sent: Option<OutgoingId>,
    /// First packets that were handed out at once, and whose timers do not run yet.
    pub(super) begun: Vec<OutgoingId>,
    /// The message that the last data was for.
    pub(super) current: Option<IncomingId>,
}

/// A few nodes under the hand of a script.
pub struct Rig {
    pub(super) ends: Vec<End>,
    pub(super) checker: Checker,
    pub(super) now: Instant,
    pub(super) delay_ns: u64,
    pub(super) lost_ns: u64,
    /// On their way, in the order of their departure.
    pub(super) flights: Vec<Packet>,
    /// Packets between 0 and 1 that set out or were lost.
    pub(super) seen: Vec<Packet>,
    /// Whether 0 and 1 were told anything false about each other.
    pub(super) lied: bool,
    /// Whether a node was declared lost.
    pub(super) has_lost: bool,
    pub(super) played: Played,
}

impl Rig {
    /// Plays a script, then lets all nodes finish what they have for each other.
    ///
    /// # Errors
    /// Says which invariant was broken, and by which line.
    pub fn play(script: &Script) -> Result<Played, String> {
        let mut rig = Self::new(script);
        for (at, line) in script.lines.iter().enumerate() {
            rig.line(line)
                .and_then(|()| rig.check())
                .map_err(|violation| format!("line {}, {line}: {violation}", at + 1))?;
        }
        rig.finish()?;
        rig.played.lines = script.lines.len() as u64;
        rig.played.messages = rig.checker.messages.len() as u64;
        Ok(rig.played)
    }

    fn new(script: &Script) -> Self {
        let config = script.config();
        let end = |node| End {
            core: Endpoint::new(NodeId(node), config.clone()),
            is_alive: true,
            landing: Landing::Accept,
            outgoing: Names::EMPTY,
            incoming: Names::EMPTY,
            waiting: Vec::new(),
            last_sent: None,
            begun: Vec::new(),
            current: None,
        };
        Self {
            ends: (0..config.nodes).map(end).collect(),
            checker: Checker::new(&config),
            now: Instant::ZERO,
            delay_ns: 0,
            lost_ns: script.lost_ms * MS,
            flights: Vec::new(),
            seen: Vec::new(),
            lied: false,
            has_lost: false,
            played: Played::default(),
        }
    }

    pub(super) fn nodes(&self) -> u32 {
        self.ends.len() as u32
    }

    /// Whether nothing false was said between two nodes.
    pub(super) fn is_honest(&self, one: u32, other: u32) -> bool {
        !self.lied || one + other != 1
    }

    fn end(&mut self, node: u32) -> &mut End {
        let count = self.ends.len();
        &mut self.ends[node as usize % count]
    }

    fn line(&mut self, line: &Line) -> Verdict {
        let node = |number: u32| number % self.nodes();
        match *line {
            Line::Send {
                from,
                to,
                len,
                posted,
            } => self.send(node(from), node(to), len, posted),
            Line::Abort(from) => self.abort(node(from)),
            Line::Landing(at, landing) => {
                self.end(at).landing = landing;
                Ok(())
            }
            Line::Land(at, landing) => self.land_waiting(node(at), landing),
            Line::Wait(ms) => self.wait(ms.min(10_000) * MS),
            Line::Run(ms) => self.run(ms.min(10_000) * MS),
            Line::Delay(ms) => {
                self.delay_ns = ms.min(1_000) * MS;
                Ok(())
            }
            Line::Give(from) => self.give(node(from), true).map(drop),
            Line::GiveAll(from) => self.give_all(node(from)),
            Line::Hand(from) => self.give(node(from), false).map(drop),
            Line::Lose(from) => {
                self.take(node(from));
                Ok(())
            }
            Line::Names(at, back) => {
                self.end(at).core.skip_msg_ids((1 << 32) - back % 100);
                Ok(())
            }
            Line::Overflow(at) => {
                self.end(at).core.note_overflow();
                Ok(())
            }
            Line::Kill(at) => {
                self.end(at).is_alive = false;
                Ok(())
            }
            Line::Comment(_) => Ok(()),
            _ => self.repeat_or_lie(line),
        }
    }

    fn send(&mut self, from: u32, to: u32, len: u64, posted: bool) -> Verdict {
        if !self.ends[from as usize].is_alive {
            return Ok(());
        }
        // Whose places the core gives out again must have left the tables.
        self.hear_at_hand(from)?;
        let now = self.now;
        let end = &mut self.ends[from as usize];
        let Ok(id) = end.core.send(NodeId(to), len, len % 2 == 1, now) else {
            return Ok(());
        };
        let tag = self.checker.enter(from, to, len);
        end.outgoing.put(id.index(), id, (to, tag))?;
        end.last_sent = Some(id);
        if posted && let Some(transmit) = end.core.first_packet(id) {
            end.begun.push(id);
            let packet = self.pack(from, &transmit);
            self.launch(packet, true)?;
        }
        Ok(())
    }

    /// The driver looks at the clock: what it has handed on since it last did is on its way.
    pub(super) fn start_timers(&mut self, at: u32) {
        let end = &mut self.ends[at as usize];
        for id in end.begun.drain(..) {
            end.core.note_sent(id, self.now);
        }
    }

    fn abort(&mut self, from: u32) -> Verdict {
        let now = self.now;
        let end = &mut self.ends[from as usize];
        if let Some(id) = end.last_sent.filter(|_| end.is_alive) {
            if let Some((_, tag)) = end.outgoing.get(id.index(), id) {
                self.checker.messages[tag as usize].abort_asked = true;
            }
            end.core.abort(id, now);
        }
        Ok(())
    }

    pub(super) fn land_waiting(&mut self, at: u32, landing: Landing) -> Verdict {
        let waiting = core::mem::take(&mut self.ends[at as usize].waiting);
        for id in waiting {
            self.land(at, id, landing)?;
        }
        Ok(())
    }

    fn land(&mut self, at: u32, id: IncomingId, landing: Landing) -> Verdict {
        let now = self.now;
        let end = &mut self.ends[at as usize];
        if !end.is_alive {
            return Ok(());
        }
        if landing == Landing::Later {
            end.waiting.push(id);
        } else if let Some((_, tag)) = end.incoming.get(id.index(), id) {
            if let Some(message) = self.checker.messages.get_mut(tag as usize) {
                message.landing = Some(landing);
            }
            if landing == Landing::Drop {
                end.incoming.take(id.index(), id);
            }
        }
        // A message that is gone is left alone.
        end.core.land(id, landing, now);
        self.hear_at_hand(at)
    }

    /// Time passes: what is under way arrives, then timers are looked at.
    fn wait(&mut self, ns: u64) -> Verdict {
        let until = self.now.plus_ns(ns);
        while let Some(at) = self.next_flight().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.deliver()?;
        }
        self.now = until;
        self.look_at_timers()
    }

    /// Time passes, and all nodes do what they can.
    pub(super) fn run(&mut self, ns: u64) -> Verdict {
        let until = self.now.plus_ns(ns);
        (0..self.nodes()).for_each(|at| self.start_timers(at));
        self.carry_all()?;
        while let Some(at) = self.next_moment().filter(|at| *at <= until) {
            self.now = self.now.max(at);
            self.deliver()?;
            self.look_at_timers()?;
            self.carry_all()?;
        }
        self.now = until;
        Ok(())
    }

    fn next_flight(&self) -> Option<Instant> {
        self.flights.iter().map(|flight| flight.at).min()
    }

    pub(super) fn next_moment(&self) -> Option<Instant> {
        let alive = self.ends.iter().filter(|end| end.is_alive);
        let timers = alive.filter_map(|end| end.core.next_timeout());
        timers.chain(self.next_flight()).min()
    }

    /// What has arrived by now.
    pub(super) fn deliver(&mut self) -> Verdict {
        while let Some(place) = self.flights.iter().position(|f| f.at <= self.now) {
            let packet = self.flights.remove(place);
            self.arrive(&packet, true)?;
        }
        Ok(())
    }

    pub(super) fn look_at_timers(&mut self) -> Verdict {
        for at in 0..self.nodes() {
            let now = self.now;
            self.start_timers(at);
            let end = &mut self.ends[at as usize];
            if !end.is_alive {
                continue;
            }
            end.core.handle_timeout(now);
            let next = end.core.next_timeout();
            hold!(
                next.is_none_or(|timer| timer > now),
                "I15: node {at} has a timer in the past"
            );
            self.hear(at)?;
        }
        Ok(())
    }

    /// All that the nodes have to send sets out, and what that brings about.
    pub(super) fn carry_all(&mut self) -> Verdict {
        let before = self.played.packets;
        loop {
            let mut moved = false;
            for from in 0..self.nodes() {
                while self.give(from, true)? {
                    moved = true;
                }
            }
            hold!(
                self.played.packets - before < MOST_PACKETS.into(),
                "I15: packets go to and fro without end"
            );
            if !moved {
                return Ok(());
            }
        }
    }

    fn take(&mut self, from: u32) -> Option<Packet> {
        self.take_run(from, 1).pop()
    }

    /// Up to `most` packets that a node hands out as one.
    fn take_run(&mut self, from: u32, most: u32) -> Vec<Packet> {
        let now = self.now;
        let end = &mut self.ends[from as usize];
        let transmit = end.is_alive.then(|| end.core.poll_transmit(now, most));
        let run = transmit.flatten().into_iter().flat_map(Transmit::each);
        let packets: Vec<Packet> = run.map(|transmit| self.pack(from, &transmit)).collect();
        let between = packets.iter().filter(|packet| packet.from + packet.to == 1);
        self.seen.extend(between.cloned());
        packets
    }

    fn pack(&self, from: u32, transmit: &Transmit) -> Packet {
        let mut header = [0; HEADER_ROOM];
        header[..transmit.header.len()].copy_from_slice(&transmit.header);
        let outgoing = &self.ends[from as usize].outgoing;
        let tag = transmit.message.map(|id| outgoing.get(id.index(), id));
        let tag = tag.map(|entry| entry.expect("I4: a message is sent after its last event").1);
        Packet {
            from,
            to: transmit.to.0,
            header,
            header_len: transmit.header.len(),
            len: transmit.len,
            tag,
            at: self.now.plus_ns(self.delay_ns),
        }
    }

    fn give(&mut self, from: u32, looks: bool) -> Result<bool, String> {
        let Some(packet) = self.take(from) else {
            return Ok(false);
        };
        self.launch(packet, looks)?;
        Ok(true)
    }

    fn give_all(&mut self, from: u32) -> Verdict {
        for _ in 0..MOST_PACKETS {
            let packets = self.take_run(from, MOST_AT_ONCE);
            match &packets[..] {
                [] => return Ok(()),
                [first, _, ..] if first.at <= self.now => self.arrive_as_run(&packets)?,
                _ => {
                    for packet in packets {
                        self.launch(packet, true)?;
                    }
                }
            }
        }
        Err(format!("I15: node {from} sends without end"))
    }

    fn launch(&mut self, packet: Packet, looks: bool) -> Verdict {
        self.played.packets += 1;
        if packet.at <= self.now {
            return self.arrive(&packet, looks);
        }
        self.flights.push(packet);
        Ok(())
    }

    /// A message is announced, and lands as its node lands messages now.
    pub(super) fn announce(&mut self, at: u32, id: IncomingId, len: u64) -> Verdict {
        let end = &self.ends[at as usize];
        let entry = end.incoming.get(id.index(), id);
        let (from, tag) = entry.ok_or("I1: a message is announced that nobody knows")?;
        let landing = end.landing;
        if tag != NOBODY && self.is_honest(from, at) {
            self.checker.announce(at, tag, len)?;
        }
        self.land(at, id, landing)
    }

    /// What has become of messages, as far as that needs no looking.
    pub(super) fn hear_at_hand(&mut self, at: u32) -> Verdict {
        while let Some(event) = self.ends[at as usize].core.event_at_hand() {
            self.note(at, event)?;
        }
        Ok(())
    }

    pub(super) fn hear(&mut self, at: u32) -> Verdict {
        while let Some(event) = self.ends[at as usize].core.poll_event() {
            self.note(at, event)?;
        }
        Ok(())
    }

    fn note(&mut self, at: u32, event: Event) -> Verdict {
        let outcome = match event {
            Event::Due { message, len } => return self.announce(at, message, len),
            Event::Lost(peer) => return self.lose(at, peer.0),
            Event::Sent(_) => Outcome::Sent,
            Event::Refused(_) => Outcome::Refused,
            Event::Cancelled(_) => Outcome::Cancelled,
            Event::Arrived(_) | Event::Aborted(_) => Outcome::Open,
        };
        let end = &mut self.ends[at as usize];
        let entry = match event {
            Event::Sent(id) | Event::Refused(id) | Event::Cancelled(id) => {
                end.outgoing.take(id.index(), id)
            }
            Event::Arrived(id) | Event::Aborted(id) => end.incoming.take(id.index(), id),
            Event::Due { .. } | Event::Lost(_) => None,
        };
        let (peer, tag) = entry.ok_or("I1: an event for a message that had its last event")?;
        if tag == NOBODY || !self.is_honest(peer, at) {
            return Ok(());
        }
        match event {
            Event::Arrived(_) => self.checker.arrive(tag),
            Event::Aborted(_) => self.checker.abort(tag),
            _ => self.checker.end(tag, outcome),
        }
    }

    fn lose(&mut self, at: u32, peer: u32) -> Verdict {
        hold!(self.lost_ns > 0, "I5: node {at} gave up node {peer}");
        self.has_lost = true;
        let end = &mut self.ends[at as usize];
        end.incoming.lose(peer);
        for tag in end.outgoing.lose(peer) {
            if self.checker.messages[tag as usize].outcome == Outcome::Open {
                self.checker.end(tag, Outcome::Lost)?;
            }
        }
        Ok(())
    }

    /// A packet between 0 and 1 comes again, as it was or not; or one that never was.
    fn repeat_or_lie(&mut self, line: &Line) -> Verdict {
        let (at, lies) = match *line {
            Line::Raw {
                from,
                to,
                ref bytes,
                len,
            } => return self.raw((from, to % 2), bytes, len),
            Line::Replay(at) => (at, false),
            Line::Turn(at) | Line::Lie(at, _) | Line::Flip(at, _) | Line::Cut(at, _) => (at, true),
            _ => return Ok(()),
        };
        if self.seen.is_empty() {
            return Ok(());
        }
        self.lied |= lies;
        let mut packet = self.seen[at as usize % self.seen.len()].clone();
        match line {
            Line::Turn(_) => (packet.from, packet.to) = (packet.to, packet.from),
            Line::Lie(_, changes) => changes.iter().for_each(|change| packet.lie(*change)),
            Line::Flip(_, bit) => {
                let bit = *bit as usize % (packet.header_len * 8);
                packet.header[bit / 8] ^= 1 << (bit % 8);
            }
            Line::Cut(_, bytes) => packet.header_len = packet.header_len.min(*bytes as usize),
            _ => {}
        }
        self.played.packets += 1;
        self.arrive(&packet, true)
    }

    /// Bytes from nowhere, to node 0 or 1.
    fn raw(&mut self, (from, to): (u32, u32), bytes: &[u8], len: u64) -> Verdict {
        // What seems to come from one of the others would be a lie about an honest node.
        let is_other = (2..self.nodes()).contains(&from);
        if is_other {
            return Ok(());
        }
        self.lied = true;
        let mut header = [0; HEADER_ROOM];
        let header_len = bytes.len().min(HEADER_ROOM);
        header[..header_len].copy_from_slice(&bytes[..header_len]);
        let packet = Packet {
            from,
            to,
            header,
            header_len,
            len: len as usize,
            tag: None,
            at: self.now,
        };
        self.played.packets += 1;
        self.arrive(&packet, true)
    }
}
