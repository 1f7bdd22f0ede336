//! Functions of a program of MPICH's interface, which the library calls.
#![expect(
    unsafe_code,
    reason = "the program's functions are called through raw pointers"
)]

use core::ffi::{c_int, c_void};

use super::arguments::file_of;
use super::constants::{KEYS, code_of, number_of as number, standard_code};
use super::handles::number_of;
use super::statuses::Status;
use super::{Extent, Foreign};
use crate::abi::Handle;
use crate::args::status;
use crate::args::*;
use crate::callback::OperatorFn;
use crate::callback::{Attributed, CallCopyFn, CallDeleteFn, CopyCall, DeleteCall, ErrorFn};
use crate::entry::{Large, Small};
use crate::error::Result;
use crate::handle::Kind;
use crate::raise::Call;

/// Makes arguments of functions: the address, and how MPICH's interface calls it.
macro_rules! functions {
    ($($name:ident $width:ident $make:expr;)*) => {$(
        impl Foreign<$width> for $name {
            type Raw = *const c_void;
            type Held = *const c_void;
            const IS_PLAIN: bool = false;

            #[inline(always)]
            unsafe fn hold(raw: *const c_void, _extent: Extent) -> *const c_void {
                raw
            }

            fn standard(held: &mut *const c_void) -> *const c_void {
                *held
            }

            unsafe fn read(
                held: &mut *const c_void, _name: &'static str, _call: &Call,
            ) -> Result<Self> {
                let make: fn(*const c_void) -> Self = $make;
                Ok(make(*held))
            }
        }
    )*};
    (both $($name:ident $make:expr;)*) => {
        functions! { $($name Small $make;)* }
        functions! { $($name Large $make;)* }
    };
}

functions! { both
    CommErrhandlerFn |address| Self(ErrorFn { address, call: call_errhandler::<COMM> });
    FileErrhandlerFn |address| Self(ErrorFn { address, call: call_file_errhandler });
    SessionErrhandlerFn |address| Self(ErrorFn { address, call: call_errhandler::<SESSION> });
    WinErrhandlerFn |address| Self(ErrorFn { address, call: call_errhandler::<WIN> });
    CommCopyFn |address| Self(copy(address, call_copy::<COMM>));
    CopyFn |address| Self(copy(address, call_copy::<COMM>));
    TypeCopyFn |address| Self(copy(address, call_copy::<DATATYPE>));
    WinCopyFn |address| Self(copy(address, call_copy::<WIN>));
    CommDeleteFn |address| Self(delete(address, call_delete::<COMM>));
    DeleteFn |address| Self(delete(address, call_delete::<COMM>));
    TypeDeleteFn |address| Self(delete(address, call_delete::<DATATYPE>));
    WinDeleteFn |address| Self(delete(address, call_delete::<WIN>));
    ExtentFn |address| Self(ExtentCall { word, ..address.into() });
    QueryFn |address| Self(QueryCall { call: call_query, ..address.into() });
    FreeFn |address| Self(StateCall { standard_code, ..address.into() });
    CancelFn |address| Self(StateCall { standard_code, ..address.into() });
}

functions! {
    UserFn Small |address| Self(OperatorFn { word, ..OperatorFn::standard(address, false) });
    UserFn Large |address| Self(OperatorFn { word, ..OperatorFn::standard(address, true) });
    ConversionFn Small |address| Self { word, ..Self::standard(address, false) };
    ConversionFn Large |address| Self { word, ..Self::standard(address, true) };
}

// Kinds of object as parameters of a function.
/// Communicators.
pub const COMM: u8 = Kind::Comm as u8;
/// Datatypes.
pub const DATATYPE: u8 = Kind::Datatype as u8;
const SESSION: u8 = Kind::Session as u8;
/// Windows.
pub const WIN: u8 = Kind::Win as u8;

/// The object and the key that a function of an attribute is told.
pub fn told<const KIND: u8>(of: &Attributed) -> (c_int, c_int) {
    (number_of(kind(KIND), of.object), number(KEYS, of.key))
}

