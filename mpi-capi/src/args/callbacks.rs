//! Functions of the program that the library calls.
#![expect(
    unsafe_code,
    reason = "the program's functions are called through raw pointers"
)]

use core::ffi::{c_int, c_void};

use crate::abi::{self, Handle};
use crate::args::numbers::show_address;
use crate::args::status::Status;
use crate::callback::{CopyCall, DeleteCall, ErrorFn, OperatorFn};
use crate::declaration::Declarator;
use crate::entry::{Arg, Large, Read, Small};
use crate::error::Result;
use crate::raise::Call;

/// Calls the query function of a generalized request.
pub type CallQueryFn = unsafe fn(*const c_void, *mut c_void, &mut Status) -> c_int;

/// The query function of a generalized request: its address, and how it is called.
#[derive(Debug, Clone, Copy)]
pub struct QueryCall {
    /// The address, 0 for none.
    pub address: usize,
    /// Calls it with the extra state; returns the standard's code.
    pub call: CallQueryFn,
}

/// A function of a generalized request that gets no handle and no status.
#[derive(Debug, Clone, Copy)]
pub struct StateCall {
    /// The address, 0 for none.
    pub address: usize,
    /// The standard's code for what it returns.
    pub standard_code: fn(c_int) -> c_int,
}

impl From<*const c_void> for QueryCall {
    fn from(address: *const c_void) -> Self {
        Self {
            address: address.expose_provenance(),
            call: call_query,
        }
    }
}

impl From<*const c_void> for StateCall {
    fn from(address: *const c_void) -> Self {
        Self {
            address: address.expose_provenance(),
            standard_code: |code| code,
        }
    }
}

/// # Safety
/// `function` is a query function of the standard's binary interface.
unsafe fn call_query(
    function: *const c_void,
    extra_state: *mut c_void,
    status: &mut Status,
) -> c_int {
    type Function = unsafe extern "C-unwind" fn(*mut c_void, *mut Status) -> c_int;
    // SAFETY: the caller says so.
    let function = unsafe { core::mem::transmute::<*const c_void, Function>(function) };
    // SAFETY: the arguments are those that MPI gives to a query function.
    unsafe { function(extra_state, status) }
}

/// Makes argument types that are function pointers. They are kept as addresses because some of
/// them are constants that are compared and never called.
macro_rules! functions {
    ($(
        $(#[$doc:meta])* $name:ident($function:ty): $declaration:expr $(, $note:ident)?;
    )*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name(pub $function);

        functions!(@width $name Small $declaration $(, $note)?);
        functions!(@width $name Large $declaration $(, $note)?);
    )*};
    (@width $name:ident $width:ident $declaration:expr $(, $note:ident)?) => {
        impl Arg<$width> for $name {
            type C = *const c_void;
            const DECLARATION: Declarator = $declaration;
            const IS_KEPT: bool = false;

            fn show(c: *const c_void, name: &str, line: &mut String) {
                show_address(c.addr(), name, line);
            }

            $(
                fn note(_c: *const c_void, call: &Call) {
                    $note(call);
                }
            )?
        }

        impl Read<$width> for $name {
            unsafe fn read(
                c: *const c_void, _name: &'static str, _call: &Call,
            ) -> Result<Self> {
                Ok(Self(c.into()))
            }
        }
    };
}

