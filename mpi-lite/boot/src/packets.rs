//! The records of a rank's datagrams: how they lie in a file, and the packets in them.
//!
//! A file is a [`Preamble`], then [`Record`]s until its end. A rank that was killed may leave the
//! last record cut off. All numbers are little endian. No seal is recorded: a record has the
//! packets of a datagram in clear, without the wrap before them and the tail behind them.

use std::io::{self, Read};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

pub use rmpp_core::{Flags, Header, Kind};

/// What a file begins with.
const MAGIC: [u8; 8] = *b"mpl-pkt1";

/// What the file of a rank begins with that could not write all its records.
pub const MAGIC_OF_LOSS: [u8; 8] = *b"mpl-pktX";

/// The protocol RMPP. Other numbers are other protocols: 1 `gobackn`, 2 `unet`, 3 `sctp`.
pub const RMPP: u8 = 0;

/// Bytes that are kept of the body of the last packet of a datagram. Packets before it are whole.
pub const BODY_BYTES: usize = 256;

/// The most records of one rank, and the most bytes of its file.
pub const RECORDS_MOST: u64 = 1_000_000;
/// See [`RECORDS_MOST`].
pub const BYTES_MOST: u64 = 256 << 20;

/// Bytes of the fixed part of a record.
const HEAD_BYTES: usize = 20;

/// What all records of a file share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preamble {
    /// The rank could not write all its records.
    pub has_loss: bool,
    /// The rank that recorded.
    pub rank: u32,
    /// The greatest payload of a packet, in bytes.
    pub packet_bytes: u32,
    /// The addresses of all ranks, by rank.
    pub addresses: Vec<SocketAddr>,
}

impl Preamble {
    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let ranks = u32::try_from(self.addresses.len()).expect("ranks fit in u32");
        let mut bytes = if self.has_loss { MAGIC_OF_LOSS } else { MAGIC }.to_vec();
        for number in [self.rank, self.packet_bytes, ranks] {
            bytes.extend(number.to_le_bytes());
        }
        for address in &self.addresses {
            let ip = match address.ip() {
                IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                IpAddr::V6(ip) => ip,
            };
            bytes.extend(ip.octets());
            bytes.extend(address.port().to_le_bytes());
        }
        bytes
    }

    /// Reads it.
    ///
    /// # Errors
    /// Those of `from`; `UnexpectedEof` if it is cut off, `InvalidData` if it is something else.
    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let has_loss = match array(from)? {
            MAGIC => false,
            MAGIC_OF_LOSS => true,
            _ => return Err(io::ErrorKind::InvalidData.into()),
        };
        let mut number = || array(from).map(u32::from_le_bytes);
        let (rank, packet_bytes, ranks) = (number()?, number()?, number()?);
        let mut addresses = Vec::new();
        for _ in 0..ranks {
            let ip = Ipv6Addr::from(array::<16>(from)?);
            let port = u16::from_le_bytes(array(from)?);
            addresses.push(SocketAddr::new(IpAddr::V6(ip).to_canonical(), port));
        }
        if rank >= ranks {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Self {
            has_loss,
            rank,
            packet_bytes,
            addresses,
        })
    }
}

/// Which way a datagram went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// The rank sent it.
    Sent = 0,
    /// It has come, and belongs to the job.
    Received = 1,
    /// No datagram: the limit is reached, and more followed.
    Limit = 2,
}

impl Way {
    fn of(code: u8) -> Option<Self> {
        [Self::Sent, Self::Received, Self::Limit]
            .into_iter()
            .find(|way| *way as u8 == code)
    }
}

/// One datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// When: nanoseconds since 1970.
    pub time: u64,
    /// Which way.
    pub way: Way,
    /// The protocol of its packets.
    pub protocol: u8,
    /// The rank at the other end.
    pub peer: u32,
    /// Bytes of its packets.
    pub bytes: u32,
    /// The first of these bytes.
    pub kept: Vec<u8>,
}

impl Record {
    /// Appends it to `out`.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        let kept = u16::try_from(self.kept.len()).expect("a datagram is shorter");
        out.extend(self.time.to_le_bytes());
        out.extend(self.peer.to_le_bytes());
        out.extend(self.bytes.to_le_bytes());
        out.extend(kept.to_le_bytes());
        out.extend([self.way as u8, self.protocol]);
        out.extend(&self.kept);
    }

    /// Reads the next one of a job of `ranks` ranks. `None` at the end, where a record is cut off,
    /// and where something else stands.
    pub fn read(from: &mut impl Read, ranks: usize) -> Option<Self> {
        let head: [u8; HEAD_BYTES] = array(from).ok()?;
        let word = |at: usize| {
            let bytes = head[at..at + 4].try_into().expect("four bytes");
            u32::from_le_bytes(bytes)
        };
        let (peer, bytes) = (word(8), word(12));
        let kept = u16::from_le_bytes([head[16], head[17]]);
        if peer as usize >= ranks || u32::from(kept) > bytes || bytes > u32::from(u16::MAX) {
            return None;
        }
        let mut record = Self {
            time: u64::from(word(4)) << 32 | u64::from(word(0)),
            way: Way::of(head[18])?,
            protocol: head[19],
            peer,
            bytes,
            kept: vec![0; kept.into()],
        };
        from.read_exact(&mut record.kept).ok()?;
        Some(record)
    }
}

