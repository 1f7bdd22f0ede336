//! Datagrams on their way in.
//!
//! The system may hand over a whole train of datagrams in one stretch (`UDP_GRO`, see udp(7)). Each
//! wrap contains the length of its datagram, so a train is cut without control data of the system,
//! and a lone datagram needs only a plain `recvfrom`.
#![expect(unsafe_code, reason = "recvfrom and recvmmsg take raw pointers")]

use super::wrap::{DATAGRAM_MAX, WRAP_BYTES};
use core::mem::MaybeUninit;
use core::ops::Range;
use std::io::{self, IoSliceMut};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4};
use std::os::fd::AsRawFd;

use socket2::SockAddr;

use super::ends::{ADDRESS_BYTES, Ends, message};
use super::outbox::LENGTH_AT;
use super::protocol::Expected;
use super::seal::{Seal, Stray};
use crate::counters::Datagrams;
use crate::memory::Span;
use crate::memory::faults::is_fault;
use crate::transport::PeerId;

/// Stretches of one `recvmmsg`.
const BATCH: usize = 16;

/// Bytes of a stretch: the longest that the system hands over.
const SLOT_BYTES: usize = 65_536;

/// Datagrams that were received and not handled yet.
pub(super) struct Inbox {
    /// Bytes of the longest datagram.
    longest_bytes: usize,
    slots: Vec<u8>,
    lens: [usize; BATCH],
    sources: [libc::sockaddr_storage; BATCH],
    received: usize,
    /// How many stretches the next system call asks for.
    ask: usize,
    /// The last call returned as many stretches as it asked for.
    was_full: bool,
    /// The stretch in hand, and where in it the next datagram begins.
    slot: usize,
    at: usize,
    /// The system takes datagrams from the only peer's address alone, and none is left from the
    /// time before.
    is_private: bool,
    /// The packet in hand is the expected one, and its payload is in its place already.
    is_in_place: bool,
    /// Nothing is received in place any more. The system could not write to memory of the program
    /// once, and has dropped that datagram; each page that the program opens in its handler of
    /// SIGSEGV would cost another one.
    copies_all: bool,
}

impl Inbox {
    pub(super) fn new() -> Self {
        Self {
            longest_bytes: 0,
            slots: Vec::new(),
            lens: [0; BATCH],
            // SAFETY: all-zero bytes are a valid address: of no family.
            sources: unsafe { core::mem::zeroed() },
            received: 0,
            ask: 1,
            was_full: false,
            slot: 0,
            at: 0,
            is_private: false,
            is_in_place: false,
            copies_all: false,
        }
    }

    pub(super) fn know(&mut self, longest_bytes: usize) {
        self.longest_bytes = longest_bytes;
        self.slots = vec![0; BATCH * SLOT_BYTES];
    }

    /// Bytes of the longest datagram of the job.
    pub(super) fn longest_bytes(&self) -> usize {
        self.longest_bytes
    }

    /// The bytes at a place that `next` returned.
    #[inline]
    pub(super) fn bytes(&self, place: Range<usize>) -> &[u8] {
        &self.slots[place]
    }

    /// The next datagram of those in hand: its rank, and where its packets are.
    #[inline]
    pub(super) fn next(
        &mut self,
        ends: &Ends,
        seal: &mut Seal,
        counters: &mut Datagrams,
    ) -> Option<(u32, Range<usize>)> {
        while self.slot < self.received {
            let next = self.next_in_stretch(ends, seal, counters);
            if next.is_some() {
                return next;
            }
            (self.slot, self.at) = (self.slot + 1, 0);
        }
        None
    }

    /// The next datagram of the stretch in hand, if there is one.
    // Rules E and S: job, length, sender and address, before any state is touched.
    // For a lone datagram the call would cost as much as the look at it.
    #[inline(always)]
    pub(super) fn next_in_stretch(
        &mut self,
        ends: &Ends,
        seal: &mut Seal,
        counters: &mut Datagrams,
    ) -> Option<(u32, Range<usize>)> {
        while self.has_more_in_stretch() {
            let (start, end) = (self.slot * SLOT_BYTES, self.lens[self.slot]);
            let left = &self.slots[start + self.at..start + end];
            let from = self.validate(left, ends, (seal, counters));
            let begin = start + self.at;
            let Some((from, bytes)) = from else {
                // It is unknown where the next one begins.
                self.at = end;
                continue;
            };
            let is_train = self.at == 0 && bytes < end;
            self.at += bytes;
            match seal.open(from, &mut self.slots[begin..begin + bytes]) {
                Ok(packets) => {
                    counters.datagrams_received += 1;
                    counters.trains_received += u64::from(is_train);
                    return Some((from, begin + packets.start..begin + packets.end));
                }
                Err(Stray::Forged) => counters.forged += 1,
                Err(Stray::Replayed) => counters.replayed += 1,
            }
        }
        None
    }

