//! What ends operations: waiting, testing, and what is left of their requests.

use core::ffi::c_int;

use mpi_lite::data::Area;
use mpi_lite::engine::{self, Completion, ReceivePlan};
use mpi_lite::error::Error as LiteError;
use mpi_lite::ids::Context;

use crate::abi::{self, Handle};
use crate::args::{Int, Length, Out, OutInts, OutStatus, OutStatuses, Requests, c_index};
use crate::calls::generalized;
use crate::error::{Cause, Error, Result};
use crate::objects::request::{checked_key, engine, handle_of, key, message_of, real_key, stale};
use crate::objects::{comm, file, win};

/// How one operation ended.
#[derive(Debug)]
pub struct Done {
    /// The handle that the program keeps: null, or that of an inactive persistent request.
    pub left: Handle,
    /// What it learns.
    pub status: engine::Status,
    /// The request was null or inactive.
    pub is_of_nothing: bool,
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

/// An array of handles that can be read, as long as the call's count, none of them foreign.
#[derive(Clone, Copy)]
struct Handles {
    array: Requests,
    count: usize,
}

impl Handles {
    #[inline]
    fn of(array: Requests, count: Length) -> Result<Self> {
        let count = count.0 as usize;
        for index in 0..count {
            key(array.get(index)?)?;
        }
        Ok(Self { array, count })
    }
}

impl engine::Array for Handles {
    #[inline]
    fn count(self) -> usize {
        self.count
    }

    #[inline]
    fn at(self, index: usize) -> Option<engine::Request> {
        // Checked above. What is foreign now was changed by another thread, which must not: then it
        // is a stale one.
        self.array.get(index).ok().and_then(checked_key)
    }
}

#[inline(always)]
fn done(handle: Handle, completion: Completion) -> Done {
    if completion.is_generalized {
        return done_by_program(handle);
    }
    // A request that was released was active.
    let (left, is_of_nothing) = if completion.is_gone {
        (abi::MPI_REQUEST_NULL, false)
    } else {
        (handle, completion.is_of_nothing())
    };
    Done {
        left,
        status: completion.status,
        is_of_nothing,
        result: result_of(completion),
    }
}

#[cold]
fn done_by_program(handle: Handle) -> Done {
    let (status, result) = generalized::finish(handle);
    Done {
        left: abi::MPI_REQUEST_NULL,
        status,
        is_of_nothing: false,
        result,
    }
}

/// What the call of the program is to return.
#[inline]
fn result_of(completion: Completion) -> Result<()> {
    match completion.error {
        None => Ok(()),
        Some(error) => Err(failed(error, completion.context)),
    }
}

#[cold]
fn failed(error: LiteError, context: Option<Context>) -> Error {
    let object = |context| {
        let of_file = || file::of_context(context);
        let of_window = || win::of_context(context);
        comm::of_context(context)
            .or_else(of_file)
            .or_else(of_window)
    };
    let comm = context.and_then(object).unwrap_or(abi::MPI_COMM_NULL);
    Cause::Operation { error, comm }.into()
}

/// Waits for one operation.
///
/// # Errors
/// The handle is none, or stale.
#[inline(always)]
pub fn wait(handle: Handle) -> Result<Done> {
    let key = key(handle)?;
    if key == Some(engine::Request::SENT) {
        engine().wait_for_sent();
        return Ok(done(handle, Completion::SENT));
    }
    let completion = engine().wait(key).map_err(stale(handle))?;
    Ok(done(handle, completion))
}

/// Waits for one operation of this very call and lays down its status.
///
/// # Errors
/// Those of the operation.
#[inline]
pub fn finish(handle: Handle, status: OutStatus) -> Result<()> {
    let done = wait(handle)?;
    status.set_end(done.status, done.is_of_nothing);
    done.result
}

/// Tests one operation.
///
/// # Errors
/// The handle is none, or stale.
#[inline(always)]
pub fn test(handle: Handle) -> Result<Option<Done>> {
    let completion = engine().test(key(handle)?).map_err(stale(handle))?;
    Ok(completion.map(|completion| done(handle, completion)))
}

/// How a request stands that is left as it is.
#[derive(Debug, Clone, Copy)]
pub struct Seen {
    handle: Handle,
    status: engine::Status,
    is_of_nothing: bool,
    is_generalized: bool,
}

impl Seen {
    /// Lays the status down as a call that completes one operation does.
    ///
    /// # Errors
    /// What the query function of a generalized request returns.
    pub fn lay_down(self, status: OutStatus) -> Result<()> {
        if self.is_generalized {
            let (found, result) = generalized::query(self.handle);
            status.set(found);
            return result;
        }
        status.set_end(self.status, self.is_of_nothing);
        Ok(())
    }
}

/// Tests one operation and leaves its request as it is.
///
/// # Errors
/// The handle is none, or stale.
pub fn look(handle: Handle) -> Result<Option<Seen>> {
    let request = key(handle)?;
    let completion = engine().look(|lane| lane.peek(request));
    let completion = completion.map_err(stale(handle))?;
    Ok(completion.map(|completion| Seen {
        handle,
        is_generalized: completion.is_generalized,
        status: completion.status,
        is_of_nothing: completion.is_of_nothing(),
    }))
}

/// [`look`] for each of several.
///
/// # Errors
/// A handle is none, or stale.
pub fn look_at_all(handles: &[Handle]) -> Result<Vec<Option<Seen>>> {
    handles.iter().map(|handle| look(*handle)).collect()
}

/// Returns true if waiting for any of several would wait for this one.
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
    let requests = Handles::of(array, count)?;
    let mut endings = Endings::new(array, None, statuses);
    engine().wait_all(requests, &mut endings)?;
    endings.settle()
}

