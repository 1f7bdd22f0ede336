//! The standard input of ranks that do not have `mpirun`'s own: one rank or all of the node.
//!
//! Each reader gets every byte. The slowest sets the pace: bytes count as taken when all have taken
//! them. One that ended or closed its input has taken everything.

use std::os::fd::{AsFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::write;

use crate::poll::{Interests, Token};

/// A rank that reads.
#[derive(Debug)]
struct Reader {
    rank: u32,
    descriptor: OwnedFd,
    /// How many bytes it has taken.
    taken: u64,
}

/// The input of a node.
#[derive(Debug, Default)]
pub(super) struct RankInput {
    readers: Vec<Reader>,
    /// What not all readers have taken.
    waiting: Vec<u8>,
    /// How many bytes all readers have taken.
    taken: u64,
    ends: bool,
}

impl RankInput {
    /// Adds a rank with the pipe to it, before any byte has come.
    pub(super) fn add(&mut self, rank: u32, descriptor: OwnedFd) {
        self.readers.push(Reader {
            rank,
            descriptor,
            taken: 0,
        });
    }

    /// A rank has ended.
    pub(super) fn remove(&mut self, rank: u32) {
        self.readers.retain(|reader| reader.rank != rank);
    }

    /// Returns true if nobody reads.
    pub(super) fn is_closed(&self) -> bool {
        self.readers.is_empty()
    }

    /// Takes what has come.
    pub(super) fn receive(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    /// Nothing more will come.
    pub(super) fn end(&mut self) {
        self.ends = true;
    }

    /// Forgets the readers that have closed their input.
    pub(super) fn drop_closed(&mut self) {
        let descriptors = self.readers.iter().map(|reader| reader.descriptor.as_fd());
        let polled = descriptors.map(|it| PollFd::new(it, PollFlags::empty()));
        let mut polled: Vec<PollFd<'_>> = polled.collect();
        if !matches!(poll(&mut polled, PollTimeout::ZERO), Ok(ready) if ready > 0) {
            return;
        }
        let is_open = |fd: &PollFd<'_>| fd.revents().is_none_or(|events| events.is_empty());
        let mut open = polled.iter().map(is_open).collect::<Vec<_>>().into_iter();
        self.readers.retain(|_| open.next().unwrap_or(true));
    }

    /// Gives each reader what it has room for. Returns how many more bytes all have taken.
    pub(super) fn push(&mut self) -> u64 {
        let (start, ends) = (self.taken, self.ends);
        let length = self.waiting.len() as u64;
        self.readers.retain_mut(|reader| {
            let is_open = reader.write(&self.waiting, start);
            let has_all = reader.taken == start + length;
            is_open && !(has_all && ends)
        });
        let slowest = self.readers.iter().map(|reader| reader.taken).min();
        let taken = slowest.unwrap_or(start + length) - start;
        self.taken += taken;
        let bytes = usize::try_from(taken).unwrap_or(usize::MAX);
        self.waiting.drain(..bytes.min(self.waiting.len()));
        taken
    }

    /// Names the pipes to wait for.
    pub(super) fn interests<'a>(&'a self, interests: &mut Interests<'a>) {
        let all = self.taken + self.waiting.len() as u64;
        for reader in &self.readers {
            let descriptor = reader.descriptor.as_fd();
            if reader.taken == all {
                interests.closed(descriptor, Token::RankInput);
            } else {
                interests.writable(descriptor, Token::RankInput);
            }
        }
    }
}

impl Reader {
    /// Writes what is missing of these bytes, the first of which is number `start`. Returns false
    /// if it reads no more.
    fn write(&mut self, waiting: &[u8], start: u64) -> bool {
        loop {
            let skipped = usize::try_from(self.taken - start).unwrap_or(usize::MAX);
            let rest = waiting.get(skipped..).unwrap_or_default();
            if rest.is_empty() {
                return true;
            }
            match write(&self.descriptor, rest) {
                Ok(length) => self.taken += length as u64,
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return true,
                Err(_) => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;

    use super::*;
    use crate::node::spawn::input_pipe;

    #[test]
    fn the_slowest_reader_sets_the_pace_and_one_that_closed_does_not() {
        let mut input = RankInput::default();
        let mut ends: Vec<File> = (0..2)
            .map(|rank| {
                let (theirs, ours) = input_pipe().unwrap();
                input.add(rank, ours);
                File::from(theirs)
            })
            .collect();
        let bytes: Vec<u8> = (0..200_000u32).map(|number| number as u8).collect();
        input.receive(&bytes);
        let room = input.push();
        assert!(room > 0 && room < bytes.len() as u64);
        let mut first = vec![0; usize::try_from(room).unwrap()];
        ends[0].read_exact(&mut first).unwrap();
        assert_eq!(input.push(), 0, "the second has taken nothing more");
        drop(ends.pop());
        input.drop_closed();
        input.end();
        let mut all = first;
        let mut taken = 0;
        while !input.is_closed() {
            taken += input.push();
            let mut piece = vec![0; 60_000];
            let length = ends[0].read(&mut piece).unwrap();
            all.extend_from_slice(&piece[..length]);
        }
        ends[0].read_to_end(&mut all).unwrap();
        assert!(all == bytes);
        assert_eq!(room + taken, bytes.len() as u64);
    }

    #[test]
    fn a_reader_that_ended_has_taken_everything() {
        let mut input = RankInput::default();
        let (_theirs, ours) = input_pipe().unwrap();
        input.add(3, ours);
        input.receive(&[0; 100_000]);
        assert!(input.push() < 100_000);
        input.remove(3);
        assert!(input.is_closed());
    }
}
