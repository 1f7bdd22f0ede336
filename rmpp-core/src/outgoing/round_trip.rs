//! Measuring the round trip of a path by its answers (rule T): RFC 6298, with Karn's algorithm.

use super::states::State;
use super::{Sender, ToPeer};
use crate::common::Common;
use crate::time::Instant;

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

impl<Out> Sender<Out> {
    /// An answer that names a message and echoes the attempt that it answers.
    pub(super) fn measure<In>(
        &mut self,
        common: &mut Common<Out, In>,
        index: u32,
        echo: u16,
        now: Instant,
    ) {
        let message = &self.queues.messages[index];
        let (to, sent_at) = (message.to, message.sent_at);
        if !message.opened {
            return;
        }
        let shape = message.shape(common.config().packet_bytes);
        // The end of a long message answers its last packet, if all was sent unscheduled.
        let is_sent = shape.is_short() || (message.attempt == 0 && message.next > shape.last_seq());
        let is_sure = match message.state {
            State::Pending => is_sent,
            State::Blocked | State::Closing => true,
            State::Granted => message.nak == 0 && message.tries == 0 && message.measure.is_timed,
            _ => return,
        };
        let timing = match message.state {
            _ if is_sure && message.attempt == echo && self.queues.is_after_repeats(index) => {
                Timing::Exactly(sent_at)
            }
            State::Pending => Timing::Between {
                first: message.measure.opened_at,
                last: sent_at,
            },
            _ => Timing::Perhaps(sent_at),
        };
        self.note_round_trip(common, to, timing, now);
    }

    /// A CTS of a message with selective NAK that expects packet `expected` next.
    pub(super) fn measure_block<In>(
        &mut self,
        common: &mut Common<Out, In>,
        index: u32,
        expected: u32,
        now: Instant,
    ) {
        let is_after_repeats = self.queues.is_after_repeats(index);
        let message = &mut self.queues.messages[index];
        let (to, sent_at) = (message.to, message.sent_at);
        let is_granted = message.state == State::Granted;
        let answers_last = is_granted && message.tries == 0 && expected == message.next;
        let timing =
            if answers_last && is_after_repeats && core::mem::take(&mut message.measure.is_timed) {
                Timing::Exactly(sent_at)
            } else if message.state == State::Pending {
                // It may answer any packet from the first one on.
                let first = message.measure.opened_at;
                let is_repeated = message.attempt > 0;
                let last = if is_repeated { sent_at } else { first };
                Timing::Between { first, last }
            } else if is_granted && expected == message.next {
                Timing::Perhaps(sent_at)
            } else if is_granted {
                Timing::Hardly(sent_at)
            } else {
                Timing::Unknown
            };
        self.note_round_trip(common, to, timing, now);
    }

    /// Takes a measured time into account. If several packets may have been answered the timeout
    /// stays doubled (RFC 6298, 5), unless the time since the last of them is that of a usual round
    /// trip. If no round trip was ever measured, or no wait is longer, the time since the first of
    /// them is the estimate.
    // Rule T.
    pub(super) fn note_round_trip<In>(
        &mut self,
        common: &mut Common<Out, In>,
        to: u32,
        timing: Timing,
        now: Instant,
    ) {
        if timing.begins_before(common.timeouts().awake_since) {
            return;
        }
        let path = &mut self.queues.to[to as usize];
        let is_known = path.round_trip.mean_ns().is_some();
        let taken_ns = |since: Instant| now.0.saturating_sub(since.0);
        let is_in_time = |ns: u64| common.timeouts().is_in_time(&path.round_trip, ns);
        let is_usual = |since| {
            let ns = taken_ns(since);
            is_known && is_in_time(ns) && ns >= path.round_trip.least_ns()
        };
        match timing {
            Timing::Exactly(sent_at) => {
                let ns = taken_ns(sent_at);
                // It was waited for longer than usual, and it took longer: the path has changed.
                if path.backoff > 0 && !is_in_time(ns) {
                    path.round_trip.begin(ns);
                } else {
                    path.round_trip.sample(ns);
                }
            }
            Timing::Between { last, .. } | Timing::Perhaps(last) | Timing::Hardly(last)
                if is_usual(last) => {}
            Timing::Between { first, last } => {
                if !self.note_unusual(common, to, (Some(first), last), now) {
                    return;
                }
            }
            Timing::Perhaps(last) => {
                if !self.note_unusual(common, to, (None, last), now) {
                    return;
                }
            }
            Timing::Unknown | Timing::Hardly(_) => return,
        }
        self.queues.to[to as usize].backoff = 0;
    }

    /// Handles an answer at an unusual time, to a packet sent between `first` (if known) and
    /// `last`. Returns true if the estimate begins anew.
    // Rule T.
    pub(super) fn note_unusual<In>(
        &mut self,
        common: &mut Common<Out, In>,
        to: u32,
        (first, last): (Option<Instant>, Instant),
        now: Instant,
    ) -> bool {
        let ToPeer {
            round_trip,
            backoff,
            ..
        } = &mut self.queues.to[to as usize];
        let taken_ns = |since: Instant| now.0.saturating_sub(since.0);
        // A long path answers so soon after a repetition only by chance, and not so often.
        if round_trip.is_early_again(taken_ns(last)) {
            round_trip.begin(taken_ns(last));
            return true;
        }
        let is_known = round_trip.mean_ns().is_some();
        // An answer within a timeout of the last packet is no sign of a longer path.
        let is_longer = common.timeouts().is_longest(round_trip, *backoff)
            && !common.timeouts().is_in_time(round_trip, taken_ns(last));
        match first {
            Some(first) if !is_known || is_longer => {
                round_trip.begin_at_most(taken_ns(first));
                true
            }
            _ => false,
        }
    }
}
