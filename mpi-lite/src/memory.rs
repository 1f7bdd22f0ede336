//! The only file, with `memory/copy.rs`, that touches the user's memory.
//!
//! A [`Span`] is an address and a length that the program promised to leave alone until the
//! operation completes (MPI 5.0, 3.7.2). Everything above and below moves spans; bytes are read
//! and written here.
#![expect(unsafe_code, reason = "the user's buffers are raw addresses")]

use std::alloc::{self, Layout};
use std::io::{IoSlice, IoSliceMut};

use crate::error::{Cause, Error, Result};

mod borrowed;
mod copy;
pub(crate) mod faults;

pub use borrowed::{Bytes, Room};
pub use copy::{Lengths, Packed, Stripe};

/// A range of the user's memory, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    addr: *mut u8,
    len: usize,
}

// SAFETY: a span is an address. MPI's rules on buffers of pending operations say which thread may
// read or write it: the one that holds the lane, or one to which a task has given it (`Call`).
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
    #[inline]
    #[must_use]
    pub unsafe fn new(addr: *mut u8, len: usize) -> Self {
        if len == 0 {
            Self::EMPTY
        } else {
            Self { addr, len }
        }
    }

    /// The memory of `bytes`, without their lifetime.
    ///
    /// # Safety
    /// They stay in place, and nobody else touches them, until the operation that uses the span is
    /// complete.
    #[must_use]
    pub unsafe fn of_borrowed(bytes: &mut [u8]) -> Self {
        Self::held(bytes)
    }

    /// Memory that the engine lends to a link. The engine keeps the bytes in place until the link
    /// has done with the message, or is gone: beside the send, the unexpected message, the letter
    /// or the part that uses them. A test lists the files that call this.
    #[must_use]
    pub(crate) fn held(bytes: &mut [u8]) -> Self {
        Self {
            addr: bytes.as_mut_ptr(),
            len: bytes.len(),
        }
    }

    /// For unit tests and fuzzers, which keep the bytes in place themselves.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn of(bytes: &mut [u8]) -> Self {
        Self::held(bytes)
    }

    /// Bytes in the span.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the address, for a function of the program that works on it.
    #[must_use]
    pub fn as_mut_ptr(&self) -> *mut u8 {
        self.addr
    }

    /// Returns the address, for a process that reads or writes it through the system.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.addr.expose_provenance() as u64
    }

    /// The part from `offset` on, at most `len` bytes of it; beyond the end it is empty.
    #[must_use]
    pub fn part(&self, offset: usize, len: usize) -> Self {
        let offset = offset.min(self.len);
        let len = len.min(self.len - offset);
        // SAFETY: offset + len is within the span, whose memory the creator vouched for.
        unsafe { Self::new(self.addr.add(offset), len) }
    }

    /// Writes `bytes` at `offset`; what does not fit is left out. Returns the bytes written.
    pub fn write(&self, offset: usize, bytes: &[u8]) -> usize {
        let to = self.part(offset, bytes.len());
        // SAFETY: `to` lies within the span; `copy` allows overlap, so that a program that passes
        // the same memory twice gets wrong data but not undefined behaviour here.
        unsafe { core::ptr::copy(bytes.as_ptr(), to.addr, to.len) };
        to.len
    }

    /// The origin from which the first byte of the span has displacement `first`.
    #[must_use]
    pub fn origin(&self, first: i64) -> Origin {
        Origin(self.addr.wrapping_offset(-(first as isize)))
    }

    /// Appends all bytes of the span to `out`.
    #[inline]
    pub fn append_to(&self, out: &mut Vec<u8>) {
        // SAFETY: the span's bytes are readable, its creator vouched for it.
        out.extend_from_slice(unsafe { core::slice::from_raw_parts(self.addr, self.len) });
    }

    /// Appends `len` bytes to `out`, which `fill` writes: all of them, or what it leaves out is 0.
    /// `fill` returns how many it has written, from the first one on.
    pub(crate) fn append_filled(
        out: &mut Vec<u8>,
        len: usize,
        fill: impl FnOnce(Room<'_>) -> usize,
    ) {
        out.reserve(len);
        let room = &mut out.spare_capacity_mut()[..len];
        let span = Self {
            addr: room.as_mut_ptr().cast(),
            len,
        };
        let written = fill(span.into()).min(len);
        room[written..].fill(core::mem::MaybeUninit::new(0));
        // SAFETY: `fill` and the line above have written all `len` bytes of the reserved room.
        unsafe { out.set_len(out.len() + len) };
    }

    /// Fills the start of `out` with the bytes of the span. Returns the bytes copied.
    pub fn read_into(&self, out: &mut [u8]) -> usize {
        let len = self.len.min(out.len());
        // SAFETY: both ranges hold `len` bytes; `copy` allows overlap.
        unsafe { core::ptr::copy(self.addr, out.as_mut_ptr(), len) };
        len
    }

    /// The bytes as words, first byte lowest, filled up with zeros. For a few bytes: no call, no
    /// detour through a buffer.
    #[inline(always)]
    #[must_use]
    pub fn to_words<const COUNT: usize>(&self) -> [u64; COUNT] {
        let word = |number: usize| {
            let part = self.tail(number * 8);
            if part.len >= 8 {
                // SAFETY: eight bytes of the span; a word may lie anywhere.
                unsafe { part.addr.cast::<u64>().read_unaligned().to_le() }
            } else if part.len > 0 {
                part.to_word()
            } else {
                0
            }
        };
        let mut words = [0; COUNT];
        words[0] = word(0);
        if self.len > 8 {
            for (number, place) in words.iter_mut().enumerate().skip(1) {
                *place = word(number);
            }
        }
        words
    }

    /// The word of one to seven bytes: their first and their last few, which overlap.
    #[inline(always)]
    fn to_word(self) -> u64 {
        let Self { addr, len } = self;
        // SAFETY: all within the span.
        unsafe {
            let byte = |at: usize| u64::from(addr.add(at).read());
            let half = |at: usize| u64::from(addr.add(at).cast::<u32>().read_unaligned().to_le());
            if len >= 4 {
                half(0) | half(len - 4) << ((len - 4) * 8)
            } else {
                byte(0) | byte(len / 2) << (len / 2 * 8) | byte(len - 1) << ((len - 1) * 8)
            }
        }
    }

    /// Fills the span with words that `to_words` has made of as many bytes or more, and which
    /// `word` tells by number.
    #[inline(always)]
    pub fn write_words(&self, word: impl Fn(usize) -> u64) {
        let mut number = 0;
        loop {
            let part = self.tail(number * 8);
            if part.len < 8 {
                if part.len > 0 {
                    part.write_word(word(number));
                }
                return;
            }
            // SAFETY: eight bytes of the span; a word may lie anywhere.
            unsafe {
                part.addr
                    .cast::<u64>()
                    .write_unaligned(word(number).to_le())
            };
            number += 1;
        }
    }

    /// Fills the span, of one to seven bytes, with a word that `to_word` has made.
    #[inline(always)]
    fn write_word(self, word: u64) {
        let Self { addr, len } = self;
        // SAFETY: all within the span.
        unsafe {
            let byte = |at: usize| addr.add(at).write((word >> (at * 8)) as u8);
            let half = |at: usize| {
                let half = ((word >> (at * 8)) as u32).to_le();
                addr.add(at).cast::<u32>().write_unaligned(half);
            };
            if len >= 4 {
                half(0);
                half(len - 4);
            } else {
                byte(0);
                byte(len / 2);
                byte(len - 1);
            }
        }
    }

    /// Returns the part behind the first `offset` bytes.
    #[inline(always)]
    fn tail(&self, offset: usize) -> Self {
        Self {
            addr: self.addr.wrapping_add(offset),
            len: self.len.saturating_sub(offset),
        }
    }

    /// Looks at the bytes; nobody writes them meanwhile. They are the operation's own, also those
    /// in gaps.
    pub fn view<R>(&self, look: impl FnOnce(&[u8]) -> R) -> R {
        // SAFETY: readable by the creator's word, and the program leaves them alone until the
        // operation that calls this is complete.
        look(unsafe { core::slice::from_raw_parts(self.addr, self.len) })
    }

    /// Changes the bytes in place, as a reduction does. `change` gets no other way to them; all of
    /// them are the operation's own, also those in gaps.
    pub fn update<R>(&self, change: impl FnOnce(&mut [u8]) -> R) -> R {
        // SAFETY: writable by the creator's word, and the program leaves them alone until the
        // operation that calls this is complete.
        change(unsafe { core::slice::from_raw_parts_mut(self.addr, self.len) })
    }

    /// Has the lines of the span brought into the cache, as a hint.
    #[inline]
    pub fn fetch(&self) {
        const LINE: usize = 64;
        for at in (0..self.len).step_by(LINE) {
            let line = self.addr.wrapping_add(at);
            #[cfg(all(target_arch = "x86_64", not(miri)))]
            // SAFETY: a hint, which reads nothing.
            unsafe {
                use core::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
                _mm_prefetch::<_MM_HINT_T1>(line.cast_const().cast());
            }
            #[cfg(not(all(target_arch = "x86_64", not(miri))))]
            let _ = line;
        }
    }

    /// Copies the overlapping prefix of `from` into this span, past the caches as far as the
    /// processor can: for memory that this core does not read soon. Returns the bytes copied.
    pub fn stream_from<'a>(&self, from: impl Into<Bytes<'a>>) -> usize {
        let from = from.into().span;
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if (self.addr.addr()).is_multiple_of(64) {
            let len = self.len.min(from.len) & !63;
            // SAFETY: both ranges are within their spans, whole lines, and the place is aligned.
            unsafe { stream_lines(self.addr.cast(), from.addr.cast_const().cast(), len) };
            let rest = self.part(len, self.len).copy_from(from.part(len, from.len));
            return len + rest;
        }
        self.copy_from(from)
    }

    /// Copies the overlapping prefix of `from` into this span. Returns the bytes copied.
    #[inline]
    pub fn copy_from<'a>(&self, from: impl Into<Bytes<'a>>) -> usize {
        let from = from.into().span;
        let len = self.len.min(from.len);
        // SAFETY: both ranges are within their spans; overlap is allowed.
        unsafe { core::ptr::copy(from.addr, self.addr, len) };
        len
    }

    /// The same, without a call for a number.
    #[inline(always)]
    pub fn copy_short(&self, from: Self) {
        match (self.len, from.len) {
            // SAFETY: both have so many bytes; a value may lie anywhere.
            (8, 8) => unsafe {
                let value = from.addr.cast::<u64>().read_unaligned();
                self.addr.cast::<u64>().write_unaligned(value);
            },
            // SAFETY: as above.
            (4, 4) => unsafe {
                let value = from.addr.cast::<u32>().read_unaligned();
                self.addr.cast::<u32>().write_unaligned(value);
            },
            _ => _ = self.copy_from(from),
        }
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
}

