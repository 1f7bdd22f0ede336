//! One channel between two ranks: slots of a cache line each, and a ring of bytes for bodies that
//! do not fit a slot.
//!
//! The sender writes a slot's words and then its sequence word (release). The receiver, which
//! expects a certain sequence word, reads it (acquire) and then the words. Nobody clears anything:
//! an old slot has the sequence word of a former round. The receiver stores how far it is now and
//! then, not each time: that line crosses once for a quarter of the ring.
//!
//! The ring of bytes is used only as far as it is needed. Beyond its reach the receiver stores when
//! all is taken, and the sender starts over. So most of a channel with little traffic is never
//! touched.
//!
//! What the other side writes is checked before it is used: lengths against the ring, kinds against
//! the known ones. A local peer that writes nonsense causes an error, never an access out of
//! bounds.
#![expect(
    unsafe_code,
    reason = "bodies lie in memory that another process shares"
)]

use core::num::NonZeroUsize;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::Arc;

use super::reply_slot::ReplySlot;
pub(super) use super::sequence::SlotHeader;
use super::sequence::{BodyPlace, KIND_BITS, sequence};
use crate::memory::Span;
use crate::node::segment::{BODIES, Pair, REPLY_BUFFER_BYTES, RingSlot, SLOTS, WORDS};

/// Bytes of a body that fits the slot, behind an envelope of two words.
pub(super) const INLINE_BYTES: usize = (WORDS - 2) * 8;

/// Bytes of a body that fits the slot, behind an envelope and a name.
pub(super) const REGISTERED_BYTES: usize = INLINE_BYTES - 8;

/// A body of at most [`REGISTERED_BYTES`].
pub(super) type RegisteredWords = [u64; REGISTERED_BYTES / 8];

/// The longest body, or piece of one, that goes through the ring at once.
pub(super) const PIECE_BYTES: usize = BODIES / 8;

/// Where bodies begin.
const LINE: u64 = 64;

/// A part of the ring of bodies. The receiver stores its position after each.
const QUARTER: u64 = BODIES as u64 / 4;

/// How far into the ring of bodies a channel between two of `ranks` ranks goes, before the sender
/// starts over if all is taken. Between a few ranks that is half of the ring, because it takes
/// longer to write lines that the receiver still has in its cache; less where there are many
/// channels, because their pages add up.
pub(super) fn reach(ranks: u32) -> u64 {
    const FEW: u64 = 4;
    const LEAST: u64 = 16 * 1024;
    let most = BODIES as u64 / 2;
    (most * FEW / u64::from(ranks.max(1))).clamp(LEAST.min(most), most)
}

/// The longest piece that goes through the reply buffer: the receiver copies one while the next is
/// written.
pub(super) const RELAY_PIECE_BYTES: usize = REPLY_BUFFER_BYTES / 16;

/// How much of the reply buffer is used between two of `ranks` ranks, in whole pieces. Its pages
/// add up as those of the ring do.
pub(super) fn relay_reach(ranks: u32) -> NonZeroUsize {
    const FEW: usize = 4;
    const PIECE: NonZeroUsize = NonZeroUsize::new(RELAY_PIECE_BYTES).expect("not 0");
    let most = REPLY_BUFFER_BYTES * FEW / (ranks.max(1) as usize);
    let pieces = most.min(REPLY_BUFFER_BYTES) / PIECE;
    PIECE.saturating_mul(NonZeroUsize::new(pieces).unwrap_or(NonZeroUsize::MIN))
}

/// The next position at the start of the ring.
#[inline]
fn next_start(at: u64) -> u64 {
    at.next_multiple_of(BODIES as u64)
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
    // hands them over: the sender until it has numbered their slot, the receiver until it stores
    // that it has taken them.
    unsafe { Span::new(pair.bodies.start().add(offset), bytes) }
}

/// The positions of one end in both rings, and what it has read of the other end's.
#[derive(Debug, Default)]
struct Position {
    /// Slots done so far, and the place of the next one.
    at: u64,
    index: usize,
    bytes_at: u64,
    /// At the sender: the position of the receiver when it was last read. At the receiver: the
    /// position that it has last stored for the sender.
    known: u64,
    bytes_known: u64,
    /// Bytes of requested messages that went through the reply buffer, and of which the receiver
    /// has reported that it has taken them.
    relayed: u64,
    relayed_known: u64,
}

impl Position {
    /// Returns true if so much of the ring of bodies was used since its start.
    #[inline]
    fn is_beyond(&self, reach: u64) -> bool {
        self.bytes_at % BODIES as u64 >= reach
    }

