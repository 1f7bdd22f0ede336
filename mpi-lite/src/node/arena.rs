//! Memory that some ranks of a node share, made at any time after Init.
//!
//! One rank makes a file in memory whose length can never change, and offers it by the [`Passage`].
//! The others check length and seals, and map it. It has no name and no file: the system frees it
//! when the last rank has dropped its arena, or has ended.

use core::sync::atomic::AtomicU64;
use std::io;
use std::os::fd::OwnedFd;

use mpi_boot::node_memory::PAGE;
use mpi_boot::shared::{SEALS, sealed_memory};
use rustix::fs::{fcntl_get_seals, fstat};
use rustix::io::Errno;

use super::passage::{Ask, Offer, Passage, PassageError};
use super::segment::Mapping;
use crate::clock::Instant;
use crate::memory::{Bytes, Room, Span};

/// Why ranks share no arena.
#[derive(Debug, thiserror::Error)]
pub enum ArenaError {
    /// More bytes than can be mapped.
    #[error("{0} bytes are more than a process can map")]
    TooLong(u64),
    /// The limit of the length of a file.
    #[error("{0} bytes are more than a file may have (raise ulimit -f)")]
    FileLimit(u64),
    /// The system has no memory, or no addresses.
    #[error("the system has no room for {0} bytes that ranks of this host share")]
    NoMemory(u64),
    /// The limit of open files.
    #[error("this process may not open more files (raise ulimit -n)")]
    Files,
    /// What came is not as long as it must be.
    #[error("a rank of this host shares {has} bytes where {needed} are expected")]
    WrongSize {
        /// Bytes of what came.
        has: u64,
        /// Bytes that it must have.
        needed: u64,
    },
    /// What came could be shortened, which would end each rank that reads it.
    #[error("a rank of this host shares a file that is no sealed memory")]
    NotSealed,
    /// It does not pass from rank to rank.
    #[error(transparent)]
    Passage(#[from] PassageError),
    /// What else the system says.
    #[error("the ranks of this host cannot share memory: {0}")]
    System(io::Error),
}

/// What an error of the system means for an arena of `bytes` bytes.
fn refused(bytes: u64) -> impl Fn(Errno) -> ArenaError {
    move |errno| match errno {
        Errno::FBIG => ArenaError::FileLimit(bytes),
        Errno::NOMEM | Errno::NOSPC => ArenaError::NoMemory(bytes),
        Errno::MFILE | Errno::NFILE => ArenaError::Files,
        errno => ArenaError::System(errno.into()),
    }
}

/// Returns the length of an arena for `bytes` bytes: whole pages, one at least.
fn length(bytes: u64) -> Result<usize, ArenaError> {
    let pages = bytes.max(1).checked_next_multiple_of(PAGE);
    let len = pages.and_then(|len| isize::try_from(len).ok());
    len.map(isize::cast_unsigned)
        .ok_or(ArenaError::TooLong(bytes))
}

/// Memory that some ranks of this node share. It is zero at first, begins with a page, and is
/// unmapped when this is dropped; the other ranks keep theirs.
///
/// Its ranks agree through [`Arena::words`], or by messages, which of them may read or write which
/// bytes at a time. The system gives it pages when they are first written.
#[derive(Debug)]
pub struct Arena(Mapping);

impl Arena {
    /// Makes an arena of `bytes` bytes, rounded up to whole pages. Returns it, and the descriptor
    /// to give to others.
    ///
    /// # Errors
    /// `TooLong`, `FileLimit`, `NoMemory`, `Files`, `System`.
    pub fn make(bytes: u64) -> Result<(Self, OwnedFd), ArenaError> {
        let memory = sealed_memory(length(bytes)? as u64).map_err(refused(bytes))?;
        Ok((Self::map(&memory, bytes)?, memory))
    }

