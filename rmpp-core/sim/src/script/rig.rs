//! Plays scripts: endpoints with the tables that their drivers keep, driven as `mpi-lite`'s driver
//! drives its own, and looked at after each line.

use rmpp_core::{
    Endpoint, Event, IncomingId, Instant, Landing, Message, NodeId, OutgoingId, Transmit,
};

use super::tables::{Entry, HEADER_ROOM, Packet, Played};
use super::{Line, Script};
use crate::checker::{Checker, Outcome, Verdict, hold};
use crate::node::{Tagged, TaggedEvent, Tags};

pub(super) const MS: u64 = 1_000_000;
/// Payload of which nobody believes that it fits is as good as any longer one.
pub(super) const MOST_PAYLOAD: usize = 2_000;
/// I15: how many packets one line moves at most.
const MOST_PACKETS: u32 = 20_000;

/// Packets of a run that a node hands out at once.
const MOST_AT_ONCE: u32 = 8;

/// A message that nobody vouches for.
pub(super) const NOBODY: u32 = u32::MAX;

/// One node with what its driver remembers.
pub(super) struct End {
    pub(super) core: Tagged,
    pub(super) is_alive: bool,
    pub(super) landing: Landing,
    pub(super) outgoing: Tags<OutgoingId, Entry>,
    pub(super) incoming: Tags<IncomingId, Entry>,
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
    /// True if a false packet passed between 0 and 1.
    pub(super) lied: bool,
    /// True if a node was declared lost.
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
            outgoing: Tags::EMPTY,
            incoming: Tags::EMPTY,
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

    /// Returns true if no false packet passed between two nodes.
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
            Line::Lose(from) => self.take(node(from)).map(drop),
            Line::Names(at, back) => {
                self.end(at).core.skip_msg_ids((1 << 32) - back % 100);
                Ok(())
            }
            Line::Overflow(at) => {
                self.end(at).core.incoming().note_overflow();
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
        let now = self.now;
        let end = &mut self.ends[from as usize];
        let message = Message {
            len,
            is_awaited: len % 2 == 1,
            kept: self.checker.messages.len() as u32,
        };
        let Ok(id) = end.core.send(NodeId(to), message, now) else {
            return Ok(());
        };
        let tag = self.checker.enter(from, to, len);
        end.outgoing.put(id.index(), id, (to, tag))?;
        end.last_sent = Some(id);
        self.hear_at_hand(from)?;
        let end = &mut self.ends[from as usize];
        if posted && let Some(transmit) = end.core.outgoing().first_packet(id) {
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
            end.core.outgoing().note_sent(id, self.now);
        }
    }

    fn abort(&mut self, from: u32) -> Verdict {
        let now = self.now;
        let end = &mut self.ends[from as usize];
        if let Some(id) = end.last_sent.filter(|_| end.is_alive) {
            if let Some((_, tag)) = end.outgoing.get(id.index(), id) {
                self.checker.messages[tag as usize].abort_asked = true;
            }
            end.core.outgoing().abort(id, now);
        }
        Ok(())
    }

    pub(super) fn land_waiting(&mut self, at: u32, landing: Landing) -> Verdict {
        let waiting = std::mem::take(&mut self.ends[at as usize].waiting);
        for id in waiting {
            self.land(at, id, landing)?;
        }
        Ok(())
    }

    fn land(&mut self, at: u32, id: IncomingId, landing: Landing) -> Verdict {
        if landing == Landing::Drop {
            // A dropped message has no event: events that it had before are taken in first.
            self.hear_at_hand(at)?;
        }
        let now = self.now;
        let end = &mut self.ends[at as usize];
        if !end.is_alive {
            return Ok(());
        }
        let entry = end.incoming.get(id.index(), id);
        if landing == Landing::Later {
            end.waiting.push(id);
        } else if let Some((_, tag)) = entry {
            if let Some(message) = self.checker.messages.get_mut(tag as usize) {
                message.landing = Some(landing);
            }
            if landing == Landing::Drop {
                end.incoming.take(id.index(), id);
            }
        }
        // A message that is gone is left alone.
        let tag = entry.map_or(NOBODY, |entry| entry.1);
        match end.core.incoming().land(id, landing, tag, now) {
            Some(kept) => self.note(at, Event::Arrived(id, kept)),
            None => Ok(()),
        }
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
        let timers = alive.filter_map(|end| end.core.state().next_timeout);
        timers.chain(self.next_flight()).min()
    }

    /// The messages that have arrived by now.
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
            let next = end.core.state().next_timeout;
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

    fn take(&mut self, from: u32) -> Result<Option<Packet>, String> {
        Ok(self.take_run(from, 1)?.pop())
    }

