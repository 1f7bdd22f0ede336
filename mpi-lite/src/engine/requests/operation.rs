//! Operations that the program may wait for.

use crate::data::Area;
use crate::engine::requests::parts::{Ended, Part, Whole};
use crate::engine::requests::request::{Completion, Request, Status};
use crate::engine::tasks::plan::{Plan, Recipe};
use crate::error::{Cause, Error, Result};
use crate::ids::Context;
use crate::memory::Span;
use crate::slab::Table;

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompletionState {
    /// Not finished.
    Pending,
    /// Finished or inactive.
    Done,
    /// Finished with an error.
    Failed,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    /// Persistent and not started.
    Inactive,
    /// Where a receive puts its message, unless that is scattered. A send does not use it.
    Active(Span),
    Done(Status),
}

/// The party to which the end of an operation is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The program, which completes the request.
    Program,
    /// The program. It may neither cancel nor free the operation, which is a task.
    Collective,
    /// Nobody: the program has freed the request.
    Nobody,
    /// The task of this number, which is woken.
    Task(u32),
    /// The operation of which this one is a part: `Rare::part`.
    Whole,
}

/// An operation: one cache line, and a box for what few of them have.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) phase: Phase,
    context: Option<Context>,
    pub(crate) owner: Owner,
    pub(crate) rare: Option<Box<Rare>>,
}

#[derive(Debug, Default)]
pub(crate) struct Rare {
    /// Where an active receive puts its message, until a link takes it, unless `Phase` tells that.
    area: Option<Area>,
    /// Bytes that go there.
    room: u64,
    /// The error of a finished operation.
    pub(crate) error: Option<Error>,
    /// What a persistent request does.
    plan: Option<Plan>,
    /// The parts of which it consists.
    pub(crate) whole: Option<Box<Whole>>,
    /// What it is a part of.
    pub(crate) part: Option<Part>,
    /// Memory that the operation uses.
    pub(crate) kept: Vec<u8>,
    /// The program completes it. Source: MPI 5.0, 13.2.
    pub(crate) is_generalized: bool,
}

impl Operation {
    #[inline(always)]
    pub(crate) fn new(context: Option<Context>, phase: Phase) -> Self {
        Self {
            phase,
            context,
            owner: Owner::Program,
            rare: None,
        }
    }

    pub(crate) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    fn plan(&self) -> Option<&Plan> {
        self.rare.as_ref()?.plan.as_ref()
    }

    pub(crate) fn is_generalized(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.is_generalized)
    }

    fn is_partitioned(&self) -> bool {
        let whole = self.rare.as_ref().and_then(|rare| rare.whole.as_ref());
        whole.is_some_and(|whole| whole.channel.is_some())
    }

    fn error(&self) -> Option<&Error> {
        self.rare.as_ref()?.error.as_ref()
    }

    #[inline(never)]
    fn note_rare_end(&mut self, error: Option<Error>) {
        let rare = self.rare();
        (rare.area, rare.room) = (None, 0);
        rare.error = error;
    }

    fn begin(&mut self, area: Area) {
        self.phase = Phase::Active(match area {
            Area::Run(span) => span,
            area => {
                let rare = self.rare();
                rare.room = area.len();
                rare.area = Some(area);
                Span::EMPTY
            }
        });
    }
}

impl Drop for Operation {
    /// Drops the rare part. Cold, since most have none.
    #[inline(always)]
    fn drop(&mut self) {
        if self.rare.is_some() {
            release(self.rare.take());
        }
    }
}

#[inline(never)]
fn release(_rare: Option<Box<Rare>>) {}

/// All operations of a lane.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    pub(crate) table: Table<Operation>,
    /// How many operations have finished so far.
    finished: u64,
    /// A waiter need not check before this many have finished.
    due: u64,
    /// Tasks of which an operation has finished.
    woken: Vec<u32>,
    /// Parts that have ended, and the memory into which their messages land.
    pub(crate) landing: Vec<(Part, Ended, Vec<u8>)>,
    /// How many partitions of sends have been named.
    pub(crate) partitions: u32,
}

