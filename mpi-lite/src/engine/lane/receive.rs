//! Receiving, probing, cancelling.

use super::Lane;
use super::arrive::status_of;
use crate::data::Area;
use crate::engine::Engine;
use crate::engine::inbox::matching::Pattern;
use crate::engine::report::MessageStep;
use crate::engine::requests::{Operation, Request, Status};
use crate::engine::tasks::{Message, Plan, ReceivePlan};
use crate::error::{Cause, Result};
use crate::transport::Progress;

impl Engine {
    /// Starts a receive. Inlined so that the request is built in place: to copy data that was just
    /// written stalls on the store buffer.
    #[inline(always)]
    pub fn start_receive(&self, plan: ReceivePlan) -> Request {
        self.lane.lock().receive(plan)
    }
}

impl Lane {
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

    /// Makes a persistent request, not started. Source: MPI 5.0, 3.9.
    pub fn plan(&mut self, plan: Plan) -> Request {
        let operation = Operation::persistent(plan, None);
        self.parts.requests.insert(operation)
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
        let failure = self.failure_behind(&pattern);
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

impl Lane {
    /// Returns the status of the message that a receive of `pattern` would get now. Source: MPI
    /// 5.0, 3.8.1.
    #[must_use]
    pub fn probe(&mut self, pattern: &Pattern) -> Option<Status> {
        let (envelope, len) = self.parts.inbox.find(pattern)?;
        Some(status_of(&envelope, len))
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
}

impl Engine {
    /// Cancels an operation. The message of a send to this process itself, its question and its
    /// answer all go over the link to itself: turns until that is empty settle the matter, so that
    /// the next look at the request finds it complete. Source: MPI 5.0, 3.8.4 (waiting for it is
    /// local).
    ///
    /// # Errors
    /// As [`Lane::cancel`].
    pub fn cancel(&self, request: Request) -> Result<()> {
        let mut lane = self.lane.lock();
        lane.cancel(request)?;
        while lane.links.own_is_busy() && lane.turn(self.now()) == Progress::Delivered {}
        Ok(())
    }
}
