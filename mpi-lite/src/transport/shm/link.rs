//! The state of the channels to and from a local peer.

use super::limits::{
    EAGER_BYTES, EAGER_PIECE_BYTES, EAGER_REPLY_BYTES, PIPELINED_BYTES, STREAMED_PIECE_BYTES,
};
use super::message::Outgoing;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::super::{EnvelopeBytes, PeerId};
use super::afar::{Afar, STREAMED_BYTES, Store};
use super::choice::{self, CHOICE_BYTES, Choice, Trial, Way};
use super::header::{SlotKind, words_of};
use super::reply_slot::ReplySlot;
use super::ring::{
    Consumer, INLINE_BYTES, Producer, RELAY_PIECE_BYTES, RegisteredWords, SlotHeader,
};

use crate::clock::Clock;
use crate::memory::{Room, Span};
use crate::node::peer_memory::PeerMemory;
use crate::node::segment::{Area, Pair, TRANSFERS};

/// Words of a message in front of its body.
const ENVELOPE_WORDS: usize = 2;

/// Returns the length of the pieces of a requested message of `len` bytes. There are some eight.
/// More would cost more: each has its slot, its check, and first bytes that nobody copies
/// meanwhile.
fn asked_piece_bytes(len: usize) -> usize {
    let eighth = (len / 8).next_multiple_of(EAGER_PIECE_BYTES);
    eighth.clamp(EAGER_PIECE_BYTES, EAGER_BYTES)
}

/// The channel to a local peer.
#[derive(Debug)]
pub(super) struct Outward {
    pub(super) area: &'static Area,
    pub(super) pair: &'static Pair,
    ring: Producer,
    afar: Afar,
    pub(super) must_fence: bool,
    /// The longest message that goes through the ring unasked.
    ring_most: usize,
    /// The local peer looks for messages of this rank.
    pub(super) is_known: bool,
    /// The local peer wrote nonsense: nothing is sent to it any more, and nothing is read from it.
    pub(super) is_closed: bool,
    /// The answers that found no room.
    pub(super) answers: VecDeque<(SlotKind, [u64; 2])>,
    /// Messages that found no room, and those behind them.
    pub(super) waiting: VecDeque<u32>,
    /// Requested messages, which go piece by piece.
    pub(super) asked: VecDeque<u32>,
    /// Transfers in use, a bit for each.
    transfers: u64,
    /// The local peer's memory, if the system copies from and to it; `None` until that was tried.
    reach: Option<Option<PeerMemory>>,
}

impl Outward {
    pub(super) fn new(
        area: &'static Area,
        pair: &'static Pair,
        reply_slot: Arc<ReplySlot>,
        (ranks, ring_most): (u32, usize),
    ) -> Self {
        Self {
            area,
            pair,
            ring_most,
            ring: Producer::new(pair, reply_slot, ranks),
            afar: Afar::new(),
            must_fence: true,
            is_known: false,
            is_closed: false,
            answers: VecDeque::new(),
            waiting: VecDeque::new(),
            asked: VecDeque::new(),
            transfers: 0,
            reach: None,
        }
    }

    /// Returns true if something waits for room.
    #[inline]
    pub(super) fn is_behind(&self) -> bool {
        self.answers.len() + self.waiting.len() + self.asked.len() > 0
    }

    /// Returns true if a short message cannot go at once: others are before it, the local peer has
    /// no room for bodies, or it is lost.
    #[inline]
    pub(super) fn is_shut(&self) -> bool {
        self.is_behind() || self.area.is_full() || self.is_closed
    }

    /// Returns true if there is room for the next waiting message.
    pub(super) fn may_go_on(&mut self) -> bool {
        if !self.asked.is_empty() && self.ring.may_relay() {
            return self.ring.has_room_to_relay(RELAY_PIECE_BYTES);
        }
        self.is_behind()
            && self
                .ring
                .has_room(EAGER_BYTES / PIPELINED_BYTES, EAGER_BYTES)
    }

    /// Returns true if a message of `bytes` bytes can go now without being asked for.
    #[inline]
    pub(super) fn is_short(&self, bytes: usize) -> bool {
        if bytes <= CHOICE_BYTES {
            return true;
        }
        let is_possible =
            bytes <= self.ring_most || bytes <= EAGER_REPLY_BYTES && self.ring.fits_reply(bytes);
        is_possible && self.pair.taken.announced.load(Relaxed) & choice::bit_of(bytes) == 0
    }

