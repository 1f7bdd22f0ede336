//! How much a lane holds, and what was counted.

use super::Lane;
use crate::counters::{Messages, Rows};
use crate::engine::inbox::widest;
use crate::transport::Tallies;

/// How much a lane holds. All are zero once everything is received and completed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Requests that the program has not completed, and inactive persistent ones.
    pub requests: usize,
    /// Receives without a message.
    pub posted: usize,
    /// Messages without a receive.
    pub unexpected: usize,
    /// Messages taken by matched probes and not yet received.
    pub messages: usize,
    /// Messages announced and not yet complete.
    pub arriving: usize,
    /// Sends that the transport has not finished.
    pub sends: usize,
    /// Bytes of copies of these.
    pub kept_bytes: u64,
    /// Bytes of unexpected messages taken in.
    pub taken_in_bytes: u64,
    /// Bytes of the attached buffer in use.
    pub buffered_bytes: u64,
}

/// What a process has counted.
#[derive(Clone, Debug, Default)]
pub struct Counters {
    /// The engine's part.
    pub messages: Messages,
    /// The transports' part.
    pub transports: Tallies,
}

impl Counters {
    /// All counters, always as many and in the same order. `Counters::default()` has their names.
    #[must_use]
    pub fn rows(&self) -> Rows {
        let mut rows = self.messages.rows();
        rows.extend(self.transports.rows());
        rows
    }
}

impl Lane {
    /// Returns how much the lane holds.
    #[must_use]
    pub fn survey(&self) -> Survey {
        let (inbox, outbox) = (&self.parts.inbox, &self.parts.outbox);
        Survey {
            requests: self.parts.requests.len(),
            posted: inbox.posted().len(),
            unexpected: inbox.unexpected().len(),
            messages: inbox.set_apart_count(),
            arriving: inbox.arriving_count(),
            sends: outbox.len(),
            kept_bytes: outbox.kept_bytes(),
            taken_in_bytes: inbox.taken_in_bytes(),
            buffered_bytes: outbox.buffers().used(),
        }
    }

    /// Returns what was counted so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let mut messages = Messages {
            messages_received: self.parts.received,
            bytes_received: self.parts.bytes_received,
            refused_bodies: self.parts.ports.refused_bodies(),
            sleeps: self.waiters.sleeps(),
            ..Messages::default()
        };
        self.parts.inbox.count(&mut messages);
        self.parts.outbox.count(&mut messages);
        if messages.unexpected > 0 {
            messages.unexpected_room_bytes = widest(&self.parts.settings);
        }
        Counters {
            messages,
            transports: self.links.tallies(),
        }
    }
}
