//! `ParaStation2`'s protocol: a window of eight fragments, an ACK or NACK per packet, go-back-N.
//!
//! Source: T. M. Warschko, J. M. Blum, W. F. Tichy, "A Reliable Transmission Protocol for Myrinet",
//! 2nd Workshop on Cluster-Computing, Karlsruhe 1999. "Section", "Table" and "Figure" mean those of
//! this paper.
//!
//! # Packets
//!
//! | bytes | field | check |
//! |---|---|---|
//! | 0 | type: 1 DATA, 2 ACK, 3 NACK | one of these |
//! | 1 | attempt of the sender of the fragment; an answer repeats that of the packet it answers | |
//! | 2, 3 | bytes of the fragment | all that follows the header; 0 only in ACK and NACK |
//! | 4 to 7 | sequence number of the fragment | DATA: less than a window behind the expected one |
//! | from 8 | the fragment | |
//!
//! Fields of several bytes are big endian.
//!
//! # As in the paper
//!
//! * Each data packet is acknowledged by an ACK or a NACK of its own; the window is 8 packets
//!   (3.1, 3.4).
//! * A buffer has at most 4096 bytes, and the states of Figure 3 (3.3). The ring of each peer is in
//!   `send_ring.rs`, the one receive ring in `receive_ring.rs`.
//! * An ACK goes out only if another buffer of the receive ring is free; else the packet is dropped
//!   and a NACK goes out (3.3).
//! * Table 1 is the table in `table.rs` (3.4).
//! * After a timeout, or if an ACK or a packet is missing, the first unacknowledged packet and all
//!   behind it go again (3.1).
//! * A NACK for want of a buffer stops the transmission (3.1).
//! * Peers are independent: each pair of processes has its numbers, timers and window (3.4).
//!
//! # Different from the paper
//!
//! * The paper runs in the network interface and copies to the host as soon as there is a buffer.
//!   Here a buffer of the receive ring is free again when the layer above takes the fragment.
//! * A fragment is at most as long as the path carries, less the header. The paper's is 4096 bytes.
//! * The sequence number has 8 bits in the paper (3.1), on a network that keeps the order. UDP may
//!   double a packet and delay it. So 24 bits above these eight count how often they wrapped, and
//!   an old packet is never taken for a new one.
//! * A NACK marks a buffer only if it is INTRANSIT (3.4). Here packets go again at once, and are
//!   INTRANSIT again before further NACKs come. So an answer repeats the attempt of its packet, and
//!   marks nothing if the sender has gone back since. The same holds for row 6.
//! * Row 6 of Table 1 says "ignore packet"; 3.4 adds that the buffer is marked for retransmission.
//!   Here that goes back to the first unacknowledged packet, as 3.1 says of a lost ACK.
//! * A NACK that names the first unacknowledged packet means "no buffer": all before it has
//!   arrived. The paper does not say how long the transmission then stops. Here one packet goes
//!   again after a timeout; the others follow when an ACK comes.
//! * An answer makes a sender go back at once at most three times until an ACK is in its turn. Then
//!   the timer decides.
//! * The paper does not say how long a timeout is. Here it is `min_timeout`, doubled after each one
//!   in vain up to `max_timeout` (RFC 6298, 5), and `min_timeout` again after an ACK.
//! * The paper handles no failures of nodes (3.4). Here a peer is lost after `lost_after` without a
//!   packet of it, but not before a packet went again and another timeout passed. If this process
//!   looks at its timers too late by more than half of `lost_after`, it was suspended: each silence
//!   begins anew (rule T of `docs/protocol.md`).

mod packet;
mod peer;
mod receive_ring;
mod send_ring;
mod table;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use super::pipe::{Fragment, Notice, Pipe, Setup};
use crate::clock::Instant;
use crate::counters;
use crate::transport::{PeerId, Tallies};
use packet::{FragmentHeader, Kind};
use peer::{Expiry, FIRST_NUMBER, Peer, Times};
use receive_ring::ReceiveRing;
use send_ring::WINDOW;
use table::{Action, Order};

/// Bytes of the longest fragment (section 3.3).
const MOST_FRAGMENT_BYTES: usize = 4_096;

/// Answers that wait for the system to take them. One more is dropped, as if the network had lost
/// it.
const MOST_ANSWERS: usize = 1_024;

/// The protocol of one process.
#[derive(Debug)]
pub struct GoBackN {
    times: Times,
    fragment_bytes: usize,
    /// By `PeerId`; those that have never sent or got a packet have no state.
    peers: Vec<Option<Box<Peer>>>,
    received: ReceiveRing,
    answers: VecDeque<(PeerId, FragmentHeader)>,
    /// Peers with packets that are due.
    queue: VecDeque<PeerId>,
    /// Peers with unacknowledged fragments.
    waiting: Vec<PeerId>,
    notices: VecDeque<Notice>,
    counters: counters::GoBackN,
}

