//! Messages on their way in, and those that wait for a receive; receives that wait for a message.

mod budget;
pub mod matching;
mod target;

use core::mem::{replace, take};
use std::sync::Arc;

use budget::Budget;
pub(super) use budget::{LONG_WAIT, widest};
use matching::{Body, Buffered, Inbound, Pattern, Posted, Unexpected, UnexpectedMessage};
pub(super) use target::Target;

use super::envelope::Envelope;
use super::protocol::Unmatched;
use super::requests::Request;
use crate::config::Settings;
use crate::counters::Messages;
use crate::data::Area;
use crate::ids::Context;
use crate::memory::Span;
use crate::pool::Pool;
use crate::slab::{Key, SlotMap, Table};
use crate::transport::{Incoming, Landing, PeerId};

/// Messages that have no receive yet, receives that have no message, and what links bring.
#[derive(Debug)]
pub(super) struct Inbox {
    /// What each announced message is for, by link.
    targets: Vec<SlotMap<Target>>,
    posted: Posted,
    unexpected: Unexpected,
    /// Messages taken by matched probes: their places.
    probed: Table<u32>,
    /// Buffers of unexpected messages that were received, for the next ones.
    pool: Pool,
    budget: Budget,
    /// How many messages were unexpected.
    count: u64,
    /// The most that waited at the same time.
    peak: u64,
}

/// An unexpected message whose receive is found.
#[derive(Debug)]
pub(super) enum Claimed {
    /// A part of it is on its way; the receive is finished when all is here.
    Coming,
    /// Its body is with its sender.
    Held(Inbound),
    /// It was here, and the receive has it.
    Filled,
    /// Its sender was lost before all of it came.
    Lost(PeerId),
}

/// A message that has come whole after its receive was found.
#[derive(Debug)]
pub(super) struct Filled {
    /// The receive.
    pub(super) request: Request,
    pub(super) envelope: Envelope,
    /// All of the body.
    pub(super) bytes: Vec<u8>,
}

impl Inbox {
    /// That of a process with so many links.
    pub(super) fn new(links: usize, settings: Arc<Settings>) -> Self {
        Self {
            targets: (0..links).map(|_| SlotMap::default()).collect(),
            posted: Posted::default(),
            unexpected: Unexpected::default(),
            probed: Table::default(),
            pool: Pool::default(),
            budget: Budget::new(settings),
            count: 0,
            peak: 0,
        }
    }

    /// Gives the memory of long queues back that have been drained.
    pub(super) fn shrink(&mut self) {
        self.unexpected.shrink();
        self.probed.shrink();
        for targets in &mut self.targets {
            targets.shrink();
        }
    }

    /// Adds what was counted to `counters`.
    pub(super) fn count(&self, counters: &mut Messages) {
        counters.unexpected = self.count;
        counters.unexpected_peak = self.peak;
        counters.unexpected_peak_bytes = self.budget.peak_bytes();
    }

    /// Notes what the message `inbound` is for.
    pub(super) fn aim(&mut self, inbound: Inbound, target: Target) {
        self.targets[inbound.link].put(inbound.arrival.0 as usize, target);
    }

    /// Takes what the message `inbound` is for.
    pub(super) fn take_target(&mut self, inbound: Inbound) -> Target {
        self.targets[inbound.link]
            .take(inbound.arrival.0 as usize)
            .expect("a link completes what it announced")
    }
}

/// Receives.
impl Inbox {
    /// Enters a receive that no message has matched.
    #[inline]
    pub(super) fn post(&mut self, pattern: Pattern, request: Request) {
        self.posted.push(pattern, request);
    }

    /// Takes a receive back. Returns true if no message has matched it.
    pub(super) fn withdraw(&mut self, request: Request) -> bool {
        self.posted.withdraw(request)
    }

    /// Takes all receives back for which `is_hopeless` holds, in their order.
    pub(super) fn withdraw_all(&mut self, is_hopeless: impl Fn(&Pattern) -> bool) -> Vec<Request> {
        self.posted.extract(is_hopeless)
    }

