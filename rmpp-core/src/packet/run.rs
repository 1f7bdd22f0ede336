//! Data packets of one message that come one behind the other.

use super::{FAST_HEADER_BYTES, Header, Kind, Packet};

/// Where a header has its `seq`.
pub(super) const SEQ: core::ops::Range<usize> = 16..20;

/// DATA packets whose headers are alike but for `seq`, which is one greater in each.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The decoded header of the first packet.
    header: Header,
    /// Its bytes as received.
    bytes: [u8; FAST_HEADER_BYTES],
    header_bytes: usize,
    payload_bytes: usize,
    packets: u32,
}

impl Run {
    /// The run that `packet` begins, if it is of the type that comes in runs.
    #[inline]
    #[must_use]
    pub fn of(packet: &Packet<'_>) -> Option<Self> {
        let header_bytes = packet.head.len();
        let is_data = packet.is_any() && packet.header.kind == Kind::Data;
        if !is_data || header_bytes > FAST_HEADER_BYTES {
            return None;
        }
        let mut bytes = [0; FAST_HEADER_BYTES];
        bytes[..header_bytes].copy_from_slice(packet.head);
        Some(Self {
            header: packet.header,
            bytes,
            header_bytes,
            payload_bytes: packet.payload_bytes,
            packets: 1,
        })
    }

    /// Adds the packet that is all of a datagram of `bytes` bytes, if it is the next one; `head`
    /// are the first of them. Returns true if it is.
    #[inline]
    pub fn takes(&mut self, head: &[u8], bytes: usize) -> bool {
        if bytes != self.header_bytes + self.payload_bytes || head.len() < self.header_bytes {
            return false;
        }
        let Some(seq) = self.header.seq.checked_add(self.packets) else {
            return false;
        };
        let mut next = self.bytes;
        next[SEQ].copy_from_slice(&seq.to_be_bytes());
        let is_next = head[..self.header_bytes] == next[..self.header_bytes];
        self.packets += u32::from(is_next);
        is_next
    }

    /// How many packets it has.
    #[inline]
    #[must_use]
    pub fn count(&self) -> u32 {
        self.packets
    }

    /// Bytes of each packet's header, which come before its payload.
    #[inline]
    #[must_use]
    pub fn header_bytes(&self) -> usize {
        self.header_bytes
    }

    /// Bytes of each packet's payload.
    #[inline]
    #[must_use]
    pub fn payload_bytes(&self) -> usize {
        self.payload_bytes
    }

    /// All of them, to be handled as one.
    #[inline]
    #[must_use]
    pub fn packets(&self) -> Packet<'_> {
        Packet {
            header: self.header,
            head: &self.bytes[..self.header_bytes],
            payload_bytes: self.payload_bytes,
            packets: self.packets,
        }
    }

    /// The first `count` packets are done with.
    #[inline]
    pub fn skip(&mut self, count: u32) {
        self.packets -= count;
        // Behind the last packet nobody looks at the number.
        self.header.seq = self.header.seq.wrapping_add(count);
        self.bytes[SEQ].copy_from_slice(&self.header.seq.to_be_bytes());
    }
}
