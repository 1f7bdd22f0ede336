//! Waiting for descriptors, and looking at them without waiting, while a rank speaks to a process
//! manager.
#![expect(
    clippy::disallowed_methods,
    reason = "in Init and Finalize, and where the job ends, no link has anything to do"
)]

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Returns true if something can be read, or the other side is gone.
pub(super) fn is_readable(descriptor: impl AsFd) -> io::Result<bool> {
    let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
    match poll(&mut polled, Some(&Timespec::default())) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Returns true if the other side of a socket is gone.
pub(super) fn has_hung_up(descriptor: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::new(&descriptor, PollFlags::RDHUP)];
    let gone = PollFlags::RDHUP | PollFlags::HUP | PollFlags::ERR;
    poll(&mut polled, Some(&Timespec::default())).is_ok() && polled[0].revents().intersects(gone)
}

/// Waits until one of the descriptors is readable. Returns true if the first one is.
pub(super) fn await_first(
    first: BorrowedFd<'_>,
    other: Option<BorrowedFd<'_>>,
) -> io::Result<bool> {
    let all: Vec<BorrowedFd<'_>> = std::iter::once(first).chain(other).collect();
    let mut polled: Vec<PollFd<'_>> = all
        .iter()
        .map(|descriptor| PollFd::new(descriptor, PollFlags::IN))
        .collect();
    loop {
        match poll(&mut polled, None) {
            Ok(_) => return Ok(!polled[0].revents().is_empty()),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
}

/// Does nothing for so long.
pub(super) fn pause(time: Duration) {
    std::thread::sleep(time);
}
