//! Addresses and messages in the form of the system's calls.
#![expect(
    unsafe_code,
    reason = "messages of the system begin as zeros; calls of the system take raw pointers"
)]

use std::os::fd::AsRawFd;

use socket2::SockAddr;

use super::wrap::FITS;

/// The socket, and the addresses of the peers.
pub(super) struct Ends {
    pub(super) socket: socket2::Socket,
    /// The addresses, by rank.
    pub(super) peers: Vec<SockAddr>,
    /// The socket is connected to the only peer.
    pub(super) is_connected: bool,
    /// The system takes bursts.
    pub(super) may_burst: bool,
    /// The system takes and gives several messages in a call. A sandbox may forbid these calls.
    pub(super) may_batch: bool,
}

/// Returns true if the system takes and gives several messages of `socket` in a call. It is asked
/// for none at all: the answer is about the calls, not about a way on the network.
pub(super) fn has_batches(socket: &socket2::Socket) -> bool {
    let (socket, nothing) = (socket.as_raw_fd(), core::ptr::null_mut::<libc::mmsghdr>());
    let no_time = core::ptr::null_mut::<libc::timespec>();
    // SAFETY: the calls read and write no message, and no time.
    let (sent, received) = unsafe {
        (
            libc::syscall(libc::SYS_sendmmsg, socket, nothing, 0, 0),
            libc::syscall(libc::SYS_recvmmsg, socket, nothing, 0, 0, no_time),
        )
    };
    sent == 0 && received == 0
}

impl Ends {
    /// The address of a rank, for the system; null if the socket is connected.
    #[inline]
    pub(super) fn name_of(&self, to: u32) -> (*mut libc::c_void, u32) {
        if self.is_connected {
            return (core::ptr::null_mut(), 0);
        }
        let peer = &self.peers[to as usize];
        (peer.as_ptr().cast_mut().cast(), peer.len())
    }
}

/// Bytes of an address, of whatever family.
pub(super) const ADDRESS_BYTES: u32 = size_of::<libc::sockaddr_storage>() as u32;

/// A message without control data, for `sendmmsg` and `recvmmsg`.
#[inline]
pub(super) fn message(
    vectors: *mut libc::iovec,
    count: usize,
    name: *mut libc::c_void,
    name_bytes: u32,
) -> libc::mmsghdr {
    // SAFETY: all-zero bytes are a valid mmsghdr; it has private padding on some systems.
    let mut message: libc::mmsghdr = unsafe { core::mem::zeroed() };
    message.msg_hdr.msg_iov = vectors;
    message.msg_hdr.msg_iovlen = count;
    message.msg_hdr.msg_name = name;
    message.msg_hdr.msg_namelen = name_bytes;
    message
}

/// Control message with the length of the packets of a burst: a `cmsghdr` and its data.
#[repr(C)]
pub(super) struct Control {
    len: usize,
    level: libc::c_int,
    kind: libc::c_int,
    segment_bytes: u16,
    padding: [u8; 6],
}

impl Control {
    pub(super) fn of(segment_bytes: usize) -> Self {
        Self {
            // The header and the data, without padding: `CMSG_LEN(2)`.
            len: size_of::<usize>() + 2 * size_of::<libc::c_int>() + size_of::<u16>(),
            level: libc::SOL_UDP,
            kind: libc::UDP_SEGMENT,
            segment_bytes: u16::try_from(segment_bytes).expect(FITS),
            padding: [0; 6],
        }
    }
}
