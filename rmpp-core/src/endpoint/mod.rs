//! The facade: one node's end of the protocol.

mod acks;
mod answers;
mod arrivals;
mod awaited;
mod queues;
mod sift;
#[cfg(feature = "sim")]
mod survey;
mod transmit;
mod wake;
mod window;

pub use awaited::Awaited;
#[cfg(feature = "sim")]
pub use survey::Survey;

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use crate::bits::Bits;
use crate::caps::Caps;
use crate::config::Config;
use crate::counters::Counters;
use crate::error::{Dropped, SendError};
use crate::event::{Event, Landing, Placement, Transmit};
use crate::grant::Grants;
use crate::ids::{IncomingId, NodeId, OutgoingId};
use crate::incoming::Incoming;
use crate::list::List;
use crate::outgoing::{Outgoing, Place};
use crate::packet::{Flags, Header, bits_of, header_bytes_of};
use crate::peer::{Path, Peer};
use crate::slab::Slab;
use crate::table::Table;
use crate::time::{Instant, nanoseconds};
use crate::timers::Timeouts;

/// One node's end of the protocol. See the [crate] for how to drive it.
#[cfg_attr(feature = "sim", derive(Clone, Hash))]
pub struct Endpoint {
    me: u32,
    config: Config,
    lost_after_ns: u64,
    peers: Vec<Peer>,
    paths: Vec<Path>,
    /// Paths with unanswered first packets; others may be in it until the next timer.
    open_paths: Vec<u32>,

    outgoing: Slab<Outgoing>,
    outgoing_at: Table,
    next_msg_id: u32,
    /// The paper's list `sending` (and aborts that wait for their answer).
    // Rule P15.
    sending: List,
    /// Outgoing messages with something to transmit.
    ready: VecDeque<crate::ids::Key>,

    /// The paper's list `receiving`, and the finished ones.
    // Rule P15.
    incoming: Slab<Incoming>,
    incoming_at: Table,
    /// The finished ones, oldest first.
    done: List,
    grants: Grants,

    answers: VecDeque<Answer>,
    /// Incoming messages whose next CTS is due.
    grants_due: VecDeque<crate::ids::Key>,
    /// Peers that an acknowledgement is owed to; others may be in it until the next timer.
    owing: Vec<u32>,
    /// Whether one of these has waited long enough.
    acks_ripe: bool,
    events: VecDeque<Event>,
    timeouts: Timeouts,
    /// No timer is due before this.
    wake: Instant,
    last_now: Instant,
    counters: Counters,
}

/// A packet without payload, ready to go.
#[derive(Clone, Copy, Hash)]
struct Answer {
    to: u32,
    header: Header,
}

impl Endpoint {
    /// The end of node `me` in the system that `config` describes.
    ///
    /// # Panics
    /// When the configuration makes no sense, or `me` is not one of its nodes.
    #[must_use]
    pub fn new(me: NodeId, config: Config) -> Self {
        config.check();
        assert!(
            me.0 < config.nodes,
            "{me} is not one of {} nodes",
            config.nodes
        );
        let nodes = config.nodes as usize;
        let first = config.first_msg_num;
        Self {
            me: me.0,
            lost_after_ns: config.lost_after.map_or(u64::MAX, nanoseconds),
            peers: vec![
                Peer {
                    next_out: first,
                    next_in: first
                };
                nodes
            ],
            paths: vec![
                Path {
                    acked: first,
                    ..Path::NEW
                };
                nodes
            ],
            open_paths: Vec::new(),
            outgoing: Slab::new(),
            outgoing_at: Table::new(),
            next_msg_id: config.first_msg_id,
            sending: List::EMPTY,
            ready: VecDeque::new(),
            incoming: Slab::new(),
            incoming_at: Table::new(),
            done: List::EMPTY,
            grants: Grants::new(config.max_rcv_buf, config.nodes, config.max_data_pkts),
            answers: VecDeque::new(),
            grants_due: VecDeque::new(),
            owing: Vec::new(),
            acks_ripe: false,
            events: VecDeque::new(),
            timeouts: Timeouts::new(&config),
            wake: Instant::NEVER,
            last_now: Instant::ZERO,
            counters: Counters::default(),
            config,
        }
    }