impl Requests {
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) fn shrink(&mut self) {
        self.table.shrink();
    }

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

    /// Opens an operation. `area` is where a receive puts its message.
    #[inline(always)]
    pub(crate) fn open(&mut self, context: Option<Context>, area: Area) -> Request {
        match area {
            Area::Run(span) => self.insert(Operation::new(context, Phase::Active(span))),
            area => self.open_in(context, area),
        }
    }

    #[inline(never)]
    fn open_in(&mut self, context: Option<Context>, area: Area) -> Request {
        let mut operation = Operation::new(context, Phase::Inactive);
        operation.begin(area);
        self.insert(operation)
    }

    #[inline(always)]
    pub(crate) fn insert(&mut self, operation: Operation) -> Request {
        Request(self.table.insert(operation))
    }

    /// Opens an operation that is over already.
    #[inline]
    pub(crate) fn open_done(&mut self, context: Option<Context>, status: Status) -> Request {
        self.insert(Operation::new(context, Phase::Done(status)))
    }

    pub(crate) fn open_persistent(&mut self, plan: Plan) -> Request {
        let mut operation = Operation::new(plan.context(), Phase::Inactive);
        if matches!(plan, Plan::Task(_)) {
            operation.owner = Owner::Collective;
        }
        operation.rare().plan = Some(plan);
        self.insert(operation)
    }

    /// Returns the plan of an inactive persistent request.
    pub(crate) fn startable(&self, request: Request) -> Result<Plan> {
        let Some(operation) = self.table.get(request.0) else {
            self.sent(request)?;
            return Err(Cause::NotStartable.into());
        };
        match (operation.phase, operation.plan()) {
            (Phase::Inactive, Some(plan)) => Ok(plan.clone()),
            _ => Err(Cause::NotStartable.into()),
        }
    }

    pub(crate) fn activate(&mut self, request: Request, area: Area) {
        let operation = self.table.get_mut(request.0);
        operation.expect("the plan was just read").begin(area);
    }

    /// Undoes the start of an operation: its request is gone, or inactive as before.
    pub(crate) fn abandon(&mut self, request: Request) {
        let operation = self.table.get_mut(request.0).expect("just opened");
        operation.phase = Phase::Inactive;
        if operation.plan().is_none() {
            self.table.remove(request.0);
        }
    }

    /// Takes the area where the message of an active receive goes, for a link. Called once.
    #[inline]
    pub(crate) fn take_area(&mut self, request: Request) -> Area {
        let (span, rare) = self.active(request);
        match rare.and_then(|rare| rare.area.take()) {
            None => Area::Run(span),
            Some(area) => area,
        }
    }

    /// The communicator's context of an operation.
    pub(crate) fn context(&self, request: Request) -> Option<Context> {
        self.table.get(request.0)?.context
    }

    /// Returns how many bytes an active receive has room for.
    #[inline]
    pub(crate) fn room(&mut self, request: Request) -> u64 {
        let (span, rare) = self.active(request);
        span.len() as u64 + rare.map_or(0, |rare| rare.room)
    }

    /// As [`Requests::room`], of any operation.
    pub(crate) fn room_of(&self, request: Request) -> Option<u64> {
        let operation = self.table.get(request.0)?;
        let Phase::Active(span) = operation.phase else {
            return None;
        };
        let scattered = operation.rare.as_ref().map_or(0, |rare| rare.room);
        Some(span.len() as u64 + scattered)
    }

    /// Copies `bytes` to where an active receive puts its message, as far as there is room.
    pub(crate) fn fill(&mut self, request: Request, bytes: &[u8]) {
        let (span, rare) = self.active(request);
        match rare.and_then(|rare| rare.area.as_ref()) {
            None => _ = span.write(0, bytes),
            Some(area) => area.write(0, bytes),
        }
    }

    #[inline]
    fn active(&mut self, request: Request) -> (Span, Option<&mut Rare>) {
        match self.table.get_mut(request.0) {
            Some(Operation {
                phase: Phase::Active(span),
                rare,
                ..
            }) => (*span, rare.as_deref_mut()),
            _ => unreachable!("an active receive is in the table"),
        }
    }

    /// Returns where an active receive lands, if that is one run of bytes.
    #[inline(always)]
    pub(crate) fn run(&self, request: Request) -> Option<Span> {
        match self.table.get(request.0)? {
            Operation {
                phase: Phase::Active(span),
                rare: None,
                ..
            } => Some(*span),
            _ => None,
        }
    }

    #[inline(always)]
    pub(crate) fn finish(&mut self, request: Request, status: Status, error: Option<Error>) {
        self.finished += 1;
        let operation = self
            .table
            .get_mut(request.0)
            .expect("an active request is in the table");
        operation.phase = Phase::Done(status);
        if error.is_some() || operation.rare.is_some() {
            operation.note_rare_end(error);
        }
        if operation.owner != Owner::Program {
            self.tell_owner(request);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_owner(&mut self, request: Request) {
        match self.table.get(request.0).map(|operation| operation.owner) {
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

    /// Opens an operation that a task completes.
    pub(crate) fn open_collective(&mut self, context: Context) -> Request {
        let mut operation = Operation::new(Some(context), Phase::Active(Span::EMPTY));
        operation.owner = Owner::Collective;
        self.insert(operation)
    }

    /// The contexts of the communicators of all active collective operations.
    pub(crate) fn collectives(&self) -> Vec<Context> {
        let is_active = |operation: &&Operation| {
            operation.owner == Owner::Collective && matches!(operation.phase, Phase::Active(_))
        };
        let active = self.table.iter().filter(is_active);
        active.filter_map(|operation| operation.context).collect()
    }

    /// Returns the recipe of an inactive persistent request, if it is a task.
    pub(crate) fn recipe(&self, request: Request) -> Option<Recipe> {
        let operation = self.table.get(request.0)?;
        match (operation.phase, operation.plan()) {
            (Phase::Inactive, Some(Plan::Task(recipe))) => Some(recipe.clone()),
            _ => None,
        }
    }

    /// Gives the operation to a task, which is woken when the operation finishes.
    pub(crate) fn give_to_task(&mut self, request: Request, task: u32) {
        if let Some(operation) = self.table.get_mut(request.0) {
            operation.owner = Owner::Task(task);
        }
    }

    /// Checks that the operation may be cancelled. Source: MPI 5.0, 4.2.1, 6.12 and 6.13.
    ///
    /// # Errors
    /// It is a collective one, and not an inactive persistent one, or an active partitioned one.
    pub(crate) fn check_cancellable(&self, request: Request) -> Result<()> {
        match self.table.get(request.0) {
            Some(Operation {
                owner: Owner::Collective,
                phase: Phase::Active(_) | Phase::Done(_),
                ..
            }) => Err(Cause::Irrevocable.into()),
            _ => self.check_whole(request),
        }
    }

    /// Checks that the operation is no active partitioned one: the other side would wait for its
    /// partitions for ever if it were cancelled or freed. Source: MPI 5.0, 4.2.1.
    fn check_whole(&self, request: Request) -> Result<()> {
        match self.table.get(request.0) {
            Some(operation) if operation.is_partitioned() && self.is_running(request) => {
                let why = "an active partitioned operation can be neither cancelled nor freed: \
                           wait for its request first";
                Err(Cause::Unsuited(why).into())
            }
            _ => Ok(()),
        }
    }

    /// Returns how a request ended that was never in the table.
    #[inline]
    fn sent(&self, request: Request) -> Result<Completion> {
        if request == Request::SENT {
            Ok(Completion::SENT)
        } else {
            Err(Cause::Request.into())
        }
    }

    /// Returns how the operation ended if it is finished, without taking it.
    pub(crate) fn peek(&self, request: Request) -> Result<Option<Completion>> {
        let Some(operation) = self.table.get(request.0) else {
            return self.sent(request).map(Some);
        };
        Ok(match operation.phase {
            Phase::Inactive => Some(Completion::NOTHING),
            Phase::Active(_) => None,
            Phase::Done(status) => Some(Completion {
                status,
                error: operation.error().cloned(),
                context: operation.context,
                is_gone: operation.plan().is_none(),
                is_generalized: operation.is_generalized(),
            }),
        })
    }

    /// Returns true if the request is an inactive persistent one: waiting ignores it.
    pub(crate) fn is_inactive(&self, request: Request) -> Result<bool> {
        match self.table.get(request.0) {
            Some(operation) => Ok(matches!(operation.phase, Phase::Inactive)),
            None => self.sent(request).map(|_| false),
        }
    }

    /// Returns how far the operation is.
    #[inline]
    pub(crate) fn state(&self, request: Request) -> Result<CompletionState> {
        let Some(operation) = self.table.get(request.0) else {
            return self.sent(request).map(|_| CompletionState::Done);
        };
        Ok(match operation.phase {
            Phase::Active(_) => CompletionState::Pending,
            Phase::Done(_) if operation.error().is_some() => CompletionState::Failed,
            Phase::Done(_) | Phase::Inactive => CompletionState::Done,
        })
    }

    /// Returns how a finished operation ended. It is gone then, or inactive if persistent.
    #[inline(always)]
    pub(crate) fn take(&mut self, request: Request) -> Result<Option<Completion>> {
        let Some(operation) = self.table.get_mut(request.0) else {
            return self.sent(request).map(Some);
        };
        let Phase::Done(status) = operation.phase else {
            let is_inactive = matches!(operation.phase, Phase::Inactive);
            return Ok(is_inactive.then_some(Completion::NOTHING));
        };
        let mut ended = Completion {
            status,
            error: None,
            context: operation.context,
            is_gone: true,
            is_generalized: false,
        };
        if let Some(rare) = &mut operation.rare {
            ended.error = rare.error.take();
            ended.is_gone = rare.plan.is_none();
            ended.is_generalized = rare.is_generalized;
        }
        if ended.is_gone {
            self.table.discard(request.0);
        } else {
            operation.phase = Phase::Inactive;
        }
        Ok(Some(ended))
    }

    /// Returns how an operation ended that is finished and has nothing rare, as most have not. A
    /// caller that gets a completion can be quick. `None` for all other operations.
    #[inline(always)]
    pub(crate) fn take_plain(&mut self, request: Request) -> Option<Completion> {
        let (status, context) = match self.table.get(request.0) {
            None if request == Request::SENT => (Status::EMPTY, None),
            Some(&Operation {
                phase: Phase::Done(status),
                context,
                rare: None,
                ..
            }) => {
                self.table.discard(request.0);
                (status, context)
            }
            _ => return None,
        };
        Some(Completion {
            status,
            error: None,
            context,
            is_gone: true,
            is_generalized: false,
        })
    }

    /// Frees a request: the program will not complete it. A collective operation that goes on is
    /// refused. One that is over need not be waited for. Source: MPI 5.0, 3.7.3 and 6.12.
    pub(crate) fn free(&mut self, request: Request) -> Result<()> {
        self.check_whole(request)?;
        let Some(operation) = self.table.get_mut(request.0) else {
            return self.sent(request).map(|_| ());
        };
        match (&operation.phase, &operation.owner) {
            (Phase::Active(_), Owner::Collective) => return Err(Cause::Irrevocable.into()),
            (Phase::Active(_), _) => {
                operation.owner = Owner::Nobody;
                if let Some(rare) = &mut operation.rare {
                    rare.plan = None;
                }
            }
            (Phase::Done(_) | Phase::Inactive, _) => {
                self.table.remove(request.0);
            }
        }
        Ok(())
    }
}
