//! The header of a packet, and numbers on a circle.

/// Bytes of the header of each packet.
pub(super) const HEADER_BYTES: usize = 16;

const DATA: u8 = 1;
const ACKNOWLEDGEMENT: u8 = 2;

/// The flag of an acknowledgement that reports a gap.
const GAP: u8 = 1;

/// The kind of a packet, with what only this kind has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A fragment of the stream, and its number.
    Data(u32),
    /// An acknowledgement alone.
    Acknowledgement,
}

/// The receiver's report to the sender of a stream. Each packet carries one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Report {
    /// All packets before this number are received.
    pub(super) received: u32,
    /// The program has taken all packets before this number: their places are free.
    pub(super) taken: u32,
    /// A later packet has come: the packet `received` is missing.
    pub(super) has_gap: bool,
}

/// The header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    /// Bytes of the body.
    pub(super) body_bytes: u16,
    pub(super) report: Report,
}

impl Header {
    /// The bytes of this header.
    pub(super) fn bytes(self) -> [u8; HEADER_BYTES] {
        let (kind, number) = match self.kind {
            Kind::Data(number) => (DATA, number),
            Kind::Acknowledgement => (ACKNOWLEDGEMENT, 0),
        };
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = kind;
        bytes[1] = if self.report.has_gap { GAP } else { 0 };
        bytes[2..4].copy_from_slice(&self.body_bytes.to_be_bytes());
        bytes[4..8].copy_from_slice(&number.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.report.received.to_be_bytes());
        bytes[12..].copy_from_slice(&self.report.taken.to_be_bytes());
        bytes
    }

    /// Header and body of `packet`; none if it is no packet of this protocol.
    pub(super) fn split(packet: &[u8]) -> Option<(Self, &[u8])> {
        let (bytes, body) = packet.split_first_chunk::<HEADER_BYTES>()?;
        let word = |at: usize| u32::from_be_bytes([0, 1, 2, 3].map(|byte| bytes[at + byte]));
        let body_bytes = u16::from_be_bytes([bytes[2], bytes[3]]);
        let kind = match (bytes[0], word(4), body_bytes) {
            (DATA, number, 1..) => Kind::Data(number),
            (ACKNOWLEDGEMENT, 0, 0) => Kind::Acknowledgement,
            _ => return None,
        };
        let report = Report {
            received: word(8),
            taken: word(12),
            has_gap: bytes[1] == GAP,
        };
        let header = Self {
            kind,
            body_bytes,
            report,
        };
        (bytes[1] <= GAP && body.len() == usize::from(body_bytes)).then_some((header, body))
    }
}

/// How far `number` is ahead of `from` on the circle of 2^32 numbers; none if it is behind.
pub(super) fn ahead(from: u32, number: u32) -> Option<u32> {
    let distance = number.wrapping_sub(from);
    (distance <= u32::MAX / 2).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: Report = Report {
        received: 0x0102_0304,
        taken: u32::MAX,
        has_gap: true,
    };

    #[test]
    fn a_header_is_read_as_it_was_written() {
        for (kind, body) in [(Kind::Data(77), &b"x"[..]), (Kind::Acknowledgement, b"")] {
            for has_gap in [false, true] {
                let report = Report { has_gap, ..REPORT };
                let header = Header {
                    kind,
                    body_bytes: body.len() as u16,
                    report,
                };
                let packet = [&header.bytes()[..], body].concat();
                assert_eq!(Header::split(&packet), Some((header, body)));
            }
        }
    }

    #[test]
    fn the_header_is_big_endian() {
        let header = Header {
            kind: Kind::Data(0x0506_0708),
            body_bytes: 0x090a,
            report: REPORT,
        };
        let wanted = [1, 1, 9, 10, 5, 6, 7, 8, 1, 2, 3, 4, 255, 255, 255, 255];
        assert_eq!(header.bytes(), wanted);
    }

    #[test]
    fn what_no_sender_writes_is_refused() {
        let data = Header {
            kind: Kind::Data(1),
            body_bytes: 1,
            report: REPORT,
        };
        let alone = Header {
            kind: Kind::Acknowledgement,
            body_bytes: 0,
            report: REPORT,
        };
        let good = [&data.bytes()[..], b"x"].concat();
        assert!(Header::split(&good).is_some());
        assert_eq!(Header::split(&data.bytes()), None, "data without a body");
        let long = [&alone.bytes()[..], b"x"].concat();
        assert_eq!(Header::split(&long), None, "an acknowledgement with a body");
        for (at, byte) in [(0, 0), (0, 3), (1, 2), (2, 1), (3, 0), (3, 2)] {
            let mut bad = good.clone();
            bad[at] = byte;
            assert_eq!(Header::split(&bad), None, "byte {at} is {byte}");
        }
        for bytes in 0..HEADER_BYTES {
            assert_eq!(Header::split(&good[..bytes]), None, "{bytes} bytes");
        }
    }

    #[test]
    fn numbers_compare_on_a_circle() {
        assert_eq!(ahead(5, 5), Some(0));
        assert_eq!(ahead(u32::MAX, 1), Some(2));
        assert_eq!(ahead(1, u32::MAX), None);
        assert_eq!(ahead(0, u32::MAX / 2), Some(u32::MAX / 2));
        assert_eq!(ahead(0, u32::MAX / 2 + 1), None);
    }
}