    /// Begins a message of `len` bytes to node `to`; it is number next in the order of this pair.
    /// The payload stays with the caller and must not change until the message's last event.
    /// Completes by [`Event::Sent`], [`Event::Refused`] or [`Event::Cancelled`]. `awaited`: the
    /// caller waits for that, so the receiver is asked to acknowledge at once instead of when it
    /// suits it (rule K; classic always does).
    ///
    /// Source: paper §3.4, §3.8.
    ///
    /// # Errors
    /// The message is longer than the profile's lengths reach, or `to` is no node, this node, or
    /// lost.
    pub fn send(
        &mut self,
        to: NodeId,
        len: u64,
        awaited: bool,
        now: Instant,
    ) -> Result<OutgoingId, SendError> {
        self.observe(now);
        let nodes = self.config.nodes;
        // Rule L.
        if len > self.config.longest() {
            return Err(SendError::TooLong { len });
        }
        if to.0 >= nodes {
            return Err(SendError::NoSuchNode { to, nodes });
        }
        if to.0 == self.me {
            return Err(SendError::ToSelf { to });
        }
        if self.paths[to.0 as usize].lost {
            return Err(SendError::PeerLost { to });
        }
        let peer = &mut self.peers[to.0 as usize];
        let msg_num = peer.next_out;
        peer.next_out = msg_num.wrapping_add(1);
        self.counters.messages_sent += 1;
        let index = self.enter_outgoing(to.0, msg_num, len);
        self.outgoing[index].awaited = awaited;
        Ok(OutgoingId(self.outgoing.key(index)))
    }

    /// Gives a message up: NULL goes out until the receiver has answered, then
    /// [`Event::Cancelled`] is raised. A message that has had its last event is left alone.
    ///
    /// Source: paper §3.2, NULL.
    pub fn abort(&mut self, message: OutgoingId, now: Instant) {
        self.observe(now);
        if let Some(index) = self.outgoing.find(message.0) {
            self.abort_outgoing(index);
        }
    }

    /// Says where an announced message lands. As long as this is not called the message is held:
    /// neither CTS nor MSGEND goes out. A message that is gone (aborted, peer lost) or has landed
    /// already is left alone.
    ///
    /// Source: paper §3.6.
    pub fn land(&mut self, message: IncomingId, landing: Landing, now: Instant) {
        self.observe(now);
        if let Some(index) = self.incoming.find(message.0) {
            self.land_incoming(index, landing, now);
        }
    }

    /// How to cut the packet that `datagram` begins with: bytes of its header and, by what the
    /// header says, of its payload. With [`Caps::COALESCE`](crate::Caps::COALESCE) another packet
    /// may follow. `None`: it is no packet, or cut off.
    // Rule J.
    #[must_use]
    pub fn cut(&self, datagram: &[u8]) -> Option<(usize, usize)> {
        let header_bytes = header_bytes_of(datagram)?;
        let header = Header::decode(datagram)?;
        let payload_bytes = sift::payload_bytes(&header, self.config.packet_bytes)?;
        (header_bytes + payload_bytes <= datagram.len()).then_some((header_bytes, payload_bytes))
    }

    /// Handles a packet: `bytes` are its first ones (what is behind the header is ignored),
    /// `payload_len` the number of payload bytes behind them. `from` is the node that the layer
    /// below knows the packet to be from, by its source address; that layer has also checked the
    /// job's cookie and the packet's integrity.
    ///
    /// # Errors
    /// Says why the packet was dropped; nothing but a counter has changed then.
    // Rule E: the cookie belongs to the layer below; a packet of another job never gets here.
    pub fn handle_packet(
        &mut self,
        from: NodeId,
        bytes: &[u8],
        payload_len: usize,
        now: Instant,
    ) -> Result<Placement, Dropped> {
        let outcome = self.sift(from, bytes, payload_len).and_then(|header| {
            self.observe(now);
            self.paths[from.0 as usize].silent_since = Instant::NEVER;
            self.counters.received[header.kind.index()] += 1;
            let outcome = self.dispatch(from.0, (&header, bytes), now);
            let bits = if header.flags.has(Flags::GAP) {
                bits_of(bytes)
            } else {
                Bits::NONE
            };
            self.hear_ack(from.0, &header, bits, now);
            outcome
        });
        if let Err(reason) = outcome {
            self.counters.dropped[reason as usize] += 1;
        }
        outcome
    }

