//! SCTP (RFC 9260) as a pipe, by the crate `sctp-proto`: one association per pair of processes.
//!
//! * Each datagram carries one SCTP packet behind the wrap of the carrier, as RFC 6951 has it with
//!   a UDP header. There is one path per peer: the library knows no multihoming.
//! * A message of MPI goes on the stream that its tag, sender and context choose, so a lost packet
//!   delays the messages of one stream alone. This is the mapping of Penoff's thesis, "Scaling MPI
//!   over TCP and SCTP" (section 4.2, figure 4.3), with a fixed number of streams.
//! * A fragment is one user message. Padding makes it a multiple of 4 bytes: up to 4 bytes behind
//!   it, of which the last says how many. So chunks have no padding of their own, which the library
//!   forgets when it fills a packet.
//! * There is no handshake. Both sides know the INIT chunk of the other (draft-hancke-tsvwg-snap):
//!   the verification tag is the process's number plus one, and all begin with the same TSN. The
//!   seal of the carrier keeps strangers out, as the cookie would. So both sides may begin at the
//!   same time, the first packet carries data, and nothing on the wire is random. The handshake of
//!   the library would not do: it closes an association when an INIT comes late or twice, and it
//!   reads the clock.
//! * Congestion control is that of RFC 9260, section 7: slow start, congestion avoidance, fast
//!   retransmission. There is no partial reliability and no heartbeat; a peer is lost if it is
//!   silent while something is outstanding.
//! * The receiver answers every other packet, and those with the I bit (RFC 7053) at once. A sender
//!   sets it where it has nothing more that it may send; else the answer would come 200 ms later.

mod limits;
mod link;
mod packet;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use self::limits::STREAMS;
use self::link::{Link, Terms, fragment_bytes};
use super::pipe::{Fragment, Notice, Pipe, Setup};
use crate::clock::Instant;
use crate::counters;
use crate::transport::{PeerId, Tallies};

/// The SCTP associations of a process.
pub struct Sctp {
    terms: Arc<Terms>,
    /// By `PeerId`.
    slots: Vec<PeerLink>,
    /// When each association wants to be called.
    deadlines: BTreeSet<(Instant, PeerId)>,
    /// The associations that may have packets to send.
    due: VecDeque<PeerId>,
    /// The next message of each stream that has one.
    arrived: VecDeque<(PeerId, u16, Vec<u8>)>,
    /// The buffer of the fragment that is pushed.
    message: Vec<u8>,
    /// The fragment that the caller has.
    fragment: Vec<u8>,
    notices: VecDeque<Notice>,
    counters: counters::Sctp,
    /// The time of the last call.
    now: Instant,
}

/// What there is between this process and another.
enum PeerLink {
    /// Nothing yet.
    Free,
    Open(Box<Link>),
    /// The peer is lost: it is ignored from now on.
    Lost,
}

impl Sctp {
    /// The counters.
    #[cfg(test)]
    pub(crate) fn counters(&self) -> &counters::Sctp {
        &self.counters
    }

    /// The association with a peer, made if there is none; `None` if the peer is lost or unknown.
    fn open(&mut self, peer: PeerId) -> Option<&mut Link> {
        if peer == self.terms.setup.me {
            return None;
        }
        let slot = self.slots.get_mut(peer.0 as usize)?;
        if matches!(slot, PeerLink::Free) {
            *slot = PeerLink::Open(Box::new(Link::new(&self.terms, peer, self.now)));
            self.counters.associations += 1;
        }
        match slot {
            PeerLink::Open(link) => Some(link),
            _ => None,
        }
    }

    /// Takes what a call of the association has changed: messages, deadlines, its end.
    fn settle(&mut self, peer: PeerId) {
        let Some(PeerLink::Open(link)) = self.slots.get_mut(peer.0 as usize) else {
            return;
        };
        if !link.take_events(&mut self.counters) {
            self.lose(peer);
            return;
        }
        for stream in 0..STREAMS {
            if link.readable[usize::from(stream)] && !link.held[usize::from(stream)] {
                read(link, peer, stream, &mut self.arrived, &mut self.counters);
            }
        }
        if !link.is_due {
            link.is_due = true;
            self.due.push_back(peer);
        }
        self.note_deadline(peer);
    }

