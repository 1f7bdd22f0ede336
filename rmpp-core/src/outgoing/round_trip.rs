//! Measuring the round trip of a path by its answers (rule T): RFC 6298, with Karn's algorithm.

use super::states::State;
use super::{Outgoing, ToPeer};
use crate::config::Config;
use crate::time::Instant;
use crate::timers::Timeouts;

/// The time that an answer measures.
#[derive(Clone, Copy, Debug)]
pub(super) enum Timing {
    /// Nothing.
    Unknown,
    /// It answers the packet that went out then, and no other.
    Exactly(Instant),
    /// It answers one of the packets that went out from `first` to `last` (Karn's algorithm), or
    /// the layer above may have let it wait.
    Between { first: Instant, last: Instant },
    /// It may answer the packet that went out then.
    Perhaps(Instant),
    /// It may, but answers to earlier packets are still to come: most likely it is one of them.
    Hardly(Instant),
}

impl Timing {
    /// Returns true if it counts time from before `instant`.
    fn begins_before(self, instant: Instant) -> bool {
        match self {
            Self::Unknown => false,
            Self::Exactly(since)
            | Self::Perhaps(since)
            | Self::Hardly(since)
            | Self::Between { first: since, .. } => since < instant,
        }
    }
}

impl<Out> Outgoing<Out> {
    /// What the cumulative acknowledgement measures.
    #[inline]
    pub(super) fn timing_of_ack(&self, path: &ToPeer) -> Timing {
        if !self.opened {
            Timing::Unknown
        } else if self.attempt == 0 && path.is_after_repeats(self) {
            Timing::Exactly(self.sent_at)
        } else {
            self.since_opened()
        }
    }

    fn since_opened(&self) -> Timing {
        let (first, last) = (self.measure.opened_at, self.sent_at);
        Timing::Between { first, last }
    }

    /// What an answer measures that names the message and echoes the attempt that it answers.
    pub(super) fn timing_of_answer(&self, path: &ToPeer, echo: u16, config: &Config) -> Timing {
        let shape = self.shape(config);
        // The end of a long message answers its last packet, if all was sent unscheduled.
        let is_sent = shape.is_short() || (self.attempt == 0 && self.next > shape.last_seq());
        let is_sure = match self.state {
            _ if !self.opened => return Timing::Unknown,
            State::Pending => is_sent,
            State::Blocked | State::Closing => true,
            State::Granted => self.nak == 0 && self.tries == 0 && self.measure.is_timed,
            _ => return Timing::Unknown,
        };
        match self.state {
            _ if is_sure && self.attempt == echo && path.is_after_repeats(self) => {
                Timing::Exactly(self.sent_at)
            }
            State::Pending => self.since_opened(),
            _ => Timing::Perhaps(self.sent_at),
        }
    }

    /// What a CTS with selective NAK measures that expects packet `expected` next.
    pub(super) fn timing_of_block(&mut self, path: &ToPeer, expected: u32) -> Timing {
        let is_granted = self.state == State::Granted;
        let answers_last = is_granted && self.tries == 0 && expected == self.next;
        if answers_last
            && path.is_after_repeats(self)
            && core::mem::take(&mut self.measure.is_timed)
        {
            Timing::Exactly(self.sent_at)
        } else if self.state == State::Pending {
            // It may answer any packet from the first one on.
            let first = self.measure.opened_at;
            let last = if self.attempt > 0 {
                self.sent_at
            } else {
                first
            };
            Timing::Between { first, last }
        } else if is_granted && expected == self.next {
            Timing::Perhaps(self.sent_at)
        } else if is_granted {
            Timing::Hardly(self.sent_at)
        } else {
            Timing::Unknown
        }
    }
}

impl ToPeer {
    /// Returns true if a message went out after the last repetition of a first packet to its node.
    /// The answer to an earlier message may have waited for that repetition.
    pub(super) fn is_after_repeats<Out>(&self, message: &Outgoing<Out>) -> bool {
        message.sent_at >= self.repeated_at
    }

    /// Takes a measured time into account. If several packets may have been answered the timeout
    /// stays doubled (RFC 6298, 5), unless the time since the last of them is that of a usual round
    /// trip. If no round trip was ever measured, or no wait is longer, the time since the first of
    /// them is the estimate.
    // Rule T.
    pub(super) fn note_round_trip(&mut self, timeouts: &Timeouts, timing: Timing, now: Instant) {
        if timing.begins_before(timeouts.awake_since()) {
            return;
        }
        let is_known = self.round_trip.mean_ns().is_some();
        let taken_ns = |since: Instant| now.0.saturating_sub(since.0);
        let is_in_time = |ns: u64| timeouts.is_in_time(&self.round_trip, ns);
        let is_usual = |since| {
            let ns = taken_ns(since);
            is_known && is_in_time(ns) && ns >= self.round_trip.least_ns()
        };
        let is_taken = match timing {
            Timing::Exactly(sent_at) => {
                let ns = taken_ns(sent_at);
                // It was waited for longer than usual, and it took longer: the path has changed.
                if self.backoff > 0 && !is_in_time(ns) {
                    self.round_trip.begin(ns);
                } else {
                    self.round_trip.sample(ns);
                }
                true
            }
            Timing::Between { last, .. } | Timing::Perhaps(last) | Timing::Hardly(last)
                if is_usual(last) =>
            {
                true
            }
            Timing::Between { first, last } => {
                self.note_unusual(timeouts, Some(taken_ns(first)), taken_ns(last))
            }
            Timing::Perhaps(last) => self.note_unusual(timeouts, None, taken_ns(last)),
            Timing::Unknown | Timing::Hardly(_) => false,
        };
        if is_taken {
            self.backoff = 0;
        }
    }

    /// Handles an answer at an unusual time: so long after the first packet that it may answer (if
    /// that is known), and after the last one. Returns true if the estimate begins anew.
    // Rule T.
    fn note_unusual(&mut self, timeouts: &Timeouts, first_ns: Option<u64>, last_ns: u64) -> bool {
        let round_trip = &mut self.round_trip;
        // A long path answers so soon after a repetition only by chance, and not so often.
        if round_trip.is_early_again(last_ns) {
            round_trip.begin(last_ns);
            return true;
        }
        let is_known = round_trip.mean_ns().is_some();
        // An answer within a timeout of the last packet is no sign of a longer path.
        let is_longer = timeouts.is_longest(round_trip, self.backoff)
            && !timeouts.is_in_time(round_trip, last_ns);
        match first_ns {
            Some(first_ns) if !is_known || is_longer => {
                round_trip.begin_at_most(first_ns);
                true
            }
            _ => false,
        }
    }
}
