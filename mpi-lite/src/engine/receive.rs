//! Receiving, probing, cancelling.

use super::Engine;
use super::envelope::Envelope;
use super::lane::Lane;
use super::loss::Loss;
use super::matching::{Pattern, UnexpectedMessage};
use super::request::{Plan, Request, Status};
use crate::data::Area;
use crate::error::{Cause, Error, Result};
use crate::ids::{Source, TagSelector};
use crate::slab::Key;

/// A receive, ready to be started. `pattern: None` is `MPI_PROC_NULL`.
#[derive(Clone, Debug)]
pub struct ReceivePlan {
    /// Which messages fit.
    pub pattern: Option<Pattern>,
    /// Where the message goes.
    pub area: Area,
}

/// A message that a matched probe took out of the queue. Source: MPI 5.0, 3.8.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Message(pub Key);

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
    /// Starts a receive. It is laid down here for good in the place where it waits, without being
    /// copied from place to place: a processor waits when it copies what it has just written.
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
            return self.requests.open_done(None, Status::FROM_NULL);
        };
        let request = self.requests.open(Some(pattern.context), plan.area);
        self.post(request, pattern);
        request
    }

    /// A persistent request, not started. Source: MPI 5.0, 3.9.
    pub fn plan(&mut self, plan: Plan) -> Request {
        self.requests.open_persistent(plan)
    }

    #[inline(always)]
    fn post(&mut self, request: Request, pattern: Pattern) {
        match self.unexpected.extract(&pattern) {
            Some(place) => self.claim(place, request),
            None => match self.lost.first() {
                // The job is broken; a receive that may never match must not hang.
                Some(&Loss { peer, .. }) => self.fail(request, peer),
                None => self.posted.push(pattern, request),
            },
        }
    }

    /// Starts a persistent request. Source: MPI 5.0, 3.9.
    ///
    /// # Errors
    /// It is not an inactive persistent one, or the operation cannot start.
    pub fn start(&mut self, request: Request) -> Result<()> {
        match self.requests.startable(request)? {
            Plan::Send(plan) => {
                let pending = self.start_send(&plan, false, |requests| {
                    requests.activate(request, Area::EMPTY);
                    request
                })?;
                if pending.is_none() {
                    self.requests.finish(request, Status::EMPTY, None);
                }
            }
            Plan::Receive(plan) => match plan.pattern {
                Some(pattern) => {
                    self.requests.activate(request, plan.area);
                    self.post(request, pattern);
                }
                None => self.requests.finish(request, Status::FROM_NULL, None),
            },
        }
        Ok(())
    }

    #[inline]
    pub(super) fn finish_receive(
        &mut self,
        request: Request,
        envelope: Envelope,
        len: u64,
        bounced: Option<&[u8]>,
    ) {
        let place = self.requests.place(request);
        let room = place.room();
        if let Some(bytes) = bounced {
            place.fill(bytes);
        }
        let (status, error) = self.outcome(&envelope, len, room);
        self.requests.finish(request, status, error);
    }

    /// What became of a receive with room for `room` bytes by a message of `len` bytes.
    #[inline(always)]
    pub(super) fn outcome(
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

    /// What a receive of `pattern` would get now. Source: MPI 5.0, 3.8.1.
    #[must_use]
    pub fn probe(&mut self, pattern: &Pattern) -> Option<Status> {
        self.unexpected.find(pattern).map(status_of_message)
    }

    /// Takes what a receive of `pattern` would get now. Source: MPI 5.0, 3.8.2.
    pub fn matched_probe(&mut self, pattern: &Pattern) -> Option<(Message, Status)> {
        let place = self.unexpected.extract(pattern)?;
        let message = self
            .unexpected
            .get(place)
            .expect("an extracted message has its place");
        let status = status_of_message(message);
        Some((Message(self.messages.insert(place)), status))
    }

    /// Starts to receive a message that a matched probe took. Source: MPI 5.0, 3.8.3.
    ///
    /// # Errors
    /// The message was received already.
    pub fn matched_receive(&mut self, message: Message, area: Area) -> Result<Request> {
        let place = self.messages.remove(message.0).ok_or(Cause::Message)?;
        let request = self.requests.open(None, area);
        self.claim(place, request);
        Ok(request)
    }

    /// Cancels a receive that no message has matched yet, at once. Asks for the message of a send
    /// back: the request completes, cancelled or not, with the receiver's answer. Source: MPI 5.0,
    /// 3.8.4.
    ///
    /// # Errors
    /// The request does not exist.
    pub fn cancel(&mut self, request: Request) -> Result<()> {
        if self.requests.peek(request)?.is_some() {
            return Ok(());
        }
        if self.posted.withdraw(request) {
            self.requests.finish(request, Status::CANCELLED, None);
        } else {
            self.ask_back(request);
        }
        Ok(())
    }
}
