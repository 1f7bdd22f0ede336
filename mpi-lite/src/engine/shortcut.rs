//! The way of a short message between ranks that share memory: sent without anything left here,
//! received without a request. Decision 0022.
//!
//! It may be taken when nothing else is in the way: no receive was posted before, no message waits.
//! What it finds that is not for it goes the usual way, and so does the receive after a while.

use super::Engine;
use super::envelope::Envelope;
use super::lane::{Inbound, Lane, Purpose};
use super::lock::Guard;
use super::matching::Pattern;
use super::receive::ReceivePlan;
use super::request::{Completion, Request, Status};
use super::send::SendPlan;
use crate::data::Area;
use crate::ids::Mode;
use crate::memory::Span;
use crate::transport::shm::Short;
use crate::transport::{Bounced, Event, Landed, Landing, Link, Peer, Transport};

/// What became of a receive.
pub(super) enum Early {
    /// It is over.
    Done(Completion),
    /// It has its message, of which there is more to come.
    Coming(Request),
    /// Nothing has come for it.
    Nothing,
}

/// What has come from the ranks of this node.
enum Near {
    Nothing,
    /// A short message, for the first posted receive.
    Short,
    /// Anything else.
    Event,
}

/// So many short messages are taken before somebody looks whether they are those that are awaited.
const AT_ONCE: u32 = 8;

impl Lane {
    /// Sends a message that the road takes whole, body and all. Answers whether it did.
    #[inline]
    pub(super) fn send_at_once(&mut self, plan: &SendPlan) -> bool {
        if !self.has_neighbours() {
            return false;
        }
        let (Some(to), Area::Run(body)) = (plan.to, &plan.area) else {
            return false;
        };
        // A synchronous send waits for its match, a buffered one needs its buffer.
        if self.route(to) != NEAR || !matches!(plan.mode, Mode::Standard | Mode::Ready) {
            return false;
        }
        let Some(Link::Shm(road)) = self.links.get_mut(NEAR) else {
            return false;
        };
        let is_taken = road.offer(to, &plan.envelope().encode(), *body);
        if is_taken {
            self.counters.messages_sent += 1;
            self.counters.bytes_sent += body.len() as u64;
        }
        is_taken
    }

    /// Whether there is a road to the ranks of this node.
    #[inline]
    pub(super) fn has_neighbours(&self) -> bool {
        matches!(self.links.get(NEAR), Some(Link::Shm(_)))
    }

    /// Handles the next event from the ranks of this node, and short messages before it that are
    /// for the first posted receives, as long as nobody need know of these. Answers whether there
    /// was anything.
    #[inline(never)]
    pub(super) fn take_near_events(&mut self) -> bool {
        for done in 0..AT_ONCE {
            match self.take_near_event() {
                Near::Nothing => return done > 0,
                Near::Short if !self.requests.is_due() => {}
                Near::Short | Near::Event => return true,
            }
        }
        true
    }

    #[inline(always)]
    fn take_near_event(&mut self) -> Near {
        let (posted, requests) = (&mut self.posted, &mut self.requests);
        let Some(Link::Shm(road)) = self.links.get_mut(NEAR) else {
            return Near::Nothing;
        };
        let found = road.take_short(|envelope, len| {
            let envelope = Envelope::decode(&envelope);
            let (request, span) = posted.take_if(&envelope, |request| requests.run(request))?;
            Some((span, (request, envelope, len, span.len())))
        });
        let event = match found {
            Short::Taken((request, envelope, len, room)) => {
                let (status, error) = self.outcome(&envelope, len as u64, room as u64);
                self.requests.finish(request, status, error);
                return Near::Short;
            }
            Short::Nothing => road.quiet_event(),
            Short::Other => road.next_event(),
        };
        match event.map(|event| self.handle(NEAR, event)) {
            None => Near::Nothing,
            Some(()) => Near::Event,
        }
    }

    /// Looks `looks` times for the message of a receive that would be the only one.
    #[inline]
    pub(super) fn receive_at_once(&mut self, plan: &ReceivePlan, looks: u32) -> Early {
        let (Some(pattern), &Area::Run(span)) = (plan.pattern, &plan.area) else {
            return Early::Nothing;
        };
        if !self.is_clear() {
            return Early::Nothing;
        }
        for look in 0..looks {
            let Some(Link::Shm(road)) = self.links.get_mut(NEAR) else {
                break;
            };
            let found = road.take_whole(|envelope, len| {
                let envelope = Envelope::decode(&envelope);
                let fits = pattern.fits(&envelope);
                fits.then_some((span, (envelope, len as u64)))
            });
            let event = match found {
                Short::Taken((envelope, len)) => return self.done(&envelope, len, span),
                Short::Nothing if !look.is_multiple_of(LOOKS_PER_TURN) => {
                    core::hint::spin_loop();
                    continue;
                }
                Short::Nothing => road.quiet_event(),
                Short::Other => road.next_event(),
            };
            if event.is_none() && !road.is_busy() {
                continue;
            }
            // Other links are not to wait for long copies.
            let Some(event) = event else { break };
            let early = self.take_longer(event, &pattern, span);
            if !matches!(early, Early::Nothing) || !self.is_clear() {
                return early;
            }
        }
        Early::Nothing
    }

    /// Looks whether an event is the message of a receive, one that fits no slot.
    #[inline(never)]
    fn take_longer(&mut self, event: Event, pattern: &Pattern, span: Span) -> Early {
        if let Event::Arriving {
            arrival,
            ref envelope,
            len,
            ..
        } = event
        {
            let envelope = Envelope::decode(envelope);
            let inbound = Inbound {
                link: NEAR,
                arrival,
            };
            if pattern.fits(&envelope) {
                return self.land_at_once(inbound, (envelope, len), span);
            }
        }
        self.handle(NEAR, event);
        Early::Nothing
    }

