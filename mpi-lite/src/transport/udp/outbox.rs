//! Datagrams on their way out: packets are put together to datagrams, datagrams to system calls.
//!
//! Heads and short bodies lie one behind the other in one buffer, so that a short datagram is one
//! stretch of memory and one plain `sendto`. Long bodies stay in the user's memory and are gathered
//! by the system. A run of equal datagrams to one peer goes as one burst, which the system (or the
//! network card) cuts: `UDP_SEGMENT`, see udp(7).
#![expect(unsafe_code, reason = "the calls that send take raw pointers")]

use super::wrap::{DATAGRAM_MAX, FITS, MARK_BYTES, WRAP_BYTES};
use core::mem::MaybeUninit;
use std::io;
use std::os::fd::AsRawFd;

use super::super::EnvelopeBytes;
use super::ends::{Control, Ends, message};
use super::protocol::{OutgoingHeader, Parcel};
use super::recorder::Recorder;
use super::seal::{Cipher, Seal, Tagger};
use crate::data::{AreaPart, Scattered};
use crate::memory::Span;
use crate::packets::BODY_BYTES;

/// Messages of one `sendmmsg`.
const BATCH: usize = 16;

/// Packets that are collected before they are sent. A head and a body each: at most two vectors.
/// Each further run of a body with gaps counts as one more.
const PIECES: usize = 128;

/// The most bytes that are collected: more should rather be sent.
const COLLECTED_BYTES: usize = 1 << 19;

/// Bytes that are collected of packets that were packed here: they should still be in the caches
/// when the system copies them.
const PACKED_BYTES: usize = 1 << 17;

/// First packets with a body up to this are copied behind their head: one stretch is sent faster.
const COPIED_BYTES: usize = 4096;

/// Other packets with a body up to this are copied, too: they may become part of a burst.
const COPIED_DATA_BYTES: usize = 512;

/// Bodies with gaps up to this are copied, too: a burst of them is one stretch.
const COPIED_GAPS_BYTES: usize = 1 << 14;

/// The runs of a longer one stay where they are if they are at least so long on the average; the
/// system takes longer to gather shorter ones than it takes to copy them here.
const GATHERED_BYTES: usize = 256;

/// The most vectors for one system call: what was collected, and a last packet with gaps.
const VECTORS: usize = 2 * PIECES + DATAGRAM_MAX / GATHERED_BYTES + 2;

/// Bytes of the header that most packets of RMPP have.
const USUAL_HEADER_BYTES: usize = 36;

/// How many of the last datagrams may still take in a packet.
const OPEN: usize = 8;

/// The system refuses a burst of more packets (before Linux 6.9).
const BURST: usize = 64;

/// Offset in the wrap of the length of its datagram.
pub(super) const LENGTH_AT: usize = 12;

/// A packet, or several that lie one behind the other: `len` bytes of the buffer from `start`, then
/// a body elsewhere.
#[derive(Clone, Copy)]
struct Piece {
    start: usize,
    len: usize,
    body: Span,
    next: Option<u32>,
}

/// Some pieces for one peer.
#[derive(Clone, Copy)]
struct Datagram {
    to: u32,
    first: u32,
    last: u32,
    bytes: usize,
    /// Bytes up to the body of the last packet.
    head_bytes: usize,
}

/// Packets that wait for `send`.
pub(super) struct Outbox {
    pub(super) wrap: [u8; WRAP_BYTES],
    /// Bytes up to which packets may share a datagram; 0: they may not.
    pub(super) shared_bytes: usize,
    /// Bytes that the seal puts behind the packets of a datagram.
    pub(super) tail_bytes: usize,
    buffer: Vec<u8>,
    /// Takes the place of `buffer` if datagrams are encrypted.
    encrypted: Vec<u8>,
    pieces: Vec<Piece>,
    /// The runs of the packet in hand behind its first one, if its body has gaps.
    runs: Vec<Span>,
    datagrams: Vec<Datagram>,
    bytes: usize,
    /// Bytes of bodies with gaps that were copied.
    packed_bytes: usize,
}

/// What one system call did.
pub(super) struct Went {
    /// Datagrams.
    pub(super) datagrams: usize,
    /// Bursts among the messages it took.
    pub(super) bursts: usize,
}

