//! Ports of the sockets of this process.

use std::io;
use std::net::{IpAddr, SocketAddr};

use socket2::Socket;

use crate::config::PortRange;

/// Binds `socket` to the first free port of `range` at `address`; without one the system chooses.
///
/// # Errors
/// The system's, or that no port of `range` is free.
pub(super) fn bind_port(
    socket: &Socket,
    address: IpAddr,
    range: Option<PortRange>,
) -> io::Result<()> {
    let bind = |port| socket.bind(&SocketAddr::new(address, port).into());
    let Some(range) = range else {
        return bind(0);
    };
    for port in range.first..=range.last {
        match bind(port) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            other => return other,
        }
    }
    Err(io::Error::new(
        io::ErrorKind::AddrInUse,
        format!(
            "no port of {range} is free, and each rank of this host needs one: ask for more \
             (--port-range, MPILITE_PORT_RANGE)"
        ),
    ))
}
