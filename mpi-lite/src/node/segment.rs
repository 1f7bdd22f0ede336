//! The memory that all ranks of a node share: the types of its parts, and the mapping. Where they
//! lie: [`mpi_boot::node_memory`].
#![expect(unsafe_code, reason = "maps memory and gives out references into it")]

use core::cell::UnsafeCell;
use core::mem::ManuallyDrop;
use core::sync::atomic::Ordering::{AcqRel, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

pub(crate) use mpi_boot::node_memory::{
    AHEAD, BODIES, PAYLOAD_BYTES, PAYLOADS, REPLY_BUFFER_BYTES,
};
use mpi_boot::node_memory::{
    AREA_BYTES, MEMBER_SLOT_BYTES, PAIR_BYTES, REPLY_BYTES, bytes_of, exchange_at, pairs_at,
    payload_bytes, payloads_at, payloads_before, replies_at, reply_number, slots_at,
};
pub use mpi_boot::node_memory::{EXCHANGE_BYTES, PLACES, RANKS_MAX};

use super::cores::Seen;
use crate::memory::{Bytes, Room, Span};

/// Slots of a pair: with the line before them they fill two pages.
pub(crate) const SLOTS: usize = 127;

/// Words of a slot beside its sequence word.
pub(crate) const WORDS: usize = 7;

/// Long messages of a pair that both sides may copy at once: they fill a page.
pub(crate) const TRANSFERS: usize = 64;

/// Bit of [`Area::attention`]: the rank sleeps and must be woken.
pub(crate) const ASLEEP: u32 = 1;

/// Bit of [`Area::attention`]: the rank has no room for bodies that nobody waits for.
pub(crate) const FULL: u32 = 2;

/// Bit of [`Area::attention`]: the rank computes, and its ticker sleeps on the doorbell.
pub(crate) const DOZES: u32 = 4;

/// Bit of [`Area::attention`]: the ticker sleeps on this word, since the program was in MPI at its
/// last tick.
pub(crate) const PARKED: u32 = 8;

/// One cache line: what one side writes and the other reads.
#[repr(C, align(64))]
pub(crate) struct RingSlot {
    /// Position of the slot in the stream, plus one; below it the kind of the slot's contents.
    pub(crate) sequence: AtomicU64,
    pub(crate) words: [AtomicU64; WORDS],
}

/// How far the receiver is.
#[repr(C, align(64))]
pub(crate) struct Taken {
    pub(crate) slots: AtomicU64,
    /// Bytes of bodies, those that were skipped at the ring's end included.
    pub(crate) bytes: AtomicU64,
    /// Bytes of requested messages that came in the reply buffer.
    pub(crate) relayed: AtomicU64,
    /// Classes of messages that the sender is to announce, a bit for each (`choice`).
    pub(crate) announced: AtomicU64,
}

/// A long message that both sides copy.
#[repr(C, align(64))]
pub(crate) struct Transfer {
    /// Where the message goes in the receiver's memory; 0 until that is known.
    pub(crate) place: AtomicU64,
    /// Its bytes: nothing else may be written to this place.
    pub(crate) bytes: AtomicU64,
    /// Chunks that are taken: from the front, and above 32 bits from the back.
    pub(crate) claims: AtomicU64,
    /// Chunks that the sender has copied.
    pub(crate) copied: AtomicU32,
    /// The sender could not copy: the receiver does it.
    pub(crate) failed: AtomicU32,
}

/// The channel from one rank to another.
#[repr(C, align(4096))]
pub(crate) struct Pair {
    pub(crate) taken: Taken,
    pub(crate) slots: [RingSlot; SLOTS],
    pub(crate) transfers: [Transfer; TRANSFERS],
    pub(crate) bodies: Bodies,
}

/// What two ranks pass to each other: a slot, and a buffer for bodies. `reply_slot` decides which
/// rank has them.
#[repr(C, align(4096))]
pub(crate) struct Reply {
    pub(crate) slot: RingSlot,
    body: UnsafeCell<[u8; REPLY_BUFFER_BYTES]>,
}

// SAFETY: both sides reach the bytes through raw pointers only; the slot's sequence word hands them
// over with release and acquire.
unsafe impl Sync for Reply {}

impl Reply {
    /// The `bytes` bytes at `at` of the buffer; `None` if they do not lie within it.
    #[inline(always)]
    pub(crate) fn part(&self, at: usize, bytes: usize) -> Option<Span> {
        let is_within = at <= REPLY_BUFFER_BYTES && bytes <= REPLY_BUFFER_BYTES - at;
        // SAFETY: within the buffer. Only the side that has the reply slot writes it. The other
        // side reads what slots have named, before it has the reply slot itself.
        is_within.then(|| unsafe { Span::new(self.body.get().cast::<u8>().add(at), bytes) })
    }
}

/// A ring of bytes. `ring` decides which side may touch which of them.
#[repr(C, align(4096))]
pub(crate) struct Bodies(UnsafeCell<[u8; BODIES]>);

// SAFETY: both sides reach the bytes through raw pointers only, at places that the sequence words
// and `Taken` hand over with release and acquire.
unsafe impl Sync for Bodies {}

impl Bodies {
    pub(crate) fn start(&self) -> *mut u8 {
        self.0.get().cast()
    }
}

/// What a rank has at a place. Lines and counters are used in turn: see `site`.
#[repr(C, align(128))]
pub(crate) struct MemberSlot {
    /// What the rank brings: it writes, the others read.
    pub(crate) brought: [RingSlot; AHEAD],
    /// The result: at the slot of the first member. The last member to come writes it.
    pub(crate) results: [RingSlot; 2],
    /// How many have come: at the slot of the first member, counted by all.
    pub(crate) come: Count,
    /// How many have brought something to this rank alone.
    pub(crate) given: [Count; AHEAD],
    /// The epoch to which the rank came last, times two, and one more if it holds messages back
    /// that did not fit their channels.
    pub(crate) at: Count,
    /// The epoch with which the rank has left its last communicator here.
    pub(crate) left: Count,
    /// At the slot of the first member: a number that all members share, whatever it is for.
    pub(crate) shared: Count,
}

/// A number that has its cache line for itself.
#[repr(C, align(64))]
pub(crate) struct Count(pub(crate) AtomicU64);

impl core::fmt::Debug for MemberSlot {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("MemberSlot")
            .field("come", &self.come.0)
            .field("left", &self.left.0)
            .finish_non_exhaustive()
    }
}