fn array<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// An RMPP packet in a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its header.
    pub header: Header,
    /// Where its body begins, in bytes from the first packet on.
    pub body_at: usize,
    /// Bytes of its body.
    pub body_bytes: usize,
}

/// The RMPP packets of a datagram of `bytes` bytes, of which `kept` are the first. It ends where no
/// packet follows whose header is kept.
pub fn packets(kept: &[u8], bytes: usize, packet_bytes: u32) -> impl Iterator<Item = Packet> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let header = Header::decode(kept.get(at..)?)?;
        let body_at = at + header.bytes();
        let body_bytes = body_bytes(&header, packet_bytes.into());
        at = body_at.checked_add(body_bytes)?;
        (at <= bytes).then_some(Packet {
            header,
            body_at,
            body_bytes,
        })
    })
}

/// Bytes of the body of the packet with this header (rule P5).
fn body_bytes(header: &Header, packet_bytes: u64) -> usize {
    let bytes = match header.kind {
        Kind::Rts | Kind::LastRts => header.len.min(packet_bytes),
        Kind::Data | Kind::StopData | Kind::LastData => {
            let before = u64::from(header.seq) * packet_bytes;
            header.len.saturating_sub(before).min(packet_bytes)
        }
        _ => 0,
    };
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// How many bytes of a datagram are kept: all but what is long of the body of its last packet.
#[must_use]
pub fn bytes_to_keep(datagram: &[u8], packet_bytes: u32) -> usize {
    let last = packets(datagram, datagram.len(), packet_bytes).last();
    let body_at = last.map_or(0, |packet| packet.body_at);
    datagram.len().min(body_at + BODY_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preamble() -> Preamble {
        Preamble {
            has_loss: false,
            rank: 1,
            packet_bytes: 1000,
            addresses: ["10.0.0.1:7", "10.0.0.2:8", "[fd00::3]:9"]
                .map(|it| it.parse().unwrap())
                .to_vec(),
        }
    }

    fn record() -> Record {
        Record {
            time: 0x0123_4567_89ab_cdef,
            way: Way::Received,
            protocol: RMPP,
            peer: 2,
            bytes: 900,
            kept: vec![7; 300],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = preamble().encode();
        record().append_to(&mut bytes);
        let mut from = &bytes[..];
        assert_eq!(Preamble::read(&mut from).unwrap(), preamble());
        assert_eq!(Record::read(&mut from, 3), Some(record()));
        assert_eq!(Record::read(&mut from, 3), None);
    }

    #[test]
    fn a_record_that_is_cut_off_is_none() {
        let mut bytes = Vec::new();
        record().append_to(&mut bytes);
        for len in 0..bytes.len() {
            assert_eq!(Record::read(&mut &bytes[..len], 3), None, "{len}");
        }
    }

    #[test]
    fn nonsense_is_none() {
        let mut bytes = Vec::new();
        record().append_to(&mut bytes);
        assert!(Record::read(&mut &bytes[..], 2).is_none(), "no such rank");
        bytes[18] = 3;
        assert!(Record::read(&mut &bytes[..], 3).is_none(), "no such way");
        let lost = Preamble {
            has_loss: true,
            ..preamble()
        };
        let read = Preamble::read(&mut &lost.encode()[..]);
        assert_eq!(read.unwrap(), lost);
        let mut bytes = preamble().encode();
        bytes[0] ^= 1;
        assert!(Preamble::read(&mut &bytes[..]).is_err());
    }

    fn header(kind: Kind, len: u64, seq: u32) -> Vec<u8> {
        let header = Header {
            kind,
            version: rmpp_core::VERSION,
            src: 0,
            msg_id: 1,
            len,
            seq,
            info1: 1,
            info2: 0,
            msg_num: 1,
            ack: 0,
            flags: Flags::NONE,
        };
        header.encode().to_vec()
    }

    #[test]
    fn all_packets_of_a_datagram_are_found_and_only_the_last_body_is_cut() {
        let mut datagram = header(Kind::LastData, 2500, 2);
        datagram.extend([1; 500]);
        datagram.extend(header(Kind::MsgEnd, 10, 0));
        datagram.extend(header(Kind::LastRts, 600, 0));
        let body_at = datagram.len();
        datagram.extend([2; 600]);
        let found: Vec<_> = packets(&datagram, datagram.len(), 1000).collect();
        let kinds: Vec<_> = found.iter().map(|it| it.header.kind).collect();
        assert_eq!(kinds, [Kind::LastData, Kind::MsgEnd, Kind::LastRts]);
        assert_eq!(bytes_to_keep(&datagram, 1000), body_at + BODY_BYTES);
        let kept = &datagram[..body_at + BODY_BYTES];
        assert_eq!(packets(kept, datagram.len(), 1000).count(), 3);
        assert_eq!(packets(&datagram, datagram.len() - 1, 1000).count(), 2);
    }
}
