//! Long messages: both sides copy at once.
//!
//! A message is cut into chunks. The receiver takes them from one end and reads them out of the
//! sender's memory (`process_vm_readv`); a sender that has nothing else to do takes them from the
//! other end and writes them into the receiver's (`process_vm_writev`). They may meet anywhere: a
//! sender that computes leaves all of it to the receiver, a sender that waits does half.
//!
//! A rank has the same end whether it sends or receives: the rank with the lower number copies from
//! the back. So when data goes to and fro between the same places, each half stays with the core
//! that copied it before; otherwise each half would cross to the other core each time.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crate::memory::Span;
use crate::node::peer_memory::{PeerMemory, Unreachable};
use crate::node::segment::Transfer;

/// Bytes of the shortest chunk, and of the longest.
const CHUNK_MIN: usize = 16 << 10;
const CHUNK_MAX: usize = 512 << 10;

/// A message is cut into about this many chunks, one for each side: each costs a system call, and a
/// line that both sides write. 256 KiB take a quarter longer in four chunks.
const CHUNKS: usize = 2;

/// How a message of `bytes` bytes is cut: the same on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    bytes: usize,
    chunk: usize,
}

impl Cut {
    pub(super) fn of(bytes: usize) -> Self {
        let chunk = (bytes / CHUNKS).next_multiple_of(4096);
        Self {
            bytes,
            chunk: chunk.clamp(CHUNK_MIN, CHUNK_MAX),
        }
    }

    /// How the receiver cuts a message that it copies alone.
    fn alone(bytes: usize) -> Self {
        Self {
            bytes,
            chunk: CHUNK_MAX,
        }
    }

    pub(super) fn chunks(self) -> u32 {
        u32::try_from(self.bytes.div_ceil(self.chunk)).unwrap_or(u32::MAX)
    }

    /// Offset and length of a chunk.
    fn chunk(self, number: u32) -> (usize, usize) {
        let at = number as usize * self.chunk;
        (at, self.chunk.min(self.bytes - at))
    }
}

/// From which end a side takes its chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Front,
    Back,
}

impl Side {
    /// The end of rank `me` in transfers with rank `other`, in both directions.
    pub(super) fn of(me: u32, other: u32) -> Self {
        if me > other { Self::Front } else { Self::Back }
    }

    fn other(self) -> Self {
        match self {
            Self::Front => Self::Back,
            Self::Back => Self::Front,
        }
    }
}

impl Transfer {
    pub(super) fn reset(&self) {
        self.claims.store(0, Relaxed);
        self.copied.store(0, Relaxed);
        self.failed.store(0, Relaxed);
        self.place.store(0, Release);
    }

    /// Takes the next chunk of a side; `None` if all are taken.
    fn claim(&self, cut: Cut, side: Side) -> Option<u32> {
        let chunks = u64::from(cut.chunks());
        let mut claims = self.claims.load(Relaxed);
        loop {
            let (front, back) = (claims & u64::from(u32::MAX), claims >> 32);
            if front + back >= chunks {
                return None;
            }
            let (next, number) = match side {
                Side::Front => (claims + 1, front),
                Side::Back => (claims + (1 << 32), chunks - 1 - back),
            };
            match self
                .claims
                .compare_exchange_weak(claims, next, AcqRel, Relaxed)
            {
                Ok(_) => return u32::try_from(number).ok(),
                Err(seen) => claims = seen,
            }
        }
    }

    /// Returns true if the receiver has stored where the message goes.
    pub(super) fn has_place(&self) -> bool {
        self.place.load(Relaxed) != 0
    }

    /// Returns true if all chunks are taken.
    fn is_taken(&self, cut: Cut) -> bool {
        let claims = self.claims.load(Acquire);
        (claims & u64::from(u32::MAX)) + (claims >> 32) >= u64::from(cut.chunks())
    }

    /// Chunks that were taken from that end.
    fn taken_by(&self, side: Side) -> u32 {
        let claims = self.claims.load(Acquire);
        match side {
            Side::Front => claims as u32,
            Side::Back => (claims >> 32) as u32,
        }
    }
}

/// How far a copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// There is more to do.
    Going,
    /// The other side has not copied all that it took.
    Waiting,
    /// All is there.
    Done,
    /// The system does not copy any more.
    Failed,
}

/// Where the receiver finds a long message.
#[derive(Debug)]
pub(super) struct Origin {
    /// The sender of the message.
    pub(super) from: u32,
    pub(super) local_peer: PeerMemory,
    /// The receiver's side.
    pub(super) side: Side,
    /// Where it is in the sender's memory.
    pub(super) address: u64,
}

