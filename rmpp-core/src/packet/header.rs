//! The 28-byte header (paper, Figure 1), big endian:
//!
//! ```text
//!            31            16 15             0
//!  bytes 0-3 |     type      |    version    |
//!        4-7 |            srcNID             |   the node that sends the *message*
//!       8-11 |             msgID             |   counts the messages of that node
//!      12-15 |              len              |   bytes of the whole message
//!      16-19 |              seq              |   number of a data packet, from 1
//!      20-23 |     info2     |     info1     |   attempt; size of the grant
//!      24-27 |            msgNum             |   counts the messages of a pair
//! ```

use super::Kind;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 28;

/// A decoded header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Packet type.
    pub kind: Kind,
    /// Version of the protocol.
    pub version: u16,
    /// `srcNID`: the source of the message, whichever way this packet travels.
    pub src: u32,
    /// `msgID`: with `src` it names the message in the whole system.
    pub msg_id: u32,
    /// Length of the whole message, in bytes.
    pub len: u32,
    /// Data: number of the packet, from 1. CTS: the number expected next (rule B).
    pub seq: u32,
    /// CTS and data: the size of the grant, in packets.
    pub info1: u16,
    /// The sender's attempt, echoed by each answer (rule B).
    pub info2: u16,
    /// `msgNum`: the place of the message in the order of its pair.
    pub msg_num: u32,
}

/// Version of a packet, whatever else it is.
pub(crate) fn version_of(bytes: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]))
}

/// `srcNID` of a packet, whatever else it is.
pub(crate) fn source_of(bytes: &[u8]) -> Option<u32> {
    bytes.get(4..8)?.try_into().ok().map(u32::from_be_bytes)
}

impl Header {
    /// The header as it goes on the wire.
    #[must_use]
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let words = [
            u32::from(self.kind as u16) << 16 | u32::from(self.version),
            self.src,
            self.msg_id,
            self.len,
            self.seq,
            u32::from(self.info2) << 16 | u32::from(self.info1),
            self.msg_num,
        ];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }

    /// Reads a header; `None` when `bytes` is too short or of no known type.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
        let half = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let word = |at: usize| u32::from(half(at)) << 16 | u32::from(half(at + 2));
        Some(Self {
            kind: Kind::of(half(0))?,
            version: half(2),
            src: word(4),
            msg_id: word(8),
            len: word(12),
            seq: word(16),
            info2: half(20),
            info1: half(22),
            msg_num: word(24),
        })
    }
}
