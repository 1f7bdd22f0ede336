//! Operations that the program may wait for.

use super::receive::ReceivePlan;
use super::send::SendPlan;
use crate::data::Area;
use crate::error::{Cause, Error, Result};
use crate::ids::{Context, Source, TagSelector};
use crate::slab::{Key, Table};

/// The name of an operation. It is stale once the operation was completed and told to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Request(pub Key);

/// What the program learns of a finished operation. Source: MPI 5.0, 3.2.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The sender's rank in the communicator.
    pub source: Source,
    /// The message's tag.
    pub tag: TagSelector,
    /// Bytes received.
    pub bytes: u64,
    /// Whether the operation was cancelled.
    pub cancelled: bool,
}

impl Status {
    /// The status of nothing. Source: MPI 5.0, 3.7.3.
    pub const EMPTY: Self = Self {
        source: Source::Any,
        tag: TagSelector::Any,
        bytes: 0,
        cancelled: false,
    };

    /// The status of a receive from `MPI_PROC_NULL`. Source: MPI 5.0, 3.10.
    pub const FROM_NULL: Self = Self {
        source: Source::Null,
        ..Self::EMPTY
    };

    /// The status of a cancelled operation.
    pub const CANCELLED: Self = Self {
        cancelled: true,
        ..Self::EMPTY
    };
}

/// How an operation ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// What the program learns.
    pub status: Status,
    /// What went wrong with this operation, if anything did.
    pub error: Option<Error>,
    /// The communicator that it belongs to, if that is known.
    pub context: Option<Context>,
    /// Whether the request is gone, so that the program's handle becomes `MPI_REQUEST_NULL`.
    pub is_gone: bool,
}

impl Completion {
    /// The completion of a null or inactive request. Source: MPI 5.0, 3.7.3.
    pub const NOTHING: Self = Self {
        status: Status::EMPTY,
        error: None,
        context: None,
        is_gone: false,
    };

    /// The status, or the error.
    ///
    /// # Errors
    /// What went wrong with the operation.
    #[inline]
    pub fn into_result(self) -> Result<Status> {
        match self.error {
            None => Ok(self.status),
            Some(error) => Err(error),
        }
    }
}

/// What a persistent request does each time it is started. Source: MPI 5.0, 3.9.
#[derive(Clone, Debug)]
pub enum Plan {
    /// A send.
    Send(SendPlan),
    /// A receive.
    Receive(ReceivePlan),
}

impl Plan {
    fn context(&self) -> Option<Context> {
        match self {
            Self::Send(plan) => Some(plan.context),
            Self::Receive(plan) => plan.pattern.map(|pattern| pattern.context),
        }
    }
}

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stand {
    /// Not finished.
    Pending,
    /// Finished or inactive.
    Done,
    /// Finished, and something went wrong.
    Failed,
}

#[derive(Debug)]
enum Phase {
    /// Persistent and not started.
    Inactive,
    /// A receive puts its message there; to a send it means nothing.
    Active(Area),
    Done(Status, Option<Error>),
}

#[derive(Debug)]
struct Operation {
    phase: Phase,
    context: Option<Context>,
    plan: Option<Box<Plan>>,
    /// The program has freed the request: nobody asks how it ended.
    is_freed: bool,
}

/// All operations of a lane.
#[derive(Debug, Default)]
pub(super) struct Requests {
    table: Table<Operation>,
}

impl Requests {
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    #[inline(always)]
    fn insert(
        &mut self,
        context: Option<Context>,
        phase: Phase,
        plan: Option<Box<Plan>>,
    ) -> Request {
        Request(self.table.insert(Operation {
            phase,
            context,
            plan,
            is_freed: false,
        }))
    }

    /// An operation that has begun. `area` is where a receive puts its message.
    #[inline]
    pub(super) fn open(&mut self, context: Option<Context>, area: Area) -> Request {
        self.insert(context, Phase::Active(area), None)
    }

    /// An operation that is over already.
    #[inline]
    pub(super) fn open_done(&mut self, context: Option<Context>, status: Status) -> Request {
        self.insert(context, Phase::Done(status, None), None)
    }

