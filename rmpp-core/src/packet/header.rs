//! The 28-byte header (paper, Figure 1), big endian, and what the fast profile adds:
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
//!  --------- version 2 (fast) only ------------
//!      28-31 |              ack              |   all numbers before it are accepted (rule K)
//!      32-35 |     flags     |   len, high   |   rule L
//!      36-   |   0 to 4 words of 64 bits     |   what is missing (rule R) or early (rule O)
//! ```

use super::run::SEQ;
use super::{Kind, Shape};
use crate::bits::{Bits, WORDS};

/// Bytes of a classic header.
pub const HEADER_BYTES: usize = 28;

/// Bytes that each header of the fast profile has.
pub const FAST_HEADER_BYTES: usize = HEADER_BYTES + 8;

/// Bytes of the longest header.
pub const MAX_HEADER_BYTES: usize = FAST_HEADER_BYTES + WORDS * 8;

/// The greatest length that the fast profile's 48 bits hold.
pub(crate) const WIDE_LEN: u64 = (1 << 48) - 1;

/// A decoded header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Header {
    /// Packet type.
    pub kind: Kind,
    /// Version of the protocol.
    pub version: u16,
    /// `srcNID`: the source of the message, whichever way this packet travels.
    pub src: u32,
    /// `msgID`: with `src` it names the message in the whole system.
    pub msg_id: u32,
    /// Length of the whole message, in bytes; classic: 32 bits, fast: 48.
    pub len: u64,
    /// Data: number of the packet, from 1. CTS: the number expected next (rules B, W).
    pub seq: u32,
    /// CTS: the size of the grant, in packets. Data: the same, or with selective NAK how many
    /// packets beyond this one have been sent (rule R).
    pub info1: u16,
    /// The sender's attempt, echoed by each answer (rule B); on CTS and data with selective NAK
    /// the number of the NAK (rule R).
    pub info2: u16,
    /// `msgNum`: the place of the message in the order of its pair.
    pub msg_num: u32,
    /// Fast: all messages of the destination with numbers before this are accepted (rule K).
    pub ack: u32,
    /// Fast: the flags of the packet.
    pub flags: Flags,
}

/// The flags of a packet of the fast profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(u16);

impl Flags {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// The sender waits for the acknowledgement (rule K).
    pub const ASKS: Self = Self(1);
    /// Data sent once more to find out what is missing (rule R).
    pub const PROBE: Self = Self(2);
    /// MSGEND that names no message: only its `ack` counts (rule K).
    pub const PURE: Self = Self(4);
    /// First packets have come ahead of number `ack` (rule O).
    pub const GAP: Self = Self(8);

    const KNOWN: u16 = 15;
    const WORDS_AT: u32 = 12;

    /// Returns true if all of `other` is in the set.
    #[must_use]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// How many words of bits follow the header.
    const fn words(self) -> usize {
        (self.0 >> Self::WORDS_AT) as usize
    }

    /// Returns true if this version has all flags of the set.
    pub(crate) const fn is_known(self) -> bool {
        self.0 & !(Self::KNOWN | 0xf << Self::WORDS_AT) == 0 && self.words() <= WORDS
    }
}

/// A header as it goes on the wire: 28 bytes in classic, 36 to 68 in fast.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct HeaderBytes {
    bytes: [u8; MAX_HEADER_BYTES],
    len: u8,
}

impl HeaderBytes {
    /// The header of the packet that comes `count` behind this one in a run.
    #[inline]
    #[must_use]
    pub fn behind(mut self, count: u32) -> Self {
        if count > 0 {
            let place: &mut [u8; 4] = (&mut self.bytes[SEQ]).try_into().expect("four bytes");
            *place = u32::from_be_bytes(*place).wrapping_add(count).to_be_bytes();
        }
        self
    }
}

impl core::ops::Deref for HeaderBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl core::fmt::Debug for HeaderBytes {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:02x?}", &**self)
    }
}

/// Version of a packet, whatever else it is.
pub(crate) fn version_of(bytes: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(2)?, *bytes.get(3)?]))
}

/// `srcNID` of a packet, whatever else it is.
pub(crate) fn source_of(bytes: &[u8]) -> Option<u32> {
    bytes.get(4..8)?.try_into().ok().map(u32::from_be_bytes)
}

/// Bytes of the header that `bytes` begins with; `None` when it is cut off.
pub(crate) fn header_bytes_of(bytes: &[u8]) -> Option<usize> {
    let len = if version_of(bytes)? < FAST_VERSION {
        HEADER_BYTES
    } else {
        let flags = u16::from_be_bytes([*bytes.get(32)?, *bytes.get(33)?]);
        FAST_HEADER_BYTES + Flags(flags).words() * 8
    };
    (len <= bytes.len()).then_some(len)
}