    /// Steps to the next slot.
    #[inline(always)]
    fn step(&mut self) {
        self.at += 1;
        self.index = if self.index + 1 == SLOTS {
            0
        } else {
            self.index + 1
        };
    }
}

/// The sender's end.
#[derive(Debug)]
pub(super) struct Producer {
    pair: &'static Pair,
    reply_slot: Arc<ReplySlot>,
    /// See [`reach`].
    reach: u64,
    /// See [`relay_reach`].
    relay_reach: NonZeroUsize,
    position: Position,
    /// Where the next body of the ring lies.
    next: BodyPlace,
}

impl Producer {
    /// The end of a channel between two of `ranks` ranks.
    pub(super) fn new(pair: &'static Pair, reply_slot: Arc<ReplySlot>, ranks: u32) -> Self {
        Self {
            pair,
            reply_slot,
            reach: reach(ranks),
            relay_reach: relay_reach(ranks),
            position: Position::default(),
            next: BodyPlace::Next,
        }
    }

    /// Returns true if this side has the reply buffer, and a message of `bytes` bytes fits it.
    #[inline(always)]
    pub(super) fn fits_reply(&self, bytes: usize) -> bool {
        bytes <= self.relay_reach.get() && self.reply_slot.is_here()
    }

    /// Returns true if this side has the reply buffer.
    #[inline]
    pub(super) fn may_relay(&self) -> bool {
        self.reply_slot.is_here()
    }

    /// Returns true if there is room in the reply buffer for the next piece of a requested message,
    /// and for its slot.
    pub(super) fn has_room_to_relay(&mut self, bytes: usize) -> bool {
        let reach = self.relay_reach.get() as u64;
        let is_free =
            |position: &Position| position.relayed + bytes as u64 <= position.relayed_known + reach;
        if !is_free(&self.position) {
            let taken = self.pair.taken.relayed.load(Acquire);
            // Such numbers are ignored, as in `look`.
            if taken <= self.position.relayed {
                self.position.relayed_known = taken;
            }
        }
        is_free(&self.position) && self.has_room(1, 0)
    }

    /// Returns true if there is room for `slots` slots, and for a body of `bytes` bytes in one
    /// stretch.
    #[inline]
    pub(super) fn has_room(&mut self, slots: usize, bytes: usize) -> bool {
        if bytes > 0 && self.position.is_beyond(self.reach) {
            self.start_over();
        }
        self.seems_to_have_room(slots, bytes) || {
            self.look();
            self.seems_to_have_room(slots, bytes)
        }
    }

    #[inline]
    fn seems_to_have_room(&self, slots: usize, bytes: usize) -> bool {
        let Position {
            at,
            bytes_at,
            known,
            bytes_known,
            ..
        } = self.position;
        let has_bytes = || stretch(bytes_at, bytes).1 <= bytes_known + BODIES as u64;
        at + slots as u64 <= known + SLOTS as u64 && (bytes == 0 || has_bytes())
    }

    /// Starts over if all is taken: then the whole ring is free.
    fn start_over(&mut self) {
        self.look();
        let position = &mut self.position;
        if position.bytes_known == position.bytes_at {
            position.bytes_at = next_start(position.bytes_at);
            position.bytes_known = position.bytes_at;
            self.next = BodyPlace::Start;
        }
    }

    #[cold]
    fn look(&mut self) {
        let taken = &self.pair.taken;
        let slots = taken.slots.load(Acquire);
        let bytes = taken.bytes.load(Acquire);
        let position = &mut self.position;
        // The receiver cannot have taken what was not sent: such numbers are ignored.
        if slots <= position.at && bytes <= position.bytes_at {
            position.known = slots;
            position.bytes_known = bytes.max(position.bytes_known);
        }
    }

    /// Writes a body to the ring, and the next slot for it. Requires that `has_room` returned
    /// true.
    pub(super) fn push_body<const COUNT: usize>(
        &mut self,
        kind: u8,
        body: Span,
        words: [u64; COUNT],
    ) {
        self.push_filled((kind, body.len()), words, |room| {
            room.copy_from(body);
        });
    }

    /// Pushes a message whose body of `bytes` bytes `fill` writes to the ring, and the next slot
    /// for it. Requires that `has_room` returned true.
    #[inline]
    pub(super) fn push_filled<const COUNT: usize>(
        &mut self,
        (kind, bytes): (u8, usize),
        words: [u64; COUNT],
        fill: impl FnOnce(Span),
    ) {
        let (at, end) = stretch(self.position.bytes_at, bytes);
        self.position.bytes_at = end;
        fill(span(self.pair, at, bytes));
        let place = core::mem::replace(&mut self.next, BodyPlace::Next);
        let header = SlotHeader {
            place,
            ..SlotHeader::new(kind, bytes)
        };
        self.push(header, words);
    }

