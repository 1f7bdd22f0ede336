//! What the slots of neighbours tell.

use super::super::{Arrival, EnvelopeBytes, Event, Lost, Token};
use super::note::{Kind, envelope_of};
use super::ring::{INLINE_BYTES, Note, REGISTERED_BYTES};
use super::{EAGER_BYTES, Fresh, Incoming, LONGEST_BYTES, Room, Shm};
use crate::memory::Span;
use crate::slab::Slab;

/// What [`Shm::take_short`] has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Short<T> {
    /// A short message; it is where `place` has said, and this is what else it has said.
    Taken(T),
    /// Something else: the next event.
    Other,
    /// No slot.
    Nothing,
}

impl Shm {
    /// Takes the next message if it is short and `place` knows, by its envelope and length, where
    /// it goes. Nothing is left of it here.
    #[inline(always)]
    pub(crate) fn take_short<T>(
        &mut self,
        place: impl FnOnce(EnvelopeBytes, usize) -> Option<(Span, T)>,
    ) -> Short<T> {
        self.take_next::<false, T>(place)
    }

    /// The same for a message that is there whole, short or in one piece.
    #[inline(always)]
    pub(crate) fn take_whole<T>(
        &mut self,
        place: impl FnOnce(EnvelopeBytes, usize) -> Option<(Span, T)>,
    ) -> Short<T> {
        self.take_next::<true, T>(place)
    }

    #[inline(always)]
    fn take_next<const PIECES_TOO: bool, T>(
        &mut self,
        place: impl FnOnce(EnvelopeBytes, usize) -> Option<(Span, T)>,
    ) -> Short<T> {
        if !self.events.is_empty() {
            return Short::Other;
        }
        for _ in 0..self.callers.len() {
            let caller = self.next_caller();
            let inward = &mut self.inward[caller as usize];
            let Some(note) = inward.ring.peek() else {
                self.next += 1;
                continue;
            };
            if note.kind != Kind::Short as u8 || note.bytes > INLINE_BYTES {
                if PIECES_TOO {
                    return self.take_piece_alone(caller, note, place);
                }
                return Short::Other;
            }
            let placed = place(envelope_of(inward.envelope_words()), note.bytes);
            let Some((span, more)) = placed else {
                return Short::Other;
            };
            inward.write_inline(span.part(0, note.bytes));
            self.next += 1;
            if inward.ring.take(None) {
                self.make_room_known(caller);
            }
            return Short::Taken(more);
        }
        Short::Nothing
    }

    /// Takes a message with more than fits a slot, if it came in one piece.
    #[inline(always)]
    fn take_piece_alone<T>(
        &mut self,
        caller: u32,
        note: Note,
        place: impl FnOnce(EnvelopeBytes, usize) -> Option<(Span, T)>,
    ) -> Short<T> {
        let inward = &mut self.inward[caller as usize];
        let is_whole = note.bytes > 0 && inward.ring.word(2) == note.bytes as u64;
        if note.kind != Kind::Body as u8 || !is_whole {
            return Short::Other;
        }
        let Some(piece) = inward.ring.body(note) else {
            return Short::Other;
        };
        let placed = place(envelope_of(inward.envelope_words()), note.bytes);
        let Some((span, more)) = placed else {
            return Short::Other;
        };
        span.copy_from(piece);
        self.next += 1;
        if inward.ring.take(Some(note)) {
            self.make_room_known(caller);
        }
        Short::Taken(more)
    }

    /// Whose turn it is.
    #[inline(always)]
    pub(super) fn next_caller(&mut self) -> u32 {
        if self.next >= self.callers.len() {
            self.next = 0;
        }
        self.callers[self.next]
    }

    /// What the next slot of a caller has to tell, if it has one.
    #[inline(always)]
    pub(super) fn look(&mut self, from: u32) -> Option<Event> {
        loop {
            let inward = &mut self.inward[from as usize];
            let note = inward.ring.peek()?;
            match Kind::of(note.kind) {
                Some(Kind::Short) if note.bytes <= INLINE_BYTES => {
                    return Some(self.arriving(from, (note, Kind::Short), note.bytes as u64));
                }
                Some(Kind::Registered) if note.bytes <= REGISTERED_BYTES => {
                    return Some(self.arriving(from, (note, Kind::Registered), note.bytes as u64));
                }
                Some(kind @ (Kind::Body | Kind::Long)) => {
                    let len = inward.ring.word(2);
                    if !makes_sense(kind, note.bytes, len) {
                        return self.garbled(from);
                    }
                    return Some(self.arriving(from, (note, kind), len));
                }
                Some(kind) => {
                    if !self.hear(from, note, kind) {
                        return self.garbled(from);
                    }
                }
                None => return self.garbled(from),
            }
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
        }
    }

    #[inline(always)]
    pub(super) fn arriving(&mut self, from: u32, (note, kind): (Note, Kind), len: u64) -> Event {
        let arrival = self.incoming.next_index();
        self.fresh = Some(Fresh {
            arrival,
            from,
            note,
            kind,
            len,
        });
        Event::Arriving {
            arrival: Arrival(arrival),
            from: self.peers[from as usize],
            envelope: envelope_of(self.inward[from as usize].envelope_words()),
            len,
        }
    }