/// Bytes of a header with no bits behind it.
pub(crate) const fn bare_header_bytes(version: u16) -> usize {
    if version < FAST_VERSION {
        HEADER_BYTES
    } else {
        FAST_HEADER_BYTES
    }
}

/// The bits that follow a header of the fast profile; missing words are zero.
pub(crate) fn bits_of(bytes: &[u8]) -> Bits {
    let mut words = [0; WORDS];
    let said = bytes.get(FAST_HEADER_BYTES..).unwrap_or(&[]);
    for (word, bytes) in words.iter_mut().zip(said.as_chunks::<8>().0) {
        *word = u64::from_be_bytes(*bytes);
    }
    Bits::from_words(words)
}

/// The version of the fast profile; a classic node drops it (rule P2).
pub(crate) const FAST_VERSION: u16 = 2;

impl Header {
    /// A header of a message of `src` that has nothing else yet.
    #[inline]
    pub(crate) const fn bare(kind: Kind, version: u16, src: u32) -> Self {
        Self {
            kind,
            version,
            src,
            msg_id: 0,
            len: 0,
            seq: 0,
            info1: 0,
            info2: 0,
            msg_num: 0,
            ack: 0,
            flags: Flags::NONE,
        }
    }

    /// Stands where there is none.
    pub(crate) const NONE: Self = Self {
        kind: Kind::Null,
        version: 0,
        src: 0,
        msg_id: 0,
        len: 0,
        seq: 0,
        info1: 0,
        info2: 0,
        msg_num: 0,
        ack: 0,
        flags: Flags::NONE,
    };

    /// Bytes of it on the wire, with the bits behind it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        bare_header_bytes(self.version) + self.flags.words() * 8
    }

    /// How the message is cut.
    pub(crate) fn shape(&self, packet_bytes: usize) -> Shape {
        Shape {
            len: self.len,
            packet_bytes,
        }
    }

    /// CTS: the last packet that it grants. Rule S has seen to it that it grants one.
    pub(crate) fn grants_to(&self) -> u32 {
        self.seq.saturating_add(u32::from(self.info1) - 1)
    }

    /// The header as it goes on the wire.
    #[must_use]
    pub fn encode(&self) -> HeaderBytes {
        self.encode_with(Bits::NONE)
    }

    /// The header as it goes on the wire with bits behind it, which only the fast profile has.
    pub(crate) fn encode_with(&self, bits: Bits) -> HeaderBytes {
        let mut bytes = [0; MAX_HEADER_BYTES];
        let words = [
            u32::from(self.kind as u16) << 16 | u32::from(self.version),
            self.src,
            self.msg_id,
            self.len as u32,
            self.seq,
            u32::from(self.info2) << 16 | u32::from(self.info1),
            self.msg_num,
        ];
        for (place, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *place = word.to_be_bytes();
        }
        if self.version < FAST_VERSION {
            let len = HEADER_BYTES as u8;
            return HeaderBytes { bytes, len };
        }
        let count = bits.used_words();
        let flags = self.flags.0 | (count as u16) << Flags::WORDS_AT;
        bytes[28..32].copy_from_slice(&self.ack.to_be_bytes());
        bytes[32..34].copy_from_slice(&flags.to_be_bytes());
        bytes[34..36].copy_from_slice(&((self.len >> 32) as u16).to_be_bytes());
        let places = bytes[FAST_HEADER_BYTES..].as_chunks_mut::<8>().0;
        for (place, word) in places.iter_mut().zip(&bits.words()[..count]) {
            *place = word.to_be_bytes();
        }
        let len = (FAST_HEADER_BYTES + count * 8) as u8;
        HeaderBytes { bytes, len }
    }

    /// Reads a header; `None` when `bytes` is too short or of no known type.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let classic: &[u8; HEADER_BYTES] = bytes.first_chunk()?;
        let half = |at: usize| u16::from_be_bytes([classic[at], classic[at + 1]]);
        let word = |at: usize| u32::from(half(at)) << 16 | u32::from(half(at + 2));
        let mut header = Self {
            kind: Kind::of(half(0))?,
            version: half(2),
            src: word(4),
            msg_id: word(8),
            len: u64::from(word(12)),
            seq: word(16),
            info2: half(20),
            info1: half(22),
            msg_num: word(24),
            ack: 0,
            flags: Flags::NONE,
        };
        if header.version >= FAST_VERSION {
            let fast: &[u8; FAST_HEADER_BYTES] = bytes.first_chunk()?;
            let half = |at: usize| u16::from_be_bytes([fast[at], fast[at + 1]]);
            header.ack = u32::from(half(28)) << 16 | u32::from(half(30));
            header.flags = Flags(half(32));
            header.len |= u64::from(half(34)) << 32;
        }
        Some(header)
    }
}
