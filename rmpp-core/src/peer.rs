//! The state of a peer: the paper's two integers, and beside them one fixed record.

use crate::list::List;
use crate::time::Instant;
use crate::timers::RoundTrip;

/// All that must outlive a message (paper §2.3, §3.8): two integers per node.
// Rule P13.
#[derive(Clone, Copy, Debug, Hash)]
pub(crate) struct Peer {
    /// `msgNum` of the next message to this node.
    pub(crate) next_out: u32,
    /// `msgNum` of the next message from this node.
    pub(crate) next_in: u32,
}

/// The path to a peer: measured round trip, silence, acknowledgements, and the heads of the queues
/// of live messages. Of fixed size. Between messages the queues are empty, and what remains is
/// worth time only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// Messages whose first packet may not yet be sent: the first-packet window is full.
    pub(crate) waiting: List,
    /// `send_pending` (paper §3.4): first packet not yet answered, in order of `msgNum`.
    pub(crate) pending: List,
    /// The messages of `send_pending` that the peer holds (rule H).
    pub(crate) held: List,
    /// When held messages are asked after again.
    pub(crate) held_due: Instant,
    /// When `suspects` are asked after: their answers may have been lost. `NEVER`: there are none.
    pub(crate) suspects_due: Instant,
    /// Bytes under way before their first packet is acknowledged (rule M).
    pub(crate) pending_bytes: u64,
    /// Bytes sent since the peer was last asked for an acknowledgement.
    pub(crate) unasked_bytes: u64,
    /// Since when nothing that asks for an answer has got any; `NEVER`: nothing is open.
    pub(crate) silent_since: Instant,
    /// When the last packet of the peer came; `ZERO`: none has come.
    pub(crate) heard_at: Instant,
    /// When a first packet was repeated last. An earlier packet measures no round trip: its
    /// acknowledgement may have waited for the repeated one.
    pub(crate) repeated_at: Instant,
    /// The estimate of the round trip (rule T).
    pub(crate) round_trip: RoundTrip,
    /// Messages sent since then.
    pub(crate) unasked: u16,
    /// All messages to the peer with numbers before this are accepted (rule K).
    pub(crate) acked: u32,
    /// The latest message for which a CTS came, or the acknowledged number if that is later. All
    /// messages before it have been announced (rule R).
    pub(crate) answered: u32,
    /// How often the timeout has been doubled.
    pub(crate) backoff: u8,
    /// How often the wait before the next question about held messages has been doubled.
    pub(crate) held_backoff: u8,
    /// How many held messages are asked after out of turn, because others were answered.
    pub(crate) suspects: u16,
    /// Declared lost (rule T).
    pub(crate) lost: bool,
}

impl Path {
    pub(crate) const NEW: Self = Self {
        waiting: List::EMPTY,
        pending: List::EMPTY,
        held: List::EMPTY,
        held_due: Instant::NEVER,
        suspects_due: Instant::NEVER,
        pending_bytes: 0,
        unasked_bytes: 0,
        silent_since: Instant::NEVER,
        heard_at: Instant::ZERO,
        repeated_at: Instant::ZERO,
        round_trip: RoundTrip::UNKNOWN,
        unasked: 0,
        acked: 0,
        answered: 0,
        backoff: 0,
        held_backoff: 0,
        suspects: 0,
        lost: false,
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::incoming::FromPeer;

    #[test]
    fn rule_p13_two_integers_per_peer() {
        assert_eq!(size_of::<Peer>(), 2 * size_of::<u32>());
    }

    #[test]
    fn rule_p13_the_records_beside_them_are_fixed_and_small() {
        let bytes = size_of::<Path>() + size_of::<FromPeer>();
        assert!(bytes <= 176, "{bytes}");
    }
}
