//! The road between ranks of one node: shared memory.
//!
//! A short message is one cache line, written once. A longer one goes through a ring of bytes, in
//! pieces, so that both sides copy at the same time. A long one stays where it is until the
//! receiver knows where it goes; then both copy it straight from one memory to the other
//! (`transfer`), or, where the system forbids that, it goes through the ring as well.

mod about;
mod baton;
mod bells;
mod body;
mod cores;
mod exchange;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod landing;
mod line;
mod link;
pub mod meeting;
#[cfg(test)]
mod meeting_tests;
mod neighbour;
mod note;
mod parted;
mod receiving;
mod rest;
mod ring;
mod segment;
mod sending;
#[cfg(test)]
pub(crate) mod tests;
mod transfer;

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;

use baton::Baton;
use bells::Bells;
use body::Room;
pub use cores::{CORES_MAX, Cores};
use link::{Inward, Outward};
use rest::Rest;
pub(crate) use rest::Watch;
use ring::PIECE_BYTES;
use segment::Segment;
pub use segment::{RANKS_MAX, segment_bytes};
use transfer::Copying;

use super::sink::Event;
use super::{
    Arrival, Capabilities, EnvelopeBytes, Landing, Outbound, Peer, Progress, Refusal, Sink, Token,
    Transport,
};
use crate::clock::Instant;
use crate::counters::Shared;
use crate::data::Area;
use crate::memory::Span;
use crate::pool::Pool;
use crate::slab::Slab;

/// The longest message that goes through the ring without being asked for.
const EAGER_BYTES: usize = PIECE_BYTES;

/// No process has more memory.
const LONGEST_BYTES: u64 = 1 << 47;

/// The longest body that goes through the ring in one piece, and the shortest piece of one that was
/// asked for.
const EAGER_PIECE_BYTES: usize = 4096;

/// Pieces of a longer one that goes unasked: the receiver copies one while the next comes. With
/// 4096 bytes 8 KiB take an eighth longer, with 1024 as well.
const PIPELINED_BYTES: usize = 2048;

/// Chunks of a long message that are copied before something else is looked at.
const CHUNKS_PER_TURN: usize = 2;

/// Who has looked so often in vain for an answer about a long message, some 50 us, knocks; and
/// again after twice as many looks.
const LOOKS_PER_KNOCK: u32 = 512;

/// Counts a look in vain. Answers whether it is time to knock.
fn has_waited(looks: &mut u32) -> bool {
    *looks = looks.wrapping_add(1);
    *looks >= LOOKS_PER_KNOCK && looks.is_power_of_two()
}

/// How often a rank looks for what its callers sent, before it looks for a new caller.
const LOOKS_PER_CALLER: u32 = 8;

/// So many times the sink wants no more, before what else there is to do has its turn.
const LOOKS_BETWEEN_WORK: u32 = 64;

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
    /// What this rank may use of the node.
    pub cores: Cores,
    /// Whether long messages may be copied straight from one process to the other.
    pub copies_across: bool,
}

/// A message on its way in that is not complete, or has not landed.
#[derive(Debug)]
struct Inbound {
    from: u32,
    len: u64,
    /// Bytes that have come through the ring.
    come: u64,
    room: Room,
    /// Where it is, if it does not come in pieces.
    source: Option<Source>,
}

/// Where the bytes of a long message are.
#[derive(Clone, Copy, Debug)]
struct Source {
    /// What its sender calls it.
    name: u32,
    /// The sender's address.
    address: u64,
    /// The transfer that both sides use, if there is one of this number.
    transfer: u32,
}

/// A message that waits for its receiver.
#[derive(Debug)]
struct Outgoing {
    to: u32,
    envelope: EnvelopeBytes,
    body: Area,
    token: Token,
    /// Its sender waits for the match.
    needs_match: bool,
    transfer: Option<u32>,
    /// The receiver has been told of it, by this name.
    is_told: bool,
    /// How often one has looked in vain for the place that it goes to.
    looks: u32,
    /// Bytes that have gone through the ring, and the receiver's name for it, once it asked.
    gone: usize,
    asked: Option<u32>,
}

