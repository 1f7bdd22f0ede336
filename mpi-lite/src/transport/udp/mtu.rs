//! The longest datagram that an interface carries without fragments.
//!
//! Fragments that were put together wrongly pass the 16-bit checksum at high rates (RFC 4963), so
//! a datagram never exceeds the MTU. The system is asked by ioctl: in a network namespace of
//! its own /sys may still show the interfaces of another.
#![expect(unsafe_code, reason = "an ioctl takes a raw pointer")]

use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::wrap::{DATAGRAM_MAX, WRAP_BYTES};

/// An Ethernet's MTU, used if the interface reports none.
const ETHERNET_MTU: usize = 1500;

/// Bytes of a packet, its header included, on the interface that has `address`; any `socket` can
/// ask.
pub(super) fn packet_bytes(address: IpAddr, socket: BorrowedFd<'_>) -> usize {
    let headers = if address.is_ipv4() { 20 + 8 } else { 40 + 8 };
    let mtu = interface_mtu(address, socket).unwrap_or(ETHERNET_MTU);
    let datagram = mtu.saturating_sub(headers).min(DATAGRAM_MAX);
    datagram.saturating_sub(WRAP_BYTES)
}

fn interface_mtu(address: IpAddr, socket: BorrowedFd<'_>) -> Option<usize> {
    let interfaces = if_addrs::get_if_addrs().ok()?;
    let loopback = address.is_loopback().then(|| "lo".to_owned());
    let name = interfaces
        .into_iter()
        .find(|interface| interface.ip() == address)
        .map(|interface| interface.name)
        .or(loopback)?;
    mtu_of(&name, socket)
}

/// The MTU of the interface `name`. Source: netdevice(7), SIOCGIFMTU.
fn mtu_of(name: &str, socket: BorrowedFd<'_>) -> Option<usize> {
    // SAFETY: all-zero bytes are a valid ifreq.
    let mut request: libc::ifreq = unsafe { core::mem::zeroed() };
    // The last byte stays zero: it ends the name.
    let room = request.ifr_name.len() - 1;
    for (place, byte) in request.ifr_name[..room].iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    // SAFETY: the ioctl reads a name from an ifreq and writes a number to it.
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFMTU, &raw mut request) };
    // SAFETY: the system has written this field, or left the zeros.
    let mtu = unsafe { request.ifr_ifru.ifru_mtu };
    (answer == 0).then(|| usize::try_from(mtu).ok())?
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::os::fd::AsFd;

    use super::*;

    fn on(address: IpAddr) -> usize {
        // Any descriptor of a socket will do.
        let (socket, _) = std::os::unix::net::UnixStream::pair().unwrap();
        packet_bytes(address, socket.as_fd())
    }

    #[test]
    fn a_packet_with_its_headers_fits_the_greatest_datagram() {
        let bytes = on(Ipv4Addr::LOCALHOST.into());
        assert!(bytes + WRAP_BYTES <= DATAGRAM_MAX);
    }

    #[test]
    fn the_loopback_tells_its_mtu() {
        let text = std::fs::read_to_string("/proc/net/if_inet6").unwrap_or_default();
        let has_loopback = text.lines().any(|line| line.ends_with(" lo"));
        let (socket, _) = std::os::unix::net::UnixStream::pair().unwrap();
        let mtu = mtu_of("lo", socket.as_fd());
        assert!(mtu.is_some() || !has_loopback);
        assert_eq!(mtu_of("no such interface", socket.as_fd()), None);
    }

    #[test]
    fn an_unknown_interface_counts_as_ethernet() {
        let nowhere = IpAddr::from([203, 0, 113, 7]);
        assert_eq!(on(nowhere), 1500 - 28 - 16);
    }
}
