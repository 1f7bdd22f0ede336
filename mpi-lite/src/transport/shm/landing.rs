//! Where messages go, and how long ones get there.

use std::sync::atomic::Ordering::Acquire;

use super::super::{Bounced, FEW_BYTES, Few, Landed, Landing};
use super::link::RegisteredWords;
use super::note::{ALONE, Kind, NOWHERE};
use super::transfer::{self, Copying, Progress, Side};
use super::{CHUNKS_PER_TURN, Fresh, Incoming, LOOKS_PER_CALLER, Room, Shm, Source, has_waited};
use crate::data::Area;
use crate::memory::Span;

impl Shm {
    /// A message lands whose slot is in hand.
    #[inline(always)]
    pub(super) fn land_fresh(&mut self, fresh: Fresh, landing: Landing) -> Landed {
        let Fresh {
            from, note, kind, ..
        } = fresh;
        if kind != Kind::Short {
            return self.land_long(fresh, landing);
        }
        if let Landing::Into(Area::Run(span)) = landing {
            self.inward[from as usize].write_inline(span.part(0, note.bytes));
            self.next_slot(from, None);
            return Landed::Whole(None);
        }
        self.keep_short(fresh, matches!(landing, Landing::Later))
    }

    /// The same for one that has no place of its own.
    #[inline(never)]
    fn keep_short(&mut self, fresh: Fresh, is_later: bool) -> Landed {
        let Fresh { from, note, .. } = fresh;
        if note.bytes <= FEW_BYTES && !is_later {
            let inward = &self.inward[from as usize];
            let few = Few::filled(note.bytes, |span| inward.write_inline(span));
            self.next_slot(from, None);
            return Landed::Whole(Some(Bounced::Few(few)));
        }
        let mut body = self.shelf.take();
        body.resize(note.bytes, 0);
        self.inward[from as usize].write_inline(Span::of(&mut body));
        let landed = if is_later {
            self.enter(fresh, Room::Kept(body), note.bytes as u64);
            Landed::Coming
        } else {
            Landed::Whole(Some(Bounced::Buffer(body)))
        };
        self.next_slot(from, None);
        landed
    }

    /// The same for one with more than fits a slot.
    #[inline(never)]
    pub(super) fn land_long(&mut self, fresh: Fresh, landing: Landing) -> Landed {
        let Fresh {
            from,
            note,
            len,
            kind,
            ..
        } = fresh;
        if kind == Kind::Registered {
            return self.land_registered(fresh, landing);
        }
        if kind == Kind::Long {
            let is_later = matches!(landing, Landing::Later);
            let room = self.room(landing, len);
            let index = self.enter(fresh, room, 0);
            self.next_slot(from, None);
            if !is_later {
                self.fetch(index);
            }
            return Landed::Coming;
        }
        let Some(piece) = self.inward[from as usize].ring.body(note) else {
            unreachable!("`look` has checked the length");
        };
        let bytes = note.bytes as u64;
        let landed = match landing {
            Landing::Into(area) if bytes == len => {
                area.write(0, piece);
                Landed::Whole(None)
            }
            Landing::Bounce(_) if bytes == len => {
                let mut body = self.shelf.take();
                piece.append_to(&mut body);
                Landed::Whole(Some(Bounced::Buffer(body)))
            }
            landing => {
                let mut room = self.room(landing, len);
                room.put(0, piece);
                let index = self.enter(fresh, room, bytes);
                self.inward[from as usize].current = (bytes < len).then_some(index);
                Landed::Coming
            }
        };
        self.next_slot(from, Some(note));
        landed
    }

    /// The same for a short one whose sender waits to hear of its match.
    fn land_registered(&mut self, fresh: Fresh, landing: Landing) -> Landed {
        let Fresh { from, note, .. } = fresh;
        let (name, words) = self.inward[from as usize].registered();
        if matches!(landing, Landing::Later) {
            self.enter(fresh, Room::Registered(words), note.bytes as u64);
            self.next_slot(from, None);
            return Landed::Coming;
        }
        self.next_slot(from, None);
        self.deliver((from, name), (note.bytes, words), landing)
    }

