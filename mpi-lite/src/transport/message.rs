//! A message as links see it: an envelope, a body, and names for it.

use crate::data::Area;

/// Bytes of the engine's envelope in front of each message.
pub const ENVELOPE_BYTES: usize = 16;

/// The engine's envelope, opaque to transports but for [`Outbound::channel`].
pub type EnvelopeBytes = [u8; ENVELOPE_BYTES];

/// The engine's name for a send; comes back with [`Sink::sent`](super::Sink::sent).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(pub u32);

/// A link's name for an incoming message: a small index, free again once the message is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival(pub u32);

/// Why a message cannot be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is longer than the transport carries.
    TooLong {
        /// The greatest body, in bytes.
        limit: u64,
    },
    /// The peer is lost.
    Lost,
}

/// A message for [`Transport::send`](super::Transport::send).
#[derive(Clone, Debug)]
pub struct Outbound<'a> {
    /// The engine's envelope.
    pub envelope: &'a EnvelopeBytes,
    /// The body; stays untouched until `sent` or `lost`. It has gaps only if it is longer than
    /// [`Capabilities::packed_most`](super::Capabilities::packed_most).
    pub body: Area,
    /// The engine's name for the send.
    pub token: Token,
    /// A thread waits for `sent`: the receiver must acknowledge at once.
    pub is_awaited: bool,
    /// `sent` must follow only when the message has found its receive (synchronous mode).
    pub needs_match: bool,
}

impl Outbound<'_> {
    /// Equal for messages of the same tag, sender and context. A transport with several ordered
    /// channels to a peer sends such messages on the same one.
    ///
    /// The engine puts what such messages have in common into the first half of each of the two
    /// words of an envelope.
    #[must_use]
    pub fn channel(&self) -> u32 {
        let half = |at: usize| self.envelope[at..at + 4].try_into().map(u32::from_be_bytes);
        let [context, tag] = [0, 8].map(|at| half(at).expect("four bytes"));
        context.wrapping_mul(0x9e37_79b1).rotate_left(16) ^ tag
    }
}
