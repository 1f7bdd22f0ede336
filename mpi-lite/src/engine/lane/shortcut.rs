//! The shortcut of a short message between ranks that share memory: it is sent without a record,
//! and received without a request. Decision 0022.
//!
//! A receive may take it if no receive was posted before and no message waits. Other messages that
//! it finds go the usual way. So does the receive itself after a while.

use super::Lane;
use super::arrive::Inlet;
use crate::clock::Instant;
use crate::data::Area;
use crate::engine::Engine;
use crate::engine::envelope::{Envelope, Flags};
use crate::engine::inbox::matching::Pattern;
use crate::engine::report::Subject;
use crate::engine::requests::{Completion, Request, Status};
use crate::engine::tasks::ReceivePlan;
use crate::engine::tasks::SendPlan;
use crate::engine::waiting::Guard;
use crate::engine::waiting::Until;
use crate::engine::waiting::WaitPolicy;
use crate::ids::Mode;
use crate::memory::Span;
use crate::transport::{
    Arrival, Incoming, Landing, Lost, Progress, Sink, Token, Transport, Unheard,
};

/// The result of an early look for the message of a receive.
pub(crate) enum Early {
    /// The receive is over.
    Done(Completion),
    /// The receive has matched a message, of which a part is still to come.
    Coming(Request),
    /// No message has come for the receive.
    Nothing,
}

/// A receive that looks for its message before it becomes a request. It would be the only one, so
/// the first message that fits is for it. All others go to the delivery.
struct Direct<'a> {
    inlet: Inlet<'a>,
    pattern: &'a Pattern,
    span: &'a Span,
    found: Option<Found>,
}

/// The message of a receive that became no request.
#[derive(Clone, Copy)]
struct Found {
    source: u32,
    tag: i32,
    len: u64,
    /// The request, if a part of the message is still to come.
    request: Option<Request>,
}

impl Sink for Direct<'_> {
    #[inline(always)]
    fn arriving(&mut self, message: Incoming) -> Landing {
        let envelope = Envelope::decode(&message.envelope);
        if self.found.is_some() || !self.pattern.fits(&envelope) {
            return self.inlet.arriving(message);
        }
        let request = (!message.is_whole).then(|| self.inlet.begin(&message, envelope, *self.span));
        self.found = Some(Found {
            source: envelope.source,
            tag: envelope.tag,
            len: message.len,
            request,
        });
        Landing::Into(Area::Run(*self.span))
    }

    fn arrived(&mut self, arrival: Arrival) {
        self.inlet.arrived(arrival);
    }

    fn sent(&mut self, token: Token) {
        self.inlet.sent(token);
    }

    fn lost(&mut self, lost: Lost) {
        self.inlet.lost(lost);
    }

    fn unheard(&mut self, peer: Unheard) {
        self.inlet.unheard(peer);
    }

    #[inline(always)]
    fn wants_more(&self) -> bool {
        self.found.is_none() && self.inlet.wants_more()
    }
}

impl Lane {
    /// Sends a message if the link can do so at once. Returns true if it did.
    #[inline(always)]
    pub(crate) fn send_at_once(&mut self, plan: &SendPlan) -> bool {
        match self.links.memory() {
            None => false,
            Some(link) => self.offer(link, plan),
        }
    }

    #[inline]
    fn offer(&mut self, link: usize, plan: &SendPlan) -> bool {
        let (Some(to), Area::Run(body)) = (plan.to, &plan.area) else {
            return false;
        };
        // A synchronous send waits for its match, a buffered one needs its buffer.
        if self.route(to) != link || !matches!(plan.mode, Mode::Standard | Mode::Ready) {
            return false;
        }
        let is_taken = self
            .links
            .at(link)
            .offer(to, &plan.envelope().encode(), *body);
        if is_taken {
            self.parts.outbox.count_offered(body.len() as u64);
        }
        is_taken
    }

    /// Looks `looks` times for the message of a receive that would be the only one.
    #[inline(always)]
    fn receive_at_once(&mut self, link: usize, plan: &ReceivePlan, looks: u32) -> Early {
        let (Some(pattern), Area::Run(span)) = (&plan.pattern, &plan.area) else {
            return Early::Nothing;
        };
        if !self.is_clear() {
            return Early::Nothing;
        }
        for _ in 0..looks {
            let mut direct = Direct {
                inlet: Inlet::new(&mut self.parts, link, 0),
                pattern,
                span,
                found: None,
            };
            // A link through memory needs no clock.
            let progress = self.links.progress(link, Instant::ZERO, &mut direct);
            let found = direct.found;
            self.run_errands();
            if let Some(found) = found {
                return self.early(&found, (pattern, span));
            }
            match progress {
                Progress::Idle => core::hint::spin_loop(),
                Progress::Delivered if self.is_clear() => {}
                // Other links must not wait for long copies.
                Progress::Delivered | Progress::Moved => break,
            }
        }
        Early::Nothing
    }

