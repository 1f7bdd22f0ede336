//! One state of a pair: two endpoints, what is under way between them, and what is yet to come.

use std::rc::Rc;

use rmpp_core::{
    Endpoint, Event, Flags, Header, IncomingId, Instant, Landing, Message, NodeId, OutgoingId,
    Placement, Transmit,
};

use super::digest::Digest;
use super::{Act, Case};
use crate::below::keep;
use crate::checker::{Checker, Outcome, Verdict, all_gone, hold};
use crate::node::{Packet, Tables, Tagged};
use crate::witness::Witness;
use crate::world::COOKIE;

/// A packet that may still come; one never delivered is one lost.
#[derive(Clone)]
pub(super) struct Flight {
    pub(super) from: u32,
    pub(super) packet: Rc<Packet>,
    /// Names the packet by its content.
    pub(super) digest: u128,
    /// How often it may still come.
    pub(super) left: u8,
}

/// One end with its driver. The clocks of the two ends are their own.
#[derive(Clone)]
pub(super) struct End {
    pub(super) endpoint: Rc<Tagged>,
    pub(super) tables: Rc<Tables>,
    pub(super) now: Instant,
    /// Announced, and not yet landed.
    pub(super) unlanded: Vec<(IncomingId, u32)>,
    /// How many of the case's sends it has made.
    pub(super) sent: usize,
    digest: u128,
    /// Events so far.
    heard: u32,
}

#[derive(Clone)]
pub(super) struct Situation {
    pub(super) ends: [End; 2],
    pub(super) checker: Rc<Checker>,
    pub(super) network: Vec<Flight>,
    pub(super) timeouts_left: u32,
    pub(super) aborts_left: u32,
    /// Packets sent so far.
    launched: u32,
}

impl Situation {
    pub(super) fn new(case: &Case) -> Self {
        let config = &case.config;
        let end = |node: u32| End {
            endpoint: Rc::new(Endpoint::new(NodeId(node), config.clone())),
            tables: Rc::new(Tables::EMPTY),
            now: Instant::ZERO,
            unlanded: Vec::new(),
            sent: 0,
            digest: 0,
            heard: 0,
        };
        Self {
            ends: [end(0), end(1)],
            checker: Rc::new(Checker::new(config)),
            network: Vec::new(),
            timeouts_left: case.timeouts,
            aborts_left: case.aborts,
            launched: 0,
        }
    }

    /// Returns a number that is equal for all states that behave alike from here on.
    pub(super) fn digest(&self) -> u128 {
        let [a, b] = [0, 1].map(|at: usize| {
            let End {
                tables,
                unlanded,
                sent,
                digest,
                ..
            } = &self.ends[at];
            Digest::of(&(tables, unlanded, sent, split(*digest)), Instant::ZERO)
        });
        let flights = self.network.iter().fold(0_u128, |sum, flight| {
            let left = u128::from(flight.left);
            sum.wrapping_add(flight.digest.wrapping_mul(2 * left + 1))
        });
        let numbers = (self.timeouts_left, self.aborts_left);
        let all = (split(a), split(b), split(flights), &self.checker, numbers);
        Digest::of(&all, Instant::ZERO)
    }

    /// Everything that may happen next.
    pub(super) fn acts(&self, case: &Case) -> Vec<Act> {
        let mut acts = Vec::new();
        for at in 0..2 {
            self.acts_of(at, case, &mut acts);
        }
        for flight in &self.network {
            acts.push(Act::Deliver(flight.digest));
        }
        acts
    }

    fn acts_of(&self, at: u32, case: &Case, acts: &mut Vec<Act>) {
        let end = &self.ends[at as usize];
        if end.sent < case.sends[at as usize].len() {
            acts.push(Act::Send(at));
        }
        if self.timeouts_left > 0 && end.endpoint.state().next_timeout.is_some() {
            acts.push(Act::Timeout(at));
            acts.push(Act::Silence(at));
        }
        for &(_, tag) in &end.unlanded {
            acts.push(Act::Land(tag, Landing::Accept));
            if case.refusals {
                acts.push(Act::Land(tag, Landing::Drop));
            }
        }
        for (tag, message) in (0..).zip(&self.checker.messages) {
            let open = message.outcome == Outcome::Open && !message.abort_asked;
            if self.aborts_left > 0 && message.from == at && open {
                acts.push(Act::Abort(tag));
            }
        }
    }

    /// Names an act that the end it happens to may be known to be deaf to.
    pub(super) fn deafness(&self, act: Act) -> Option<u128> {
        let Act::Deliver(digest) = act else {
            return None;
        };
        let flight = self.network.iter().find(|f| f.digest == digest)?;
        let end = &self.ends[(1 - flight.from) as usize];
        Some(end.digest.rotate_left(1) ^ digest)
    }

