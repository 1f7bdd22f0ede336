//! The bytes of SCTP packets, as far as we read and change them ourselves (RFC 9260, section 3).
//!
//! An established association needs two chunks: DATA and SACK. Packets with any other chunk are
//! refused: `sctp-proto` closes an association when a late INIT, an ERROR or an ABORT comes.

use crc::{CRC_32_ISCSI, Crc};

/// Bytes of the common header: two ports, verification tag, checksum.
pub(super) const COMMON_BYTES: usize = 12;
/// Bytes of the header of a DATA chunk.
pub(super) const DATA_BYTES: usize = 16;
/// Bytes of a SACK chunk without gap blocks and duplicates.
const SACK_BYTES: usize = 16;
/// Bytes of the header that all chunks share: type, flags, length.
const CHUNK_BYTES: usize = 4;

const DATA: u8 = 0;
const INIT: u8 = 1;
const SACK: u8 = 3;

/// The chunk ends a message.
const ENDS: u8 = 1;
/// The chunk begins a message.
const BEGINS: u8 = 2;
/// The message has no place in the order of its stream.
const UNORDERED: u8 = 4;
/// The receiver shall acknowledge at once (the I bit).
const AT_ONCE: u8 = 8;

/// The port of both sides: one association per pair of processes needs no ports.
const PORT: u16 = sctp_proto::DEFAULT_SCTP_PORT;

const CHECKSUM: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// A chunk, as far as it concerns us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chunk<'a> {
    /// A message, or a piece of one.
    Data { tsn: u32, stream: u16 },
    /// What the peer has received.
    Sack {
        /// All up to this TSN have come.
        cumulative: u32,
        /// Bytes that the peer has room for (`a_rwnd`).
        window: u32,
        /// Gap blocks of 4 bytes: first and last TSN, counted from `cumulative`.
        gaps: &'a [u8],
    },
}

/// Why a packet is refused: it is no SCTP packet, or has chunks that we never send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// The chunks of a packet, in their order.
pub(super) struct Chunks<'a> {
    rest: &'a [u8],
}

/// Returns the chunks of a packet whose verification tag must be `tag`.
pub(super) fn chunks(packet: &[u8], tag: u32) -> Result<Chunks<'_>, Malformed> {
    if packet.len() < COMMON_BYTES + CHUNK_BYTES || word(packet, 4) != tag {
        return Err(Malformed);
    }
    Ok(Chunks {
        rest: &packet[COMMON_BYTES..],
    })
}

/// Returns true if all chunks of a packet with this verification tag are sound.
pub(super) fn is_whole(packet: &[u8], tag: u32) -> bool {
    chunks(packet, tag).is_ok_and(|mut chunks| chunks.all(|chunk| chunk.is_ok()))
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<Chunk<'a>, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        Some(match length(self.rest) {
            Some(length) => {
                let (chunk, rest) = self.rest.split_at(length);
                self.rest = rest;
                read(chunk)
            }
            None => {
                self.rest = &[];
                Err(Malformed)
            }
        })
    }
}

/// Bytes of the first chunk. Ours are all multiples of 4, so none has padding behind it.
fn length(chunks: &[u8]) -> Option<usize> {
    let length = usize::from(u16::from_be_bytes([*chunks.get(2)?, *chunks.get(3)?]));
    let fits = (CHUNK_BYTES..=chunks.len()).contains(&length);
    (fits && length.is_multiple_of(4)).then_some(length)
}

fn read(chunk: &[u8]) -> Result<Chunk<'_>, Malformed> {
    match (chunk[0], chunk[1]) {
        (DATA, flags) if chunk.len() > DATA_BYTES && flags & UNORDERED == 0 => Ok(Chunk::Data {
            tsn: word(chunk, 4),
            stream: half(chunk, 8),
        }),
        (SACK, _) if chunk.len() >= SACK_BYTES => {
            let gaps = 4 * usize::from(half(chunk, 12));
            let duplicates = 4 * usize::from(half(chunk, 14));
            if chunk.len() != SACK_BYTES + gaps + duplicates {
                return Err(Malformed);
            }
            Ok(Chunk::Sack {
                cumulative: word(chunk, 4),
                window: word(chunk, 8),
                gaps: &chunk[SACK_BYTES..SACK_BYTES + gaps],
            })
        }
        _ => Err(Malformed),
    }
}

