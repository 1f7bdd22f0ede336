//! One lock's worth of the engine: links, matcher, requests. Everything here runs under the lock.

use super::envelope::Envelope;
use super::loss::{Leftovers, Loss};
use super::matching::{Body, Posted, Unexpected, UnexpectedMessage};
use super::patience::Habit;
use super::request::{Place, Request, Requests, Status};
use super::send::{Burst, Sending, Spare};
use super::shortcut::NEAR;
use super::taken::{Taken, widest};
use super::withdraw::Withdrawal;
use crate::clock::Instant;
use crate::config::Settings;
use crate::counters::{Messages, Rows};
use crate::data::Area;
use crate::ids::Context;
use crate::slab::{Beside, Slab, Table};
use crate::transport::{
    Arrival, Bounced, Event, Landed, Landing, Link, Peer, Tallies, Token, Transport,
};

/// Events of one link in one turn, so that no link starves the others.
const EVENTS_PER_TURN: usize = 64;

/// A message on its way in: the link and the link's name for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inbound {
    pub(super) link: usize,
    pub(super) arrival: Arrival,
}

/// What a message on its way in is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// It fills this receive.
    Receive {
        request: Request,
        envelope: Envelope,
        len: u64,
    },
    /// It is unexpected and has this place.
    Unexpected(u32),
    /// The engine of this peer asks for the message of its send back.
    Question { from: Peer, token: Token },
    /// Nobody wants it: the program finalizes.
    Nothing,
}

/// The buffer that the program attached for buffered sends. Source: MPI 5.0, 3.6.
#[derive(Clone, Copy, Debug)]
pub struct Attached {
    /// The program's address, given back at detach.
    pub address: usize,
    /// Bytes.
    pub bytes: u64,
    pub(super) used: u64,
}

/// How much a lane holds; all zero once everything is received and told to the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Requests that the program has not completed, and inactive persistent ones.
    pub requests: usize,
    /// Receives without a message.
    pub posted: usize,
    /// Messages without a receive.
    pub unexpected: usize,
    /// Messages taken by matched probes and not yet received.
    pub messages: usize,
    /// Messages announced and not yet complete.
    pub arriving: usize,
    /// Sends that the transport has not finished.
    pub sends: usize,
    /// Bytes of copies of these.
    pub kept_bytes: u64,
    /// Bytes of unexpected messages taken in.
    pub taken_in_bytes: u64,
    /// Bytes of the attached buffer in use.
    pub buffered_bytes: u64,
}

/// What a process has counted.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// The engine's part.
    pub messages: Messages,
    /// The transports' part.
    pub roads: Tallies,
}

impl Counters {
    /// All counters, always as many and in the same order; `Counters::default()` tells their names.
    #[must_use]
    pub fn rows(&self) -> Rows {
        let mut rows = self.messages.rows();
        rows.extend(self.roads.rows());
        rows
    }
}

/// Links, matcher and requests of one process.
#[derive(Debug)]
pub struct Lane {
    /// The first leads to this process.
    pub(super) links: Vec<Link>,
    /// Which of them leads to each process.
    routes: Vec<u8>,
    purposes: Vec<Beside<Purpose>>,
    pub(super) requests: Requests,
    pub(super) posted: Posted,
    pub(super) unexpected: Unexpected,
    /// Messages taken by matched probes: their places.
    pub(super) messages: Table<u32>,
    pub(super) sends: Slab<Sending>,
    pub(super) burst: Burst,
    pub(super) spare: Spare,
    pub(super) kept_bytes: u64,
    pub(super) taken: Taken,
    /// The number of the last send that may be taken back.
    pub(super) serial: u32,
    /// Sends that the program asks for again.
    pub(super) withdrawals: Vec<Withdrawal>,
    pub(super) attached: Option<Attached>,
    /// Peers that answer no more.
    pub(super) lost: Vec<Loss>,
    /// From `MPI_Finalize` on, what nobody receives is dropped.
    is_closing: bool,
    pub(super) leftovers: Leftovers,
    pub(super) habit: Habit,
    /// When who sleeps wants to look again, though nothing has come.
    pub(super) look_again_at: Option<Instant>,
    pub(super) settings: Settings,
    pub(super) counters: Messages,
    pub(super) hosts: Vec<String>,
}

