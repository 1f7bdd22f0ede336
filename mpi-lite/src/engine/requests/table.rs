//! All operations that the program, or a task, may wait for.

use crate::data::Area;
use crate::engine::requests::operation::{CompletionState, Operation, Owner};
use crate::engine::requests::parts::{Ended, Part, Whole};
use crate::engine::requests::request::{Completion, Request, Status};
use crate::engine::tasks::Plan;
use crate::error::{Cause, Error, Result};
use crate::ids::Context;
use crate::memory::Span;
use crate::slab::Table;

/// All operations of a lane.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    table: Table<Operation>,
    /// How many operations have finished so far.
    finished: u64,
    /// A waiter need not check before this many have finished.
    due: u64,
    /// Tasks of which an operation has finished.
    woken: Vec<u32>,
    /// Parts that have ended, and the memory into which their messages land.
    landing: Vec<(Part, Ended, Vec<u8>)>,
    /// How many partitions of sends have been named.
    partitions: u32,
}

/// The table.
impl Requests {
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn shrink(&mut self) {
        self.table.shrink();
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Operation> {
        self.table.iter()
    }

    /// The operation; `None` if the request is stale, or was never in the table.
    #[inline(always)]
    pub(crate) fn get(&self, request: Request) -> Option<&Operation> {
        self.table.get(request.0)
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, request: Request) -> Option<&mut Operation> {
        self.table.get_mut(request.0)
    }

    #[inline(always)]
    pub(crate) fn insert(&mut self, operation: Operation) -> Request {
        Request(self.table.insert(operation))
    }

    /// Opens an operation. `area` is where a receive puts its message.
    #[inline(always)]
    pub(crate) fn open(&mut self, context: Option<Context>, area: Area) -> Request {
        match area {
            Area::Run(span) => self.insert(Operation::active(context, span)),
            area => self.insert(Operation::scattered(context, area)),
        }
    }

    /// Opens an operation that is over already.
    #[inline]
    pub(crate) fn open_done(&mut self, context: Option<Context>, status: Status) -> Request {
        self.insert(Operation::done(context, status))
    }

    /// Returns the plan of an inactive persistent request.
    pub(crate) fn startable(&self, request: Request) -> Result<Plan> {
        let Some(operation) = self.get(request) else {
            request.ended()?;
            return Err(Cause::NotStartable.into());
        };
        let plan = operation.startable().cloned();
        plan.ok_or_else(|| Cause::NotStartable.into())
    }

    pub(crate) fn activate(&mut self, request: Request, area: Area) {
        let operation = self.get_mut(request);
        operation.expect("the plan was just read").begin(area);
    }

    /// Undoes the start of an operation: its request is gone, or inactive as before.
    pub(crate) fn abandon(&mut self, request: Request) {
        let operation = self.get_mut(request).expect("just opened");
        if !operation.abandon() {
            self.table.remove(request.0);
        }
    }

    /// The contexts of the communicators of all active collective operations.
    pub(crate) fn collectives(&self) -> Vec<Context> {
        let active = self
            .iter()
            .filter(|it| it.owner() == Owner::Collective && it.is_active());
        active.filter_map(Operation::context).collect()
    }

    /// Frees a request: the program will not complete it. A collective operation that goes on is
    /// refused. One that is over need not be waited for. Source: MPI 5.0, 3.7.3 and 6.12.
    pub(crate) fn free(&mut self, request: Request) -> Result<()> {
        let Some(operation) = self.get_mut(request) else {
            return request.ended().map(drop);
        };
        if !operation.free()? {
            self.table.remove(request.0);
        }
        Ok(())
    }
}

const IS_ACTIVE: &str = "an active receive is in the table";

/// Active receives.
impl Requests {
    /// Takes the area where the message of an active receive goes, for a link. Called once.
    #[inline]
    pub(crate) fn take_area(&mut self, request: Request) -> Area {
        self.get_mut(request).expect(IS_ACTIVE).take_area()
    }

