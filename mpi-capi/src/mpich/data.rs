//! Symbols of MPICH's interface beyond the functions of the standard: data, functions that were
//! removed from the standard, conversions of statuses, and questions that are answered with no.
#![expect(
    unsafe_code,
    reason = "symbols are exported, and results are written through the caller's pointers"
)]

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI32, Ordering};

use super::arguments::{file_of, standard_file};
use super::constants::{code_of, rank_of, source_of};
use super::statuses::Status;
use crate::abi::{self, Handle};
use crate::chapters::abi::{file_from_int, file_to_int};

/// What `MPI_UNWEIGHTED` and `MPI_WEIGHTS_EMPTY` point to there.
#[unsafe(export_name = "mpilite_mpich_weights")]
static WEIGHTS: [AtomicI32; 2] = [AtomicI32::new(0), AtomicI32::new(0)];

/// The address of weights in the standard's interface.
pub fn standard_weights(address: usize) -> usize {
    let [unweighted, empty] = WEIGHTS.each_ref().map(|place| place.as_ptr().addr());
    match address {
        _ if address == unweighted => abi::MPI_UNWEIGHTED,
        _ if address == empty => abi::MPI_WEIGHTS_EMPTY,
        _ => address,
    }
}

/// MPI's own attributes whose values differ.
static HOST: AtomicI32 = AtomicI32::new(0);
static IO: AtomicI32 = AtomicI32::new(0);
static LAST_USED_CODE: AtomicI32 = AtomicI32::new(0);

/// The values of windows' attributes: kinds of windows from 1 on, and the unified memory model.
static FLAVORS: [AtomicI32; 4] = [const { AtomicI32::new(0) }; 4];
static UNIFIED: AtomicI32 = AtomicI32::new(0);

/// Where the value of MPI's own attribute `key` is for the program, which the standard's interface
/// has in `place`.
#[expect(
    clippy::not_unsafe_ptr_arg_deref,
    reason = "the place is the library's own"
)]
pub fn place_of_attribute(key: c_int, place: *mut c_int) -> *mut c_int {
    let (own, map): (&AtomicI32, fn(c_int) -> c_int) = match key {
        abi::MPI_HOST => (&HOST, rank_of),
        abi::MPI_IO => (&IO, source_of),
        abi::MPI_LASTUSEDCODE => (&LAST_USED_CODE, code_of),
        abi::MPI_WIN_CREATE_FLAVOR => {
            // SAFETY: the place is the library's, and lasts.
            let flavor = unsafe { place.read() } - abi::MPI_WIN_FLAVOR_CREATE;
            (&FLAVORS[flavor as usize], flavor_of)
        }
        // There is no other model.
        abi::MPI_WIN_MODEL => (&UNIFIED, |_| 2),
        _ => return place,
    };
    // SAFETY: the place is the library's, and lasts.
    own.store(map(unsafe { place.read() }), Ordering::Relaxed);
    own.as_ptr()
}

/// MPICH's number for a kind of window; both interfaces have them in the same order.
fn flavor_of(flavor: c_int) -> c_int {
    flavor - abi::MPI_WIN_FLAVOR_CREATE + 1
}

/// A handle is its own integer, in all conversions.
#[unsafe(no_mangle)]
extern "C" fn mpilite_mpich_itself(handle: c_int) -> c_int {
    handle
}

unsafe extern "C" {
    fn mpilite_mpich_MPI_Type_get_extent(
        datatype: c_int,
        lower_bound: *mut i64,
        extent: *mut i64,
    ) -> c_int;
}

#[unsafe(no_mangle)]
extern "C" fn mpilite_mpich_file_to_int(file: Handle) -> c_int {
    file_to_int(standard_file(file))
}

#[unsafe(no_mangle)]
extern "C" fn mpilite_mpich_file_from_int(file: c_int) -> Handle {
    file_of(file_from_int(file))
}

/// Statuses of C and of both Fortrans lie alike.
#[unsafe(no_mangle)]
unsafe extern "C" fn mpilite_mpich_copy_status(from: *const Status, to: *mut Status) -> c_int {
    // SAFETY: the caller passed two statuses.
    unsafe { to.write_unaligned(from.read_unaligned()) };
    abi::MPI_SUCCESS
}

macro_rules! removed {
    ($($name:ident |$lower:ident, $extent:ident| $value:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(datatype: c_int, place: *mut i64) -> c_int {
            let (mut lower, mut extent) = (0, 0);
            // Without a place the function of the standard reports that there is none.
            let (lower_place, extent_place) = match place.is_null() {
                true => (place, place),
                false => (&raw mut lower, &raw mut extent),
            };
            // SAFETY: both places are there, or null.
            let code = unsafe {
                mpilite_mpich_MPI_Type_get_extent(datatype, lower_place, extent_place)
            };
            if code == abi::MPI_SUCCESS {
                let ($lower, $extent) = (lower, extent);
                // SAFETY: the caller passed a place.
                unsafe { place.write_unaligned($value) };
            }
            code
        }
    )*};
}

removed! {
    mpilite_mpich_MPI_Type_extent |_lower, extent| extent;
    mpilite_mpich_MPI_Type_lb |lower, _extent| lower;
    mpilite_mpich_MPI_Type_ub |lower, extent| lower + extent;
}

/// Copies an attribute: `MPI_COMM_DUP_FN` and its like.
#[unsafe(no_mangle)]
unsafe extern "C" fn mpilite_mpich_MPIR_Dup_fn(
    _object: c_int,
    _key: c_int,
    _extra_state: *mut c_void,
    value: *mut c_void,
    copy: *mut *mut c_void,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the caller passed both places.
    unsafe {
        copy.write_unaligned(value);
        flag.write_unaligned(1);
    }
    abi::MPI_SUCCESS
}

/// This interface is not the standard's.
#[unsafe(no_mangle)]
unsafe extern "C" fn mpilite_mpich_no_abi(major: *mut c_int, minor: *mut c_int) -> c_int {
    // SAFETY: the caller passed both places.
    unsafe {
        major.write_unaligned(-1);
        minor.write_unaligned(-1);
    }
    abi::MPI_SUCCESS
}

/// Whether memory of this kind of device can be passed: no.
#[unsafe(no_mangle)]
extern "C" fn mpilite_mpich_no() -> c_int {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mpilite_mpich_MPIX_GPU_query_support(
    _kind: c_int,
    is_supported: *mut c_int,
) -> c_int {
    // SAFETY: the caller passed a place.
    unsafe { is_supported.write_unaligned(0) };
    abi::MPI_SUCCESS
}
