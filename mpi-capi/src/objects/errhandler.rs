//! Error handlers: the three of MPI and those that the program makes.
#![expect(unsafe_code, reason = "the program's error handlers are called")]

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::abi::{self, Handle};
use crate::callback::{CallErrorFn, Callback, ErrorFn, call_program};
use crate::error::{Error, Result};
use crate::handle::{Kind, Unusable};
use crate::registry::{self, Registered, registered};

/// A handler that the program made.
#[derive(Debug)]
pub struct ErrhandlerObject {
    function: usize,
    call: CallErrorFn,
    /// The kind of object that it serves.
    serves: Kind,
    /// Handles the program holds: one from making it, one from each question for it.
    held_by_program: usize,
    /// Objects it is attached to.
    attached: usize,
}

registered!(ErrhandlerObject: Errhandler);

/// The error handler of `MPI_FILE_NULL`. It is in charge of calls without a file, and at first of
/// each file. Source: MPI 5.0, 14.7.
pub static OF_NO_FILE: Attached = Attached::own(abi::MPI_ERRORS_RETURN);

/// The error handler in charge of an object; it counts as attached as long as it is.
#[derive(Debug)]
pub struct Attached(AtomicUsize);

impl Attached {
    /// One of MPI's own, which nobody counts.
    const fn own(handler: Handle) -> Self {
        Self(AtomicUsize::new(handler.0))
    }

    /// The error handler of a new object.
    pub fn new(handler: Handle) -> Self {
        attach(handler);
        Self::own(handler)
    }

    /// The error handler in charge.
    pub fn get(&self) -> Handle {
        Handle(self.0.load(Ordering::Relaxed))
    }

    /// Gives the program a handle of it.
    pub fn held(&self) -> Handle {
        let handler = self.get();
        hold(handler);
        handler
    }

    /// Puts another error handler in charge.
    pub fn set(&self, handler: Handle) {
        attach(handler);
        let old = self.0.swap(handler.0, Ordering::Relaxed);
        detach(Handle(old));
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        detach(self.get());
    }
}

/// The C type of the program's handlers. Source: MPI 5.0, 9.3.
type Function = unsafe extern "C-unwind" fn(*mut Handle, *mut c_int, ...);

impl From<*const c_void> for ErrorFn {
    fn from(address: *const c_void) -> Self {
        let call = call_standard;
        Self { address, call }
    }
}

/// # Safety
/// `function` is a handler of the standard's binary interface.
unsafe fn call_standard(function: *const c_void, mut object: Handle, mut code: c_int) {
    // SAFETY: the caller says so.
    let function = unsafe { core::mem::transmute::<*const c_void, Function>(function) };
    // SAFETY: the arguments are those MPI gives to a handler; both outlive the call.
    unsafe { function(&raw mut object, &raw mut code) };
}

/// Makes a handler that calls `function`.
///
/// # Errors
/// `MPI_ERR_ARG` if the function is null.
pub fn create(function: impl Into<ErrorFn>, serves: Kind) -> Result<Handle> {
    let ErrorFn { address, call } = function.into();
    if address.is_null() {
        return Err(Error::new(
            abi::MPI_ERR_ARG,
            "the error handler function is a null pointer",
        ));
    }
    let object = ErrhandlerObject {
        function: address.expose_provenance(),
        call,
        serves,
        held_by_program: 1,
        attached: 0,
    };
    Ok(registry::insert(object))
}

/// Checks that `handle` can be attached to objects of the kind.
///
/// # Errors
/// `MPI_ERR_ERRHANDLER` if it is no handler of this kind.
pub fn check(handle: Handle, serves: Kind) -> Result<()> {
    if is_predefined(handle) {
        return Ok(());
    }
    let handlers = ErrhandlerObject::table().lock();
    match handlers.get(handle) {
        Ok(object) if object.held_by_program == 0 => Err(refuse(Unusable::Freed(handle))),
        Ok(object) if object.serves != serves => Err(Error::new(
            abi::MPI_ERR_ERRHANDLER,
            "errhandler serves another kind of object",
        )),
        Ok(_) => Ok(()),
        Err(_) if handle == abi::MPI_ERRHANDLER_NULL => {
            Err(refuse(Unusable::Null("MPI_ERRHANDLER_NULL")))
        }
        Err(what) => Err(refuse(what)),
    }
}

/// Counts an object that the handler is attached to.
fn attach(handle: Handle) {
    change(handle, |object| object.attached += 1);
}

/// Counts an object less.
fn detach(handle: Handle) {
    change(handle, |object| object.attached -= 1);
}

/// Counts a handle that the program asked for.
fn hold(handle: Handle) {
    change(handle, |object| object.held_by_program += 1);
}

/// Gives up one of the program's handles.
///
/// # Errors
/// `MPI_ERR_ERRHANDLER` if it is not one it may free.
pub fn free(handle: Handle) -> Result<()> {
    if is_predefined(handle) {
        return Ok(());
    }
    let serves = ErrhandlerObject::table()
        .lock()
        .get(handle)
        .map(|object| object.serves);
    check(handle, serves.unwrap_or(Kind::Comm))?;
    change(handle, |object| object.held_by_program -= 1);
    Ok(())
}

/// Returns true if the handler is one of MPI's own.
pub fn is_predefined(handle: Handle) -> bool {
    let own = [
        abi::MPI_ERRORS_ARE_FATAL,
        abi::MPI_ERRORS_ABORT,
        abi::MPI_ERRORS_RETURN,
    ];
    own.contains(&handle)
}

/// The null handle of the objects that a handler serves; `None` if it is no handler that the
/// program holds.
pub fn null_object(handle: Handle) -> Option<Handle> {
    if is_predefined(handle) {
        return Some(abi::MPI_COMM_NULL);
    }
    let handlers = ErrhandlerObject::table().lock();
    let object = handlers.get(handle).ok()?;
    let null = match object.serves {
        Kind::File => abi::MPI_FILE_NULL,
        Kind::Session => abi::MPI_SESSION_NULL,
        Kind::Win => abi::MPI_WIN_NULL,
        _ => abi::MPI_COMM_NULL,
    };
    (object.held_by_program > 0).then_some(null)
}

/// Calls the program's handler with a handle of the object that failed. No lock is held.
pub fn call(handler: Handle, object: Handle, code: c_int) {
    let found = ErrhandlerObject::table()
        .lock()
        .get(handler)
        .map(|object| (object.function, object.call));
    let Ok((address, call)) = found else { return };
    let function = core::ptr::with_exposed_provenance::<c_void>(address);
    // SAFETY: the program passed this address, not null, with a handler's call.
    call_program(Callback::ErrorHandler, || unsafe {
        call(function, object, code)
    });
}

fn change(handle: Handle, change: impl FnOnce(&mut ErrhandlerObject)) {
    let mut handlers = ErrhandlerObject::table().lock();
    if let Ok(object) = handlers.get_mut(handle) {
        change(object);
        if object.held_by_program == 0 && object.attached == 0 {
            handlers.remove(handle).expect("it was there a line ago");
        }
    }
}

fn refuse(what: Unusable) -> Error {
    Error::of_handle("errhandler", what, abi::MPI_ERR_ERRHANDLER)
}