impl Lane {
    /// The lane of process `me`, one host name per process. The first of `links` leads to the
    /// process itself, the last to all others.
    #[must_use]
    pub fn new(me: Peer, links: Vec<Link>, settings: Settings, hosts: Vec<String>) -> Self {
        assert!(!links.is_empty(), "a process reaches at least itself");
        let last = u8::try_from(links.len() - 1).expect("a handful of links");
        let mut routes = vec![last; hosts.len()];
        routes[me.0 as usize] = 0;
        let counters = Messages {
            unexpected_room_bytes: widest(&settings),
            ..Messages::default()
        };
        Self {
            routes,
            purposes: links.iter().map(|_| Beside::default()).collect(),
            links,
            requests: Requests::default(),
            posted: Posted::default(),
            unexpected: Unexpected::default(),
            messages: Table::default(),
            sends: Slab::default(),
            burst: Burst::default(),
            spare: Spare::default(),
            kept_bytes: 0,
            taken: Taken::default(),
            serial: 1,
            withdrawals: Vec::new(),
            attached: None,
            lost: Vec::new(),
            is_closing: false,
            leftovers: Leftovers::default(),
            habit: Habit::default(),
            look_again_at: None,
            settings,
            counters,
            hosts,
        }
    }

    /// Says that link `link` leads to `peers`.
    pub(super) fn lead(&mut self, peers: impl IntoIterator<Item = Peer>, link: usize) {
        let link = u8::try_from(link).expect("a handful of links");
        for peer in peers {
            self.routes[peer.0 as usize] = link;
        }
    }

    /// The rank of this process in `MPI_COMM_WORLD`.
    pub(super) fn own_rank(&self) -> usize {
        let own = self.routes.iter().position(|&link| link == 0);
        own.expect("the first link leads to the process itself")
    }

    /// Which link leads to `peer`.
    #[inline]
    pub(super) fn route(&self, peer: Peer) -> usize {
        usize::from(self.routes[peer.0 as usize])
    }

    /// The program is about to sleep. Answers whether nothing has come meanwhile.
    pub(super) fn begin_rest(&mut self) -> bool {
        self.shrink();
        let mut is_quiet = true;
        for link in &mut self.links {
            is_quiet &= link.begin_rest();
        }
        is_quiet
    }

    /// Gives the memory of long queues back that have been drained. Now and then, and not with each
    /// message, which would pay for it.
    pub fn shrink(&mut self) {
        self.requests.shrink();
        self.unexpected.shrink();
        self.messages.shrink();
        self.sends.shrink();
        for purposes in &mut self.purposes {
            purposes.shrink();
        }
        for link in &mut self.links {
            link.shrink();
        }
    }

    /// It sleeps no more.
    pub(super) fn end_rest(&mut self) {
        for link in &mut self.links {
            link.end_rest();
        }
    }

    /// One turn: what the links have to tell. Answers whether anything happened.
    pub fn turn(&mut self, now: Instant) -> bool {
        self.turn_until(now, &mut |_: &mut Self| None::<()>).0
    }

    /// A turn, and what `ready` answers after it.
    #[inline]
    pub(super) fn turn_whole<T>(
        &mut self,
        now: Instant,
        ready: &mut impl FnMut(&mut Self) -> Option<T>,
    ) -> (bool, Option<T>) {
        let worked = self.turn(now);
        (worked, ready(self))
    }

    /// A turn that ends as soon as `ready` answers something: it is asked each time that an
    /// operation has finished, and at the end. What is left is for the next turn: who waits for a
    /// message wants to answer it, and tidying up can wait until there is nothing better to do.
    #[inline]
    pub(super) fn turn_until<T>(
        &mut self,
        now: Instant,
        ready: &mut impl FnMut(&mut Self) -> Option<T>,
    ) -> (bool, Option<T>) {
        self.flush();
        let mut finished = self.requests.finished();
        let mut worked = false;
        for link in 0..self.links.len() {
            for _ in 0..EVENTS_PER_TURN {
                if !self.take_event(link, now) {
                    break;
                }
                worked = true;
                if finished == self.requests.finished() {
                    continue;
                }
                finished = self.requests.finished();
                if let Some(answer) = ready(self) {
                    self.links[link].pause();
                    return (true, Some(answer));
                }
            }
        }
        (worked, ready(self))
    }