/// Puts a piece at the end of a datagram.
#[inline]
fn link(pieces: &mut Vec<Piece>, datagram: &mut Datagram, piece: Piece) {
    let place = pieces.len() as u32;
    pieces[datagram.last as usize].next = Some(place);
    datagram.last = place;
    pieces.push(piece);
}

/// Why the first datagram was not sent.
pub(super) struct Stuck {
    pub(super) error: io::Error,
    /// It was a burst.
    pub(super) was_burst: bool,
}

impl Outbox {
    pub(super) fn new() -> Self {
        Self {
            wrap: [0; WRAP_BYTES],
            shared_bytes: 0,
            tail_bytes: 0,
            encrypted: Vec::new(),
            buffer: Vec::with_capacity(PIECES * 256),
            pieces: Vec::with_capacity(PIECES),
            runs: Vec::new(),
            datagrams: Vec::with_capacity(PIECES),
            bytes: 0,
            packed_bytes: 0,
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.datagrams.is_empty()
    }

    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.pieces.len() >= PIECES
            || self.bytes >= COLLECTED_BYTES
            || self.packed_bytes >= PACKED_BYTES
    }

    pub(super) fn len(&self) -> usize {
        self.datagrams.len()
    }

    /// The rank to which a datagram goes.
    #[cold]
    pub(super) fn peer(&self, datagram: usize) -> u32 {
        self.datagrams[datagram].to
    }

    pub(super) fn clear(&mut self) {
        self.buffer.clear();
        self.pieces.clear();
        self.datagrams.clear();
        (self.bytes, self.packed_bytes) = (0, 0);
    }

    /// Adds a packet, to a datagram with others if there is one with room.
    #[inline]
    pub(super) fn push(&mut self, to: u32, header: &[u8], envelope: &[u8], body: AreaPart<'_>) {
        let datagram = self.open_datagram(to, header.len() + envelope.len() + body.len());
        self.enter((to, datagram), header, envelope, body);
    }

    /// Adds the packets of a run behind the first one. They are so long that no two share a
    /// datagram.
    #[inline]
    pub(super) fn push_followers<H: OutgoingHeader + ?Sized>(&mut self, parcel: &Parcel<'_, H>) {
        for number in 1..parcel.packets {
            let (header, body) = parcel.packet(number);
            self.enter((parcel.to.0, None), &header, &[], body);
        }
    }

    /// How many packets there is room for if their datagrams are as long as the longest.
    #[inline]
    pub(super) fn room(&self, longest_bytes: usize) -> u32 {
        let bytes = COLLECTED_BYTES.saturating_sub(self.bytes);
        PIECES
            .saturating_sub(self.pieces.len())
            .min(bytes.div_ceil(longest_bytes)) as u32
    }

    /// Adds a packet to a datagram, or as one of its own.
    #[inline]
    fn enter(
        &mut self,
        (to, datagram): (u32, Option<usize>),
        header: &[u8],
        envelope: &[u8],
        body: AreaPart<'_>,
    ) {
        let packet_bytes = header.len() + envelope.len() + body.len();
        let start = self.buffer.len();
        if datagram.is_none() {
            self.buffer.extend_from_slice(&self.wrap);
        }
        // The usual lengths are copied by a few moves instead of by a call.
        match <&[u8; USUAL_HEADER_BYTES]>::try_from(header) {
            Ok(header) => self.buffer.extend_from_slice(header),
            Err(_) => self.buffer.extend_from_slice(header),
        }
        if let Ok(envelope) = <&EnvelopeBytes>::try_from(envelope) {
            self.buffer.extend_from_slice(envelope);
        }
        let copied = if envelope.is_empty() {
            COPIED_DATA_BYTES
        } else {
            COPIED_BYTES
        };
        let run = match body {
            AreaPart::Run(span) => Some(span),
            AreaPart::Scattered { scattered, at, len } => self.find_runs(scattered, (at, len)),
        };
        let stays = match run {
            Some(span) if span.len() > copied || !self.runs.is_empty() => span,
            _ => {
                body.append_to(&mut self.buffer);
                Span::EMPTY
            }
        };
        let piece = Piece {
            start,
            len: self.buffer.len() - start,
            body: stays,
            next: None,
        };
        self.bytes += packet_bytes;
        let head_bytes = header.len() + envelope.len();
        match datagram {
            Some(index) => self.append(index, piece, (head_bytes, packet_bytes)),
            None => self.begin(to, piece, (head_bytes, packet_bytes)),
        }
        if !self.runs.is_empty() {
            self.link_runs(datagram.unwrap_or(self.datagrams.len() - 1));
        }
    }

