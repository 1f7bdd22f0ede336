//! What MPICH's libraries of Fortran and C++, `libmpichfort.so.12` and `libmpichcxx.so.12`, call
//! beyond the functions of C: attributes whose values are integers, and functions in Fortran behind
//! keys and generalized requests. Operators and error handlers in C++ are not supported.
//!
//! An attribute that a Fortran function has set is not told from one of C: `MPI_Comm_get_attr` of C
//! gives its value, where MPI 5.0, 19.3.7, asks for the address of a place with the value.
#![expect(
    unsafe_code,
    reason = "functions of the program are called, and results are written through its pointers"
)]

use core::ffi::{c_int, c_void};

use parking_lot::Mutex;

use super::callbacks::{COMM, DATATYPE, WIN, call_query, told};
use super::constants::{KEYS, code_of, is_known, standard_code, standard_key};
use super::handles::request;
use super::statuses::Status;
use crate::abi;
use crate::args::callbacks::{QueryCall, StateCall};
use crate::callback::{Attributed, CallCopyFn, CallDeleteFn, CopyCall, DeleteCall};
use crate::calls::generalized::{self, Generalized};
use crate::global::LIBRARY;
use crate::handle::Kind;
use crate::objects::attributes::{KEYVALS, Keyval};

/// The form of an attribute's value that is an address; all others are integers.
const POINTER: c_int = 0;

/// The key as C has it: those of MPI have the next number in Fortran.
fn key_in_c(key: c_int) -> c_int {
    match key.wrapping_sub(1) {
        own if own != KEYVAL_INVALID && is_known(KEYS, own) => own,
        _ => key,
    }
}

/// MPICH's `MPI_KEYVAL_INVALID`.
const KEYVAL_INVALID: c_int = 0x2400_0000;

macro_rules! attributes {
    ($($get:ident $get_in_c:ident $set:ident $set_in_c:ident;)*) => {
        unsafe extern "C" {
            $(
                fn $get_in_c(
                    object: c_int, key: c_int, value: *mut c_void, flag: *mut c_int,
                ) -> c_int;
                fn $set_in_c(object: c_int, key: c_int, value: *mut c_void) -> c_int;
            )*
        }

        $(
            /// The value under a key, in this form.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $get(
                object: c_int, key: c_int, value: *mut c_void, flag: *mut c_int, form: c_int,
            ) -> c_int {
                let key = key_in_c(key);
                // SAFETY: the caller passed what the function of C gets.
                let code = unsafe { $get_in_c(object, key, value, flag) };
                if code == abi::MPI_SUCCESS && form != POINTER && is_known(KEYS, key) {
                    // SAFETY: the caller passed both places.
                    unsafe { read_through(value.cast(), flag) };
                }
                code
            }

            /// Attaches a value in any form: it lies in the pointer.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $set(
                object: c_int, key: c_int, value: *mut c_void, _form: c_int,
            ) -> c_int {
                // SAFETY: the caller passed what the function of C gets.
                unsafe { $set_in_c(object, key, value) }
            }
        )*
    };
}

attributes! {
    mpilite_mpich_MPII_Comm_get_attr mpilite_mpich_MPI_Comm_get_attr
        mpilite_mpich_MPII_Comm_set_attr mpilite_mpich_MPI_Comm_set_attr;
    mpilite_mpich_MPII_Type_get_attr mpilite_mpich_MPI_Type_get_attr
        mpilite_mpich_MPII_Type_set_attr mpilite_mpich_MPI_Type_set_attr;
    mpilite_mpich_MPII_Win_get_attr mpilite_mpich_MPI_Win_get_attr
        mpilite_mpich_MPII_Win_set_attr mpilite_mpich_MPI_Win_set_attr;
}

/// Puts the integer of one of MPI's own attributes in the place of its address.
///
/// # Safety
/// `flag` says whether `place` holds the address of an integer of the library.
unsafe fn read_through(place: *mut *const c_int, flag: *const c_int) {
    // SAFETY: the caller says so.
    unsafe {
        if flag.read_unaligned() != 0 {
            let value = place.read_unaligned().read();
            place.cast::<isize>().write_unaligned(value as isize);
        }
    }
}

/// Calls a copy function in Fortran.
type CopyProxy = unsafe extern "C-unwind" fn(
    *const c_void,
    c_int,
    c_int,
    *mut c_void,
    c_int,
    *mut c_void,
    *mut *mut c_void,
    *mut c_int,
) -> c_int;

