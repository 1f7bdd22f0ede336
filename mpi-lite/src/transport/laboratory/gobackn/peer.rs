//! What is kept about one peer: both directions of its connection, its timer and its silence.

use std::time::Duration;

use super::send_ring::SendRing;
use crate::clock::Instant;

/// The number of the first fragment of each connection. The end of the circle of numbers is near,
/// so that each job and each test passes it.
pub(super) const FIRST_NUMBER: u32 = 100_u32.wrapping_neg();

/// How often answers make a sender go back at once until a fragment is acknowledged; after that it
/// waits for its timer. A packet that no path carries is not repeated without end.
const RETURNS_AT_ONCE: u32 = 3;

/// The times of all connections of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) min_timeout: Duration,
    pub(super) max_timeout: Duration,
    pub(super) lost_after: Option<Duration>,
    pub(super) unheard_after: Duration,
}

impl Times {
    /// The time until fragments go again after `doublings` such times in vain.
    fn timeout(&self, doublings: u32) -> Duration {
        let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
        let timeout = self.min_timeout.saturating_mul(factor);
        timeout.min(self.max_timeout.max(self.min_timeout))
    }
}

/// What a peer's timer has found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expiry {
    /// Nothing was due.
    Early,
    /// Fragments are to be sent again.
    Repeat,
    /// The same, and the peer has never answered since this time.
    Unheard(Instant),
    /// The peer is lost.
    Lost,
}

/// One peer.
#[derive(Debug)]
pub(super) struct Peer {
    pub(super) ring: SendRing,
    /// The number of the fragment that is expected from it.
    pub(super) expected: u32,
    pub(super) is_lost: bool,
    /// It is in the list of peers with unacknowledged fragments.
    pub(super) is_waiting: bool,
    /// It is in the queue of peers with packets that are due.
    pub(super) is_queued: bool,
    /// When fragments go again; set while any is in transit or the transmission is stopped.
    timer: Option<Instant>,
    /// Timeouts since the last ACK.
    doublings: u32,
    /// Times that an answer made this process go back since the last ACK.
    returns: u32,
    /// When it last sent a packet, or when fragments began to wait for an answer.
    silent_since: Instant,
    /// A fragment was sent again in this silence.
    has_repeated: bool,
    /// When it got its first fragment, as long as it has never sent a packet.
    unheard_since: Option<Instant>,
    has_been_heard: bool,
}

impl Peer {
    pub(super) fn new() -> Self {
        Self {
            ring: SendRing::new(FIRST_NUMBER),
            expected: FIRST_NUMBER,
            is_lost: false,
            is_waiting: false,
            is_queued: false,
            timer: None,
            doublings: 0,
            returns: 0,
            silent_since: Instant::ZERO,
            has_repeated: false,
            unheard_since: None,
            has_been_heard: false,
        }
    }

    /// Notes that a fragment is to be stored.
    pub(super) fn begin(&mut self, now: Instant) {
        if self.ring.is_empty() {
            self.restart_silence(now);
        }
        if !self.has_been_heard && self.unheard_since.is_none() {
            self.unheard_since = Some(now);
        }
    }

    /// Notes that it has sent a packet.
    pub(super) fn hear(&mut self, now: Instant) {
        self.has_been_heard = true;
        self.unheard_since = None;
        self.restart_silence(now);
    }

    /// Lets the silence begin now.
    pub(super) fn restart_silence(&mut self, now: Instant) {
        self.silent_since = now;
        self.has_repeated = false;
    }

    /// Notes that a fragment was sent: for the first time, or again.
    pub(super) fn note_sent(&mut self, is_repetition: bool, now: Instant, times: &Times) {
        self.has_repeated |= is_repetition;
        let due = now.plus(times.timeout(self.doublings));
        self.timer.get_or_insert(due);
    }

    /// Releases the first fragment.
    pub(super) fn release(&mut self, now: Instant, times: &Times) {
        if !self.ring.release() {
            return;
        }
        self.doublings = 0;
        self.returns = 0;
        let due = now.plus(times.timeout(0));
        self.timer = (!self.ring.is_empty()).then_some(due);
    }

    /// Goes back to the first fragment because an answer, an ACK or a NACK, names a later one: the
    /// first one or its ACK is missing.
    pub(super) fn go_back(&mut self) {
        if self.returns < RETURNS_AT_ONCE && self.ring.go_back() {
            self.returns += 1;
            self.timer = None;
        }
    }

    /// Stops the transmission until the timer ends, because the peer has no buffer.
    pub(super) fn pause(&mut self, now: Instant, times: &Times) {
        self.ring.go_back();
        self.ring.stop();
        self.timer = Some(now.plus(times.timeout(self.doublings)));
    }

    /// When its timer ends.
    pub(super) fn timer(&self) -> Option<Instant> {
        self.timer
    }

    /// Looks at the timer. If it has ended, all fragments that were sent go again.
    pub(super) fn expire(&mut self, now: Instant, times: &Times) -> Expiry {
        if self.timer.is_none_or(|timer| timer > now) {
            return Expiry::Early;
        }
        let silence = now.since(self.silent_since);
        if self.has_repeated && times.lost_after.is_some_and(|most| silence >= most) {
            return Expiry::Lost;
        }
        self.timer = None;
        self.doublings = self.doublings.saturating_add(1);
        self.ring.go_back();
        self.ring.try_one();
        let is_overdue = |since: &Instant| now.since(*since) >= times.unheard_after;
        self.unheard_since
            .take_if(|since| is_overdue(since))
            .map_or(Expiry::Repeat, Expiry::Unheard)
    }

    /// Frees all that waits for it.
    pub(super) fn lose(&mut self) {
        self.is_lost = true;
        self.timer = None;
        self.ring.clear();
    }
}
