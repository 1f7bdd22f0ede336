//! Asking after the messages that a peer holds (rule H): an answer may have been lost.

use super::ToPeer;
use crate::time::Instant;
use crate::timers::Timeouts;

/// The least number of held messages that are asked after at once, if there are as many.
const AT_ONCE: usize = 16;
/// The greatest number of held messages that are asked after at once.
const AT_MOST: u16 = 1024;

/// How many held messages are asked after when another one was answered; and how many more for each
/// answer that is most likely the second one.
const SUSPECTS: u16 = 2;

impl ToPeer {
    /// A message has become held. If few are held, the pace of the questions begins anew. Returns
    /// when something is due.
    // Rule H.
    pub(super) fn ask_anew(&mut self, timeouts: &Timeouts, now: Instant) -> Instant {
        if self.held.len() == 1 {
            self.held_due = Instant::NEVER;
            self.suspects_due = Instant::NEVER;
            self.suspects = 0;
        }
        if self.held.len() > AT_ONCE {
            return Instant::NEVER;
        }
        self.held_backoff = 0;
        let due = now.plus_ns(timeouts.wait_ns(&self.round_trip, 0));
        self.held_due = self.held_due.min(due);
        due
    }

    /// A held message is answered: the receiver has started on its held messages. Answers to others
    /// may have been lost, more likely if this one `was_lost` before. Returns when something is
    /// due.
    // Rule H.
    pub(super) fn suspect(&mut self, timeouts: &Timeouts, was_lost: bool, now: Instant) -> Instant {
        self.suspects = if was_lost {
            (self.suspects + SUSPECTS).min(AT_MOST)
        } else {
            self.suspects.max(SUSPECTS)
        };
        let due = now.plus_ns(timeouts.wait_ns(&self.round_trip, 0));
        self.suspects_due = self.suspects_due.min(due);
        due
    }

    /// How many held messages are asked after now, in turn and more and more seldom.
    // Rule H.
    pub(super) fn held_turns(&mut self, timeouts: &Timeouts, now: Instant) -> usize {
        if self.held_due > now {
            return 0;
        }
        self.held_due = now.plus_ns(timeouts.wait_ns(&self.round_trip, self.held_backoff));
        self.held_backoff = self.held_backoff.saturating_add(1);
        (self.held.len() / 4).clamp(AT_ONCE, AT_MOST.into())
    }

    /// How many suspects are asked after now: held messages whose answers may be lost. Half as many
    /// follow the next time, because the questions may be lost too.
    // Rule H.
    pub(super) fn suspect_turns(&mut self, timeouts: &Timeouts, now: Instant) -> usize {
        if self.suspects_due > now {
            return 0;
        }
        let turns = self.suspects.into();
        self.suspects /= 2;
        self.suspects_due = match self.suspects {
            0 => Instant::NEVER,
            _ => now.plus_ns(timeouts.wait_ns(&self.round_trip, 0)),
        };
        turns
    }
}
