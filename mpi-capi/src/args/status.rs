//! `MPI_Status`, eight integers of which the standard names three.
//!
//! Programs copy statuses bitwise and place them at any address that is a multiple of four, so a
//! status owns nothing and its 64-bit count is kept in two integers.
#![expect(
    unsafe_code,
    reason = "statuses are read and written through the caller's pointers"
)]

use core::ffi::c_int;

use mpi_lite::engine;
use mpi_lite::ids::{self, TagSelector};

use crate::abi;
use crate::args::numbers::show_address;
use crate::declaration::Declarator;
use crate::entry::{Arg, Read};
use crate::error::{Cause, Result};
use crate::raise::Call;

/// The C structure.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// The sender's rank.
    pub source: c_int,
    /// The message's tag.
    pub tag: c_int,
    /// The error class of this operation; set only where several complete at once.
    pub error: c_int,
    /// Low and high half of the count in bytes, then whether the operation was cancelled.
    internal: [c_int; 5],
}

const _: () = assert!(size_of::<Status>() == 32 && align_of::<Status>() == 4);

impl Status {
    /// What MPI gives for an operation that moved nothing (3.7.3).
    pub const EMPTY: Self = Self {
        source: abi::MPI_ANY_SOURCE,
        tag: abi::MPI_ANY_TAG,
        error: abi::MPI_SUCCESS,
        internal: [0; 5],
    };

    /// The status of a message of `len` bytes.
    #[inline]
    pub fn of_message(source: c_int, tag: c_int, len: u64) -> Self {
        let mut status = Self {
            source,
            tag,
            ..Self::EMPTY
        };
        status.set_bytes(len);
        status
    }

    /// Bytes received.
    pub fn bytes(&self) -> u64 {
        let [low, high, ..] = self.internal.map(|half| u64::from(half.cast_unsigned()));
        high << 32 | low
    }

    /// Sets the bytes received.
    #[inline]
    pub fn set_bytes(&mut self, len: u64) {
        self.internal[0] = (len as u32).cast_signed();
        self.internal[1] = ((len >> 32) as u32).cast_signed();
    }

    /// Returns true if the operation was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.internal[2] != 0
    }

    /// Sets whether the operation was cancelled.
    #[inline]
    pub fn set_cancelled(&mut self, cancelled: bool) {
        self.internal[2] = c_int::from(cancelled);
    }
}

impl From<engine::Status> for Status {
    #[inline]
    fn from(status: engine::Status) -> Self {
        let source = match status.source {
            ids::Source::Any => abi::MPI_ANY_SOURCE,
            ids::Source::Null => abi::MPI_PROC_NULL,
            ids::Source::Rank(rank) => rank,
        };
        let tag = match status.tag {
            TagSelector::Any => abi::MPI_ANY_TAG,
            TagSelector::Tag(tag) => tag,
        };
        let mut made = Self::of_message(source, tag, status.bytes);
        made.set_cancelled(status.cancelled);
        made
    }
}

impl From<Status> for engine::Status {
    /// The error field is left out: it is the library's.
    fn from(status: Status) -> Self {
        let source = match status.source {
            abi::MPI_ANY_SOURCE => ids::Source::Any,
            abi::MPI_PROC_NULL => ids::Source::Null,
            rank => ids::Source::Rank(rank),
        };
        let tag = match status.tag {
            abi::MPI_ANY_TAG => TagSelector::Any,
            tag => TagSelector::Tag(tag),
        };
        Self {
            source,
            tag,
            bytes: status.bytes(),
            cancelled: status.is_cancelled(),
        }
    }
}

/// A status to look at.
#[derive(Debug, Clone, Copy)]
pub struct InStatus(pub Status);

/// A status to change.
#[derive(Debug, Clone, Copy)]
pub struct InOutStatus(*mut Status);

/// A place for the status of one operation, or `MPI_STATUS_IGNORE`.
#[derive(Debug, Clone, Copy)]
pub struct OutStatus(*mut Status);

/// Places for the statuses of several operations, or `MPI_STATUSES_IGNORE`.
#[derive(Debug, Clone, Copy)]
pub struct OutStatuses(*mut Status);

macro_rules! status_pointers {
    ($($name:ident $c:ty, $base:literal;)*) => {$(
        impl<W> Arg<W> for $name {
            type C = $c;
            const DECLARATION: Declarator = Declarator::pointer($base);
            const IS_KEPT: bool = false;

            fn show(c: $c, name: &str, line: &mut String) {
                show_address(c.addr(), name, line);
            }
        }
    )*};
}

