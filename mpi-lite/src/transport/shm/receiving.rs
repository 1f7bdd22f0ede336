//! Reads the slots of local peers.

use super::super::sink::LinkEvent;
use super::super::{Arrival, Incoming, Landing, Lost, Progress, Sink};
use super::Shm;
use super::body::Room;
use super::header::{SlotKind, envelope_of};
use super::limits::{EAGER_REPLY_BYTES, LONGEST_BYTES};
use super::message::numbers_of;
use super::ring::{INLINE_BYTES, PIECE_BYTES, REGISTERED_BYTES, SlotHeader};
use crate::data::Area;
use crate::memory::Span;

impl Shm {
    /// Reports what is in the next slot of the caller whose turn it is, if there is one.
    #[inline(always)]
    pub(super) fn look(&mut self, sink: &mut impl Sink) -> Progress {
        let from = self.callers.next();
        let inward = &mut self.inward[from as usize];
        let Some(header) = inward.ring.peek() else {
            return Progress::Idle;
        };
        if header.kind != SlotKind::Short as u8 || header.bytes > INLINE_BYTES {
            return match inward.whole_body(header) {
                Some(body) => self.take_whole(from, (header, body), sink),
                None => self.take_slot(from, header, sink),
            };
        }
        let landing = sink.arriving(Incoming {
            arrival: Arrival(self.incoming.next_index()),
            from: inward.peer,
            envelope: envelope_of(inward.envelope_words()),
            len: header.bytes as u64,
            is_whole: true,
        });
        let Landing::Into(Area::Run(span)) = landing else {
            self.land_short(from, header, landing);
            return Progress::Delivered;
        };
        inward.write_inline(span.part(0, header.bytes));
        if inward.ring.take(None) {
            self.sending.make_room_known(from);
        }
        Progress::Delivered
    }

    /// Takes a message whose body is in the ring, in one piece.
    #[inline(always)]
    fn take_whole(
        &mut self,
        from: u32,
        (header, body): (SlotHeader, Span),
        sink: &mut impl Sink,
    ) -> Progress {
        let len = header.bytes as u64;
        let landing = sink.arriving(self.message(from, len, true));
        let Landing::Into(Area::Run(span)) = landing else {
            self.land_body(from, (header, len), landing);
            return Progress::Delivered;
        };
        span.copy_from(body);
        self.next_slot(from, Some(header));
        Progress::Delivered
    }

    /// Takes any other slot.
    #[inline(never)]
    fn take_slot(&mut self, from: u32, header: SlotHeader, sink: &mut impl Sink) -> Progress {
        let ring = &self.inward[from as usize].ring;
        match SlotKind::of(header.kind) {
            Some(SlotKind::Registered) if header.bytes <= REGISTERED_BYTES => {
                let landing = sink.arriving(self.message(from, header.bytes as u64, true));
                self.land_registered(from, header, landing);
                return Progress::Delivered;
            }
            Some(kind @ (SlotKind::Body | SlotKind::Long)) => {
                let len = ring.word(2);
                if makes_sense(kind, header.bytes, len) {
                    let landing = sink.arriving(self.message(from, len, false));
                    match kind {
                        SlotKind::Body => self.land_body(from, (header, len), landing),
                        _ => self.land_long(from, len, landing),
                    }
                    return Progress::Delivered;
                }
                self.garbled(from);
            }
            Some(SlotKind::Short | SlotKind::Registered) | None => self.garbled(from),
            Some(kind) => {
                if !self.hear(from, header, kind) {
                    self.garbled(from);
                }
            }
        }
        self.tell(sink).max(Progress::Moved)
    }

    /// Reports events that are in no slot.
    pub(super) fn tell(&mut self, sink: &mut impl Sink) -> Progress {
        let mut progress = Progress::Idle;
        while sink.wants_more()
            && let Some(event) = self.events.pop_front()
        {
            event.deliver(sink);
            progress = Progress::Delivered;
        }
        progress
    }

    /// Returns what is reported of the message of `len` bytes in the current slot.
    fn message(&self, from: u32, len: u64, is_whole: bool) -> Incoming {
        Incoming {
            arrival: Arrival(self.incoming.next_index()),
            from: self.inward[from as usize].peer,
            envelope: envelope_of(self.inward[from as usize].envelope_words()),
            len,
            is_whole,
        }
    }

