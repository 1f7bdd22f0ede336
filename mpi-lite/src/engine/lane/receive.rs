//! Receiving, probing, cancelling.

use core::mem::take;

use crate::data::Area;
use crate::engine::Engine;
use crate::engine::envelope::Envelope;
use crate::engine::inbox::matching::{Body, Inbound, Pattern, UnexpectedMessage};
use crate::engine::lane::Lane;
use crate::engine::lane::delivery::{Delivery, Target};
use crate::engine::report::observer::MessageStep;
use crate::engine::requests::request::{Request, Status};
use crate::engine::tasks::plan::{Message, Plan, ReceivePlan};
use crate::error::{Cause, Error, Result};
use crate::ids::{Source, TagSelector};

#[inline]
fn status_of(envelope: &Envelope, bytes: u64) -> Status {
    Status {
        source: Source::Rank(envelope.source.cast_signed()),
        tag: TagSelector::Tag(envelope.tag),
        bytes,
        cancelled: false,
    }
}

fn status_of_message(message: &UnexpectedMessage) -> Status {
    status_of(&message.envelope, message.len)
}

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
            return self.delivery.requests.open_done(None, Status::FROM_NULL);
        };
        let request = self
            .delivery
            .requests
            .open(Some(pattern.context), plan.area);
        self.post(request, pattern);
        request
    }

    /// Makes a persistent request, not started. Source: MPI 5.0, 3.9.
    pub fn plan(&mut self, plan: Plan) -> Request {
        self.delivery.requests.open_persistent(plan)
    }

    #[inline(always)]
    fn post(&mut self, request: Request, pattern: Pattern) {
        if self.delivery.is_special {
            return self.post_specially(request, pattern);
        }
        match self.delivery.unexpected.extract(&pattern) {
            Some(place) => self.claim(place, request),
            None => self.delivery.posted.push(pattern, request),
        }
    }

    /// Posts a receive that a tool watches, or after a failure: a receive that can never match must
    /// not hang.
    #[cold]
    #[inline(never)]
    fn post_specially(&mut self, request: Request, pattern: Pattern) {
        let room = self.delivery.requests.room(request);
        self.delivery.watch.note_receive(&pattern, room);
        let failure = self.delivery.failure(&pattern);
        if pattern.context.is_collective()
            && let Some(error) = failure
        {
            // A waiting message may be left over from an operation that has failed.
            return self.delivery.fail(request, error);
        }
        match (self.delivery.unexpected.extract(&pattern), failure) {
            (Some(place), _) => {
                self.delivery.note_waiting(MessageStep::Matched, place);
                self.claim(place, request);
            }
            (None, Some(error)) => self.delivery.fail(request, error),
            (None, None) => self.delivery.posted.push(pattern, request),
        }
    }

    /// Starts a persistent send or receive. The engine starts other persistent requests. Source:
    /// MPI 5.0, 3.9.
    ///
    /// # Errors
    /// It is not an inactive persistent one, or the operation cannot start.
    pub fn start(&mut self, request: Request) -> Result<()> {
        match self.delivery.requests.startable(request)? {
            Plan::Send(plan) => {
                let pending = self.start_send(&plan, false, |requests| {
                    requests.activate(request, Area::EMPTY);
                    request
                })?;
                if pending.is_none() {
                    self.delivery.requests.finish(request, Status::EMPTY, None);
                }
            }
            Plan::Receive(plan) => match plan.pattern {
                Some(pattern) => {
                    self.delivery.requests.activate(request, plan.area);
                    self.post(request, pattern);
                }
                None => self
                    .delivery
                    .requests
                    .finish(request, Status::FROM_NULL, None),
            },
            Plan::Partitioned(_) => self.start_partitioned(request),
            Plan::Task(_) => return Err(Cause::NotStartable.into()),
        }
        Ok(())
    }
}

impl Delivery {
    /// Finishes a receive whose message has landed.
    #[inline]
    pub(crate) fn finish_receive(&mut self, request: Request, envelope: &Envelope, len: u64) {
        let room = self.requests.room(request);
        self.finish_with(request, (envelope, len), room);
    }

