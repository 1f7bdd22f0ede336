//! The only file that opens a socket: batches of datagrams in and out of one UDP socket.
//!
//! A datagram is: the job's cookie (8 bytes), the sender's rank (4 bytes), 4 bytes that are zero,
//! then the packet. What does not begin so, or does not come from the address that its rank
//! published, is counted and dropped here, unanswered (rules E and S).
#![expect(unsafe_code, reason = "sendmmsg and recvmmsg take raw pointers")]

use core::mem::MaybeUninit;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rmpp_core::{FAST_HEADER_BYTES, MAX_HEADER_BYTES};
use socket2::{Domain, Protocol, SockAddr, Type};

use super::super::ENVELOPE_BYTES;
use crate::counters::Datagrams;
use crate::memory::Span;

/// Bytes in front of each packet.
pub(crate) const WRAP_BYTES: usize = 16;

/// Datagrams per system call.
const BATCH: usize = 16;

const HEAD_BYTES: usize = WRAP_BYTES + MAX_HEADER_BYTES + ENVELOPE_BYTES;

#[derive(Clone, Copy)]
struct Head {
    bytes: [u8; HEAD_BYTES],
    len: usize,
    to: u32,
    body: Span,
}

/// One UDP socket with its batches.
pub(super) struct Socket {
    socket: socket2::Socket,
    wrap: [u8; WRAP_BYTES],
    peers: Vec<SockAddr>,
    /// There is one peer only, and the system knows its address.
    is_connected: bool,
    /// A path was narrower than its interface: the system may cut datagrams into fragments.
    may_fragment: bool,
    /// Datagrams that wait for `flush`.
    heads: Vec<Head>,
    slot_bytes: usize,
    slots: Vec<u8>,
    lens: [usize; BATCH],
    sources: [libc::sockaddr_storage; BATCH],
    received: usize,
    /// How many datagrams the next system call asks for.
    ask: usize,
    next: usize,
    counters: Datagrams,
}

impl core::fmt::Debug for Socket {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Socket")
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

impl Socket {
    /// Opens a socket on `address`, any port, with buffers of about `buffer_bytes`.
    ///
    /// # Errors
    /// The system's.
    #[expect(clippy::disallowed_methods, reason = "this file opens sockets")]
    pub(super) fn bind(address: IpAddr, buffer_bytes: usize) -> io::Result<Self> {
        let domain = Domain::for_address(SocketAddr::new(address, 0));
        let socket = socket2::Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
        // As large as allowed; what was granted is read back by `receive_buffer`.
        let _ = socket.set_recv_buffer_size(buffer_bytes);
        let _ = socket.set_send_buffer_size(buffer_bytes);
        if address.is_ipv4() {
            discover_mtu(&socket, libc::IP_PMTUDISC_DO)?;
        }
        socket.bind(&SocketAddr::new(address, 0).into())?;
        Ok(Self {
            socket,
            wrap: [0; WRAP_BYTES],
            peers: Vec::new(),
            is_connected: false,
            may_fragment: false,
            heads: Vec::with_capacity(BATCH),
            slot_bytes: 0,
            slots: Vec::new(),
            lens: [0; BATCH],
            // SAFETY: all-zero bytes are a valid address: of no family.
            sources: unsafe { core::mem::zeroed() },
            received: 0,
            ask: 1,
            next: 0,
            counters: Datagrams::default(),
        })
    }

    /// Where the socket listens.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        let address = self.socket.local_addr()?;
        address
            .as_socket()
            .ok_or_else(|| io::ErrorKind::AddrNotAvailable.into())
    }

    /// Bytes of the receive buffer as the kernel counts them.
    #[must_use]
    pub(super) fn receive_buffer(&self) -> usize {
        self.socket.recv_buffer_size().unwrap_or(212_992)
    }

    /// Tells the socket its job: own rank, cookie, the addresses by rank, the packet size.
    pub(super) fn know(
        &mut self,
        me: u32,
        cookie: u64,
        peers: impl Iterator<Item = SocketAddr>,
        packet_bytes: usize,
    ) {
        self.wrap[..8].copy_from_slice(&cookie.to_be_bytes());
        self.wrap[8..12].copy_from_slice(&me.to_be_bytes());
        self.peers = peers.map(SockAddr::from).collect();
        if let [first, second] = &self.peers[..] {
            // The only other rank: the system then need not find the route for each datagram.
            let other = if me == 0 { second } else { first };
            self.is_connected = self.socket.connect(other).is_ok();
        }
        // One byte more than the longest, so that a longer one shows.
        self.slot_bytes = WRAP_BYTES + FAST_HEADER_BYTES + packet_bytes + 1;
        self.slots = vec![0; BATCH * self.slot_bytes];
    }