/// Room for what does not fit a line.
#[derive(Clone, Copy)]
pub(crate) struct Payloads {
    start: *mut u8,
    /// Bytes of one.
    each: usize,
}

// SAFETY: both sides reach the bytes through raw pointers only; a payload is written before the
// sequence word of its line, and read after.
unsafe impl Sync for Payloads {}
// SAFETY: as above. The memory stays mapped as long as the process lives.
unsafe impl Send for Payloads {}

impl Payloads {
    /// The first `bytes` bytes of a payload, or all.
    pub(crate) fn span(&self, payload: usize, bytes: usize) -> Span {
        assert!(payload < PAYLOADS && bytes <= self.each, "within a payload");
        // SAFETY: within the payloads. `site` hands them over by the sequence words of the lines.
        unsafe { Span::new(self.start.add(payload * self.each), bytes) }
    }

    /// Bytes of one.
    pub(crate) fn each(&self) -> usize {
        self.each
    }
}

impl core::fmt::Debug for Payloads {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Payloads").finish_non_exhaustive()
    }
}

/// Room for what ranks exchange. A rank has a send buffer and a receive buffer. At each place it
/// has a broadcast buffer, which is used if this rank is the first of the members there.
#[repr(C, align(4096))]
pub(crate) struct ExchangeBuffer(UnsafeCell<[u8; EXCHANGE_BYTES]>);

