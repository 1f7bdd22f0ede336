//! How much an interface carries without cutting a datagram into fragments.
//!
//! Fragments that were put together wrongly pass the 16-bit checksum at high rates (RFC 4963), so
//! a datagram never exceeds the MTU.

use std::net::IpAddr;

use super::{DATAGRAM_MAX, WRAP_BYTES};

/// An Ethernet's MTU, where the interface does not tell.
const ETHERNET_MTU: usize = 1500;

/// Payload bytes of an RMPP packet on the interface that has `address`.
pub(super) fn packet_bytes(address: IpAddr) -> u64 {
    let headers = if address.is_ipv4() { 20 + 8 } else { 40 + 8 };
    let mtu = interface_mtu(address).unwrap_or(ETHERNET_MTU);
    let datagram = mtu.saturating_sub(headers).min(DATAGRAM_MAX);
    datagram.saturating_sub(WRAP_BYTES + rmpp_core::FAST_HEADER_BYTES) as u64
}

fn interface_mtu(address: IpAddr) -> Option<usize> {
    let interfaces = if_addrs::get_if_addrs().ok()?;
    let loopback = address.is_loopback().then(|| "lo".to_owned());
    let name = interfaces
        .into_iter()
        .find(|interface| interface.ip() == address)
        .map(|interface| interface.name)
        .or(loopback)?;
    let text = std::fs::read_to_string(format!("/sys/class/net/{name}/mtu")).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn a_packet_with_its_headers_fits_the_greatest_datagram() {
        let bytes = packet_bytes(Ipv4Addr::LOCALHOST.into()) as usize;
        assert!(bytes + WRAP_BYTES + rmpp_core::FAST_HEADER_BYTES <= DATAGRAM_MAX);
    }

    #[test]
    fn an_unknown_interface_counts_as_ethernet() {
        let nowhere = IpAddr::from([203, 0, 113, 7]);
        assert_eq!(packet_bytes(nowhere), 1500 - 28 - 16 - 36);
    }
}
