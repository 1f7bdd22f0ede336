//! What the program asks of its requests. `None` is `MPI_REQUEST_NULL`.

use super::{Lane, Parts};
use crate::engine::outbox::BufferOwner;
use crate::engine::requests::{Completion, Operation, Request, Status};
use crate::engine::tasks::Plan;
use crate::error::{Cause, Result};
use crate::ids::Context;
use crate::memory::Span;

impl Lane {
    /// Returns how the request ended, if it did. It is gone or inactive then.
    ///
    /// # Errors
    /// The request does not exist (any more).
    #[inline(always)]
    pub fn take(&mut self, request: Option<Request>) -> Result<Option<Completion>> {
        match request {
            Some(request) => self.requests_mut().take(request),
            None => Ok(Some(Completion::NOTHING)),
        }
    }

    /// Returns how the request ended, if it did, and leaves it as it is. Source: MPI 5.0, 3.7.6.
    ///
    /// # Errors
    /// The request does not exist (any more).
    pub fn peek(&self, request: Option<Request>) -> Result<Option<Completion>> {
        match request {
            Some(request) => self.requests().peek(request),
            None => Ok(Some(Completion::NOTHING)),
        }
    }

    /// Frees a request; an active operation goes on. Source: MPI 5.0, 3.7.3.
    ///
    /// # Errors
    /// The request does not exist (any more), or is that of an active collective operation.
    pub fn free(&mut self, request: Request) -> Result<()> {
        self.requests_mut().free(request)
    }

    /// Returns true if waiting for any of several would wait for this one: it is neither null nor
    /// an inactive persistent request.
    ///
    /// # Errors
    /// The request does not exist (any more).
    pub fn is_active(&self, request: Option<Request>) -> Result<bool> {
        match request {
            Some(request) => Ok(!self.requests().is_inactive(request)?),
            None => Ok(false),
        }
    }

    /// Opens a generalized request. Source: MPI 5.0, 13.2.
    pub fn open_generalized(&mut self) -> Request {
        self.requests_mut().insert(Operation::generalized())
    }

    /// Returns true if the program completes the operation of this request.
    #[must_use]
    pub fn is_generalized(&self, request: Request) -> bool {
        let operation = self.requests().get(request);
        operation.is_some_and(Operation::is_generalized)
    }

    /// Completes a generalized request; a thread that waits for it wakes. Returns true if the
    /// request was freed before, so that it is gone now. Source: MPI 5.0, 13.2.
    ///
    /// # Errors
    /// It is no active generalized request.
    pub fn complete_generalized(&mut self, request: Request) -> Result<bool> {
        let is_one = |it: &Operation| it.is_generalized() && it.is_active();
        let requests = self.requests_mut();
        if !requests.get(request).is_some_and(is_one) {
            let why = "the request is not an active generalized request";
            return Err(Cause::Unsuited(why).into());
        }
        requests.finish(request, Status::EMPTY, None);
        Ok(requests.get(request).is_none())
    }

    /// Returns a request that completes when all messages that are in the buffer now have left it.
    /// Source: MPI 5.0, 3.6 (`MPI_Buffer_iflush`).
    pub fn start_flush(&mut self, owner: BufferOwner) -> Request {
        let Parts {
            outbox, requests, ..
        } = &mut self.traffic.parts;
        let context = match owner {
            BufferOwner::Process => Some(Context::WORLD),
            BufferOwner::Communicator(context) => Some(context),
            BufferOwner::Session(_) => None,
        };
        let buffers = outbox.buffers_mut();
        let flush = buffers.flush(owner, || requests.open(context, Span::EMPTY.into()));
        flush.unwrap_or_else(|| requests.open_done(context, Status::EMPTY))
    }

    /// Makes a persistent request, not started. Source: MPI 5.0, 3.9.
    pub fn plan(&mut self, plan: Plan) -> Request {
        let operation = Operation::persistent(plan, None);
        self.requests_mut().insert(operation)
    }
}