    /// Takes the receive that a message matches, if it is quickly found and `place` returns where
    /// the message goes.
    #[inline(always)]
    pub(super) fn match_at_once<T>(
        &mut self,
        envelope: &Envelope,
        place: impl FnOnce(Request) -> Option<T>,
    ) -> Option<(Request, T)> {
        self.posted.take_if(envelope, place)
    }

    /// Takes the receive that a message matches.
    pub(super) fn match_receive(&mut self, envelope: &Envelope) -> Option<Request> {
        self.posted.take(envelope)
    }

    /// Returns true if the receive that takes a message with this envelope names its tag.
    pub(super) fn names_tag(&self, envelope: &Envelope) -> bool {
        let first = self.posted.first(envelope);
        first.is_some_and(|pattern| pattern.tag.is_some())
    }

    /// Returns true if a receive of this communicator is posted.
    pub(super) fn uses(&self, communicator: Context) -> bool {
        let is_its = |it: &Pattern| it.context.point_to_point() == communicator;
        self.posted.any(is_its)
    }

    /// Returns true if no receive is posted and no message waits.
    #[inline]
    pub(super) fn is_clear(&self) -> bool {
        self.posted.is_empty() && self.unexpected.is_empty()
    }
}

/// Messages without a receive.
impl Inbox {
    /// Takes in a message that no receive waits for, or leaves it with its sender. Returns where it
    /// lands, and its place.
    #[inline(always)]
    pub(super) fn keep(
        &mut self,
        inbound: Inbound,
        message: &Incoming,
        envelope: Envelope,
    ) -> (Landing, u32) {
        let len = message.len;
        match self.budget.admit(envelope.flags.is_synchronous(), len) {
            Unmatched::TakeIn if message.is_whole => {
                let body = Body::Whole(Buffered::new(len as usize, &mut self.pool));
                let place = self.enter(envelope, len, body);
                let message = self.unexpected.get_mut(place);
                match message.map(|message| &mut message.body) {
                    // The link writes it before this is read.
                    Some(Body::Whole(body)) => (Landing::Into(Area::Run(body.span())), place),
                    _ => unreachable!("just entered"),
                }
            }
            Unmatched::TakeIn => {
                let mut buffer = self.pool.take_filled(len as usize);
                let area = Area::Run(Span::held(&mut buffer));
                let place = self.enter(envelope, len, Body::Coming(buffer));
                self.aim(inbound, Target::Unexpected(place));
                (Landing::Into(area), place)
            }
            Unmatched::Wait => {
                let place = self.enter(envelope, len, Body::Held(inbound));
                self.aim(inbound, Target::Unexpected(place));
                (Landing::Later, place)
            }
        }
    }

    #[inline]
    fn enter(&mut self, envelope: Envelope, len: u64, body: Body) -> u32 {
        let place = self.unexpected.push(UnexpectedMessage {
            envelope,
            len,
            body,
        });
        self.count += 1;
        self.peak = self.peak.max(self.unexpected.len() as u64);
        place
    }

    fn message(&mut self, place: u32) -> &mut UnexpectedMessage {
        let message = self.unexpected.get_mut(place);
        message.expect("an unexpected message has its place")
    }

    /// The envelope and the length of the message at `place`.
    pub(super) fn envelope(&self, place: u32) -> (Envelope, u64) {
        let message = self.unexpected.get(place);
        let message = message.expect("an unexpected message has its place");
        (message.envelope, message.len)
    }

    /// The first message that fits `pattern`, and its length.
    pub(super) fn find(&mut self, pattern: &Pattern) -> Option<(Envelope, u64)> {
        let found = self.unexpected.find(pattern);
        found.map(|message| (message.envelope, message.len))
    }

    /// Takes the first message that fits `pattern` out of the queue. It keeps its place.
    #[inline]
    pub(super) fn extract(&mut self, pattern: &Pattern) -> Option<u32> {
        self.unexpected.extract(pattern)
    }