    /// Closes the channel: waiting messages are dropped.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
        self.answers.clear();
        self.asked.clear();
        self.waiting.clear();
    }

    /// Makes the local peer look for messages of `me`.
    #[cold]
    pub(super) fn introduce(&mut self, me: u32) {
        self.area.introduce(me);
        self.is_known = true;
    }

    /// Writes a message that needs no answer, if there is room for all of it.
    #[inline]
    pub(super) fn push_message(&mut self, envelope: &EnvelopeBytes, body: Span) -> bool {
        if body.len() > INLINE_BYTES {
            return self.push_body(envelope, body);
        }
        let [context, tag] = words_of(envelope);
        let [first, second, third, fourth, fifth] = body.to_words();
        let words = [context, tag, first, second, third, fourth, fifth];
        self.push_slot(SlotKind::Short.header(body.len()), words)
    }

    /// Writes a short message that needs an answer, if there is room.
    pub(super) fn push_registered(
        &mut self,
        envelope: &EnvelopeBytes,
        body: Span,
        name: u32,
    ) -> bool {
        let [context, tag] = words_of(envelope);
        let [first, second, third, fourth] = body.to_words();
        let words = [context, tag, name.into(), first, second, third, fourth];
        self.push_slot(SlotKind::Registered.header(body.len()), words)
    }

    /// Writes a message with a body, if there is room for all of it.
    #[inline]
    fn push_body(&mut self, envelope: &EnvelopeBytes, body: Span) -> bool {
        if !self.is_short(body.len()) {
            return false;
        }
        if !self.ring.fits_reply(body.len()) {
            return self.push_pieces(envelope, body);
        }
        if body.len() > RELAY_PIECE_BYTES {
            return self.relay_pieces(envelope, body);
        }
        let [context, tag] = words_of(envelope);
        let words = [context, tag, body.len() as u64];
        self.ring.relay(SlotKind::Body as u8, body, words);
        true
    }

    /// Writes a message to the reply buffer in pieces, if there is room for their slots.
    fn relay_pieces(&mut self, envelope: &EnvelopeBytes, body: Span) -> bool {
        let len = body.len();
        if !self.ring.has_room(len.div_ceil(RELAY_PIECE_BYTES) - 1, 0) {
            return false;
        }
        let [context, tag] = words_of(envelope);
        let mut kind = SlotKind::Body;
        let mut at = 0;
        while at < len {
            let piece = body.part(at, RELAY_PIECE_BYTES);
            let (from, next) = (at, at + piece.len());
            let fill = |room: Span| {
                room.copy_from(piece);
            };
            self.ring.relay_piece(
                (kind as u8, from, piece.len()),
                next == len,
                [context, tag, len as u64],
                fill,
            );
            (kind, at) = (SlotKind::More, next);
        }
        true
    }

    fn push_pieces(&mut self, envelope: &EnvelopeBytes, body: Span) -> bool {
        if body.len() >= STREAMED_BYTES {
            return self.push_long(envelope, body);
        }
        let has_room = self.ring.has_room(1, body.len());
        if has_room {
            let [context, tag] = words_of(envelope);
            let words = [context, tag, body.len() as u64];
            self.ring.push_body(SlotKind::Body as u8, body, words);
        }
        has_room
    }

    /// Writes a body that may go past the caches. Apart, so that a shorter one costs nothing more.
    #[inline(never)]
    fn push_long(&mut self, envelope: &EnvelopeBytes, body: Span) -> bool {
        let len = body.len();
        let store = self.afar.next(len);
        let most = match store {
            _ if len <= EAGER_PIECE_BYTES => len,
            Store::Stream => STREAMED_PIECE_BYTES,
            Store::Plain | Store::Timed(_) => PIPELINED_BYTES,
        };
        if !self.ring.has_room(len.div_ceil(most), len) {
            return false;
        }
        let [context, tag] = words_of(envelope);
        let mut kind = SlotKind::Body;
        let mut at = 0;
        while at < len {
            let piece = body.part(at, most);
            let (first, words) = ((kind as u8, piece.len()), [context, tag, len as u64]);
            self.ring
                .push_filled(first, words, |room| store.copy(room, piece));
            (kind, at) = (SlotKind::More, at + piece.len());
        }
        self.afar.note(store, len);
        true
    }

    /// Writes a slot without a body, if there is room.
    pub(super) fn push_note<const COUNT: usize>(
        &mut self,
        kind: SlotKind,
        words: [u64; COUNT],
    ) -> bool {
        self.push_slot(kind.header(0), words)
    }

    #[inline(always)]
    pub(super) fn push_slot<const COUNT: usize>(
        &mut self,
        header: SlotHeader,
        words: [u64; COUNT],
    ) -> bool {
        let has_room = self.ring.has_room(1, 0);
        if has_room {
            self.ring.push(header, words);
        }
        has_room
    }

    /// Writes a slot of any kind, if there is room.
    #[cfg(feature = "fuzzing")]
    pub(super) fn forge(&mut self, header: SlotHeader, words: [u64; crate::node::segment::WORDS]) {
        self.push_slot(header, words);
    }

    /// Writes the next piece of a message that was asked for by this name, if there is room.
    /// Returns the length of the piece.
    pub(super) fn push_asked(&mut self, name: u32, message: &Outgoing) -> Option<usize> {
        let (at, len) = (message.gone, message.bytes());
        if self.ring.may_relay() {
            return self.relay_asked(name, message);
        }
        let bytes = (len - at).min(asked_piece_bytes(len));
        let has_room = self.ring.has_room(1, bytes);
        has_room.then(|| {
            let kind = (SlotKind::Piece as u8, bytes);
            let span = message.body.span().map(|span| span.part(at, bytes));
            let store = span.map_or(Store::Plain, |_| self.afar.next(bytes));
            self.ring
                .push_filled(kind, [u64::from(name)], |room| match span {
                    Some(span) => store.copy(room, span),
                    None => message.body.read(at, room),
                });
            self.afar.note(store, bytes);
            bytes
        })
    }

    /// Writes the next piece of such a message to the reply buffer, which this side has, if there
    /// is room. A piece ends where the next one would begin if all went this way.
    fn relay_asked(&mut self, name: u32, message: &Outgoing) -> Option<usize> {
        let (at, len) = (message.gone, message.bytes());
        let bytes = (len - at).min(RELAY_PIECE_BYTES - at % RELAY_PIECE_BYTES);
        let has_room = self.ring.has_room_to_relay(bytes);
        has_room.then(|| {
            let piece = (SlotKind::Piece as u8, at, bytes);
            let fill = |room: Span| {
                message.body.read(at, room);
            };
            self.ring.count_relayed(bytes);
            self.ring
                .relay_piece(piece, at + bytes == len, [u64::from(name)], fill);
            bytes
        })
    }

    /// Takes a transfer that is free, if both sides are to copy a message of `bytes` bytes.
    pub(super) fn take_transfer(&mut self, bytes: usize) -> Option<u32> {
        if self.transfers != 0 && !choice::is_shared(bytes) {
            return None;
        }
        const { assert!(TRANSFERS == u64::BITS as usize) };
        let free = self.transfers.trailing_ones();
        self.pair.transfers.get(free as usize)?.reset();
        self.transfers |= 1 << free;
        Some(free)
    }

    pub(super) fn free_transfer(&mut self, number: u32) {
        self.transfers &= !(1 << number);
    }

    /// Takes the local peer's memory for one that the system does not copy.
    #[cfg(test)]
    pub(super) fn reach_nothing(&mut self) {
        self.reach = Some(None);
    }

    /// The local peer's memory, if it can be reached.
    pub(super) fn reach(&mut self) -> Option<PeerMemory> {
        let reach = || PeerMemory::of(self.area).ok();
        *self.reach.get_or_insert_with(reach)
    }

    /// Notes that its memory cannot be reached any more.
    pub(super) fn give_up_reach(&mut self) {
        self.reach = Some(None);
    }
}

