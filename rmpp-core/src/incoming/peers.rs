//! What is kept for each peer about the messages that it sends, and the cumulative acknowledgement
//! that it is owed (rule K).

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use super::Listed;
use crate::caps::Caps;
use crate::common::{Common, Kept};
use crate::config::Bug;
use crate::ids::Key;
use crate::list::List;
use crate::time::{Instant, nanoseconds};

/// A peer as a sender. Of fixed size. Between messages the lists are empty.
#[derive(Clone, Copy)]
#[cfg_attr(feature = "simulated", derive(Hash))]
pub(crate) struct FromPeer {
    /// Messages that the cumulative acknowledgement must not pass (rule K).
    unconfirmed: List,
    /// Messages that came ahead of their turn (rule O).
    early: List,
    /// The message whose unscheduled block came last, or none (rule U).
    block: Key,
    /// When the acknowledgement owed goes out alone, `ZERO`: as soon as it can; `NEVER`: none is
    /// owed.
    ack_due: Instant,
    /// Packets granted to the peer that have not come (rule G).
    granted: u32,
    /// Messages accepted since the last packet to the peer (rule K).
    owed: u16,
    /// True if this peer is in the queue of acknowledgements that may go alone.
    ripe: bool,
    /// Something came ahead of its turn since the last acknowledgement (rule O).
    gap: bool,
}

impl FromPeer {
    const NEW: Self = Self {
        unconfirmed: List::EMPTY,
        early: List::EMPTY,
        block: Key::NONE,
        ack_due: Instant::NEVER,
        granted: 0,
        owed: 0,
        ripe: false,
        gap: false,
    };
}

/// All peers as senders.
#[cfg_attr(feature = "simulated", derive(Clone, Hash))]
pub(super) struct FromPeers {
    each: Vec<FromPeer>,
    /// To how many peers an acknowledgement is owed.
    owed_to: u32,
    /// Peers whose acknowledgement has waited long enough, each once; others may be among them.
    ripe: VecDeque<u32>,
}

impl FromPeers {
    pub(super) fn new(nodes: u32) -> Self {
        Self {
            each: vec![FromPeer::NEW; nodes as usize],
            owed_to: 0,
            ripe: VecDeque::new(),
        }
    }

    /// How many messages of a peer came ahead of their turn.
    #[inline]
    pub(super) fn early(&self, from: u32) -> usize {
        self.each[from as usize].early.len()
    }

    /// The first message of a peer that came ahead of its turn.
    #[inline]
    pub(super) fn first_early(&self, from: u32) -> Option<u32> {
        self.each[from as usize].early.head()
    }

    /// The first message of a peer that the cumulative acknowledgement must not pass.
    #[inline]
    pub(super) fn unconfirmed(&self, from: u32) -> Option<u32> {
        self.each[from as usize].unconfirmed.head()
    }

    /// The list of a peer that such messages are in.
    #[inline]
    pub(super) fn list_of(&mut self, from: u32, listed: Listed) -> Option<&mut List> {
        let peer = &mut self.each[from as usize];
        match listed {
            Listed::Unconfirmed => Some(&mut peer.unconfirmed),
            Listed::Early => Some(&mut peer.early),
            Listed::Done | Listed::Nowhere => None,
        }
    }

    /// The packets granted to a peer that have not come.
    #[inline]
    pub(super) fn granted(&mut self, from: u32) -> &mut u32 {
        &mut self.each[from as usize].granted
    }

    /// Puts a message in the place of the one whose unscheduled block came last; returns that one.
    #[inline]
    pub(super) fn replace_block(&mut self, from: u32, block: Key) -> Key {
        core::mem::replace(&mut self.each[from as usize].block, block)
    }

    /// A packet with the acknowledgement leaves for `to`.
    // Rule K.
    #[inline]
    pub(super) fn note_acknowledged(&mut self, to: u32) {
        let peer = &mut self.each[to as usize];
        peer.owed = 0;
        // A gap is reported by a packet of its own (rule O).
        if !peer.gap && peer.ack_due != Instant::NEVER {
            peer.ack_due = Instant::NEVER;
            self.owed_to -= 1;
        }
    }

    /// A message of `from` has been accepted. The acknowledgement goes with the next packet to
    /// `from`, or after a while by itself.
    // Rule K.
    pub(super) fn owe<K: Kept>(
        &mut self,
        common: &mut Common<K>,
        from: u32,
        asks: bool,
        now: Instant,
    ) {
        let delay_ns = nanoseconds(common.config().ack_delay);
        let peer = &mut self.each[from as usize];
        peer.owed = peer.owed.saturating_add(1);
        if asks || u32::from(peer.owed) >= common.config().ack_every {
            self.let_ack_go(common, from, Instant::ZERO);
        } else {
            self.let_ack_go(common, from, now.plus_ns(delay_ns));
        }
    }

    /// Something of `from` came ahead of its turn: the gap is reported at once.
    // Rule O.
    pub(super) fn tell_gap<K: Kept>(&mut self, common: &mut Common<K>, from: u32) {
        if !common.caps().has(Caps::LAZY) {
            return;
        }
        self.each[from as usize].gap = true;
        self.let_ack_go(common, from, Instant::ZERO);
    }

