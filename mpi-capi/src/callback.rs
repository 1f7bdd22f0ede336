//! The functions of the program that calls of MPI call.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU8, Ordering};

use crate::abi::Handle;

/// Calls an error handler of the program with a handle of the object and a code.
pub type CallErrorFn = unsafe fn(*const c_void, Handle, c_int);

/// An error handler of the program, and how it is called: by the program's binary interface.
#[derive(Debug, Clone, Copy)]
pub struct ErrorFn {
    /// The function.
    pub address: *const c_void,
    /// Calls it.
    pub call: CallErrorFn,
}

/// What a function of an attribute gets.
#[derive(Debug, Clone, Copy)]
pub struct Attributed {
    /// The object, of the kind that the key is for.
    pub object: Handle,
    /// The key.
    pub key: c_int,
    /// What the program passed with the key.
    pub extra_state: *mut c_void,
    /// The value of the attribute.
    pub value: *mut c_void,
}

/// Calls a copy function of an attribute with room for the copy and for the answer whether there
/// is one; returns the standard's code.
pub type CallCopyFn = unsafe fn(*const c_void, Attributed, *mut *mut c_void, *mut c_int) -> c_int;

/// Calls a delete function of an attribute; returns the standard's code.
pub type CallDeleteFn = unsafe fn(*const c_void, Attributed) -> c_int;

/// The copy function of an attribute, and how it is called: by the program's binary interface.
#[derive(Debug, Clone, Copy)]
pub struct CopyCall {
    /// The address, or one of the standard's constants.
    pub address: usize,
    /// Calls it.
    pub call: CallCopyFn,
}

/// The delete function of an attribute, and how it is called.
#[derive(Debug, Clone, Copy)]
pub struct DeleteCall {
    /// The address, 0 for none.
    pub address: usize,
    /// Calls it.
    pub call: CallDeleteFn,
}

/// The function of an operator, and how a handle lies for it: by the program's binary interface.
#[derive(Debug, Clone, Copy)]
pub struct OperatorFn {
    /// The function.
    pub address: *const c_void,
    /// True if its length argument is an `MPI_Count`.
    pub is_large: bool,
    /// The word that holds the program's handle of a datatype in its lowest bytes.
    pub word: fn(Handle) -> usize,
}

impl OperatorFn {
    /// An operator of the standard's binary interface.
    pub fn standard(address: *const c_void, is_large: bool) -> Self {
        Self {
            address,
            is_large,
            word: |datatype| datatype.0,
        }
    }
}

/// A function of the program that a call of MPI calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Callback {
    /// The function of an operator.
    Operator,
    /// An error handler.
    ErrorHandler,
    /// The copy function of an attribute.
    Copy,
    /// The delete function of an attribute.
    Delete,
    /// The query function of a generalized request.
    Query,
    /// The free function of a generalized request.
    Free,
    /// The cancel function of a generalized request.
    Cancel,
    /// A callback of events.
    Event,
    /// A function of a data representation.
    Conversion,
}

impl Callback {
    const ALL: [Self; 9] = [
        Self::Operator,
        Self::ErrorHandler,
        Self::Copy,
        Self::Delete,
        Self::Query,
        Self::Free,
        Self::Cancel,
        Self::Event,
        Self::Conversion,
    ];

    /// What it is called in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Operator => "operator",
            Self::ErrorHandler => "error handler",
            Self::Copy => "attribute copy function",
            Self::Delete => "attribute delete function",
            Self::Query => "query function",
            Self::Free => "free function",
            Self::Cancel => "cancel function",
            Self::Event => "event callback",
            Self::Conversion => "conversion function",
        }
    }
}

/// The function of the program that runs inside a call, from 1; 0 for none.
static RUNNING: AtomicU8 = AtomicU8::new(0);

/// The function of the program that runs inside a call.
pub fn running() -> Option<Callback> {
    let place = usize::from(RUNNING.load(Ordering::Relaxed)).checked_sub(1)?;
    Callback::ALL.get(place).copied()
}

/// Calls a function of the program; `call` does nothing else, so that an exception out of it comes
/// straight to a frame that stops it.
#[inline]
pub fn call_program<R>(what: Callback, call: impl FnOnce() -> R) -> R {
    let before = RUNNING.swap(what as u8 + 1, Ordering::Relaxed);
    let result = call();
    RUNNING.store(before, Ordering::Relaxed);
    result
}
