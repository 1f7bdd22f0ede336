//! Errors of calls, and the reasons why a packet is dropped.

use crate::ids::NodeId;

/// Why [`send`](crate::Endpoint::send) refuses a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The paper's header counts lengths in 32 bits.
    #[error("a message of {len} bytes is too long for the profile (classic: 4294967295 at most)")]
    TooLong {
        /// Length asked for, in bytes.
        len: u64,
    },
    /// No node has this number.
    #[error("{to} does not exist: the system has {nodes} nodes")]
    NoSuchNode {
        /// Destination asked for.
        to: NodeId,
        /// Number of nodes in the system.
        nodes: u32,
    },
    /// A node does not send to itself.
    #[error("{to} is this node itself")]
    ToSelf {
        /// Destination asked for.
        to: NodeId,
    },
    /// The peer was declared lost.
    #[error("{to} is lost: it has given no answer for too long")]
    PeerLost {
        /// Destination asked for.
        to: NodeId,
    },
}

/// What has become of a packet.
pub(crate) type Heard<T = ()> = Result<T, Dropped>;

/// Why a packet was dropped. Nothing else happened, except that it was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[repr(u8)]
pub enum Dropped {
    /// Shorter than a header.
    #[error("shorter than a header")]
    TooShort,
    /// Another version of the protocol.
    #[error("another version of the protocol")]
    Version,
    /// Source node out of range, ourselves, or not the one the address belongs to.
    #[error("source does not fit the address")]
    Source,
    /// No such packet type.
    #[error("unknown packet type")]
    Kind,
    /// Fields contradict each other or the payload's length.
    #[error("fields contradict each other")]
    Fields,
    /// The sender has been declared lost.
    #[error("sender has been declared lost")]
    PeerLost,
    /// A first packet whose number is not yet due.
    #[error("message number not yet due")]
    OutOfOrder,
    /// Data that is not next in sequence.
    #[error("data out of sequence")]
    OutOfSequence,
    /// Data of an attempt given up.
    #[error("data of an earlier attempt")]
    OldAttempt,
    /// Data beyond what was granted.
    #[error("data beyond the grant")]
    BeyondGrant,
    /// Contradicts what is known of its message.
    #[error("contradicts what is known of its message")]
    Mismatch,
    /// The state machine has no use for it.
    #[error("unexpected in this state")]
    Unexpected,
}

impl Dropped {
    /// How many there are.
    pub const COUNT: usize = Self::ALL.len();

    /// All reasons, in the order of [`Counters::dropped`](crate::Counters::dropped).
    pub const ALL: [Self; 12] = [
        Self::TooShort,
        Self::Version,
        Self::Source,
        Self::Kind,
        Self::Fields,
        Self::PeerLost,
        Self::OutOfOrder,
        Self::OutOfSequence,
        Self::OldAttempt,
        Self::BeyondGrant,
        Self::Mismatch,
        Self::Unexpected,
    ];

    /// The reason in one word, for tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::TooShort => "too_short",
            Self::Version => "version",
            Self::Source => "source",
            Self::Kind => "kind",
            Self::Fields => "fields",
            Self::PeerLost => "peer_lost",
            Self::OutOfOrder => "out_of_order",
            Self::OutOfSequence => "out_of_sequence",
            Self::OldAttempt => "old_attempt",
            Self::BeyondGrant => "beyond_grant",
            Self::Mismatch => "mismatch",
            Self::Unexpected => "unexpected",
        }
    }
}