/// Calls a delete function in Fortran.
type DeleteProxy = unsafe extern "C-unwind" fn(
    *const c_void,
    c_int,
    c_int,
    c_int,
    *mut c_void,
    *mut c_void,
) -> c_int;

/// A function of the program, and the one that calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Proxied<P> {
    function: usize,
    proxy: P,
}

static COPIES: Mutex<Vec<&Proxied<CopyProxy>>> = Mutex::new(Vec::new());
static DELETIONS: Mutex<Vec<&Proxied<DeleteProxy>>> = Mutex::new(Vec::new());

/// The address of `proxied`, which lasts: there are as many as the program has functions.
fn address_of<P: Copy + Eq>(known: &Mutex<Vec<&'static Proxied<P>>>, proxied: Proxied<P>) -> usize {
    let mut known = known.lock();
    let found = known.iter().copied().find(|known| **known == proxied);
    let lasting = found.unwrap_or_else(|| {
        let made: &'static Proxied<P> = Box::leak(Box::new(proxied));
        known.push(made);
        made
    });
    core::ptr::from_ref(lasting).expose_provenance()
}

/// The form of values that proxies are told.
const ADDRESS_SIZED: c_int = 1;

/// Lets the functions of a key be called through these.
#[unsafe(no_mangle)]
extern "C" fn mpilite_mpich_MPII_Keyval_set_proxy(
    key: c_int,
    copy_proxy: CopyProxy,
    delete_proxy: DeleteProxy,
) {
    KEYVALS.lock().alter(standard_key(key), |keyval| {
        let (copy, delete): (CallCopyFn, CallDeleteFn) = match keyval.owner {
            Kind::Datatype => (call_copy::<DATATYPE>, call_delete::<DATATYPE>),
            Kind::Win => (call_copy::<WIN>, call_delete::<WIN>),
            _ => (call_copy::<COMM>, call_delete::<COMM>),
        };
        set_proxies(keyval, (copy, copy_proxy), (delete, delete_proxy));
    });
}

fn set_proxies(
    keyval: &mut Keyval,
    (copy, copy_proxy): (CallCopyFn, CopyProxy),
    (delete, delete_proxy): (CallDeleteFn, DeleteProxy),
) {
    if ![0, abi::MPI_COMM_DUP_FN].contains(&keyval.copy.address) {
        let proxied = Proxied {
            function: keyval.copy.address,
            proxy: copy_proxy,
        };
        let address = address_of(&COPIES, proxied);
        keyval.copy = CopyCall {
            address,
            call: copy,
        };
    }
    if keyval.delete.address != abi::MPI_COMM_NULL_DELETE_FN {
        let proxied = Proxied {
            function: keyval.delete.address,
            proxy: delete_proxy,
        };
        let address = address_of(&DELETIONS, proxied);
        keyval.delete = DeleteCall {
            address,
            call: delete,
        };
    }
}

/// # Safety
/// `proxied` is the address of a [`Proxied`] copy function for this kind of object.
unsafe fn call_copy<const KIND: u8>(
    proxied: *const c_void,
    of: Attributed,
    copy: *mut *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the caller says so; it lasts.
    let proxied = unsafe { &*proxied.cast::<Proxied<CopyProxy>>() };
    let function = core::ptr::with_exposed_provenance(proxied.function);
    let (object, key) = told::<KIND>(&of);
    // SAFETY: the arguments are those that a proxy gets; the places outlive the call.
    standard_code(unsafe {
        (proxied.proxy)(
            function,
            object,
            key,
            of.extra_state,
            ADDRESS_SIZED,
            of.value,
            copy,
            flag,
        )
    })
}

/// # Safety
/// `proxied` is the address of a [`Proxied`] delete function for this kind of object.
unsafe fn call_delete<const KIND: u8>(proxied: *const c_void, of: Attributed) -> c_int {
    // SAFETY: the caller says so; it lasts.
    let proxied = unsafe { &*proxied.cast::<Proxied<DeleteProxy>>() };
    let function = core::ptr::with_exposed_provenance(proxied.function);
    let (object, key) = told::<KIND>(&of);
    // SAFETY: the arguments are those that a proxy gets.
    standard_code(unsafe {
        (proxied.proxy)(
            function,
            object,
            key,
            ADDRESS_SIZED,
            of.value,
            of.extra_state,
        )
    })
}