    /// Returns the result of a receive that has found its message.
    #[inline(always)]
    fn early(&mut self, found: &Found, (pattern, span): (&Pattern, &Span)) -> Early {
        if let Some(request) = found.request {
            return Early::Coming(request);
        }
        let envelope = Envelope {
            context: pattern.context,
            source: found.source,
            tag: found.tag,
            flags: Flags::default(),
        };
        let room = span.len() as u64;
        let (status, error) = self.parts.outcome(&envelope, found.len, room);
        Early::Done(Completion {
            status,
            error,
            context: Some(pattern.context),
            is_gone: true,
            is_generalized: false,
        })
    }

    /// Returns true if a message that arrives now, and fits, must be for the receive that is made
    /// now.
    #[inline]
    fn is_clear(&self) -> bool {
        self.parts.inbox.is_clear() && !self.parts.is_special && !self.links.own_is_busy()
    }
}

/// How often a receive looks for its message before it becomes a request.
const LOOKS: u32 = 1000;

/// How often a receive looks for a message that may come from another node.
const LOOKS_BESIDE_A_NETWORK: u32 = 16;

impl Lane {
    /// How often a receive looks for its message before it becomes a request.
    pub(crate) fn looks(&self, policy: &WaitPolicy) -> u32 {
        match self.links.reach_beyond_memory() {
            _ if policy.spin.is_zero() => 1,
            false => LOOKS,
            true => LOOKS_BESIDE_A_NETWORK,
        }
    }
}

impl Engine {
    /// Receives and waits for the message.
    ///
    /// # Errors
    /// None. The error of the operation is in the completion.
    pub fn receive(&self, plan: ReceivePlan) -> crate::error::Result<Completion> {
        let mut lane = self.lane.lock();
        let early = self.receive_early(&mut lane, &plan);
        let request = match early {
            Early::Done(completion) => return Ok(completion),
            Early::Coming(request) => request,
            Early::Nothing => lane.receive(plan),
        };
        self.waiting.wait_with(lane, Some(request))
    }

    /// Looks for the message of a receive on the link through memory.
    #[inline(always)]
    fn receive_early(&self, lane: &mut Lane, plan: &ReceivePlan) -> Early {
        lane.flush();
        self.waiting.count_turn(lane);
        match lane.links.memory() {
            None => Early::Nothing,
            Some(link) => lane.receive_at_once(link, plan, self.looks),
        }
    }

    /// Receives a message of a collective from a member that may have gone on without sending it:
    /// `None` then, and nothing is received. `has_gone_on` returns true if it has, and all that it
    /// sent before lies in its channel.
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
    pub(crate) fn wait_unless(
        &self,
        lane: Guard<'_, Lane>,
        request: Request,
        has_gone_on: impl Fn() -> bool,
    ) -> crate::error::Result<Option<Completion>> {
        let mut looks = 0;
        let early = self.waiting.wait_in(
            lane,
            |_| Until::Change,
            |_| Subject::one(Some(request)),
            |lane| {
                if let Some(done) = lane.take(Some(request)).transpose() {
                    return Some(Some(done));
                }
                looks += 1;
                // Called before each sleep: the sender wakes once, and may have done so already.
                let is_due = looks > LOOKS_BEFORE_DOUBT || self.waiting.is_about_to_sleep();
                (is_due && has_gone_on()).then_some(None)
            },
        );
        if let Some(done) = early {
            return done.map(Some);
        }
        self.catch_up();
        // All sent messages have come: the message of a receive without a match was not sent.
        if self.with(|lane| lane.give_up(request)) {
            return Ok(None);
        }
        self.wait(Some(request)).map(Some)
    }
}

/// How often a thread looks for a message before it checks whether the message will come at all.
const LOOKS_BEFORE_DOUBT: u32 = 1000;

impl Lane {
    /// Takes a receive back that no message has matched. Returns true if it did.
    fn give_up(&mut self, request: Request) -> bool {
        let is_unmatched = self.parts.inbox.withdraw(request);
        if is_unmatched {
            self.parts.requests.finish(request, Status::CANCELLED, None);
            let _ = self.take(Some(request));
        }
        is_unmatched
    }
}
