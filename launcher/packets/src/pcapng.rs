//! Writes pcapng (draft-ietf-opsawg-pcapng): a section, its interfaces, packets, statistics.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};

use mpi_boot::packets::{Preamble, RECORDS_MOST, Record, Way};

use crate::frame;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const STATISTICS: u32 = 5;
const PACKET: u32 = 6;

const COMMENT: u16 = 1;
const APPLICATION: u16 = 4;
const NAME: u16 = 2;
const RESOLUTION: u16 = 9;
const FLAGS: u16 = 2;

/// Link type: Ethernet.
const ETHERNET: u32 = 1;
const NANOSECONDS: u8 = 9;
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// A file under way. Each rank has two interfaces, in their order: what it sent, what it received.
pub(crate) struct Writer<W: Write> {
    out: BufWriter<W>,
    ranks: Vec<u32>,
    /// The time of the last packet.
    time: u64,
    /// Ranks that reached the limit of recording: their interfaces, a line for each.
    limited: Vec<(usize, String)>,
}

impl<W: Write> Writer<W> {
    /// Begins a file with the interfaces of these ranks.
    pub(crate) fn new(out: W, ranks: &BTreeSet<u32>) -> io::Result<Self> {
        let mut writer = Writer {
            out: BufWriter::new(out),
            ranks: ranks.iter().copied().collect(),
            time: 0,
            limited: Vec::new(),
        };
        let mut section = 0x1a2b_3c4d_u32.to_le_bytes().to_vec();
        section.extend([1, 0, 0, 0]);
        section.extend(u64::MAX.to_le_bytes());
        let name = concat!("mpi-packets of mpi-lite ", env!("CARGO_PKG_VERSION"));
        append_option(&mut section, APPLICATION, name.as_bytes());
        writer.block(SECTION, section)?;
        for rank in ranks {
            for way in ["sent", "received"] {
                let mut body = ETHERNET.to_le_bytes().to_vec();
                body.extend(0_u32.to_le_bytes());
                append_option(&mut body, NAME, format!("rank {rank} {way}").as_bytes());
                append_option(&mut body, RESOLUTION, &[NANOSECONDS]);
                writer.block(INTERFACE, body)?;
            }
        }
        Ok(writer)
    }

    /// Adds a record of a rank.
    pub(crate) fn add(&mut self, preamble: &Preamble, record: &Record) -> io::Result<()> {
        let rank = preamble.rank;
        let place = self.ranks.binary_search(&rank).unwrap_or(0);
        let interface = 2 * place + usize::from(record.way == Way::Received);
        let direction = match record.way {
            Way::Received => INBOUND,
            Way::Sent => OUTBOUND,
            Way::Limit => {
                let line = format!(
                    "rank {rank} had more datagrams than are recorded of a rank: {RECORDS_MOST}, \
                     or 256 MiB"
                );
                self.limited.push((interface, line));
                return Ok(());
            }
        };
        let (kept, bytes) = frame::of(preamble, record);
        self.time = record.time;
        let mut body = self.stamp(interface);
        body.extend(number(kept.len()));
        body.extend(number(bytes));
        append_padded(&mut body, &kept);
        append_option(&mut body, FLAGS, &direction.to_le_bytes());
        self.block(PACKET, body)
    }

    /// Ends the file with a remark about each rank that reached the limit. Returns these.
    pub(crate) fn finish(mut self) -> io::Result<Vec<String>> {
        let mut lines = Vec::new();
        for (interface, line) in std::mem::take(&mut self.limited) {
            let mut body = self.stamp(interface);
            append_option(&mut body, COMMENT, line.as_bytes());
            self.block(STATISTICS, body)?;
            lines.push(line);
        }
        self.out.flush()?;
        Ok(lines)
    }

    /// What a block about an interface begins with; the time is that of the last packet.
    fn stamp(&self, interface: usize) -> Vec<u8> {
        let mut body = number(interface).to_vec();
        body.extend(((self.time >> 32) as u32).to_le_bytes());
        body.extend((self.time as u32).to_le_bytes());
        body
    }

