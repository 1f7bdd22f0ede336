//! Writes pcapng (draft-ietf-opsawg-pcapng): a section, its interfaces, packets, statistics.

use std::io::{self, Write};

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

/// A file under way. Interfaces come in pairs: an odd number is inbound, an even one outbound.
pub(super) struct Writer<W> {
    out: W,
    /// The time of the last packet.
    time: u64,
}

impl<W: Write> Writer<W> {
    /// Begins a file with these interfaces, which are numbered from 0.
    pub(super) fn new(out: W, interfaces: impl Iterator<Item = String>) -> io::Result<Self> {
        let mut writer = Writer { out, time: 0 };
        let mut section = 0x1a2b_3c4d_u32.to_le_bytes().to_vec();
        section.extend([1, 0, 0, 0]);
        section.extend(u64::MAX.to_le_bytes());
        let name = format!("mpirun of mpi-lite {}", env!("CARGO_PKG_VERSION"));
        append_option(&mut section, APPLICATION, name.as_bytes());
        writer.block(SECTION, section)?;
        for name in interfaces {
            let mut body = ETHERNET.to_le_bytes().to_vec();
            body.extend(0_u32.to_le_bytes());
            append_option(&mut body, NAME, name.as_bytes());
            append_option(&mut body, RESOLUTION, &[NANOSECONDS]);
            writer.block(INTERFACE, body)?;
        }
        Ok(writer)
    }

    /// A packet of an interface: its time in nanoseconds since 1970, the bytes that are kept of it,
    /// and how many it had.
    pub(super) fn packet(
        &mut self,
        interface: usize,
        time: u64,
        (kept, bytes): (&[u8], usize),
    ) -> io::Result<()> {
        self.time = time;
        let mut body = number(interface).to_vec();
        append_time(&mut body, time);
        body.extend(number(kept.len()));
        body.extend(number(bytes));
        append_padded(&mut body, kept);
        let direction: u32 = if interface % 2 == 1 { 1 } else { 2 };
        append_option(&mut body, FLAGS, &direction.to_le_bytes());
        self.block(PACKET, body)
    }

    /// A remark about an interface, at the time of the last packet.
    pub(super) fn statistics(&mut self, interface: usize, comment: &str) -> io::Result<()> {
        let mut body = number(interface).to_vec();
        append_time(&mut body, self.time);
        append_option(&mut body, COMMENT, comment.as_bytes());
        self.block(STATISTICS, body)
    }

    /// The end of the file.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
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

fn append_time(body: &mut Vec<u8>, time: u64) {
    body.extend(((time >> 32) as u32).to_le_bytes());
    body.extend((time as u32).to_le_bytes());
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
        let names = ["rank 0 sent", "rank 0 received"].map(str::to_owned);
        let mut writer = Writer::new(Vec::new(), names.into_iter()).unwrap();
        let time = 0x0123_4567_89ab_cdef;
        writer.packet(1, time, (&[1, 2, 3, 4, 5], 700)).unwrap();
        writer.statistics(0, "more followed").unwrap();
        let blocks = blocks(&writer.finish().unwrap());
        let kinds: Vec<u32> = blocks.iter().map(|block| block.0).collect();
        assert_eq!(kinds, [SECTION, INTERFACE, INTERFACE, PACKET, STATISTICS]);
        assert_eq!(blocks[0].1[..4], 0x1a2b_3c4d_u32.to_le_bytes());
        let of_interface = options(&blocks[2].1[8..]);
        assert_eq!(of_interface[0], (NAME, b"rank 0 received".to_vec()));
        assert_eq!(of_interface[1], (RESOLUTION, vec![9]));
        let packet = &blocks[3].1;
        assert_eq!(packet[..4], [1, 0, 0, 0]);
        assert_eq!(packet[4..12], [0x67, 0x45, 0x23, 1, 0xef, 0xcd, 0xab, 0x89]);
        assert_eq!(packet[12..20], [5, 0, 0, 0, 0xbc, 2, 0, 0]);
        assert_eq!(packet[20..28], [1, 2, 3, 4, 5, 0, 0, 0]);
        assert_eq!(options(&packet[28..]), [(FLAGS, vec![1, 0, 0, 0])]);
        let comment = options(&blocks[4].1[12..]);
        assert_eq!(comment, [(COMMENT, b"more followed".to_vec())]);
    }
}
