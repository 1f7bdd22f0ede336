//! A message in the program's memory: an address, a count and a datatype.
//!
//! Source: MPI 5.0, 3.2.2.

use core::ops::Range;
use std::sync::Arc;

use super::basic::Basic;
use super::datatype::Datatype;
use super::layout;
use crate::error::{Cause, Result};
use crate::memory::{Bytes, Origin, Packed, Room, Scratch, Span};

/// The bytes of `count` elements without gaps.
#[inline(always)]
pub(super) fn run(origin: Origin, count: u64, datatype: &Datatype) -> Result<Span> {
    let bytes = datatype.bytes(count)?;
    if bytes > 0 && origin.is_null() {
        return Err(Cause::NullBuffer.into());
    }
    Ok(origin.at(0, bytes as usize))
}

/// `count` elements of a datatype at an address.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub(super) origin: Origin,
    pub(super) count: u64,
    pub(super) datatype: Datatype,
    /// Memory of our own in which the elements lie.
    pub(super) memory: Option<Arc<Scratch>>,
}

impl Buffer {
    /// `count` elements of `datatype`, displacements counted from `origin`.
    #[inline]
    #[must_use]
    pub fn at(origin: Origin, count: u64, datatype: Datatype) -> Self {
        Self {
            origin,
            count,
            datatype,
            memory: None,
        }
    }

    /// For unit tests, which keep the bytes in place themselves.
    #[cfg(test)]
    pub(crate) fn of_bytes(bytes: &mut [u8]) -> Self {
        let byte = Datatype::Basic(Basic::Byte);
        Self::at(Span::of(bytes).origin(0), bytes.len() as u64, byte)
    }

    /// `count` elements of `datatype` in memory of our own, which is zero. It lives as long as a
    /// buffer or an area in it: also when a message is still to come there.
    ///
    /// # Errors
    /// [`Cause::Count`] if they are more than memory can hold; [`Cause::NoMemory`].
    pub fn scratch(count: u64, datatype: &Datatype) -> Result<Self> {
        let (first, len) = datatype.occupied(count)?;
        let scratch = Scratch::new(len, first)?;
        Ok(Self {
            origin: scratch.origin(first),
            count,
            datatype: datatype.clone(),
            memory: Some(Arc::new(scratch)),
        })
    }

    /// `len` bytes in memory of our own, as [`Buffer::scratch`].
    ///
    /// # Errors
    /// [`Cause::NoMemory`].
    pub fn zeroed(len: usize) -> Result<Self> {
        Self::scratch(len as u64, &Datatype::Basic(Basic::Byte))
    }

    /// A copy of `bytes` in memory of our own, as [`Buffer::scratch`].
    ///
    /// # Errors
    /// [`Cause::NoMemory`].
    pub fn holding(bytes: &[u8]) -> Result<Self> {
        let buffer = Self::zeroed(bytes.len())?;
        buffer.unpack(bytes);
        Ok(buffer)
    }

    /// All bytes of the memory of our own in which the elements lie, gaps included.
    #[must_use]
    pub fn whole(&self) -> Option<Self> {
        let memory = self.memory.as_ref()?;
        let span = memory.span();
        Some(Self {
            origin: span.origin(0),
            count: span.len() as u64,
            datatype: Datatype::Basic(Basic::Byte),
            memory: Some(Arc::clone(memory)),
        })
    }

    /// No bytes.
    #[must_use]
    pub fn nothing() -> Self {
        Self::at(Span::EMPTY.origin(0), 0, Datatype::Basic(Basic::Byte))
    }

    /// Elements.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// What they are.
    #[must_use]
    pub fn datatype(&self) -> &Datatype {
        &self.datatype
    }

    /// The address. The buffer outlives its use.
    #[must_use]
    pub(crate) fn origin(&self) -> Origin {
        self.origin
    }

    /// The address, for a function of the program that works on the elements.
    #[must_use]
    pub fn address(&self) -> *mut core::ffi::c_void {
        self.origin.at(0, 1).as_mut_ptr().cast()
    }

    /// `count` elements, the first one `bytes` bytes further on.
    #[must_use]
    pub fn moved(&self, bytes: i64, count: u64) -> Self {
        Self {
            origin: self.origin.moved(bytes),
            count,
            datatype: self.datatype.clone(),
            memory: self.memory.clone(),
        }
    }

    /// The data as bytes, if it lies in one stretch.
    #[must_use]
    pub(crate) fn as_bytes(&self) -> Option<Self> {
        let span = self.contiguous()?;
        Some(Self {
            origin: span.origin(0),
            count: span.len() as u64,
            datatype: Datatype::Basic(Basic::Byte),
            memory: self.memory.clone(),
        })
    }

    /// `count` elements, the first one `first` extents further on.
    #[must_use]
    pub fn part(&self, first: i64, count: u64) -> Self {
        self.moved(first.wrapping_mul(self.datatype.extent()), count)
    }

    /// Bytes of data in the message.
    ///
    /// # Errors
    /// [`Cause::Count`] if they are more than memory can hold.
    #[inline]
    pub fn bytes(&self) -> Result<u64> {
        self.datatype.bytes(self.count)
    }

