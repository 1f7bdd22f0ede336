//! Lands messages, and copies long ones.

use super::body::Room;
use super::limits::{CHUNKS_PER_TURN, LOOKS_PER_CALLER, has_waited};
use super::message::{Inbound, Source};

use super::super::{Landing, Sink};
use super::Shm;
use super::choice::Way;
use super::header::{ALONE, NOWHERE, SlotKind};
use super::ring::{INLINE_BYTES, REGISTERED_BYTES, RegisteredWords, SlotHeader};
use super::transfer::{Copying, Origin, Progress, Side};
use crate::data::Area;
use crate::memory;
use crate::transport;

impl Shm {
    /// Lands a message that fits its slot: between gaps, or later.
    #[inline(never)]
    pub(super) fn land_short(&mut self, from: u32, header: SlotHeader, landing: Landing) {
        let inward = &self.inward[from as usize];
        if let Landing::Into(area) = landing {
            let mut staged = [0; INLINE_BYTES];
            inward.write_inline(&mut staged[..]);
            area.write(0, &staged[..header.bytes]);
            self.next_slot(from, None);
            return;
        }
        let mut body = self.pool.take();
        body.resize(header.bytes, 0);
        inward.write_inline(&mut body[..]);
        let len = header.bytes as u64;
        self.incoming.insert(Inbound {
            from,
            len,
            come: len,
            room: Room::Kept(body),
            source: None,
            trial: None,
        });
        self.next_slot(from, None);
    }

    /// Lands a message of which the first piece is in the ring, or all of it.
    #[inline(never)]
    pub(super) fn land_body(
        &mut self,
        from: u32,
        (header, len): (SlotHeader, u64),
        landing: Landing,
    ) {
        let Some(piece) = self.inward[from as usize].ring.body(header, 0) else {
            unreachable!("`take_slot` has checked the length");
        };
        let bytes = header.bytes as u64;
        match landing {
            Landing::Into(area) if bytes == len => area.write(0, piece),
            landing => {
                let mut room = self.room(landing);
                room.put(0, piece);
                let index = self.incoming.insert(Inbound {
                    from,
                    len,
                    come: bytes,
                    room,
                    source: None,
                    trial: None,
                });
                self.inward[from as usize].current = (bytes < len).then_some(index);
            }
        }
        self.next_slot(from, Some(header));
    }

    /// Lands a message that is with its sender.
    pub(super) fn land_long(&mut self, from: u32, len: u64, landing: Landing) {
        let is_later = matches!(landing, Landing::Later);
        let ring = &self.inward[from as usize].ring;
        let source = Source {
            name: ring.word(3) as u32,
            transfer: (ring.word(3) >> 32) as u32,
            address: ring.word(4),
        };
        let room = self.room(landing);
        let index = self.incoming.insert(Inbound {
            from,
            len,
            come: 0,
            room,
            source: Some(source),
            trial: None,
        });
        self.next_slot(from, None);
        if !is_later {
            self.fetch(index);
        }
    }

    /// Lands a short message whose sender waits for its match.
    pub(super) fn land_registered(&mut self, from: u32, header: SlotHeader, landing: Landing) {
        let (name, words) = self.inward[from as usize].registered();
        self.next_slot(from, None);
        match landing {
            Landing::Into(area) => {
                deliver(words, header.bytes, &area);
                self.answer(from, SlotKind::Done, [name.into(), 0]);
            }
            Landing::Later => {
                let source = Source {
                    name,
                    transfer: ALONE,
                    address: 0,
                };
                let len = header.bytes as u64;
                self.incoming.insert(Inbound {
                    from,
                    len,
                    come: len,
                    room: Room::Registered(words),
                    source: Some(source),
                    trial: None,
                });
            }
        }
    }

    fn room(&mut self, landing: Landing) -> Room {
        match landing {
            Landing::Into(area) => Room::Into(area),
            Landing::Later => Room::Kept(self.pool.take()),
        }
    }

    /// Lands a message that was kept. Returns true if that completes it.
    pub(super) fn land_kept(&mut self, index: u32, area: Area) -> bool {
        let Some(message) = self.incoming.get_mut(index) else {
            // Its sender is lost, which was reported already.
            return false;
        };
        if let (Room::Registered(words), Some(source)) = (&message.room, message.source) {
            deliver(*words, message.len as usize, &area);
            let from = message.from;
            self.incoming.remove(index);
            self.answer(from, SlotKind::Done, [source.name.into(), 0]);
            return true;
        }
        let kept = core::mem::replace(&mut message.room, Room::Into(area));
        let Room::Kept(bytes) = kept else {
            unreachable!("the engine lands a message once");
        };
        message.room.put(0, &bytes[..]);
        self.pool.keep(bytes);
        if message.source.is_some() {
            self.fetch(index);
            return false;
        }
        let is_complete = message.come == message.len;
        if is_complete {
            self.incoming.remove(index);
        }
        is_complete
    }