/// The address that a datatype's displacements count from. It may be null when the displacements
/// are absolute addresses (`MPI_BOTTOM`). Source: MPI 5.0, 5.1.5 and 5.1.12.
#[derive(Clone, Copy, Debug)]
pub struct Origin(*mut u8);

// SAFETY: as for a span: an address; access is settled by MPI's rules on pending operations.
unsafe impl Send for Origin {}
// SAFETY: as above; nothing can be reached without `at`.
unsafe impl Sync for Origin {}

impl Origin {
    /// The address null. A datatype with absolute displacements holds addresses for which the
    /// program vouched when it built the datatype.
    pub const NULL: Self = Self(core::ptr::null_mut());

    /// Displacements count from `addr`.
    ///
    /// # Safety
    /// Every range that is asked of it with [`Origin::at`] must keep the promise of
    /// [`Span::new`]: that is, all bytes of the buffer that is described by this address, a count
    /// and a datatype.
    #[inline]
    #[must_use]
    pub unsafe fn new(addr: *mut u8) -> Self {
        Self(addr)
    }

    /// Returns true if displacements are absolute addresses.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The address, to compare.
    #[must_use]
    pub fn addr(&self) -> usize {
        self.0.addr()
    }

    /// The origin `displacement` bytes further on.
    #[must_use]
    pub fn moved(&self, displacement: i64) -> Self {
        Self(self.point(displacement))
    }

