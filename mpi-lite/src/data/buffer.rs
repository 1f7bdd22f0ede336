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

/// The memory of a message's body: a buffer that was checked.
///
/// It is memory for which `unsafe` code has vouched, or memory of a [`Buffer`] of our own, which it
/// keeps alive. Safe code makes none of what it has borrowed:
///
/// ```compile_fail,E0277
/// # use mpi_lite::{comm::Communicator, data::Area, engine::Request, error::Result, ids::{Dest, Mode}};
/// fn dangling(world: &Communicator) -> Result<Request> {
///     let mut local = [0_u8; 4];
///     world.isend(Area::from(&mut local[..]), Dest::Rank(1), 7, Mode::Standard)
/// }
/// ```
///
/// ```
/// # use mpi_lite::{comm::Communicator, data::Buffer, engine::Request, error::Result, ids::{Dest, Mode}};
/// fn kept(world: &Communicator) -> Result<Request> {
///     let buffer = Buffer::holding(&[0_u8; 4])?;
///     world.isend(buffer.area()?, Dest::Rank(1), 7, Mode::Standard)
/// }
/// ```
#[derive(Clone, Debug)]
pub enum Area {
    /// One run of bytes of the program.
    Run(Span),
    /// Anything else. In one box, so that what uses a run need not tell the others apart.
    Other(Box<Other>),
}

/// The memory of a body that is no run of bytes of the program.
#[derive(Clone, Debug)]
pub enum Other {
    /// A run of bytes of our own, which live as long as this.
    Kept(Kept),
    /// Data with gaps.
    Scattered(Scattered),
}

/// A run of bytes of our own.
#[derive(Clone, Debug)]
pub struct Kept {
    span: Span,
    memory: Arc<Scratch>,
}

/// Data with gaps on both sides is packed in pieces of this many bytes, which stay in the caches.
const STAGED_BYTES: usize = 1 << 15;

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

    /// Returns true if there is no data.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Lays the packed `bytes` down; what does not fit is left out.
    pub fn unpack(&self, bytes: &[u8]) {
        self.buffer.unpack(bytes);
    }

    /// Appends the runs in which `len` bytes of the data lie, from byte `from` on, to `runs`, as
    /// long as these are at most `most`. Returns true if they are.
    pub fn append_runs(
        &self,
        (from, len): (usize, usize),
        most: usize,
        runs: &mut Vec<Span>,
    ) -> bool {
        let Buffer {
            origin,
            count,
            datatype,
            ..
        } = &self.buffer;
        let (mut left, end) = (len, runs.len() + most);
        layout::stripes(datatype, *count, from as u64, |stripe| {
            stripe.runs().all(|(place, bytes)| {
                if left == 0 || runs.len() == end {
                    return false;
                }
                let bytes = left.min(bytes as usize);
                runs.push(origin.at(place, bytes));
                left -= bytes;
                true
            })
        });
        left == 0
    }
}

impl Area {
    /// No bytes at all.
    pub const EMPTY: Self = Self::Run(Span::EMPTY);

    /// For unit tests, which keep the bytes in place themselves.
    #[cfg(test)]
    pub(crate) fn of_bytes(bytes: &mut [u8]) -> Self {
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
            None => Self::scattered(buffer, bytes),
        })
    }

    /// A run of bytes of our own.
    #[inline(never)]
    fn kept(span: Span, memory: &Arc<Scratch>) -> Self {
        let memory = Arc::clone(memory);
        Self::Other(Box::new(Other::Kept(Kept { span, memory })))
    }

    fn scattered(buffer: Buffer, bytes: u64) -> Self {
        Self::Other(Box::new(Other::Scattered(Scattered { buffer, bytes })))
    }

    /// Returns true if it is memory of our own, without gaps.
    pub(crate) fn is_kept(&self) -> bool {
        matches!(self, Self::Other(other) if matches!(**other, Other::Kept(_)))
    }

    /// Bytes of data.
    #[inline]
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Run(span) => span.len() as u64,
            Self::Other(other) => other.len(),
        }
    }

    /// Returns true if there is no data.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the data to `out`.
    #[inline]
    pub fn append_to(&self, out: &mut Vec<u8>) {
        match self {
            Self::Run(span) => span.append_to(out),
            Self::Other(other) => other.append_to(out),
        }
    }

    /// The memory, if it is in one stretch. The area outlives the use of the span.
    #[inline]
    #[must_use]
    pub(crate) fn span(&self) -> Option<Span> {
        match self {
            Self::Run(span) => Some(*span),
            Self::Other(other) => other.span(),
        }
    }

    /// The `len` bytes from byte `at` on, if the memory is in one stretch.
    #[must_use]
    pub fn cut(&self, at: usize, len: usize) -> Option<Self> {
        match self {
            Self::Run(span) => Some(Self::Run(span.part(at, len))),
            Self::Other(other) => match &**other {
                Other::Kept(kept) => Some(Self::kept(kept.span.part(at, len), &kept.memory)),
                Other::Scattered(_) => None,
            },
        }
    }

    /// Fills `room` with the data from byte `at` on, as far as it goes.
    #[inline]
    pub fn read<'a>(&self, at: usize, room: impl Into<Room<'a>>) {
        let mut room = room.into();
        match self {
            Self::Run(span) => room.copy_from(span.part(at, room.len())),
            Self::Other(other) => other.read(at, room),
        };
    }

    /// Lays `bytes` down from data byte `at` on; what does not fit is left out.
    #[inline]
    pub fn write<'a>(&self, at: usize, bytes: impl Into<Bytes<'a>>) {
        let bytes = bytes.into();
        match self {
            Self::Run(span) => span.part(at, bytes.len()).copy_from(bytes),
            Self::Other(other) => other.write(at, bytes),
        };
    }

    /// Lays the data of `from` down, as far as both go.
    #[inline]
    pub fn copy_from(&self, from: &Self) {
        match (self.span(), from.span()) {
            (Some(to), Some(from)) => {
                to.copy_from(from);
            }
            (None, Some(span)) => self.write(0, span),
            (Some(span), None) => from.read(0, span),
            (None, None) => {
                let len = self.len().min(from.len()) as usize;
                let mut staged = vec![0; len.min(STAGED_BYTES)];
                for at in (0..len).step_by(STAGED_BYTES) {
                    let piece = &mut staged[..STAGED_BYTES.min(len - at)];
                    from.read(at, &mut *piece);
                    self.write(at, &*piece);
                }
            }
        }
    }

    /// `len` bytes of the data, from byte `at` on.
    #[inline]
    #[must_use]
    pub(crate) fn part(&self, at: usize, len: usize) -> Part<'_> {
        match self {
            Self::Run(span) => Part::Run(span.part(at, len)),
            Self::Other(other) => other.part(at, len),
        }
    }
}