    /// Returns how many bytes an active receive has room for.
    #[inline]
    pub(crate) fn room(&mut self, request: Request) -> u64 {
        let room = self.get_mut(request).expect(IS_ACTIVE).room();
        room.expect("the receive is active")
    }

    /// Copies `bytes` to where an active receive puts its message, as far as there is room.
    pub(crate) fn fill(&mut self, request: Request, bytes: &[u8]) {
        self.get_mut(request).expect(IS_ACTIVE).fill(bytes);
    }

    /// Returns where an active receive lands, if that is one run of bytes.
    #[inline(always)]
    pub(crate) fn run(&self, request: Request) -> Option<Span> {
        self.get(request)?.run()
    }
}

/// How operations end.
impl Requests {
    /// Returns a number that changes when an operation finishes. Nobody need check before.
    #[inline]
    pub(crate) fn finished(&self) -> u64 {
        self.finished
    }

    /// Returns true if as many have finished as a waiter waits for.
    #[inline(always)]
    pub(crate) fn is_due(&self) -> bool {
        self.due <= self.finished
    }

    /// Notes that a thread waits until `count` more have finished. Returns their number then.
    pub(crate) fn await_more(&mut self, count: u64) -> u64 {
        self.due = self.finished + count;
        self.due
    }

    #[inline(always)]
    pub(crate) fn finish(&mut self, request: Request, status: Status, error: Option<Error>) {
        self.finished += 1;
        let operation = self
            .get_mut(request)
            .expect("an active request is in the table");
        if operation.end(status, error) {
            self.tell_owner(request);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_owner(&mut self, request: Request) {
        match self.get(request).map(Operation::owner) {
            Some(Owner::Task(task)) => self.woken.push(task),
            Some(Owner::Nobody) => self.table.discard(request.0),
            Some(Owner::Whole) => self.end_part(request),
            _ => {}
        }
    }

    /// Returns true if an operation of a task has finished.
    #[inline(always)]
    pub(crate) fn has_woken(&self) -> bool {
        !self.woken.is_empty()
    }

    /// Takes the tasks of which an operation has finished since the last call.
    pub(crate) fn drain_woken(&mut self) -> impl Iterator<Item = u32> {
        self.woken.drain(..)
    }

    /// Returns how the operation ended if it is finished, without taking it.
    pub(crate) fn peek(&self, request: Request) -> Result<Option<Completion>> {
        match self.get(request) {
            Some(operation) => Ok(operation.completion()),
            None => request.ended().map(Some),
        }
    }

    /// Returns true if the request is an inactive persistent one: waiting ignores it.
    pub(crate) fn is_inactive(&self, request: Request) -> Result<bool> {
        match self.get(request) {
            Some(operation) => Ok(operation.is_inactive()),
            None => request.ended().map(|_| false),
        }
    }

    /// Returns how far the operation is.
    #[inline]
    pub(crate) fn state(&self, request: Request) -> Result<CompletionState> {
        match self.get(request) {
            Some(operation) => Ok(operation.state()),
            None => request.ended().map(|_| CompletionState::Done),
        }
    }

    /// Returns how a finished operation ended. It is gone then, or inactive if persistent.
    #[inline(always)]
    pub(crate) fn take(&mut self, request: Request) -> Result<Option<Completion>> {
        let Some(operation) = self.get_mut(request) else {
            return request.ended().map(Some);
        };
        let ended = operation.take();
        if ended.as_ref().is_some_and(|ended| ended.is_gone) {
            self.table.discard(request.0);
        }
        Ok(ended)
    }

    /// Returns how an operation ended that is finished and has nothing rare, as most have not. A
    /// caller that gets a completion can be quick. `None` for all other operations.
    #[inline(always)]
    pub(crate) fn take_plain(&mut self, request: Request) -> Option<Completion> {
        let (status, context) = match self.get(request) {
            None if request == Request::SENT => (Status::EMPTY, None),
            None => return None,
            Some(operation) => {
                let plain = operation.plain()?;
                self.table.discard(request.0);
                plain
            }
        };
        Some(Completion {
            status,
            error: None,
            context,
            is_gone: true,
            is_generalized: false,
        })
    }
}

/// Operations that consist of others.
impl Requests {
    /// Makes one operation of a receive and a send. It ends with the status of the receive.
    pub(crate) fn unite(&mut self, (receiving, sending): (Request, Request)) -> Request {
        let context = self.get(sending).and_then(Operation::context);
        let whole = self.insert(Operation::of_parts(context, Whole::new(2)));
        self.adopt(receiving, Part { whole, number: 0 });
        self.adopt(sending, Part { whole, number: 1 });
        whole
    }

    /// Returns the parts of an operation, if it consists of parts.
    pub(crate) fn whole(&self, request: Request) -> Option<&Whole> {
        self.get(request)?.whole()
    }

    pub(crate) fn whole_mut(&mut self, request: Request) -> Option<&mut Whole> {
        self.get_mut(request)?.whole_mut()
    }

    /// Makes an operation a part of another one, which learns how it ends.
    pub(crate) fn adopt(&mut self, request: Request, part: Part) {
        let Some(operation) = self.get_mut(request) else {
            // A send that was complete at once.
            return self.note_part(part, (Status::EMPTY, None), Vec::new());
        };
        operation.become_part(part);
        if operation.state() != CompletionState::Pending {
            self.end_part(request);
        } else if let Some(whole) = self.whole_mut(part.whole) {
            whole.note_active(part.number, request);
        }
    }

    /// A part has ended: takes it out of the table, and tells the whole.
    fn end_part(&mut self, request: Request) {
        let ended = self.table.remove(request.0).and_then(Operation::into_part);
        if let Some((part, ended, kept)) = ended {
            self.note_part(part, ended, kept);
        }
    }

    /// A part of an operation has ended. `kept` is the memory that it used. A link may still write
    /// there what has come: a message is complete before it lands.
    pub(crate) fn note_part(&mut self, part: Part, ended: Ended, kept: Vec<u8>) {
        let whole = self.whole_mut(part.whole);
        if !kept.is_empty() && whole.as_ref().is_none_or(|whole| whole.is_partitioned()) {
            self.landing.push((part, ended, kept));
        } else if whole.is_some_and(|whole| whole.note(part.number, ended)) {
            self.end_whole(part.whole);
        }
    }

    /// All parts of an active operation have ended, or it has failed before they began.
    pub(crate) fn end_whole(&mut self, request: Request) {
        if let Some((status, error)) = self.whole(request).map(Whole::outcome) {
            self.finish(request, status, error);
        }
    }

    /// Something may have landed for partitioned receives.
    #[inline(always)]
    pub(crate) fn has_landing(&self) -> bool {
        !self.landing.is_empty()
    }

    /// Takes notice of what has landed for partitioned receives. Returns one that may begin because
    /// of it; the caller asks again.
    pub(crate) fn next_landed(&mut self) -> Option<Request> {
        while let Some((part, ended, kept)) = self.landing.pop() {
            let is_running = self.get(part.whole).is_some_and(Operation::is_active);
            let Some(whole) = self.whole_mut(part.whole) else {
                continue;
            };
            if part.number != Whole::HEADER {
                whole.lay_down(part.number, &kept);
                if whole.note(part.number, ended) {
                    self.end_whole(part.whole);
                }
                continue;
            }
            let can_begin = whole.learn(ended.1, &kept);
            match (is_running, can_begin) {
                (true, true) => return Some(part.whole),
                (true, false) => self.end_whole(part.whole),
                (false, _) => {}
            }
        }
        None
    }

    /// Names so many partitions. Returns the number of the first one.
    pub(crate) fn name_partitions(&mut self, partitions: u32) -> u32 {
        let first = self.partitions;
        self.partitions = first.wrapping_add(partitions);
        first
    }
}
