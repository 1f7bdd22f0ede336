//! Memory that a call reads or writes and does not keep: arguments with a lifetime.
//!
//! Safe code makes them of slices. Nothing turns them back into a [`Span`], which has no lifetime.

use core::marker::PhantomData;

use super::Span;

/// Bytes that a call reads.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a> {
    pub(super) span: Span,
    borrowed: PhantomData<&'a [u8]>,
}

/// Bytes that a call writes.
#[derive(Debug)]
pub struct Room<'a> {
    pub(super) span: Span,
    borrowed: PhantomData<&'a mut [u8]>,
}

impl From<Span> for Bytes<'_> {
    #[inline(always)]
    fn from(span: Span) -> Self {
        let borrowed = PhantomData;
        Self { span, borrowed }
    }
}

impl From<Span> for Room<'_> {
    #[inline(always)]
    fn from(span: Span) -> Self {
        let borrowed = PhantomData;
        Self { span, borrowed }
    }
}

impl<'a> From<&'a [u8]> for Bytes<'a> {
    #[inline(always)]
    fn from(bytes: &'a [u8]) -> Self {
        let (addr, len) = (bytes.as_ptr().cast_mut(), bytes.len());
        Span { addr, len }.into()
    }
}

impl<'a> From<&'a mut [u8]> for Room<'a> {
    #[inline(always)]
    fn from(bytes: &'a mut [u8]) -> Self {
        let (addr, len) = (bytes.as_mut_ptr(), bytes.len());
        Span { addr, len }.into()
    }
}

impl Bytes<'_> {
    /// Bytes.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.span.len
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.span.len == 0
    }

    /// The address, for a function of the program that reads from it.
    #[must_use]
    pub fn as_ptr(&self) -> *const u8 {
        self.span.addr
    }

    /// The part from `offset` on, at most `len` bytes of it; beyond the end it is empty.
    #[inline]
    #[must_use]
    pub fn part(&self, offset: usize, len: usize) -> Self {
        self.span.part(offset, len).into()
    }

    /// Appends all bytes to `out`.
    #[inline]
    pub fn append_to(&self, out: &mut Vec<u8>) {
        self.span.append_to(out);
    }

    /// Fills the start of `out`. Returns the bytes copied.
    pub fn read_into(&self, out: &mut [u8]) -> usize {
        self.span.read_into(out)
    }

    /// As [`Span::view`].
    pub fn view<R>(&self, look: impl FnOnce(&[u8]) -> R) -> R {
        self.span.view(look)
    }
}

impl Room<'_> {
    /// Bytes.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.span.len
    }

    /// Returns true if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.span.len == 0
    }

    /// The address, for a function of the program that works on it.
    #[must_use]
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.span.addr
    }

    /// The part from `offset` on, at most `len` bytes of it; beyond the end it is empty.
    #[inline]
    #[must_use]
    pub fn part(&mut self, offset: usize, len: usize) -> Room<'_> {
        self.span.part(offset, len).into()
    }

    /// Copies the overlapping prefix of `from`. Returns the bytes copied.
    #[inline]
    pub fn copy_from<'a>(&mut self, from: impl Into<Bytes<'a>>) -> usize {
        self.span.copy_from(from)
    }

    /// As [`Span::write_words`].
    #[inline(always)]
    pub fn write_words(&mut self, word: impl Fn(usize) -> u64) {
        self.span.write_words(word);
    }

    /// As [`Span::update`].
    pub fn update<R>(&mut self, change: impl FnOnce(&mut [u8]) -> R) -> R {
        self.span.update(change)
    }
}