impl GoBackN {
    /// What it has counted.
    #[cfg(test)]
    pub(crate) fn counters(&self) -> &counters::GoBackN {
        &self.counters
    }

    /// The state of a peer; none if it has none.
    fn peer(&self, of: PeerId) -> Option<&Peer> {
        self.peers.get(of.0 as usize)?.as_deref()
    }

    /// The state of a peer of this job, made now if there was none.
    fn peer_mut(&mut self, of: PeerId) -> &mut Peer {
        self.peers[of.0 as usize].get_or_insert_with(|| Box::new(Peer::new()))
    }

    /// Sorts a peer into the queue and the list, after its ring has changed.
    fn note_change(&mut self, of: PeerId) {
        let peer = self.peer_mut(of);
        let (is_due, is_waiting) = (peer.ring.is_due(), !peer.ring.is_empty());
        let joins_queue = is_due && !peer.is_queued;
        let (joins, leaves) = (
            is_waiting && !peer.is_waiting,
            !is_waiting && peer.is_waiting,
        );
        peer.is_queued |= is_due;
        peer.is_waiting = is_waiting;
        if joins_queue {
            self.queue.push_back(of);
        }
        if joins {
            self.waiting.push(of);
        }
        if leaves {
            self.waiting.retain(|waiting| *waiting != of);
        }
    }

    /// Queues the answer to a data packet.
    fn answer(&mut self, to: PeerId, kind: Kind, data: FragmentHeader) {
        match kind {
            Kind::Nack => self.counters.nacks_sent += 1,
            Kind::Data | Kind::Ack => self.counters.acks_sent += 1,
        }
        if self.answers.len() < MOST_ANSWERS {
            self.answers
                .push_back((to, FragmentHeader { kind, ..data }));
        }
    }

    /// Handles the data packet of a peer by rows 1 to 3 of Table 1.
    fn handle_data(&mut self, from: PeerId, header: FragmentHeader, fragment: &[u8]) {
        let has_buffer = self.received.has_buffer();
        let expected = self.peer_mut(from).expected;
        let order = Order::of(header.number, expected);
        self.counters.data_received += 1;
        match table::action(header.kind, order, has_buffer) {
            Action::Accept => {
                self.received.store(from, fragment);
                self.peer_mut(from).expected = expected.wrapping_add(1);
                self.answer(from, Kind::Ack, header);
            }
            Action::Acknowledge => {
                self.counters.duplicates += 1;
                self.answer(from, Kind::Ack, header);
            }
            Action::Refuse => {
                match order {
                    Order::Expected => self.counters.nacks_without_buffer += 1,
                    Order::Before | Order::Behind => self.counters.out_of_order += 1,
                }
                self.answer(from, Kind::Nack, header);
            }
            Action::Release | Action::Retransmit | Action::Ignore => {}
        }
    }

    /// Handles an ACK or NACK of a peer by rows 4 to 7 of Table 1.
    fn handle_answer(&mut self, from: PeerId, header: FragmentHeader, now: Instant) {
        let times = self.times;
        let peer = self.peer_mut(from);
        let first = peer.ring.first();
        let order = Order::of(header.number, first);
        match table::action(header.kind, order, true) {
            Action::Release => peer.release(now, &times),
            Action::Retransmit if peer.ring.is_in_transit(header.number, header.attempt) => {
                if order == Order::Expected {
                    peer.pause(now, &times);
                } else {
                    peer.go_back();
                }
            }
            _ => {}
        }
        match header.kind {
            Kind::Nack => self.counters.nacks_received += 1,
            Kind::Data | Kind::Ack => self.counters.acks_received += 1,
        }
        self.note_change(from);
    }

    /// Returns true if no sender of this protocol sends such a packet.
    fn is_impossible(&self, from: PeerId, header: FragmentHeader, fragment: &[u8]) -> bool {
        let expected = self.peer(from).map_or(FIRST_NUMBER, |peer| peer.expected);
        let is_behind = Order::of(header.number, expected) == Order::Behind;
        let is_beyond = is_behind && header.number.wrapping_sub(expected) >= WINDOW;
        fragment.len() > MOST_FRAGMENT_BYTES || header.kind == Kind::Data && is_beyond
    }

    /// Sends the packets of a peer that are due. Returns false if one was not taken.
    fn transmit_to(
        &mut self,
        to: PeerId,
        now: Instant,
        send: &mut impl FnMut(PeerId, &[u8]) -> bool,
    ) -> bool {
        let times = self.times;
        let (mut sent, mut repeated) = (0, 0);
        let peer = self.peer_mut(to);
        while let Some(is_repetition) = peer.ring.send(|packet| send(to, packet)) {
            peer.note_sent(is_repetition, now, &times);
            sent += 1;
            repeated += u64::from(is_repetition);
        }
        peer.is_queued = peer.ring.is_due();
        let is_done = !peer.is_queued;
        self.counters.packets_sent += sent;
        self.counters.retransmitted += repeated;
        is_done
    }

