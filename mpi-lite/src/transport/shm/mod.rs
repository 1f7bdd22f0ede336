//! The road between ranks of one node: shared memory.
//!
//! A short message is one cache line, written once. A longer one goes through a ring of bytes, in
//! pieces, so that both sides copy at the same time. A long one stays where it is until the
//! receiver knows where it goes; then both copy it straight from one memory to the other
//! (`transfer`), or, where the system forbids that, it goes through the ring as well.

mod link;
mod note;
mod rest;
mod ring;
mod segment;
mod transfer;

use std::collections::VecDeque;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::Acquire;

use link::{Inward, Outward};
use note::{ALONE, Kind, envelope_of, words_of};
use rest::Rest;
use ring::{INLINE_BYTES, Note, PIECE_BYTES};
use segment::Segment;
pub use segment::{RANKS_MAX, segment_bytes};
use transfer::{Copying, Progress};

use super::{
    Arrival, EnvelopeBytes, Event, Landed, Landing, Outbound, Peer, Refusal, Token, Transport,
};
use crate::clock::Instant;
use crate::memory::Span;
use crate::slab::Slab;

/// The longest message that goes through the ring without being asked for.
const EAGER_BYTES: usize = PIECE_BYTES;

/// Pieces of a body that goes through the ring: the receiver copies one while the next comes.
const EAGER_PIECE_BYTES: usize = 4096;

/// Chunks of a long message that are copied before something else is looked at.
const CHUNKS_PER_TURN: usize = 4;

/// What a rank needs to meet the others of its node.
#[derive(Debug)]
pub struct Place {
    /// The node's memory.
    pub memory: OwnedFd,
    /// What wakes each rank of the node, by local rank.
    pub bells: Vec<OwnedFd>,
    /// The rank in `MPI_COMM_WORLD` of each rank of the node, by local rank.
    pub ranks: Vec<u32>,
    /// This rank's local rank.
    pub me: u32,
    /// Whether ranks share cores.
    pub is_crowded: bool,
    /// Whether long messages may be copied straight from one process to the other.
    pub copies_across: bool,
}

/// A message on its way in.
#[derive(Debug)]
struct Incoming {
    from: u32,
    len: u64,
    /// Bytes that have come through the ring.
    come: u64,
    room: Room,
    /// Pieces of it come, or will.
    is_in_pieces: bool,
    /// If it is with its sender until it is asked for.
    source: Option<Source>,
}

/// Where the bytes of a message on its way in are put.
#[derive(Debug)]
enum Room {
    /// Not landed: what has come so far.
    Kept(Vec<u8>),
    Into(Span),
    Bounce(Vec<u8>),
}

impl Room {
    fn of(landing: Landing, len: u64) -> Self {
        match landing {
            Landing::Into(span) => Self::Into(span),
            Landing::Bounce => Self::Bounce(vec![0; usize::try_from(len).unwrap_or(0)]),
            Landing::Later => Self::Kept(Vec::new()),
        }
    }

    /// The memory, if the message has landed.
    fn span(&mut self) -> Option<Span> {
        match self {
            Self::Kept(_) => None,
            Self::Into(span) => Some(*span),
            Self::Bounce(buffer) => Some(Span::of(buffer)),
        }
    }

    fn put(&mut self, at: usize, piece: Span) {
        match self {
            Self::Kept(bytes) => piece.append_to(bytes),
            Self::Into(span) => {
                span.part(at, piece.len()).copy_from(piece);
            }
            Self::Bounce(buffer) => {
                Span::of(buffer).part(at, piece.len()).copy_from(piece);
            }
        }
    }

    fn into_body(self) -> Option<Vec<u8>> {
        match self {
            Self::Bounce(buffer) => Some(buffer),
            Self::Kept(_) | Self::Into(_) => None,
        }
    }
}

/// Where the bytes of a long message are.
#[derive(Clone, Copy, Debug)]
struct Source {
    /// What its sender calls it.
    name: u32,
    /// The sender's address.
    address: u64,
    /// The transfer that both sides use, or [`ALONE`].
    transfer: u32,
}