    /// Gives the message at `place`, already out of its queue, to `request`. Passes the body to
    /// `fill` if it is here.
    #[inline(always)]
    pub(super) fn claim(
        &mut self,
        place: u32,
        request: Request,
        fill: impl FnOnce(&[u8]),
    ) -> (Envelope, u64, Claimed) {
        let message = self.message(place);
        let (envelope, len) = (message.envelope, message.len);
        if let Body::Coming(buffer) = &mut message.body {
            message.body = Body::Claimed(request, take(buffer));
            self.budget.let_go(len);
            return (envelope, len, Claimed::Coming);
        }
        let message = self.unexpected.remove(place);
        let claimed = match message.expect("it was there before").body {
            Body::Held(inbound) => Claimed::Held(inbound),
            Body::Whole(body) => {
                self.budget.let_go(len);
                fill(body.bytes());
                body.release(&mut self.pool);
                Claimed::Filled
            }
            Body::Lost(peer) => Claimed::Lost(peer),
            Body::Coming(_) | Body::Claimed(..) | Body::Dropped(_) => {
                unreachable!("it stays until it is whole, out of the queue")
            }
        };
        (envelope, len, claimed)
    }

    /// Takes the memory of a [`Filled`] back.
    pub(super) fn keep_buffer(&mut self, buffer: Vec<u8>) {
        self.pool.keep(buffer);
    }

    /// All of the unexpected message at `place` is here. Returns it if its receive was found
    /// meanwhile.
    #[inline]
    pub(super) fn complete(&mut self, place: u32) -> Option<Filled> {
        let message = self.message(place);
        match replace(&mut message.body, Body::Dropped(Vec::new())) {
            Body::Coming(buffer) => message.body = Body::Whole(Buffered::Buffer(buffer)),
            Body::Claimed(request, bytes) => {
                let envelope = message.envelope;
                self.unexpected.remove(place);
                return Some(Filled {
                    request,
                    envelope,
                    bytes,
                });
            }
            Body::Dropped(buffer) => {
                self.unexpected.remove(place);
                self.pool.keep(buffer);
            }
            other => message.body = other,
        }
        None
    }

    /// Notes that the message at `place` will never be whole, since `peer` is lost: a receive that
    /// takes it, or that has probed for it, fails. Returns the receive that has taken it already.
    pub(super) fn lose(&mut self, place: u32, peer: PeerId) -> Option<Request> {
        let message = self.message(place);
        let body = replace(&mut message.body, Body::Lost(peer));
        let len = message.len;
        match body {
            Body::Coming(_) => self.budget.let_go(len),
            Body::Claimed(request, _) => {
                self.unexpected.remove(place);
                return Some(request);
            }
            Body::Dropped(_) => _ = self.unexpected.remove(place),
            Body::Held(_) | Body::Whole(_) | Body::Lost(_) => {}
        }
        None
    }

    /// Drops the message of this envelope that no receive has matched. Returns `None` if there is
    /// none; `Some(Some(inbound))` if its body is with its sender, and must land nowhere.
    pub(super) fn drop_unmatched(&mut self, envelope: &Envelope) -> Option<Option<Inbound>> {
        let place = self.unexpected.withdraw(envelope)?;
        let message = self.message(place);
        let len = message.len;
        let body = replace(&mut message.body, Body::Dropped(Vec::new()));
        match body {
            Body::Held(inbound) => {
                self.unexpected.remove(place);
                return Some(Some(inbound));
            }
            Body::Coming(buffer) => {
                message.body = Body::Dropped(buffer);
                self.budget.let_go(len);
            }
            Body::Whole(body) => {
                self.unexpected.remove(place);
                self.budget.let_go(len);
                body.release(&mut self.pool);
            }
            Body::Lost(_) => _ = self.unexpected.remove(place),
            Body::Claimed(..) | Body::Dropped(_) => unreachable!("it left the queue before"),
        }
        Some(None)
    }

    /// Drops the messages whose body is with its sender. Returns them: they must land nowhere.
    pub(super) fn drop_held(&mut self) -> Vec<Inbound> {
        let mut dropped = Vec::new();
        for place in self.unexpected.held() {
            if let Body::Held(inbound) = self.message(place).body {
                self.unexpected.discard(place);
                dropped.push(inbound);
            }
        }
        dropped
    }

    /// Keeps the message at `place`, which a matched probe has taken out of its queue.
    pub(super) fn set_apart(&mut self, place: u32) -> Key {
        self.probed.insert(place)
    }

    /// The place of a message that a matched probe has taken, once.
    pub(super) fn take_apart(&mut self, name: Key) -> Option<u32> {
        self.probed.remove(name)
    }
}