/// The receiver's part in a long message.
#[derive(Debug)]
pub(super) struct Copying {
    pub(super) origin: Origin,
    place: Span,
    cut: Cut,
    transfer: Option<&'static Transfer>,
    /// Chunks copied, if the sender has no part in it.
    alone: u32,
    /// Bytes copied since `take_count` was last called.
    bytes: u64,
}

impl Copying {
    /// Begins to copy a message of `bytes` bytes to `place`. Bytes that do not fit are left out.
    pub(super) fn begin(
        origin: Origin,
        bytes: u64,
        place: Span,
        transfer: Option<&'static Transfer>,
    ) -> Self {
        let is_whole = place.len() as u64 >= bytes;
        let bytes = if is_whole {
            bytes as usize
        } else {
            place.len()
        };
        // The sender is not told which bytes are left out.
        let transfer = transfer.filter(|_| is_whole);
        if let Some(transfer) = transfer {
            transfer.bytes.store(bytes as u64, Relaxed);
            transfer.place.store(place.address(), Release);
        }
        let cut = transfer.map_or_else(|| Cut::alone(bytes), |_| Cut::of(bytes));
        Self {
            origin,
            place,
            cut,
            transfer,
            alone: 0,
            bytes: 0,
        }
    }

    /// Copies the next chunk.
    pub(super) fn go_on(&mut self) -> Progress {
        let next = match self.transfer {
            Some(transfer) => transfer.claim(self.cut, self.origin.side),
            None => (self.alone < self.cut.chunks()).then_some(self.alone),
        };
        let Some(number) = next else {
            return self.finish();
        };
        self.alone += 1;
        self.bytes += self.cut.chunk(number).1 as u64;
        match self.copy(number) {
            Ok(()) => Progress::Going,
            Err(_) => Progress::Failed,
        }
    }

    /// Returns true if only chunks that the sender has taken are left to wait for.
    pub(super) fn waits_for_sender(&self) -> bool {
        self.transfer.is_some_and(|transfer| {
            let taken = transfer.taken_by(self.origin.side.other());
            let is_awaited = transfer.copied.load(Acquire) < taken && taken <= self.cut.chunks();
            is_awaited && transfer.is_taken(self.cut) && transfer.failed.load(Acquire) == 0
        })
    }

    /// How many bytes were copied since the last time.
    pub(super) fn take_count(&mut self) -> u64 {
        core::mem::take(&mut self.bytes)
    }

    fn copy(&self, number: u32) -> Result<(), Unreachable> {
        let (at, len) = self.cut.chunk(number);
        // The system checks the address that a local peer has stored.
        let there = self.origin.address.wrapping_add(at as u64);
        self.origin.local_peer.read(there, self.place.part(at, len))
    }

    fn finish(&self) -> Progress {
        let Some(transfer) = self.transfer else {
            return Progress::Done;
        };
        let (taken, chunks) = (
            transfer.taken_by(self.origin.side.other()),
            self.cut.chunks(),
        );
        if taken > chunks {
            return Progress::Failed;
        }
        if transfer.copied.load(Acquire) >= taken {
            return Progress::Done;
        }
        if transfer.failed.load(Acquire) == 0 {
            return Progress::Waiting;
        }
        let mut left = match self.origin.side {
            Side::Front => chunks - taken..chunks,
            Side::Back => 0..taken,
        };
        let rest = left.try_for_each(|number| self.copy(number));
        match rest {
            Ok(()) => Progress::Done,
            Err(_) => Progress::Failed,
        }
    }
}

/// The sender's part: copies a chunk of `body`, if the receiver has stored where the message goes
/// and one is left. Returns the bytes copied.
pub(super) fn help((local_peer, side): (PeerMemory, Side), body: Span, transfer: &Transfer) -> u64 {
    let place = transfer.place.load(Acquire);
    let is_meant = transfer.bytes.load(Relaxed) == body.len() as u64;
    if place == 0 || !is_meant || transfer.failed.load(Relaxed) != 0 {
        return 0;
    }
    let cut = Cut::of(body.len());
    let Some(number) = transfer.claim(cut, side) else {
        return 0;
    };
    let (at, len) = cut.chunk(number);
    let there = place.wrapping_add(at as u64);
    if local_peer.write(there, body.part(at, len)).is_err() {
        transfer.failed.store(1, Release);
        return 0;
    }
    transfer.copied.fetch_add(1, Release);
    len as u64
}
