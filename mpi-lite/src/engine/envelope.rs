//! What the engine writes in front of each message.
//!
//! ```text
//!  0       4        8     12      16
//!  +-------+--------+-----+-------+
//!  |context| source | tag | flags |   big endian
//!  +-------+--------+-----+-------+
//! ```
//! Source: MPI 5.0, 3.2.3. The destination is where it arrives; the source is the sender's rank
//! in the communicator of the context. The flags are a bit for the mode and, in the upper three
//! bytes, a number by which the sender can ask for the message again (`withdraw`).

use crate::ids::Context;
use crate::transport::EnvelopeBytes;

/// The sender waits for a matching receive (synchronous mode).
const SYNCHRONOUS: u32 = 1;

/// Bits behind the number.
const SERIAL_SHIFT: u32 = 8;

/// The part of a message that matching looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The communicator, and which side of it.
    pub context: Context,
    /// The sender's rank in the communicator. In a context of nonblocking collectives the upper
    /// byte is the number of the collective.
    pub source: u32,
    /// The tag, 0 or more.
    pub tag: i32,
    /// The mode, and the number of the message.
    pub flags: Flags,
}

/// How a message was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u32);

impl Flags {
    /// The flags of a send.
    #[inline]
    #[must_use]
    pub const fn new(is_synchronous: bool) -> Self {
        Self(if is_synchronous { SYNCHRONOUS } else { 0 })
    }

    /// These flags with the sender's number of a message that can still be taken back: 24 bits,
    /// zero if it cannot.
    #[inline]
    #[must_use]
    pub const fn with_serial(self, serial: u32) -> Self {
        Self(self.0 | serial << SERIAL_SHIFT)
    }

    /// Returns true if the send is synchronous.
    #[inline]
    #[must_use]
    pub const fn is_synchronous(self) -> bool {
        self.0 & SYNCHRONOUS != 0
    }
}

/// Ranks are below 2^24.
pub const RANK_BITS: u32 = 24;

impl Envelope {
    /// The sender's rank in the communicator.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.source & ((1 << RANK_BITS) - 1)
    }

    #[inline]
    pub(crate) fn encode(&self) -> EnvelopeBytes {
        // Written in halves, since the transports read halves: a read of a whole that was just
        // written in parts waits until all earlier writes have left the processor. Context and tag
        // are the upper parts: see `Outbound::channel`.
        let halves = [
            (self.context.0, self.source),
            (self.tag.cast_unsigned(), self.flags.0),
        ];
        let mut bytes = EnvelopeBytes::default();
        for (half, (high, low)) in bytes.chunks_exact_mut(8).zip(halves) {
            let word = u64::from(high) << 32 | u64::from(low);
            half.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }

    #[inline]
    pub(crate) fn decode(bytes: &EnvelopeBytes) -> Self {
        let half = |at: usize| {
            u64::from_be_bytes(bytes[at..at + 8].try_into().expect("half of sixteen bytes"))
        };
        let (high, low) = (|word: u64| (word >> 32) as u32, |word: u64| word as u32);
        let (first, second) = (half(0), half(8));
        Self {
            context: Context(high(first)),
            source: low(first),
            tag: high(second).cast_signed(),
            flags: Flags(low(second)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Area;
    use crate::transport::{Outbound, Token};

    #[test]
    fn an_envelope_survives_the_way() {
        for synchronous in [false, true] {
            let envelope = Envelope {
                context: Context(0x0102_0304),
                source: 7,
                tag: i32::MAX,
                flags: Flags::new(synchronous).with_serial(0x01_fe03),
            };
            assert_eq!(Envelope::decode(&envelope.encode()), envelope);
        }
    }

    #[test]
    fn messages_of_a_tag_and_a_context_share_a_channel() {
        let channel = |context, tag, serial| {
            let flags = Flags::new(serial % 2 == 0).with_serial(serial);
            let context = Context(context);
            let envelope = Envelope {
                context,
                source: 7,
                tag,
                flags,
            }
            .encode();
            let (body, token) = (Area::EMPTY, Token(serial));
            Outbound {
                envelope: &envelope,
                body,
                token,
                is_awaited: false,
                needs_match: false,
            }
            .channel()
        };
        assert_eq!(channel(3, 5, 1), channel(3, 5, 2));
        assert_ne!(channel(3, 5, 1), channel(3, 6, 1));
        assert_ne!(channel(3, 5, 1), channel(4, 5, 1));
    }
}
