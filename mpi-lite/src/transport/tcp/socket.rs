//! The only file that opens sockets of TCP, with their options.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Protocol, Socket, Type};

use crate::config::PortRange;
use crate::transport::ports::take_port;

/// Connections that wait until this process accepts them.
const BACKLOG: i32 = 4096;

/// Opens a socket that listens on `address`, on the first free port of `range`; without one the
/// system chooses.
///
/// # Errors
/// The system's.
pub(super) fn listen(address: IpAddr, range: Option<PortRange>) -> io::Result<Socket> {
    take_port(range, |port| {
        let socket = open(address)?;
        socket.bind(&SocketAddr::new(address, port).into())?;
        // Another one may have bound this port too. Of those that begin to listen at the same time
        // one succeeds at most: each sees the other one listen.
        socket.listen(BACKLOG)?;
        Ok(socket)
    })
}

/// Where a socket listens.
///
/// # Errors
/// The system's.
pub(super) fn address(socket: &Socket) -> io::Result<SocketAddr> {
    let address = socket.local_addr()?.as_socket();
    address.ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
}

/// Begins a connection to `address`. It is there when the socket becomes writable.
///
/// # Errors
/// The system's.
pub(super) fn connect(address: SocketAddr, lost_after: Option<Duration>) -> io::Result<Socket> {
    let socket = open(address.ip())?;
    prepare(&socket, lost_after);
    match socket.connect(&address.into()) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(socket),
    }
}

/// Accepts the next connection.
///
/// # Errors
/// The system's; `WouldBlock`: there is none.
pub(super) fn accept(listener: &Socket, lost_after: Option<Duration>) -> io::Result<Socket> {
    let (socket, _) = listener.accept()?;
    socket.set_nonblocking(true)?;
    prepare(&socket, lost_after);
    Ok(socket)
}

#[expect(clippy::disallowed_methods, reason = "this file opens sockets")]
pub(super) fn open(address: IpAddr) -> io::Result<Socket> {
    let domain = Domain::for_address(SocketAddr::new(address, 0));
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    // A connection that has ended holds its port for a minute (TIME_WAIT), those that this host has
    // begun too; with this option at both a socket may listen there. Not where one listens already:
    // the system keeps that to the first one (socket(7), tcp(7)).
    socket.set_reuse_address(true)?;
    Ok(socket)
}

/// Small messages go at once; a peer that acknowledges nothing for `lost_after` is given up by the
/// system (tcp(7), TCP_NODELAY and TCP_USER_TIMEOUT). Where the system has no such option the
/// connection works without it.
fn prepare(socket: &Socket, lost_after: Option<Duration>) {
    let _ = sockopt::set_tcp_nodelay(socket, true);
    if let Some(lost_after) = lost_after {
        let millis = u32::try_from(lost_after.as_millis()).unwrap_or(u32::MAX);
        let _ = sockopt::set_tcp_user_timeout(socket, millis);
    }
}

/// A descriptor that stands for a connection when there is no other.
///
/// # Errors
/// The system's.
pub(super) fn spare() -> io::Result<OwnedFd> {
    Ok(rustix::event::eventfd(
        0,
        rustix::event::EventfdFlags::CLOEXEC,
    )?)
}

/// Lets this process have as many descriptors as it is allowed: raises the soft limit to the hard
/// one.
pub(super) fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum {
        let raised = Rlimit {
            current: maximum,
            maximum,
        };
        // Without it fewer connections are possible, which is reported when it matters.
        let _ = setrlimit(Resource::Nofile, raised);
    }
}

/// The limit of descriptors; `None`: there is none.
pub(super) fn limit() -> Option<u64> {
    getrlimit(Resource::Nofile).current
}

/// Returns true if `error` is that there is no descriptor left.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}