    /// Checks what can be checked before the memory is touched. Answers [`Buffer::bytes`].
    ///
    /// # Errors
    /// [`Cause::Count`] as above; [`Cause::NullBuffer`] if there is data at the address null.
    pub fn check(&self) -> Result<u64> {
        if self.datatype.has_no_gaps() {
            return Ok(run(self.origin, self.count, &self.datatype)?.len() as u64);
        }
        let bytes = self.bytes()?;
        self.datatype.occupied(self.count)?;
        let absolute = matches!(&self.datatype, Datatype::Derived(_))
            && !(self.datatype.is_contiguous() && self.datatype.true_lower_bound() == 0);
        if bytes > 0 && self.origin.is_null() && !absolute {
            return Err(Cause::NullBuffer.into());
        }
        Ok(bytes)
    }

    /// The message as one run of bytes; `None` if it must be packed. The buffer outlives the use of
    /// the span.
    #[must_use]
    #[inline]
    pub(crate) fn contiguous(&self) -> Option<Span> {
        if self.datatype.has_no_gaps() {
            return run(self.origin, self.count, &self.datatype).ok();
        }
        self.contiguous_by_layout()
    }

    #[inline(never)]
    fn contiguous_by_layout(&self) -> Option<Span> {
        if self.count == 0 || self.datatype.size() == 0 {
            return Some(Span::EMPTY);
        }
        if !layout::is_run(&self.datatype, self.count) {
            return None;
        }
        let bytes = usize::try_from(self.bytes().ok()?).ok()?;
        Some(self.origin.at(self.datatype.true_lower_bound(), bytes))
    }

    /// All bytes that the elements occupy, gaps included. The buffer outlives the use of the span.
    ///
    /// # Errors
    /// [`Cause::Count`] if they are more than memory can hold.
    pub(crate) fn occupied(&self) -> Result<Span> {
        let (first, len) = self.datatype.occupied(self.count)?;
        Ok(self.origin.at(first, len))
    }

    /// The addresses of `number` such messages side by side, if their datatype is a predefined one
    /// without padding.
    #[must_use]
    #[inline]
    pub fn addresses(&self, number: u32) -> Option<Range<usize>> {
        if !self.datatype.has_no_gaps() {
            return None;
        }
        let bytes = self.datatype.size().saturating_mul(self.count);
        let bytes = bytes.saturating_mul(number.into());
        let first = self.origin.addr();
        Some(first..first.saturating_add(usize::try_from(bytes).unwrap_or(usize::MAX)))
    }

    /// Addresses that hold data for certain: all of the data, or its first byte if there are gaps
    /// in it. Empty if there is no data.
    #[must_use]
    pub fn certain(&self) -> Range<usize> {
        let span = match self.contiguous() {
            Some(span) => span,
            None => self.origin.at(self.datatype.true_lower_bound(), 1),
        };
        let first = span.as_mut_ptr().addr();
        first..first.wrapping_add(span.len())
    }

    /// The data, one element after the other, without gaps.
    #[must_use]
    pub fn pack(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.append_to(&mut out);
        out
    }

    /// Appends the data to `out`.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        let bytes = self.bytes().map_or(0, |bytes| bytes as usize);
        Span::append_filled(out, bytes, |room| self.copy_out(0, room));
    }

    /// Fills `out` with the data, as far as it goes. Returns the bytes written.
    #[inline]
    pub fn pack_into(&self, out: &mut [u8]) -> usize {
        match self.contiguous() {
            Some(span) => span.read_into(out),
            None => self.copy_out(0, out),
        }
    }

    /// Lays the packed `bytes` into the elements; they may be fewer than there is room for, what
    /// does not fit is left out. Returns the bytes laid down.
    #[inline]
    pub fn unpack(&self, bytes: &[u8]) -> usize {
        match self.contiguous() {
            Some(span) => span.copy_from(bytes),
            None => self.copy_in(0, bytes),
        }
    }

    /// Fills `room` with the data from byte `from` on, as far as both go. Returns the bytes copied.
    pub fn copy_out<'a>(&self, from: u64, room: impl Into<Room<'a>>) -> usize {
        self.copy(from, room.into().into())
    }

    /// Lays `bytes` down from data byte `from` on, as far as both go. Returns the bytes copied.
    pub fn copy_in<'a>(&self, from: u64, bytes: impl Into<Bytes<'a>>) -> usize {
        self.copy(from, bytes.into().into())
    }

    fn copy(&self, from: u64, mut packed: Packed<'_>) -> usize {
        let len = packed.len();
        layout::stripes(&self.datatype, self.count, from, |stripe| {
            self.origin.copy(stripe, &mut packed);
            !packed.is_empty()
        });
        len - packed.len()
    }

    /// Copies the data of `from` into this buffer, as a message would. Returns the bytes copied.
    ///
    /// # Errors
    /// [`Cause::Truncate`] if there is more of it than room here; [`Cause::Count`].
    pub fn copy_from(&self, from: &Self) -> Result<u64> {
        let (len, room) = (from.bytes()?, self.bytes()?);
        if len > room {
            return Err(Cause::Truncate { len, room }.into());
        }
        match (self.contiguous(), from.contiguous()) {
            (Some(to), Some(from)) => {
                to.copy_from(from);
            }
            (None, Some(from)) => {
                self.copy_in(0, from);
            }
            (Some(to), None) => {
                from.copy_out(0, to);
            }
            (None, None) => {
                self.unpack(&from.pack());
            }
        }
        Ok(len)
    }
}