    /// What was counted, here and by the system.
    #[must_use]
    pub(super) fn counters(&self) -> Datagrams {
        Datagrams {
            overflowed: overflowed(&self.socket),
            ..self.counters.clone()
        }
    }

    /// Queues one datagram; the body stays in the user's memory until `flush`.
    #[inline]
    pub(super) fn push(&mut self, to: u32, header: &[u8], envelope: &[u8], body: Span) {
        if self.heads.len() == BATCH {
            self.flush();
        }
        let mut bytes = [0; HEAD_BYTES];
        let (wrap, rest) = bytes.split_at_mut(WRAP_BYTES);
        wrap.copy_from_slice(&self.wrap);
        rest[..header.len()].copy_from_slice(header);
        rest[header.len()..][..envelope.len()].copy_from_slice(envelope);
        let len = WRAP_BYTES + header.len() + envelope.len();
        self.heads.push(Head {
            bytes,
            len,
            to,
            body,
        });
    }

    /// Sends what was queued. A datagram that the system refuses counts as lost on the way: the
    /// protocol repeats it.
    pub(super) fn flush(&mut self) {
        let mut done = 0;
        while done < self.heads.len() {
            let rest = &self.heads[done..];
            self.counters.send_calls += 1;
            done += match self.send_batch(rest) {
                Ok(sent) => {
                    self.counters.datagrams_sent += sent as u64;
                    sent.max(1)
                }
                Err(error) if self.allow_fragments(&error) => 0,
                // A refused datagram is the first of the rest: skip it.
                Err(_) => {
                    self.counters.refused += 1;
                    1
                }
            };
        }
        self.heads.clear();
    }

    /// Answers whether `error` says that a path is narrower than its interface, as tunnels are, and
    /// fragments help: they were forbidden until now. Repeating the datagram whole never would.
    #[cold]
    fn allow_fragments(&mut self, error: &io::Error) -> bool {
        let is_too_long = error.raw_os_error() == Some(libc::EMSGSIZE);
        if !is_too_long || self.may_fragment {
            return false;
        }
        self.may_fragment = true;
        discover_mtu(&self.socket, libc::IP_PMTUDISC_DONT).is_ok()
    }

    /// The next datagram of a known sender: its rank and the packet. `None`: nothing is there.
    pub(super) fn next(&mut self) -> Option<(u32, &[u8])> {
        loop {
            if self.next == self.received {
                self.next = 0;
                self.received = self.receive_batch();
                if self.received == 0 {
                    return None;
                }
            }
            self.next += 1;
            if let Some(from) = self.sift(self.next - 1) {
                return Some((from, self.current()));
            }
        }
    }

    /// The packet that `next` answered last.
    #[must_use]
    pub(super) fn current(&self) -> &[u8] {
        let slot = self.next - 1;
        &self.slots[slot * self.slot_bytes..][WRAP_BYTES..self.lens[slot]]
    }

    /// Whether `next` must ask the system for more.
    #[must_use]
    pub(super) fn is_drained(&self) -> bool {
        self.next == self.received
    }

    /// What becomes readable when a datagram comes.
    #[must_use]
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Rules E and S: job, length, sender and address, before any state is touched.
    fn sift(&mut self, slot: usize) -> Option<u32> {
        let len = self.lens[slot];
        let datagram = &self.slots[slot * self.slot_bytes..][..len];
        if len < WRAP_BYTES || len == self.slot_bytes || datagram[..8] != self.wrap[..8] {
            self.counters.foreign += 1;
            return None;
        }
        let sender = u32::from_be_bytes(datagram[8..12].try_into().expect("four bytes"));
        let known = self.peers.get(sender as usize);
        if !known.is_some_and(|known| is_address(&self.sources[slot], known)) {
            self.counters.misplaced += 1;
            return None;
        }
        Some(sender)
    }

