//! How long a peer has not answered.

use std::time::Duration;

use crate::clock::Instant;

/// The silence of a peer while something that was sent to it is unacknowledged.
///
/// A timer may be called late: this process was suspended, or it computed. The delay does not count
/// as silence of the peer.
#[derive(Default)]
pub(super) struct Silence {
    /// When the last packet came, or when the first one went out that is unacknowledged.
    since: Instant,
    /// How often something was repeated since.
    repeats: u32,
    /// When something was sent to the peer for the first time.
    first_sent: Option<Instant>,
    is_broken: bool,
    is_reported: bool,
}

impl Silence {
    /// Notes that something goes out, and that nothing was unacknowledged before.
    pub(super) fn begin(&mut self, now: Instant) {
        self.since = now;
        self.repeats = 0;
        self.first_sent.get_or_insert(now);
    }

    /// Notes that a packet of the peer has come.
    pub(super) fn end(&mut self, now: Instant) {
        self.since = now;
        self.repeats = 0;
        self.is_broken = true;
    }

    /// Notes that a timer was called so much too late.
    pub(super) fn excuse(&mut self, delay: Duration) {
        self.since = self.since.plus(delay);
    }

    /// Notes that something is repeated.
    pub(super) fn note_repeat(&mut self) {
        self.repeats += 1;
    }

    /// How often something was repeated and not answered.
    pub(super) fn repeats(&self) -> u32 {
        self.repeats
    }

    /// Returns true if the peer has not answered for so long. It had one more chance: something
    /// was repeated.
    pub(super) fn has_lasted(&self, span: Duration, now: Instant) -> bool {
        self.repeats > 0 && now.since(self.since) >= span
    }

    /// Returns when something was sent to the peer for the first time, if it has never answered
    /// for so long. Returns it once.
    pub(super) fn report_unheard(&mut self, span: Duration, now: Instant) -> Option<Instant> {
        let is_due = !self.is_broken && !self.is_reported && now.since(self.since) >= span;
        self.is_reported |= is_due;
        self.first_sent.filter(|_| is_due)
    }
}