    /// Looks after what a turn does not come to that ends with the message that was waited for:
    /// links to other nodes, and neighbours' long messages and first ones.
    pub(super) fn look_around(&mut self, now: Instant) {
        self.shrink();
        if let Some(Link::Shm(road)) = self.links.get_mut(NEAR) {
            road.tidy_up();
        }
        let has_neighbours = self.has_neighbours();
        for link in (0..self.links.len()).filter(|&link| link != NEAR || !has_neighbours) {
            let mut events = 0..EVENTS_PER_TURN;
            while events.next().is_some() && self.take_event(link, now) {}
        }
    }

    /// Handles the next event of a link. Answers whether there was one.
    #[inline(always)]
    fn take_event(&mut self, link: usize, now: Instant) -> bool {
        if link == NEAR && self.has_neighbours() {
            return self.take_near_events();
        }
        let event = self.links[link].poll(now);
        event.map(|event| self.handle(link, event)).is_some()
    }

    /// What moved on of long messages. It grows also when nothing is heard of them.
    #[inline]
    pub(super) fn moved(&self) -> u64 {
        self.links.iter().map(Transport::moved).sum()
    }

    /// When a turn is due even if nothing arrives.
    #[must_use]
    pub fn wake_at(&self) -> Option<Instant> {
        self.links.iter().filter_map(Transport::wake_at).min()
    }

    /// How much it holds.
    #[must_use]
    pub fn survey(&self) -> Survey {
        Survey {
            requests: self.requests.len(),
            posted: self.posted.len(),
            unexpected: self.unexpected.len(),
            messages: self.messages.len(),
            arriving: self.purposes.iter().map(Beside::len).sum(),
            sends: self.sends.len(),
            kept_bytes: self.kept_bytes,
            taken_in_bytes: self.taken.bytes(),
            buffered_bytes: self.attached.map_or(0, |attached| attached.used),
        }
    }