    /// Up to `most` packets that a node hands out as one.
    fn take_run(&mut self, from: u32, most: u32) -> Result<Vec<Packet>, String> {
        // For I4 an arrival is noted before its sender gets the end.
        self.hear_at_hand(from)?;
        let now = self.now;
        let end = &mut self.ends[from as usize];
        let transmit = end.is_alive.then(|| end.core.poll_transmit(now, most));
        let run = transmit.flatten().into_iter().flat_map(Transmit::each);
        let packets: Vec<Packet> = run.map(|transmit| self.pack(from, &transmit)).collect();
        let between = packets.iter().filter(|packet| packet.from + packet.to == 1);
        self.seen.extend(between.cloned());
        Ok(packets)
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
        let Some(packet) = self.take(from)? else {
            return Ok(false);
        };
        self.launch(packet, looks)?;
        Ok(true)
    }

    fn give_all(&mut self, from: u32) -> Verdict {
        for _ in 0..MOST_PACKETS {
            let packets = self.take_run(from, MOST_AT_ONCE)?;
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

    /// Takes in the events that are ready.
    pub(super) fn hear_at_hand(&mut self, at: u32) -> Verdict {
        while self.ends[at as usize].core.state().has_events
            && let Some(event) = self.ends[at as usize].core.poll_event()
        {
            self.note(at, event)?;
        }
        Ok(())
    }

    pub(super) fn hear(&mut self, at: u32) -> Verdict {
        while let Some(event) = self.ends[at as usize].core.poll_event() {
            self.note(at, event)?;
        }
        let end = &self.ends[at as usize];
        end.outgoing.check_heard()?;
        end.incoming.check_heard()
    }

    fn note(&mut self, at: u32, event: TaggedEvent) -> Verdict {
        let outcome = match event {
            Event::Due { message, len, .. } => return self.announce(at, message, len),
            Event::Lost {
                node,
                unsent,
                unfinished,
            } => return self.lose(at, node.0, (&unsent, &unfinished)),
            Event::Sent(..) => Outcome::Sent,
            Event::Refused(..) => Outcome::Refused,
            Event::Cancelled(..) => Outcome::Cancelled,
            Event::Arrived(..) | Event::Aborted(..) | Event::Unheard { .. } => Outcome::Open,
        };
        let end = &mut self.ends[at as usize];
        let (entry, kept) = match event {
            Event::Sent(id, kept) | Event::Refused(id, kept) | Event::Cancelled(id, kept) => {
                (end.outgoing.take(id.index(), id), Some(kept))
            }
            Event::Arrived(id, kept) => (end.incoming.take(id.index(), id), Some(kept)),
            Event::Aborted(id, _, kept) => (end.incoming.take(id.index(), id), kept),
            Event::Due { .. } | Event::Lost { .. } | Event::Unheard { .. } => (None, None),
        };
        let (peer, tag) = entry.ok_or("I1: an event for a message that had its last event")?;
        hold!(
            kept.is_none_or(|kept| kept == tag),
            "I3: {kept:?} was kept with message {tag}"
        );
        if tag == NOBODY || !self.is_honest(peer, at) {
            return Ok(());
        }
        match event {
            Event::Arrived(..) => self.checker.arrive(tag),
            Event::Aborted(..) => self.checker.abort(tag),
            _ => self.checker.end(tag, outcome),
        }
    }

    fn lose(
        &mut self,
        at: u32,
        peer: u32,
        (unsent, unfinished): (&[u32], &[(IncomingId, Option<u32>)]),
    ) -> Verdict {
        hold!(self.lost_ns > 0, "I5: node {at} gave up node {peer}");
        self.has_lost = true;
        let end = &mut self.ends[at as usize];
        let its = |entry: &(OutgoingId, Entry)| entry.1.0 == peer;
        let gone: Vec<_> = end.outgoing.live().filter(its).collect();
        for (id, (_, tag)) in gone {
            hold!(
                unsent.contains(&tag),
                "I5: node {at} lost node {peer}, and nothing is told of message {tag}"
            );
            end.outgoing.take(id.index(), id);
            self.checker.end(tag, Outcome::Lost)?;
        }
        for &(id, _) in unfinished {
            let entry = end.incoming.get(id.index(), id);
            hold!(
                entry.is_some_and(|entry| entry.0 == peer),
                "I5: {entry:?} is lost with node {peer}"
            );
        }
        let its = |entry: &(IncomingId, Entry)| entry.1.0 == peer;
        let gone: Vec<_> = end.incoming.live().filter(its).collect();
        for (id, _) in gone {
            end.incoming.take(id.index(), id);
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
        // A packet in the name of one of the others would be a lie about an honest node.
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
