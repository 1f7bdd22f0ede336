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
}

impl Callback {
    const ALL: [Self; 8] = [
        Self::Operator,
        Self::ErrorHandler,
        Self::Copy,
        Self::Delete,
        Self::Query,
        Self::Free,
        Self::Cancel,
        Self::Event,
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