    /// A message is where it belongs, and no request knows of it.
    #[inline]
    fn done(&mut self, envelope: &Envelope, len: u64, span: Span) -> Early {
        let (status, error) = self.outcome(envelope, len, span.len() as u64);
        Early::Done(Completion {
            status,
            error,
            context: Some(envelope.context),
            is_gone: true,
        })
    }

    /// Whether a message that comes now is for the receive that is made now, if it fits.
    #[inline]
    fn is_clear(&self) -> bool {
        let is_silent = self.posted.is_empty() && self.unexpected.is_empty();
        is_silent && self.lost.is_empty() && self.links[0].is_quiet()
    }

    fn land_at_once(
        &mut self,
        inbound: Inbound,
        (envelope, len): (Envelope, u64),
        span: Span,
    ) -> Early {
        let context = Some(envelope.context);
        match self.links[NEAR].land(inbound.arrival, Landing::Into(Area::Run(span))) {
            Landed::Whole(_) => self.done(&envelope, len, span),
            Landed::Coming => {
                let request = self.requests.open(context, Area::Run(span));
                let purpose = Purpose::Receive {
                    request,
                    envelope,
                    len,
                };
                self.set_purpose(inbound, purpose);
                Early::Coming(request)
            }
        }
    }

    /// The body of a message is where it belongs: its buffer is for the next one.
    #[inline]
    pub(super) fn give_back(&mut self, body: Bounced) {
        let Bounced::Buffer(body) = body else {
            return;
        };
        if let Some(Link::Shm(road)) = self.links.get_mut(NEAR) {
            road.give_back(body);
        }
    }

    /// Says that the link to the ranks of this node, the second one, leads to `peers`.
    pub fn lead_to_neighbours(&mut self, peers: impl IntoIterator<Item = Peer>) {
        self.lead(peers, NEAR);
    }
}

/// The link to the ranks of this node, if there is one.
pub(super) const NEAR: usize = 1;

/// So many looks are for a message alone, before one is for whatever there is.
const LOOKS_PER_TURN: u32 = 8;

/// How often a receive looks for its message before it becomes a request.
const LOOKS: u32 = 1000;

/// The same where the message may come from another node.
const LOOKS_BESIDE_A_NETWORK: u32 = 16;

impl Engine {
    /// Receives and waits for the message.
    ///
    /// # Errors
    /// None; what went wrong with the operation is in the completion.
    pub fn receive(&self, plan: ReceivePlan) -> crate::error::Result<Completion> {
        let mut lane = self.lane.lock();
        let early = self.receive_early(&mut lane, &plan);
        let request = match early {
            Early::Done(completion) => return Ok(completion),
            Early::Coming(request) => request,
            Early::Nothing => lane.receive(plan),
        };
        self.wait_with(lane, Some(request))
    }

    /// Looks for the message of a receive where messages of neighbours come first.
    #[inline(always)]
    fn receive_early(&self, lane: &mut Lane, plan: &ReceivePlan) -> Early {
        lane.flush();
        self.count_turn(lane);
        if !lane.has_neighbours() {
            Early::Nothing
        } else if self.patience.hold.is_zero() {
            lane.receive_at_once(plan, 1)
        } else if lane.links.len() > NEAR + 1 {
            lane.receive_at_once(plan, LOOKS_BESIDE_A_NETWORK)
        } else {
            lane.receive_at_once(plan, LOOKS)
        }
    }

    /// Receives a message of a collective from a member that may have gone on without sending it:
    /// `None` then, and nothing is received. `has_gone_on` says whether it has, and that all it
    /// sent before lies in its road.
    ///
    /// # Errors
    /// As [`Engine::receive`].
    pub fn receive_unless(
        &self,
        plan: ReceivePlan,
        has_gone_on: impl Fn() -> bool,
    ) -> crate::error::Result<Option<Completion>> {
        let mut lane = self.lane.lock();
        let request = match self.receive_early(&mut lane, &plan) {
            Early::Done(completion) => return Ok(Some(completion)),
            Early::Coming(request) => request,
            Early::Nothing => lane.receive(plan),
        };
        self.wait_unless(lane, request, has_gone_on)
    }

    #[inline(never)]
    pub(super) fn wait_unless(
        &self,
        lane: Guard<'_, Lane>,
        request: Request,
        has_gone_on: impl Fn() -> bool,
    ) -> crate::error::Result<Option<Completion>> {
        let mut looks = 0;
        let early = self.wait_in(lane, |lane| {
            if let Some(done) = lane.take(Some(request)).transpose() {
                return Some(Some(done));
            }
            looks += 1;
            // Before a sleep it must be asked: the sender wakes once, and may have done it.
            let is_due = looks > LOOKS_BEFORE_DOUBT || self.is_about_to_sleep();
            (is_due && has_gone_on()).then_some(None)
        });
        if let Some(done) = early {
            return done.map(Some);
        }
        self.catch_up();
        // All that was sent has come: what has matched nothing now has not been sent.
        if self.with(|lane| lane.give_up(request)) {
            return Ok(None);
        }
        self.wait(Some(request)).map(Some)
    }
}

/// Who waits for a message looks so often before it asks itself whether it will come.
const LOOKS_BEFORE_DOUBT: u32 = 1000;

impl Lane {
    /// Takes a receive back that no message has matched. Answers whether it did.
    fn give_up(&mut self, request: Request) -> bool {
        let is_unmatched = self.posted.withdraw(request);
        if is_unmatched {
            self.requests.finish(request, Status::CANCELLED, None);
            let _ = self.take(Some(request));
        }
        is_unmatched
    }
}
