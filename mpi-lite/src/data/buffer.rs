//! A message in the program's memory: an address, a count and a datatype.
//!
//! Source: MPI 5.0, 3.2.2.

use super::basic::Basic;
use super::datatype::Datatype;
use super::layout;
use crate::error::{Cause, Result};
use crate::memory::{Origin, Scratch, Span, Way};

/// Where the body of a message is, or goes: a buffer that was checked.
#[derive(Clone, Debug)]
pub enum Area {
    /// One run of bytes.
    Run(Span),
    /// Anything else.
    Scattered(Box<Scattered>),
}

/// The bytes of `count` elements without gaps.
#[inline(always)]
fn run(origin: Origin, count: u64, datatype: &Datatype) -> Result<Span> {
    let bytes = datatype.bytes(count)?;
    if bytes > 0 && origin.is_null() {
        return Err(Cause::NullBuffer.into());
    }
    Ok(origin.at(0, bytes as usize))
}

/// Elements with gaps between them, or in another order than in memory.
#[derive(Clone, Debug)]
pub struct Scattered {
    buffer: Buffer,
    /// Bytes of data.
    bytes: u64,
}

impl Scattered {
    /// Bytes of data.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.bytes
    }

    /// Whether there is no data.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Lays the packed `bytes` down; what does not fit is left out.
    pub fn unpack(&self, bytes: &[u8]) {
        self.buffer.unpack(bytes);
    }

    /// Copies between the data from byte `from` on and `packed`, as far as both go. Answers the
    /// bytes copied.
    pub fn copy(&self, from: u64, packed: Span, way: Way) -> usize {
        self.buffer.copy(from, packed, way)
    }
}

impl Area {
    /// No bytes at all.
    pub const EMPTY: Self = Self::Run(Span::EMPTY);

    /// Bytes of our own; the caller keeps them alive and in place while the area is used.
    #[must_use]
    pub fn of_bytes(bytes: &mut [u8]) -> Self {
        Self::Run(Span::of(bytes))
    }

    /// `count` elements of `datatype`, displacements counted from `origin`.
    ///
    /// # Errors
    /// [`Cause::Count`] if they are more than memory can hold; [`Cause::NullBuffer`] if there is
    /// data at the address null.
    #[inline(always)]
    pub fn at(origin: Origin, count: u64, datatype: &Datatype) -> Result<Self> {
        if datatype.has_no_gaps() {
            return Ok(Self::Run(run(origin, count, datatype)?));
        }
        Self::with_gaps(origin, count, datatype)
    }

    #[inline(never)]
    fn with_gaps(origin: Origin, count: u64, datatype: &Datatype) -> Result<Self> {
        let buffer = Buffer::at(origin, count, datatype.clone());
        let bytes = buffer.check()?;
        Ok(match buffer.contiguous() {
            Some(span) => Self::Run(span),
            None => Self::Scattered(Box::new(Scattered { buffer, bytes })),
        })
    }

    /// Bytes of data.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Run(span) => span.len() as u64,
            Self::Scattered(scattered) => scattered.bytes,
        }
    }

    /// Whether there is no data.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the data to `out`.
    #[inline]
    pub fn append_to(&self, out: &mut Vec<u8>) {
        match self {
            Self::Run(span) => span.append_to(out),
            Self::Scattered(scattered) => scattered.buffer.append_to(out),
        }
    }
}

/// `count` elements of a datatype at an address.
#[derive(Clone, Debug)]
pub struct Buffer {
    origin: Origin,
    count: u64,
    datatype: Datatype,
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
        }
    }

    /// Bytes of our own; the caller keeps them alive and in place while the buffer is used.
    #[must_use]
    pub fn of_bytes(bytes: &mut [u8]) -> Self {
        let byte = Datatype::Basic(Basic::Byte);
        Self::at(Span::of(bytes).origin(0), bytes.len() as u64, byte)
    }

    /// Room for `count` elements of `datatype` in memory of our own, and the buffer in it. The
    /// caller keeps the scratch alive while the buffer is used.
    ///
    /// # Errors
    /// [`Cause::Count`] if they are more than memory can hold; [`Cause::NoMemory`].
    pub fn scratch(count: u64, datatype: &Datatype) -> Result<(Scratch, Self)> {
        let (first, len) = datatype.occupied(count)?;
        let mut scratch = Scratch::new(len, first)?;
        let origin = scratch.origin(first);
        Ok((scratch, Self::at(origin, count, datatype.clone())))
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

    /// The address.
    #[must_use]
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// `count` elements, the first one `first` extents further on.
    #[must_use]
    pub fn part(&self, first: i64, count: u64) -> Self {
        let by = first.wrapping_mul(self.datatype.extent());
        Self::at(self.origin.moved(by), count, self.datatype.clone())
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

    /// Where the body of a message is that is sent from here, or received here.
    ///
    /// # Errors
    /// As [`Buffer::check`].
    pub fn area(&self) -> Result<Area> {
        Area::at(self.origin, self.count, &self.datatype)
    }

    /// The message as one run of bytes; `None` if it must be packed.
    #[must_use]
    #[inline]
    pub fn contiguous(&self) -> Option<Span> {
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

    /// All bytes that the elements occupy, gaps included.
    ///
    /// # Errors
    /// [`Cause::Count`] if they are more than memory can hold.
    pub fn occupied(&self) -> Result<Span> {
        let (first, len) = self.datatype.occupied(self.count)?;
        Ok(self.origin.at(first, len))
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
        let (before, bytes) = (out.len(), self.bytes().map_or(0, |bytes| bytes as usize));
        out.resize(before + bytes, 0);
        self.copy(0, Span::of(&mut out[before..]), Way::Out);
    }

    /// Fills `out` with the data, as far as it goes. Answers the bytes written.
    pub fn pack_into(&self, out: &mut [u8]) -> usize {
        self.copy(0, Span::of(out), Way::Out)
    }

    /// Lays the packed `bytes` into the elements; they may be fewer than there is room for, what
    /// does not fit is left out. Answers the bytes laid down.
    pub fn unpack(&self, bytes: &[u8]) -> usize {
        self.copy(0, Span::of_read(bytes), Way::Into)
    }

    /// Copies between the data from byte `from` on and `packed`, as far as both go. Answers the
    /// bytes copied.
    pub fn copy(&self, from: u64, packed: Span, way: Way) -> usize {
        let mut done = 0;
        layout::stripes(&self.datatype, self.count, from, |stripe| {
            let rest = packed.part(done, usize::MAX);
            done += self.origin.copy(stripe, rest, way);
            done < packed.len()
        });
        done
    }

    /// Copies the data of `from` into this buffer, as a message would. Answers the bytes copied.
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
            _ => {
                self.unpack(&from.pack());
            }
        }
        Ok(len)
    }
}