/// The kind with this number.
const fn kind(number: u8) -> Kind {
    match number {
        DATATYPE => Kind::Datatype,
        SESSION => Kind::Session,
        WIN => Kind::Win,
        _ => Kind::Comm,
    }
}

fn word(datatype: Handle) -> usize {
    number_of(Kind::Datatype, datatype).cast_unsigned() as usize
}

fn copy(address: *const c_void, call: CallCopyFn) -> CopyCall {
    CopyCall {
        call,
        ..address.into()
    }
}

fn delete(address: *const c_void, call: CallDeleteFn) -> DeleteCall {
    DeleteCall {
        call,
        ..address.into()
    }
}

/// # Safety
/// `function` is an error handler of MPICH's interface for this kind of object.
unsafe fn call_errhandler<const KIND: u8>(function: *const c_void, object: Handle, code: c_int) {
    type Function = unsafe extern "C-unwind" fn(*mut c_int, *mut c_int, ...);
    // SAFETY: the caller says so.
    let function = unsafe { core::mem::transmute::<*const c_void, Function>(function) };
    let (mut object, mut code) = (number_of(kind(KIND), object), code_of(code));
    // SAFETY: the arguments are those MPI gives to a handler; both outlive the call.
    unsafe { function(&raw mut object, &raw mut code) };
}

/// # Safety
/// `function` is an error handler of MPICH's interface for files.
unsafe fn call_file_errhandler(function: *const c_void, file: Handle, code: c_int) {
    type Function = unsafe extern "C-unwind" fn(*mut Handle, *mut c_int, ...);
    // SAFETY: the caller says so.
    let function = unsafe { core::mem::transmute::<*const c_void, Function>(function) };
    let (mut file, mut code) = (file_of(file), code_of(code));
    // SAFETY: the arguments are those MPI gives to a handler; both outlive the call.
    unsafe { function(&raw mut file, &raw mut code) };
}

/// # Safety
/// `function` is a copy function of MPICH's interface for this kind of object.
unsafe fn call_copy<const KIND: u8>(
    function: *const c_void,
    of: Attributed,
    copy: *mut *mut c_void,
    flag: *mut c_int,
) -> c_int {
    type Function = unsafe extern "C-unwind" fn(
        c_int,
        c_int,
        *mut c_void,
        *mut c_void,
        *mut c_void,
        *mut c_int,
    ) -> c_int;
    // SAFETY: the caller says so.
    let function = unsafe { core::mem::transmute::<*const c_void, Function>(function) };
    let (object, key) = told::<KIND>(&of);
    // SAFETY: the arguments are those MPI gives to a copy function; the places outlive the call.
    standard_code(unsafe { function(object, key, of.extra_state, of.value, copy.cast(), flag) })
}

/// # Safety
/// `function` is a delete function of MPICH's interface for this kind of object.
unsafe fn call_delete<const KIND: u8>(function: *const c_void, of: Attributed) -> c_int {
    type Function = unsafe extern "C-unwind" fn(c_int, c_int, *mut c_void, *mut c_void) -> c_int;
    // SAFETY: the caller says so.
    let function = unsafe { core::mem::transmute::<*const c_void, Function>(function) };
    let (object, key) = told::<KIND>(&of);
    // SAFETY: the arguments are those MPI gives to a delete function.
    standard_code(unsafe { function(object, key, of.value, of.extra_state) })
}

/// # Safety
/// `function` is a query function of MPICH's interface.
pub unsafe fn call_query(
    function: *const c_void,
    extra_state: *mut c_void,
    status: &mut status::Status,
) -> c_int {
    type Function = unsafe extern "C-unwind" fn(*mut c_void, *mut Status) -> c_int;
    // SAFETY: the caller says so.
    let function = unsafe { core::mem::transmute::<*const c_void, Function>(function) };
    let mut given = Status::of(status);
    // SAFETY: the arguments are those that MPI gives to a query function.
    let code = unsafe { function(extra_state, &raw mut given) };
    *status = given.into();
    standard_code(code)
}
