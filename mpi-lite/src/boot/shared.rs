//! The memory and doorbells that the ranks of a node share from Init on, and how a rank receives
//! them.
//!
//! The launcher makes them for each Init and sends them over the boot channel, with the bytes of
//! the assignment (`SCM_RIGHTS`, unix(7)). They are not inherited: a program that the rank starts
//! gets none of them, and a program that runs after this one gets its own.

use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg};

use super::BootError;
use super::protocol::Assignment;

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
        let needed = match assignment.shares_memory {
            true => assignment.local_peers.len() + 1,
            false => 0,
        };
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
