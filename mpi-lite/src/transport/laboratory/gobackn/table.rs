//! Table 1 of the paper: what a process does about a packet.

use super::packet::Kind;

/// Where a sequence number stands relative to the one that is expected. The paper's "<", "=", ">".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Before,
    Expected,
    Behind,
}

impl Order {
    /// The order of `number` relative to `expected`, on the circle of numbers.
    pub(super) fn of(number: u32, expected: u32) -> Self {
        match number.wrapping_sub(expected).cast_signed() {
            0 => Self::Expected,
            1.. => Self::Behind,
            _ => Self::Before,
        }
    }
}

/// What is done about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Store the fragment and send an ACK.
    Accept,
    /// Drop the fragment and send an ACK.
    Acknowledge,
    /// Drop the fragment and send a NACK.
    Refuse,
    /// Free the buffer of the fragment in the send ring.
    Release,
    /// Mark the first unacknowledged fragment and those behind it for retransmission.
    Retransmit,
    /// Do nothing.
    Ignore,
}

/// The action of Table 1 for a packet. `has_buffer`: a second buffer of the receive ring is free
/// (Figure 3). Row 8, CRC error, is in `handle`, because such a packet has no kind and no number.
pub(super) fn action(kind: Kind, order: Order, has_buffer: bool) -> Action {
    match (kind, order, has_buffer) {
        // Row 1, DATA "<": the ACK was lost.
        (Kind::Data, Order::Before, _) => Action::Acknowledge,
        // Row 2, DATA "=": check the buffer space, see Figure 3.
        (Kind::Data, Order::Expected, true) => Action::Accept,
        (Kind::Data, Order::Expected, false) => Action::Refuse,
        // Row 3, DATA ">": data was lost.
        (Kind::Data, Order::Behind, _) => Action::Refuse,
        // Row 4, ACK "<": the ACK comes twice.
        (Kind::Ack, Order::Before, _) => Action::Ignore,
        // Row 5, ACK "=": release the buffer.
        (Kind::Ack, Order::Expected, _) => Action::Release,
        // Row 6, ACK ">": an earlier ACK was lost. Ignored as an ACK; section 3.4 adds the mark.
        (Kind::Ack, Order::Behind, _) => Action::Retransmit,
        // Row 7, NACK: no check of the number.
        (Kind::Nack, _, _) => Action::Retransmit,
    }
}