/// The channel from a local peer.
#[derive(Debug)]
pub(super) struct Inward {
    /// Its rank in `MPI_COMM_WORLD`.
    pub(super) peer: PeerId,
    pub(super) pair: &'static Pair,
    pub(super) ring: Consumer,
    /// The message whose pieces come.
    pub(super) current: Option<u32>,
    /// Which way long messages take, if that is measured.
    choice: Choosing,
}

/// The measurements of a channel. Most channels never carry a long message, and then have none.
#[derive(Debug)]
enum Choosing {
    Off,
    NotYet,
    On(Box<Choice>),
}

impl Choosing {
    fn get(&mut self) -> Option<&mut Choice> {
        if let Self::NotYet = self {
            *self = Self::On(Box::default());
        }
        match self {
            Self::On(choice) => Some(choice),
            Self::Off | Self::NotYet => None,
        }
    }
}

impl Inward {
    pub(super) fn new(
        peer: PeerId,
        pair: &'static Pair,
        reply_slot: Arc<ReplySlot>,
        (ranks, is_measured): (u32, bool),
    ) -> Self {
        Self {
            peer,
            pair,
            ring: Consumer::new(pair, reply_slot, ranks),
            current: None,
            choice: match is_measured {
                true => Choosing::NotYet,
                false => Choosing::Off,
            },
        }
    }

