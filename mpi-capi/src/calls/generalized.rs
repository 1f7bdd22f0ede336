//! Generalized requests: operations of the program behind requests of ours. Source: MPI 5.0, 13.2.
//!
//! The program's functions are called with no lock held: they may call MPI.
#![expect(unsafe_code, reason = "the program's functions are called")]

use core::ffi::{c_int, c_void};

use mpi_lite::engine::{self, Lane};
use parking_lot::Mutex;

use crate::abi::{self, Handle};
use crate::args::callbacks::{QueryCall, StateCall};
use crate::args::status::Status;
use crate::callback::{Callback, call_program};
use crate::error::{Cause, Result};
use crate::objects::request::{engine, handle_of, real_key, stale};

type FreeFunction = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;
type CancelFunction = unsafe extern "C-unwind" fn(*mut c_void, c_int) -> c_int;

/// The functions of a generalized request.
#[derive(Debug, Clone, Copy)]
pub struct Generalized {
    /// Fills its status.
    pub query: QueryCall,
    /// Frees it.
    pub free: StateCall,
    /// Cancels it.
    pub cancel: StateCall,
    /// What all of them are given.
    pub extra_state: usize,
}

/// Those that were not freed.
static KNOWN: Mutex<Vec<(Handle, Generalized)>> = Mutex::new(Vec::new());

/// Starts a generalized request.
pub fn start(functions: Generalized) -> Handle {
    let handle = handle_of(engine().with(Lane::open_generalized));
    KNOWN.lock().push((handle, functions));
    handle
}

/// Completes a generalized request. If the program has freed it before, its free function is
/// called.
///
/// # Errors
/// It is no active generalized request; what the free function returns.
pub fn complete(handle: Handle) -> Result<()> {
    let key = real_key(handle)?;
    match engine()
        .with(|lane| lane.complete_generalized(key))
        .map_err(stale(handle))?
    {
        true => free(handle),
        false => Ok(()),
    }
}

fn find(handle: Handle) -> Option<Generalized> {
    let known = KNOWN.lock();
    let found = known.iter().find(|(known, _)| *known == handle);
    found.map(|(_, functions)| *functions)
}

/// Changes the functions of the request `handle`, if it is a generalized one.
pub fn alter(handle: Handle, alter: impl FnOnce(&mut Generalized)) {
    let mut known = KNOWN.lock();
    if let Some((_, functions)) = known.iter_mut().find(|(known, _)| *known == handle) {
        alter(functions);
    }
}

/// The status of the complete request `handle`, and what the query function returned.
pub fn query(handle: Handle) -> (engine::Status, Result<()>) {
    let mut status = Status::EMPTY;
    let functions = find(handle).filter(|functions| functions.query.address != 0);
    let result = functions.map_or(Ok(()), |functions| {
        let pointer = core::ptr::with_exposed_provenance::<c_void>(functions.query.address);
        // SAFETY: the program passed this address as a query function, not null, with its call.
        let call = || unsafe { (functions.query.call)(pointer, functions.state(), &mut status) };
        outcome("query function", call_program(Callback::Query, call))
    });
    (status.into(), result)
}

/// Frees the request `handle`, which is gone.
///
/// # Errors
/// What the free function returns.
pub fn free(handle: Handle) -> Result<()> {
    let functions = find(handle);
    KNOWN.lock().retain(|(known, _)| *known != handle);
    let Some(functions) = functions.filter(|functions| functions.free.address != 0) else {
        return Ok(());
    };
    let pointer = core::ptr::with_exposed_provenance::<c_void>(functions.free.address);
    // SAFETY: the program passed this address as a free function, not null.
    let function = unsafe { core::mem::transmute::<*const c_void, FreeFunction>(pointer) };
    // SAFETY: the argument is the one that MPI gives to a free function.
    let call = || (functions.free.standard_code)(unsafe { function(functions.state()) });
    outcome("free function", call_program(Callback::Free, call))
}

/// Asks the program to cancel the operation of the request `handle`.
///
/// # Errors
/// What the cancel function returns.
pub fn cancel(handle: Handle, is_complete: bool) -> Result<()> {
    let Some(functions) = find(handle).filter(|functions| functions.cancel.address != 0) else {
        return Ok(());
    };
    let pointer = core::ptr::with_exposed_provenance::<c_void>(functions.cancel.address);
    // SAFETY: the program passed this address as a cancel function, not null.
    let function = unsafe { core::mem::transmute::<*const c_void, CancelFunction>(pointer) };
    // SAFETY: the arguments are those MPI gives to a cancel function.
    let call = || {
        // SAFETY: as above.
        let code = unsafe { function(functions.state(), c_int::from(is_complete)) };
        (functions.cancel.standard_code)(code)
    };
    outcome("cancel function", call_program(Callback::Cancel, call))
}

/// Ends the request `handle`, which a call of the program completes: queries and frees it. Returns
/// its status and what the call returns: the error of the free function, or else that of the query
/// function. MPI 5.0, 13.2: if both fail, the code of the last function called counts.
pub fn finish(handle: Handle) -> (engine::Status, Result<()>) {
    let (status, queried) = query(handle);
    (status, free(handle).and(queried))
}

impl Generalized {
    fn state(&self) -> *mut c_void {
        core::ptr::with_exposed_provenance_mut(self.extra_state)
    }
}

fn outcome(what: &'static str, code: c_int) -> Result<()> {
    match code {
        abi::MPI_SUCCESS => Ok(()),
        code => Err(Cause::Callback { what, code }.into()),
    }
}
