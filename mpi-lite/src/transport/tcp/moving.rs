//! Bytes in both directions on open lines.

use std::borrow::Cow;
use std::io::{self, IoSlice};
use std::time::Duration;

use socket2::Socket;

use super::line::{Connection, Line, LineState};
use super::poller::{Interest, Source};
use super::{LAUNCHER_TIME, ROOM_BYTES, Tcp, words};
use crate::memory::Span;
use crate::memory::faults::{self, Access, is_fault};
use crate::transport::streams::{GARBLED, HEADER_BYTES};
use crate::transport::{PeerId, Sink};

/// How often one line is read or written in one turn, before others have theirs.
const READS_MOST: u32 = 4;
const WRITES_MOST: u32 = 8;

/// Bytes that one call reads into the place of a body, or writes.
const CALL_BYTES: usize = 1 << 20;

/// Pieces that one call writes.
const VECTORS: usize = 64;

impl Tcp {
    /// Notes that a line may have something to write.
    #[inline]
    pub(super) fn list(&mut self, index: u32) {
        let line = &mut self.lines[index as usize];
        if !core::mem::replace(&mut line.is_listed, true) {
            self.listed.push_back(index);
        }
    }

    /// As `list`, for lines whose streams got something to write. A line has the index of its
    /// stream.
    #[inline]
    pub(super) fn list_begun(&mut self) {
        while let Some(stream) = self.streams.next_begun() {
            self.list(stream.0);
        }
    }

    /// Writes what waits, as far as the system has room. Returns true if bytes went.
    #[inline]
    pub(super) fn write_all(&mut self) -> bool {
        let mut has_moved = false;
        self.list_begun();
        // Those that have more than their share come again, in the next turn.
        for _ in 0..self.listed.len() {
            let Some(index) = self.listed.pop_front() else {
                break;
            };
            self.lines[index as usize].is_listed = false;
            has_moved |= self.write(index);
        }
        has_moved
    }

