//! Two ranks that share memory, under the hand of a fuzzer or a test: both send and receive, and
//! meanwhile anything may be written into the memory, as a local peer that has gone mad would do.
//!
//! Whatever is written, nothing may panic or touch memory that is not of the segment or of a
//! message; each send ends at most once, and nothing is heard of a local peer that is lost.

use core::sync::atomic::Ordering::Relaxed;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, ftruncate, memfd_create};

use super::super::{
    Arrival, ENVELOPE_BYTES, Incoming, Landing, Lost, Outbound, PeerId, Sink, Token, Transport,
};
use super::Shm;
use super::ring::SlotHeader;
use crate::clock::Instant;
use crate::config::CopyAcross;
use crate::memory::Span;
use crate::node::segment::{Area, Pair, RingSlot, SLOTS, Segment, TRANSFERS, WORDS};
use crate::node::{Access, Cores, Node};

/// Messages longer than this land nowhere, as those that nobody can receive.
const LONGEST: u64 = 1 << 20;

/// Sends that may be under way.
const SENDS: usize = 64;

/// A process whose memory stands in for that of both ranks, and a word of that memory.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// Its number. What a mad local peer has copied into a process goes into this one.
    pub process: u32,
    /// Where in its memory the word is.
    pub witness_at: u64,
    /// The word.
    pub witness: u64,
}

/// Where something is written.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// A slot of the channel to the rank, by number: its sequence word.
    Sequence(u8),
    /// A word of such a slot.
    Word(u8, u8),
    /// How many slots the rank has taken, how many bytes, how many of a requested message, or which
    /// messages it wants announced.
    Taken(u8),
    /// A word of a transfer on the channel to the rank.
    Transfer(u8, u8),
    /// A word of what the rank says of itself.
    Area(u8),
    /// The reply slot's sequence word.
    ReplySlot,
    /// A word of the reply slot.
    ReplyWord(u8),
}

/// How a message lands.
#[derive(Clone, Copy, Debug, Default)]
pub enum How {
    /// In memory of the program, of this many bytes.
    Into(u16),
    /// In memory that has room for all of it.
    Whole,
    /// Not now.
    #[default]
    Later,
}

/// One of the two ranks, with what the program has given it.
struct Rank {
    link: Shm,
    program: Program,
}

/// What the program has given a rank, and what it was told.
#[derive(Default)]
struct Program {
    /// Bodies of sends that have not ended, by token.
    sending: Vec<(u32, Vec<u8>)>,
    ended: BTreeSet<u32>,
    /// Arrivals that have not landed, and their lengths.
    held: Vec<(Arrival, u64)>,
    /// Memory into which a message lands.
    landing: Vec<(Arrival, Vec<u8>)>,
    is_lost: bool,
    /// How messages land in this turn.
    how: How,
    /// Memory of a message that was whole; it is written when the link has returned.
    whole: Vec<u8>,
    /// How many more things may be told in this turn.
    left: usize,
}

/// Memory for two ranks: mapped once, because no mapping is ever undone.
#[derive(Debug)]
pub struct Memory {
    memory: OwnedFd,
    segment: Segment,
}

impl Memory {
    /// New memory.
    ///
    /// # Errors
    /// The system has none.
    pub fn new() -> io::Result<Self> {
        let memory = memfd_create("fuzz", MemfdFlags::CLOEXEC)?;
        ftruncate(&memory, mpi_boot::node_memory::bytes_of(2))?;
        let segment = Segment::map(&memory, 2)?;
        Ok(Self { memory, segment })
    }

    /// Nothing was ever written to it.
    fn wipe(&self) -> io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(fallocate(
            &self.memory,
            flags,
            0,
            mpi_boot::node_memory::bytes_of(2),
        )?)
    }
}

/// The two ranks.
pub struct Rig {
    ranks: [Rank; 2],
    segment: Segment,
    state: Option<State>,
    sent: u32,
}

fn doorbells() -> io::Result<Vec<OwnedFd>> {
    let doorbell = || Ok(eventfd(0, EventfdFlags::NONBLOCK)?);
    (0..2).map(|_| doorbell()).collect()
}

