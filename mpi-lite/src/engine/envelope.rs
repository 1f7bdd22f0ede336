//! What the engine writes in front of each message.
//!
//! ```text
//!  0       4        8     12      16
//!  +-------+--------+-----+-------+
//!  |context| source | tag | flags |   big endian
//!  +-------+--------+-----+-------+
//! ```
//! Source: MPI 5.0, 3.2.3. The destination is where it arrives; the source is the sender's rank
//! in the communicator of the context.

use crate::ids::Context;
use crate::transport::EnvelopeBytes;

/// The sender waits for a matching receive (synchronous mode).
const SYNCHRONOUS: u32 = 1;

/// The part of a message that matching looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// The communicator, and which side of it.
    pub context: Context,
    /// The sender's rank in the communicator.
    pub source: u32,
    /// The tag, 0 or more.
    pub tag: i32,
    /// Whether the send is synchronous.
    pub synchronous: bool,
}

impl Envelope {
    #[inline]
    pub(crate) fn encode(&self) -> EnvelopeBytes {
        let flags = if self.synchronous { SYNCHRONOUS } else { 0 };
        let words = [self.context.0, self.source, self.tag.cast_unsigned(), flags];
        let mut bytes = EnvelopeBytes::default();
        for (field, word) in bytes.chunks_exact_mut(4).zip(words) {
            field.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }

    #[inline]
    pub(crate) fn decode(bytes: &EnvelopeBytes) -> Self {
        let word = |at: usize| {
            u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes of sixteen"))
        };
        Self {
            context: Context(word(0)),
            source: word(4),
            tag: word(8).cast_signed(),
            synchronous: word(12) & SYNCHRONOUS != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_survives_the_way() {
        for synchronous in [false, true] {
            let envelope = Envelope {
                context: Context(0x0102_0304),
                source: 7,
                tag: i32::MAX,
                synchronous,
            };
            assert_eq!(Envelope::decode(&envelope.encode()), envelope);
        }
    }
}