    /// A slot that begins no message. Answers whether it makes sense.
    #[inline(never)]
    pub(super) fn hear(&mut self, from: u32, note: Note, kind: Kind) -> bool {
        let inward = &mut self.inward[from as usize];
        let (first, second) = (inward.ring.word(0), inward.ring.word(1));
        let makes_sense = match kind {
            Kind::More => match inward.current {
                Some(index) => self.take_piece(from, index, note),
                None => false,
            },
            Kind::Piece => match u32::try_from(first) {
                Ok(index) => self.take_piece(from, index, note),
                Err(_) => false,
            },
            Kind::Ask => self.hear_ask(from, first, second),
            Kind::Done => self.hear_done(from, first),
            Kind::Short | Kind::Body | Kind::Long | Kind::Registered => false,
        };
        if makes_sense {
            let has_body = matches!(kind, Kind::More | Kind::Piece);
            self.next_slot(from, has_body.then_some(note));
        }
        if makes_sense && kind == Kind::Piece {
            self.asking.retain(|&(asked, _)| asked != from);
            // More of them may wait for room with a sender that computes.
            self.rest.rouse(from, self.outward[from as usize].area);
        }
        makes_sense
    }

    /// A slot is done with. Its sender may wait for room.
    #[inline]
    pub(super) fn next_slot(&mut self, from: u32, body: Option<Note>) {
        if self.inward[from as usize].ring.take(body) {
            self.make_room_known(from);
        }
    }

    /// A sender has room again, and may wait for it.
    fn make_room_known(&self, sender: u32) {
        let outward = &self.outward[sender as usize];
        self.rest.wake(sender, outward.area, outward.must_fence);
    }

    pub(super) fn take_piece(&mut self, from: u32, index: u32, note: Note) -> bool {
        let bytes = note.bytes;
        let inward = &mut self.inward[from as usize];
        let piece = inward.ring.body(note);
        let message = self
            .incoming
            .get_mut(index)
            .filter(|message| message.from == from);
        let (Some(piece), Some(message)) = (piece, message) else {
            return false;
        };
        let is_awaited = message.source.is_none() && bytes as u64 <= message.len - message.come;
        if !is_awaited || bytes == 0 {
            return false;
        }
        message.room.put(message.come as usize, piece);
        message.come += bytes as u64;
        self.moved += bytes as u64;
        if message.come == message.len && !matches!(message.room, Room::Kept(_)) {
            self.finish_receiving(index);
        }
        true
    }

    pub(super) fn hear_ask(&mut self, from: u32, name: u64, asked: u64) -> bool {
        let Some((index, asked)) = self.named(from, name).zip(u32::try_from(asked).ok()) else {
            return false;
        };
        let message = self.outgoing.get_mut(index).expect("it has a name");
        if message.asked.replace(asked).is_some() {
            return false;
        }
        self.outward[from as usize].asked.push_back(index);
        self.hurry(from);
        true
    }

    pub(super) fn hear_done(&mut self, from: u32, name: u64) -> bool {
        let named = self.named(from, name);
        if let Some(index) = named {
            self.finish_sending(index);
        }
        named.is_some()
    }

    /// The outgoing message that `from` speaks of.
    pub(super) fn named(&self, from: u32, name: u64) -> Option<u32> {
        let index = u32::try_from(name).ok()?;
        let message = self.outgoing.get(index)?;
        (message.to == from && message.is_told && message.asked.is_none()).then_some(index)
    }

    /// All of a message is where it belongs.
    pub(super) fn finish_receiving(&mut self, index: u32) {
        let message = self.incoming.remove(index).expect("it was being received");
        let inward = &mut self.inward[message.from as usize];
        inward.current = inward.current.filter(|&current| current != index);
        self.events.push_back(Event::Arrived {
            arrival: Arrival(index),
            bounced: message.room.into_body(),
        });
    }

    /// What a neighbour wrote makes no sense: it has gone mad, and nothing that it said or will say
    /// can be relied on.
    #[cold]
    pub(super) fn garbled(&mut self, from: u32) -> Option<Event> {
        let inward = &mut self.inward[from as usize];
        inward.current = None;
        self.callers.retain(|&caller| caller != from);
        self.copying.retain(|(_, copying)| copying.from != from);
        self.behind.retain(|&to| to != from);
        self.asking.retain(|&(asked, _)| asked != from);
        let lost = |message: &Incoming| message.from == from;
        let unfinished: Vec<u32> = places(&self.incoming, lost);
        let unsent: Vec<u32> = places(&self.outgoing, |message| message.to == from);
        for &index in &unfinished {
            self.incoming.remove(index);
        }
        let outgoing = &mut self.outgoing;
        let token_of = |&index: &u32| outgoing.remove(index).map(|message| message.token);
        let unsent: Vec<Token> = unsent.iter().filter_map(token_of).collect();
        self.shared
            .retain(|&index| self.outgoing.get(index).is_some());
        let outward = &mut self.outward[from as usize];
        outward.close();
        Some(Event::Lost(Box::new(Lost {
            peer: self.peers[from as usize],
            unfinished: unfinished.into_iter().map(Arrival).collect(),
            unsent,
            reason: "what it wrote into the shared memory makes no sense",
        })))
    }
}

/// Whether a message of `len` bytes can begin with `bytes` in the ring.
fn makes_sense(kind: Kind, bytes: usize, len: u64) -> bool {
    match kind {
        Kind::Body => bytes > 0 && bytes as u64 <= len && len <= EAGER_BYTES as u64,
        _ => bytes == 0 && len <= LONGEST_BYTES,
    }
}

fn places<T>(slab: &Slab<T>, is_one: impl Fn(&T) -> bool) -> Vec<u32> {
    let ones = slab.iter().filter(|(_, thing)| is_one(thing));
    ones.map(|(index, _)| index).collect()
}