impl Rig {
    /// Two ranks that have sent nothing yet; no others use the memory. With a stand-in, long
    /// messages are copied straight from one memory to the other: those of the stand-in.
    ///
    /// # Errors
    /// The system has no memory or no descriptors left.
    pub fn new(memory: &mut Memory, state: Option<State>) -> io::Result<Self> {
        memory.wipe()?;
        let segment = memory.segment;
        let doorbells = doorbells()?;
        let rank = |me| -> io::Result<Rank> {
            let access = Access {
                memory: memory.memory.try_clone()?,
                doorbells: doorbells
                    .iter()
                    .map(OwnedFd::try_clone)
                    .collect::<Result<_, _>>()?,
                ranks: vec![0, 1],
                me,
                cores: Cores {
                    allowed: core::array::from_fn(|word| u64::from(word == 0) << me),
                    most: 2,
                },
                copy_across: CopyAcross::Off,
            };
            Ok(Rank {
                link: Shm::new(Arc::new(Node::on(segment, access, 2))),
                program: Program::default(),
            })
        };
        let ranks = [rank(0)?, rank(1)?];
        let rig = Self {
            ranks,
            segment,
            state,
            sent: 0,
        };
        rig.present();
        Ok(rig)
    }

    /// The ranks are the stand-in, whatever was written: a process that somebody else names would
    /// be written into.
    fn present(&self) {
        for rank in 0..2 {
            let area = self.segment.area(rank);
            match self.state {
                Some(state) => area.present(state.process, (state.witness_at, state.witness)),
                None => area.present(0, (0, 0)),
            }
        }
    }

    /// Rank `from` sends `len` bytes to the other one.
    pub fn send(&mut self, from: bool, len: u32, needs_match: bool) {
        let (rank, to) = (&mut self.ranks[usize::from(from)], PeerId(u32::from(!from)));
        if rank.program.sending.len() >= SENDS {
            return;
        }
        self.sent += 1;
        let envelope = [self.sent as u8; ENVELOPE_BYTES];
        let mut body = vec![self.sent as u8; len as usize];
        let span = Span::of(&mut body);
        if !needs_match && rank.link.offer(to, &envelope, span) {
            return;
        }
        let message = Outbound {
            envelope: &envelope,
            body: span.into(),
            token: Token(self.sent),
            is_awaited: false,
            needs_match,
        };
        if rank.link.send(to, message).is_ok() {
            rank.program.sending.push((self.sent, body));
        }
    }

    /// Rank `from` says something that has the right sequence word and is otherwise as it likes.
    pub fn forge(&mut self, from: bool, kind: u8, bytes: u32, words: [u64; WORDS]) {
        let link = &mut self.ranks[usize::from(from)].link;
        let outward = link.sending.channel(u32::from(!from));
        let header = SlotHeader::new(kind, bytes as usize & 0x7f_ffff);
        outward.forge(header, words);
        self.segment
            .area(u32::from(!from))
            .introduce(u32::from(from));
    }

    /// Something is written into the memory from which rank `at` reads; or it is changed by it.
    pub fn write(&mut self, at: bool, target: Target, word: u64, is_change: bool) {
        let (me, other) = (u32::from(at), u32::from(!at));
        let (area, pair) = (self.segment.area(me), self.segment.pair(other, me));
        let reply_slot = &self.segment.reply(0, 1).slot;
        let word_of = |slot: &RingSlot, number: u8| {
            change(&slot.words[usize::from(number) % WORDS], word, is_change);
        };
        match target {
            Target::Sequence(slot) => change(&slot_of(pair, slot).sequence, word, is_change),
            Target::Word(slot, number) => word_of(slot_of(pair, slot), number),
            Target::Taken(number) => {
                let taken = &self.segment.pair(me, other).taken;
                let words = [&taken.slots, &taken.bytes, &taken.relayed, &taken.announced];
                change(words[usize::from(number) % words.len()], word, is_change);
            }
            Target::Transfer(number, field) => write_transfer(pair, (number, field), word),
            Target::Area(field) => write_area(area, field, word),
            Target::ReplySlot => change(&reply_slot.sequence, word, is_change),
            Target::ReplyWord(number) => word_of(reply_slot, number),
        }
        self.present();
    }

    /// Rank `at` takes a turn; what arrives lands like this.
    pub fn turn(&mut self, at: bool, how: How) {
        let rank = &mut self.ranks[usize::from(at)];
        // A local peer that writes without end could keep it busy without end.
        for _ in 0..4 * SLOTS {
            (rank.program.how, rank.program.left) = (how, 1);
            rank.link.progress(Instant::ZERO, &mut rank.program);
            if rank.program.left > 0 {
                break;
            }
        }
    }