    /// Brings the table of deadlines up to date.
    fn note_deadline(&mut self, peer: PeerId) {
        let Some(PeerLink::Open(link)) = self.slots.get_mut(peer.0 as usize) else {
            return;
        };
        let deadline = [
            link.next_timeout(),
            lost_at(link, &self.terms.setup),
            unheard_at(link, &self.terms.setup),
        ];
        let deadline = deadline.into_iter().flatten().min();
        if deadline != link.deadline {
            if let Some(old) = std::mem::replace(&mut link.deadline, deadline) {
                self.deadlines.remove(&(old, peer));
            }
            self.deadlines.extend(deadline.map(|new| (new, peer)));
        }
    }

    /// Ends the association with a peer. What it has sent before can still be taken.
    fn lose(&mut self, peer: PeerId) {
        let slot = std::mem::replace(&mut self.slots[peer.0 as usize], PeerLink::Lost);
        if let PeerLink::Open(link) = slot {
            if let Some(old) = link.deadline {
                self.deadlines.remove(&(old, peer));
            }
            self.notices.push_back(Notice::Lost(peer));
        }
    }

    /// Begins to wait for all peers again if this process did not run for so long that it cannot
    /// tell who was silent.
    fn forgive_own_pause(&mut self) {
        let late = self.next_timeout().map(|due| self.now.since(due));
        let Some(lost_after) = self.terms.setup.lost_after else {
            return;
        };
        if late.is_some_and(|late| late >= lost_after / 2) {
            for slot in &mut self.slots {
                if let PeerLink::Open(link) = slot {
                    link.silent_since = self.now;
                }
            }
        }
    }

    /// Does what is due of one association.
    fn handle_timeout_of(&mut self, peer: PeerId) {
        let now = self.now;
        let Some(PeerLink::Open(link)) = self.slots.get_mut(peer.0 as usize) else {
            return;
        };
        if let Some(first) = link.first_push
            && unheard_at(link, &self.terms.setup).is_some_and(|at| at <= now)
        {
            link.unheard_said = true;
            self.notices.push_back(Notice::Unheard(peer, first));
        }
        if lost_at(link, &self.terms.setup).is_some_and(|at| at <= now) {
            self.lose(peer);
            return;
        }
        link.handle_timeout(now);
        self.settle(peer);
    }
}

/// When the peer is lost if it stays silent.
fn lost_at(link: &Link, setup: &Setup) -> Option<Instant> {
    let after = setup.lost_after.filter(|_| link.is_outstanding())?;
    Some(link.silent_since.plus(after))
}

/// When the peer is to be reported if it still has never answered.
fn unheard_at(link: &Link, setup: &Setup) -> Option<Instant> {
    let first = link
        .first_push
        .filter(|_| !link.heard && !link.unheard_said)?;
    Some(first.plus(setup.unheard_after))
}

/// Reads the next message of a stream, if there is one.
fn read(
    link: &mut Link,
    peer: PeerId,
    stream: u16,
    arrived: &mut VecDeque<(PeerId, u16, Vec<u8>)>,
    counters: &mut counters::Sctp,
) {
    while let Some(mut message) = link.read(stream) {
        let padding = usize::from(message.last().copied().unwrap_or(0));
        if (1..=4).contains(&padding) && padding < message.len() {
            message.truncate(message.len() - padding);
            arrived.push_back((peer, stream, message));
            link.held[usize::from(stream)] = true;
            return;
        }
        counters.malformed += 1;
    }
}

impl Pipe for Sctp {
    const NUMBER: u8 = 3;
    const HEADER_BYTES: usize = packet::COMMON_BYTES + packet::DATA_BYTES;

    /// As in LAM, whose default the thesis gives (section 2.4).
    const SHORT_MOST: u64 = 64 * 1024;

    fn new(setup: &Setup) -> Self {
        Self {
            terms: Arc::new(Terms::new(setup)),
            slots: (0..setup.nodes).map(|_| PeerLink::Free).collect(),
            deadlines: BTreeSet::new(),
            due: VecDeque::new(),
            arrived: VecDeque::new(),
            message: Vec::new(),
            fragment: Vec::new(),
            notices: VecDeque::new(),
            counters: counters::Sctp::default(),
            now: Instant::ZERO,
        }
    }