// SAFETY: both sides reach the bytes through raw pointers only; the counters and sequence words of
// the epoch decide which member may touch them (`exchange`).
unsafe impl Sync for ExchangeBuffer {}

impl ExchangeBuffer {
    /// All of it.
    pub(crate) fn span(&self) -> Span {
        // SAFETY: all of the buffer. `exchange` hands it over by counters and sequence words.
        unsafe { Span::new(self.0.get().cast(), EXCHANGE_BYTES) }
    }
}

impl core::fmt::Debug for ExchangeBuffer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("ExchangeBuffer").finish_non_exhaustive()
    }
}

/// The data of a rank that all ranks of the node may read.
#[repr(C, align(64))]
pub(crate) struct Area {
    /// Bits that senders must check: [`ASLEEP`], [`FULL`], [`DOZES`], [`PARKED`].
    pub(crate) attention: AtomicU32,
    line: [u64; 7],
    /// Its process, and a word of its memory with what is written there: a rank that can read that
    /// word can copy from and to its memory.
    pub(crate) process: AtomicU64,
    pub(crate) witness_at: AtomicU64,
    pub(crate) witness: AtomicU64,
    /// Senders have to make their stores visible themselves before they look at `attention`.
    pub(crate) needs_fence: AtomicU64,
    /// What its offers of descriptors are named and proven by (`passage`); 0 before its first one.
    pub(crate) passage: [AtomicU64; 2],
    rest: [u64; 2],
    /// The ranks that have ever sent something to it, a bit for each rank of the node.
    pub(crate) callers: [AtomicU64; RANKS_MAX as usize / 64],
    /// The part of the machine that it may use.
    pub(crate) cores: Seen,
}

impl core::fmt::Debug for Area {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Area")
            .field("attention", &self.attention)
            .field("process", &self.process)
            .finish_non_exhaustive()
    }
}

impl core::fmt::Debug for RingSlot {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("RingSlot")
            .field("sequence", &self.sequence)
            .finish_non_exhaustive()
    }
}

impl core::fmt::Debug for Reply {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Reply")
            .field("slot", &self.slot)
            .finish_non_exhaustive()
    }
}

impl core::fmt::Debug for Pair {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Pair").finish_non_exhaustive()
    }
}

impl core::fmt::Debug for Transfer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Transfer")
            .field("place", &self.place)
            .field("bytes", &self.bytes)
            .field("claims", &self.claims)
            .finish_non_exhaustive()
    }
}

impl Area {
    /// Stores which process this is, and what is written at an address of its memory.
    pub(crate) fn present(&self, process: u32, (witness_at, witness): (u64, u64)) {
        self.witness_at.store(witness_at, Relaxed);
        self.witness.store(witness, Relaxed);
        self.process.store(u64::from(process), Release);
    }

    /// Returns true if bodies have to stay with their senders until they are asked for.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.attention.load(Relaxed) & FULL != 0
    }

    pub(crate) fn set_full(&self, is_full: bool) {
        if is_full {
            self.attention.fetch_or(FULL, Relaxed);
        } else {
            self.attention.fetch_and(!FULL, Relaxed);
        }
    }

    /// Notes for the rank that `caller` sends to it from now on.
    pub(crate) fn introduce(&self, caller: u32) {
        self.callers[caller as usize / 64].fetch_or(1 << (caller % 64), AcqRel);
    }
}

const _: () = assert!(size_of::<Area>() == AREA_BYTES && size_of::<Pair>() == PAIR_BYTES);
const _: () = assert!(size_of::<Reply>() == REPLY_BYTES);
const _: () = assert!(size_of::<MemberSlot>() == MEMBER_SLOT_BYTES);

/// A file in memory, mapped as long as this lives.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: *mut u8,
    len: usize,
}