    /// Copies a message that is with its sender and has landed, or asks for it.
    pub(super) fn fetch(&mut self, index: u32) {
        let message = self.incoming.get_mut(index).expect("just entered");
        let Some(source) = message.source else {
            return;
        };
        let (from, bytes) = (message.from, message.len);
        let place = message.room.span().filter(|_| source.address != NOWHERE);
        let local_peer = self.sending.channel(from).reach();
        let (Some(place), Some(local_peer)) = (place, local_peer.filter(|_| bytes > 0)) else {
            self.ask_unmeasured(index, local_peer.is_some());
            return;
        };
        // Of a message that is cut off only a part is copied: its time says nothing.
        let is_whole = place.len() as u64 >= bytes;
        let (way, trial) = if is_whole {
            self.inward[from as usize].begin_trial(bytes, &self.clock)
        } else {
            (Way::Across, None)
        };
        message.trial = trial;
        if way == Way::Pieces {
            self.ask(index);
            return;
        }
        let transfers = &self.inward[from as usize].pair.transfers;
        let transfer = transfers.get(source.transfer as usize);
        let origin = Origin {
            from,
            local_peer,
            side: Side::of(self.me, from),
            address: source.address,
        };
        let copying = Copying::begin(origin, bytes, place, transfer);
        self.copying.push_back((index, copying));
    }

    /// Asks for a message that cannot be copied across: the system does not copy at all, or one
    /// side's memory has gaps.
    #[cold]
    fn ask_unmeasured(&mut self, index: u32, is_scattered: bool) {
        let message = self.incoming.get(index).expect("it was being received");
        let (inward, bytes) = (&mut self.inward[message.from as usize], message.len);
        if is_scattered {
            inward.count_scattered(bytes);
        } else {
            inward.stop_measuring();
        }
        self.ask(index);
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
            self.long_asked += 1;
            let names = [u64::from(source.name), u64::from(index)];
            self.asking.push((from, 0));
            self.answer(from, SlotKind::Ask, names);
        }
    }

    /// Sends a slot without a body, now or when there is room.
    pub(super) fn answer(&mut self, to: u32, kind: SlotKind, words: [u64; 2]) {
        self.sending.answer(to, (kind, words), &mut self.events);
    }

    /// Completes a message that was with its sender, and reports that to the sender.
    pub(super) fn finish_fetching(&mut self, index: u32) {
        let message = self.incoming.get(index).expect("it was being received");
        let (from, source) = (message.from, message.source);
        self.finish_receiving(index);
        if let Some(source) = source {
            self.answer(from, SlotKind::Done, [u64::from(source.name), 0]);
        }
    }
}

/// Copies a registered message of `bytes` bytes into its area.
fn deliver(words: RegisteredWords, bytes: usize, area: &Area) {
    let mut staged = [0; REGISTERED_BYTES];
    memory::Room::from(&mut staged[..]).write_words(|number| words[number]);
    area.write(0, &staged[..bytes]);
}

impl Shm {
    #[cold]
    pub(super) fn work(&mut self) {
        self.copy_on();
        self.sending.work(&mut self.events);
        for (from, looks) in &mut self.asking {
            if has_waited(looks) {
                self.node.wakeup().knock(*from, self.segment.area(*from));
            }
        }
    }

    /// Copies a part of a long message, each time of another one.
    pub(super) fn copy_on(&mut self) {
        let Some((index, mut copying)) = self.copying.pop_front() else {
            return;
        };
        let progress = (0..CHUNKS_PER_TURN)
            .map(|_| copying.go_on())
            .find(|progress| *progress != Progress::Going)
            .unwrap_or(Progress::Going);
        let bytes = copying.take_count();
        self.bytes_read += bytes;
        self.moved += bytes;
        match progress {
            Progress::Going | Progress::Waiting => self.copying.push_back((index, copying)),
            Progress::Done => self.finish_fetching(index),
            Progress::Failed => {
                self.sending.channel(copying.origin.from).give_up_reach();
                self.ask(index);
            }
        }
    }

    /// Does the work that is not urgent: long messages, messages that wait for room, new callers.
    #[inline(always)]
    pub(super) fn tidy_up(&mut self, sink: &mut impl Sink) -> transport::Progress {
        self.looks = self.looks.wrapping_add(1);
        let mut progress = transport::Progress::Idle;
        if self.is_busy() {
            progress = self.work_and_tell(sink);
        }
        if self.looks.is_multiple_of(LOOKS_PER_CALLER) {
            self.look_seldom();
        }
        progress
    }

    #[inline(never)]
    fn work_and_tell(&mut self, sink: &mut impl Sink) -> transport::Progress {
        let before = self.moved();
        self.work();
        match self.tell(sink) {
            transport::Progress::Idle if self.moved() != before => transport::Progress::Moved,
            progress => progress,
        }
    }

    #[inline(never)]
    fn look_seldom(&mut self) {
        self.callers.meet();
        self.incoming.shrink();
        self.sending.shrink();
    }
}