/// Tests whether all operations of an array are complete, and if so lays down what they left.
///
/// # Errors
/// As [`wait_all`].
pub fn test_all(count: Length, array: Requests, statuses: OutStatuses) -> Result<bool> {
    let requests = Handles::of(array, count)?;
    let mut endings = Endings::new(array, None, statuses);
    let done = engine().test_all(requests, &mut endings)?;
    endings.settle().map(|()| done)
}

/// Where a call that completes several operations lays down how they ended.
struct Endings {
    array: Requests,
    /// Where the indices go, if the call returns them.
    indices: Option<OutInts>,
    statuses: OutStatuses,
    /// How many are laid down.
    count: usize,
    /// What the call is to return.
    outcome: Result<()>,
    /// Generalized requests that are still to be queried and freed.
    generalized: Vec<Unsettled>,
}

/// A generalized request that a call completes together with others.
struct Unsettled {
    handle: Handle,
    /// Where it was in the program's array.
    index: usize,
    /// Where its status goes.
    place: usize,
}

impl Endings {
    fn new(array: Requests, indices: Option<OutInts>, statuses: OutStatuses) -> Self {
        Self {
            array,
            indices,
            statuses,
            count: 0,
            outcome: Ok(()),
            generalized: Vec::new(),
        }
    }

    /// Writes that the request at `index` is complete; `any_failed` if one of the array failed.
    #[inline(always)]
    fn lay_down(&mut self, index: usize, ended: Completion, any_failed: bool) {
        let result = self.try_lay_down(index, ended, any_failed);
        self.went(result);
    }

    /// Queries and frees the generalized requests, with no lock held. Returns what the call is to
    /// return. Source: MPI 5.0, 13.2.
    fn settle(mut self) -> Result<()> {
        if !self.generalized.is_empty() {
            self.settle_generalized();
        }
        self.outcome
    }

    #[cold]
    fn settle_generalized(&mut self) {
        let had_failed = self.outcome.is_err();
        let mut classes = Vec::new();
        for Unsettled {
            handle,
            index,
            place,
        } in core::mem::take(&mut self.generalized)
        {
            let (status, result) = generalized::finish(handle);
            self.statuses.set(place, status, None);
            classes.push((place, class_of(&result)));
            if let Err(error) = result {
                self.note_first(Err(Error::in_status(index, error)));
            }
        }
        if self.outcome.is_ok() {
            return;
        }
        if !had_failed {
            for place in 0..self.count {
                self.statuses.set_error(place, abi::MPI_SUCCESS);
            }
        }
        for (place, class) in classes {
            self.statuses.set_error(place, class);
        }
    }

    #[inline(always)]
    fn went(&mut self, result: Result<()>) {
        self.count += 1;
        if result.is_err() {
            self.note_first(result);
        }
    }

    #[cold]
    fn note_first(&mut self, result: Result<()>) {
        if self.outcome.is_ok() {
            self.outcome = result;
        }
    }

    #[inline(always)]
    fn lay_down_plain(&self, index: usize, status: engine::Status) -> Result<()> {
        self.array.set(index, abi::MPI_REQUEST_NULL)?;
        if let Some(indices) = self.indices {
            indices.set(self.count, c_index(index))?;
        }
        self.statuses.set(self.count, status, None);
        Ok(())
    }

    fn try_lay_down(&mut self, index: usize, ended: Completion, any_failed: bool) -> Result<()> {
        if ended.is_generalized {
            self.generalized.push(Unsettled {
                handle: self.array.get(index)?,
                index,
                place: self.count,
            });
        }
        if ended.is_gone {
            self.array.set(index, abi::MPI_REQUEST_NULL)?;
        }
        if let Some(indices) = self.indices {
            indices.set(self.count, c_index(index))?;
        }
        let status = ended.status;
        let has_error = any_failed || ended.is_of_nothing();
        let result = result_of(ended);
        let class = has_error.then(|| class_of(&result));
        self.statuses.set(self.count, status, class);
        result.map_err(|error| Error::in_status(index, error))
    }
}