// SAFETY: an address and a length. The words are atomic; which thread or process may touch other
// bytes is decided by words, or by MPI's rules on the memory of windows.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the first `len` bytes of `memory`, which must be as long for ever.
    ///
    /// # Errors
    /// Those of mmap(2); `EINVAL` without bytes.
    pub(crate) fn new(memory: &OwnedFd, len: usize) -> io::Result<Self> {
        // SAFETY: a new mapping at an address that the system chooses.
        let start = unsafe {
            libc::mmap(
                core::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_NORESERVE,
                memory.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = start.cast();
        Ok(Self { start, len })
    }

    /// All of it, as words that any rank may read and write at any time.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        // SAFETY: within the mapping, which lives as long as `self`; aligned, because it begins
        // with a page; any bytes are valid words.
        unsafe { core::slice::from_raw_parts(self.start.cast(), self.len / size_of::<AtomicU64>()) }
    }

    /// Where it begins, for a program that gets it as the memory of a window.
    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    /// Fills `to` with the bytes from `at` on; beyond the end there are none. Returns how many.
    pub(crate) fn read(&self, at: usize, mut to: Room<'_>) -> usize {
        to.copy_from(self.span().part(at, self.len))
    }

    /// Writes `from` at `at`; what does not fit is left out. Returns how many bytes.
    pub(crate) fn write(&self, at: usize, from: Bytes<'_>) -> usize {
        self.span().part(at, self.len).copy_from(from)
    }

    /// All of it. The owner keeps the mapping while the span is used.
    pub(crate) fn span(&self) -> Span {
        // SAFETY: the whole mapping; whoever asks uses it only while `self` lives.
        unsafe { Span::new(self.start, self.len) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing that leads into it outlives `self`.
        unsafe { libc::munmap(self.start.cast(), self.len) };
    }
}

/// The memory that the ranks of a node share from Init on, mapped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    base: &'static Base,
    ranks: u32,
}

/// Where the memory and its parts begin.
#[derive(Debug)]
struct Base {
    areas: *mut u8,
    pairs: *mut u8,
    replies: *mut u8,
    slots: *mut u8,
    payloads: *mut u8,
    exchange: *mut u8,
}

// SAFETY: addresses; everything reached through them is atomic, or handed over by atomics.
unsafe impl Sync for Base {}

impl Base {
    /// The parts of the memory of `ranks` ranks at `start`.
    fn leak(start: *mut u8, ranks: u32) -> &'static Self {
        let at = |offset: u64| start.wrapping_add(offset as usize);
        Box::leak(Box::new(Self {
            areas: start,
            pairs: at(pairs_at(ranks)),
            replies: at(replies_at(ranks)),
            slots: at(slots_at(ranks)),
            payloads: at(payloads_at(ranks)),
            exchange: at(exchange_at(ranks)),
        }))
    }
}

impl Segment {
    /// Maps `memory` for as long as the process lives. To unmap it earlier would be safe only if no
    /// thread were in the middle of a call; the system does it at the end.
    ///
    /// # Errors
    /// The memory is smaller than `ranks` ranks need, or the system does not map it.
    pub(crate) fn map(memory: &OwnedFd, ranks: u32) -> io::Result<Self> {
        let bytes = bytes_of(ranks);
        let has = rustix::fs::fstat(memory)?.st_size;
        if ranks > RANKS_MAX || u64::try_from(has).unwrap_or(0) < bytes {
            let what = format!("{has} bytes are too few for {ranks} ranks");
            return Err(io::Error::other(what));
        }
        let len = usize::try_from(bytes).map_err(io::Error::other)?;
        let mapping = ManuallyDrop::new(Mapping::new(memory, len)?);
        let base = Base::leak(mapping.start, ranks);
        Ok(Self { base, ranks })
    }