    /// Returns true if the stretch in hand has more datagrams.
    #[inline]
    pub(super) fn has_more_in_stretch(&self) -> bool {
        self.slot < self.received && self.at < self.lens[self.slot]
    }

    /// Sender and length of the datagram that `left` begins with, if it is one of this job's.
    #[inline]
    fn validate(
        &self,
        left: &[u8],
        ends: &Ends,
        (seal, counters): (&Seal, &mut Datagrams),
    ) -> Option<(u32, usize)> {
        let Some(wrap) = left
            .first_chunk::<WRAP_BYTES>()
            .filter(|wrap| seal.seems_ours(wrap))
        else {
            counters.foreign += 1;
            return None;
        };
        let (sender, bytes) = read_wrap(wrap);
        if bytes < WRAP_BYTES || bytes > left.len().min(self.longest_bytes) {
            counters.foreign += 1;
            return None;
        }
        let known = ends.peers.get(sender as usize);
        let is_from = |known| self.is_private || is_address(&self.sources[self.slot], known);
        if !known.is_some_and(is_from) {
            counters.misplaced += 1;
            return None;
        }
        Some((sender, bytes))
    }

    /// Returns true if datagrams are in hand that `next` has not returned.
    #[inline]
    pub(super) fn has_more(&self) -> bool {
        self.slot < self.received
    }

    /// Returns true if another stretch is in hand behind the present one.
    #[inline]
    pub(super) fn is_at_end_of_stretch(&self) -> bool {
        self.slot < self.received && self.at >= self.lens[self.slot]
    }

    /// Returns true if the last call returned as many stretches as it asked for: there may be more.
    #[inline]
    pub(super) fn was_full(&self) -> bool {
        self.was_full
    }

    /// Asks the system for one stretch, and for twice as many each time that all came twice in a
    /// row: a lone packet is not held up by the search for a second one, a stream costs few calls.
    /// Returns true if anything came.
    ///
    /// The payload of the packet that is `expected` goes straight to its place: one copy less.
    #[inline]
    pub(super) fn fetch(&mut self, ends: &Ends, expected: Option<(impl Expected, Span)>) -> bool {
        (self.slot, self.at) = (0, 0);
        self.is_in_place = false;
        let is_apart = |expected: &(_, _)| !self.copies_all && is_alone(&expected.0);
        if let Some((expected, place)) = expected.filter(is_apart) {
            (self.ask, self.was_full) = (1, false);
            self.received = self.receive_apart(ends, &expected, place);
            return self.received > 0;
        }
        self.received = if self.ask == 1 {
            self.receive_one(ends)
        } else {
            self.receive_batch(ends)
        };
        if self.received == 0 {
            self.is_private = ends.is_connected;
        }
        let was_full = self.received == self.ask;
        self.ask = match (was_full, self.was_full) {
            (true, true) if ends.may_batch => BATCH.min(2 * self.ask),
            (true, _) => self.ask,
            (false, _) => 1,
        };
        self.was_full = was_full;
        self.received > 0
    }

    fn receive_one(&mut self, ends: &Ends) -> usize {
        let mut source_bytes = ADDRESS_BYTES;
        let (source, source_len): (*mut libc::sockaddr_storage, *mut u32) = if self.is_private {
            (core::ptr::null_mut(), core::ptr::null_mut())
        } else {
            (&raw mut self.sources[0], &raw mut source_bytes)
        };
        // SAFETY: the first slot has `SLOT_BYTES` bytes, the address its length; all outlive the
        // call. As a bare system call it is no cancellation point of the C library, which costs
        // more than the call's own work.
        let len = unsafe {
            libc::syscall(
                libc::SYS_recvfrom,
                ends.socket.as_raw_fd(),
                self.slots.as_mut_ptr(),
                SLOT_BYTES,
                libc::MSG_DONTWAIT,
                source,
                source_len,
            )
        };
        let Ok(len) = usize::try_from(len) else {
            return 0;
        };
        self.lens[0] = len;
        1
    }