/// A message that waits for its receiver.
#[derive(Debug)]
struct Outgoing {
    to: u32,
    envelope: EnvelopeBytes,
    body: Span,
    token: Token,
    /// Its sender waits for the match.
    needs_match: bool,
    transfer: Option<u32>,
    /// Bytes that have gone through the ring, and the receiver's name for it, once it asked.
    gone: usize,
    asked: Option<u32>,
}

/// The message that `Arriving` just told of; its slot is still in hand.
#[derive(Clone, Copy, Debug)]
struct Fresh {
    arrival: u32,
    from: u32,
    note: Note,
    kind: Kind,
    len: u64,
}

/// The shared memory of a node, as one rank sees it.
#[derive(Debug)]
pub struct Shm {
    me: u32,
    /// Local rank by rank in the world, for ranks of this node.
    locals: Vec<u32>,
    peers: Vec<Peer>,
    segment: Segment,
    rest: Rest,
    outward: Vec<Outward>,
    inward: Vec<Inward>,
    /// Those that have ever sent something, and whose turn it is.
    callers: Vec<u32>,
    next: usize,
    /// Callers, a bit for each.
    met: [u64; RANKS_MAX as usize / 64],
    fresh: Option<Fresh>,
    incoming: Slab<Incoming>,
    outgoing: Slab<Outgoing>,
    /// Incoming messages that are being copied.
    copying: VecDeque<(u32, Copying)>,
    /// Neighbours that something waits for to be sent to.
    behind: Vec<u32>,
    /// Outgoing messages that both sides may copy.
    shared: Vec<u32>,
    events: VecDeque<Event>,
    /// A word that neighbours read to find out whether they can read our memory.
    _witness: Box<u64>,
}

impl Shm {
    /// The road of the rank that `place` describes, in a job of `size` ranks.
    ///
    /// # Errors
    /// The memory cannot be mapped.
    pub fn new(place: Place, size: u32) -> io::Result<Self> {
        let Place {
            memory,
            bells,
            ranks,
            me,
            is_crowded,
            copies_across,
        } = place;
        let count = u32::try_from(ranks.len()).map_err(io::Error::other)?;
        let segment = Segment::map(&memory, count)?;
        let rest = Rest::new(segment.area(me), bells, me, is_crowded);
        let mut locals = vec![u32::MAX; size as usize];
        for (&rank, local) in ranks.iter().zip(0..) {
            locals[rank as usize] = local;
        }
        let witness = Box::new(witness_word());
        let area = segment.area(me);
        let witness_at = core::ptr::from_ref(&*witness).addr() as u64;
        if copies_across {
            area.present(std::process::id(), (witness_at, *witness));
        }
        let outward = |to| Outward::new(segment.area(to), segment.pair(me, to));
        Ok(Self {
            me,
            locals,
            peers: ranks.into_iter().map(Peer).collect(),
            segment,
            rest,
            outward: (0..count).map(outward).collect(),
            inward: (0..count)
                .map(|from| Inward::new(segment.pair(from, me)))
                .collect(),
            callers: Vec::new(),
            next: 0,
            met: [0; RANKS_MAX as usize / 64],
            fresh: None,
            incoming: Slab::default(),
            outgoing: Slab::default(),
            copying: VecDeque::new(),
            behind: Vec::new(),
            shared: Vec::new(),
            events: VecDeque::new(),
            _witness: witness,
        })
    }
}

/// A word that nobody guesses: two processes must not have the same at the same address.
fn witness_word() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id()) | 1
}

// Sending.
impl Shm {
    /// Makes known what was written to `to`.
    #[inline]
    fn announce(&mut self, to: u32) {
        let outward = &mut self.outward[to as usize];
        if !outward.is_known {
            outward.must_fence = self.rest.must_fence(outward.area);
            outward.introduce(self.me);
        }
        self.rest.wake(to, outward.area, outward.must_fence);
    }

    /// Takes a short message whole, if there is room for it: its body may be reused at once.
    #[inline]
    fn take_short(&mut self, to: u32, envelope: &EnvelopeBytes, body: Span) -> bool {
        let outward = &mut self.outward[to as usize];
        if outward.is_behind() || !outward.push_message(envelope, body) {
            return false;
        }
        self.announce(to);
        true
    }

    /// Sends on what waits for room at `to`. Answers whether all of it went.
    fn catch_up(&mut self, to: u32) -> bool {
        let mut has_sent = false;
        let all_went = self.catch_up_quietly(to, &mut has_sent);
        if has_sent {
            self.announce(to);
        }
        all_went
    }

