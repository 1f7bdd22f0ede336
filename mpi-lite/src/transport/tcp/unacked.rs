//! Bytes that the system has taken and the peer's system has not acknowledged.
#![expect(
    unsafe_code,
    reason = "a request of the system says itself what it writes"
)]

use std::os::fd::AsFd;

use rustix::ioctl::{Getter, Opcode, ioctl};

/// Returns true if there are such bytes on `socket`. Source: tcp(7), SIOCOUTQ.
pub(super) fn has_unacked(socket: impl AsFd) -> bool {
    const SIOCOUTQ: Opcode = libc::TIOCOUTQ as Opcode;
    // SAFETY: the request writes one int, as tcp(7) says.
    let unacked = unsafe { ioctl(socket, Getter::<SIOCOUTQ, libc::c_int>::new()) };
    // A connection that has failed holds nothing up: its loss is reported.
    unacked.is_ok_and(|bytes| bytes > 0)
}
