//! Operations by name, and how they end.

use crate::error::{Cause, Error, Result};
use crate::ids::{Context, Source, TagSelector};
use crate::slab::Key;

/// The name of an operation. It is stale once the program has completed the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Request(pub Key);

impl Request {
    /// The request of every send that was complete when its call returned, so that such a send
    /// leaves nothing behind. It is never stale.
    pub const SENT: Self = Self(Key::NOTHING);

    /// Returns how a request ended that was never in the table.
    #[inline]
    pub(super) fn ended(self) -> Result<Completion> {
        if self == Self::SENT {
            Ok(Completion::SENT)
        } else {
            Err(Cause::Request.into())
        }
    }
}

/// The program's array of requests.
pub trait Array: Copy {
    /// How many there are.
    fn count(self) -> usize;

    /// The one at `index`.
    fn at(self, index: usize) -> Option<Request>;

    /// All of them.
    #[inline]
    fn iter(self) -> impl Iterator<Item = Option<Request>> {
        (0..self.count()).map(move |index| self.at(index))
    }
}

impl Array for &[Option<Request>] {
    fn count(self) -> usize {
        self.len()
    }

    fn at(self, index: usize) -> Option<Request> {
        self[index]
    }
}

/// The status of a finished operation. Source: MPI 5.0, 3.2.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The sender's rank in the communicator.
    pub source: Source,
    /// The message's tag.
    pub tag: TagSelector,
    /// Bytes received.
    pub bytes: u64,
    /// True if the operation was cancelled.
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
    /// Its status.
    pub status: Status,
    /// The error of this operation, if it failed.
    pub error: Option<Error>,
    /// The communicator that it belongs to, if that is known.
    pub context: Option<Context>,
    /// True if the request is gone, so that the program's handle becomes `MPI_REQUEST_NULL`.
    pub is_gone: bool,
    /// True if the program has completed it: it is a generalized request. Source: MPI 5.0, 13.2.
    pub is_generalized: bool,
}

impl Completion {
    /// The completion of a null or inactive request. Source: MPI 5.0, 3.7.3.
    pub const NOTHING: Self = Self {
        status: Status::EMPTY,
        error: None,
        context: None,
        is_gone: false,
        is_generalized: false,
    };

    /// The completion of a send that was complete at its start.
    pub const SENT: Self = Self {
        is_gone: true,
        ..Self::NOTHING
    };

    /// Returns true if there was nothing to complete: the request is null or inactive.
    #[inline]
    #[must_use]
    pub fn is_of_nothing(&self) -> bool {
        // A send has a context. A receive without a context has a source.
        !self.is_gone && self.context.is_none() && self.status == Status::EMPTY
    }

    /// The status, or the error.
    ///
    /// # Errors
    /// The error of the operation.
    #[inline]
    pub fn into_result(self) -> Result<Status> {
        match self.error {
            None => Ok(self.status),
            Some(error) => Err(error),
        }
    }
}