    fn catch_up_quietly(&mut self, to: u32, has_sent: &mut bool) -> bool {
        while let Some(&(kind, words)) = self.outward[to as usize].answers.front() {
            if !self.outward[to as usize].push_note(kind, &words) {
                return false;
            }
            self.outward[to as usize].answers.pop_front();
            *has_sent = true;
        }
        while let Some(&index) = self.outward[to as usize].asked.front() {
            if !self.send_pieces(index, has_sent) {
                return false;
            }
            self.outward[to as usize].asked.pop_front();
        }
        while let Some(&index) = self.outward[to as usize].waiting.front() {
            if !self.send_now(index) {
                return false;
            }
            self.outward[to as usize].waiting.pop_front();
            *has_sent = true;
        }
        true
    }

    /// Writes a message to its road, if there is room.
    fn send_now(&mut self, index: u32) -> bool {
        let message = self
            .outgoing
            .get_mut(index)
            .expect("it waits in the road's queue");
        let outward = &mut self.outward[message.to as usize];
        let (envelope, body) = (message.envelope, message.body);
        if !message.needs_match && body.len() <= EAGER_BYTES {
            let went = outward.push_message(&envelope, body);
            if went {
                self.finish_sending(index);
            }
            return went;
        }
        if body.len() > EAGER_BYTES && message.transfer.is_none() {
            message.transfer = outward.take_transfer();
        }
        let name = u64::from(index) | u64::from(message.transfer.unwrap_or(ALONE)) << 32;
        let [context, tag] = words_of(&envelope);
        let words = [context, tag, body.len() as u64, name, body.address()];
        let went = outward.push_note(Kind::Long, &words);
        if went && message.transfer.is_some() {
            self.shared.push(index);
        }
        went
    }

    /// Sends the next pieces of a message that was asked for. Answers whether it is through.
    fn send_pieces(&mut self, index: u32, has_sent: &mut bool) -> bool {
        let message = self
            .outgoing
            .get_mut(index)
            .expect("it waits in the road's queue");
        let outward = &mut self.outward[message.to as usize];
        let name = message.asked.expect("the receiver has asked");
        while message.gone < message.body.len() {
            let rest = message.body.part(message.gone, usize::MAX);
            let Some(bytes) = outward.push_asked(name, rest) else {
                return false;
            };
            message.gone += bytes;
            *has_sent = true;
        }
        self.finish_sending(index);
        true
    }

    /// The body of a message may be reused.
    fn finish_sending(&mut self, index: u32) {
        let message = self.outgoing.remove(index).expect("it was being sent");
        if let Some(transfer) = message.transfer {
            self.outward[message.to as usize].free_transfer(transfer);
            self.shared.retain(|&other| other != index);
        }
        let token = message.token;
        self.events.push_back(Event::Sent { token });
    }

    /// Sends a slot without a body, now or when there is room.
    fn answer(&mut self, to: u32, kind: Kind, words: [u64; 2]) {
        self.outward[to as usize].answers.push_back((kind, words));
        self.hurry(to);
    }

    /// Sends what waits for `to`, or notes that it waits.
    fn hurry(&mut self, to: u32) {
        if !self.catch_up(to) && !self.behind.contains(&to) {
            self.behind.push(to);
        }
    }
}