impl Outgoing {
    /// Bytes of the body.
    fn bytes(&self) -> usize {
        self.body.len() as usize
    }
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
    incoming: Slab<Inbound>,
    outgoing: Slab<Outgoing>,
    /// Buffers of messages that wait to land.
    pool: Pool,
    /// Incoming messages that are being copied.
    copying: VecDeque<(u32, Copying)>,
    /// Neighbours that something waits for to be sent to.
    behind: Vec<u32>,
    /// Outgoing messages that both sides may copy.
    shared: Vec<u32>,
    /// Neighbours that were asked for a message and have sent nothing of it yet, and how often one
    /// has looked for it in vain.
    asking: Vec<(u32, u32)>,
    events: VecDeque<Event>,
    /// How often nothing new was found.
    looks: u32,
    /// Bytes of long messages that this rank has copied, be it through the ring.
    moved: u64,
    counters: Shared,
    /// Collectives without messages: counted by those who meet, without the lane's lock.
    gatherings: Arc<AtomicU64>,
    /// A word that neighbours read to find out whether they can read our memory.
    _witness: Box<u64>,
}

impl Shm {
    /// The road of the rank that `place` describes, in a job of `size` ranks.
    ///
    /// # Errors
    /// The memory cannot be mapped.
    pub fn new(place: Place, size: u32) -> io::Result<Self> {
        let count = u32::try_from(place.ranks.len()).map_err(io::Error::other)?;
        let segment = Segment::map(&place.memory, count)?;
        Ok(Self::on(segment, place, size))
    }

    /// The same, when the memory is mapped.
    fn on(segment: Segment, place: Place, size: u32) -> Self {
        let Place {
            memory: _,
            bells,
            ranks,
            me,
            cores,
            copies_across,
        } = place;
        let count = segment.ranks();
        let rest = Rest::new(segment.area(me), Bells::new(bells, me), false);
        let mut locals = vec![u32::MAX; size as usize];
        for (&rank, local) in ranks.iter().zip(0..) {
            locals[rank as usize] = local;
        }
        let witness = Box::new(witness_word());
        let area = segment.area(me);
        let witness_at = core::ptr::from_ref(&*witness).expose_provenance() as u64;
        if copies_across {
            area.present(std::process::id(), (witness_at, *witness));
        }
        area.cores.write(&cores);
        let baton = |other: u32| {
            let pair = segment.pair(me.min(other), me.max(other));
            Baton::new(&pair.relay, me < other)
        };
        let batons: Vec<Arc<Baton>> = (0..count).map(baton).collect();
        let roads = (0..).zip(&batons).map(|(other, baton)| {
            let (area, out) = (segment.area(other), segment.pair(me, other));
            let outward = Outward::new(area, out, Arc::clone(baton), count);
            let peer = Peer(ranks[other as usize]);
            let inward = Inward::new(peer, segment.pair(other, me), Arc::clone(baton), count);
            (outward, inward)
        });
        let (outward, inward) = roads.unzip();
        Self {
            me,
            locals,
            peers: ranks.into_iter().map(Peer).collect(),
            segment,
            rest,
            outward,
            inward,
            callers: Vec::new(),
            next: 0,
            met: [0; RANKS_MAX as usize / 64],
            incoming: Slab::default(),
            outgoing: Slab::default(),
            pool: Pool::default(),
            copying: VecDeque::new(),
            behind: Vec::new(),
            shared: Vec::new(),
            asking: Vec::new(),
            events: VecDeque::new(),
            looks: 0,
            moved: 0,
            counters: Shared::default(),
            gatherings: Arc::default(),
            _witness: witness,
        }
    }
}

/// A word that nobody guesses: two processes must not have the same at the same address.
fn witness_word() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id()) | 1
}

