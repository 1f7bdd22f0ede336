//! The road between ranks of one node: shared memory.
//!
//! A short message is one cache line, written once. A longer one goes through a ring of bytes, in
//! pieces, so that both sides copy at the same time. A long one stays where it is until the
//! receiver knows where it goes; then both copy it straight from one memory to the other
//! (`transfer`), or, where the system forbids that, it goes through the ring as well.

mod baton;
mod body;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod landing;
mod link;
mod neighbour;
mod note;
mod receiving;
mod ring;
mod sending;
#[cfg(test)]
pub(crate) mod tests;
mod transfer;

use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use baton::Baton;
use body::Room;
use link::{Inward, Outward};
use ring::PIECE_BYTES;
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
use crate::node::Node;
use crate::node::segment::{RANKS_MAX, Segment};
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

/// The link to the other ranks of a node, through the memory that they share.
#[derive(Debug)]
pub struct Shm {
    node: Arc<Node>,
    me: u32,
    segment: Segment,
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
}

impl Shm {
    /// The link of the rank of which `node` is the node.
    #[must_use]
    pub fn new(node: Arc<Node>) -> Self {
        let (me, segment) = (node.me(), node.segment());
        let count = segment.ranks();
        let baton = |other: u32| {
            let pair = segment.pair(me.min(other), me.max(other));
            Baton::new(&pair.relay, me < other)
        };
        let batons: Vec<Arc<Baton>> = (0..count).map(baton).collect();
        let roads = (0..).zip(&batons).map(|(other, baton)| {
            let (area, out) = (segment.area(other), segment.pair(me, other));
            let outward = Outward::new(area, out, Arc::clone(baton), count);
            let (peer, pair) = (node.peers()[other as usize], segment.pair(other, me));
            let inward = Inward::new(peer, pair, Arc::clone(baton), count);
            (outward, inward)
        });
        let (outward, inward) = roads.unzip();
        Self {
            node,
            me,
            segment,
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
        }
    }

    /// The node.
    #[must_use]
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }
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
            woken: self.node.rest().rung(),
            collectives: self.node.gatherings(),
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
        Some(self.node.rest().bell())
    }

    fn is_quiet(&self) -> bool {
        self.outgoing.is_empty() && self.behind.is_empty()
    }

    fn begin_sleep(&mut self) -> bool {
        let is_sure = self.node.rest().begin();
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
        self.node.rest().end();
        // Who woke us may never have sent anything before.
        self.meet_callers();
    }

    fn keep_bodies_away(&mut self, away: bool) {
        self.segment.area(self.me).set_full(away);
    }
}
