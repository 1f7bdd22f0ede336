//! How a message of some length is cut into packets.

/// A message's length with the packet size all nodes agreed on. The first packet carries the first
/// `packet_bytes`, data packet `seq` (from 1) the bytes from `packet_bytes * seq` on.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Bytes of the message.
    pub len: u64,
    /// Payload bytes of a full packet.
    pub packet_bytes: usize,
}

impl Shape {
    /// Returns true if the first packet is all of it (LAST_RTS).
    #[must_use]
    pub fn is_short(self) -> bool {
        self.len <= self.packet_bytes as u64
    }

    /// Payload bytes of the first packet.
    #[must_use]
    pub fn first_bytes(self) -> usize {
        (self.packet_bytes as u64).min(self.len) as usize
    }

    /// Number of the last data packet; 0 for a short message.
    #[must_use]
    pub fn last_seq(self) -> u32 {
        if self.is_short() {
            // The common case needs no division.
            return 0;
        }
        // `Config::longest` keeps it within 32 bits.
        (self.len.saturating_sub(1) / self.packet_bytes as u64) as u32
    }

    /// Where data packet `seq` begins.
    #[must_use]
    pub fn offset(self, seq: u32) -> u64 {
        u64::from(seq) * self.packet_bytes as u64
    }

    /// Payload bytes of data packet `seq`, which is not beyond the last.
    #[must_use]
    pub fn data_bytes(self, seq: u32) -> usize {
        let rest = self.len - self.offset(seq);
        (self.packet_bytes as u64).min(rest) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_p5_packets_cover_each_length_exactly_once() {
        for packet_bytes in 1..=20 {
            for len in 0..=200_u64 {
                let shape = Shape { len, packet_bytes };
                let mut at = shape.first_bytes() as u64;
                for seq in 1..=shape.last_seq() {
                    assert_eq!(shape.offset(seq), at, "len {len} of {packet_bytes}");
                    assert!(shape.data_bytes(seq) > 0);
                    at += shape.data_bytes(seq) as u64;
                }
                assert_eq!(at, len);
                assert_eq!(shape.is_short(), shape.last_seq() == 0);
            }
        }
    }

    #[test]
    fn rule_l_the_longest_message_has_a_last_packet() {
        for packet_bytes in [1, 2, 1444, 65_000] {
            let shape = Shape {
                len: u64::from(u32::MAX),
                packet_bytes,
            };
            let last = shape.last_seq();
            let end = shape.offset(last) + shape.data_bytes(last) as u64;
            assert_eq!(end, u64::from(u32::MAX));
        }
    }
}
