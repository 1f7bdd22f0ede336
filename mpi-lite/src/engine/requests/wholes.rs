//! What the engine does with operations that consist of others, and with those that the program
//! completes.

use crate::engine::Engine;
use crate::engine::lane::Lane;
use crate::engine::requests::channel::HEADER;
use crate::engine::requests::operation::{Operation, Owner, Phase, Requests};
use crate::engine::requests::parts::{Ended, Part, Stage, Whole};
use crate::engine::requests::request::{Request, Status};
use crate::error::{Cause, Result};
use crate::ids::Context;
use crate::memory::Span;

/// Operations that consist of others.
impl Requests {
    /// Opens an operation that ends when all of its parts have ended.
    pub(crate) fn open_whole(&mut self, context: Option<Context>, whole: Whole) -> Request {
        let mut operation = Operation::new(context, Phase::Active(Span::EMPTY));
        operation.rare().whole = Some(Box::new(whole));
        self.insert(operation)
    }

    /// Returns the parts of an operation, if it consists of parts.
    pub(crate) fn whole(&self, request: Request) -> Option<&Whole> {
        self.table.get(request.0)?.rare.as_ref()?.whole.as_deref()
    }

    /// Returns the operation that this one is a part of.
    pub(crate) fn whole_of(&self, part: Request) -> Option<Request> {
        let part = self.table.get(part.0)?.rare.as_ref()?.part?;
        Some(part.whole)
    }

    pub(crate) fn whole_mut(&mut self, request: Request) -> Option<&mut Whole> {
        let rare = self.table.get_mut(request.0)?.rare.as_mut()?;
        rare.whole.as_deref_mut()
    }

    /// Gives parts to a persistent operation.
    pub(crate) fn set_whole(&mut self, request: Request, whole: Whole) {
        if let Some(operation) = self.table.get_mut(request.0) {
            operation.rare().whole = Some(Box::new(whole));
        }
    }

    /// Keeps `bytes` until the operation has ended. Of one that is complete nothing is kept.
    pub(crate) fn keep(&mut self, request: Request, bytes: Vec<u8>) {
        if let Some(operation) = self.table.get_mut(request.0) {
            operation.rare().kept = bytes;
        }
    }

    /// Makes an operation a part of another one, which learns how it ends.
    pub(crate) fn adopt(&mut self, request: Request, part: Part) {
        let Some(operation) = self.table.get_mut(request.0) else {
            // A send that was complete at once.
            return self.note_part(part, (Status::EMPTY, None), Vec::new());
        };
        operation.owner = Owner::Whole;
        operation.rare().part = Some(part);
        if matches!(operation.phase, Phase::Done(_)) {
            self.end_part(request);
        } else if let Some(whole) = self.whole_mut(part.whole)
            && let Some(stage) = whole.parts.get_mut(part.number as usize)
        {
            *stage = Stage::Active(request);
        }
    }

    /// A part has ended: takes it out of the table, and tells the whole.
    pub(crate) fn end_part(&mut self, request: Request) {
        let Some(mut operation) = self.table.remove(request.0) else {
            return;
        };
        let (Phase::Done(status), Some(rare)) = (operation.phase, &mut operation.rare) else {
            unreachable!("a part that has ended knows its whole");
        };
        let Some(part) = rare.part else {
            return;
        };
        let ended = (status, rare.error.take());
        self.note_part(part, ended, core::mem::take(&mut rare.kept));
    }

    /// A part of an operation has ended. `kept` is the memory that it used. A link may still write
    /// there what has come: a message is complete before it lands.
    pub(crate) fn note_part(&mut self, part: Part, ended: Ended, kept: Vec<u8>) {
        let Some(whole) = self.whole_mut(part.whole) else {
            self.landing
                .extend((!kept.is_empty()).then_some((part, ended, kept)));
            return;
        };
        if whole.channel.is_some() && !kept.is_empty() {
            self.landing.push((part, ended, kept));
        } else if whole.note(part.number, ended) {
            self.end_whole(part.whole);
        }
    }

