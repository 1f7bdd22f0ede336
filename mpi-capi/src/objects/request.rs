//! Requests and matched messages: handles that are mpi-lite's keys.

use mpi_lite::engine::{self, Engine};
use mpi_lite::error::{Cause as LiteCause, Error as LiteError};
use mpi_lite::slab;

use crate::abi::{self, Handle};
use crate::error::{Error, Result};
use crate::global::LIBRARY;
use crate::handle::{Key, Kind, Unusable};

/// The handle of a request.
#[inline]
pub fn handle_of(request: engine::Request) -> Handle {
    let slab::Key { index, generation } = request.0;
    Key { index, generation }.handle(Kind::Request)
}

/// The handle of a matched message; `None` is that of `MPI_PROC_NULL`.
pub fn message_handle(message: Option<engine::Message>) -> Handle {
    match message {
        None => abi::MPI_MESSAGE_NO_PROC,
        Some(engine::Message(slab::Key { index, generation })) => {
            Key { index, generation }.handle(Kind::Message)
        }
    }
}

/// The matched message of a handle.
///
/// # Errors
/// `MPI_ERR_REQUEST` if it is none.
pub fn message_of(handle: Handle) -> Result<Option<engine::Message>> {
    let refuse = |what| Error::of_handle("message", what, abi::MPI_ERR_REQUEST);
    match handle {
        abi::MPI_MESSAGE_NO_PROC => Ok(None),
        abi::MPI_MESSAGE_NULL => Err(refuse(Unusable::Null("MPI_MESSAGE_NULL"))),
        _ => match Key::of(handle, Kind::Message) {
            Some(Key { index, generation }) => {
                Ok(Some(engine::Message(slab::Key { index, generation })))
            }
            None => Err(refuse(Unusable::Foreign(handle))),
        },
    }
}

/// The request of a handle, `None` for the null handle. mpi-lite checks that it still exists.
///
/// # Errors
/// `MPI_ERR_REQUEST` if it is foreign.
#[inline(always)]
pub fn key(handle: Handle) -> Result<Option<engine::Request>> {
    if handle == abi::MPI_REQUEST_NULL {
        return Ok(None);
    }
    match Key::of(handle, Kind::Request) {
        Some(Key { index, generation }) => {
            Ok(Some(engine::Request(slab::Key { index, generation })))
        }
        None => Err(refuse(Unusable::Foreign(handle))),
    }
}

/// The request of a handle that [`key`] has accepted.
#[inline(always)]
pub fn checked_key(handle: Handle) -> Option<engine::Request> {
    if handle == abi::MPI_REQUEST_NULL {
        return None;
    }
    let Key { index, generation } = Key::of_any(handle);
    Some(engine::Request(slab::Key { index, generation }))
}

fn refuse(what: Unusable) -> Error {
    Error::of_handle("request", what, abi::MPI_ERR_REQUEST)
}

/// The request of a handle that must not be null.
///
/// # Errors
/// `MPI_ERR_REQUEST` if it is null or foreign.
pub fn real_key(handle: Handle) -> Result<engine::Request> {
    key(handle)?.ok_or_else(|| refuse(Unusable::Null("MPI_REQUEST_NULL")))
}

/// The engine of this process.
#[inline]
pub fn engine() -> &'static Engine {
    LIBRARY.process().engine()
}

/// Returns the error for a handle that mpi-lite has no more: it is stale.
pub fn stale(handle: Handle) -> impl Fn(LiteError) -> Error {
    move |error| match error.cause() {
        LiteCause::Request => refuse(Unusable::Freed(handle)),
        _ => error.into(),
    }
}