    /// Takes a slot that begins no message. Returns true if it makes sense.
    #[inline(never)]
    pub(super) fn hear(&mut self, from: u32, header: SlotHeader, kind: SlotKind) -> bool {
        let inward = &mut self.inward[from as usize];
        let (first, second) = (inward.ring.word(0), inward.ring.word(1));
        let makes_sense = match kind {
            SlotKind::More => match inward.current {
                Some(index) => self.take_piece(from, index, header),
                None => false,
            },
            SlotKind::Piece => match u32::try_from(first) {
                Ok(index) => self.take_piece(from, index, header),
                Err(_) => false,
            },
            SlotKind::Ask | SlotKind::Done => {
                // Before the answer: this side may have the reply buffer by now.
                self.next_slot(from, None);
                return match kind {
                    SlotKind::Ask => self
                        .sending
                        .hear_ask(from, (first, second), &mut self.events),
                    _ => self.sending.hear_done(from, first, &mut self.events),
                };
            }
            SlotKind::Short | SlotKind::Body | SlotKind::Long | SlotKind::Registered => false,
        };
        if makes_sense {
            if kind == SlotKind::Piece {
                self.inward[from as usize].ring.report_relayed(header);
            }
            self.next_slot(from, Some(header));
        }
        if makes_sense && kind == SlotKind::Piece {
            self.asking.retain(|&(asked, _)| asked != from);
            self.sending.wake_sender(from);
        }
        makes_sense
    }

    /// Frees the current slot. Its sender may wait for room.
    #[inline]
    pub(super) fn next_slot(&mut self, from: u32, body: Option<SlotHeader>) {
        if self.inward[from as usize].ring.take(body) {
            self.sending.make_room_known(from);
        }
    }

    pub(super) fn take_piece(&mut self, from: u32, index: u32, header: SlotHeader) -> bool {
        let bytes = header.bytes;
        let message = self
            .incoming
            .get_mut(index)
            .filter(|message| message.from == from);
        let Some(message) = message else {
            return false;
        };
        let ring = &self.inward[from as usize].ring;
        let Some(piece) = ring.body(header, message.come as usize) else {
            return false;
        };
        let is_awaited = message.source.is_none() && bytes as u64 <= message.len - message.come;
        if !is_awaited || bytes == 0 {
            return false;
        }
        if header.is_relayed() {
            message.room.put_from_afar(message.come as usize, piece);
        } else {
            message.room.put(message.come as usize, piece);
        }
        message.come += bytes as u64;
        self.moved += bytes as u64;
        if header.kind == SlotKind::More as u8 && message.come == message.len {
            self.inward[from as usize].count_eager(message.len);
        }
        if message.come == message.len && !matches!(message.room, Room::Kept(_)) {
            self.finish_receiving(index);
        }
        true
    }

    /// Completes a message that has come whole.
    pub(super) fn finish_receiving(&mut self, index: u32) {
        let message = self.incoming.remove(index).expect("it was being received");
        let inward = &mut self.inward[message.from as usize];
        inward.current = inward.current.filter(|&current| current != index);
        if let Some(trial) = message.trial {
            inward.end_trial(message.len, trial, &self.clock);
        }
        self.events.push_back(LinkEvent::Arrived(Arrival(index)));
    }

    /// Gives up a local peer that wrote nonsense: nothing that it wrote or will write is reliable.
    #[cold]
    pub(super) fn garbled(&mut self, from: u32) {
        let inward = &mut self.inward[from as usize];
        inward.current = None;
        self.callers.remove(from);
        self.copying
            .retain(|(_, copying)| copying.origin.from != from);
        self.asking.retain(|&(asked, _)| asked != from);
        let unfinished = numbers_of(&self.incoming, |message| message.from == from);
        for &index in &unfinished {
            self.incoming.remove(index);
        }
        let unsent = self.sending.close(from);
        self.events.push_back(LinkEvent::Lost(Box::new(Lost {
            peer: self.node.peers()[from as usize],
            address: None,
            unfinished: unfinished.into_iter().map(Arrival).collect(),
            unsent,
            reason: "it has written invalid data into the shared memory".into(),
        })));
    }
}

/// Returns true if a message of `len` bytes can begin with `bytes` in the ring.
fn makes_sense(kind: SlotKind, bytes: usize, len: u64) -> bool {
    match kind {
        SlotKind::Body => {
            let is_piece = bytes > 0 && bytes <= PIECE_BYTES && bytes as u64 <= len;
            is_piece && len <= EAGER_REPLY_BYTES as u64
        }
        _ => bytes == 0 && len <= LONGEST_BYTES,
    }
}