/// How much is taken in.
impl Inbox {
    /// Returns true if a thread that waits for long should ask for more room.
    #[inline]
    pub(super) fn wants_room(&self) -> bool {
        self.budget.wants_room()
    }

    /// Returns true if back pressure is to begin or to end.
    #[inline]
    pub(super) fn has_turned(&self) -> bool {
        self.budget.has_turned()
    }

    /// Returns the back pressure that is to be set, if it has changed since the last call.
    pub(super) fn turn(&mut self) -> Option<bool> {
        self.budget.turn()
    }

    /// Takes messages that were left with their senders in by the larger budget. Returns those, and
    /// where they land; or, once, the bytes taken in, if that budget is used up.
    pub(super) fn widen(&mut self) -> Result<Vec<(Inbound, Target, Area)>, Option<u64>> {
        if !self.budget.begin_widening() {
            let bytes = self.budget.bytes();
            return Err(self.budget.must_warn().then_some(bytes));
        }
        let mut taken = Vec::new();
        for place in self.unexpected.held() {
            let message = self.message(place);
            let (len, is_synchronous) = (message.len, message.envelope.flags.is_synchronous());
            if self.budget.admit_held(is_synchronous, len) {
                taken.push(self.bring(place));
            }
        }
        self.budget.end_widening();
        Ok(taken)
    }

    /// Takes in messages that were left with their senders, the oldest first, if there is room
    /// again. Returns those, and where they land. A receiver that drains a flood would otherwise
    /// ask for one body at a time.
    pub(super) fn refill(&mut self) -> Vec<(Inbound, Target, Area)> {
        if !self.budget.has_room_again() {
            return Vec::new();
        }
        let mut places = Vec::new();
        for (place, message) in self.unexpected.iter_places() {
            let is_synchronous = message.envelope.flags.is_synchronous();
            if matches!(message.body, Body::Held(_))
                && self.budget.admit(is_synchronous, message.len) == Unmatched::TakeIn
            {
                places.push(place);
            }
            if !self.budget.has_room_again() {
                break;
            }
        }
        places.into_iter().map(|place| self.bring(place)).collect()
    }

    /// Prepares memory for the message at `place`, which is with its sender and counted. Returns
    /// how it lands.
    fn bring(&mut self, place: u32) -> (Inbound, Target, Area) {
        let len = self.message(place).len;
        let mut buffer = self.pool.take_filled(len as usize);
        let area = Area::Run(Span::held(&mut buffer));
        let body = replace(&mut self.message(place).body, Body::Coming(buffer));
        let Body::Held(inbound) = body else {
            unreachable!("its body is with its sender")
        };
        (inbound, Target::Unexpected(place), area)
    }
}

/// For reports.
impl Inbox {
    /// The receives that no message has matched.
    pub(super) fn posted(&self) -> &Posted {
        &self.posted
    }

    /// The messages that wait for a receive.
    pub(super) fn unexpected(&self) -> &Unexpected {
        &self.unexpected
    }

    /// How many messages came before their receive.
    pub(super) fn unexpected_count(&self) -> u64 {
        self.count
    }

    /// How many messages matched probes have taken that were not received yet.
    pub(super) fn set_apart_count(&self) -> usize {
        self.probed.len()
    }

    /// Bytes of unexpected messages that are taken in.
    pub(super) fn taken_in_bytes(&self) -> u64 {
        self.budget.bytes()
    }

    /// How many announced messages are not complete.
    pub(super) fn arriving_count(&self) -> usize {
        self.targets.iter().map(SlotMap::len).sum()
    }

    /// The message that this receive has matched, and that is not here as a whole; its length.
    pub(super) fn incoming(&self, request: Request) -> Option<(Envelope, u64)> {
        let its = |target: &Target| match target {
            Target::Receive {
                request: receive,
                envelope,
                len,
            } if *receive == request => Some((*envelope, *len)),
            _ => None,
        };
        let mut targets = self.targets.iter().flat_map(SlotMap::iter);
        targets.find_map(its).or_else(|| {
            let claimed = self.unexpected.claimed_by(request)?;
            Some((claimed.envelope, claimed.len))
        })
    }
}
