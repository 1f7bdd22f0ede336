//! The memory and doorbells that the ranks of a node share from Init on: how they are made, and how
//! a rank receives them.
//!
//! Our launcher makes them for each Init, or the first rank of the node if another launcher started
//! the ranks. They go over a Unix socket beside the bytes of a frame (`SCM_RIGHTS`, unix(7)). They
//! have no name, so nothing is left of them when the last process that has them ends. They are not
//! inherited: a program that the rank starts gets none of them, and a program that runs after this
//! one gets its own.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::{Resource, getrlimit};

use super::BootError;
use super::protocol::Assignment;
use crate::node::{RANKS_MAX, segment_bytes};

/// Files that a rank may have open besides those it shares.
const FILES_OF_RANK: u64 = 32;

/// The most descriptors that one message carries: `SCM_MAX_FD`, unix(7).
const PER_MESSAGE_MAX: usize = 253;

/// The most descriptors of a frame that are kept: those of a node of 65,536 ranks.
const BESIDE_MAX: usize = 65_537;

/// The memory of a node, and a doorbell for each of its ranks. All are closed by exec.
#[derive(Debug)]
pub struct Shared {
    /// A file in memory of `node::segment_bytes` bytes, all zero at first, sealed: its
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
            memory: memory(segment_bytes(ranks)).map_err(because("a memory"))?,
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

    /// Sends a frame with all descriptors beside it. Blocks until the receiver has room.
    pub(super) fn send_beside(&self, frame: &[u8], to: &UnixStream) -> io::Result<()> {
        let descriptors: Vec<BorrowedFd<'_>> = self.descriptors().collect();
        let mut messages = descriptors.chunks(PER_MESSAGE_MAX).peekable();
        let mut sent = 0;
        while let Some(beside) = messages.next() {
            // All but the last message carry one byte: the frame is longer than they are many.
            let end = match messages.peek() {
                Some(_) => sent + 1,
                None => frame.len(),
            };
            sent += send_once(&frame[sent..end], beside, to)?;
        }
        while sent < frame.len() {
            sent += send_once(&frame[sent..], &[], to)?;
        }
        Ok(())
    }
}

/// Sends some of `bytes` with these descriptors. Returns how many bytes. Blocks until there is
/// room, unless the socket is set to fail then.
pub(super) fn send_once(
    bytes: &[u8],
    beside: &[BorrowedFd<'_>],
    to: impl AsFd,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PER_MESSAGE_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !beside.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(beside));
    }
    loop {
        match sendmsg(
            &to,
            &[IoSlice::new(bytes)],
            &mut control,
            SendFlags::NOSIGNAL,
        ) {
            Err(Errno::INTR) => {}
            // Too many descriptors of this user are on the way (unix(7)).
            Err(Errno::TOOMANYREFS) => std::thread::yield_now(),
            sent => return Ok(sent?),
        }
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
    let needed = segment_bytes(ranks);
    match getrlimit(Resource::Fsize).current {
        Some(longest) if longest < needed => Err(format!(
            "a file of {needed} bytes is needed, but the limit is {longest} (ulimit -f)"
        )),
        _ => Ok(()),
    }
}

/// A file in memory whose length is fixed, so that no rank can take pages from under another.
fn memory(bytes: u64) -> Result<OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let memory = memfd_create("mpi-lite", flags)?;
    ftruncate(&memory, bytes)?;
    fcntl_add_seals(
        &memory,
        SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL,
    )?;
    Ok(memory)
}

fn because(what: &'static str) -> impl Fn(Errno) -> String {
    move |errno| format!("{what}: {}", io::Error::from(errno))
}

/// Descriptors that came over the channel and do not yet belong to a frame.
#[derive(Debug, Default)]
pub(super) struct Beside {
    descriptors: Vec<OwnedFd>,
    /// Some were lost on the way: this process may not open more files.
    is_cut: bool,
}

impl Beside {
    /// Reads once, and keeps the descriptors that come with the bytes, in order.
    pub(super) fn receive(&mut self, from: &UnixStream, into: &mut [u8]) -> io::Result<usize> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PER_MESSAGE_MAX))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut pieces = [IoSliceMut::new(into)];
        let received = recvmsg(from, &mut pieces, &mut control, RecvFlags::CMSG_CLOEXEC)?;
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = message {
                self.descriptors.extend(descriptors);
            }
        }
        self.descriptors.truncate(BESIDE_MAX);
        self.is_cut |= received.flags.contains(ReturnFlags::CTRUNC);
        Ok(received.bytes)
    }

    /// Sorts the descriptors by the assignment, once that is complete.
    pub(super) fn sort(self, assignment: &Assignment) -> Result<Option<Shared>, BootError> {
        self.sort_for(match assignment.shares_memory {
            true => assignment.local_peers.len() + 1,
            false => 0,
        })
    }

    /// Sorts the descriptors, of which there must be so many.
    pub(super) fn sort_for(self, needed: usize) -> Result<Option<Shared>, BootError> {
        if self.is_cut {
            return Err(BootError::Descriptors { needed });
        }
        if self.descriptors.len() != needed {
            let came = self.descriptors.len();
            return Err(BootError::Unexpected {
                what: format!("{came} descriptors instead of {needed}"),
                during: "Init",
            });
        }
        let mut descriptors = self.descriptors.into_iter();
        Ok(descriptors.next().map(|memory| Shared {
            memory,
            doorbells: descriptors.collect(),
        }))
    }
}
