//! A look inside for the simulator's checker; exists only with the feature `simulated`.

use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use super::Endpoint;
use crate::config::Config;
use crate::counters::Counters;
use crate::ids::{NodeId, OutgoingId};
use crate::peer::Peer;
use crate::schedule::Schedule;
use crate::slab::Slab;
use crate::table::Table;
use crate::time::Instant;
use crate::timers::Timeouts;

/// The contents of an endpoint at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Survey {
    /// Outgoing messages without their last event.
    pub outgoing: usize,
    /// Incoming messages not yet answered for good.
    pub incoming_live: usize,
    /// Incoming messages answered and remembered.
    pub incoming_done: usize,
    /// Figure 8's `outstanding`.
    pub outstanding: u64,
    /// Packets granted and outstanding, summed over the messages.
    pub granted: u64,
    /// Messages being received.
    pub in_grant: u64,
    /// A digest of all message numbers.
    pub numbers: u64,
}

impl<Out, In> Endpoint<Out, In> {
    /// Counts everything; takes time in proportion to the messages held.
    #[must_use]
    pub fn survey(&self) -> Survey {
        let (incoming_live, incoming_done, grants) = self.receiver.counts();
        let [outstanding, granted, in_grant] = grants;
        let mix = |digest: u64, number: u32| {
            (digest ^ u64::from(number)).wrapping_mul(0x0000_0100_0000_01b3)
        };
        Survey {
            outgoing: self.sender.live_msg_ids().len(),
            incoming_live,
            incoming_done,
            outstanding,
            granted,
            in_grant,
            numbers: self
                .common
                .all_numbers()
                .iter()
                .fold(0, |d, p| mix(mix(d, p.next_out()), p.next_in())),
        }
    }

    /// An outgoing message that nothing will ever move on: it has nothing to transmit, no timer
    /// runs for it or for the one it waits for, and no acknowledgement waits to be looked at.
    #[must_use]
    pub fn stranded(&self) -> Option<OutgoingId> {
        let wake = self.next_timeout().unwrap_or(Instant::NEVER);
        let (is_settled, stranded) = self.sender.stranded(&self.common, wake);
        if is_settled {
            self.check_timers();
        }
        stranded
    }

    /// No timer rings too late, and the peers that are owed an acknowledgement are known.
    fn check_timers(&self) {
        for to in 0..self.common.config().nodes {
            let due = self.path_due(to);
            let rings = self.common.alarms().of_path(to);
            assert!(rings <= due, "the path to {to} is due at {due:?}");
        }
        self.receiver.check();
    }

    /// How many timers have rung, and how many were looked at to find those.
    #[must_use]
    pub fn timers_rung(&self) -> (u64, u64) {
        self.common.alarms().rung()
    }

    /// Bytes kept for all peers together, and bytes of everything else that this node keeps: its
    /// messages, tables and queues, with room for as many as there ever were at a time.
    #[must_use]
    pub fn state_bytes(&self) -> (usize, usize) {
        let (from_peers, incoming) = self.receiver.bytes();
        let (to_peers, outgoing) = self.sender.bytes();
        let timers = self.common.alarms().bytes_of_paths();
        let numbers = size_of_val(self.common.all_numbers());
        let queues = self.common.bytes();
        let peers = numbers + from_peers + to_peers + timers;
        (peers, size_of::<Self>() + incoming + outgoing + queues)
    }

    /// The two integers kept for `peer`: number of the next message to it, and from it.
    #[must_use]
    pub fn numbers(&self, peer: NodeId) -> (u32, u32) {
        let peer = self.common.numbers(peer.0);
        (peer.next_out(), peer.next_in())
    }

    /// The names of all outgoing messages that have not ended.
    #[must_use]
    pub fn live_msg_ids(&self) -> Vec<u32> {
        self.sender.live_msg_ids()
    }

    /// Goes on as if `count` messages had been sent and had ended, to test the wrap of msgID.
    pub fn skip_msg_ids(&mut self, count: u64) {
        self.sender.skip_msg_ids(count);
    }

    /// Puts the given numbers in the place of those kept for `peer`, to test the wrap.
    pub fn set_numbers(&mut self, peer: NodeId, (next_out, next_in): (u32, u32)) {
        *self.common.numbers_mut(peer.0) = Peer::at(next_out, next_in);
    }
}

// The explorer takes two endpoints with the same hash for the same state. So the hash leaves out
// what is the same in all of its runs, and what makes no difference when all timeouts are alike.

impl Hash for Config {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Hash for Timeouts {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Hash for Counters {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl<T: Hash> Hash for Slab<T> {
    /// Without the generations: they only distinguish old names from new ones.
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.iter().for_each(|taken| taken.hash(state));
        self.positions().hash(state);
        self.free().hash(state);
    }
}

impl Hash for Schedule {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.iter().for_each(|timer| timer.hash(state));
    }
}

impl Hash for Table {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.iter().for_each(|entry| entry.hash(state));
    }
}
