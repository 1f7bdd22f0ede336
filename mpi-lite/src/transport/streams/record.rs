//! What is written into a stream in front of each body.
//!
//! ```text
//!  0      1   4         8          12      16     24         40
//!  +------+---+---------+----------+-------+------+----------+
//!  | kind | 0 | its own | receiver | order | len  | envelope |   big endian
//!  +------+---+---------+----------+-------+------+----------+
//! ```
//!
//! | kind | meaning | its own | receiver | order | len | body |
//! |---|---|---|---|---|---|---|
//! | `Short` | a message with its body | name of the send [^1] | - | yes | of the body | yes |
//! | `Ask` | a long message, without its body | name of the send | - | yes | of the body | no |
//! | `Clear` | the body may come | name of the arrival | name of the send | - | - | no |
//! | `Long` | the body that was asked for | - | name of the arrival | - | of the body | yes |
//! | `Matched` | the message has found its receive | - | name of the send | - | - | no |
//! | `Hold` | from now on ask before each body | - | - | - | - | no |
//! | `Release` | short bodies may come again | - | - | - | - | no |
//!
//! [^1]: If it must be matched; else `NOBODY`.
//!
//! `order` numbers the messages to one receiver, over all streams to it. Source of the short and
//! the long protocol: the thesis, 2.2 (LAM's request progression interface over TCP).

use crate::transport::{ENVELOPE_BYTES, EnvelopeBytes};

/// Bytes of a header.
pub(crate) const HEADER_BYTES: usize = 24 + ENVELOPE_BYTES;

/// A name that stands for none.
pub(super) const NOBODY: u32 = u32::MAX;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RecordKind {
    Short,
    Ask,
    Clear,
    Long,
    Matched,
    Hold,
    Release,
}

const KINDS: [RecordKind; 7] = [
    RecordKind::Short,
    RecordKind::Ask,
    RecordKind::Clear,
    RecordKind::Long,
    RecordKind::Matched,
    RecordKind::Hold,
    RecordKind::Release,
];

/// The header of a record; see [the module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordHeader {
    pub(super) kind: RecordKind,
    pub(super) own: u32,
    pub(super) receiver: u32,
    pub(super) order: u32,
    pub(super) len: u64,
    pub(super) envelope: EnvelopeBytes,
}

impl RecordHeader {
    /// A record without a body.
    pub(super) fn bare(kind: RecordKind, own: u32, receiver: u32) -> Self {
        Self {
            kind,
            own,
            receiver,
            order: 0,
            len: 0,
            envelope: [0; ENVELOPE_BYTES],
        }
    }

    pub(super) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = self.kind as u8;
        bytes[4..8].copy_from_slice(&self.own.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.receiver.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.order.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.len.to_be_bytes());
        bytes[24..].copy_from_slice(&self.envelope);
        bytes
    }

    /// The header that `bytes` are; `None` if they are none.
    pub(super) fn decode(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let word = |at: usize| {
            u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let envelope = bytes.last_chunk::<ENVELOPE_BYTES>()?;
        Some(Self {
            kind: *KINDS.get(usize::from(bytes[0]))?,
            own: word(4),
            receiver: word(8),
            order: word(12),
            len: u64::from(word(16)) << 32 | u64::from(word(20)),
            envelope: *envelope,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        for (number, kind) in (0..).zip(KINDS) {
            assert_eq!(kind as u8, number);
            let header = RecordHeader {
                kind,
                own: 1,
                receiver: 0x0203_0405,
                order: u32::MAX,
                len: 0x0102_0304_0506_0708,
                envelope: [9; ENVELOPE_BYTES],
            };
            assert_eq!(RecordHeader::decode(&header.encode()), Some(header));
        }
    }

    #[test]
    fn an_unknown_kind_is_no_header() {
        let mut bytes = RecordHeader::bare(RecordKind::Hold, 0, 0).encode();
        bytes[0] = 7;
        assert_eq!(RecordHeader::decode(&bytes), None);
    }
}