    fn count(&self, tallies: &mut Tallies) {
        tallies.sctp = self.counters.clone();
    }

    fn fragment_bytes(&self) -> usize {
        fragment_bytes(self.terms.chunk_bytes)
    }

    fn channel_of(&self, key: u32) -> u32 {
        key % u32::from(STREAMS)
    }

    fn has_room(&self, to: PeerId, _channel: u32) -> bool {
        match self.slots.get(to.0 as usize) {
            Some(PeerLink::Free) => to != self.terms.setup.me,
            Some(PeerLink::Open(link)) => link.has_room(self.fragment_bytes() + 4),
            Some(PeerLink::Lost) | None => false,
        }
    }

    fn push(&mut self, to: PeerId, channel: u32, now: Instant, fill: impl FnOnce(&mut Vec<u8>)) {
        self.now = now;
        let mut message = std::mem::take(&mut self.message);
        message.clear();
        fill(&mut message);
        let padding = 4 - message.len() % 4;
        message.resize(message.len() + padding, padding as u8);
        let stream = u16::try_from(channel).expect("a channel is one of channel_of");
        if let Some(link) = self.open(to) {
            link.push(stream, &message, now);
            self.counters.fragments_sent += 1;
            self.settle(to);
        }
        self.message = message;
    }

    fn transmit(&mut self, now: Instant, mut send: impl FnMut(PeerId, &[u8]) -> bool) -> bool {
        self.now = now;
        while let Some(&peer) = self.due.front() {
            if let Some(PeerLink::Open(link)) = self.slots.get_mut(peer.0 as usize) {
                while !link.outgoing.is_empty() || link.collect(now, &mut self.counters) {
                    let packet = link.outgoing.front().expect("there is one");
                    if !send(peer, packet) {
                        self.note_deadline(peer);
                        return true;
                    }
                    link.outgoing.pop_front();
                    self.counters.packets_sent += 1;
                }
                link.is_due = false;
            }
            self.note_deadline(peer);
            self.due.pop_front();
        }
        false
    }

    fn handle(&mut self, from: PeerId, packet: &[u8], now: Instant) {
        self.now = now;
        if let Some(PeerLink::Lost) = self.slots.get(from.0 as usize) {
            return;
        }
        // No association is made for what is none of its packets.
        let is_ours = packet::is_whole(packet, link::tag(self.terms.setup.me));
        let handled = is_ours
            && self
                .open(from)
                .is_some_and(|link| link.handle(packet, now).is_ok());
        if handled {
            self.counters.packets_received += 1;
            self.settle(from);
        } else {
            self.counters.malformed += 1;
        }
    }

    fn next_fragment(&mut self) -> Option<Fragment<'_>> {
        let (from, stream, fragment) = self.arrived.pop_front()?;
        self.fragment = fragment;
        self.counters.fragments_received += 1;
        if let Some(PeerLink::Open(link)) = self.slots.get_mut(from.0 as usize) {
            link.held[usize::from(stream)] = false;
            read(link, from, stream, &mut self.arrived, &mut self.counters);
            if link.open_window(self.now) {
                self.settle(from);
            }
        }
        Some(Fragment {
            from,
            channel: u32::from(stream),
            bytes: &self.fragment,
        })
    }

    fn has_fragment(&self) -> bool {
        !self.arrived.is_empty()
    }

    fn next_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.deadlines.first().map(|&(at, _)| at)
    }

    fn handle_timeout(&mut self, now: Instant) -> bool {
        self.now = now;
        self.forgive_own_pause();
        let due: Vec<PeerId> = self
            .deadlines
            .iter()
            .take_while(|&&(at, _)| at <= now)
            .map(|&(_, peer)| peer)
            .collect();
        for &peer in &due {
            self.handle_timeout_of(peer);
        }
        !due.is_empty()
    }

    fn is_quiet(&self) -> bool {
        self.slots.iter().all(|slot| match slot {
            PeerLink::Open(link) => link.is_quiet(),
            PeerLink::Free | PeerLink::Lost => true,
        })
    }
}