    /// Writes a body to the reply buffer, and passes it. Requires that `fits_reply` returned true
    /// for it, and that it is no longer than a piece.
    #[inline(always)]
    pub(super) fn relay<const COUNT: usize>(&mut self, kind: u8, body: Span, words: [u64; COUNT]) {
        let header = SlotHeader {
            place: BodyPlace::Reply,
            ..SlotHeader::new(kind, body.len())
        };
        if let Some(room) = self.reply_slot.part(0, body.len()) {
            room.copy_from(body);
            if room.len() <= HAND_ON_MOST {
                hand_on(room.address(), room.len());
            }
        }
        self.push(header, words);
    }

    /// Writes a piece of a message to the reply buffer, `at` bytes behind the start of the message.
    /// The last one passes the reply buffer. Requires that `fits_reply` returned true for all of
    /// the message, or `has_room_to_relay` for this piece.
    pub(super) fn relay_piece<const COUNT: usize>(
        &mut self,
        (kind, at, bytes): (u8, usize, usize),
        is_last: bool,
        words: [u64; COUNT],
        fill: impl FnOnce(Span),
    ) {
        let header = SlotHeader {
            place: BodyPlace::Reply,
            ..SlotHeader::new(kind, bytes)
        };
        let room = self.reply_slot.part(at % self.relay_reach, bytes);
        fill(room.unwrap_or(Span::EMPTY));
        if is_last {
            self.push(header, words);
        } else {
            self.push_to_ring(header, words);
        }
    }

    /// Counts a piece of a requested message in the reply buffer.
    pub(super) fn count_relayed(&mut self, bytes: usize) {
        self.position.relayed += bytes as u64;
    }

    /// Writes the next slot, for a message without a body in the ring. Requires that `has_room`
    /// returned true. The number of words is a constant: a loop that counts costs more than words
    /// that nobody reads. The reply-slot path and the ring path stay apart to the end: joining them
    /// costs ten instructions.
    #[inline(always)]
    pub(super) fn push<const COUNT: usize>(&mut self, header: SlotHeader, words: [u64; COUNT]) {
        if let Some(slot) = self.reply_slot.slot() {
            write(slot, words);
            self.reply_slot.pass(self.position.at, header.encode());
            hand_on_slot(slot);
        } else {
            self.push_to_ring(header, words);
        }
    }

    /// Writes the next slot of the ring.
    #[inline(always)]
    fn push_to_ring<const COUNT: usize>(&mut self, header: SlotHeader, words: [u64; COUNT]) {
        let slot = &self.pair.slots[self.position.index];
        write(slot, words);
        slot.sequence
            .store(sequence(self.position.at, header.encode()), Release);
        hand_on_slot(slot);
        self.position.step();
    }
}

/// Writes the words of a slot.
#[inline(always)]
fn write<const COUNT: usize>(slot: &RingSlot, words: [u64; COUNT]) {
    const { assert!(COUNT <= WORDS) };
    for (place, word) in slot.words.iter().zip(words) {
        place.store(word, Relaxed);
    }
}

