//! Functions of the program that the library calls.
#![expect(
    unsafe_code,
    reason = "the program's functions are called through raw pointers"
)]

use core::ffi::c_void;

use crate::abi;
use crate::args::numbers::show_address;
use crate::callback::ErrorFn;
use crate::declaration::Declarator;
use crate::entry::{Arg, Large, Read, Small};
use crate::error::Result;
use crate::raise::Call;

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
    CommCopyFn(*const c_void): Declarator::pointer("MPI_Comm_copy_attr_function");
    /// Deletes an attribute of a communicator.
    CommDeleteFn(*const c_void): Declarator::pointer("MPI_Comm_delete_attr_function");
    /// Copies an attribute of a datatype.
    TypeCopyFn(*const c_void): Declarator::pointer("MPI_Type_copy_attr_function");
    /// Deletes an attribute of a datatype.
    TypeDeleteFn(*const c_void): Declarator::pointer("MPI_Type_delete_attr_function");
    /// Copies an attribute of a window.
    WinCopyFn(*const c_void): Declarator::pointer("MPI_Win_copy_attr_function");
    /// Deletes an attribute of a window.
    WinDeleteFn(*const c_void): Declarator::pointer("MPI_Win_delete_attr_function");
    /// The deprecated form of `CommCopyFn`.
    CopyFn(*const c_void): Declarator::pointer("MPI_Copy_function");
    /// The deprecated form of `CommDeleteFn`.
    DeleteFn(*const c_void): Declarator::pointer("MPI_Delete_function");
    /// Handles errors of a communicator.
    CommErrhandlerFn(ErrorFn): Declarator::pointer("MPI_Comm_errhandler_function");
    /// Handles errors of a file.
    FileErrhandlerFn(ErrorFn): Declarator::pointer("MPI_File_errhandler_function"), note_files;
    /// Handles errors of a session.
    SessionErrhandlerFn(ErrorFn): Declarator::pointer("MPI_Session_errhandler_function");
    /// Handles errors of a window.
    WinErrhandlerFn(ErrorFn): Declarator::pointer("MPI_Win_errhandler_function");
    /// Fills the status of a generalized request.
    QueryFn(*const c_void): Declarator::pointer("MPI_Grequest_query_function");
    /// Frees a generalized request.
    FreeFn(*const c_void): Declarator::pointer("MPI_Grequest_free_function");
    /// Cancels a generalized request.
    CancelFn(*const c_void): Declarator::pointer("MPI_Grequest_cancel_function");
    /// Returns the extent of a type in a file.
    ExtentFn(*const c_void): Declarator::pointer("MPI_Datarep_extent_function");
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UserFn {
    /// The function.
    pub address: *const c_void,
    /// True if its length argument is an `MPI_Count`.
    pub is_large: bool,
}

/// Converts between representations of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConversionFn {
    /// The function.
    pub address: *const c_void,
    /// True if its count argument is an `MPI_Count`.
    pub is_large: bool,
}

macro_rules! wide_functions {
    ($($name:ident $width:ident $is_large:literal $base:literal;)*) => {$(
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
                Ok(Self { address: c, is_large: $is_large })
            }
        }
    )*};
}

wide_functions! {
    UserFn Small false "MPI_User_function";
    UserFn Large true "MPI_User_function_c";
    ConversionFn Small false "MPI_Datarep_conversion_function";
    ConversionFn Large true "MPI_Datarep_conversion_function_c";
}
