//! Descriptors beside the bytes of a frame (`SCM_RIGHTS`, unix(7)): how a rank sends and receives
//! the memory and doorbells of its node ([`Shared`]).

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use mpi_boot::protocol::Assignment;
use mpi_boot::shared::Shared;
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::BootError;

/// The most descriptors that one message carries: `SCM_MAX_FD`, unix(7).
const PER_MESSAGE_MAX: usize = 253;

/// The most descriptors of a frame that are kept: those of a node of 65,536 ranks.
const BESIDE_MAX: usize = 65_537;

/// Sends a frame with all descriptors of `shared` beside it. Blocks until the receiver has room.
pub(super) fn send_beside(shared: &Shared, frame: &[u8], to: &UnixStream) -> io::Result<()> {
    let descriptors: Vec<BorrowedFd<'_>> = shared.descriptors().collect();
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
