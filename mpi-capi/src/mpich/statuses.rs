//! Statuses of MPICH's interface: five integers, of which two are the count.
#![expect(
    unsafe_code,
    reason = "statuses are read and written through the caller's pointers"
)]

use core::ffi::c_int;
use core::mem::offset_of;
use core::ptr;

use super::arrays::HeldArray;
use super::constants::{
    STATUS_IGNORE, code_of, source_of, standard_code, standard_source, standard_tag, tag_of,
};
use super::{Extent, Foreign};
use crate::args::status::{self, InOutStatus, InStatus, OutStatus, OutStatuses};

/// The C structure. Of the second word bit 0 is 1 if the operation was cancelled; the others are
/// the high bits of the count.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// The low bits of the count.
    pub count_lo: c_int,
    /// Cancelled, and the high bits of the count.
    pub count_hi_and_cancelled: c_int,
    /// The sender.
    pub source: c_int,
    /// The tag.
    pub tag: c_int,
    /// The error class, where several operations complete at once.
    pub error: c_int,
}

/// The fields as C declares them, in their order.
pub const FIELDS: [&str; 5] = [
    "count_lo",
    "count_hi_and_cancelled",
    "MPI_SOURCE",
    "MPI_TAG",
    "MPI_ERROR",
];

const _: () = assert!(
    offset_of!(Status, source) == 8
        && offset_of!(Status, tag) == 12
        && offset_of!(Status, error) == 16
        && size_of::<Status>() == 4 * FIELDS.len(),
    "the structure is what the fields say"
);

impl From<Status> for status::Status {
    fn from(status: Status) -> Self {
        let high = u64::from(status.count_hi_and_cancelled.cast_unsigned() >> 1);
        let len = high << 32 | u64::from(status.count_lo.cast_unsigned());
        let (source, tag) = (standard_source(status.source), standard_tag(status.tag));
        let mut made = Self::of_message(source, tag, len);
        made.set_cancelled(status.count_hi_and_cancelled & 1 != 0);
        made.error = standard_code(status.error);
        made
    }
}

impl Status {
    /// A status of the standard's interface.
    pub fn of(status: &status::Status) -> Self {
        let high = ((status.bytes() >> 32) as u32) << 1 | u32::from(status.is_cancelled());
        Self {
            count_lo: (status.bytes() as u32).cast_signed(),
            count_hi_and_cancelled: high.cast_signed(),
            source: source_of(status.source),
            tag: tag_of(status.tag),
            error: code_of(status.error),
        }
    }
}

/// What stands in a field until a body writes it: no source and no code has this value.
const UNWRITTEN: c_int = c_int::MIN;

/// A status that no body has written.
fn unwritten() -> status::Status {
    let mut status = status::Status::of_message(UNWRITTEN, 0, 0);
    status.error = UNWRITTEN;
    status
}

/// Writes to `place` what a body has written to `status`.
///
/// # Safety
/// `place` is a status of the program.
unsafe fn write(place: *mut Status, status: &status::Status) {
    // SAFETY: the caller says so; the fields are integers at any address.
    unsafe {
        if status.error != UNWRITTEN {
            (&raw mut (*place).error).write_unaligned(code_of(status.error));
        }
        if status.source != UNWRITTEN {
            write_message(place, status);
        }
    }
}

/// Writes to `place` what a status says of a message: all but the error.
///
/// # Safety
/// `place` is a status of the program.
#[inline(always)]
unsafe fn write_message(place: *mut Status, status: &status::Status) {
    // SAFETY: the caller says so; the fields are integers at any address.
    unsafe {
        let high = ((status.bytes() >> 32) as u32) << 1 | u32::from(status.is_cancelled());
        (&raw mut (*place).count_lo).write_unaligned((status.bytes() as u32).cast_signed());
        (&raw mut (*place).count_hi_and_cancelled).write_unaligned(high.cast_signed());
        (&raw mut (*place).source).write_unaligned(source_of(status.source));
        (&raw mut (*place).tag).write_unaligned(tag_of(status.tag));
    }
}

/// Returns true if the program wants no status.
fn is_ignored(place: *const Status) -> bool {
    place.addr() == STATUS_IGNORE || place.is_null()
}

/// A status, and where it came from.
pub struct HeldStatus {
    place: *mut Status,
    status: status::Status,
}

impl<W> Foreign<W> for InStatus {
    type Raw = *const Status;
    type Held = HeldStatus;

    unsafe fn hold(raw: *const Status, _extent: Extent) -> HeldStatus {
        let status = if is_ignored(raw) {
            unwritten()
        } else {
            // SAFETY: the caller passed a status.
            unsafe { raw.read_unaligned() }.into()
        };
        let place = raw.cast_mut();
        HeldStatus { place, status }
    }

    fn standard(held: &mut HeldStatus) -> *const status::Status {
        if is_ignored(held.place) {
            return ptr::null();
        }
        &raw const held.status
    }
}

impl<W> Foreign<W> for InOutStatus {
    type Raw = *mut Status;
    type Held = HeldStatus;

    unsafe fn hold(raw: *mut Status, extent: Extent) -> HeldStatus {
        // SAFETY: passed on.
        unsafe { <InStatus as Foreign<W>>::hold(raw, extent) }
    }

    fn standard(held: &mut HeldStatus) -> *mut status::Status {
        <InStatus as Foreign<W>>::standard(held).cast_mut()
    }

    unsafe fn release(held: &mut HeldStatus) {
        // SAFETY: passed on.
        unsafe { <OutStatus as Foreign<W>>::release(held) };
    }
}

impl<W> Foreign<W> for OutStatus {
    type Raw = *mut Status;
    type Held = HeldStatus;

    #[inline(always)]
    unsafe fn hold(place: *mut Status, _extent: Extent) -> HeldStatus {
        let status = unwritten();
        HeldStatus { place, status }
    }

    #[inline(always)]
    fn standard(held: &mut HeldStatus) -> *mut status::Status {
        if is_ignored(held.place) {
            return ptr::null_mut();
        }
        &raw mut held.status
    }

    #[inline(always)]
    unsafe fn release(held: &mut HeldStatus) {
        if !is_ignored(held.place) {
            // SAFETY: the caller passed room for a status.
            unsafe { write(held.place, &held.status) };
        }
    }

    /// Of a call without an error the message alone is written.
    #[inline(always)]
    unsafe fn release_quick(held: &mut HeldStatus, is_done: bool) {
        if is_ignored(held.place) {
            return;
        }
        // SAFETY: the caller passed room for a status.
        unsafe {
            match is_done {
                true => write_message(held.place, &held.status),
                false => write(held.place, &held.status),
            }
        }
    }
}

/// Statuses, and where they came from.
pub struct HeldStatuses {
    places: *mut Status,
    room: HeldArray<status::Status>,
}

impl<W> Foreign<W> for OutStatuses {
    type Raw = *mut Status;
    type Held = HeldStatuses;

    unsafe fn hold(places: *mut Status, extent: Extent) -> HeldStatuses {
        let len = if is_ignored(places) { 0 } else { extent.length };
        let room = HeldArray::new(len, unwritten(), |_| unwritten());
        HeldStatuses { places, room }
    }

    fn standard(held: &mut HeldStatuses) -> *mut status::Status {
        if is_ignored(held.places) {
            return ptr::null_mut();
        }
        held.room.elements().as_mut_ptr()
    }

    unsafe fn release(held: &mut HeldStatuses) {
        for (index, status) in held.room.elements().iter().enumerate() {
            // SAFETY: the caller passed room for as many statuses as there are operations.
            unsafe { write(held.places.add(index), status) };
        }
    }
}
