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
const SYNCHRONOUS: u8 = 1;

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
    /// The sender's number of a message that can still be taken back; zeros where it cannot.
    pub serial: [u8; 3],
}

impl Envelope {
    #[inline]
    pub(crate) fn encode(&self) -> EnvelopeBytes {
        let [high, middle, low] = self.serial;
        let mode = if self.synchronous { SYNCHRONOUS } else { 0 };
        let flags = u32::from_be_bytes([high, middle, low, mode]);
        // In halves, as the transports read it: a processor that reads as a whole what it has just
        // written in parts waits until all that it wrote before has left it, even far away.
        let halves = [
            (self.context.0, self.source),
            (self.tag.cast_unsigned(), flags),
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
        let [one, two, three, mode] = low(second).to_be_bytes();
        Self {
            context: Context(high(first)),
            source: low(first),
            tag: high(second).cast_signed(),
            synchronous: mode & SYNCHRONOUS != 0,
            serial: [one, two, three],
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
                serial: [1, 0xfe, 3],
            };
            assert_eq!(Envelope::decode(&envelope.encode()), envelope);
        }
    }
}
