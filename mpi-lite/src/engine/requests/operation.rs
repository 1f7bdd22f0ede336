//! One operation: how far it is, to whom its end is reported, and what few of them have.

use crate::data::Area;
use crate::engine::requests::parts::{Ended, Part, Whole};
use crate::engine::requests::request::{Completion, Status};
use crate::engine::tasks::{Plan, Recipe};
use crate::error::{Cause, Error, Result};
use crate::ids::Context;
use crate::memory::Span;

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
enum Phase {
    /// Persistent and not started.
    Inactive,
    /// Where a receive puts its message, unless that is scattered. A send does not use it.
    Active(Span),
    Done(Status),
}

impl Phase {
    /// Of an active receive.
    #[inline(always)]
    fn span(self) -> Span {
        match self {
            Self::Active(span) => span,
            _ => unreachable!("an active receive is in the table"),
        }
    }
}

/// The party to which the end of an operation is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
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
    phase: Phase,
    context: Option<Context>,
    owner: Owner,
    rare: Option<Box<Rare>>,
}

#[derive(Debug, Default)]
struct Rare {
    /// Where an active receive puts its message, until a link takes it, unless `Phase` tells that.
    area: Option<Area>,
    /// Bytes that go there.
    room: u64,
    /// The error of a finished operation.
    error: Option<Error>,
    /// What a persistent request does.
    plan: Option<Plan>,
    /// The parts of which it consists.
    whole: Option<Box<Whole>>,
    /// What it is a part of.
    part: Option<Part>,
    /// Memory that the operation uses.
    kept: Vec<u8>,
    /// The program completes it. Source: MPI 5.0, 13.2.
    is_generalized: bool,
}

/// New operations.
impl Operation {
    #[inline(always)]
    fn new(context: Option<Context>, phase: Phase) -> Self {
        Self {
            phase,
            context,
            owner: Owner::Program,
            rare: None,
        }
    }

    /// An active one; a receive puts its message there.
    #[inline(always)]
    pub(super) fn active(context: Option<Context>, span: Span) -> Self {
        Self::new(context, Phase::Active(span))
    }

    /// An active receive, whose message may be scattered.
    #[inline(never)]
    pub(super) fn scattered(context: Option<Context>, area: Area) -> Self {
        let mut operation = Self::new(context, Phase::Inactive);
        operation.begin(area);
        operation
    }

    /// One that is over already.
    #[inline]
    pub(super) fn done(context: Option<Context>, status: Status) -> Self {
        Self::new(context, Phase::Done(status))
    }

    /// One that is inactive; `whole` are its parts, if it has any.
    pub(crate) fn persistent(plan: Plan, whole: Option<Whole>) -> Self {
        let mut operation = Self::new(plan.context(), Phase::Inactive);
        if matches!(plan, Plan::Task(_)) {
            operation.owner = Owner::Collective;
        }
        let rare = operation.rare();
        rare.plan = Some(plan);
        rare.whole = whole.map(Box::new);
        operation
    }

    /// An active one that a task completes.
    pub(crate) fn of_task(context: Context, is_collective: bool) -> Self {
        let mut operation = Self::active(Some(context), Span::EMPTY);
        if is_collective {
            operation.owner = Owner::Collective;
        }
        operation
    }

    /// An active one that ends when all of its parts have ended.
    pub(super) fn of_parts(context: Option<Context>, whole: Whole) -> Self {
        let mut operation = Self::active(context, Span::EMPTY);
        operation.rare().whole = Some(Box::new(whole));
        operation
    }

    /// An active one that the program completes. Source: MPI 5.0, 13.2.
    pub(crate) fn generalized() -> Self {
        let mut operation = Self::active(None, Span::EMPTY);
        operation.rare().is_generalized = true;
        operation
    }
}

/// What an operation is.
impl Operation {
    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    fn plan(&self) -> Option<&Plan> {
        self.rare.as_ref()?.plan.as_ref()
    }

    /// The communicator's context.
    pub(crate) fn context(&self) -> Option<Context> {
        self.context
    }