    /// Puts a registered message where it belongs, and its sender hears of it.
    fn deliver(
        &mut self,
        (from, name): (u32, u32),
        (bytes, words): (usize, RegisteredWords),
        landing: Landing,
    ) -> Landed {
        let write = |span: Span| span.part(0, bytes).write_words(|number| words[number]);
        let bounced = match landing {
            Landing::Into(area) => {
                write(
                    area.span()
                        .expect("the engine packs what has gaps and is short"),
                );
                None
            }
            Landing::Bounce(_) => Some(Bounced::Few(Few::filled(bytes, write))),
            Landing::Later => unreachable!("it is kept"),
        };
        self.answer(from, Kind::Done, [name.into(), 0]);
        Landed::Whole(bounced)
    }

    fn room(&mut self, landing: Landing, len: u64) -> Room {
        Room::of(landing, len, &mut self.shelf)
    }

    pub(super) fn enter(&mut self, fresh: Fresh, room: Room, come: u64) -> u32 {
        let Fresh {
            from, len, kind, ..
        } = fresh;
        let ring = &self.inward[from as usize].ring;
        let source = match kind {
            Kind::Long => Some(Source {
                name: ring.word(3) as u32,
                transfer: (ring.word(3) >> 32) as u32,
                address: ring.word(4),
            }),
            Kind::Registered => Some(Source {
                name: self.inward[from as usize].registered().0,
                transfer: ALONE,
                address: 0,
            }),
            _ => None,
        };
        let index = self.incoming.insert(Incoming {
            from,
            len,
            come,
            room,
            source,
        });
        debug_assert_eq!(index, fresh.arrival);
        index
    }

    /// A message that was kept lands.
    pub(super) fn land_kept(&mut self, index: u32, landing: Landing) -> Landed {
        let Some(message) = self.incoming.get(index) else {
            // Its sender is lost: the event that tells so has come up already.
            return Landed::Coming;
        };
        if matches!(landing, Landing::Later) {
            return Landed::Coming;
        }
        if let (Room::Registered(words), Some(source)) = (&message.room, message.source) {
            let (from, body) = (message.from, (message.len as usize, *words));
            self.incoming.remove(index);
            return self.deliver((from, source.name), body, landing);
        }
        let len = message.len;
        let room = self.room(landing, len);
        let message = self.incoming.get_mut(index).expect("just seen");
        let kept = core::mem::replace(&mut message.room, room);
        let Room::Kept(mut bytes) = kept else {
            unreachable!("the engine lands a message once");
        };
        message.room.put(0, Span::of(&mut bytes));
        self.shelf.keep(bytes);
        if message.source.is_some() {
            self.fetch(index);
            return Landed::Coming;
        }
        if message.come < message.len {
            return Landed::Coming;
        }
        let message = self.incoming.remove(index).expect("just seen");
        Landed::Whole(message.room.into_body().map(Bounced::Buffer))
    }

    /// A message that is with its sender has landed: it is copied, or asked for.
    pub(super) fn fetch(&mut self, index: u32) {
        let message = self.incoming.get_mut(index).expect("just entered");
        let Some(source) = message.source else {
            return;
        };
        let place = message.room.span().filter(|_| source.address != NOWHERE);
        let Some(place) = place else {
            self.ask(index);
            return;
        };
        let (from, bytes) = (message.from, message.len);
        let outward = &mut self.outward[from as usize];
        let Some(neighbour) = outward.reach().filter(|_| bytes > 0) else {
            self.ask(index);
            return;
        };
        let transfers = &self.inward[from as usize].pair.transfers;
        let transfer = transfers.get(source.transfer as usize);
        let there = (source.address, bytes);
        let side = Side::of(self.me, from);
        let copying = Copying::begin((from, neighbour, side), there, place, transfer);
        self.copying.push_back((index, copying));
    }

