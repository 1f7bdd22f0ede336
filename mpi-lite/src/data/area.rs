//! The memory of a message's body: what a link reads and writes.
//!
//! Source: MPI 5.0, 3.2.2.

use std::io::IoSlice;
use std::sync::Arc;

use super::buffer::{Buffer, run};
use super::datatype::Datatype;
use super::layout;
use crate::error::Result;
use crate::memory::{Bytes, Origin, Room, Scratch, Span};

/// The memory of a message's body: a buffer that was checked.
///
/// It is memory for which `unsafe` code has vouched, or memory of a [`Buffer`] of our own, which it
/// keeps alive. Safe code makes none of what it has borrowed:
///
/// ```compile_fail,E0277
/// # use mpi_lite::{comm::Communicator, data::Area, engine::Request, error::Result};
/// # use mpi_lite::ids::{Dest, Mode};
/// fn dangling(world: &Communicator) -> Result<Request> {
///     let mut local = [0_u8; 4];
///     world.isend(Area::from(&mut local[..]), Dest::Rank(1), 7, Mode::Standard)
/// }
/// ```
///
/// ```
/// # use mpi_lite::{comm::Communicator, data::Buffer, engine::Request, error::Result};
/// # use mpi_lite::ids::{Dest, Mode};
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
    /// [`Count`](crate::error::Cause::Count) if they are more than memory can hold;
    /// [`NullBuffer`](crate::error::Cause::NullBuffer) if there is data at the address null.
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

    /// The memory for a system call that gathers, if it is in one stretch.
    #[must_use]
    pub(crate) fn io_slice(&self) -> Option<IoSlice<'_>> {
        match self {
            Self::Run(span) => Some(span.io_slice()),
            Self::Other(other) => match &**other {
                Other::Kept(kept) => Some(kept.span.io_slice()),
                Other::Scattered(_) => None,
            },
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
    #[inline(always)]
    pub fn copy_from(&self, from: &Self) {
        match (self.span(), from.span()) {
            (Some(to), Some(from)) => {
                to.copy_from(from);
            }
            spans => self.copy_with_gaps(spans, from),
        }
    }

    #[inline(never)]
    fn copy_with_gaps(&self, spans: (Option<Span>, Option<Span>), from: &Self) {
        match spans {
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
    pub(crate) fn part(&self, at: usize, len: usize) -> AreaPart<'_> {
        match self {
            Self::Run(span) => AreaPart::Run(span.part(at, len)),
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

    fn part(&self, at: usize, len: usize) -> AreaPart<'_> {
        match self {
            Self::Kept(kept) => AreaPart::Run(kept.span.part(at, len)),
            Self::Scattered(scattered) => AreaPart::Scattered { scattered, at, len },
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
pub enum AreaPart<'a> {
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

impl AreaPart<'_> {
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

impl Buffer {
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
}