    /// Finishes a receive that has room for `room` bytes.
    #[inline(always)]
    pub(crate) fn finish_with(
        &mut self,
        request: Request,
        (envelope, len): (&Envelope, u64),
        room: u64,
    ) {
        match self.outcome(envelope, len, room) {
            (status, None) => self.requests.finish(request, status, None),
            (status, error) => self.requests.finish(request, status, error),
        }
    }

    /// Returns how a receive with room for `room` bytes ends by a message of `len` bytes.
    #[inline(always)]
    pub(crate) fn outcome(
        &mut self,
        envelope: &Envelope,
        len: u64,
        room: u64,
    ) -> (Status, Option<Error>) {
        self.counters.messages_received += 1;
        self.counters.bytes_received += len;
        let error = (len > room).then(|| Cause::Truncate { len, room }.into());
        (status_of(envelope, len.min(room)), error)
    }

    /// Gives the unexpected message at `place`, already out of its queue, to `request`. Returns how
    /// it lands if its body is still with its sender.
    pub(crate) fn claim(
        &mut self,
        place: u32,
        request: Request,
    ) -> Option<(Inbound, Target, Area)> {
        let message = self.unexpected.get_mut(place);
        let message = message.expect("an extracted message has its place");
        let (envelope, len) = (message.envelope, message.len);
        if let Body::Coming(buffer) = &mut message.body {
            message.body = Body::Claimed(request, take(buffer));
            self.let_go(len);
            return None;
        }
        let message = self.unexpected.remove(place);
        match message.expect("it was there before").body {
            Body::Held(inbound) => {
                let target = Target::Receive {
                    request,
                    envelope,
                    len,
                };
                return Some((inbound, target, self.requests.take_area(request)));
            }
            Body::Whole(body) => {
                self.let_go(len);
                self.requests.fill(request, body.bytes());
                self.finish_receive(request, &envelope, len);
                body.release(&mut self.pool);
            }
            Body::Lost(peer) => self.fail(request, self.peers.error(peer)),
            Body::Coming(_) | Body::Claimed(..) | Body::Dropped(_) => {
                unreachable!("it stays until it is whole, out of the queue")
            }
        }
        None
    }
}

impl Lane {
    /// Returns the status of the message that a receive of `pattern` would get now. Source: MPI
    /// 5.0, 3.8.1.
    #[must_use]
    pub fn probe(&mut self, pattern: &Pattern) -> Option<Status> {
        self.delivery
            .unexpected
            .find(pattern)
            .map(status_of_message)
    }

    /// Takes the message that a receive of `pattern` would get now. Source: MPI 5.0, 3.8.2.
    pub fn matched_probe(&mut self, pattern: &Pattern) -> Option<(Message, Status)> {
        let place = self.delivery.unexpected.extract(pattern)?;
        let message = self
            .delivery
            .unexpected
            .get(place)
            .expect("an extracted message has its place");
        let status = status_of_message(message);
        if self.delivery.is_special {
            self.delivery.note_waiting(MessageStep::Matched, place);
        }
        Some((Message(self.delivery.messages.insert(place)), status))
    }

    /// Starts the receive of a message that a matched probe took. Source: MPI 5.0, 3.8.3.
    ///
    /// # Errors
    /// The message was received already.
    pub fn matched_receive(&mut self, message: Message, area: Area) -> Result<Request> {
        let place = self
            .delivery
            .messages
            .remove(message.0)
            .ok_or(Cause::Message)?;
        let request = self.delivery.requests.open(None, area);
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
        self.delivery.requests.check_cancellable(request)?;
        if self.delivery.requests.peek(request)?.is_some() {
            return Ok(());
        }
        if let Some(whole) = self.delivery.requests.whole(request) {
            let parts: Vec<_> = whole.active().collect();
            return parts.into_iter().try_for_each(|part| self.cancel(part));
        }
        if self.delivery.posted.withdraw(request) {
            self.delivery
                .requests
                .finish(request, Status::CANCELLED, None);
        } else {
            self.ask_back(request, None);
        }
        Ok(())
    }
}
