//! Requests and matched messages: handles that are mpi-lite's keys, and what ends them.

use core::ffi::c_void;

use mpi_lite::data::Buffer;
use mpi_lite::engine::{self, Completion, Engine, ReceivePlan};
use mpi_lite::error::Error as LiteError;
use mpi_lite::slab;

use crate::abi::{self, Handle};
use crate::args::{Address, Count, Length, OutStatus, OutStatuses, Requests, Status};
use crate::comm::CommObject;
use crate::error::{Error, Result};
use crate::global::LIBRARY;
use crate::handle::{Key, Kind, Unusable};

/// How one operation ended.
#[derive(Debug)]
pub struct Done {
    /// The handle that the program keeps: null, or that of an inactive persistent request.
    pub left: Handle,
    /// What it learns.
    pub status: Status,
    /// What went wrong with the operation.
    pub result: Result<()>,
}

/// What looking for one of several found.
#[derive(Debug)]
pub enum Found {
    /// The operation of this index is complete.
    One(usize, Done),
    /// There is nothing to wait for.
    NoneActive,
    /// None is complete.
    Pending,
}

/// The handle of a request that a communicator made.
#[inline]
pub fn started(comm: &CommObject, request: engine::Request) -> Handle {
    register(comm.handle(), request)
}

#[inline]
fn register(maker: Handle, request: engine::Request) -> Handle {
    let slab::Key { index, generation } = request.0;
    let place = index as usize;
    let mut makers = LIBRARY.makers.lock();
    if makers.len() <= place {
        makers.resize(place + 1, abi::MPI_COMM_NULL);
    }
    makers[place] = maker;
    Key { index, generation }.handle(Kind::Request)
}