    /// The first run of a body with gaps, if its runs are few enough to stay where they are. The
    /// others are in `runs` then.
    #[cold]
    fn find_runs(&mut self, all: &Scattered, (at, len): (usize, usize)) -> Option<Span> {
        let most = if len > COPIED_GAPS_BYTES {
            len / GATHERED_BYTES
        } else {
            1
        };
        if all.append_runs((at, len), most, &mut self.runs) && !self.runs.is_empty() {
            return Some(self.runs.remove(0));
        }
        self.runs.clear();
        self.packed_bytes += len;
        None
    }

    /// Puts the other runs of a packet behind its first one.
    #[cold]
    fn link_runs(&mut self, index: usize) {
        let start = self.buffer.len();
        for body in self.runs.drain(..) {
            let piece = Piece {
                start,
                len: 0,
                body,
                next: None,
            };
            link(&mut self.pieces, &mut self.datagrams[index], piece);
        }
    }

    /// A datagram to `to` that has room for `packet_bytes` more: only the last one to that peer, or
    /// packets would overtake each other.
    #[inline]
    fn open_datagram(&self, to: u32, packet_bytes: usize) -> Option<usize> {
        if self.shared_bytes == 0 {
            return None;
        }
        let from = self.datagrams.len().saturating_sub(OPEN);
        let index = (from..self.datagrams.len())
            .rev()
            .find(|&index| self.datagrams[index].to == to)?;
        (self.datagrams[index].bytes + packet_bytes <= self.shared_bytes).then_some(index)
    }

    fn begin(&mut self, to: u32, piece: Piece, (head_bytes, bytes): (usize, usize)) {
        let place = self.pieces.len() as u32;
        self.pieces.push(piece);
        self.datagrams.push(Datagram {
            to,
            first: place,
            last: place,
            bytes: WRAP_BYTES + bytes + self.tail_bytes,
            head_bytes: WRAP_BYTES + head_bytes,
        });
    }

    fn append(&mut self, index: usize, piece: Piece, (head_bytes, bytes): (usize, usize)) {
        let datagram = &mut self.datagrams[index];
        datagram.head_bytes = datagram.bytes - self.tail_bytes + head_bytes;
        datagram.bytes += bytes;
        let last = &mut self.pieces[datagram.last as usize];
        if last.body.is_empty() && last.start + last.len == piece.start {
            last.len += piece.len;
            last.body = piece.body;
            return;
        }
        link(&mut self.pieces, datagram, piece);
    }

    /// Shows all datagrams to the recorder. Called before they are sealed.
    #[cold]
    pub(super) fn show_to(&self, recorder: &mut Recorder) {
        for datagram in &self.datagrams {
            let bytes = datagram.bytes - self.tail_bytes - WRAP_BYTES;
            let most = bytes.min(datagram.head_bytes - WRAP_BYTES + BODY_BYTES);
            let (mut kept, mut skipped) = (Vec::with_capacity(most), WRAP_BYTES);
            for piece in pieces_of(&self.pieces, *datagram) {
                let head = &self.buffer[piece.start..][core::mem::take(&mut skipped)..piece.len];
                kept.extend_from_slice(&head[..head.len().min(most - kept.len())]);
                let body_bytes = piece.body.len().min(most - kept.len());
                piece.body.part(0, body_bytes).append_to(&mut kept);
            }
            recorder.sent(datagram.to, bytes, kept);
        }
        recorder.write();
    }

