//! The transport between ranks of one node: shared memory.
//!
//! A short message is one cache line, written once. A longer one goes through the reply buffer, or
//! through a ring of bytes if the other side has that; in pieces, so that both sides copy at the
//! same time. A long one stays where it is until it has landed. Then both sides copy it straight
//! from one memory to the other (`transfer`), or the receiver requests it in pieces. It measures
//! which of the two takes less time (`choice`). If the system forbids copies, all comes in pieces.
//! Decision 0052 has a table.

mod afar;
mod body;
mod callers;
mod choice;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod header;
mod landing;
mod limits;
mod link;
mod message;
mod receiving;
mod reply_slot;
mod ring;
mod sending;
mod sequence;
#[cfg(test)]
pub(crate) mod tests;
mod transfer;

use choice::CHOICE_BYTES;
use limits::{EAGER_BYTES, LONGEST_BYTES, LOOKS_BETWEEN_WORK};
use message::{Events, Inbound};
use std::collections::VecDeque;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use callers::Callers;
use link::{Inward, Outward};
use reply_slot::ReplySlot;
use sending::SendSide;
use transfer::Copying;

use super::{
    Arrival, Capabilities, EnvelopeBytes, Landing, Outbound, PeerId, Progress, Refusal, Sink,
    Tallies, Transport,
};
use crate::clock::{Clock, Instant};
use crate::counters::{Bytes, Shared};
use crate::memory::Span;
use crate::node::Node;
use crate::node::segment::Segment;
use crate::pool::Pool;
use crate::slab::Slab;

/// The link to the other ranks of a node, through the memory that they share.
#[derive(Debug)]
pub struct Shm {
    node: Arc<Node>,
    me: u32,
    segment: Segment,
    sending: SendSide,
    inward: Vec<Inward>,
    callers: Callers,
    incoming: Slab<Inbound>,
    /// Buffers of messages that wait to land.
    pool: Pool,
    /// Incoming messages that are being copied.
    copying: VecDeque<(u32, Copying)>,
    /// Local peers that were asked for a message and have sent nothing of it yet, and how often one
    /// has looked for it in vain.
    asking: Vec<(u32, u32)>,
    events: Events,
    /// How often nothing new was found.
    looks: u32,
    /// Bytes of long messages that this rank has received, be it through the ring.
    moved: u64,
    /// Those of them that it copied from their senders' memory.
    bytes_read: Bytes,
    /// Long messages that came in pieces.
    long_asked: u64,
    clock: Clock,
}

impl Shm {
    /// The link of the rank of which `node` is the node.
    #[must_use]
    pub fn new(node: Arc<Node>) -> Self {
        let (me, segment) = (node.me(), node.segment());
        let count = segment.ranks();
        let reply_slot = |other: u32| ReplySlot::new(segment.reply(me, other), me < other);
        // A sender that shares its core with the receiver had better be done with a message. One
        // that has a core of its own can help to copy it.
        let ring_most = if node.is_copy_measured() {
            CHOICE_BYTES
        } else {
            EAGER_BYTES
        };
        let reply_slots: Vec<Arc<ReplySlot>> = (0..count).map(reply_slot).collect();
        let channels = (0..).zip(&reply_slots).map(|(other, reply_slot)| {
            let (area, out) = (segment.area(other), segment.pair(me, other));
            let outward = Outward::new(area, out, Arc::clone(reply_slot), (count, ring_most));
            let (peer, pair) = (node.peers()[other as usize], segment.pair(other, me));
            let how = (count, node.is_copy_measured());
            let inward = Inward::new(peer, pair, Arc::clone(reply_slot), how);
            (outward, inward)
        });
        let (outward, inward) = channels.unzip();
        Self {
            sending: SendSide::new(Arc::clone(&node), outward),
            callers: Callers::new(segment.area(me), node.size() as u32),
            node,
            me,
            segment,
            inward,
            incoming: Slab::default(),
            pool: Pool::default(),
            copying: VecDeque::new(),
            asking: Vec::new(),
            events: Events::new(),
            looks: 0,
            moved: 0,
            bytes_read: Bytes::default(),
            long_asked: 0,
            clock: Clock::start(),
        }
    }

    /// The node.
    #[must_use]
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }
}

impl Shm {
    /// Returns true if it has more to do than to look for short messages.
    #[inline]
    fn is_busy(&self) -> bool {
        self.copying.len() + self.sending.busy() + self.asking.len() > 0
    }

    /// Returns true if a long message could move that is on its way in. Where all that is left of
    /// one is with its sender, the sender wakes us.
    fn may_copy_on(&self) -> bool {
        let mut all = self.copying.iter();
        all.any(|(_, copying)| !copying.waits_for_sender())
    }

    /// Stops since `wants_more` returned false, though there may be more. Now and then does the
    /// work that is not urgent all the same.
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
        self.callers.meet();
    }

    /// Bytes of long messages that this rank has copied, be it through the ring.
    fn moved(&self) -> u64 {
        self.moved + self.sending.moved()
    }

    /// Adds to `tallies` what it has counted.
    pub(super) fn count(&self, tallies: &mut Tallies) {
        tallies.shm = self.counters();
        tallies.others_copy = !self.copying.is_empty() || !self.sending.is_quiet();
    }

    /// What was counted so far.
    #[must_use]
    pub fn counters(&self) -> Shared {
        Shared {
            woken: self.node.wakeup().rung(),
            collectives: self.node.epochs(),
            bytes_read: self.bytes_read,
            long_asked: self.long_asked,
            ..self.sending.counters().clone()
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
    fn offer(&mut self, to: PeerId, envelope: &EnvelopeBytes, body: Span) -> bool {
        self.sending.push_whole(to, envelope, body)
    }

    fn send(&mut self, to: PeerId, message: Outbound<'_>) -> Result<(), Refusal> {
        self.sending.begin(to, message, &mut self.events)
    }

    #[inline]
    fn flush(&mut self) {}

    fn land(&mut self, arrival: Arrival, to: Landing) -> bool {
        match to {
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
        Some(self.node.wakeup().doorbell())
    }

    fn is_quiet(&self) -> bool {
        self.sending.is_quiet()
    }

    fn set_asleep(&mut self, is_asleep: bool) -> bool {
        if !is_asleep {
            self.node.wakeup().end();
            // The peer that woke us may never have sent anything before.
            self.callers.meet();
            return true;
        }
        let is_sure = self.node.wakeup().begin();
        if !is_sure {
            std::thread::yield_now();
        }
        self.callers.meet();
        let has_news = |from: u32| self.inward[from as usize].ring.has_news();
        let is_quiet = !self.callers.iter().any(has_news) && !self.sending.may_go_on();
        is_sure && is_quiet && !self.may_copy_on()
    }

    fn push_back(&mut self, away: bool) {
        self.segment.area(self.me).set_full(away);
    }
}