    /// The `len` bytes at `displacement`.
    #[inline]
    #[must_use]
    pub fn at(&self, displacement: i64, len: usize) -> Span {
        // SAFETY: the creator vouched for all bytes of the buffer.
        unsafe { Span::new(self.point(displacement), len) }
    }

    #[inline]
    fn point(&self, displacement: i64) -> *mut u8 {
        if self.0.is_null() {
            core::ptr::with_exposed_provenance_mut(displacement as usize)
        } else {
            self.0.wrapping_offset(displacement as isize)
        }
    }
}

/// Memory of our own for elements of a datatype, aligned for every basic datatype.
#[derive(Debug)]
pub(crate) struct Scratch {
    words: core::ptr::NonNull<u8>,
    layout: Layout,
    start: usize,
    len: usize,
}

// SAFETY: it owns its memory, as a vector does.
unsafe impl Send for Scratch {}
// SAFETY: as above.
unsafe impl Sync for Scratch {}

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and no operation is pending on it.
        unsafe { alloc::dealloc(self.words.as_ptr(), self.layout) }
    }
}

impl Scratch {
    /// `len` zero bytes whose first one stands at displacement `first` from an aligned origin.
    ///
    /// # Errors
    /// [`Cause::NoMemory`]: a datatype may span far more than there is, say stack and heap.
    pub(crate) fn new(len: usize, first: i64) -> Result<Self> {
        const WORD: usize = size_of::<u128>();
        let start = first.rem_euclid(WORD as i64) as usize;
        let none = || Error::from(Cause::NoMemory { bytes: len as u64 });
        let bytes = start.checked_add(len.max(1)).ok_or_else(none)?;
        let layout = Layout::from_size_align(bytes, WORD).map_err(|_| none())?;
        // SAFETY: the layout has at least one byte.
        let words = unsafe { alloc::alloc_zeroed(layout) };
        Ok(Self {
            words: core::ptr::NonNull::new(words).ok_or_else(none)?,
            layout,
            start,
            len,
        })
    }

