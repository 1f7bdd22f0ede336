//! The packets: DATA, ACK and NACK, each with the same header (the table is in `mod.rs`).

/// Bytes of the header.
pub(super) const HEADER_BYTES: usize = 8;

/// Where the attempt stands.
const ATTEMPT: usize = 1;

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A fragment.
    Data,
    /// The fragment with this number has arrived in its turn.
    Ack,
    /// The fragment with this number was thrown away.
    Nack,
}

/// The header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FragmentHeader {
    pub(super) kind: Kind,
    /// How often the sender of the fragment has gone back, modulo 256; an answer repeats it.
    pub(super) attempt: u8,
    /// The sequence number of the fragment.
    pub(super) number: u32,
}

impl FragmentHeader {
    /// The header and the fragment of a packet; none if it is malformed.
    pub(super) fn read(packet: &[u8]) -> Option<(Self, &[u8])> {
        let (header, fragment) = packet.split_first_chunk::<HEADER_BYTES>()?;
        let [kind, attempt, len @ .., n0, n1, n2, n3] = *header;
        let kind = match (kind, fragment.is_empty()) {
            (1, false) => Kind::Data,
            (2, true) => Kind::Ack,
            (3, true) => Kind::Nack,
            _ => return None,
        };
        let header = Self {
            kind,
            attempt,
            number: u32::from_be_bytes([n0, n1, n2, n3]),
        };
        (usize::from(u16::from_be_bytes(len)) == fragment.len()).then_some((header, fragment))
    }

    /// The bytes before a fragment of so many bytes; 0 for an answer.
    pub(super) fn write(self, fragment_bytes: usize) -> [u8; HEADER_BYTES] {
        let kind = match self.kind {
            Kind::Data => 1,
            Kind::Ack => 2,
            Kind::Nack => 3,
        };
        let len = u16::try_from(fragment_bytes).expect("a fragment has at most 4096 bytes");
        let [l0, l1] = len.to_be_bytes();
        let [n0, n1, n2, n3] = self.number.to_be_bytes();
        [kind, self.attempt, l0, l1, n0, n1, n2, n3]
    }
}

/// Sets the attempt of a packet that has a header.
pub(super) fn set_attempt(packet: &mut [u8], attempt: u8) {
    packet[ATTEMPT] = attempt;
}