    /// Writes the length of each datagram into its wrap, and seals it. Called once, before sending.
    pub(super) fn seal(&mut self, seal: &mut Seal) {
        for datagram in &self.datagrams {
            let start = self.pieces[datagram.first as usize].start;
            let bytes = u16::try_from(datagram.bytes).expect(FITS).to_be_bytes();
            self.buffer[start + LENGTH_AT..][..2].copy_from_slice(&bytes);
        }
        match seal {
            Seal::Cookie(_) => {}
            Seal::Tag(tagger) => self.tag(tagger),
            Seal::Encrypt(cipher) => self.encrypt(cipher),
        }
    }

    fn tag(&mut self, tagger: &mut Tagger) {
        for datagram in &self.datagrams {
            let start = self.pieces[datagram.first as usize].start;
            let wrap = &mut self.buffer[start..][..WRAP_BYTES];
            let lens = (datagram.bytes, datagram.head_bytes);
            let (covered, unsaid) = tagger.cover(datagram.to, wrap, lens);
            let mut tagging = tagger.begin();
            let (mut left, mut skipped) = (covered - MARK_BYTES, MARK_BYTES);
            for piece in pieces_of(&self.pieces, *datagram) {
                let head = &self.buffer[piece.start..][core::mem::take(&mut skipped)..piece.len];
                let body = piece.body.io_slice();
                for part in [head, &body] {
                    let part = &part[..part.len().min(left)];
                    left -= part.len();
                    tagging.take(part);
                }
            }
            let tag = tagging.finish(unsaid);
            self.buffer[start..][..tag.len()].copy_from_slice(&tag);
        }
    }

    /// Puts each datagram into one piece and encrypts it for itself.
    fn encrypt(&mut self, cipher: &mut Cipher) {
        self.encrypted.clear();
        for index in 0..self.datagrams.len() {
            let datagram = self.datagrams[index];
            let start = self.encrypted.len();
            for piece in pieces_of(&self.pieces, datagram) {
                let head = &self.buffer[piece.start..][..piece.len];
                self.encrypted.extend_from_slice(head);
                piece.body.append_to(&mut self.encrypted);
            }
            self.encrypted.resize(start + datagram.bytes, 0);
            cipher.close(datagram.to, &mut self.encrypted[start..]);
            // Datagrams are numbered as their first pieces are: this one is no longer needed.
            self.pieces[index] = Piece {
                start,
                len: datagram.bytes,
                body: Span::EMPTY,
                next: None,
            };
            let place = index as u32;
            (self.datagrams[index].first, self.datagrams[index].last) = (place, place);
        }
        self.pieces.truncate(self.datagrams.len());
        core::mem::swap(&mut self.buffer, &mut self.encrypted);
    }

    /// Sends datagrams from number `done` on, as many as one system call takes.
    pub(super) fn send(&self, done: usize, ends: &Ends) -> Result<Went, Stuck> {
        if let [datagram] = &self.datagrams[done..]
            && datagram.first == datagram.last
            && self.pieces[datagram.first as usize].body.is_empty()
        {
            let Piece { start, len, .. } = self.pieces[datagram.first as usize];
            return send_plain(&self.buffer[start..][..len], datagram.to, ends);
        }
        self.send_batch(done, ends)
    }

    /// A sealed datagram as one stretch of memory, and its peer.
    #[cold]
    pub(super) fn copy(&self, number: usize) -> (u32, Vec<u8>) {
        let datagram = self.datagrams[number];
        let mut bytes = Vec::with_capacity(datagram.bytes);
        for piece in pieces_of(&self.pieces, datagram) {
            bytes.extend_from_slice(&self.buffer[piece.start..][..piece.len]);
            piece.body.append_to(&mut bytes);
        }
        (datagram.to, bytes)
    }