impl engine::Tell for &mut Endings {
    #[inline(always)]
    fn plain(&mut self, index: usize, completion: Completion) {
        let result = self.lay_down_plain(index, completion.status);
        self.went(result);
    }

    #[cold]
    fn other(&mut self, index: usize, completion: Completion, any_failed: bool) {
        self.lay_down(index, completion, any_failed);
    }
}

/// The error field of a status.
pub fn class_of(result: &Result<()>) -> c_int {
    result
        .as_ref()
        .map_or_else(Error::class, |()| abi::MPI_SUCCESS)
}

/// Waits for one of several.
///
/// # Errors
/// A handle is none, or stale.
pub fn wait_any(count: Length, array: Requests) -> Result<Found> {
    Ok(match engine().wait_any(Handles::of(array, count)?)? {
        None => Found::NoneActive,
        Some((index, completion)) => Found::One(index, done(array.get(index)?, completion)),
    })
}

/// Tests whether one of several is complete.
///
/// # Errors
/// A handle is none, or stale.
pub fn test_any(count: Length, array: Requests) -> Result<Found> {
    Ok(match engine().test_any(Handles::of(array, count)?)? {
        engine::Any::NoneActive => Found::NoneActive,
        engine::Any::NotYet => Found::Pending,
        engine::Any::Done(index, completion) => {
            Found::One(index, done(array.get(index)?, completion))
        }
    })
}

/// A call that completes some of several operations.
pub struct Several {
    /// The requests.
    pub requests: Requests,
    /// Their number.
    pub count: Length,
    /// How many are complete.
    pub outcount: Out<Int>,
    /// Their indices.
    pub indices: OutInts,
    /// Their statuses.
    pub statuses: OutStatuses,
}

impl Several {
    /// Waits for at least one.
    ///
    /// # Errors
    /// A handle is none, or stale. `MPI_ERR_IN_STATUS` if an operation failed.
    pub fn wait(&self) -> Result<()> {
        let requests = Handles::of(self.requests, self.count)?;
        let mut endings = Endings::new(self.requests, Some(self.indices), self.statuses);
        let found = engine().wait_some(requests, |index, completion, any_failed| {
            endings.lay_down(index, completion, any_failed);
        })?;
        self.close(found, endings)
    }

    /// Tests which are complete.
    ///
    /// # Errors
    /// As [`Several::wait`].
    pub fn test(&self) -> Result<()> {
        let requests = Handles::of(self.requests, self.count)?;
        let mut endings = Endings::new(self.requests, Some(self.indices), self.statuses);
        let found = engine().test_some(requests, |index, completion, any_failed| {
            endings.lay_down(index, completion, any_failed);
        })?;
        self.close(found, endings)
    }

    /// `None`: there was nothing to wait for.
    fn close(&self, found: Option<usize>, endings: Endings) -> Result<()> {
        self.outcount
            .set(found.map_or(abi::MPI_UNDEFINED, c_index))?;
        endings.settle()
    }
}

/// Starts a persistent request.
///
/// # Errors
/// It is not an inactive persistent one, or the operation cannot start.
pub fn start(handle: Handle) -> Result<()> {
    let key = real_key(handle)?;
    engine().start(key).map_err(stale(handle))
}

/// Gives a request up; its operation still completes.
///
/// # Errors
/// The handle is none, or stale.
pub fn free(handle: Handle) -> Result<()> {
    let key = real_key(handle)?;
    let freed = engine().with(|lane| {
        let ended = lane.peek(Some(key))?;
        lane.free(key)?;
        Ok(ended.is_some_and(|ended| ended.is_generalized))
    });
    // Otherwise its free function is called when the program completes it.
    match freed.map_err(stale(handle))? {
        true => generalized::free(handle),
        false => Ok(()),
    }
}

/// Tries to cancel an operation.
///
/// # Errors
/// The handle is none, or stale.
pub fn cancel(handle: Handle) -> Result<()> {
    let key = real_key(handle)?;
    if engine().with(|lane| lane.is_generalized(key)) {
        let ended = engine().with(|lane| lane.peek(Some(key)));
        return generalized::cancel(handle, ended.map_err(stale(handle))?.is_some());
    }
    engine().cancel(key).map_err(stale(handle))
}

/// Starts the receive of a matched message.
///
/// # Errors
/// The handle is none, or stale.
pub fn imrecv(area: Area, handle: Handle) -> Result<Handle> {
    let message = message_of(handle)?;
    let started = engine().with(|lane| match message {
        Some(message) => lane.matched_receive(message, area),
        // The message of MPI_PROC_NULL. Source: MPI 5.0, 3.8.3.
        None => Ok(lane.receive(ReceivePlan {
            pattern: None,
            area,
        })),
    });
    Ok(handle_of(started?))
}