/// Has a slot soon to be read brought here while others are handled: what a sender has written
/// ahead takes as long to come as a message to be handled.
#[inline(always)]
fn fetch_ahead(pair: &Pair, index: usize) {
    const AHEAD: usize = 2;
    let index = index + AHEAD;
    let slot = &pair.slots[if index < SLOTS { index } else { index - SLOTS }];
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint, which reads nothing.
    unsafe {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(core::ptr::from_ref(slot).cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = slot;
}

/// The longest body of which the sender moves the lines on. Where processors follow the hint, the
/// receiver reads a longer one faster out of the sender's own cache.
const HAND_ON_MOST: usize = 1024;

/// Moves lines that the other side reads next out of this processor's own caches, to a cache that
/// both share. A hint: other processors ignore it.
#[inline(always)]
fn hand_on(start: u64, bytes: usize) {
    for line in (start..start + bytes as u64).step_by(LINE as usize) {
        hand_on_line(line);
    }
}

#[inline(always)]
fn hand_on_line(line: u64) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: it changes no memory and never faults.
    unsafe {
        core::arch::asm!("cldemote [{}]", in(reg) line, options(nostack, preserves_flags));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = line;
}

#[inline(always)]
fn hand_on_slot(slot: &RingSlot) {
    const { assert!(size_of::<RingSlot>() as u64 == LINE) };
    hand_on_line(core::ptr::from_ref(slot).addr() as u64);
}

/// The receiver's end. It has not reported less than a quarter of the slots and of the bytes, so a
/// sender that has found no room is sure to be woken when there is some.
#[derive(Debug)]
pub(super) struct Consumer {
    pair: &'static Pair,
    reply_slot: Arc<ReplySlot>,
    reach: u64,
    relay_reach: NonZeroUsize,
    position: Position,
    /// Where `peek` has found something.
    slot: &'static RingSlot,
}

impl Consumer {
    /// The end of a channel between two of `ranks` ranks.
    pub(super) fn new(pair: &'static Pair, reply_slot: Arc<ReplySlot>, ranks: u32) -> Self {
        Self {
            pair,
            reply_slot,
            reach: reach(ranks),
            relay_reach: relay_reach(ranks),
            position: Position::default(),
            slot: &pair.slots[0],
        }
    }

    /// Returns the header of the next slot, if it is there.
    #[inline(always)]
    pub(super) fn peek(&mut self) -> Option<SlotHeader> {
        let (slot, header) = self.find()?;
        self.slot = slot;
        Some(header)
    }

    /// Returns true if the next slot is there.
    #[inline]
    pub(super) fn has_news(&self) -> bool {
        self.find().is_some()
    }

    #[inline(always)]
    fn find(&self) -> Option<(&'static RingSlot, SlotHeader)> {
        let Position { at, index, .. } = self.position;
        let slot = &self.pair.slots[index];
        let word = slot.sequence.load(Acquire);
        // In this order: what went with the reply slot before the slot was written is there by now.
        if let Some((slot, says)) = self.reply_slot.look(at) {
            return Some((slot, SlotHeader::decode(says)));
        }
        (word >> KIND_BITS == sequence(at, 0) >> KIND_BITS)
            .then(|| (slot, SlotHeader::decode(word as u32)))
    }

    /// Word `number` of the slot that `peek` has found.
    #[inline]
    pub(super) fn word(&self, number: usize) -> u64 {
        self.slot.words[number].load(Relaxed)
    }

    /// The body that belongs to the slot: a piece of a message, `at` bytes behind its start.
    #[inline]
    pub(super) fn body(&self, header: SlotHeader, at: usize) -> Option<Span> {
        if header.bytes > PIECE_BYTES {
            return None;
        }
        if header.is_relayed() {
            return self.reply_slot.part(at % self.relay_reach, header.bytes);
        }
        let (at, _) = self.stretch(header);
        Some(span(self.pair, at, header.bytes))
    }

    /// Reports to the sender that a piece of a requested message is taken out of the reply buffer.
    pub(super) fn report_relayed(&mut self, header: SlotHeader) {
        if header.is_relayed() {
            self.position.relayed += header.bytes as u64;
            self.pair
                .taken
                .relayed
                .store(self.position.relayed, Release);
        }
    }

    #[inline]
    fn stretch(&self, header: SlotHeader) -> (u64, u64) {
        let at = self.position.bytes_at;
        stretch(
            if header.place == BodyPlace::Start {
                next_start(at)
            } else {
                at
            },
            header.bytes,
        )
    }

    /// Frees the slot, and its body in the ring. Returns true if that was reported to the sender.
    #[inline(always)]
    pub(super) fn take(&mut self, body: Option<SlotHeader>) -> bool {
        let body = body.filter(|header| !header.is_relayed());
        if !self.reply_slot.keep(self.slot) {
            hand_on_slot(self.slot);
            self.position.step();
            fetch_ahead(self.pair, self.position.index);
        }
        let mut is_worth_it = self.position.at - self.position.known >= SLOTS as u64 / 4;
        if let Some(header) = body {
            let (_, end) = self.stretch(header);
            self.position.bytes_at = end;
            is_worth_it |= end / QUARTER != self.position.bytes_known / QUARTER
                || (self.position.is_beyond(self.reach) && !self.has_news());
        }
        if is_worth_it {
            self.tell();
        }
        is_worth_it
    }

    #[inline(never)]
    fn tell(&mut self) {
        let (taken, position) = (&self.pair.taken, &mut self.position);
        taken.slots.store(position.at, Release);
        taken.bytes.store(position.bytes_at, Release);
        (position.known, position.bytes_known) = (position.at, position.bytes_at);
    }
}