    /// The next packet to send. Call until it answers `None`, after each other call; or stop
    /// earlier when the layer below has no room, and go on when it has.
    #[must_use]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        self.observe(now);
        if let Some(Answer { to, header }) = self.answers.pop_front() {
            return Some(self.seal(to, header, Bits::NONE));
        }
        if let Some((to, header, bits)) = self.make_cts() {
            return Some(self.seal(to, header, bits));
        }
        if let Some(transmit) = self.transmit_ready(now) {
            return Some(transmit);
        }
        // Last, so that it goes alone only if nothing else could carry it.
        let (to, header, bits) = self.pure_ack()?;
        self.counters.acks_alone += 1;
        Some(self.seal(to, header, bits))
    }

    /// The next thing that has become of a message or a peer.
    #[must_use]
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) wants to be called; `None`: no need. May be
    /// earlier than anything is due, never later.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        (self.wake != Instant::NEVER).then_some(self.wake)
    }

    /// Does what is due; harmless at any time.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.observe(now);
        if now >= self.wake {
            self.do_what_is_due(now);
        }
    }

    /// Bytes of the longest message that can be sent: 32 bits of them in classic, 48 in fast or as
    /// many as 32 bits of packets hold.
    #[must_use]
    pub fn longest(&self) -> u64 {
        self.config.longest()
    }

    /// What has been counted so far.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Whether no outgoing message is unfinished, nothing waits to be transmitted and no
    /// acknowledgement is owed.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        let owes = |&to: &u32| self.paths[to as usize].ack_due != Instant::NEVER;
        self.outgoing.len() == 0 && self.answers.is_empty() && !self.owing.iter().any(owes)
    }

    /// Tells that the layer below has lost packets because its receive buffer was full: less is
    /// granted for a while.
    // Rule G.
    pub fn note_overflow(&mut self) {
        self.counters.overflows += 1;
        if self.config.caps.has(Caps::BUDGET) {
            self.grants.overflow();
        }
    }

    /// This node's number.
    #[must_use]
    pub fn node(&self) -> NodeId {
        NodeId(self.me)
    }

    fn enter_outgoing(&mut self, to: u32, msg_num: u32, len: u64) -> u32 {
        let msg_id = self.next_msg_id;
        let key = self
            .outgoing
            .insert(Outgoing::new(to, msg_id, msg_num, len));
        // After 2^32 messages an id may still be in use by one that never ended.
        while !self.outgoing_at.insert(0, self.next_msg_id, key.index) {
            self.next_msg_id = self.next_msg_id.wrapping_add(1);
        }
        self.outgoing[key.index].msg_id = self.next_msg_id;
        self.next_msg_id = self.next_msg_id.wrapping_add(1);
        self.list_path(to);
        self.paths[to as usize]
            .waiting
            .push_back(&mut self.outgoing, key.index);
        self.admit_waiting(to);
        key.index
    }

    /// Forgives the peers their silence when it was this node that slept.
    // Rule T.
    fn observe(&mut self, now: Instant) {
        let slept_ns = now.0.saturating_sub(self.last_now.0);
        self.last_now = self.last_now.max(now);
        if slept_ns > self.lost_after_ns / 2
            && !self.config.has(crate::config::Bug::BlamePeersForPause)
        {
            self.counters.own_pauses += 1;
            self.start_timers_anew(now);
        }
    }

    /// Where an outgoing message may be found by the lists of paper §3.4.
    fn list_of(&mut self, place: Place, to: u32) -> &mut List {
        let path = &mut self.paths[to as usize];
        match place {
            Place::Waiting => &mut path.waiting,
            Place::Pending => &mut path.pending,
            Place::Held => &mut path.held,
            Place::Sending => &mut self.sending,
        }
    }
}
