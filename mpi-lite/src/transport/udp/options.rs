//! Options of a socket.
#![expect(unsafe_code, reason = "options of the system are numbers and pointers")]

use std::io;
use std::os::fd::AsRawFd;

/// Asks for buffers of `bytes`: a privileged process may exceed the system's limit, others get as
/// much as is allowed. `receive_buffer` reads back what was granted.
pub(super) fn enlarge_buffers(socket: &socket2::Socket, bytes: u64) {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    for (forced, asked) in [
        (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF),
        (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF),
    ] {
        if set(socket, libc::SOL_SOCKET, forced, bytes).is_err() {
            let _ = set(socket, libc::SOL_SOCKET, asked, bytes);
        }
    }
}

/// How many datagrams the system dropped because the socket's buffer was full; 0 if it does not
/// report that (before Linux 4.12). Source: linux/sock_diag.h.
pub(super) fn overflowed(socket: &socket2::Socket) -> u64 {
    const SO_MEMINFO: libc::c_int = 55;
    const SK_MEMINFO_DROPS: usize = 8;
    let mut values = [0_u32; SK_MEMINFO_DROPS + 1];
    let mut bytes = size_of_val(&values) as libc::socklen_t;
    // SAFETY: the option writes at most `bytes` bytes of 32-bit numbers to `values`.
    unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_MEMINFO,
            values.as_mut_ptr().cast(),
            &raw mut bytes,
        );
    }
    values[SK_MEMINFO_DROPS].into()
}

/// Makes the system refuse datagrams that the path does not carry whole, or cut them into
/// fragments. Source: ip(7), ipv6(7).
pub(super) fn forbid_fragments(
    socket: &socket2::Socket,
    is_ipv4: bool,
    forbid: bool,
) -> io::Result<()> {
    let (level, option, value) = match (is_ipv4, forbid) {
        (true, true) => (
            libc::IPPROTO_IP,
            libc::IP_MTU_DISCOVER,
            libc::IP_PMTUDISC_DO,
        ),
        (true, false) => (
            libc::IPPROTO_IP,
            libc::IP_MTU_DISCOVER,
            libc::IP_PMTUDISC_DONT,
        ),
        (false, true) => (
            libc::IPPROTO_IPV6,
            libc::IPV6_MTU_DISCOVER,
            IPV6_PMTUDISC_DO,
        ),
        (false, false) => (
            libc::IPPROTO_IPV6,
            libc::IPV6_MTU_DISCOVER,
            IPV6_PMTUDISC_DONT,
        ),
    };
    set(socket, level, option, value)
}

const IPV6_PMTUDISC_DONT: libc::c_int = 0;
const IPV6_PMTUDISC_DO: libc::c_int = 2;

/// Sets an option that is one number.
pub(super) fn set(
    socket: &socket2::Socket,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the option takes a c_int, whose address and size are given.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of_val(&value) as u32,
        )
    };
    if answer == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