    /// All bytes. The owner keeps the scratch alive while the span is used.
    #[must_use]
    pub(crate) fn span(&self) -> Span {
        // SAFETY: `start + len` bytes were allocated; the address stays when the scratch moves.
        unsafe { Span::new(self.words.as_ptr().add(self.start), self.len) }
    }

    /// The origin from which the first byte has displacement `first`.
    #[must_use]
    pub(crate) fn origin(&self, first: i64) -> Origin {
        let start = self.words.as_ptr().wrapping_add(self.start);
        Origin(start.wrapping_offset((first as isize).wrapping_neg()))
    }
}

/// Copies `len` bytes by stores that bypass the caches. Stores that follow are seen after them.
///
/// # Safety
/// Both ranges are valid; `len` is a multiple of 64, and `to` lies on such a multiple.
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe fn stream_lines(to: *mut u8, from: *const u8, len: usize) {
    use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    const WORDS: usize = 4;
    for at in (0..len).step_by(WORDS * size_of::<__m128i>()) {
        // SAFETY: the caller's promise. A line is read whole before it is written.
        unsafe {
            let (to, from) = (to.add(at).cast::<__m128i>(), from.add(at).cast::<__m128i>());
            let line: [__m128i; WORDS] = core::array::from_fn(|i| _mm_loadu_si128(from.add(i)));
            for (i, word) in line.into_iter().enumerate() {
                _mm_stream_si128(to.add(i), word);
            }
        }
    }
    // SAFETY: every processor of this kind has it.
    unsafe { _mm_sfence() };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_past_the_caches_is_a_copy_wherever_it_begins_and_ends() {
        let from: Vec<u8> = (0..400).map(|number| number as u8).collect();
        for (at, to, len) in [
            (0, 0, 0),
            (0, 64, 64),
            (3, 64, 300),
            (1, 5, 200),
            (0, 128, 63),
        ] {
            let mut place = vec![255_u8; 500];
            let lines = place.as_ptr().align_offset(64);
            let room = Span::of(&mut place).part(lines + to, len);
            let part = &from[at..];
            assert_eq!(room.stream_from(part), len);
            let begin = lines + to;
            assert_eq!(place[begin..begin + len], from[at..at + len]);
            let is_untouched = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 255);
            assert!(is_untouched(&place[..begin]) && is_untouched(&place[begin + len..]));
        }
    }

    #[test]
    fn a_write_beyond_the_end_is_cut() {
        let mut room = [0u8; 4];
        let span = Span::of(&mut room);
        assert_eq!(span.write(2, &[1, 2, 3]), 2);
        assert_eq!(span.write(9, &[7]), 0);
        assert_eq!(room, [0, 0, 1, 2]);
    }

    #[test]
    fn a_few_bytes_survive_the_way_through_words() {
        let bytes: [u8; 24] = core::array::from_fn(|at| at as u8 + 1);
        for len in 0..=24 {
            let mut from = bytes;
            let words = Span::of(&mut from[..len]).to_words::<3>();
            let mut room = [0u8; 26];
            Span::of(&mut room[1..=len]).write_words(|number| words[number]);
            assert_eq!(room[1..=len], bytes[..len]);
            assert_eq!((room[0], room[len + 1]), (0, 0), "{len} bytes");
            // A receive with less room takes the start.
            let mut room = [0u8; 26];
            Span::of(&mut room[..len / 2]).write_words(|number| words[number]);
            assert_eq!(room[..len / 2], bytes[..len / 2]);
            assert_eq!(room[len / 2], 0);
        }
    }

    #[test]
    fn scratch_memory_is_zero_and_aligned() {
        for (len, first) in [(0, 0), (1, -1), (100, 24), (4096, i64::MAX - 5000)] {
            let scratch = Scratch::new(len, first).unwrap();
            let span = scratch.span();
            assert_eq!(span.len(), len);
            assert!(span.view(|bytes| bytes.iter().all(|byte| *byte == 0)));
            assert_eq!(scratch.origin(first).addr() % 16, 0, "{len} at {first}");
            span.update(|bytes| bytes.fill(7));
            assert!(span.view(|bytes| bytes.iter().all(|byte| *byte == 7)));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri ends the program where there is no memory")]
    fn scratch_memory_is_refused_where_there_is_none() {
        for len in [usize::MAX, usize::MAX / 2, 1 << 60] {
            let error = Scratch::new(len, 8).unwrap_err();
            assert_eq!(*error.cause(), Cause::NoMemory { bytes: len as u64 });
        }
    }

    #[test]
    fn a_part_never_leaves_the_span() {
        let mut room = [0u8; 4];
        let span = Span::of(&mut room);
        assert_eq!(span.part(1, 10).len(), 3);
        assert_eq!(span.part(5, 1).len(), 0);
    }
}