    /// Returns true if nothing but the network has changed since `before`. Such a step leads
    /// nowhere: all that can happen after it can happen without it too.
    pub(super) fn is_deaf(&self, before: &Self) -> bool {
        let alike = |at: usize| {
            let (a, b) = (&self.ends[at], &before.ends[at]);
            a.digest == b.digest && a.heard == b.heard && a.unlanded == b.unlanded
        };
        self.launched == before.launched && alike(0) && alike(1)
    }

    /// Does it; `Ok(false)` when it cannot be done here.
    pub(super) fn act(&mut self, case: &Case, act: Act) -> Result<bool, String> {
        match act {
            Act::Send(at) => self.send(case, at),
            Act::Deliver(digest) => self.deliver(case, digest),
            Act::Timeout(at) => self.time_out(case, at, 0),
            Act::Silence(at) => self.time_out(case, at, super::TIMEOUT_NS),
            Act::Land(tag, landing) => self.land(case, tag, landing),
            Act::Abort(tag) => self.abort(case, tag),
        }
    }

    fn send(&mut self, case: &Case, from: u32) -> Result<bool, String> {
        let end = &mut self.ends[from as usize];
        let Some(&len) = case.sends[from as usize].get(end.sent) else {
            return Ok(false);
        };
        end.sent += 1;
        let endpoint = Rc::make_mut(&mut end.endpoint);
        let message = Message {
            len,
            is_awaited: case.awaited,
            kept: self.checker.messages.len() as u32,
        };
        let id = endpoint.send(NodeId(1 - from), message, end.now);
        let id = id.map_err(|error| format!("I5: a send was refused: {error}"))?;
        check_shortcut(endpoint, id, end.now)?;
        let tag = Rc::make_mut(&mut self.checker).enter(from, 1 - from, len);
        let tables = Rc::make_mut(&mut end.tables);
        tables.outgoing.put(id.index(), id, tag)?;
        tables.note_sent(1 - from, tag);
        self.service(case, from)
    }

    fn deliver(&mut self, case: &Case, digest: u128) -> Result<bool, String> {
        let Some(place) = self.network.iter().position(|f| f.digest == digest) else {
            return Ok(false);
        };
        let flight = &mut self.network[place];
        let (from, packet) = (flight.from, flight.packet.clone());
        if flight.left != Case::ANY {
            flight.left -= 1;
        }
        if flight.left == 0 {
            self.network.swap_remove(place);
        }
        self.arrive(case, from, &packet)
    }

    fn arrive(&mut self, case: &Case, from: u32, packet: &Packet) -> Result<bool, String> {
        let at = 1 - from;
        let end = &mut self.ends[at as usize];
        let endpoint = Rc::make_mut(&mut end.endpoint);
        let current = end.tables.current;
        let awaited = current.and_then(|id| endpoint.incoming().awaited(id));
        let cut = endpoint.cut(&packet.header, packet.bytes());
        let outcome = endpoint.handle(NodeId(from), &cut, end.now);
        if let Some(awaited) = &awaited {
            let is_it = awaited.is(NodeId(from), &packet.header);
            let witness = self.witness(at);
            witness.awaits(awaited)?;
            witness.placed_as_awaited((awaited, is_it), packet, outcome)?;
        }
        if let Ok(placement) = outcome
            && placement != Placement::None
        {
            match self.witness(at).placed(packet, placement)? {
                Some((id, tag)) => self.announced(case, at, (id, tag))?,
                None => {
                    let end = &mut self.ends[at as usize];
                    let endpoint = Rc::make_mut(&mut end.endpoint);
                    keep(endpoint, packet, placement, end.now)?;
                }
            }
        }
        self.service(case, at)
    }

    /// A message begins: it lands at once, or waits for an act of its own.
    fn announced(&mut self, case: &Case, at: u32, (id, tag): (IncomingId, u32)) -> Verdict {
        let end = &mut self.ends[at as usize];
        let landing = if case.late_landing {
            end.unlanded.push((id, tag));
            Landing::Later
        } else {
            Rc::make_mut(&mut self.checker).messages[tag as usize].landing = Some(Landing::Accept);
            Landing::Accept
        };
        self.tell_landing(at, (id, tag), landing)
    }

    /// A message lands; it may be there as a whole.
    fn tell_landing(&mut self, at: u32, (id, tag): (IncomingId, u32), landing: Landing) -> Verdict {
        let end = &mut self.ends[at as usize];
        let whole = Rc::make_mut(&mut end.endpoint)
            .incoming()
            .land(id, landing, tag, end.now);
        if let Some(kept) = whole {
            end.heard += 1;
            self.witness(at).heard(Event::Arrived(id, kept))?;
        }
        Ok(())
    }