impl Other {
    fn len(&self) -> u64 {
        match self {
            Self::Kept(kept) => kept.span.len() as u64,
            Self::Scattered(scattered) => scattered.bytes,
        }
    }

    fn append_to(&self, out: &mut Vec<u8>) {
        match self {
            Self::Kept(kept) => kept.span.append_to(out),
            Self::Scattered(scattered) => scattered.buffer.append_to(out),
        }
    }

    fn span(&self) -> Option<Span> {
        match self {
            Self::Kept(kept) => Some(kept.span),
            Self::Scattered(_) => None,
        }
    }

    #[inline(never)]
    fn read(&self, at: usize, mut room: Room<'_>) -> usize {
        match self {
            Self::Kept(kept) => room.copy_from(kept.span.part(at, room.len())),
            Self::Scattered(scattered) => scattered.buffer.copy_out(at as u64, room),
        }
    }

    #[inline(never)]
    fn write(&self, at: usize, bytes: Bytes<'_>) -> usize {
        match self {
            Self::Kept(kept) => kept.span.part(at, bytes.len()).copy_from(bytes),
            Self::Scattered(scattered) => scattered.buffer.copy_in(at as u64, bytes),
        }
    }

    fn part(&self, at: usize, len: usize) -> Part<'_> {
        match self {
            Self::Kept(kept) => Part::Run(kept.span.part(at, len)),
            Self::Scattered(scattered) => Part::Scattered { scattered, at, len },
        }
    }
}

impl From<Span> for Area {
    #[inline]
    fn from(span: Span) -> Self {
        Self::Run(span)
    }
}

/// Some of the data of an area.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// One run of bytes.
    Run(Span),
    /// `len` bytes of data from byte `at` on.
    Scattered {
        /// All of it.
        scattered: &'a Scattered,
        /// The first byte.
        at: usize,
        /// Bytes, all of which are there.
        len: usize,
    },
}

impl Part<'_> {
    /// No bytes at all.
    pub const EMPTY: Self = Self::Run(Span::EMPTY);

    /// Bytes of data.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        match *self {
            Self::Run(span) => span.len(),
            Self::Scattered { len, .. } => len,
        }
    }

    /// Returns true if there is no data.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The `bytes` bytes from byte `from` of the part on.
    #[inline]
    #[must_use]
    pub fn part(&self, from: usize, bytes: usize) -> Self {
        match *self {
            Self::Run(span) => Self::Run(span.part(from, bytes)),
            Self::Scattered { scattered, at, .. } => Self::Scattered {
                scattered,
                at: at + from,
                len: bytes,
            },
        }
    }

    /// Appends the data to `out`.
    #[inline]
    pub fn append_to(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Run(span) => span.append_to(out),
            Self::Scattered { scattered, at, len } => {
                let fill = |room: Room<'_>| scattered.buffer.copy_out(at as u64, room);
                Span::append_filled(out, len, fill);
            }
        }
    }
}

/// `count` elements of a datatype at an address.
#[derive(Clone, Debug)]
pub struct Buffer {
    origin: Origin,
    count: u64,
    datatype: Datatype,
    /// Memory of our own in which the elements lie.
    memory: Option<Arc<Scratch>>,
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

    /// Returns the memory of the body of a message that is sent from here, or received here.
    ///
    /// # Errors
    /// As [`Buffer::check`].
    pub fn area(&self) -> Result<Area> {
        match &self.memory {
            None => Area::at(self.origin, self.count, &self.datatype),
            Some(memory) => self.area_in(memory),
        }
    }

    #[inline(never)]
    fn area_in(&self, memory: &Arc<Scratch>) -> Result<Area> {
        let (buffer, bytes) = (self.clone(), self.check()?);
        Ok(match self.contiguous() {
            Some(span) => Area::kept(span, memory),
            None => Area::scattered(buffer, bytes),
        })
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
    pub fn pack_into(&self, out: &mut [u8]) -> usize {
        self.copy_out(0, out)
    }

    /// Lays the packed `bytes` into the elements; they may be fewer than there is room for, what
    /// does not fit is left out. Returns the bytes laid down.
    pub fn unpack(&self, bytes: &[u8]) -> usize {
        self.copy_in(0, bytes)
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
