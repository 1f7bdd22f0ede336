//! How many bytes of unexpected messages a rank has taken in, and how many it may. Decision 0034.
//!
//! A rank that computes takes in little: it will receive later, and until then its senders may
//! wait. A rank that waits in a call cannot receive before that call returns, and the rank that it
//! waits for may be one of its senders. So after a while it takes in as much as its share of the
//! memory allows, until little of that is left.

use std::sync::Arc;
use std::time::Duration;

use crate::config::Settings;
use crate::engine::protocol::{self, Unmatched};

/// A wait of this length may last for ever. It is longer than a sender on a busy machine takes to
/// send a requested body, and short enough to be lost once in each flood.
pub(in crate::engine) const LONG_WAIT: Duration = Duration::from_millis(20);

/// The unexpected messages that are taken in, and how much room is left.
#[derive(Debug)]
pub(super) struct Budget {
    settings: Arc<Settings>,
    bytes: u64,
    peak_bytes: u64,
    /// The senders must keep their bodies: there is little room left.
    is_full: bool,
    /// What the links were told of that last.
    was_full: bool,
    /// The larger budget counts.
    is_wide: bool,
    /// Something was left with its sender, since there was no room.
    has_refused: bool,
    /// The warning that no budget suffices was asked for.
    has_warned: bool,
}

impl Budget {
    pub(super) fn new(settings: Arc<Settings>) -> Self {
        Self {
            settings,
            bytes: 0,
            peak_bytes: 0,
            is_full: false,
            was_full: false,
            is_wide: false,
            has_refused: false,
            has_warned: false,
        }
    }

    /// Bytes that are taken in.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The most bytes that were ever taken in.
    pub(super) fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }

    /// Returns true if a thread that waits for long should ask for more room.
    #[inline]
    pub(super) fn wants_room(&self) -> bool {
        self.has_refused && !(self.is_wide && self.has_warned)
    }

    /// Returns true if back pressure is to begin or to end.
    #[inline]
    pub(super) fn has_turned(&self) -> bool {
        self.is_full != self.was_full
    }

    /// Returns true if back pressure is over that the links still know.
    pub(super) fn has_room_again(&self) -> bool {
        self.was_full && !self.is_full
    }

    /// Returns the back pressure that is to be set, if it has changed since the last call.
    pub(super) fn turn(&mut self) -> Option<bool> {
        let has_turned = self.has_turned();
        self.was_full = self.is_full;
        has_turned.then_some(self.is_full)
    }

    fn most(&self) -> u64 {
        if self.is_wide {
            widest(&self.settings)
        } else {
            self.settings.unexpected_budget_bytes
        }
    }

    fn room(&self) -> u64 {
        self.most().saturating_sub(self.bytes)
    }

    /// Returns what happens to the body of an unexpected message of `len` bytes. Counts it if it is
    /// taken in.
    #[inline]
    pub(super) fn admit(&mut self, is_synchronous: bool, len: u64) -> Unmatched {
        let choice = protocol::unmatched(is_synchronous, len, self.room(), &self.settings);
        match choice {
            Unmatched::TakeIn => self.take_in(len),
            Unmatched::Wait => self.note_refused(is_synchronous, len),
        }
        choice
    }

    #[cold]
    fn note_refused(&mut self, is_synchronous: bool, len: u64) {
        self.has_refused |= protocol::is_buffered(is_synchronous, len, &self.settings);
    }

    #[inline]
    fn take_in(&mut self, len: u64) {
        self.bytes += protocol::kept_unexpected(len);
        self.peak_bytes = self.peak_bytes.max(self.bytes);
        self.is_full |= self.bytes > self.most() / 2;
    }

    /// Counts the body of an unexpected message that is gone.
    #[inline]
    pub(super) fn let_go(&mut self, len: u64) {
        self.bytes -= protocol::kept_unexpected(len);
        self.is_wide &= self.bytes > self.settings.unexpected_budget_bytes / 4;
        if self.is_full && self.bytes <= self.most() / 4 {
            self.is_full = false;
        }
    }

    /// A thread has waited for long: the larger budget may count. Returns false if it counts
    /// already.
    pub(super) fn begin_widening(&mut self) -> bool {
        self.has_refused &= self.is_wide;
        !self.is_wide
    }

    /// Returns true, once, if the user must be warned that the larger budget is used up.
    pub(super) fn must_warn(&mut self) -> bool {
        !core::mem::replace(&mut self.has_warned, true)
    }

    /// Admits a message that was left with its sender, by the larger budget. Counts it then.
    pub(super) fn admit_held(&mut self, is_synchronous: bool, len: u64) -> bool {
        if !protocol::is_buffered(is_synchronous, len, &self.settings) {
            return false;
        }
        self.is_wide = true;
        let fits = protocol::kept_unexpected(len) <= self.room();
        if fits {
            self.take_in(len);
        } else {
            self.has_refused = true;
        }
        fits
    }

    /// Ends back pressure if there is room again by the larger budget.
    pub(super) fn end_widening(&mut self) {
        self.is_full &= self.bytes > self.most() / 2;
    }
}

/// Returns the largest budget of a rank, in bytes.
pub(in crate::engine) fn widest(settings: &Settings) -> u64 {
    let Settings {
        unexpected_budget_bytes,
        waiting_budget_bytes,
        ..
    } = *settings;
    waiting_budget_bytes.max(unexpected_budget_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: u64 = 1000;

    fn budget(messages: u64) -> Budget {
        let each = protocol::kept_unexpected(LEN);
        Budget::new(Arc::new(Settings {
            unexpected_budget_bytes: messages * each,
            waiting_budget_bytes: 4 * messages * each,
            ..Settings::default()
        }))
    }

    #[test]
    fn back_pressure_begins_at_half_of_the_budget_and_ends_at_a_quarter() {
        let mut budget = budget(8);
        for taken in 1..=8 {
            assert_eq!(budget.admit(false, LEN), Unmatched::TakeIn);
            assert_eq!(budget.turn(), (taken == 5).then_some(true), "{taken}");
        }
        assert_eq!(budget.admit(false, LEN), Unmatched::Wait);
        assert!(budget.wants_room());
        for left in (0..8).rev() {
            budget.let_go(LEN);
            assert_eq!(budget.turn(), (left == 2).then_some(false), "{left}");
        }
        assert_eq!(budget.bytes(), 0);
    }

    #[test]
    fn a_rank_that_waits_for_long_takes_in_by_the_larger_budget_and_then_warns_once() {
        let mut budget = budget(2);
        for _ in 0..2 {
            budget.admit(false, LEN);
        }
        assert_eq!(budget.admit(false, LEN), Unmatched::Wait);
        assert!(budget.begin_widening());
        for _ in 2..8 {
            assert!(budget.admit_held(false, LEN));
        }
        assert!(!budget.admit_held(false, LEN), "the larger one is used up");
        assert!(!budget.begin_widening(), "it counts already");
        assert!(budget.wants_room() && budget.must_warn());
        assert!(!budget.wants_room() && !budget.must_warn());
    }

    #[test]
    fn a_synchronous_message_stays_with_its_sender_and_asks_for_no_room() {
        let mut budget = budget(2);
        assert_eq!(budget.admit(true, LEN), Unmatched::Wait);
        assert!(!budget.wants_room());
    }
}
