//! One road between two ranks: slots of a cache line each, and a ring of bytes for bodies that do
//! not fit a slot.
//!
//! The sender writes a slot's words and then its stamp (release); the receiver, who knows which
//! stamp comes next, reads the stamp (acquire) and then the words. Nobody clears anything: an old
//! slot has the stamp of a former round. How far the receiver is it says now and then, not each
//! time: that line travels once for a quarter of the ring.
//!
//! What the other side writes is checked before it is used: lengths against the ring, kinds against
//! those there are. A neighbour that has gone mad gets an error, never memory of ours.
#![expect(
    unsafe_code,
    reason = "bodies lie in memory that another process shares"
)]

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::segment::{BODIES, Pair, SLOTS, WORDS};
use crate::memory::Span;

/// Bytes of a body that fits the slot, behind an envelope of two words.
pub(super) const INLINE_BYTES: usize = (WORDS - 2) * 8;

/// The longest body, or piece of one, that goes through the ring at once.
pub(super) const PIECE_BYTES: usize = BODIES / 4;

/// Where bodies begin.
const LINE: u64 = 64;

/// Bits of a stamp that say what the slot says: its kind, and a length.
const KIND_BITS: u32 = 32;

/// What a slot says: a kind with a length, and words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Note {
    /// One of the kinds of the level above, at most 255.
    pub(super) kind: u8,
    /// Bytes, below 2^24: of what lies in the slot or in the ring of bodies.
    pub(super) bytes: usize,
}

impl Note {
    #[inline]
    fn encode(self) -> u64 {
        u64::from(self.kind) | (self.bytes as u64) << 8
    }

    #[inline]
    fn decode(word: u64) -> Self {
        Self {
            kind: word as u8,
            bytes: (word as u32 >> 8) as usize,
        }
    }
}

/// The stamp of position `at`.
#[inline]
fn stamp(at: u64, note: Note) -> u64 {
    (at + 1) << KIND_BITS | note.encode()
}

/// Position in the ring of bodies where `bytes` bytes lie in one stretch, and the one behind them.
#[inline]
fn stretch(at: u64, bytes: usize) -> (u64, u64) {
    let left = BODIES as u64 - at % BODIES as u64;
    let at = if bytes as u64 > left { at + left } else { at };
    (at, (at + bytes as u64).next_multiple_of(LINE))
}

/// The `bytes` bytes at a position of the ring.
#[inline]
fn span(pair: &Pair, at: u64, bytes: usize) -> Span {
    let offset = (at % BODIES as u64) as usize;
    assert!(offset + bytes <= BODIES, "a stretch lies within the ring");
    // SAFETY: within the ring. The side that asks is the only one that touches these bytes until it
    // hands them over: the sender until it has stamped the slot that tells of them, the receiver
    // until it says that it has taken them.
    unsafe { Span::new(pair.bodies.start().add(offset), bytes) }
}

/// The sender's end.
#[derive(Debug)]
pub(super) struct Producer {
    pair: &'static Pair,
    /// Slots written so far, and where the next one is.
    at: u64,
    index: usize,
    bytes_at: u64,
    /// How far the receiver was when somebody last looked.
    taken: u64,
    bytes_taken: u64,
}

impl Producer {
    pub(super) fn new(pair: &'static Pair) -> Self {
        Self {
            pair,
            at: 0,
            index: 0,
            bytes_at: 0,
            taken: 0,
            bytes_taken: 0,
        }
    }

    /// Whether there is room for so many slots, and a body in one stretch.
    #[inline]
    pub(super) fn has_room(&mut self, slots: usize, bytes: usize) -> bool {
        self.seems_to_have_room(slots, bytes) || {
            self.look();
            self.seems_to_have_room(slots, bytes)
        }
    }

    #[inline]
    fn seems_to_have_room(&self, slots: usize, bytes: usize) -> bool {
        let has_slots = self.at + slots as u64 <= self.taken + SLOTS as u64;
        has_slots && {
            let (_, end) = stretch(self.bytes_at, bytes);
            bytes == 0 || end <= self.bytes_taken + BODIES as u64
        }
    }