status_pointers! {
    InStatus *const Status, "const MPI_Status";
    InOutStatus *mut Status, "MPI_Status";
    OutStatus *mut Status, "MPI_Status";
    OutStatuses *mut Status, "MPI_Status";
}

impl<W> Read<W> for InStatus {
    unsafe fn read(c: *const Status, name: &'static str, _call: &Call) -> Result<Self> {
        if c.is_null() {
            return Err(Cause::NullPointer { name }.into());
        }
        // SAFETY: not null, and the caller passed a status.
        Ok(Self(unsafe { c.read_unaligned() }))
    }
}

impl<W> Read<W> for InOutStatus {
    unsafe fn read(c: *mut Status, name: &'static str, _call: &Call) -> Result<Self> {
        if c.is_null() {
            Err(Cause::NullPointer { name }.into())
        } else {
            Ok(Self(c))
        }
    }
}

impl<W> Read<W> for OutStatus {
    unsafe fn read(c: *mut Status, _name: &'static str, _call: &Call) -> Result<Self> {
        Ok(Self(c))
    }
}

impl<W> Read<W> for OutStatuses {
    unsafe fn read(c: *mut Status, _name: &'static str, _call: &Call) -> Result<Self> {
        Ok(Self(c))
    }
}

impl InOutStatus {
    /// Changes the status in place.
    pub fn update(self, change: impl FnOnce(&mut Status)) {
        // SAFETY: not null, and the caller passed a status.
        let mut status = unsafe { self.0.read_unaligned() };
        change(&mut status);
        // SAFETY: as above; the caller passed it to be changed.
        unsafe { self.0.write_unaligned(status) };
    }
}

impl OutStatus {
    /// Lays down a status but not its error field, which belongs to calls that complete several
    /// operations. Source: MPI 5.0, 3.2.5.
    #[inline]
    pub fn set(self, status: impl Into<Status>) {
        if self.0.is_null() {
            return;
        }
        let mut status = status.into();
        // SAFETY: not null, and the caller passed room for a status; its fields are integers,
        // which may be uninitialized: the error field is copied without being looked at.
        unsafe {
            status.error = (&raw const (*self.0).error).read_unaligned();
            self.0.write_unaligned(status);
        }
    }
}

impl OutStatus {
    /// Lays down how an operation ended; for a null or inactive request the empty status.
    ///
    /// MPI 5.0, 3.2.5 lets calls that complete one operation leave the error field alone; 3.7.3
    /// defines the empty status, and its error field is `MPI_SUCCESS`. What 3.7.3 defines is laid
    /// down whole.
    #[inline]
    pub fn set_end(self, status: engine::Status, is_of_nothing: bool) {
        if is_of_nothing {
            self.set_empty();
        } else {
            self.set(status);
        }
    }

    /// Lays down the empty status, error field and all. Source: MPI 5.0, 3.7.3.
    #[cold]
    pub fn set_empty(self) {
        OutStatuses(self.0).set(0, Status::EMPTY, Some(abi::MPI_SUCCESS));
    }
}

impl OutStatuses {
    /// The place of the status at `index`.
    pub fn at(self, index: usize) -> OutStatus {
        if self.0.is_null() {
            return OutStatus(self.0);
        }
        // SAFETY: the caller passed room for as many statuses as there are operations.
        OutStatus(unsafe { self.0.add(index) })
    }

    /// Sets the error field of the status at `index`, and nothing else.
    pub fn set_error(self, index: usize, error: c_int) {
        if !self.0.is_null() {
            InOutStatus(self.at(index).0).update(|status| status.error = error);
        }
    }

    /// Lays down the status at `index`, with its error field if `error` is given.
    #[inline]
    pub fn set(self, index: usize, status: impl Into<Status>, error: Option<c_int>) {
        if self.0.is_null() {
            return;
        }
        let status = status.into();
        let place = self.at(index);
        match error {
            None => place.set(status),
            // SAFETY: it is one of the caller's places, not null.
            Some(error) => unsafe { place.0.write_unaligned(Status { error, ..status }) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_keeps_a_large_count_in_two_integers() {
        let mut status = Status::of_message(3, 4, u64::from(u32::MAX) + 5);
        assert_eq!(status.bytes(), u64::from(u32::MAX) + 5);
        assert!(!status.is_cancelled());
        status.set_cancelled(true);
        assert_eq!(status.bytes(), u64::from(u32::MAX) + 5);
        assert!(status.is_cancelled());
    }
}