    /// Gives up a peer and all that has to do with it.
    fn lose(&mut self, lost: PeerId) {
        self.peer_mut(lost).lose();
        self.note_change(lost);
        self.received.drop_all(lost);
        self.answers.retain(|(to, _)| *to != lost);
        self.notices.push_back(Notice::Lost(lost));
    }
}

impl Pipe for GoBackN {
    const NUMBER: u8 = 1;
    const HEADER_BYTES: usize = packet::HEADER_BYTES;

    // The paper does not describe the messages of its MPI. 16 KiB is the boundary of RMPP here.
    const SHORT_MOST: u64 = 16_384;

    fn new(setup: &Setup) -> Self {
        let room = setup.packet_bytes.saturating_sub(packet::HEADER_BYTES);
        Self {
            times: Times {
                min_timeout: setup.min_timeout,
                max_timeout: setup.max_timeout,
                lost_after: setup.lost_after,
                unheard_after: setup.unheard_after,
            },
            fragment_bytes: room.clamp(1, MOST_FRAGMENT_BYTES),
            peers: (0..setup.nodes).map(|_| None).collect(),
            received: ReceiveRing::default(),
            answers: VecDeque::new(),
            queue: VecDeque::new(),
            waiting: Vec::new(),
            notices: VecDeque::new(),
            counters: counters::GoBackN::default(),
        }
    }

    fn count(&self, tallies: &mut Tallies) {
        tallies.gobackn = self.counters.clone();
    }

    fn fragment_bytes(&self) -> usize {
        self.fragment_bytes
    }

    fn has_room(&self, to: PeerId, _channel: u32) -> bool {
        let has_room = |peer: &Peer| !peer.is_lost && peer.ring.has_room();
        (to.0 as usize) < self.peers.len() && self.peer(to).is_none_or(has_room)
    }

    fn push(&mut self, to: PeerId, channel: u32, now: Instant, fill: impl FnOnce(&mut Vec<u8>)) {
        assert!(self.has_room(to, channel), "the caller asks has_room first");
        let peer = self.peer_mut(to);
        peer.begin(now);
        let bytes = peer.ring.store(fill);
        assert!(
            (1..=self.fragment_bytes).contains(&bytes),
            "a fragment has 1 to {} bytes, not {bytes}",
            self.fragment_bytes
        );
        self.note_change(to);
    }

    fn transmit(&mut self, now: Instant, mut send: impl FnMut(PeerId, &[u8]) -> bool) -> bool {
        while let Some((to, answer)) = self.answers.front() {
            if !send(*to, &answer.write(0)) {
                return true;
            }
            self.counters.packets_sent += 1;
            self.answers.pop_front();
        }
        while let Some(to) = self.queue.front() {
            if !self.transmit_to(*to, now, &mut send) {
                return true;
            }
            self.queue.pop_front();
        }
        false
    }

    fn handle(&mut self, from: PeerId, packet: &[u8], now: Instant) {
        if from.0 as usize >= self.peers.len() || self.peer(from).is_some_and(|peer| peer.is_lost) {
            return;
        }
        // Row 8 of Table 1, CRC: ignore the packet.
        let read = FragmentHeader::read(packet);
        let possible = read.filter(|(header, bytes)| !self.is_impossible(from, *header, bytes));
        let Some((header, fragment)) = possible else {
            self.counters.malformed += 1;
            return;
        };
        self.peer_mut(from).hear(now);
        match header.kind {
            Kind::Data => self.handle_data(from, header, fragment),
            Kind::Ack | Kind::Nack => self.handle_answer(from, header, now),
        }
    }

    fn next_fragment(&mut self) -> Option<Fragment<'_>> {
        let (from, bytes) = self.received.take()?;
        Some(Fragment {
            from,
            channel: 0,
            bytes,
        })
    }

    fn has_fragment(&self) -> bool {
        self.received.has_fragment()
    }

    fn next_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    fn next_timeout(&self) -> Option<Instant> {
        let timers = self.waiting.iter().filter_map(|of| self.peer(*of)?.timer());
        timers.min()
    }

    fn handle_timeout(&mut self, now: Instant) -> bool {
        let Some(first) = self.next_timeout().filter(|first| *first <= now) else {
            return false;
        };
        let times = self.times;
        let lateness = now.since(first);
        let has_slept = times.lost_after.is_some_and(|most| lateness > most / 2);
        for id in self.waiting.clone() {
            let peer = self.peer_mut(id);
            if has_slept {
                peer.restart_silence(now);
            }
            match peer.expire(now, &times) {
                Expiry::Early => continue,
                Expiry::Repeat => {}
                Expiry::Unheard(since) => self.notices.push_back(Notice::Unheard(id, since)),
                Expiry::Lost => self.lose(id),
            }
            self.counters.timeouts += 1;
            self.note_change(id);
        }
        true
    }

    fn is_quiet(&self) -> bool {
        self.waiting.is_empty() && self.answers.is_empty()
    }
}