    #[cold]
    fn look(&mut self) {
        let taken = &self.pair.taken;
        let slots = taken.slots.load(Acquire);
        let bytes = taken.bytes.load(Acquire);
        // Nobody can have taken what was not sent; who says so is not listened to.
        if slots <= self.at && bytes <= self.bytes_at {
            (self.taken, self.bytes_taken) = (slots, bytes);
        }
    }

    /// Where a body of `bytes` bytes is to be written. `has_room` has said that there is room.
    #[inline]
    pub(super) fn body(&mut self, bytes: usize) -> Span {
        let (at, end) = stretch(self.bytes_at, bytes);
        self.bytes_at = end;
        span(self.pair, at, bytes)
    }

    /// Writes all of the next slot, as `push` does.
    #[inline(always)]
    pub(super) fn push_line(&mut self, note: Note, words: [u64; WORDS]) {
        let slot = &self.pair.slots[self.index];
        for (place, word) in slot.words.iter().zip(words) {
            place.store(word, Relaxed);
        }
        self.publish(note);
    }

    /// Writes the next slot. `has_room` has said that there is room, and the body that it tells
    /// of is written.
    #[inline]
    pub(super) fn push(&mut self, note: Note, words: &[u64]) {
        let slot = &self.pair.slots[self.index];
        for (place, &word) in slot.words.iter().zip(words) {
            place.store(word, Relaxed);
        }
        self.publish(note);
    }

    #[inline(always)]
    fn publish(&mut self, note: Note) {
        let slot = &self.pair.slots[self.index];
        slot.stamp.store(stamp(self.at, note), Release);
        self.at += 1;
        self.index = if self.index + 1 == SLOTS {
            0
        } else {
            self.index + 1
        };
    }
}

/// The receiver's end.
#[derive(Debug)]
pub(super) struct Consumer {
    pair: &'static Pair,
    at: u64,
    index: usize,
    bytes_at: u64,
    /// How far the sender knows that we are. What it does not know of is less than a quarter of the
    /// slots and of the bytes, so one that has found no room is sure to learn when there is some.
    told: u64,
    bytes_told: u64,
}

impl Consumer {
    pub(super) fn new(pair: &'static Pair) -> Self {
        Self {
            pair,
            at: 0,
            index: 0,
            bytes_at: 0,
            told: 0,
            bytes_told: 0,
        }
    }

    /// What the next slot says, if it is there.
    #[inline]
    pub(super) fn peek(&self) -> Option<Note> {
        let word = self.pair.slots[self.index].stamp.load(Acquire);
        (word >> KIND_BITS == (self.at + 1) & u64::from(u32::MAX)).then(|| Note::decode(word))
    }

    /// Word `number` of the slot that `peek` has told of.
    #[inline]
    pub(super) fn word(&self, number: usize) -> u64 {
        self.pair.slots[self.index].words[number].load(Relaxed)
    }

    /// The body in the ring that the slot tells of.
    #[inline]
    pub(super) fn body(&self, bytes: usize) -> Option<Span> {
        if bytes > PIECE_BYTES {
            return None;
        }
        let (at, _) = stretch(self.bytes_at, bytes);
        Some(span(self.pair, at, bytes))
    }

    /// The slot, and a body of so many bytes, are done with. Answers whether the sender learns of
    /// it.
    #[inline]
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        self.at += 1;
        self.index = if self.index + 1 == SLOTS {
            0
        } else {
            self.index + 1
        };
        if bytes > 0 {
            (_, self.bytes_at) = stretch(self.bytes_at, bytes);
        }
        let is_worth_it = self.at - self.told >= SLOTS as u64 / 4
            || self.bytes_at - self.bytes_told >= BODIES as u64 / 4;
        if is_worth_it {
            self.tell();
        }
        is_worth_it
    }

    fn tell(&mut self) {
        let taken = &self.pair.taken;
        taken.slots.store(self.at, Release);
        taken.bytes.store(self.bytes_at, Release);
        (self.told, self.bytes_told) = (self.at, self.bytes_at);
    }
}
