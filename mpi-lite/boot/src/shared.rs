//! The memory and doorbells that the ranks of a node share from Init on, and how they are made.
//!
//! Our launcher makes them for each Init, or the first rank of the node if another launcher started
//! the ranks. They go over a Unix socket beside the bytes of a frame (`SCM_RIGHTS`, unix(7)). They
//! have no name, so nothing is left of them when the last process that has them ends. They are not
//! inherited: a program that the rank starts gets none of them, and a program that runs after this
//! one gets its own.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::node_memory::{RANKS_MAX, bytes_of};

/// Files that a rank may have open besides those it shares.
const FILES_OF_RANK: u64 = 32;

/// The memory of a node, and a doorbell for each of its ranks. All are closed by exec.
#[derive(Debug)]
pub struct Shared {
    /// A file in memory of [`bytes_of`] bytes, all zero at first, sealed: its
    /// length never changes.
    pub memory: OwnedFd,
    /// By local rank, the eventfd that wakes that rank. It never blocks.
    pub doorbells: Vec<OwnedFd>,
}

impl Shared {
    /// Makes memory and doorbells for a node of `ranks` ranks, each of which may have `files` open
    /// files.
    ///
    /// # Errors
    ///
    /// What failed, and the system's reason, in words.
    pub fn make(ranks: u32, files: u64) -> Result<Self, String> {
        check_limits(ranks, files)?;
        let doorbell = |_| eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        Ok(Self {
            memory: sealed_memory(bytes_of(ranks)).map_err(because("a memory"))?,
            doorbells: (0..ranks)
                .map(doorbell)
                .collect::<Result<_, _>>()
                .map_err(because("a doorbell for each rank"))?,
        })
    }

    /// The memory first, then the doorbells by local rank.
    pub fn descriptors(&self) -> impl ExactSizeIterator<Item = BorrowedFd<'_>> {
        let all = std::iter::once(&self.memory).chain(&self.doorbells);
        let all: Vec<BorrowedFd<'_>> = all.map(AsFd::as_fd).collect();
        all.into_iter()
    }
}

/// Limits that would strike later and harder than an error: in the rank, or as a signal.
fn check_limits(ranks: u32, files: u64) -> Result<(), String> {
    if ranks > RANKS_MAX {
        return Err(format!(
            "{ranks} ranks are too many, {RANKS_MAX} is the most"
        ));
    }
    let needed = u64::from(ranks) + 1 + FILES_OF_RANK;
    if files < needed {
        return Err(format!(
            "each rank needs {needed} open files, but the limit is {files} (ulimit -n)"
        ));
    }
    let needed = bytes_of(ranks);
    match longest_file() {
        Some(longest) if longest < needed => Err(format!(
            "a file of {needed} bytes is needed, but the limit is {longest} (ulimit -f)"
        )),
        _ => Ok(()),
    }
}

fn longest_file() -> Option<u64> {
    getrlimit(Resource::Fsize).current
}

/// What a file in memory must have before it is mapped: its length is fixed, so that no rank can
/// take pages from under another.
pub const SEALS: SealFlags = SealFlags::SHRINK
    .union(SealFlags::GROW)
    .union(SealFlags::SEAL);

/// A file in memory of so many bytes, all zero, with [`SEALS`]. It is closed by exec. The system
/// gives it pages when they are first written.
///
/// # Errors
/// `EFBIG` if a file may not be as long (`ulimit -f`); those of `memfd_create(2)` and
/// `ftruncate(2)`.
pub fn sealed_memory(bytes: u64) -> Result<OwnedFd, Errno> {
    // The system would end the process by a signal.
    if longest_file().is_some_and(|longest| longest < bytes) {
        return Err(Errno::FBIG);
    }
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = memfd_create("mpi-lite", flags)?;
    ftruncate(&memory, bytes)?;
    fcntl_add_seals(&memory, SEALS)?;
    Ok(memory)
}

fn because(what: &'static str) -> impl Fn(Errno) -> String {
    move |errno| format!("{what}: {}", io::Error::from(errno))
}