    pub(super) fn open_persistent(&mut self, plan: Plan) -> Request {
        self.insert(plan.context(), Phase::Inactive, Some(Box::new(plan)))
    }

    /// The plan of an inactive persistent request.
    pub(super) fn startable(&self, request: Request) -> Result<Plan> {
        match self.table.get(request.0) {
            Some(Operation {
                phase: Phase::Inactive,
                plan: Some(plan),
                ..
            }) => Ok(Plan::clone(plan)),
            Some(_) => Err(Cause::NotStartable.into()),
            None => Err(Cause::Request.into()),
        }
    }

    pub(super) fn activate(&mut self, request: Request, area: Area) {
        let operation = self
            .table
            .get_mut(request.0)
            .expect("the plan was just read");
        operation.phase = Phase::Active(area);
    }

    /// The operation did not begin: its request is gone, or inactive as before.
    pub(super) fn abandon(&mut self, request: Request) {
        let operation = self.table.get_mut(request.0).expect("just opened");
        operation.phase = Phase::Inactive;
        if operation.plan.is_none() {
            self.table.remove(request.0);
        }
    }

    /// Where an active receive puts its message.
    #[inline]
    pub(super) fn area(&self, request: Request) -> &Area {
        match self.table.get(request.0) {
            Some(Operation {
                phase: Phase::Active(area),
                ..
            }) => area,
            _ => unreachable!("an active receive is in the table"),
        }
    }

    #[inline]
    pub(super) fn finish(&mut self, request: Request, status: Status, error: Option<Error>) {
        let operation = self
            .table
            .get_mut(request.0)
            .expect("an active request is in the table");
        operation.phase = Phase::Done(status, error);
        if operation.is_freed {
            self.table.remove(request.0);
        }
    }

    /// Whether the operation is finished, without taking it.
    pub(super) fn peek(&self, request: Request) -> Result<Option<Completion>> {
        let operation = self.table.get(request.0).ok_or(Cause::Request)?;
        Ok(match &operation.phase {
            Phase::Inactive => Some(Completion::NOTHING),
            Phase::Active(_) => None,
            Phase::Done(status, error) => Some(Completion {
                status: *status,
                error: error.clone(),
                context: operation.context,
                is_gone: operation.plan.is_none(),
            }),
        })
    }

    /// Whether the request is an inactive persistent one: waiting ignores it.
    pub(super) fn is_inactive(&self, request: Request) -> Result<bool> {
        let operation = self.table.get(request.0).ok_or(Cause::Request)?;
        Ok(matches!(operation.phase, Phase::Inactive))
    }

    /// How far the operation is.
    #[inline]
    pub(super) fn stand(&self, request: Request) -> Result<Stand> {
        let operation = self.table.get(request.0).ok_or(Cause::Request)?;
        Ok(match operation.phase {
            Phase::Active(_) => Stand::Pending,
            Phase::Inactive | Phase::Done(_, None) => Stand::Done,
            Phase::Done(_, Some(_)) => Stand::Failed,
        })
    }

    /// Tells how a finished operation ended; it is then gone, or inactive if persistent.
    #[inline(always)]
    pub(super) fn take(&mut self, request: Request) -> Result<Option<Completion>> {
        let operation = self.table.get_mut(request.0).ok_or(Cause::Request)?;
        let (context, is_gone) = (operation.context, operation.plan.is_none());
        let (status, error) = match core::mem::replace(&mut operation.phase, Phase::Inactive) {
            Phase::Inactive => return Ok(Some(Completion::NOTHING)),
            Phase::Done(status, error) => (status, error),
            active @ Phase::Active(_) => {
                operation.phase = active;
                return Ok(None);
            }
        };
        if is_gone {
            self.table.remove(request.0);
        }
        Ok(Some(Completion {
            status,
            error,
            context,
            is_gone,
        }))
    }

    /// The program will not ask any more. Source: MPI 5.0, 3.7.3.
    pub(super) fn free(&mut self, request: Request) -> Result<()> {
        let operation = self.table.get_mut(request.0).ok_or(Cause::Request)?;
        if matches!(operation.phase, Phase::Active(_)) {
            operation.is_freed = true;
            operation.plan = None;
        } else {
            self.table.remove(request.0);
        }
        Ok(())
    }
}
