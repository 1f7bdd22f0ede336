//! The contents of slots.

use super::super::EnvelopeBytes;
use super::ring::SlotHeader;

/// Kinds of slots, with their words in order. The words of a body lie behind them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum SlotKind {
    /// A message that fits the slot: envelope (2 words), body.
    Short = 1,
    /// A message whose first piece is in the ring: envelope, length.
    Body = 2,
    /// The next piece of the last message.
    More = 3,
    /// A message that waits to be asked for: envelope, length, its sender's name for it with the
    /// transfer that both sides use, its address.
    Long = 4,
    /// Back to the sender: send this message through the ring. Its sender's name for it, the
    /// receiver's.
    Ask = 5,
    /// A piece of a message that was asked for: the receiver's name for it.
    Piece = 6,
    /// Back to the sender: the message has been copied. Its sender's name for it.
    Done = 7,
    /// A message that fits the slot, whose sender waits for its match: envelope, its sender's name
    /// for it, body.
    Registered = 8,
}

impl SlotKind {
    /// A slot of this kind with `bytes` bytes.
    #[inline]
    pub(super) fn header(self, bytes: usize) -> SlotHeader {
        SlotHeader::new(self as u8, bytes)
    }

    #[inline]
    pub(super) fn of(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Short,
            2 => Self::Body,
            3 => Self::More,
            4 => Self::Long,
            5 => Self::Ask,
            6 => Self::Piece,
            7 => Self::Done,
            8 => Self::Registered,
            _ => return None,
        })
    }
}

/// The address of a message that is not in one stretch: it must be asked for.
pub(super) const NOWHERE: u64 = 0;

/// No transfer: the sender has no part in the copy.
pub(super) const ALONE: u32 = u32::MAX;

/// An envelope as two words.
#[inline]
pub(super) fn words_of(envelope: &EnvelopeBytes) -> [u64; 2] {
    let (first, second) = envelope.split_at(8);
    [first, second].map(|half| u64::from_ne_bytes(half.try_into().expect("half of sixteen bytes")))
}

/// The envelope in two words.
#[inline]
pub(super) fn envelope_of(words: [u64; 2]) -> EnvelopeBytes {
    let mut envelope = EnvelopeBytes::default();
    for (half, word) in envelope.chunks_exact_mut(8).zip(words) {
        half.copy_from_slice(&word.to_ne_bytes());
    }
    envelope
}