    /// Asks for one datagram, and for twice as many each time that all came: a lone packet is not
    /// held up by the search for a second one, a stream costs few system calls.
    fn receive_batch(&mut self) -> usize {
        let ask = self.ask;
        let mut vectors = blank::<libc::iovec>();
        let mut headers = blank::<libc::mmsghdr>();
        for slot in 0..ask {
            let vector = vectors[slot].write(libc::iovec {
                iov_base: self.slots[slot * self.slot_bytes..].as_mut_ptr().cast(),
                iov_len: self.slot_bytes,
            });
            let source = core::ptr::from_mut(&mut self.sources[slot]).cast();
            headers[slot].write(message(vector, 1, source, ADDRESS_BYTES));
        }
        // SAFETY: `ask` headers are written; each points to one iovec within `slots` and to one
        // address; all outlive the call. As a bare system call it is no cancellation point of
        // the C library, which costs more than the call's own work.
        let received = unsafe {
            libc::syscall(
                libc::SYS_recvmmsg,
                self.socket.as_raw_fd(),
                headers.as_mut_ptr(),
                ask,
                libc::MSG_DONTWAIT,
                core::ptr::null_mut::<libc::timespec>(),
            )
        };
        let received = usize::try_from(received).unwrap_or(0);
        self.counters.receive_calls += 1;
        self.counters.datagrams_received += received as u64;
        for (len, header) in self.lens.iter_mut().zip(&headers[..received]) {
            // SAFETY: the first `received` of the `ask` headers were written above.
            *len = unsafe { header.assume_init_ref() }.msg_len as usize;
        }
        self.ask = if received == ask {
            BATCH.min(2 * ask)
        } else {
            1
        };
        received
    }

    /// Where a datagram goes, for the system; null if it knows.
    fn name_of(&self, to: u32) -> (*mut libc::c_void, u32) {
        if self.is_connected {
            return (core::ptr::null_mut(), 0);
        }
        let peer = &self.peers[to as usize];
        (peer.as_ptr().cast_mut().cast(), peer.len())
    }

    /// Sends the first of `heads`, at most a batch; answers how many the system took.
    fn send_batch(&self, heads: &[Head]) -> io::Result<usize> {
        let mut vectors = blank::<[libc::iovec; 2]>();
        let mut headers = blank::<libc::mmsghdr>();
        let count = heads.len().min(BATCH);
        for (slot, head) in heads[..count].iter().enumerate() {
            let body = head.body.io_slice();
            let parts = vectors[slot].write([
                libc::iovec {
                    iov_base: head.bytes.as_ptr().cast_mut().cast(),
                    iov_len: head.len,
                },
                libc::iovec {
                    iov_base: body.as_ptr().cast_mut().cast(),
                    iov_len: body.len(),
                },
            ]);
            let used = if body.is_empty() { 1 } else { 2 };
            let (name, name_bytes) = self.name_of(head.to);
            headers[slot].write(message(parts.as_mut_ptr(), used, name, name_bytes));
        }
        // SAFETY: `count` headers are written; they point to iovecs, addresses and bytes that
        // outlive the call. The socket blocks while the system has no buffer: nothing of ours is
        // needed to free one.
        let sent = unsafe {
            libc::syscall(
                libc::SYS_sendmmsg,
                self.socket.as_raw_fd(),
                headers.as_mut_ptr(),
                count,
                libc::MSG_NOSIGNAL,
            )
        };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }
}

/// A batch of things that are written before the system reads them.
fn blank<T>() -> [MaybeUninit<T>; BATCH] {
    [const { MaybeUninit::uninit() }; BATCH]
}

/// Bytes of an address, of whatever family.
const ADDRESS_BYTES: u32 = size_of::<libc::sockaddr_storage>() as u32;

fn message(
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

/// Whether the kernel's `source` is the published address `known`.
fn is_address(source: &libc::sockaddr_storage, known: &SockAddr) -> bool {
    let source: *const libc::sockaddr_storage = source;
    if known.is_ipv4() {
        // SAFETY: a sockaddr_storage is large and aligned enough for any address.
        let source = unsafe { &*source.cast::<libc::sockaddr_in>() };
        let ip = Ipv4Addr::from(u32::from_be(source.sin_addr.s_addr));
        let port = u16::from_be(source.sin_port);
        return known.as_socket_ipv4() == Some(SocketAddrV4::new(ip, port));
    }
    // SAFETY: as above.
    let source = unsafe { &*source.cast::<libc::sockaddr_in6>() };
    let ip = Ipv6Addr::from(source.sin6_addr.s6_addr);
    let port = u16::from_be(source.sin6_port);
    known
        .as_socket_ipv6()
        .is_some_and(|known| *known.ip() == ip && known.port() == port)
}

/// How many datagrams the system dropped because the socket's buffer was full; 0 where it does not
/// tell (before Linux 4.12). Source: linux/sock_diag.h.
fn overflowed(socket: &socket2::Socket) -> u64 {
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

/// Whether the system cuts long datagrams into fragments (`IP_PMTUDISC_DONT`) or refuses them
/// (`IP_PMTUDISC_DO`). Source: ip(7).
fn discover_mtu(socket: &socket2::Socket, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the option takes a c_int, whose address and size are given.
    let answer = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_MTU_DISCOVER,
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