    /// Maps what another rank has made for `bytes` bytes.
    ///
    /// # Errors
    /// `WrongSize` and `NotSealed` before anything is mapped; `TooLong`, `NoMemory`, `System`.
    pub fn map(memory: &OwnedFd, bytes: u64) -> Result<Self, ArenaError> {
        let len = length(bytes)?;
        let has = fstat(memory).map_err(refused(bytes))?.st_size;
        let (has, needed) = (u64::try_from(has).unwrap_or(0), len as u64);
        if has != needed {
            return Err(ArenaError::WrongSize { has, needed });
        }
        // What is no file in memory has no seals: `EINVAL`.
        let seals = fcntl_get_seals(memory);
        if !seals.is_ok_and(|seals| seals.contains(SEALS)) {
            return Err(ArenaError::NotSealed);
        }
        let mapping = Mapping::new(memory, len).map_err(|error| {
            let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
            refused(bytes)(errno)
        })?;
        Ok(Self(mapping))
    }

    /// Makes an arena for `bytes` bytes among the local ranks `members`, of which this is one. Each
    /// of them calls this with the same numbers, and polls what it returns. The first one makes the
    /// arena; `number` is free for an offer of it.
    ///
    /// # Errors
    /// Those of [`Arena::make`] and [`Passage::offer`] at the first member. The others then find
    /// that it offers nothing in time.
    ///
    /// # Panics
    /// There are no members, or one is no rank of the node.
    pub fn among(
        passage: &Passage,
        members: &[u32],
        (number, bytes): (u64, u64),
        deadline: Instant,
    ) -> Result<Joining, ArenaError> {
        let (first, others) = members.split_first().expect("this rank is a member");
        if *first != passage.me() {
            let ask = passage.ask(*first, number, deadline);
            return Ok(Joining(Joiner::Other(ask, bytes)));
        }
        let (arena, memory) = Self::make(bytes)?;
        let offer = passage.offer(number, memory, others, deadline)?;
        Ok(Joining(Joiner::First(Some(arena), Box::new(offer))))
    }

    /// All of it, as words: any of its ranks may read and write them at any time.
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        self.0.words()
    }

    /// Its bytes: whole pages.
    #[must_use]
    pub fn size(&self) -> usize {
        size_of_val(self.words())
    }

    /// `len` bytes from `at` on, as far as they are there. The owner keeps the arena while the span
    /// is used.
    #[must_use]
    pub(crate) fn part(&self, at: usize, len: usize) -> Span {
        self.0.span().part(at, len)
    }

    /// Where it begins in this process, for a program that gets it as the memory of a window. It is
    /// there until the arena is dropped.
    #[must_use]
    pub fn as_mut_ptr(&self) -> *mut u8 {
        self.0.start()
    }

    /// Fills `to` with the bytes from `at` on. Returns how many there are.
    pub fn read<'a>(&self, at: usize, to: impl Into<Room<'a>>) -> usize {
        self.0.read(at, to.into())
    }

    /// Writes `from` at `at`, as far as there is room. Returns how many bytes.
    pub fn write<'a>(&self, at: usize, from: impl Into<Bytes<'a>>) -> usize {
        self.0.write(at, from.into())
    }
}

/// An arena on its way to its ranks.
#[derive(Debug)]
pub struct Joining(Joiner);

#[derive(Debug)]
enum Joiner {
    /// At the rank that made it: the arena, until all have it.
    First(Option<Arena>, Box<Offer>),
    /// At another rank: the question, and how many bytes it expects.
    Other(Ask, u64),
}

impl Joining {
    /// Goes on, without waiting. Returns the arena once: at the first member when all others have
    /// its descriptor, at another one when it has mapped it.
    ///
    /// # Errors
    /// Those of [`Offer::poll`], [`Ask::poll`], and [`Arena::map`].
    pub fn poll(&mut self, now: Instant) -> Result<Option<Arena>, ArenaError> {
        match &mut self.0 {
            Joiner::First(arena, offer) => match offer.poll(now)? {
                true => Ok(arena.take()),
                false => Ok(None),
            },
            Joiner::Other(ask, bytes) => match ask.poll(now)? {
                Some(memory) => Arena::map(&memory, *bytes).map(Some),
                None => Ok(None),
            },
        }
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use core::sync::atomic::Ordering::{Acquire, Release};

    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};

