//! How much is taken in of what no receive is there for. Decision 0034.
//!
//! A rank that computes takes little in: it will come and receive, and until then its senders may
//! wait. A rank that waits in a call cannot receive before that call returns, and whom it waits for
//! may be one of its senders: after a while it takes in as much as its share of the memory allows,
//! and goes on so until little of that is left.

use std::time::Duration;

use super::envelope::Envelope;
use super::lane::{Inbound, Lane, Purpose};
use super::matching::{Body, UnexpectedMessage};
use super::protocol::{self, Unmatched};
use crate::config::Settings;
use crate::counters::Messages;
use crate::transport::{Landing, Transport};

/// A wait of this length may be one for ever: longer than a sender on a busy machine takes to send
/// what it was asked for, short enough to be lost once in each flood.
pub(super) const LONG_WAIT: Duration = Duration::from_millis(20);

/// What is taken in, and what is not.
#[derive(Debug, Default)]
pub(super) struct Taken {
    bytes: u64,
    /// Senders were told that there is little room left.
    is_full: bool,
    /// The larger budget counts.
    is_wide: bool,
    /// Something was left with its sender, since there was no room.
    has_refused: bool,
    /// The program's user was told that no budget suffices.
    is_told: bool,
}

impl Taken {
    #[inline]
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether somebody who waits for long should ask for more room.
    #[inline]
    pub(super) fn wants_room(&self) -> bool {
        self.has_refused && !(self.is_wide && self.is_told)
    }

    fn budget(&self, settings: &Settings) -> u64 {
        if self.is_wide {
            widest(settings)
        } else {
            settings.unexpected_budget_bytes
        }
    }

    fn room(&self, settings: &Settings) -> u64 {
        self.budget(settings).saturating_sub(self.bytes)
    }
}

/// The most that a rank takes in.
pub(super) fn widest(settings: &Settings) -> u64 {
    let Settings {
        unexpected_budget_bytes,
        waiting_budget_bytes,
        ..
    } = *settings;
    waiting_budget_bytes.max(unexpected_budget_bytes)
}

impl Lane {
    /// What happens to a message that no receive waits for.
    #[inline(always)]
    pub(super) fn unexpected(
        &mut self,
        inbound: Inbound,
        envelope: Envelope,
        len: u64,
    ) -> (Purpose, Landing) {
        let room = self.taken.room(&self.settings);
        let choice = protocol::unmatched(envelope.synchronous, len, room, &self.settings);
        let (body, landing) = match choice {
            Unmatched::TakeIn => {
                self.take_in(len);
                (Body::Coming(inbound), Landing::Bounce(len))
            }
            Unmatched::Wait => {
                self.note_refused(envelope.synchronous, len);
                (Body::Held(inbound), Landing::Later)
            }
        };
        let place = self.unexpected.push(UnexpectedMessage {
            envelope,
            len,
            body,
        });
        let Messages {
            unexpected,
            unexpected_peak,
            unexpected_peak_bytes,
            ..
        } = &mut self.counters;
        *unexpected += 1;
        *unexpected_peak = (*unexpected_peak).max(self.unexpected.len() as u64);
        *unexpected_peak_bytes = (*unexpected_peak_bytes).max(self.taken.bytes);
        (Purpose::Unexpected(place), landing)
    }

    #[cold]
    fn note_refused(&mut self, synchronous: bool, len: u64) {
        self.taken.has_refused |= protocol::is_buffered(synchronous, len, &self.settings);
    }

    /// The body of an unexpected message is kept here.
    #[inline]
    fn take_in(&mut self, len: u64) {
        self.taken.bytes += protocol::kept_unexpected(len);
        if self.taken.bytes > self.taken.budget(&self.settings) / 2 && !self.taken.is_full {
            self.keep_bodies_away(true);
        }
    }

    /// It is no more.
    #[inline]
    pub(super) fn let_go(&mut self, len: u64) {
        let taken = &mut self.taken;
        taken.bytes -= protocol::kept_unexpected(len);
        taken.is_wide &= taken.bytes > self.settings.unexpected_budget_bytes / 4;
        if taken.is_full && taken.bytes <= taken.budget(&self.settings) / 4 {
            self.keep_bodies_away(false);
        }
    }

    #[cold]
    fn keep_bodies_away(&mut self, away: bool) {
        self.taken.is_full = away;
        for link in &mut self.links {
            link.keep_bodies_away(away);
        }
    }

    /// Nothing has happened for `waited` in a call that waits, while something was not taken in.
    #[cold]
    #[inline(never)]
    pub(super) fn consider_more(&mut self, waited: Duration) {
        if waited >= LONG_WAIT {
            self.take_in_more();
        }
    }

    /// The program waits in a call, and has for long, while there is something that was not taken
    /// in: takes it in by the larger budget. If that is used up, its user is told, once.
    #[cold]
    pub(super) fn take_in_more(&mut self) {
        if self.taken.is_wide {
            if !core::mem::replace(&mut self.taken.is_told, true) {
                eprintln!("{}", self.no_room());
            }
            return;
        }
        self.taken.has_refused = false;
        let held = self.unexpected.held();
        for place in held {
            self.take_held(place);
        }
        if self.taken.is_full && self.taken.bytes <= self.taken.budget(&self.settings) / 2 {
            self.keep_bodies_away(false);
        }
    }

    /// Takes in the message at `place`, whose body is with its sender, if it may and there is room.
    fn take_held(&mut self, place: u32) {
        let message = self.unexpected.get_mut(place);
        let message = message.expect("a held message has its place");
        let (len, synchronous) = (message.len, message.envelope.synchronous);
        let Body::Held(inbound) = message.body else {
            return;
        };
        if !protocol::is_buffered(synchronous, len, &self.settings) {
            return;
        }
        self.taken.is_wide = true;
        if protocol::kept_unexpected(len) > self.taken.room(&self.settings) {
            self.taken.has_refused = true;
            return;
        }
        message.body = Body::Coming(inbound);
        self.take_in(len);
        self.land_held(inbound, Purpose::Unexpected(place), Landing::Bounce(len));
    }

    /// One line about a budget that is used up.
    fn no_room(&self) -> String {
        let rank = self.own_rank();
        let host = &self.hosts[rank];
        format!(
            "mpi-lite: rank {rank} on host {host}: waits in a call and takes in no more messages \
             that no receive is there for: they count {} bytes already; who sends more waits until \
             it receives, perhaps for ever (MPILITE_WAITING_BUDGET_BYTES={})",
            self.taken.bytes,
            widest(&self.settings),
        )
    }
}