functions! {
    /// Copies an attribute of a communicator.
    CommCopyFn(CopyCall): Declarator::pointer("MPI_Comm_copy_attr_function");
    /// Deletes an attribute of a communicator.
    CommDeleteFn(DeleteCall): Declarator::pointer("MPI_Comm_delete_attr_function");
    /// Copies an attribute of a datatype.
    TypeCopyFn(CopyCall): Declarator::pointer("MPI_Type_copy_attr_function");
    /// Deletes an attribute of a datatype.
    TypeDeleteFn(DeleteCall): Declarator::pointer("MPI_Type_delete_attr_function");
    /// Copies an attribute of a window.
    WinCopyFn(CopyCall): Declarator::pointer("MPI_Win_copy_attr_function");
    /// Deletes an attribute of a window.
    WinDeleteFn(DeleteCall): Declarator::pointer("MPI_Win_delete_attr_function");
    /// The deprecated form of `CommCopyFn`.
    CopyFn(CopyCall): Declarator::pointer("MPI_Copy_function");
    /// The deprecated form of `CommDeleteFn`.
    DeleteFn(DeleteCall): Declarator::pointer("MPI_Delete_function");
    /// Handles errors of a communicator.
    CommErrhandlerFn(ErrorFn): Declarator::pointer("MPI_Comm_errhandler_function");
    /// Handles errors of a file.
    FileErrhandlerFn(ErrorFn): Declarator::pointer("MPI_File_errhandler_function"), note_files;
    /// Handles errors of a session.
    SessionErrhandlerFn(ErrorFn): Declarator::pointer("MPI_Session_errhandler_function");
    /// Handles errors of a window.
    WinErrhandlerFn(ErrorFn): Declarator::pointer("MPI_Win_errhandler_function");
    /// Fills the status of a generalized request.
    QueryFn(QueryCall): Declarator::pointer("MPI_Grequest_query_function");
    /// Frees a generalized request.
    FreeFn(StateCall): Declarator::pointer("MPI_Grequest_free_function");
    /// Cancels a generalized request.
    CancelFn(StateCall): Declarator::pointer("MPI_Grequest_cancel_function");
    /// Returns the extent of a type in a file.
    ExtentFn(ExtentCall): Declarator::pointer("MPI_Datarep_extent_function"), note_files;
    /// Called for an event.
    EventFn(*const c_void): Declarator::value("MPI_T_event_cb_function");
    /// Called when a registration is gone.
    EventFreeFn(*const c_void): Declarator::value("MPI_T_event_free_cb_function");
    /// Called when events were lost.
    EventDroppedFn(*const c_void): Declarator::value("MPI_T_event_dropped_cb_function");
}

/// The call belongs to files, but to none that exists.
fn note_files(call: &Call) {
    call.note_file(abi::MPI_FILE_NULL);
}

/// A reduction operator.
#[derive(Debug, Clone, Copy)]
pub struct UserFn(pub OperatorFn);

/// Converts between representations of a file.
#[derive(Debug, Clone, Copy)]
pub struct ConversionFn {
    /// The function.
    pub address: *const c_void,
    /// True if its count argument is an `MPI_Count`.
    pub is_large: bool,
    /// The word that holds the program's handle of a datatype in its lowest bytes.
    pub word: fn(Handle) -> usize,
}

impl ConversionFn {
    /// A function of the standard's binary interface.
    pub fn standard(address: *const c_void, is_large: bool) -> Self {
        Self {
            address,
            is_large,
            word: |datatype| datatype.0,
        }
    }
}

/// The function that tells extents in files, and how a handle lies for it.
#[derive(Debug, Clone, Copy)]
pub struct ExtentCall {
    /// The function.
    pub address: *const c_void,
    /// The word that holds the program's handle of a datatype in its lowest bytes.
    pub word: fn(Handle) -> usize,
}

impl From<*const c_void> for ExtentCall {
    fn from(address: *const c_void) -> Self {
        Self {
            address,
            word: |datatype| datatype.0,
        }
    }
}

macro_rules! wide_functions {
    ($($name:ident $width:ident $base:literal $make:expr;)*) => {$(
        impl Arg<$width> for $name {
            type C = *const c_void;
            const DECLARATION: Declarator = Declarator::pointer($base);
            const IS_KEPT: bool = false;

            fn show(c: *const c_void, name: &str, line: &mut String) {
                show_address(c.addr(), name, line);
            }
        }

        impl Read<$width> for $name {
            unsafe fn read(
                c: *const c_void, _name: &'static str, _call: &Call,
            ) -> Result<Self> {
                let make: fn(*const c_void) -> Self = $make;
                Ok(make(c))
            }
        }
    )*};
}

wide_functions! {
    UserFn Small "MPI_User_function" |address| Self(OperatorFn::standard(address, false));
    UserFn Large "MPI_User_function_c" |address| Self(OperatorFn::standard(address, true));
    ConversionFn Small "MPI_Datarep_conversion_function" |address| Self::standard(address, false);
    ConversionFn Large "MPI_Datarep_conversion_function_c" |address| Self::standard(address, true);
}