    /// What has come for this part is in `kept`. Returns the receive that may begin because of it.
    pub(crate) fn note_landed(
        &mut self,
        (part, ended, kept): (Part, Ended, Vec<u8>),
    ) -> Option<Request> {
        let is_running = self.is_running(part.whole);
        let whole = self.whole_mut(part.whole)?;
        if part.number == HEADER {
            let can_begin = whole.learn(ended.1, &kept);
            if is_running && !can_begin {
                self.end_whole(part.whole);
            }
            return (is_running && can_begin).then_some(part.whole);
        }
        if let Some(channel) = &whole.channel {
            channel.lay_down(part.number, &kept);
        }
        if whole.note(part.number, ended) {
            self.end_whole(part.whole);
        }
        None
    }

    /// All parts of an active operation have ended, or it has failed before they began.
    pub(crate) fn end_whole(&mut self, request: Request) {
        if let Some(whole) = self.whole_mut(request) {
            let (status, error) = (whole.status, whole.error.clone());
            self.finish(request, status, error);
        }
    }

    /// The operation is active.
    pub(crate) fn is_running(&self, request: Request) -> bool {
        let operation = self.table.get(request.0);
        operation.is_some_and(|operation| matches!(operation.phase, Phase::Active(_)))
    }

    /// Leaves an operation to itself: nobody completes it.
    pub(crate) fn disown(&mut self, request: Request) {
        if let Some(operation) = self.table.get_mut(request.0) {
            operation.owner = Owner::Nobody;
        }
    }
}

/// Generalized requests. Source: MPI 5.0, 13.2.
impl Requests {
    /// Opens an operation that the program completes.
    pub(crate) fn open_generalized(&mut self) -> Request {
        let mut operation = Operation::new(None, Phase::Active(Span::EMPTY));
        operation.rare().is_generalized = true;
        self.insert(operation)
    }

    /// Returns true if the program completes the operation.
    pub(crate) fn is_generalized(&self, request: Request) -> bool {
        let operation = self.table.get(request.0);
        operation.is_some_and(Operation::is_generalized)
    }

    /// Completes a generalized operation. Returns true if its request was freed before, so that
    /// it is gone now.
    ///
    /// # Errors
    /// It is no active generalized operation.
    pub(crate) fn complete_generalized(&mut self, request: Request) -> Result<bool> {
        if !self.is_generalized(request) || !self.is_running(request) {
            let why = "the request is not an active generalized request";
            return Err(Cause::Unsuited(why).into());
        }
        self.finish(request, Status::EMPTY, None);
        Ok(self.table.get(request.0).is_none())
    }
}

impl Lane {
    /// Makes one operation of a receive and a send. It ends with the status of the receive.
    pub(crate) fn unite(&mut self, (receiving, sending): (Request, Request)) -> Request {
        let requests = &mut self.delivery.requests;
        let context = requests.context(sending);
        let whole = requests.open_whole(context, Whole::new(2, None));
        requests.adopt(receiving, Part { whole, number: 0 });
        requests.adopt(sending, Part { whole, number: 1 });
        whole
    }

    /// Opens a generalized request. Source: MPI 5.0, 13.2.
    pub fn open_generalized(&mut self) -> Request {
        self.delivery.requests.open_generalized()
    }

    /// Returns true if the program completes the operation of this request.
    #[must_use]
    pub fn is_generalized(&self, request: Request) -> bool {
        self.delivery.requests.is_generalized(request)
    }
}

impl Engine {
    /// Completes a generalized request; a thread that waits for it wakes. Returns true if the
    /// request was freed before, so that it is gone now. Source: MPI 5.0, 13.2.
    ///
    /// # Errors
    /// It is no active generalized request.
    pub fn complete_generalized(&self, request: Request) -> Result<bool> {
        self.with(|lane| lane.delivery.requests.complete_generalized(request))
    }
}