    use super::*;
    use crate::node::segment::Segment;

    const START: Instant = Instant(0);
    const DEADLINE: Instant = Instant(1);

    #[test]
    fn ranks_that_are_members_share_what_the_first_one_makes() {
        let segment = Segment::alone(4);
        let passages = [0, 1, 2, 3].map(|me| Passage::new(segment, me));
        let members = [2, 0, 3];
        let mut joining = members.map(|rank| {
            let passage = &passages[rank as usize];
            Arena::among(passage, &members, (7, 10_000), DEADLINE).unwrap()
        });
        let mut arenas: [Option<Arena>; 3] = [const { None }; 3];
        while arenas.iter().any(Option::is_none) {
            for (joining, arena) in joining.iter_mut().zip(&mut arenas) {
                if arena.is_none() {
                    *arena = joining.poll(START).unwrap();
                }
            }
        }
        let arenas = arenas.map(Option::unwrap);
        for (rank, arena) in arenas.iter().enumerate() {
            assert_eq!(arena.size(), 12_288);
            assert_eq!(arena.words()[1535].load(Acquire), rank as u64);
            arena.words()[1535].store(rank as u64 + 1, Release);
        }
        let [first, second, third] = arenas;
        drop(first);
        assert_eq!(second.write(5000, &b"abc"[..]), 3);
        assert_eq!(
            second.write(12_287, &b"ab"[..]) + second.write(12_288, &b"c"[..]),
            1
        );
        drop(second);
        let mut seen = [0; 5];
        assert_eq!(third.read(4999, &mut seen[..]), 5);
        assert_eq!(&seen, b"\0abc\0");
    }

    #[test]
    fn nothing_is_mapped_that_is_too_short_too_long_or_not_sealed() {
        let (_arena, memory) = Arena::make(4096).unwrap();
        for bytes in [4097, 1 << 40] {
            let wrong = Arena::map(&memory, bytes).unwrap_err();
            let needed = bytes.next_multiple_of(PAGE);
            let text = format!("a rank of this host shares 4096 bytes where {needed} are expected");
            assert_eq!(wrong.to_string(), text);
        }
        let file = |seals| {
            let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
            let file = memfd_create("a-test", flags).unwrap();
            ftruncate(&file, 4096).unwrap();
            fcntl_add_seals(&file, seals).unwrap();
            file
        };
        for seals in [
            SealFlags::empty(),
            SealFlags::SHRINK,
            SEALS - SealFlags::SHRINK,
        ] {
            let open = Arena::map(&file(seals), 4096);
            assert!(matches!(open, Err(ArenaError::NotSealed)), "{seals:?}");
        }
        assert!(Arena::map(&file(SEALS), 4096).is_ok());
        let (socket, _) = std::os::unix::net::UnixStream::pair().unwrap();
        let wrong = Arena::map(&socket.into(), 4096);
        assert!(
            matches!(wrong, Err(ArenaError::WrongSize { has: 0, .. })),
            "{wrong:?}"
        );
    }

    #[test]
    fn what_the_system_cannot_give_is_an_error_that_says_so() {
        for bytes in [u64::MAX, u64::MAX - 5000, 1 << 63] {
            let long = Arena::make(bytes).unwrap_err().to_string();
            assert_eq!(
                long,
                format!("{bytes} bytes are more than a process can map")
            );
        }
        // More than the addresses of a process.
        let long = Arena::make(1 << 62).unwrap_err().to_string();
        assert_eq!(
            long,
            "the system has no room for 4611686018427387904 bytes that ranks of this host share"
        );
    }

    #[test]
    fn an_arena_of_no_bytes_has_a_page_and_nobody_else_is_needed() {
        let passage = Passage::new(Segment::alone(1), 0);
        let mut alone = Arena::among(&passage, &[0], (1, 0), START).unwrap();
        let arena = alone.poll(DEADLINE).unwrap().unwrap();
        assert!(arena.words().iter().all(|word| word.load(Acquire) == 0));
        assert_eq!(arena.words().len(), 512);
    }
}