/// The communicator that made a request, for its error handler.
fn maker(handle: Handle) -> Handle {
    let makers = LIBRARY.makers.lock();
    let place = Key::of(handle, Kind::Request).map(|key| key.index as usize);
    place
        .and_then(|place| makers.get(place).copied())
        .unwrap_or(abi::MPI_COMM_NULL)
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
    let refuse = |what| Error::Handle {
        name: "message",
        what,
        class: abi::MPI_ERR_REQUEST,
    };
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

/// The request of a handle, `None` for the null handle. Whether it still exists, mpi-lite tells.
#[inline]
fn key(handle: Handle) -> Result<Option<engine::Request>> {
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

fn refuse(what: Unusable) -> Error {
    Error::Handle {
        name: "request",
        what,
        class: abi::MPI_ERR_REQUEST,
    }
}

/// The request of a handle that must not be null.
fn real_key(handle: Handle) -> Result<engine::Request> {
    key(handle)?.ok_or(refuse(Unusable::Null("MPI_REQUEST_NULL")))
}

fn keys(handles: &[Handle]) -> Result<Vec<Option<engine::Request>>> {
    // A collection of results does not know its length beforehand.
    let mut keys = Vec::with_capacity(handles.len());
    for &handle in handles {
        keys.push(key(handle)?);
    }
    Ok(keys)
}

fn engine() -> &'static Engine {
    LIBRARY.process().engine()
}

/// A handle that mpi-lite does not know any more is stale: says which one.
fn stale(handle: Handle) -> impl Fn(LiteError) -> Error {
    move |error| match error {
        LiteError::Request => refuse(Unusable::Freed(handle)),
        other => Error::Lite(other),
    }
}

fn done(handle: Handle, completion: Completion) -> Done {
    let Completion {
        status,
        error,
        is_gone,
    } = completion;
    let left = if is_gone {
        abi::MPI_REQUEST_NULL
    } else {
        handle
    };
    let result = match error {
        None => Ok(()),
        Some(error) => Err(Error::Operation {
            error,
            comm: maker(handle),
        }),
    };
    Done {
        left,
        status: status.into(),
        result,
    }
}

/// Waits for one operation.
///
/// # Errors
/// The handle is none, or stale.
#[inline]
pub fn wait(handle: Handle) -> Result<Done> {
    let completion = engine().wait(key(handle)?).map_err(stale(handle))?;
    Ok(done(handle, completion))
}

/// Waits for one operation of this very call and lays down its status.
///
/// # Errors
/// Those of the operation.
#[inline]
pub fn finish(handle: Handle, status: OutStatus) -> Result<()> {
    let done = wait(handle)?;
    status.set(done.status);
    done.result
}

/// Tests one operation.
///
/// # Errors
/// The handle is none, or stale.
pub fn test(handle: Handle) -> Result<Option<Done>> {
    let completion = engine().test(key(handle)?).map_err(stale(handle))?;
    Ok(completion.map(|completion| done(handle, completion)))
}

/// Tests one operation and leaves its request as it is.
///
/// # Errors
/// The handle is none, or stale.
pub fn look(handle: Handle) -> Result<Option<Status>> {
    let completion = engine().status(key(handle)?).map_err(stale(handle))?;
    Ok(completion.map(|completion| completion.status.into()))
}

/// [`look`] for each of several.
///
/// # Errors
/// A handle is none, or stale.
pub fn look_at_all(handles: &[Handle]) -> Result<Vec<Option<Status>>> {
    handles.iter().map(|handle| look(*handle)).collect()
}

/// Whether waiting for any of several would wait for this one.
///
/// # Errors
/// The handle is none, or stale.
pub fn is_active(handle: Handle) -> Result<bool> {
    let key = key(handle)?;
    engine()
        .with(|lane| lane.is_active(key))
        .map_err(stale(handle))
}

/// Waits for all operations of an array and lays down what they left.
///
/// # Errors
/// A handle is none, or stale: nothing was waited for. `MPI_ERR_IN_STATUS` if an operation failed.
pub fn wait_all(count: Length, array: Requests, statuses: OutStatuses) -> Result<()> {
    let handles = array.to_vec(count)?;
    let completions = engine().wait_all(&keys(&handles)?)?;
    lay_down_all(&handles, completions, array, statuses)
}

/// Tests whether all operations of an array are complete, and if so lays down what they left.
///
/// # Errors
/// As [`wait_all`].
pub fn test_all(count: Length, array: Requests, statuses: OutStatuses) -> Result<bool> {
    let handles = array.to_vec(count)?;
    let Some(completions) = engine().test_all(&keys(&handles)?)? else {
        return Ok(false);
    };
    lay_down_all(&handles, completions, array, statuses).map(|()| true)
}

fn lay_down_all(
    handles: &[Handle],
    completions: Vec<Completion>,
    array: Requests,
    statuses: OutStatuses,
) -> Result<()> {
    let any_failed = completions.iter().any(|it| it.error.is_some());
    let mut failure = Ok(());
    for (index, (handle, completion)) in handles.iter().zip(completions).enumerate() {
        let done = done(*handle, completion);
        array.set(index, done.left)?;
        statuses.set(
            index,
            done.status,
            any_failed.then_some(class_of(&done.result)),
        );
        if failure.is_ok() {
            failure = done.result.map_err(|error| Error::in_status(index, error));
        }
    }
    failure
}

/// The error field of a status.
pub fn class_of(result: &Result<()>) -> core::ffi::c_int {
    result
        .as_ref()
        .map_or_else(Error::class, |()| abi::MPI_SUCCESS)
}

/// Waits for one of several.
///
/// # Errors
/// A handle is none, or stale.
pub fn wait_any(handles: &[Handle]) -> Result<Found> {
    Ok(match engine().wait_any(&keys(handles)?)? {
        None => Found::NoneActive,
        Some((index, completion)) => Found::One(index, done(handles[index], completion)),
    })
}

/// Tests whether one of several is complete.
///
/// # Errors
/// A handle is none, or stale.
pub fn test_any(handles: &[Handle]) -> Result<Found> {
    Ok(match engine().test_any(&keys(handles)?)? {
        engine::Any::NoneActive => Found::NoneActive,
        engine::Any::NotYet => Found::Pending,
        engine::Any::Done(index, completion) => Found::One(index, done(handles[index], completion)),
    })
}

/// Operations that are complete, by index; `None` if there is nothing to wait for.
pub type Several = Option<Vec<(usize, Done)>>;

/// Waits for at least one of several.
///
/// # Errors
/// A handle is none, or stale.
pub fn wait_some(handles: &[Handle]) -> Result<Several> {
    Ok(several(handles, engine().wait_some(&keys(handles)?)?))
}

/// Tests which of several are complete.
///
/// # Errors
/// A handle is none, or stale.
pub fn test_some(handles: &[Handle]) -> Result<Several> {
    Ok(several(handles, engine().test_some(&keys(handles)?)?))
}

fn several(handles: &[Handle], found: Option<Vec<engine::Indexed>>) -> Several {
    let ended = |(index, completion): engine::Indexed| (index, done(handles[index], completion));
    found.map(|found| found.into_iter().map(ended).collect())
}

/// Starts a persistent request.
///
/// # Errors
/// It is not an inactive persistent one, or the operation cannot start.
pub fn start(handle: Handle) -> Result<()> {
    let key = real_key(handle)?;
    engine().with(|lane| lane.start(key)).map_err(stale(handle))
}

/// Gives a request up; its operation still completes.
///
/// # Errors
/// The handle is none, or stale.
pub fn free(handle: Handle) -> Result<()> {
    let key = real_key(handle)?;
    engine().with(|lane| lane.free(key)).map_err(stale(handle))
}

/// Tries to cancel an operation.
///
/// # Errors
/// The handle is none, or stale.
pub fn cancel(handle: Handle) -> Result<()> {
    let key = real_key(handle)?;
    engine()
        .with(|lane| lane.cancel(key))
        .map_err(stale(handle))
}

/// Starts the receive of a matched message.
///
/// # Errors
/// The handle is none, or stale.
pub fn imrecv(buffer: Buffer, handle: Handle) -> Result<Handle> {
    let message = message_of(handle)?;
    let started = engine().with(|lane| match message {
        Some(message) => lane.matched_receive(message, buffer),
        // The message of MPI_PROC_NULL. Source: MPI 5.0, 3.8.3.
        None => lane.receive(ReceivePlan {
            pattern: None,
            buffer,
        }),
    });
    // The communicator is not known any more: errors go where those without one go.
    Ok(register(abi::MPI_COMM_NULL, started?))
}

/// Gives the library room for buffered sends. It counts the room; the copies are its own.
///
/// # Errors
/// There is room already.
pub fn attach(buffer: Address, size: Count) -> Result<()> {
    let bytes = if buffer.0.addr() == abi::MPI_BUFFER_AUTOMATIC {
        u64::MAX
    } else {
        size.get()
    };
    Ok(engine().with(|lane| lane.attach(buffer.0.expose_provenance(), bytes))?)
}

/// Takes the room back when all of its messages are sent.
///
/// # Errors
/// There is none.
pub fn detach() -> Result<(*mut c_void, i64)> {
    let attached = engine().wait_until(|lane| lane.detach().transpose())?;
    let address = core::ptr::with_exposed_provenance_mut(attached.address);
    Ok((address, i64::try_from(attached.bytes).unwrap_or(0)))
}

/// Waits until all buffered messages are sent.
pub fn flush() {
    engine().wait_until(|lane| lane.is_flushed().then_some(()));
}