/// Tells that the functions of a generalized request are in Fortran.
#[unsafe(no_mangle)]
extern "C" fn mpilite_mpich_MPII_Grequest_set_lang_f77(number: c_int) {
    generalized::alter(request(Kind::Request, number), |functions| {
        let in_fortran = Box::new(*functions);
        let state = |address| StateCall {
            address,
            standard_code,
        };
        *functions = Generalized {
            query: QueryCall {
                address: query as *const () as usize,
                call: call_query,
            },
            free: state(free as *const () as usize),
            cancel: state(cancel as *const () as usize),
            extra_state: Box::into_raw(in_fortran).expose_provenance(),
        };
    });
}

/// The extra state and a function; none if the program passed null.
fn of_program(state: usize, address: usize) -> Option<(*mut c_void, *const c_void)> {
    let function = core::ptr::with_exposed_provenance::<c_void>(address);
    (address != 0).then(|| (core::ptr::with_exposed_provenance_mut(state), function))
}

/// # Safety
/// `state` is of [`mpilite_mpich_MPII_Grequest_set_lang_f77`], and not freed.
unsafe extern "C-unwind" fn query(state: *const Generalized, status: *mut Status) -> c_int {
    type Function = unsafe extern "C-unwind" fn(*mut c_void, *mut Status, *mut c_int);
    // SAFETY: the caller says so.
    let functions = unsafe { *state };
    let Some((state, function)) = of_program(functions.extra_state, functions.query.address) else {
        return abi::MPI_SUCCESS;
    };
    // SAFETY: the program passed this address as a query function in Fortran.
    let function = unsafe { core::mem::transmute::<*const c_void, Function>(function) };
    let mut code = abi::MPI_SUCCESS;
    // SAFETY: the arguments are those that MPI gives to a query function.
    unsafe { function(state, status, &raw mut code) };
    code
}

/// # Safety
/// As of [`query`]; the state is gone afterwards.
unsafe extern "C-unwind" fn free(state: *mut Generalized) -> c_int {
    type Function = unsafe extern "C-unwind" fn(*mut c_void, *mut c_int);
    // SAFETY: the caller says so; nobody frees a request twice.
    let functions = unsafe { *Box::from_raw(state) };
    let Some((state, function)) = of_program(functions.extra_state, functions.free.address) else {
        return abi::MPI_SUCCESS;
    };
    // SAFETY: the program passed this address as a free function in Fortran.
    let function = unsafe { core::mem::transmute::<*const c_void, Function>(function) };
    let mut code = abi::MPI_SUCCESS;
    // SAFETY: the arguments are those that MPI gives to a free function.
    unsafe { function(state, &raw mut code) };
    code
}

/// # Safety
/// As of [`query`].
unsafe extern "C-unwind" fn cancel(state: *const Generalized, is_complete: c_int) -> c_int {
    type Function = unsafe extern "C-unwind" fn(*mut c_void, *const c_int, *mut c_int);
    // SAFETY: the caller says so.
    let functions = unsafe { *state };
    let Some((state, function)) = of_program(functions.extra_state, functions.cancel.address)
    else {
        return abi::MPI_SUCCESS;
    };
    // SAFETY: the program passed this address as a cancel function in Fortran.
    let function = unsafe { core::mem::transmute::<*const c_void, Function>(function) };
    let mut code = abi::MPI_SUCCESS;
    // SAFETY: the arguments are those that MPI gives to a cancel function.
    unsafe { function(state, &raw const is_complete, &raw mut code) };
    code
}

/// Functions for communicators with failed processes, which are not there: `libmpichfort.so.12`
/// asks for their names.
#[unsafe(no_mangle)]
extern "C" fn mpilite_mpich_unsupported() -> c_int {
    code_of(abi::MPI_ERR_UNSUPPORTED_OPERATION)
}

/// Operators and error handlers in C++ get other arguments than those in C: they must not be called
/// as such. The library of the C++ binding has to find the name when it is loaded.
#[unsafe(no_mangle)]
extern "C" fn mpilite_mpich_no_cxx() {
    let line = "mpi-lite: operators and error handlers of MPICH's C++ binding (MPI::Op, \
                MPI::Errhandler) are not supported: use the functions of C";
    LIBRARY.abort(1, line);
}