    fn time_out(&mut self, case: &Case, at: u32, more_ns: u64) -> Result<bool, String> {
        let end = &mut self.ends[at as usize];
        let Some(timer) = end.endpoint.state().next_timeout else {
            return Ok(false);
        };
        self.timeouts_left = self.timeouts_left.saturating_sub(1);
        end.now = end.now.max(timer).plus_ns(more_ns);
        let endpoint = Rc::make_mut(&mut end.endpoint);
        endpoint.handle_timeout(end.now);
        let next = endpoint.state().next_timeout;
        hold!(
            next.is_none_or(|timer| timer > end.now),
            "I15: node {at} has a timer in the past"
        );
        self.service(case, at)
    }

    fn land(&mut self, case: &Case, tag: u32, landing: Landing) -> Result<bool, String> {
        let at = match self.checker.messages.get(tag as usize) {
            Some(message) => message.to,
            None => return Ok(false),
        };
        let end = &mut self.ends[at as usize];
        let Some(place) = end.unlanded.iter().position(|entry| entry.1 == tag) else {
            return Ok(false);
        };
        let (id, _) = end.unlanded.remove(place);
        // A message that was aborted meanwhile: the endpoint must leave it alone.
        if end.tables.incoming.get(id.index(), id).is_some() {
            Rc::make_mut(&mut self.checker).messages[tag as usize].landing = Some(landing);
            if landing == Landing::Drop {
                Rc::make_mut(&mut end.tables).incoming.take(id.index(), id);
            }
        }
        self.tell_landing(at, (id, tag), landing)?;
        self.service(case, at)
    }

    fn abort(&mut self, case: &Case, tag: u32) -> Result<bool, String> {
        let checker = Rc::make_mut(&mut self.checker);
        let Some(message) = checker.messages.get_mut(tag as usize) else {
            return Ok(false);
        };
        if message.outcome != Outcome::Open || message.abort_asked {
            return Ok(false);
        }
        message.abort_asked = true;
        let from = message.from;
        self.aborts_left = self.aborts_left.saturating_sub(1);
        let end = &mut self.ends[from as usize];
        let id = end.tables.outgoing.id_of(tag);
        let id = id.ok_or("I5: an open message without an id")?;
        Rc::make_mut(&mut end.endpoint)
            .outgoing()
            .abort(id, end.now);
        self.service(case, from)
    }