    /// Chooses the way of a message of `bytes` bytes that was announced and has its place.
    pub(super) fn begin_trial(&mut self, bytes: u64, clock: &Clock) -> (Way, Option<Trial>) {
        let Some(choice) = self.choice.get() else {
            return (Way::Across, None);
        };
        if bytes <= CHOICE_BYTES as u64 {
            return (Way::Pieces, None);
        }
        let (way, trial) = choice.begin(bytes, clock.now());
        (way, Some(trial))
    }

    /// Ends a message whose way was chosen.
    pub(super) fn end_trial(&mut self, bytes: u64, trial: Trial, clock: &Clock) {
        if let Some(choice) = self.choice.get() {
            choice.end(bytes, trial, clock.now());
            self.store_announced();
        }
    }

    /// Counts a message of `bytes` bytes that came in pieces without being asked for.
    pub(super) fn count_eager(&mut self, bytes: u64) {
        if bytes > CHOICE_BYTES as u64
            && let Some(choice) = self.choice.get()
        {
            choice.count_eager(bytes);
            self.store_announced();
        }
    }

    /// Counts a message of `bytes` bytes that was announced, but goes in pieces since one side's
    /// memory has gaps.
    pub(super) fn count_scattered(&mut self, bytes: u64) {
        if bytes > CHOICE_BYTES as u64
            && let Some(choice) = self.choice.get()
        {
            choice.count_scattered(bytes);
            self.store_announced();
        }
    }

    /// Ends the measurements: the system does not copy across. Nothing is announced for them.
    pub(super) fn stop_measuring(&mut self) {
        let choice = std::mem::replace(&mut self.choice, Choosing::Off);
        if !matches!(choice, Choosing::Off) {
            self.pair.taken.announced.store(0, Relaxed);
        }
    }

    fn store_announced(&mut self) {
        if let Choosing::On(choice) = &mut self.choice
            && let Some(bits) = choice.new_announced()
        {
            self.pair.taken.announced.store(bits, Relaxed);
        }
    }

    /// Words of a slot's envelope.
    #[inline]
    pub(super) fn envelope_words(&self) -> [u64; 2] {
        [self.ring.word(0), self.ring.word(1)]
    }

    /// The sender's name for the message in the slot, and its body as words: what a
    /// [`SlotKind::Registered`] has behind its envelope.
    pub(super) fn registered(&self) -> (u32, RegisteredWords) {
        let name = self.ring.word(ENVELOPE_WORDS) as u32;
        let body = core::array::from_fn(|number| self.ring.word(ENVELOPE_WORDS + 1 + number));
        (name, body)
    }

    /// The body of the message that the slot begins, if all of it lies in the ring, in one piece.
    #[inline(always)]
    pub(super) fn whole_body(&self, header: SlotHeader) -> Option<Span> {
        let bytes = header.bytes as u64;
        let is_whole = bytes > 0 && self.ring.word(ENVELOPE_WORDS) == bytes;
        let is_body = header.kind == SlotKind::Body as u8;
        (is_body && is_whole).then(|| self.ring.body(header, 0))?
    }

    /// Fills `place` with the start of the body in the slot.
    #[inline(always)]
    pub(super) fn write_inline<'a>(&self, place: impl Into<Room<'a>>) {
        let mut place = place.into();
        place
            .part(0, INLINE_BYTES)
            .write_words(|number| self.ring.word(ENVELOPE_WORDS + number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_requested_body_goes_in_eight_pieces_none_too_long() {
        assert_eq!(asked_piece_bytes(1), EAGER_PIECE_BYTES);
        assert_eq!(asked_piece_bytes(1 << 30), EAGER_BYTES);
        for len in (1..=8).map(|eighth| 8 * eighth * EAGER_PIECE_BYTES) {
            let piece = asked_piece_bytes(len);
            let pieces = len.div_ceil(piece);
            assert!(
                piece == EAGER_BYTES || pieces == 8,
                "{len}: {pieces} of {piece}"
            );
        }
    }
}