/// Returns how far `tsn` is behind `other` in the circle of TSNs; negative if it is before
/// (RFC 9260, section 1.6).
#[expect(clippy::cast_possible_wrap, reason = "the distance has a sign")]
pub(super) fn distance(tsn: u32, other: u32) -> i32 {
    tsn.wrapping_sub(other) as i32
}

/// Returns true if each gap block lies in order and ends at most `most` behind the cumulative TSN.
pub(super) fn gaps_are_within(gaps: &[u8], most: i32) -> bool {
    gaps.chunks_exact(4).all(|gap| {
        let (first, last) = (half(gap, 0), half(gap, 2));
        0 < first && first <= last && i32::from(last) <= most
    })
}

/// Asks for an acknowledgement at once: sets the I bit of the last chunk, if that is DATA
/// (RFC 7053, section 5: the sender has nothing more that it may send).
pub(super) fn ask_for_answer(packet: &mut [u8]) {
    let mut at = COMMON_BYTES;
    while let Some(length) = length(&packet[at..]) {
        if at + length == packet.len() && packet[at] == DATA {
            packet[at + 1] |= AT_ONCE;
            seal(packet);
        }
        at += length;
    }
}

/// Shortens a packet that is one SACK to at most `most` bytes: without duplicates, and without the
/// last gap blocks. The peer learns of these from a later SACK.
pub(super) fn shorten_sack(packet: &mut Vec<u8>, most: usize) {
    if packet.len() <= most || packet.get(COMMON_BYTES) != Some(&SACK) {
        return;
    }
    let room = (most - COMMON_BYTES - SACK_BYTES) / 4;
    let gaps = usize::from(half(packet, COMMON_BYTES + 12)).min(room);
    let bytes = SACK_BYTES + 4 * gaps;
    packet.truncate(COMMON_BYTES + bytes);
    put_half(packet, COMMON_BYTES + 2, bytes);
    put_half(packet, COMMON_BYTES + 12, gaps);
    put_half(packet, COMMON_BYTES + 14, 0);
    seal(packet);
}

/// A packet with one DATA chunk of 4 bytes, which asks for an acknowledgement at once.
pub(super) fn data(tag: u32, tsn: u32) -> Vec<u8> {
    let mut packet = Vec::with_capacity(COMMON_BYTES + DATA_BYTES + 4);
    packet.extend_from_slice(&PORT.to_be_bytes());
    packet.extend_from_slice(&PORT.to_be_bytes());
    packet.extend_from_slice(&tag.to_be_bytes());
    packet.extend_from_slice(&[0; 4]);
    packet.extend_from_slice(&[DATA, AT_ONCE | BEGINS | ENDS, 0, DATA_BYTES as u8 + 4]);
    packet.extend_from_slice(&tsn.to_be_bytes());
    packet.extend_from_slice(&[0; 12]);
    seal(&mut packet);
    packet
}

/// An INIT chunk (RFC 9260, section 3.3.2) of a process with this verification tag.
pub(super) fn init(tag: u32, window: u32, streams: u16, first_tsn: u32) -> Vec<u8> {
    let mut chunk = vec![INIT, 0, 0, 20];
    chunk.extend_from_slice(&tag.to_be_bytes());
    chunk.extend_from_slice(&window.to_be_bytes());
    chunk.extend_from_slice(&streams.to_be_bytes());
    chunk.extend_from_slice(&streams.to_be_bytes());
    chunk.extend_from_slice(&first_tsn.to_be_bytes());
    chunk
}

/// Writes the checksum, which stands in the opposite byte order (RFC 9260, appendix A).
pub(super) fn seal(packet: &mut [u8]) {
    packet[8..COMMON_BYTES].fill(0);
    let checksum = CHECKSUM.checksum(packet);
    packet[8..COMMON_BYTES].copy_from_slice(&checksum.to_le_bytes());
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn put_half(bytes: &mut [u8], at: usize, value: usize) {
    let value = u16::try_from(value).expect("a chunk is shorter than 64 KiB");
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}
