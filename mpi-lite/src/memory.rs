//! The only file that touches the user's memory.
//!
//! A [`Span`] is an address and a length that the program promised to leave alone until the
//! operation completes (MPI 5.0, 3.7.2). Everything above and below moves spans; bytes are read
//! and written here.
#![expect(unsafe_code, reason = "the user's buffers are raw addresses")]

use std::io::{IoSlice, IoSliceMut};

/// A range of the user's memory, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    addr: *mut u8,
    len: usize,
}

// SAFETY: a span is an address; who may read or write it is settled by MPI's rules on buffers of
// pending operations, and all access happens under the lane's lock.
unsafe impl Send for Span {}
// SAFETY: as above; a shared span gives no access without the calls below.
unsafe impl Sync for Span {}

impl Span {
    /// No memory at all.
    pub const EMPTY: Self = Self {
        addr: core::ptr::NonNull::dangling().as_ptr(),
        len: 0,
    };

    /// The `len` bytes at `addr`.
    ///
    /// # Safety
    /// The bytes must be readable (for a message that is received: writable) by this process,
    /// and the program must not touch them until the operation that uses them is complete.
    #[must_use]
    pub unsafe fn new(addr: *mut u8, len: usize) -> Self {
        if len == 0 {
            Self::EMPTY
        } else {
            Self { addr, len }
        }
    }

    /// The bytes of a buffer of our own. The owner keeps it alive and in place while the span is
    /// used: the engine drops such a buffer only when the operation has completed.
    #[must_use]
    pub fn of(owned: &mut [u8]) -> Self {
        Self {
            addr: owned.as_mut_ptr(),
            len: owned.len(),
        }
    }

    /// Bytes in the span.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The part from `offset` on, at most `len` bytes of it; beyond the end it is empty.
    #[must_use]
    pub fn part(&self, offset: usize, len: usize) -> Self {
        let offset = offset.min(self.len);
        let len = len.min(self.len - offset);
        // SAFETY: offset + len is within the span, whose memory the creator vouched for.
        unsafe { Self::new(self.addr.add(offset), len) }
    }

    /// Writes `bytes` at `offset`; what does not fit is left out. Answers the bytes written.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> usize {
        let to = self.part(offset, bytes.len());
        // SAFETY: `to` lies within the span; `copy` allows overlap, so that a program that passes
        // the same memory twice gets wrong data but not undefined behaviour here.
        unsafe { core::ptr::copy(bytes.as_ptr(), to.addr, to.len) };
        to.len
    }

    /// Appends all bytes of the span to `out`.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        // SAFETY: the span's bytes are readable, its creator vouched for it.
        out.extend_from_slice(unsafe { core::slice::from_raw_parts(self.addr, self.len) });
    }

    /// Copies the overlapping prefix of `from` into this span. Answers the bytes copied.
    pub fn copy_from(&self, from: Self) -> usize {
        let len = self.len.min(from.len);
        // SAFETY: both ranges are within their spans; overlap is allowed.
        unsafe { core::ptr::copy(from.addr, self.addr, len) };
        len
    }

    /// The span for a system call that gathers.
    #[must_use]
    pub fn io_slice(&self) -> IoSlice<'_> {
        // SAFETY: the span's bytes are readable for as long as the span is used.
        IoSlice::new(unsafe { core::slice::from_raw_parts(self.addr, self.len) })
    }

    /// The span for a system call that scatters.
    #[must_use]
    pub fn io_slice_mut(&mut self) -> IoSliceMut<'_> {
        // SAFETY: the span's bytes are writable for as long as the span is used.
        IoSliceMut::new(unsafe { core::slice::from_raw_parts_mut(self.addr, self.len) })
    }

    /// The bytes as a slice, for packing and reduction.
    ///
    /// # Safety
    /// Nobody may write the bytes while the slice lives.
    #[must_use]
    pub unsafe fn bytes<'a>(&self) -> &'a [u8] {
        // SAFETY: readable by the creator's word; unwritten by the caller's.
        unsafe { core::slice::from_raw_parts(self.addr, self.len) }
    }

    /// The bytes as a mutable slice, for unpacking and reduction.
    ///
    /// # Safety
    /// Nobody else may read or write the bytes while the slice lives.
    #[must_use]
    pub unsafe fn bytes_mut<'a>(&self) -> &'a mut [u8] {
        // SAFETY: writable by the creator's word; unshared by the caller's.
        unsafe { core::slice::from_raw_parts_mut(self.addr, self.len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_beyond_the_end_is_cut() {
        let mut room = [0u8; 4];
        let span = Span::of(&mut room);
        assert_eq!(span.write(2, &[1, 2, 3]), 2);
        assert_eq!(span.write(9, &[7]), 0);
        assert_eq!(room, [0, 0, 1, 2]);
    }

    #[test]
    fn a_part_never_leaves_the_span() {
        let mut room = [0u8; 4];
        let span = Span::of(&mut room);
        assert_eq!(span.part(1, 10).len(), 3);
        assert_eq!(span.part(5, 1).len(), 0);
    }
}