    /// Asks for a message that the system does not copy: it comes in pieces.
    pub(super) fn ask(&mut self, index: u32) {
        let message = self.incoming.get_mut(index).expect("it was being received");
        if message.len == 0 {
            self.finish_fetching(index);
            return;
        }
        let from = message.from;
        if let Some(source) = message.source.take() {
            self.counters.long_asked += 1;
            let names = [u64::from(source.name), u64::from(index)];
            self.asking.push((from, 0));
            self.answer(from, Kind::Ask, names);
        }
    }

    /// All of a message that was with its sender is where it belongs, and the sender hears of it.
    pub(super) fn finish_fetching(&mut self, index: u32) {
        let message = self.incoming.get(index).expect("it was being received");
        let (from, source) = (message.from, message.source);
        self.finish_receiving(index);
        if let Some(source) = source {
            self.answer(from, Kind::Done, [u64::from(source.name), 0]);
        }
    }
}

impl Shm {
    #[cold]
    pub(super) fn work(&mut self) {
        self.copy_on();
        for at in (0..self.behind.len()).rev() {
            let to = self.behind[at];
            if self.catch_up(to) {
                self.behind.swap_remove(at);
            }
        }
        for at in (0..self.shared.len()).rev() {
            self.help_with(self.shared[at]);
        }
        for (from, looks) in &mut self.asking {
            if has_waited(looks) {
                self.rest.knock(*from, self.segment.area(*from));
            }
        }
    }

    /// Copies a part of a long message that this rank sends, or asks for the place it goes to.
    fn help_with(&mut self, index: u32) {
        let message = self.outgoing.get_mut(index).expect("shared ones live");
        let outward = &mut self.outward[message.to as usize];
        let transfers = &outward.pair.transfers;
        let transfer = message.transfer.map(|number| &transfers[number as usize]);
        let placed = transfer.filter(|transfer| transfer.has_place());
        let (Some(transfer), Some(body)) = (placed, message.body.span()) else {
            if message.asked.is_none() && has_waited(&mut message.looks) {
                self.rest.knock(message.to, outward.area);
            }
            return;
        };
        let Some(neighbour) = outward.reach() else {
            return;
        };
        let bytes = transfer::help((neighbour, Side::of(self.me, message.to)), body, transfer);
        self.counters.bytes_written += bytes;
        self.moved += bytes;
        // It may sleep until this is done.
        if bytes > 0 {
            self.rest.rouse(message.to, outward.area);
        } else {
            self.rest.wake(message.to, outward.area, outward.must_fence);
        }
    }

    /// Copies a part of a long message, each time of the next one.
    pub(super) fn copy_on(&mut self) {
        let Some((index, mut copying)) = self.copying.pop_front() else {
            return;
        };
        let progress = (0..CHUNKS_PER_TURN)
            .map(|_| copying.go_on())
            .find(|progress| *progress != Progress::Going)
            .unwrap_or(Progress::Going);
        let bytes = copying.take_count();
        self.counters.bytes_read += bytes;
        self.moved += bytes;
        match progress {
            Progress::Going | Progress::Waiting => self.copying.push_back((index, copying)),
            Progress::Done => self.finish_fetching(index),
            Progress::Failed => {
                self.outward[copying.from as usize].give_up_reach();
                self.ask(index);
            }
        }
    }

    /// What needs no answer within nanoseconds: long messages, what waits for room, new callers.
    #[inline]
    pub(crate) fn tidy_up(&mut self) {
        self.looks = self.looks.wrapping_add(1);
        if self.is_busy() {
            self.work();
        }
        if self.looks.is_multiple_of(LOOKS_PER_CALLER) {
            self.meet_callers();
        }
    }

    /// Neighbours that have sent something for the first time.
    pub(super) fn meet_callers(&mut self) {
        let area = self.segment.area(self.me);
        for (word, callers) in area
            .callers
            .iter()
            .enumerate()
            .take(self.peers.len().div_ceil(64))
        {
            let mut new = callers.load(Acquire) & !self.met[word];
            self.met[word] |= new;
            while new != 0 {
                let rank = word as u32 * 64 + new.trailing_zeros();
                new &= new - 1;
                if (rank as usize) < self.peers.len() {
                    self.callers.push(rank);
                }
            }
        }
    }
}