    /// What waits at rank `at` lands.
    pub fn land(&mut self, at: bool, how: How) {
        let rank = &mut self.ranks[usize::from(at)];
        for (arrival, len) in core::mem::take(&mut rank.program.held) {
            let Some((landing, memory)) = place(how, len) else {
                rank.program.held.push((arrival, len));
                continue;
            };
            if !rank.link.land(arrival, landing) {
                rank.program.landing.push((arrival, memory));
            }
        }
    }

    /// Rank `at` has no room for bodies, or has room again.
    pub fn push_back(&mut self, at: bool, away: bool) {
        self.ranks[usize::from(at)].link.push_back(away);
    }

    /// Rank `at` goes to sleep, and is awake again.
    pub fn rest(&mut self, at: bool) {
        let link = &mut self.ranks[usize::from(at)].link;
        let _ = link.set_asleep(true);
        link.set_asleep(false);
        let _ = (link.is_quiet(), link.wake_at());
    }

    /// Bytes that the two channels hold for messages.
    #[must_use]
    pub fn held(&self) -> usize {
        self.ranks.iter().map(|rank| rank.program.held.len()).sum()
    }
}

impl Sink for Program {
    fn arriving(&mut self, message: Incoming) -> Landing {
        let Incoming {
            arrival,
            len,
            is_whole,
            ..
        } = message;
        self.left -= 1;
        assert!(!self.is_lost, "a message of a lost local peer");
        let Some((landing, memory)) = place(self.how, len) else {
            self.held.push((arrival, len));
            return Landing::Later;
        };
        if is_whole {
            self.whole = memory;
        } else {
            self.landing.push((arrival, memory));
        }
        landing
    }

    fn arrived(&mut self, arrival: Arrival) {
        self.left -= 1;
        self.landing.retain(|(other, _)| *other != arrival);
    }

    fn sent(&mut self, token: Token) {
        self.left -= 1;
        self.end(token);
    }

    fn lost(&mut self, lost: Lost) {
        self.left -= 1;
        assert!(!self.is_lost, "lost twice");
        self.is_lost = true;
        lost.unsent.iter().for_each(|&token| self.end(token));
        let is_gone = |arrival: &Arrival| lost.unfinished.contains(arrival);
        self.landing.retain(|(arrival, _)| !is_gone(arrival));
        self.held.retain(|(arrival, _)| !is_gone(arrival));
        assert!(self.held.is_empty(), "they are all of the one that is lost");
    }

    fn wants_more(&self) -> bool {
        self.left > 0
    }
}

/// Where a message of `len` bytes lands, and the memory; `None` if it does not land now.
fn place(how: How, len: u64) -> Option<(Landing, Vec<u8>)> {
    let bytes = match how {
        How::Later => return None,
        _ if len > LONGEST => 0,
        How::Into(bytes) => usize::from(bytes),
        How::Whole => len as usize,
    };
    let mut memory = vec![0; bytes];
    Some((Landing::Into(Span::of(&mut memory).into()), memory))
}

impl Program {
    /// The body may be reused: it is freed here.
    fn end(&mut self, token: Token) {
        let before = self.sending.len();
        self.sending.retain(|(other, _)| *other != token.0);
        assert_eq!(
            self.sending.len() + 1,
            before,
            "{token:?} is no send under way"
        );
        assert!(self.ended.insert(token.0), "{token:?} has ended before");
    }
}

fn slot_of(pair: &Pair, number: u8) -> &RingSlot {
    &pair.slots[usize::from(number) % SLOTS]
}

fn change(place: &core::sync::atomic::AtomicU64, word: u64, is_change: bool) {
    let before = place.load(Relaxed);
    place.store(if is_change { before ^ word } else { word }, Relaxed);
}

fn write_transfer(pair: &Pair, (number, field): (u8, u8), word: u64) {
    let transfer = &pair.transfers[usize::from(number) % TRANSFERS];
    match field % 5 {
        0 => transfer.place.store(word, Relaxed),
        1 => transfer.bytes.store(word, Relaxed),
        2 => transfer.claims.store(word, Relaxed),
        3 => transfer.copied.store(word as u32, Relaxed),
        _ => transfer.failed.store(word as u32, Relaxed),
    }
}

fn write_area(area: &Area, field: u8, word: u64) {
    match field % 3 {
        0 => area.attention.store(word as u32, Relaxed),
        1 => area.needs_fence.store(word, Relaxed),
        _ => area.callers[usize::from(field / 3) % area.callers.len()].store(word, Relaxed),
    }
}