    /// Receives one stretch whose payload goes to `place` if it is the one that is `expected`.
    // Rules R and S: `place` is missing from its message, so other bytes that come there do no
    // harm; they are moved away before anybody looks at them.
    fn receive_apart(&mut self, ends: &Ends, expected: &impl Expected, mut place: Span) -> usize {
        let (head_bytes, place_bytes) = (WRAP_BYTES + expected.header_bytes(), place.len());
        let (head, rest) = self.slots[..SLOT_BYTES].split_at_mut(head_bytes);
        let mut vectors = [
            IoSliceMut::new(head),
            place.io_slice_mut(),
            IoSliceMut::new(&mut rest[place_bytes..]),
        ];
        let source = core::ptr::from_mut(&mut self.sources[0]).cast();
        let vector = vectors.as_mut_ptr().cast();
        let mut message = message(vector, vectors.len(), source, ADDRESS_BYTES);
        // SAFETY: the vectors (an `IoSliceMut` is an iovec) and the address outlive the call.
        let len = unsafe {
            libc::syscall(
                libc::SYS_recvmsg,
                ends.socket.as_raw_fd(),
                &raw mut message.msg_hdr,
                libc::MSG_DONTWAIT,
            )
        };
        let Ok(len) = usize::try_from(len) else {
            self.copies_all = is_fault(&io::Error::last_os_error());
            return 0;
        };
        self.lens[0] = len;
        let datagram = &mut self.slots[..len];
        if len == head_bytes + place_bytes && is_expected(expected, &datagram[..head_bytes]) {
            self.is_in_place = true;
        } else if len > head_bytes {
            let there = place.part(0, len - head_bytes);
            there.read_into(&mut datagram[head_bytes..]);
        }
        1
    }

    /// Returns true if the packet in hand is the expected one, and its payload is at its place.
    #[inline]
    pub(super) fn is_in_place(&self) -> bool {
        self.is_in_place
    }

    fn receive_batch(&mut self, ends: &Ends) -> usize {
        let ask = self.ask;
        let mut vectors = [const { MaybeUninit::<libc::iovec>::uninit() }; BATCH];
        let mut messages = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; BATCH];
        for slot in 0..ask {
            let vector = vectors[slot].write(libc::iovec {
                iov_base: self.slots[slot * SLOT_BYTES..].as_mut_ptr().cast(),
                iov_len: SLOT_BYTES,
            });
            let source = core::ptr::from_mut(&mut self.sources[slot]).cast();
            messages[slot].write(message(vector, 1, source, ADDRESS_BYTES));
        }
        // SAFETY: `ask` messages are written; each points to one iovec within `slots` and to one
        // address; all outlive the call.
        let received = unsafe {
            libc::syscall(
                libc::SYS_recvmmsg,
                ends.socket.as_raw_fd(),
                messages.as_mut_ptr(),
                ask,
                libc::MSG_DONTWAIT,
                core::ptr::null_mut::<libc::timespec>(),
            )
        };
        let received = usize::try_from(received).unwrap_or(0);
        for (len, message) in self.lens.iter_mut().zip(&messages[..received]) {
            // SAFETY: the first `received` of the `ask` messages were written above.
            *len = unsafe { message.assume_init_ref() }.msg_len as usize;
        }
        received
    }
}

/// Returns the sender in a wrap, and the bytes of its datagram.
#[inline]
fn read_wrap(wrap: &[u8; WRAP_BYTES]) -> (u32, usize) {
    let sender = u32::from_be_bytes([wrap[8], wrap[9], wrap[10], wrap[11]]);
    let bytes = u16::from_be_bytes([wrap[LENGTH_AT], wrap[LENGTH_AT + 1]]);
    (sender, usize::from(bytes))
}

/// Returns true if no second datagram fits into a stretch with this packet: what comes in its place
/// is not a train then, as a rule.
fn is_alone(expected: &impl Expected) -> bool {
    2 * expected.payload_bytes() > DATAGRAM_MAX
}

/// Returns true if the datagram that begins with `head` is the expected packet and nothing else.
fn is_expected(expected: &impl Expected, head: &[u8]) -> bool {
    let Some((wrap, header)) = head.split_first_chunk() else {
        return false;
    };
    let (sender, bytes) = read_wrap(wrap);
    bytes == head.len() + expected.payload_bytes() && expected.is(PeerId(sender), header)
}

/// Returns true if the kernel's `source` is the published address `known`.
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