    #[inline(always)]
    pub(super) fn owner(&self) -> Owner {
        self.owner
    }

    /// The parts, if it consists of parts.
    pub(crate) fn whole(&self) -> Option<&Whole> {
        self.rare.as_ref()?.whole.as_deref()
    }

    pub(super) fn whole_mut(&mut self) -> Option<&mut Whole> {
        self.rare.as_mut()?.whole.as_deref_mut()
    }

    /// What it is a part of.
    pub(crate) fn part(&self) -> Option<Part> {
        self.rare.as_ref()?.part
    }

    /// Returns true if the program completes it.
    pub(crate) fn is_generalized(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.is_generalized)
    }

    pub(crate) fn is_active(&self) -> bool {
        matches!(self.phase, Phase::Active(_))
    }

    /// Persistent and not started: waiting ignores it.
    pub(super) fn is_inactive(&self) -> bool {
        matches!(self.phase, Phase::Inactive)
    }

    /// The plan of an inactive persistent one.
    pub(super) fn startable(&self) -> Option<&Plan> {
        self.plan().filter(|_| self.is_inactive())
    }

    /// The recipe of an inactive persistent one, if it is a task.
    pub(crate) fn recipe(&self) -> Option<&Recipe> {
        match self.startable()? {
            Plan::Task(recipe) => Some(recipe),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn state(&self) -> CompletionState {
        let has_failed = || self.rare.as_ref().is_some_and(|rare| rare.error.is_some());
        match self.phase {
            Phase::Active(_) => CompletionState::Pending,
            Phase::Done(_) if has_failed() => CompletionState::Failed,
            Phase::Done(_) | Phase::Inactive => CompletionState::Done,
        }
    }

    /// Checks that the operation may be cancelled. Source: MPI 5.0, 4.2.1, 6.12 and 6.13.
    ///
    /// # Errors
    /// It is a collective one, and not an inactive persistent one, or an active partitioned one.
    pub(crate) fn check_cancellable(&self) -> Result<()> {
        if self.owner == Owner::Collective && !self.is_inactive() {
            return Err(Cause::Irrevocable.into());
        }
        self.check_whole()
    }

    /// Checks that the operation is no active partitioned one: the other side would wait for its
    /// partitions for ever if it were cancelled or freed. Source: MPI 5.0, 4.2.1.
    fn check_whole(&self) -> Result<()> {
        if self.is_active() && self.whole().is_some_and(Whole::is_partitioned) {
            let why = "an active partitioned operation can be neither cancelled nor freed: wait \
                       for its request first";
            return Err(Cause::Unsuited(why).into());
        }
        Ok(())
    }

    /// Returns how it ended, if it is finished, without taking that.
    pub(super) fn completion(&self) -> Option<Completion> {
        let status = match self.phase {
            Phase::Inactive => return Some(Completion::NOTHING),
            Phase::Active(_) => return None,
            Phase::Done(status) => status,
        };
        Some(Completion {
            status,
            error: self.rare.as_ref().and_then(|rare| rare.error.clone()),
            context: self.context,
            is_gone: self.plan().is_none(),
            is_generalized: self.is_generalized(),
        })
    }
}

/// Where the message of an active receive goes.
impl Operation {
    /// That place, if it is one run of bytes.
    #[inline(always)]
    pub(super) fn run(&self) -> Option<Span> {
        match self {
            Self {
                phase: Phase::Active(span),
                rare: None,
                ..
            } => Some(*span),
            _ => None,
        }
    }

    /// Takes that place, for a link. Called once.
    #[inline]
    pub(super) fn take_area(&mut self) -> Area {
        let span = self.phase.span();
        match self.rare.as_mut().and_then(|rare| rare.area.take()) {
            None => Area::Run(span),
            Some(area) => area,
        }
    }

    /// Its bytes, if the receive is active.
    #[inline]
    pub(crate) fn room(&self) -> Option<u64> {
        let Phase::Active(span) = self.phase else {
            return None;
        };
        let scattered = self.rare.as_ref().map_or(0, |rare| rare.room);
        Some(span.len() as u64 + scattered)
    }

    /// Copies `bytes` there, as far as there is room.
    pub(super) fn fill(&self, bytes: &[u8]) {
        match self.rare.as_ref().and_then(|rare| rare.area.as_ref()) {
            None => _ = self.phase.span().write(0, bytes),
            Some(area) => area.write(0, bytes),
        }
    }
}

/// How an operation goes on.
impl Operation {
    pub(super) fn begin(&mut self, area: Area) {
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

    /// Undoes the start. Returns true if it is inactive as before, not to be gone.
    pub(super) fn abandon(&mut self) -> bool {
        self.phase = Phase::Inactive;
        self.plan().is_some()
    }

    /// Gives the operation to a task, which is woken when the operation finishes.
    pub(crate) fn give_to_task(&mut self, task: u32) {
        self.owner = Owner::Task(task);
    }

    /// Makes it a part of another one.
    pub(super) fn become_part(&mut self, part: Part) {
        self.owner = Owner::Whole;
        self.rare().part = Some(part);
    }

    /// Leaves it to itself: nobody completes it.
    pub(crate) fn disown(&mut self) {
        self.owner = Owner::Nobody;
    }

    /// Keeps `bytes` until the operation has ended.
    pub(crate) fn keep(&mut self, bytes: Vec<u8>) {
        self.rare().kept = bytes;
    }

    /// The operation is over. Returns true if somebody other than the program is to be told.
    #[inline(always)]
    pub(super) fn end(&mut self, status: Status, error: Option<Error>) -> bool {
        self.phase = Phase::Done(status);
        if error.is_some() || self.rare.is_some() {
            note_rare_end(&mut self.rare, error);
        }
        self.owner != Owner::Program
    }

    /// Takes how a part has ended, and the memory that it used.
    pub(super) fn into_part(mut self) -> Option<(Part, Ended, Vec<u8>)> {
        let (Phase::Done(status), Some(rare)) = (self.phase, &mut self.rare) else {
            unreachable!("a part that has ended knows its whole");
        };
        let ended = (status, rare.error.take());
        Some((rare.part?, ended, core::mem::take(&mut rare.kept)))
    }

    /// Takes how a finished operation ended. It is gone then, as the completion says, or inactive.
    #[inline(always)]
    pub(super) fn take(&mut self) -> Option<Completion> {
        let Phase::Done(status) = self.phase else {
            return self.is_inactive().then_some(Completion::NOTHING);
        };
        let mut ended = Completion {
            status,
            error: None,
            context: self.context,
            is_gone: true,
            is_generalized: false,
        };
        if let Some(rare) = &mut self.rare {
            ended.error = rare.error.take();
            ended.is_gone = rare.plan.is_none();
            ended.is_generalized = rare.is_generalized;
            if !ended.is_gone {
                self.phase = Phase::Inactive;
            }
        }
        Some(ended)
    }

    /// Returns how an operation ended that is finished and has nothing rare.
    #[inline(always)]
    pub(super) fn plain(&self) -> Option<(Status, Option<Context>)> {
        match self {
            &Self {
                phase: Phase::Done(status),
                context,
                rare: None,
                ..
            } => Some((status, context)),
            _ => None,
        }
    }

    /// The program will not complete it. Returns true if it goes on all the same.
    ///
    /// # Errors
    /// It is an active collective or partitioned one.
    pub(super) fn free(&mut self) -> Result<bool> {
        self.check_whole()?;
        if self.owner == Owner::Collective && self.is_active() {
            return Err(Cause::Irrevocable.into());
        }
        if self.is_active() {
            self.disown();
            if let Some(rare) = &mut self.rare {
                rare.plan = None;
            }
        }
        Ok(self.is_active())
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
fn note_rare_end(rare: &mut Option<Box<Rare>>, error: Option<Error>) {
    let rare = rare.get_or_insert_default();
    (rare.area, rare.room) = (None, 0);
    rare.error = error;
}

#[inline(never)]
fn release(_rare: Option<Box<Rare>>) {}
