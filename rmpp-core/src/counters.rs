//! What an endpoint counts.

use crate::error::Dropped;
use crate::packet::Kind;

/// Counts since the endpoint was made. Nothing in here steers the protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets handed out by `poll_transmit`, by [`Kind::index`].
    pub sent: [u64; Kind::COUNT],
    /// Packets that passed rule S, by [`Kind::index`].
    pub received: [u64; Kind::COUNT],
    /// Packets dropped, in the order of [`Dropped::ALL`].
    pub dropped: [u64; Dropped::ALL.len()],
    /// First packets (and NULLs) sent again.
    pub first_repeated: u64,
    /// Long messages begun again at sequence number 1.
    pub restarts: u64,
    /// Answers given to repeated packets, with or without state.
    pub answered_again: u64,
    /// Answers given to old message numbers without state (rule A).
    pub answered_without_state: u64,
    /// Answers given up because too many were waiting.
    pub answers_lost: u64,
    /// Finished messages forgotten without a GCH.
    pub done_expired: u64,
    /// Times this node found that it had itself been asleep (rule T).
    pub own_pauses: u64,
}

impl Counters {
    /// How many packets were dropped for `reason`.
    #[must_use]
    pub fn dropped(&self, reason: Dropped) -> u64 {
        self.dropped[reason as usize]
    }

    /// How many packets of `kind` were sent.
    #[must_use]
    pub fn sent(&self, kind: Kind) -> u64 {
        self.sent[kind.index()]
    }

    /// How many packets of `kind` were received and passed rule S.
    #[must_use]
    pub fn received(&self, kind: Kind) -> u64 {
        self.received[kind.index()]
    }

    /// All packets sent.
    #[must_use]
    pub fn sent_total(&self) -> u64 {
        self.sent.iter().sum()
    }
}