    /// Memory of this process alone, for ranks that are all in it: Miri has no other.
    #[cfg(test)]
    pub(crate) fn alone(ranks: u32) -> Self {
        let bytes = usize::try_from(bytes_of(ranks)).expect("a few ranks");
        let layout = std::alloc::Layout::from_size_align(bytes, 4096).expect("a few ranks");
        // SAFETY: there are more than no bytes; nobody frees them.
        let base = unsafe { std::alloc::alloc_zeroed(layout) };
        let base = Base::leak(base, ranks);
        Self { base, ranks }
    }

    /// How many ranks share it.
    pub(crate) fn ranks(self) -> u32 {
        self.ranks
    }

    /// The area of local rank `rank`.
    pub(crate) fn area(self, rank: u32) -> &'static Area {
        assert!(rank < self.ranks, "a rank of this node");
        // SAFETY: within the mapping (checked by `map`), which is never undone; aligned, because it
        // begins with a page; any bytes are a valid area.
        unsafe { &*self.base.areas.cast::<Area>().add(rank as usize) }
    }

    /// The channel from local rank `from` to local rank `to`.
    pub(crate) fn pair(self, from: u32, to: u32) -> &'static Pair {
        assert!(from < self.ranks && to < self.ranks, "ranks of this node");
        let number = from as usize * self.ranks as usize + to as usize;
        // SAFETY: as above; any bytes are a valid pair.
        unsafe { &*self.base.pairs.cast::<Pair>().add(number) }
    }

    /// What two ranks pass to each other.
    pub(crate) fn reply(self, one: u32, other: u32) -> &'static Reply {
        assert!(one < self.ranks && other < self.ranks, "ranks of this node");
        let number = reply_number(one.min(other), one.max(other)) as usize;
        // SAFETY: as above; any bytes are a valid reply.
        unsafe { &*self.base.replies.cast::<Reply>().add(number) }
    }

    /// The index of local rank `rank` at `place`.
    fn at_place(self, place: u32, rank: u32) -> usize {
        assert!(place < PLACES && rank < self.ranks, "a rank of this node");
        place as usize * self.ranks as usize + rank as usize
    }

    /// The slot of local rank `rank` at `place`.
    pub(crate) fn slot(self, place: u32, rank: u32) -> &'static MemberSlot {
        let number = self.at_place(place, rank);
        // SAFETY: as above; any bytes are a valid slot.
        unsafe { &*self.base.slots.cast::<MemberSlot>().add(number) }
    }

    /// The payloads of local rank `rank` at `place`.
    pub(crate) fn payloads(self, place: u32, rank: u32) -> Payloads {
        // It checks both numbers.
        let _ = self.at_place(place, rank);
        let each = payload_bytes(place);
        let before = payloads_before(place, self.ranks) as usize;
        let start = self.base.payloads;
        Payloads {
            start: start.wrapping_add(before + rank as usize * PAYLOADS * each),
            each,
        }
    }

    /// The send buffer of local rank `rank`.
    pub(crate) fn send_buffer(self, rank: u32) -> &'static ExchangeBuffer {
        self.exchange_buffer(self.at_place(0, rank))
    }

    /// The receive buffer of local rank `rank`.
    pub(crate) fn receive_buffer(self, rank: u32) -> &'static ExchangeBuffer {
        self.exchange_buffer(self.at_place(1, rank))
    }

    /// The broadcast buffer of the members at `place`; `rank` is the first of them.
    pub(crate) fn broadcast_buffer(self, place: u32, rank: u32) -> &'static ExchangeBuffer {
        self.exchange_buffer(2 * self.ranks as usize + self.at_place(place, rank))
    }

    fn exchange_buffer(self, number: usize) -> &'static ExchangeBuffer {
        assert!(number < (2 + PLACES as usize) * self.ranks as usize);
        // SAFETY: as above; any bytes are a valid buffer.
        unsafe { &*self.base.exchange.cast::<ExchangeBuffer>().add(number) }
    }
}
