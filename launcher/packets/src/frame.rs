//! The frame around a datagram: Ethernet II, IPv4 or IPv6, UDP, and the wrap of docs/protocol.md.
//!
//! No rank sees the real headers, so these are made from the ranks' addresses. MAC addresses are
//! locally administered and end with the rank. The checksum of UDP is 0 (none): not all bytes of a
//! long body are recorded. The mark of the wrap is 0 as well, so that nothing of a key is shown.

use std::net::{IpAddr, SocketAddr};

use mpi_boot::packets::{Preamble, Record};

use crate::records::ends;

const WRAP_BYTES: usize = 16;
const UDP_BYTES: usize = 8;
const UDP: u8 = 17;
const HOPS: u8 = 64;

/// The recorded bytes of the frame, and how long it was.
pub(crate) fn of(preamble: &Preamble, record: &Record) -> (Vec<u8>, usize) {
    let (from, to) = ends(preamble.rank, record);
    let address = |rank: u32| preamble.addresses[rank as usize];
    let datagram_bytes = WRAP_BYTES + record.bytes as usize;
    let mut bytes = Vec::with_capacity(128 + record.kept.len());
    for rank in [to, from] {
        bytes.extend([2, 0]);
        bytes.extend(rank.to_be_bytes());
    }
    append_ip(
        &mut bytes,
        (address(from), address(to)),
        UDP_BYTES + datagram_bytes,
    );
    for port in [address(from).port(), address(to).port()] {
        bytes.extend(port.to_be_bytes());
    }
    bytes.extend(short(UDP_BYTES + datagram_bytes));
    bytes.extend([0, 0]);
    let headers = bytes.len();
    bytes.extend([0; 8]);
    bytes.extend(from.to_be_bytes());
    bytes.extend(short(datagram_bytes));
    bytes.extend([0, 0]);
    bytes.extend(&record.kept);
    (bytes, headers + datagram_bytes)
}

/// Appends the type of the frame and the header of IP (RFC 791, RFC 8200).
fn append_ip(bytes: &mut Vec<u8>, ends: (SocketAddr, SocketAddr), payload_bytes: usize) {
    match (ends.0.ip(), ends.1.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            bytes.extend([0x08, 0x00]);
            let mut header = [0; 20];
            header[0] = 0x45;
            header[2..4].copy_from_slice(&short(20 + payload_bytes));
            header[6] = 0x40;
            (header[8], header[9]) = (HOPS, UDP);
            header[12..16].copy_from_slice(&from.octets());
            header[16..20].copy_from_slice(&to.octets());
            let sum = checksum(&header).to_be_bytes();
            header[10..12].copy_from_slice(&sum);
            bytes.extend(header);
        }
        (from, to) => {
            bytes.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            bytes.extend(short(payload_bytes));
            bytes.extend([UDP, HOPS]);
            for ip in [from, to] {
                let ip = match ip {
                    IpAddr::V4(ip) => ip.to_ipv6_mapped(),
                    IpAddr::V6(ip) => ip,
                };
                bytes.extend(ip.octets());
            }
        }
    }
}

/// A length of 16 bits.
fn short(bytes: usize) -> [u8; 2] {
    u16::try_from(bytes).unwrap_or(u16::MAX).to_be_bytes()
}

/// The checksum of a header (RFC 1071).
fn checksum(header: &[u8; 20]) -> u16 {
    let words = header.as_chunks::<2>().0.iter();
    let mut sum: u32 = words.map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use mpi_boot::packets::{RMPP, Way};

    use super::*;

    fn frame(addresses: [&str; 2], way: Way) -> (Vec<u8>, usize) {
        let preamble = Preamble {
            has_loss: false,
            rank: 0,
            packet_bytes: 1000,
            addresses: addresses.map(|it| it.parse().unwrap()).to_vec(),
        };
        let record = Record {
            time: 1,
            way,
            protocol: RMPP,
            peer: 1,
            bytes: 500,
            kept: vec![9; 100],
        };
        of(&preamble, &record)
    }

    #[test]
    fn lengths_and_checksum_are_those_of_the_whole_datagram() {
        let (bytes, original) = frame(["10.0.0.1:258", "10.0.0.2:772"], Way::Sent);
        assert_eq!(
            (bytes.len(), original),
            (14 + 28 + 16 + 100, 14 + 28 + 16 + 500)
        );
        let header = bytes[14..34].try_into().unwrap();
        assert_eq!(checksum(header), 0);
        assert_eq!(bytes[34..38], [1, 2, 3, 4]);
        assert_eq!(bytes[38..40], 524_u16.to_be_bytes());
        assert_eq!(bytes[42..50], [0; 8], "no mark");
        assert_eq!(bytes[50..56], [0, 0, 0, 0, 2, 4]);
    }

    #[test]
    fn what_is_received_goes_the_other_way() {
        let (bytes, _) = frame(["10.0.0.1:258", "10.0.0.2:772"], Way::Received);
        assert_eq!(bytes[26..30], [10, 0, 0, 2]);
        assert_eq!(bytes[34..38], [3, 4, 1, 2]);
        assert_eq!(bytes[50..54], [0, 0, 0, 1]);
    }

    #[test]
    fn ipv6_has_its_own_header() {
        let (bytes, original) = frame(["[fd00::1]:258", "[fd00::2]:772"], Way::Sent);
        assert_eq!(original, 14 + 48 + 16 + 500);
        assert_eq!(bytes[12..14], [0x86, 0xdd]);
        assert_eq!(bytes[18..20], 524_u16.to_be_bytes());
        assert_eq!((bytes[22], bytes[37], bytes[53]), (0xfd, 1, 2));
    }
}