    fn send_batch(&self, done: usize, ends: &Ends) -> Result<Went, Stuck> {
        let mut vectors = [const { MaybeUninit::<libc::iovec>::uninit() }; VECTORS];
        let mut messages = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; BATCH];
        let mut controls = [const { MaybeUninit::<Control>::uninit() }; BATCH];
        let mut runs = [0; BATCH];
        let most = if ends.may_batch { BATCH } else { 1 };
        let (mut count, mut used, mut at) = (0, 0, done);
        while count < most && at < self.datagrams.len() {
            let run = self.run(at, ends.may_burst);
            let from = used;
            for datagram in &self.datagrams[at..at + run] {
                used = self.gather(*datagram, &mut vectors, used);
            }
            let (name, name_bytes) = ends.name_of(self.datagrams[at].to);
            let first = vectors[from].as_mut_ptr();
            let mut header = message(first, used - from, name, name_bytes);
            if run > 1 {
                let control = controls[count].write(Control::of(self.datagrams[at].bytes));
                header.msg_hdr.msg_control = (&raw mut *control).cast();
                header.msg_hdr.msg_controllen = size_of::<Control>();
            }
            messages[count].write(header);
            runs[count] = run;
            (count, at) = (count + 1, at + run);
        }
        let (socket, first) = (ends.socket.as_raw_fd(), messages.as_mut_ptr());
        let flags = libc::MSG_NOSIGNAL;
        // SAFETY: `count` messages are written; they point to iovecs, control data, addresses and
        // bytes that outlive the call. A message begins with what `sendmsg` takes. Blocking and
        // cancellation: as above.
        let sent = unsafe {
            if ends.may_batch {
                libc::syscall(libc::SYS_sendmmsg, socket, first, count, flags)
            } else {
                libc::syscall(libc::SYS_sendmsg, socket, first, flags).min(1)
            }
        };
        let Ok(sent) = usize::try_from(sent) else {
            return Err(Stuck {
                error: io::Error::last_os_error(),
                was_burst: runs[0] > 1,
            });
        };
        let runs = &runs[..sent];
        Ok(Went {
            datagrams: runs.iter().sum(),
            bursts: runs.iter().filter(|&&run| run > 1).count(),
        })
    }

    /// Returns how many datagrams from number `at` on go as one message: equally long ones to one
    /// peer. The last may be shorter.
    fn run(&self, at: usize, may_burst: bool) -> usize {
        if !may_burst {
            return 1;
        }
        let first = self.datagrams[at];
        let (mut run, mut total) = (1, first.bytes);
        for datagram in self.datagrams[at + 1..].iter().take(BURST - 1) {
            total += datagram.bytes;
            let fits = datagram.to == first.to && total <= DATAGRAM_MAX;
            if !fits || datagram.bytes > first.bytes {
                break;
            }
            run += 1;
            if datagram.bytes < first.bytes {
                break;
            }
        }
        run
    }

    /// Writes the datagram's parts to `vectors` from `used` on. Returns how many are used then.
    fn gather(
        &self,
        datagram: Datagram,
        vectors: &mut [MaybeUninit<libc::iovec>],
        mut used: usize,
    ) -> usize {
        for piece in pieces_of(&self.pieces, datagram) {
            let head = &self.buffer[piece.start..][..piece.len];
            let body = piece.body.io_slice();
            for part in [head, &body] {
                if part.is_empty() {
                    continue;
                }
                vectors[used].write(libc::iovec {
                    iov_base: part.as_ptr().cast_mut().cast(),
                    iov_len: part.len(),
                });
                used += 1;
            }
        }
        used
    }
}

/// Sends a datagram that is one stretch of memory to rank `to`.
pub(super) fn send_plain(bytes: &[u8], to: u32, ends: &Ends) -> Result<Went, Stuck> {
    let (name, name_bytes) = ends.name_of(to);
    // SAFETY: the bytes and the address outlive the call, which reads no more than it is told.
    // The socket blocks while the system has no buffer: nothing of ours is needed to free
    // one. As a bare system call it is no cancellation point of the C library.
    let sent = unsafe {
        libc::syscall(
            libc::SYS_sendto,
            ends.socket.as_raw_fd(),
            bytes.as_ptr(),
            bytes.len(),
            libc::MSG_NOSIGNAL,
            name,
            name_bytes,
        )
    };
    if sent < 0 {
        return Err(Stuck {
            error: io::Error::last_os_error(),
            was_burst: false,
        });
    }
    Ok(Went {
        datagrams: 1,
        bursts: 0,
    })
}

/// The pieces of a datagram, in their order.
fn pieces_of(pieces: &[Piece], datagram: Datagram) -> impl Iterator<Item = Piece> {
    core::iter::successors(Some(pieces[datagram.first as usize]), |piece| {
        piece.next.map(|place| pieces[place as usize])
    })
}
