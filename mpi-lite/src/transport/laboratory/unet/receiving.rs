//! The receiver of a stream: what has come, and when it is acknowledged.

use std::time::Duration;

use super::packet::{Kind, Report, ahead};
use super::ring::Ring;
use super::sending::NEVER;
use crate::clock::Instant;

/// When packets are acknowledged alone.
#[derive(Clone, Copy, Debug)]
pub(super) struct Habit {
    /// Each packet is acknowledged at once.
    pub(super) is_eager: bool,
    /// How long an acknowledgement waits for a packet to ride on.
    pub(super) delay: Duration,
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reception {
    /// It is the next one, and it is kept.
    Kept,
    /// It was received before.
    Duplicate,
    /// One before it is missing.
    OutOfOrder,
    /// It is the next one, but there is no room: the sender has ignored its window.
    NoRoom,
}

/// The stream of packets from a peer.
pub(super) struct Receiver {
    fragments: Ring,
    /// The next packet to be received: the receive window is one packet.
    expected: u32,
    /// The next fragment to be taken.
    taken: u32,
    /// What was reported last.
    reported: Report,
    /// When the report that is owed goes alone. `NEVER`: none is owed, or it goes at once.
    report_at: Instant,
    /// A report goes at once.
    is_urgent: bool,
    /// The report is a duplicate acknowledgement.
    is_duplicate: bool,
    has_gap: bool,
}

impl Receiver {
    pub(super) fn new(window: u32, first: u32) -> Self {
        Self {
            fragments: Ring::new(window),
            expected: first,
            taken: first,
            reported: Report {
                received: first,
                taken: first,
                has_gap: false,
            },
            report_at: NEVER,
            is_urgent: false,
            is_duplicate: false,
            has_gap: false,
        }
    }

    /// The report to the sender.
    pub(super) fn report(&self) -> Report {
        Report {
            received: self.expected,
            taken: self.taken,
            has_gap: self.has_gap,
        }
    }

    /// Returns true if the sender needs a report.
    pub(super) fn owes(&self) -> bool {
        self.is_urgent || self.report_at != NEVER
    }

    /// Returns true if the report goes at once, alone if it must.
    pub(super) fn is_urgent(&self) -> bool {
        self.is_urgent
    }

    /// Returns true if the report is a duplicate acknowledgement.
    pub(super) fn is_duplicate(&self) -> bool {
        self.is_duplicate
    }

    /// Returns when `handle_timeout` must be called.
    pub(super) fn timeout_at(&self) -> Instant {
        self.report_at
    }

    /// Notes that the report is on its way.
    pub(super) fn note_reported(&mut self) {
        self.reported = self.report();
        self.report_at = NEVER;
        self.is_urgent = false;
        self.is_duplicate = false;
        self.has_gap = false;
    }

    /// Returns true if the peer may send this packet: data is in its window, or before it.
    pub(super) fn can_be(&self, kind: Kind) -> bool {
        let Kind::Data(number) = kind else {
            return true;
        };
        ahead(self.expected, number).is_none_or(|distance| distance < self.fragments.window())
    }

    /// Handles the packet `number`, which `can_be`.
    pub(super) fn handle(
        &mut self,
        number: u32,
        body: &[u8],
        now: Instant,
        habit: &Habit,
    ) -> Reception {
        let window = self.fragments.window();
        match ahead(self.expected, number) {
            None => self.repeat_report(false, Reception::Duplicate),
            Some(0) if self.expected.wrapping_sub(self.taken) == window => Reception::NoRoom,
            Some(0) => {
                let fragment = self.fragments.at(number);
                fragment.clear();
                fragment.extend_from_slice(body);
                self.expected = number.wrapping_add(1);
                self.has_gap = false;
                self.owe(now, habit);
                Reception::Kept
            }
            Some(_) => self.repeat_report(true, Reception::OutOfOrder),
        }
    }

    /// A duplicate acknowledgement goes at once.
    fn repeat_report(&mut self, has_gap: bool, reception: Reception) -> Reception {
        self.is_urgent = true;
        self.is_duplicate = true;
        self.has_gap |= has_gap;
        reception
    }

    /// A report is owed, and may wait for a packet to ride on.
    fn owe(&mut self, now: Instant, habit: &Habit) {
        if !self.owes() {
            self.report_at = now.plus(habit.delay);
        }
        if habit.delay.is_zero() {
            self.hurry();
        }
    }

    /// Takes the next fragment; there is one. The report goes at once if the sender could run out
    /// of its window: half of it is unreported.
    pub(super) fn take(&mut self, now: Instant, habit: &Habit) {
        self.taken = self.taken.wrapping_add(1);
        self.owe(now, habit);
        let unreported = self.taken.wrapping_sub(self.reported.taken);
        if habit.is_eager || unreported >= self.fragments.window() / 2 {
            self.hurry();
        }
    }

    /// The fragment that was taken last.
    pub(super) fn last_taken(&mut self) -> &[u8] {
        self.fragments.at(self.taken.wrapping_sub(1))
    }

    /// The report that is owed, if any, goes at once.
    pub(super) fn hurry(&mut self) {
        self.is_urgent |= self.owes();
        self.report_at = NEVER;
    }
}
