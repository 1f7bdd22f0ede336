//! Operations that the program may wait for.

use super::receive::ReceivePlan;
use super::send::SendPlan;
use crate::data::Buffer;
use crate::error::{Error, Result};
use crate::ids::{Source, TagSelector};
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
    /// Whether the request is gone, so that the program's handle becomes `MPI_REQUEST_NULL`.
    pub is_gone: bool,
}

impl Completion {
    /// The completion of a null or inactive request. Source: MPI 5.0, 3.7.3.
    pub const NOTHING: Self = Self {
        status: Status::EMPTY,
        error: None,
        is_gone: false,
    };

    /// The status, or the error.
    ///
    /// # Errors
    /// What went wrong with the operation.
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

#[derive(Debug)]
enum Phase {
    /// Persistent and not started.
    Inactive,
    Active,
    Done(Status, Option<Error>),
}

#[derive(Debug)]
struct Operation {
    phase: Phase,
    /// Where a receive puts its message.
    buffer: Option<Buffer>,
    plan: Option<Plan>,
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

    pub(super) fn open(&mut self, buffer: Option<Buffer>) -> Request {
        let phase = Phase::Active;
        Request(self.table.insert(Operation {
            phase,
            buffer,
            plan: None,
            is_freed: false,
        }))
    }

    pub(super) fn open_done(&mut self, status: Status) -> Request {
        let request = self.open(None);
        self.finish(request, status, None);
        request
    }

    pub(super) fn open_persistent(&mut self, plan: Plan) -> Request {
        let plan = Some(plan);
        let phase = Phase::Inactive;
        Request(self.table.insert(Operation {
            phase,
            buffer: None,
            plan,
            is_freed: false,
        }))
    }

    /// The plan of an inactive persistent request.
    pub(super) fn startable(&self, request: Request) -> Result<Plan> {
        match self.table.get(request.0) {
            Some(Operation {
                phase: Phase::Inactive,
                plan: Some(plan),
                ..
            }) => Ok(plan.clone()),
            Some(_) => Err(Error::NotStartable),
            None => Err(Error::Request),
        }
    }

    pub(super) fn activate(&mut self, request: Request, buffer: Option<Buffer>) {
        let operation = self
            .table
            .get_mut(request.0)
            .expect("the plan was just read");
        operation.phase = Phase::Active;
        operation.buffer = buffer;
    }

    /// The start failed: the request is inactive as before.
    pub(super) fn deactivate(&mut self, request: Request) {
        self.table.get_mut(request.0).expect("just activated").phase = Phase::Inactive;
    }

    pub(super) fn buffer(&self, request: Request) -> &Buffer {
        self.table
            .get(request.0)
            .and_then(|operation| operation.buffer.as_ref())
            .expect("an active receive has a buffer")
    }

    pub(super) fn finish(&mut self, request: Request, status: Status, error: Option<Error>) {
        let operation = self
            .table
            .get_mut(request.0)
            .expect("an active request is in the table");
        operation.phase = Phase::Done(status, error);
        operation.buffer = None;
        if operation.is_freed {
            self.table.remove(request.0);
        }
    }

    /// Whether the operation is finished, without taking it.
    pub(super) fn peek(&self, request: Request) -> Result<Option<Completion>> {
        let operation = self.table.get(request.0).ok_or(Error::Request)?;
        let is_gone = operation.plan.is_none();
        Ok(match &operation.phase {
            Phase::Inactive => Some(Completion::NOTHING),
            Phase::Active => None,
            Phase::Done(status, error) => Some(Completion {
                status: *status,
                error: error.clone(),
                is_gone,
            }),
        })
    }

    /// Whether the request is an inactive persistent one: waiting ignores it.
    pub(super) fn is_inactive(&self, request: Request) -> Result<bool> {
        let operation = self.table.get(request.0).ok_or(Error::Request)?;
        Ok(matches!(operation.phase, Phase::Inactive))
    }

    /// Whether the operation is finished or inactive.
    #[inline]
    pub(super) fn is_done(&self, request: Request) -> Result<bool> {
        let operation = self.table.get(request.0).ok_or(Error::Request)?;
        Ok(!matches!(operation.phase, Phase::Active))
    }

    /// Tells how a finished operation ended; it is then gone, or inactive if persistent.
    pub(super) fn take(&mut self, request: Request) -> Result<Option<Completion>> {
        let operation = self.table.get_mut(request.0).ok_or(Error::Request)?;
        let is_gone = operation.plan.is_none();
        let (status, error) = match core::mem::replace(&mut operation.phase, Phase::Inactive) {
            Phase::Inactive => return Ok(Some(Completion::NOTHING)),
            Phase::Active => {
                operation.phase = Phase::Active;
                return Ok(None);
            }
            Phase::Done(status, error) => (status, error),
        };
        if is_gone {
            self.table.remove(request.0);
        }
        Ok(Some(Completion {
            status,
            error,
            is_gone,
        }))
    }

    /// The program will not ask any more. Source: MPI 5.0, 3.7.3.
    pub(super) fn free(&mut self, request: Request) -> Result<()> {
        let operation = self.table.get_mut(request.0).ok_or(Error::Request)?;
        if matches!(operation.phase, Phase::Active) {
            operation.is_freed = true;
            operation.plan = None;
        } else {
            self.table.remove(request.0);
        }
        Ok(())
    }
}