    /// What was counted so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        Counters {
            messages: self.counters.clone(),
            roads: Tallies::of(&self.links),
        }
    }

    /// The settings that it goes by.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether all that was sent is with its receivers.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        // What one sent to oneself and did not receive keeps nobody else from ending.
        self.links.iter().skip(1).all(Transport::is_quiet)
    }

    /// From now on what nobody receives is dropped, so that its senders can finish; receives that
    /// nothing has matched are cancelled, so that nothing is written after the program's end.
    pub fn close(&mut self) {
        self.is_closing = true;
        self.leftovers.requests = self.requests.len() as u64;
        for envelope in self.unexpected.envelopes() {
            self.leftovers.note(envelope);
        }
        for request in self.posted.extract(|_| true) {
            self.requests.finish(request, Status::CANCELLED, None);
        }
        for place in self.unexpected.held() {
            let message = self
                .unexpected
                .get(place)
                .expect("a held message has its place");
            let Body::Held(inbound) = message.body else {
                continue;
            };
            self.unexpected.discard(place);
            self.land_held(inbound, Purpose::Nothing, Landing::NOWHERE);
        }
    }

    /// Says where a message lands that was left with its sender.
    #[cold]
    #[inline(never)]
    pub(super) fn land_held(&mut self, inbound: Inbound, purpose: Purpose, landing: Landing) {
        self.take_purpose(inbound);
        self.land(inbound, purpose, landing);
    }

    #[inline(never)]
    pub(super) fn handle(&mut self, link: usize, event: Event) {
        match event {
            Event::Arriving {
                arrival,
                from,
                envelope,
                len,
            } => {
                let envelope = Envelope::decode(&envelope);
                self.arriving(Inbound { link, arrival }, from, envelope, len);
            }
            Event::Arrived { arrival, bounced } => {
                let purpose = self.take_purpose(Inbound { link, arrival });
                self.complete(purpose, bounced.map(Bounced::Buffer));
            }
            Event::Sent { token } => self.sent(token),
            Event::Lost(lost) => self.lose(link, &lost),
        }
    }

    #[inline(always)]
    fn arriving(&mut self, inbound: Inbound, from: Peer, envelope: Envelope, len: u64) {
        let (purpose, landing) = match self.posted.take(&envelope) {
            Some(request) => {
                let landing = self.landing(inbound, len, request);
                (
                    Purpose::Receive {
                        request,
                        envelope,
                        len,
                    },
                    landing,
                )
            }
            // No receive is for these, so the others need not be asked.
            None if envelope.context == Context::ENGINES => {
                return self.hear(inbound, from, &envelope);
            }
            None if self.is_closing => {
                self.leftovers.note(&envelope);
                (Purpose::Nothing, Landing::NOWHERE)
            }
            None => self.unexpected(inbound, envelope, len),
        };
        self.land(inbound, purpose, landing);
    }

    /// Says where a message lands and what for; a short one is there at once.
    #[inline(always)]
    pub(super) fn land(&mut self, inbound: Inbound, purpose: Purpose, landing: Landing) {
        match self.links[inbound.link].land(inbound.arrival, landing) {
            Landed::Coming => self.set_purpose(inbound, purpose),
            Landed::Whole(bounced) => self.complete(purpose, bounced),
        }
    }

    /// Where the message for `request` lands: in place, unless the engine unpacks it.
    fn landing(&self, inbound: Inbound, len: u64, request: Request) -> Landing {
        match self.requests.place(request) {
            Place::Run(span) => Landing::Into(Area::Run(span)),
            Place::Scattered(place) if len > self.links[inbound.link].packed_most() => {
                Landing::Into(Area::Scattered(Box::new(place.clone())))
            }
            Place::Scattered(place) => Landing::Bounce(place.len()),
        }
    }

    /// Gives the unexpected message at `place`, already out of its queue, to `request`.
    pub(super) fn claim(&mut self, place: u32, request: Request) {
        let message = self
            .unexpected
            .remove(place)
            .expect("an extracted message has its place");
        let UnexpectedMessage {
            envelope,
            len,
            body,
        } = message;
        let purpose = Purpose::Receive {
            request,
            envelope,
            len,
        };
        match body {
            Body::Held(inbound) => {
                let landing = self.landing(inbound, len, request);
                self.take_purpose(inbound);
                self.land(inbound, purpose, landing);
            }
            Body::Coming(inbound) => {
                self.let_go(len);
                self.set_purpose(inbound, purpose);
            }
            Body::Whole(bytes) => {
                self.let_go(len);
                self.finish_receive(request, envelope, len, Some(&bytes));
                self.give_back(bytes);
            }
            Body::Lost(peer) => self.fail(request, peer),
        }
    }

    #[inline]
    fn complete(&mut self, purpose: Purpose, bounced: Option<Bounced>) {
        match purpose {
            Purpose::Receive {
                request,
                envelope,
                len,
            } => {
                self.finish_receive(request, envelope, len, bounced.as_deref());
                if let Some(bytes) = bounced {
                    self.give_back(bytes);
                }
            }
            Purpose::Unexpected(place) => {
                let message = self
                    .unexpected
                    .get_mut(place)
                    .expect("an unexpected message has its place");
                message.body = Body::Whole(bounced.expect("unexpected messages land by bounce"));
            }
            Purpose::Question { from, token } => self.answer(from, token, bounced),
            Purpose::Nothing => {}
        }
    }

    pub(super) fn set_purpose(&mut self, inbound: Inbound, purpose: Purpose) {
        self.purposes[inbound.link].put(inbound.arrival.0 as usize, purpose);
    }

    pub(super) fn take_purpose(&mut self, inbound: Inbound) -> Purpose {
        self.purposes[inbound.link]
            .take(inbound.arrival.0 as usize)
            .expect("a link completes what it announced")
    }
}
