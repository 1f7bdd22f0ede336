//! The grants of a node, and the CTS packets that carry them (rules P4, W, G).

use alloc::collections::VecDeque;

use super::Incoming;
use super::states::State;
use crate::bits::Bits;
use crate::caps::Caps;
use crate::common::{Common, KEPT, Kept, give_back};
use crate::config::{Bug, Config};
use crate::grant::Grants;
use crate::ids::Key;
use crate::packet::{Header, Kind};
use crate::slab::Slab;
use crate::time::Instant;

/// What is granted, and to whom it must still be said. How much of it a peer has is kept with the
/// peer: `to_peer`.
#[cfg_attr(feature = "simulated", derive(Clone, Hash))]
pub(super) struct Granting {
    grants: Grants,
    /// Messages whose next CTS is due, each once; some may have ended.
    due: VecDeque<Key>,
}

impl Granting {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            grants: Grants::new(config),
            due: VecDeque::new(),
        }
    }

    /// A message begins to be received: it holds `unscheduled` packets without a CTS.
    #[inline]
    pub(super) fn begin(&mut self, unscheduled: u32, to_peer: &mut u32) {
        self.grants.begin(unscheduled, to_peer);
    }

    /// Gives back `n` packets that have come, or will not come any more.
    #[inline]
    pub(super) fn give_back(&mut self, n: u32, to_peer: &mut u32) {
        self.grants.give_back(n, to_peer);
    }

    // Rule G.
    pub(super) fn overflow(&mut self) {
        self.grants.overflow();
    }

    /// Returns true if the pool does not grow as packets come.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.grants.is_full()
    }

    /// How many packets must come until more may be granted: see `renew`.
    // Rule W.
    pub(super) fn packets_to_grant<In>(&self, message: &Incoming<In>, config: &Config) -> u32 {
        if message.limit >= message.shape(config).last_seq() {
            return u32::MAX;
        }
        let left = self.left_at_renewal(config);
        message.span().saturating_sub(left).max(1)
    }

    /// How many granted packets may be on their way when more are granted: half of the window,
    /// none without pipelining.
    // Rule W.
    fn left_at_renewal(&self, config: &Config) -> u32 {
        if config.caps.has(Caps::PIPE) {
            self.grants.window(config.caps.has(Caps::BUDGET)) / 2
        } else {
            0
        }
    }

    /// Grants more when no more than that is left of what was granted. Returns true if it has.
    // Rule W. Rule G.
    pub(super) fn renew<In>(
        &mut self,
        message: &mut Incoming<In>,
        config: &Config,
        (to_peer, now): (&mut u32, Instant),
    ) -> bool {
        let window = self.grants.window(config.caps.has(Caps::BUDGET));
        let last = message.shape(config).last_seq();
        if message.limit >= last || message.span() > self.left_at_renewal(config) {
            return false;
        }
        let wanted = (message.expected - 1).saturating_add(window).min(last);
        let more = wanted.saturating_sub(message.limit);
        let granted = message.granted();
        let n = self.grants.take_up_to(more, granted, (to_peer, now));
        message.limit += n;
        n > 0
    }

    /// Grants a message anew by Figure 8, in place of what it was granted before.
    // Rule P4.
    pub(super) fn grant<K: Kept>(
        &mut self,
        common: &Common<K>,
        message: &mut Incoming<K::In>,
        to_peer: &mut u32,
    ) {
        self.grants.give_back(message.granted(), to_peer);
        let n = if common.caps().has(Caps::BUDGET) {
            let window = self.grants.window(true);
            self.grants.take_up_to(window, 0, (to_peer, common.now()))
        } else {
            u32::from(self.grants.take(to_peer))
        };
        message.limit = message.expected - 1 + n;
    }

    pub(super) fn queue_cts<In>(&mut self, messages: &mut Slab<Incoming<In>>, index: u32) {
        let message = &mut messages[index];
        if !message.cts_due {
            message.cts_due = true;
            let key = messages.key(index);
            let most = KEPT + 2 * messages.len();
            if self.due.len() >= most {
                // Messages that ended while the layer below had no room for their CTS.
                self.due.retain(|&key| messages.find(key).is_some());
            }
            debug_assert!(self.due.len() < most, "queued once each");
            self.due.push_back(key);
        }
    }

    /// The next CTS: made when it leaves, so that it is up to date.
    // Rule W. Rule R.
    pub(super) fn next_cts<K: Kept>(
        &mut self,
        common: &mut Common<K>,
        messages: &mut Slab<Incoming<K::In>>,
    ) -> Option<(u32, Header, Bits)> {
        while let Some(key) = self.due.pop_front() {
            let Some(index) = messages.find(key) else {
                continue;
            };
            let message = &mut messages[index];
            message.cts_due = false;
            if message.state != State::Receiving || message.span() == 0 {
                continue;
            }
            message.named = true;
            let lost = (message.lost_to + 1).saturating_sub(message.expected);
            let mut bits = message.came.gaps(lost);
            if common.has(Bug::ShiftNak) {
                bits.advance(1);
            }
            // Else the sender has obeyed the last NAK, or will: probes that waited together must
            // not each have the same data sent again.
            let is_known = message.nak == 0 || message.fresh > 0 || common.has(Bug::NakOnOldData);
            if !bits.is_empty() && (is_known || message.lost_to > message.asked_to) {
                message.nak = message.nak.wrapping_add(1);
                (message.fresh, message.asked_to) = (0, message.lost_to);
                common.counts().naks += 1;
                self.grants.lose(bits.count());
            }
            message.lost_to = 0;
            let info2 = match common.caps().has(Caps::SNAK) {
                true => message.nak,
                false => message.attempt,
            };
            let header = Header {
                seq: message.expected,
                info1: u16::try_from(message.span()).unwrap_or(u16::MAX),
                info2,
                ..message.header(Kind::Cts, common.config().version)
            };
            return Some((message.from, header, bits));
        }
        None
    }

    #[inline]
    pub(super) fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    #[inline]
    pub(super) fn give_back_queue(&mut self) {
        give_back(&mut self.due);
    }
}

#[cfg(feature = "simulated")]
impl Granting {
    pub(super) fn bytes(&self) -> usize {
        self.due.capacity() * size_of::<Key>()
    }

    /// Figure 8's `outstanding`.
    pub(super) fn outstanding(&self) -> u64 {
        self.grants.outstanding()
    }
}
