//! Receiving, probing, cancelling.

use super::Traffic;
use super::arrive::status_of;
use crate::data::Area;
use crate::engine::envelope::Envelope;
use crate::engine::inbox::matching::Pattern;
use crate::engine::report::MessageStep;
use crate::engine::requests::{Request, Status};
use crate::engine::tasks::{Message, Plan, ReceivePlan};
use crate::error::{Cause, Result};

impl Traffic {
    /// Starts a receive.
    #[inline(always)]
    pub fn receive(&mut self, plan: ReceivePlan) -> Request {
        let Some(pattern) = plan.pattern else {
            return self.parts.requests.open_done(None, Status::FROM_NULL);
        };
        let request = self.parts.requests.open(Some(pattern.context), plan.area);
        self.post(request, pattern);
        request
    }

    #[inline(always)]
    fn post(&mut self, request: Request, pattern: Pattern) {
        if self.parts.is_special {
            return self.post_specially(request, pattern);
        }
        match self.parts.inbox.extract(&pattern) {
            Some(place) => self.claim(place, request),
            None => self.parts.inbox.post(pattern, request),
        }
    }

    /// Posts a receive that a tool watches, or after a failure: a receive that can never match must
    /// not hang.
    #[cold]
    #[inline(never)]
    fn post_specially(&mut self, request: Request, pattern: Pattern) {
        let room = self.parts.requests.room(request);
        self.parts.watch.note_receive(&pattern, room);
        let failure = self.parts.failure_behind(&pattern);
        if pattern.context.is_collective()
            && let Some(error) = failure
        {
            // A waiting message may be left over from an operation that has failed.
            return self.parts.fail(request, error);
        }
        match (self.parts.inbox.extract(&pattern), failure) {
            (Some(place), _) => {
                self.parts.note_waiting(MessageStep::Matched, place);
                self.claim(place, request);
            }
            (None, Some(error)) => self.parts.fail(request, error),
            (None, None) => self.parts.inbox.post(pattern, request),
        }
    }

    /// Starts a persistent send or receive. The engine starts other persistent requests. Source:
    /// MPI 5.0, 3.9.
    ///
    /// # Errors
    /// It is not an inactive persistent one, or the operation cannot start.
    pub fn start(&mut self, request: Request) -> Result<()> {
        match self.parts.requests.startable(request)? {
            Plan::Send(plan) => {
                let pending = self.start_send(&plan, false, |requests| {
                    requests.activate(request, Area::EMPTY);
                    request
                })?;
                if pending.is_none() {
                    self.parts.requests.finish(request, Status::EMPTY, None);
                }
            }
            Plan::Receive(plan) => match plan.pattern {
                Some(pattern) => {
                    self.parts.requests.activate(request, plan.area);
                    self.post(request, pattern);
                }
                None => self.parts.requests.finish(request, Status::FROM_NULL, None),
            },
            Plan::Partitioned(_) => self.start_partitioned(request),
            Plan::Task(_) => return Err(Cause::NotStartable.into()),
        }
        Ok(())
    }
}

impl Traffic {
    /// Returns the status of the message that a receive of `pattern` would get now. Source: MPI
    /// 5.0, 3.8.1.
    #[must_use]
    pub fn probe(&mut self, pattern: &Pattern) -> Option<Status> {
        let (envelope, len) = self.waiting_message(pattern)?;
        Some(status_of(&envelope, len))
    }

    /// The first message without a receive that fits, and its length.
    pub(in crate::engine) fn waiting_message(
        &mut self,
        pattern: &Pattern,
    ) -> Option<(Envelope, u64)> {
        self.parts.inbox.find(pattern)
    }

    /// Takes the message that a receive of `pattern` would get now. Source: MPI 5.0, 3.8.2.
    pub fn matched_probe(&mut self, pattern: &Pattern) -> Option<(Message, Status)> {
        let place = self.parts.inbox.extract(pattern)?;
        let (envelope, len) = self.parts.inbox.envelope(place);
        if self.parts.is_special {
            self.parts.note_waiting(MessageStep::Matched, place);
        }
        let name = self.parts.inbox.set_apart(place);
        Some((Message(name), status_of(&envelope, len)))
    }

    /// Starts the receive of a message that a matched probe took. Source: MPI 5.0, 3.8.3.
    ///
    /// # Errors
    /// The message was received already.
    pub fn matched_receive(&mut self, message: Message, area: Area) -> Result<Request> {
        let place = self
            .parts
            .inbox
            .take_apart(message.0)
            .ok_or(Cause::Message)?;
        let request = self.parts.requests.open(None, area);
        self.claim(place, request);
        Ok(request)
    }

    /// Cancels a request. A receive that no message has matched is cancelled at once. The message
    /// of a send is asked back: the request completes, cancelled or not, with the receiver's
    /// answer. Source: MPI 5.0,
    /// 3.8.4.
    ///
    /// # Errors
    /// The request does not exist, or is that of a collective or partitioned operation.
    pub fn cancel(&mut self, request: Request) -> Result<()> {
        if let Some(operation) = self.parts.requests.get(request) {
            operation.check_cancellable()?;
        }
        if self.parts.requests.peek(request)?.is_some() {
            return Ok(());
        }
        if let Some(whole) = self.parts.requests.whole(request) {
            let parts: Vec<_> = whole.active().collect();
            return parts.into_iter().try_for_each(|part| self.cancel(part));
        }
        if self.parts.inbox.withdraw(request) {
            self.parts.requests.finish(request, Status::CANCELLED, None);
        } else {
            self.ask_back(request, None);
        }
        Ok(())
    }

    /// Gives the unexpected message at `place`, already out of its queue, to `request`.
    fn claim(&mut self, place: u32, request: Request) {
        if let Some((inbound, target, area)) = self.parts.claim(place, request) {
            self.land(inbound, target, area);
        }
        self.run_errands();
    }

    /// Takes a receive back that no message has matched. Returns true if it did.
    pub(in crate::engine) fn give_up(&mut self, request: Request) -> bool {
        let is_unmatched = self.parts.inbox.withdraw(request);
        if is_unmatched {
            self.parts.requests.finish(request, Status::CANCELLED, None);
            let _ = self.parts.requests.take(request);
        }
        is_unmatched
    }
}