    /// Writes a line. It is listed again if it has more than its share.
    fn write(&mut self, index: u32) -> bool {
        let mut has_moved = false;
        for _ in 0..WRITES_MOST {
            match self.write_once(index) {
                Ok(true) => has_moved = true,
                Ok(false) => return has_moved,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.counters.full += 1;
                    self.block(index, true);
                    return has_moved;
                }
                Err(error) => {
                    self.end(index, &error);
                    return true;
                }
            }
        }
        self.list(index);
        has_moved
    }

    /// Returns false if there is nothing to write, or no way to write it now.
    fn write_once(&mut self, index: u32) -> io::Result<bool> {
        let line = &self.lines[index as usize];
        let LineState::Open(connection) = &line.state else {
            self.discard(index);
            return Ok(false);
        };
        if connection.is_blocked || !self.streams.has_output(line.stream) {
            return Ok(false);
        }
        let mut vectors = Vec::with_capacity(VECTORS);
        self.streams.gather(line.stream, CALL_BYTES, &mut vectors);
        self.counters.write_calls += 1;
        let bytes = match send(&connection.socket, &vectors) {
            Err(error) if is_fault(&error) => {
                faults::explain(Access::SendTo(line.peer.0), &name(self.me));
                let parts: Vec<&[u8]> = vectors.iter().map(|part| &**part).collect();
                send(&connection.socket, &[IoSlice::new(&parts.concat())])?
            }
            other => other?,
        };
        self.counters.bytes_sent += bytes as u64;
        self.streams.wrote(line.stream, bytes);
        Ok(true)
    }

    /// Drops what a stream has for a peer that has closed its connection in order: answers at most.
    fn discard(&mut self, index: u32) {
        let line = &self.lines[index as usize];
        while matches!(line.state, LineState::Closed(_)) && self.streams.has_output(line.stream) {
            let mut vectors = Vec::with_capacity(VECTORS);
            self.streams.gather(line.stream, CALL_BYTES, &mut vectors);
            let bytes = vectors.iter().map(|part| part.len()).sum();
            self.streams.wrote(line.stream, bytes);
        }
    }

    /// Notes that the system has no room for more bytes of a line (`is_blocked`), or has room.
    pub(super) fn block(&mut self, index: u32, is_blocked: bool) {
        if let LineState::Open(connection) = &mut self.lines[index as usize].state {
            connection.is_blocked = is_blocked;
        }
        self.watch(index, None);
    }

    /// Has the system report what matters of a line. `reads`: whether bytes that come do, from now
    /// on.
    pub(super) fn watch(&mut self, index: u32, reads: Option<bool>) {
        let LineState::Open(connection) = &mut self.lines[index as usize].state else {
            return;
        };
        let wanted = Interest {
            reads: reads.unwrap_or(connection.interest.reads),
            writes: connection.is_blocked,
        };
        if core::mem::replace(&mut connection.interest, wanted) != wanted {
            let source = Source::Line(index);
            self.poller.change(&connection.socket, source, wanted);
        }
    }

    /// A line is ready to be read, or to be written.
    pub(super) fn serve(&mut self, index: u32, can_write: bool, sink: &mut impl Sink) -> bool {
        if can_write {
            self.block(index, false);
            self.list(index);
        }
        if self.lines[index as usize].is_held {
            // It is read again when its rest is gone. Until then it must wake nobody.
            self.watch(index, Some(false));
            return false;
        }
        self.read(index, sink)
    }

    /// Reads a line, at most its share. Returns true if bytes came.
    pub(super) fn read(&mut self, index: u32, sink: &mut impl Sink) -> bool {
        let mut has_moved = false;
        for _ in 0..READS_MOST {
            let line = &self.lines[index as usize];
            let LineState::Open(connection) = &line.state else {
                return has_moved;
            };
            let place = self.streams.place(line.stream);
            let mut place = place.map_or(Span::EMPTY, |place| place.part(0, CALL_BYTES));
            let kept = line.rest.bytes().len();
            self.counters.read_calls += 1;
            let mut bytes = receive(&connection.socket, place, &mut self.room[kept..]);
            if bytes.as_ref().is_err_and(is_fault) {
                // From the room the bytes are copied by this process itself.
                let from = Access::ReceiveFrom(Some(line.peer.0));
                faults::explain(from, &name(self.me));
                place = Span::EMPTY;
                bytes = receive(&connection.socket, place, &mut self.room[kept..]);
            }
            let asked = place.len() + ROOM_BYTES - kept;
            let bytes = match bytes {
                Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
                other => other,
            };
            match bytes {
                Ok(bytes) => {
                    has_moved = true;
                    self.counters.bytes_received += bytes as u64;
                    self.take(index, (place.len(), bytes), sink);
                    if bytes < asked || self.lines[index as usize].is_held || !sink.wants_more() {
                        return true;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return has_moved,
                Err(error) => {
                    self.end(index, &error);
                    return true;
                }
            }
        }
        has_moved
    }

    /// Takes bytes that were read: first those in the place of a body, of `place_bytes` bytes, then
    /// those in the room.
    #[inline]
    fn take(&mut self, index: u32, (place_bytes, bytes): (usize, usize), sink: &mut impl Sink) {
        let line = &mut self.lines[index as usize];
        let placed = bytes.min(place_bytes);
        if placed > 0 {
            self.streams.placed(line.stream, placed);
        }
        if bytes == placed {
            return;
        }
        let kept = line.rest.bytes().len();
        self.room[..kept].copy_from_slice(line.rest.bytes());
        let here = &self.room[..kept + bytes - placed];
        match self.streams.feed(line.stream, here, sink) {
            Ok(taken) => {
                if taken < here.len() {
                    line.rest.put(&here[taken..]);
                } else if kept > 0 {
                    line.rest.clear();
                }
                self.settle_rest(index);
            }
            Err(_) => self.lose_by(index, GARBLED.into()),
        }
    }

    /// After the stream of a line has taken what it wanted.
    #[inline]
    fn settle_rest(&mut self, index: u32) {
        let line = &mut self.lines[index as usize];
        if line.rest.bytes().len() >= HEADER_BYTES && !line.is_held {
            line.is_held = true;
            self.held.push(index);
        }
    }

    /// Offers their bytes to streams that did not want them. Returns true if any was taken.
    pub(super) fn offer_rests(&mut self, sink: &mut impl Sink) -> bool {
        let mut has_moved = false;
        for _ in 0..self.held.len() {
            if !sink.wants_more() {
                break;
            }
            // In turn: none waits for ever behind another one.
            let index = self.held.remove(0);
            has_moved |= self.offer_rest(index, sink);
        }
        has_moved
    }

    fn offer_rest(&mut self, index: u32, sink: &mut impl Sink) -> bool {
        let line = &mut self.lines[index as usize];
        line.is_held = false;
        match self.streams.feed(line.stream, line.rest.bytes(), sink) {
            Ok(taken) => {
                line.rest.take(taken);
                self.settle_rest(index);
                if !self.lines[index as usize].is_held {
                    self.watch(index, Some(true));
                }
                taken > 0
            }
            Err(_) => {
                self.lose_by(index, GARBLED.into());
                true
            }
        }
    }

    /// The connection of a line has ended. That is a loss if something was on its way; the system
    /// gives a connection up only if something was.
    fn end(&mut self, index: u32, error: &io::Error) {
        let Line { peer, rest, .. } = &self.lines[index as usize];
        let is_idle = rest.bytes().is_empty() && self.streams.is_idle(*peer);
        let reason = words::of_end(error);
        match (words::is_leave(error), is_idle) {
            (true, true) => self.close(index, reason),
            (true, false) => self.interrupt(index, reason),
            (false, _) => self.lose_by(index, reason),
        }
    }

    /// The connection of a line has ended while something was on its way. If the process of the
    /// peer has died the launcher ends the job, and says who has died and why; the peer is lost
    /// when it had time for that.
    pub(super) fn interrupt(&mut self, index: u32, reason: Cow<'static, str>) {
        self.interrupt_for(LAUNCHER_TIME, index, reason);
    }

    /// The peer of a line will be lost, `wait` from now.
    pub(super) fn interrupt_for(&mut self, wait: Duration, index: u32, reason: Cow<'static, str>) {
        self.close(index, reason.clone());
        let lost_at = self.clock.now().plus(wait);
        self.lines[index as usize].state = LineState::Broken(lost_at, reason);
        self.broken.push(index);
    }

    /// Closes the connection of a line.
    pub(super) fn close(&mut self, index: u32, reason: Cow<'static, str>) {
        let line = &mut self.lines[index as usize];
        if let LineState::Open(Connection { socket, .. }) = &line.state {
            self.poller.remove(socket);
            self.open_lines -= 1;
        }
        line.rest.clear();
        line.state = LineState::Closed(reason);
        if core::mem::take(&mut line.is_held) {
            self.held.retain(|&held| held != index);
        }
    }
}

fn send(socket: &Socket, vectors: &[IoSlice<'_>]) -> io::Result<usize> {
    loop {
        match socket.send_vectored_with_flags(vectors, libc::MSG_NOSIGNAL) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Reads into `place` and then into `room`.
fn receive(socket: &Socket, mut place: Span, room: &mut [u8]) -> io::Result<usize> {
    loop {
        let received = if place.is_empty() {
            rustix::net::recv(socket, &mut *room, rustix::net::RecvFlags::empty())
                .map(|(bytes, _)| bytes)
        } else {
            let mut vectors = [place.io_slice_mut(), io::IoSliceMut::new(room)];
            rustix::io::readv(socket, &mut vectors)
        };
        match received {
            Err(rustix::io::Errno::INTR) => {}
            other => return Ok(other?),
        }
    }
}

/// How this rank names itself in lines for humans.
#[cold]
fn name(me: PeerId) -> String {
    format!("mpi-lite: rank {}", me.0)
}