    /// An acknowledgement is owed, and goes alone at `due` if nothing carries it before. One that
    /// is due earlier (for a gap) is not put off.
    // Rule K.
    fn let_ack_go<K: Kept>(&mut self, common: &mut Common<K>, from: u32, due: Instant) {
        let peer = &mut self.each[from as usize];
        self.owed_to += u32::from(peer.ack_due == Instant::NEVER);
        peer.ack_due = peer.ack_due.min(due);
        if peer.ack_due == Instant::ZERO {
            self.ripen(from);
        } else if !common.has(Bug::ForgetOwedAck) {
            common.alarms_mut().time_path(from, due);
        }
    }

    #[inline]
    fn ripen(&mut self, from: u32) {
        if !core::mem::replace(&mut self.each[from as usize].ripe, true) {
            debug_assert!(self.ripe.len() < self.each.len());
            self.ripe.push_back(from);
        }
    }

    /// When the acknowledgement owed to a peer goes alone. One that may go at once waits for room,
    /// not for a time.
    #[inline]
    pub(super) fn ack_due(&self, from: u32) -> Instant {
        match self.each[from as usize].ack_due {
            Instant::ZERO => Instant::NEVER,
            due => due,
        }
    }

    /// The acknowledgement owed to a peer may have waited long enough.
    // Rule K.
    #[inline]
    pub(super) fn tick(&mut self, from: u32, now: Instant) {
        let peer = &mut self.each[from as usize];
        if peer.ack_due <= now {
            peer.ack_due = Instant::ZERO;
            self.ripen(from);
        }
    }

    /// The next peer whose acknowledgement may go alone, and has not gone with something else; and
    /// whether it reports a gap.
    #[inline]
    pub(super) fn next_ripe(&mut self) -> Option<(u32, bool)> {
        loop {
            let to = self.ripe.pop_front()?;
            let peer = &mut self.each[to as usize];
            peer.ripe = false;
            if peer.ack_due == Instant::ZERO {
                let has_gap = core::mem::take(&mut peer.gap) || peer.early.len() > 0;
                return Some((to, has_gap));
            }
        }
    }

    #[inline]
    pub(super) fn owes(&self) -> bool {
        self.owed_to > 0
    }

    #[inline]
    pub(super) fn is_ripe(&self) -> bool {
        !self.ripe.is_empty()
    }

    /// A peer is gone: nothing is kept for it, and nothing owed to it.
    pub(super) fn lose(&mut self, peer: u32) {
        self.ripe.retain(|&to| to != peer);
        let gone = core::mem::replace(&mut self.each[peer as usize], FromPeer::NEW);
        self.owed_to -= u32::from(gone.ack_due != Instant::NEVER);
    }
}

#[cfg(feature = "simulated")]
impl FromPeers {
    /// Bytes kept for all peers, and bytes of the queue.
    pub(super) fn bytes(&self) -> (usize, usize) {
        let ripe = self.ripe.capacity() * size_of::<u32>();
        (size_of_val(&*self.each), ripe)
    }

    /// The peers that are owed an acknowledgement are known.
    pub(super) fn check(&self) {
        let (mut owed, mut ripe) = (0, 0);
        for (from, peer) in self.each.iter().enumerate() {
            let may_go = peer.ack_due == Instant::ZERO;
            assert!(peer.ripe || !may_go, "peer {from} is forgotten");
            owed += usize::from(peer.ack_due != Instant::NEVER);
            ripe += usize::from(peer.ripe);
        }
        assert_eq!(owed, self.owed_to as usize);
        assert_eq!(ripe, self.ripe.len(), "queued once each");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::ids::NodeId;

    fn common() -> Common<((), ())> {
        let config = Config {
            ack_every: 3,
            ..Config::with_caps(3, 100, Caps::FAST)
        };
        Common::new(NodeId(0), config)
    }

    #[test]
    fn rule_k_an_acknowledgement_waits_until_it_is_due() {
        let (mut peers, mut common) = (FromPeers::new(3), common());
        peers.owe(&mut common, 1, false, Instant(5));
        let due = peers.ack_due(1);
        assert_eq!(due, Instant(5).plus(common.config().ack_delay));
        assert_eq!(common.alarms_mut().wake(), due);
        assert!(peers.owes() && !peers.is_ripe());
        peers.tick(1, due);
        assert_eq!(peers.next_ripe(), Some((1, false)));
        peers.note_acknowledged(1);
        assert!(!peers.owes() && peers.next_ripe().is_none());
    }

    #[test]
    fn rule_k_it_goes_at_once_if_asked_for_or_if_enough_messages_wait() {
        let (mut peers, mut common) = (FromPeers::new(3), common());
        peers.owe(&mut common, 2, true, Instant(5));
        assert_eq!(peers.next_ripe(), Some((2, false)));
        for _ in 0..3 {
            assert!(!peers.is_ripe());
            peers.owe(&mut common, 1, false, Instant(5));
        }
        assert_eq!(peers.next_ripe(), Some((1, false)));
    }

    #[test]
    fn rule_o_a_gap_is_reported_by_a_packet_of_its_own() {
        let (mut peers, mut common) = (FromPeers::new(3), common());
        peers.tell_gap(&mut common, 1);
        peers.note_acknowledged(1);
        assert!(peers.owes(), "another packet does not report it");
        assert_eq!(peers.next_ripe(), Some((1, true)));
        peers.note_acknowledged(1);
        assert!(!peers.owes());
    }

    #[test]
    fn nothing_is_owed_to_a_peer_that_is_gone() {
        let (mut peers, mut common) = (FromPeers::new(3), common());
        peers.tell_gap(&mut common, 1);
        peers.lose(1);
        assert!(!peers.owes() && !peers.is_ripe());
    }
}