impl Shm {
    /// Whether it has more to do than to look for short messages.
    #[inline]
    fn is_busy(&self) -> bool {
        self.copying.len() + self.behind.len() + self.shared.len() + self.asking.len() > 0
    }

    /// Whether a long message could move that is on its way in. Where all that is left of one is
    /// with its sender, the sender wakes us.
    fn may_copy_on(&self) -> bool {
        let mut all = self.copying.iter();
        all.any(|(_, copying)| !copying.waits_for_sender())
    }

    /// What the ticker of this rank needs to sleep.
    pub(crate) fn watch(&self) -> Watch<'static> {
        self.rest.watch()
    }

    /// The sink wants no more, though there may be more. Now and then what needs no answer within
    /// nanoseconds is looked after all the same.
    #[inline(always)]
    fn stop_early(&mut self) {
        self.looks = self.looks.wrapping_add(1);
        if self.looks.is_multiple_of(LOOKS_BETWEEN_WORK) {
            self.look_around();
        }
    }

    #[cold]
    fn look_around(&mut self) {
        self.work();
        self.meet_callers();
    }

    /// What was counted so far.
    #[must_use]
    pub fn counters(&self) -> Shared {
        Shared {
            woken: self.rest.rung(),
            collectives: self.gatherings.load(Relaxed),
            ..self.counters.clone()
        }
    }
}

impl Transport for Shm {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            body_limit: LONGEST_BYTES,
            packed_most: EAGER_BYTES as u64,
            acknowledges: false,
            is_memory: true,
        }
    }

    #[inline(always)]
    fn offer(&mut self, to: Peer, envelope: &EnvelopeBytes, body: Span) -> bool {
        self.push_whole(to, envelope, body)
    }

    fn send(&mut self, to: Peer, message: Outbound<'_>) -> Result<(), Refusal> {
        self.begin_send(to, message)
    }

    #[inline]
    fn flush(&mut self) {}

    fn land(&mut self, arrival: Arrival, landing: Landing) -> bool {
        match landing {
            Landing::Into(area) => self.land_kept(arrival.0, area),
            Landing::Later => false,
        }
    }

    #[inline(always)]
    fn progress(&mut self, _now: Instant, sink: &mut impl Sink) -> Progress {
        let mut progress = Progress::Idle;
        if !self.events.is_empty() {
            progress = self.tell(sink);
            if !sink.wants_more() {
                return progress;
            }
        }
        let mut in_vain = 0;
        while in_vain < self.callers.len() {
            let done = self.look(sink);
            if done == Progress::Idle {
                in_vain += 1;
                continue;
            }
            (progress, in_vain) = (progress.max(done), 0);
            if !sink.wants_more() {
                self.stop_early();
                return progress;
            }
        }
        self.tidy_up(sink).max(progress)
    }

    fn wake_at(&self) -> Option<Instant> {
        let is_busy = !self.events.is_empty() || self.may_copy_on();
        is_busy.then_some(Instant::ZERO)
    }

    fn wake_on(&self) -> Option<BorrowedFd<'_>> {
        Some(self.rest.bell())
    }

    fn is_quiet(&self) -> bool {
        self.outgoing.is_empty() && self.behind.is_empty()
    }

    fn begin_sleep(&mut self) -> bool {
        let is_sure = self.rest.begin();
        if !is_sure {
            std::thread::yield_now();
        }
        self.meet_callers();
        let has_news = |&from: &u32| self.inward[from as usize].ring.has_news();
        let has_room = |&to: &u32| self.outward[to as usize].may_go_on();
        let is_quiet = !self.callers.iter().any(has_news) && !self.behind.iter().any(has_room);
        is_sure && is_quiet && !self.may_copy_on()
    }

    fn end_sleep(&mut self) {
        self.rest.end();
        // Who woke us may never have sent anything before.
        self.meet_callers();
    }

    fn keep_bodies_away(&mut self, away: bool) {
        self.segment.area(self.me).set_full(away);
    }
}