    fn witness(&mut self, at: u32) -> Witness<'_> {
        Witness {
            at,
            tables: Rc::make_mut(&mut self.ends[at as usize].tables),
            checker: Rc::make_mut(&mut self.checker),
        }
    }

    /// Sends the packets of an end, takes in its events, and checks it.
    fn service(&mut self, case: &Case, at: u32) -> Result<bool, String> {
        loop {
            let end = &mut self.ends[at as usize];
            let endpoint = Rc::make_mut(&mut end.endpoint);
            let Some(transmit) = endpoint.poll_transmit(end.now, u32::MAX) else {
                break;
            };
            for packet in transmit.each() {
                self.transmit(case, at, &packet)?;
            }
        }
        while let Some(event) = Rc::make_mut(&mut self.ends[at as usize].endpoint).poll_event() {
            self.ends[at as usize].heard += 1;
            if let Event::Due { message, len, .. } = event {
                let tag = self.witness(at).due(message, len)?;
                self.announced(case, at, (message, tag))?;
                return self.service(case, at);
            }
            self.witness(at).heard(event)?;
        }
        let end = &mut self.ends[at as usize];
        end.digest = Digest::of(&*end.endpoint, end.now);
        self.checker.node(at, &end.endpoint, true)?;
        Ok(true)
    }

    fn transmit(&mut self, case: &Case, at: u32, transmit: &Transmit) -> Verdict {
        let header = Header::decode(&transmit.header).ok_or("P1: a header that is none")?;
        let source = &self.ends[(header.src & 1) as usize].tables;
        let first = case.config.first_msg_num;
        let payload = match source.tag_of(&header, 1 - (header.src & 1), first) {
            _ if header.flags.has(Flags::PURE) => None,
            Some(tag) => self.witness(at).transmitted(transmit, &header, tag)?,
            None => return Err(String::from("P1: a packet of no known message")),
        };
        let packet = Packet {
            cookie: COOKIE,
            header: transmit.header,
            payload,
        };
        self.launch(case, at, packet);
        Ok(())
    }

    fn launch(&mut self, case: &Case, from: u32, packet: Packet) {
        let digest = Digest::of(&(from, &packet), Instant::ZERO);
        let left = case.copies;
        self.launched += 1;
        match self.network.iter_mut().find(|f| f.digest == digest) {
            Some(flight) => flight.left = left,
            None => self.network.push(Flight {
                from,
                packet: Rc::new(packet),
                digest,
                left,
            }),
        }
    }

    /// From here on nothing is lost, all sends are made and all messages land: I16, then I5, I8,
    /// I11. If `forgetful`, all packets under way are lost first.
    pub(super) fn check_healing(mut self, case: &Case, forgetful: bool) -> Verdict {
        if forgetful {
            self.network.clear();
        }
        for _ in 0..super::MOST_ROUNDS {
            self.carry_all(case)?;
            let quiet = self.ends.iter().all(|end| end.endpoint.state().is_quiet);
            if quiet && self.checker.unfinished == 0 {
                return self.check_end(case);
            }
            let waits =
                [0, 1].map(|at: usize| self.ends[at].endpoint.state().next_timeout.is_some());
            hold!(
                waits[0] || waits[1],
                "I16: nothing will ever happen again: {:?}",
                self.checker.messages
            );
            for at in (0..2).filter(|at| waits[*at as usize]) {
                self.time_out(case, at, 0)?;
            }
        }
        Err(format!(
            "I16: {} rounds without loss and no end: {:?}",
            super::MOST_ROUNDS,
            self.checker.messages
        ))
    }

    /// Carries packets, first come first served, until none is under way.
    fn carry_all(&mut self, case: &Case) -> Verdict {
        for _ in 0..super::MOST_PACKETS {
            for at in 0..2 {
                while self.send(case, at)? {}
                while let Some(&(_, tag)) = self.ends[at as usize].unlanded.first() {
                    self.land(case, tag, Landing::Accept)?;
                }
            }
            if self.network.is_empty() {
                return Ok(());
            }
            let flight = self.network.remove(0);
            self.arrive(case, flight.from, &flight.packet)?;
        }
        Err(String::from("I15: packets go to and fro without end"))
    }

    fn check_end(&mut self, case: &Case) -> Verdict {
        self.checker.all_ended(None)?;
        for (at, end) in (0..).zip(&mut self.ends) {
            let later = end.now.plus(case.config.done_state_lifetime);
            let later = later.plus_ns(3_000_000_000);
            let endpoint = Rc::make_mut(&mut end.endpoint);
            endpoint.handle_timeout(later);
            endpoint.handle_timeout(later);
            all_gone(at, endpoint, 0)?;
        }
        for at in 0..2_usize {
            let peer = NodeId(1 - at as u32);
            let (out, _) = self.ends[at].endpoint.numbers(peer);
            let (_, due) = self.ends[1 - at].endpoint.numbers(NodeId(at as u32));
            hold!(
                out == due,
                "I11: node {at} sends number {out} next, its peer expects {due}"
            );
        }
        Ok(())
    }

    /// Returns the meaning of an act in words.
    pub(super) fn describe(&self, act: Act) -> String {
        let Act::Deliver(digest) = act else {
            return format!("{act:?}");
        };
        let Some(flight) = self.network.iter().find(|f| f.digest == digest) else {
            return String::from("deliver a packet that is not under way");
        };
        let (from, to) = (flight.from, 1 - flight.from);
        match Header::decode(&flight.packet.header) {
            Some(h) => format!(
                "{} {from} -> {to}: msgNum {} seq {} n {} attempt {} (left {})",
                h.kind.name(),
                h.msg_num,
                h.seq,
                h.info1,
                h.info2,
                flight.left
            ),
            None => format!("{:02x?} {from} -> {to}", flight.packet.header),
        }
    }
}

/// The first packet of a message is the same one, and leaves the same state, whether it is handed
/// out at once or in its turn.
fn check_shortcut(endpoint: &Tagged, id: OutgoingId, now: Instant) -> Verdict {
    let (mut at_once, mut in_turn) = (endpoint.clone(), endpoint.clone());
    let Some(first) = at_once.outgoing().first_packet(id) else {
        return Ok(());
    };
    at_once.outgoing().note_sent(id, now);
    hold!(
        in_turn.poll_transmit(now, 1) == Some(first),
        "the first packet at once is {first:?}"
    );
    let next = [&mut at_once, &mut in_turn].map(|endpoint| endpoint.poll_transmit(now, 1));
    hold!(
        next[0] == next[1],
        "after a first packet at once {next:?} is next"
    );
    hold!(
        Digest::of(&at_once, now) == Digest::of(&in_turn, now),
        "a first packet that goes at once leaves another state"
    );
    Ok(())
}

/// Two words of 64 bits: a word of 128 would be taken for a moment.
fn split(digest: u128) -> (u64, u64) {
    (digest as u64, (digest >> 64) as u64)
}