    /// Writes a block whose body ends with options.
    fn block(&mut self, kind: u32, mut body: Vec<u8>) -> io::Result<()> {
        body.extend([0; 4]);
        let len = number(body.len() + 12);
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&len)?;
        self.out.write_all(&body)?;
        self.out.write_all(&len)
    }
}

fn number(number: usize) -> [u8; 4] {
    u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes()
}

fn append_option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let len = u16::try_from(value.len()).expect("our texts are short");
    body.extend(code.to_le_bytes());
    body.extend(len.to_le_bytes());
    append_padded(body, value);
}

/// Appends bytes, and zeros up to a multiple of four.
fn append_padded(body: &mut Vec<u8>, bytes: &[u8]) {
    body.extend(bytes);
    body.resize(body.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use mpi_boot::packets::RMPP;

    use super::*;

    /// Type and body of each block; both lengths of a block must agree.
    fn blocks(mut file: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let word = |bytes: &[u8]| u32::from_le_bytes(bytes[..4].try_into().unwrap());
        let mut blocks = Vec::new();
        while !file.is_empty() {
            let len = word(&file[4..]) as usize;
            assert_eq!(len % 4, 0);
            assert_eq!(word(&file[len - 4..]) as usize, len);
            blocks.push((word(file), file[8..len - 4].to_vec()));
            file = &file[len..];
        }
        blocks
    }

    /// Code and value of each option.
    fn options(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
        let half = |at: usize, bytes: &[u8]| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let mut options = Vec::new();
        loop {
            let (code, len) = (half(0, bytes), usize::from(half(2, bytes)));
            if code == 0 {
                assert_eq!(bytes, [0; 4], "the options end the block");
                return options;
            }
            options.push((code, bytes[4..4 + len].to_vec()));
            bytes = &bytes[4 + len.next_multiple_of(4)..];
        }
    }

    #[test]
    fn every_block_can_be_read_back() {
        let preamble = Preamble {
            has_loss: false,
            rank: 1,
            packet_bytes: 1000,
            addresses: vec!["10.0.0.1:7".parse().unwrap(); 2],
        };
        let received = Record {
            time: 0x0123_4567_89ab_cdef,
            way: Way::Received,
            protocol: RMPP,
            peer: 0,
            bytes: 700,
            kept: vec![7; 5],
        };
        let limit = Record {
            way: Way::Limit,
            ..received.clone()
        };
        let mut file = Vec::new();
        let mut writer = Writer::new(&mut file, &BTreeSet::from([1])).unwrap();
        writer.add(&preamble, &received).unwrap();
        writer.add(&preamble, &limit).unwrap();
        let lines = writer.finish().unwrap();
        let blocks = blocks(&file);
        let kinds: Vec<u32> = blocks.iter().map(|block| block.0).collect();
        assert_eq!(kinds, [SECTION, INTERFACE, INTERFACE, PACKET, STATISTICS]);
        assert_eq!(blocks[0].1[..4], 0x1a2b_3c4d_u32.to_le_bytes());
        for (block, name) in [(1, "rank 1 sent"), (2, "rank 1 received")] {
            let of_interface = options(&blocks[block].1[8..]);
            assert_eq!(of_interface[0], (NAME, name.into()));
            assert_eq!(of_interface[1], (RESOLUTION, vec![9]));
        }
        let packet = &blocks[3].1;
        assert_eq!(packet[..4], [1, 0, 0, 0]);
        assert_eq!(packet[4..12], [0x67, 0x45, 0x23, 1, 0xef, 0xcd, 0xab, 0x89]);
        // Ethernet, IPv4, UDP and the wrap have 58 bytes.
        assert_eq!(packet[12..20], [63, 0, 0, 0, 0xf6, 2, 0, 0]);
        assert_eq!(packet[78..84], [7, 7, 7, 7, 7, 0]);
        assert_eq!(options(&packet[84..]), [(FLAGS, vec![1, 0, 0, 0])]);
        assert_eq!(blocks[4].1[..4], [0; 4]);
        let comment = options(&blocks[4].1[12..]);
        assert_eq!(comment, [(COMMENT, lines[0].clone().into())]);
        assert!(lines[0].contains("rank 1 had more"));
    }
}