// Receiving.
impl Shm {
    /// What the next slot of a caller has to tell, if it has one.
    #[inline]
    fn look(&mut self, from: u32) -> Option<Event> {
        loop {
            let inward = &self.inward[from as usize];
            let note = inward.ring.peek()?;
            match Kind::of(note.kind) {
                Some(Kind::Short) if note.bytes <= INLINE_BYTES => {
                    return Some(self.arriving(from, (note, Kind::Short), note.bytes as u64));
                }
                Some(kind @ (Kind::Body | Kind::Long)) if note.bytes <= PIECE_BYTES => {
                    let len = inward.ring.word(2);
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

    #[inline]
    fn arriving(&mut self, from: u32, (note, kind): (Note, Kind), len: u64) -> Event {
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
    fn hear(&mut self, from: u32, note: Note, kind: Kind) -> bool {
        let inward = &mut self.inward[from as usize];
        let (first, second) = (inward.ring.word(0), inward.ring.word(1));
        let makes_sense = match kind {
            Kind::More => match inward.current {
                Some(index) => self.take_piece(from, index, note.bytes),
                None => false,
            },
            Kind::Piece => match u32::try_from(first) {
                Ok(index) => self.take_piece(from, index, note.bytes),
                Err(_) => false,
            },
            Kind::Ask => self.hear_ask(from, first, second),
            Kind::Done => self.hear_done(from, first),
            Kind::Short | Kind::Body | Kind::Long => false,
        };
        if makes_sense {
            self.next_slot(from, note.bytes);
        }
        makes_sense
    }

    /// A slot is done with. Its sender may wait for room.
    #[inline]
    fn next_slot(&mut self, from: u32, bytes: usize) {
        if self.inward[from as usize].ring.take(bytes) {
            let outward = &self.outward[from as usize];
            self.rest.wake(from, outward.area, outward.must_fence);
        }
    }

    fn take_piece(&mut self, from: u32, index: u32, bytes: usize) -> bool {
        let inward = &mut self.inward[from as usize];
        let piece = inward.ring.body(bytes);
        let message = self
            .incoming
            .get_mut(index)
            .filter(|message| message.from == from);
        let (Some(piece), Some(message)) = (piece, message) else {
            return false;
        };
        let is_awaited = message.is_in_pieces && bytes as u64 <= message.len - message.come;
        if !is_awaited || bytes == 0 {
            return false;
        }
        message.room.put(message.come as usize, piece);
        message.come += bytes as u64;
        if message.come == message.len && !matches!(message.room, Room::Kept(_)) {
            self.finish_receiving(index);
        }
        true
    }

    fn hear_ask(&mut self, from: u32, name: u64, asked: u64) -> bool {
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

    fn hear_done(&mut self, from: u32, name: u64) -> bool {
        let named = self.named(from, name);
        if let Some(index) = named {
            self.finish_sending(index);
        }
        named.is_some()
    }

    /// The outgoing message that `from` speaks of.
    fn named(&self, from: u32, name: u64) -> Option<u32> {
        let index = u32::try_from(name).ok()?;
        let message = self.outgoing.get(index)?;
        (message.to == from && message.asked.is_none()).then_some(index)
    }

    /// All of a message is where it belongs.
    fn finish_receiving(&mut self, index: u32) {
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
    fn garbled(&mut self, from: u32) -> Option<Event> {
        let inward = &mut self.inward[from as usize];
        inward.is_garbled = true;
        inward.current = None;
        self.callers.retain(|&caller| caller != from);
        self.copying.retain(|(_, copying)| copying.from != from);
        self.behind.retain(|&to| to != from);
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
        Some(Event::Lost {
            peer: self.peers[from as usize],
            unfinished: unfinished.into_iter().map(Arrival).collect(),
            unsent,
            reason: "what it wrote into the shared memory makes no sense",
        })
    }
}

fn places<T>(slab: &Slab<T>, is_one: impl Fn(&T) -> bool) -> Vec<u32> {
    let ones = slab.iter().filter(|(_, thing)| is_one(thing));
    ones.map(|(index, _)| index).collect()
}

// Landing.
impl Shm {
    /// A message lands whose slot is in hand.
    #[inline]
    fn land_fresh(&mut self, fresh: Fresh, landing: Landing) -> Landed {
        let Fresh {
            from, note, kind, ..
        } = fresh;
        if kind != Kind::Short {
            return self.land_long(fresh, landing);
        }
        let mut inline = self.inward[from as usize].inline(note.bytes);
        let body = Span::of(&mut inline[..note.bytes]);
        let landed = match landing {
            Landing::Into(span) => {
                span.copy_from(body);
                Landed::Whole(None)
            }
            Landing::Bounce => Landed::Whole(Some(inline[..note.bytes].to_vec())),
            Landing::Later => {
                let mut room = Room::Kept(Vec::new());
                room.put(0, body);
                self.enter(fresh, room, note.bytes as u64);
                Landed::Coming
            }
        };
        self.next_slot(from, 0);
        landed
    }

    /// The same for one with more than fits a slot.
    fn land_long(&mut self, fresh: Fresh, landing: Landing) -> Landed {
        let Fresh {
            from,
            note,
            len,
            kind,
            ..
        } = fresh;
        if kind == Kind::Long {
            let index = self.enter(fresh, Room::of(landing, len), 0);
            self.next_slot(from, 0);
            self.fetch(index);
            return Landed::Coming;
        }
        let Some(piece) = self.inward[from as usize].ring.body(note.bytes) else {
            unreachable!("`look` has checked the length");
        };
        let bytes = note.bytes as u64;
        let landed = match landing {
            Landing::Into(span) if bytes == len => {
                span.copy_from(piece);
                Landed::Whole(None)
            }
            Landing::Bounce if bytes == len => {
                let mut body = Vec::with_capacity(note.bytes);
                piece.append_to(&mut body);
                Landed::Whole(Some(body))
            }
            _ => {
                let mut room = Room::of(landing, len);
                room.put(0, piece);
                let index = self.enter(fresh, room, bytes);
                self.inward[from as usize].current = (bytes < len).then_some(index);
                Landed::Coming
            }
        };
        self.next_slot(from, note.bytes);
        landed
    }

    fn enter(&mut self, fresh: Fresh, room: Room, come: u64) -> u32 {
        let Fresh {
            from, len, kind, ..
        } = fresh;
        let ring = &self.inward[from as usize].ring;
        let source = (kind == Kind::Long).then(|| Source {
            name: ring.word(3) as u32,
            transfer: (ring.word(3) >> 32) as u32,
            address: ring.word(4),
        });
        let index = self.incoming.insert(Incoming {
            from,
            len,
            come,
            room,
            is_in_pieces: source.is_none(),
            source,
        });
        debug_assert_eq!(index, fresh.arrival);
        index
    }

    /// A message that was kept lands.
    fn land_kept(&mut self, index: u32, landing: Landing) -> Landed {
        let Some(message) = self.incoming.get_mut(index) else {
            // Its sender is lost: the event that tells so has come up already.
            return Landed::Coming;
        };
        let kept = core::mem::replace(&mut message.room, Room::of(landing, message.len));
        let Room::Kept(mut bytes) = kept else {
            unreachable!("the engine lands a message once");
        };
        if matches!(landing, Landing::Later) {
            message.room = Room::Kept(bytes);
            return Landed::Coming;
        }
        message.room.put(0, Span::of(&mut bytes));
        if message.source.is_some() {
            self.fetch(index);
            return Landed::Coming;
        }
        if message.come < message.len {
            return Landed::Coming;
        }
        let message = self.incoming.remove(index).expect("just seen");
        Landed::Whole(message.room.into_body())
    }

    /// A message that is with its sender has landed: it is copied, or asked for.
    fn fetch(&mut self, index: u32) {
        let message = self.incoming.get_mut(index).expect("just entered");
        let (Some(place), Some(source)) = (message.room.span(), message.source) else {
            return;
        };
        let (from, bytes) = (message.from, message.len);
        let outward = &mut self.outward[from as usize];
        let Some(neighbour) = outward.reach().filter(|_| bytes > 0) else {
            message.is_in_pieces = true;
            self.ask(index);
            return;
        };
        let transfers = &self.inward[from as usize].pair.transfers;
        let transfer = transfers.get(source.transfer as usize);
        let there = (source.address, bytes);
        let copying = Copying::begin((from, neighbour), there, place, transfer);
        self.copying.push_back((index, copying));
    }

    /// Asks for a message that the system does not copy.
    fn ask(&mut self, index: u32) {
        let message = self.incoming.get(index).expect("it was being received");
        let (from, is_empty) = (message.from, message.len == 0);
        let name = message.source.map_or(0, |source| u64::from(source.name));
        if is_empty {
            self.finish_receiving(index);
            self.answer(from, Kind::Done, [name, 0]);
        } else {
            self.answer(from, Kind::Ask, [name, u64::from(index)]);
        }
    }
}

// What is done when nothing new has come.
impl Shm {
    #[cold]
    fn work(&mut self) {
        self.copy_on();
        for at in (0..self.behind.len()).rev() {
            let to = self.behind[at];
            if self.catch_up(to) {
                self.behind.swap_remove(at);
            }
        }
        for at in (0..self.shared.len()).rev() {
            let message = self
                .outgoing
                .get(self.shared[at])
                .expect("shared ones live");
            let outward = &mut self.outward[message.to as usize];
            if let (Some(transfer), Some(neighbour)) = (message.transfer, outward.reach()) {
                let transfer = &outward.pair.transfers[transfer as usize];
                transfer::help(neighbour, message.body, transfer);
            }
        }
    }

    /// Copies a part of a long message, each time of the next one.
    fn copy_on(&mut self) {
        let Some((index, mut copying)) = self.copying.pop_front() else {
            return;
        };
        let progress = (0..CHUNKS_PER_TURN)
            .map(|_| copying.go_on())
            .find(|progress| *progress != Progress::Going)
            .unwrap_or(Progress::Going);
        match progress {
            Progress::Going | Progress::Waiting => self.copying.push_back((index, copying)),
            Progress::Done => {
                let message = self.incoming.get(index).expect("it is being copied");
                let (from, source) = (message.from, message.source);
                self.finish_receiving(index);
                let name = source.map_or(0, |source| u64::from(source.name));
                self.answer(from, Kind::Done, [name, 0]);
            }
            Progress::Failed => {
                self.outward[copying.from as usize].give_up_reach();
                let message = self.incoming.get_mut(index).expect("it is being copied");
                message.is_in_pieces = true;
                self.ask(index);
            }
        }
    }

    /// Neighbours that have sent something for the first time.
    fn meet_callers(&mut self) {
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

impl Transport for Shm {
    fn body_limit(&self) -> u64 {
        u64::MAX
    }

    #[inline]
    fn offer(&mut self, to: Peer, envelope: &EnvelopeBytes, body: Span) -> bool {
        let to = self.locals[to.0 as usize];
        self.take_short(to, envelope, body)
    }

    fn send(&mut self, to: Peer, message: Outbound<'_>) -> Result<(), Refusal> {
        let Outbound {
            envelope,
            body,
            token,
            needs_match,
            ..
        } = message;
        let to = self.locals[to.0 as usize];
        if self.inward[to as usize].is_garbled {
            return Err(Refusal::Lost);
        }
        let index = self.outgoing.insert(Outgoing {
            to,
            envelope: *envelope,
            body,
            token,
            needs_match,
            transfer: None,
            gone: 0,
            asked: None,
        });
        self.outward[to as usize].waiting.push_back(index);
        self.hurry(to);
        Ok(())
    }

    #[inline]
    fn flush(&mut self) {}

    #[inline]
    fn pause(&mut self) {}

    #[inline]
    fn land(&mut self, arrival: Arrival, landing: Landing) -> Landed {
        match self.fresh.take_if(|fresh| fresh.arrival == arrival.0) {
            Some(fresh) => self.land_fresh(fresh, landing),
            None => self.land_kept(arrival.0, landing),
        }
    }

    #[inline]
    fn poll(&mut self, _now: Instant) -> Option<Event> {
        if let Some(event) = self.events.pop_front() {
            return Some(event);
        }
        for _ in 0..self.callers.len() {
            if self.next >= self.callers.len() {
                self.next = 0;
            }
            let caller = self.callers[self.next];
            self.next += 1;
            if let Some(event) = self.look(caller) {
                return Some(event);
            }
        }
        if !(self.copying.is_empty() && self.behind.is_empty() && self.shared.is_empty()) {
            self.work();
        }
        self.meet_callers();
        self.events.pop_front()
    }

    fn wake_at(&self) -> Option<Instant> {
        let is_busy = !self.events.is_empty() || !self.copying.is_empty();
        is_busy.then_some(Instant::ZERO)
    }

    fn wake_on(&self) -> Option<BorrowedFd<'_>> {
        Some(self.rest.bell())
    }

    fn is_quiet(&self) -> bool {
        self.outgoing.is_empty() && self.behind.is_empty()
    }

    fn begin_rest(&mut self) -> bool {
        self.rest.begin();
        self.meet_callers();
        let has_news = |&from: &u32| self.inward[from as usize].ring.peek().is_some();
        let has_room = |&to: &u32| self.outward[to as usize].may_go_on();
        !self.callers.iter().any(has_news) && !self.behind.iter().any(has_room)
    }

    fn end_rest(&mut self) {
        self.rest.end();
    }
}
