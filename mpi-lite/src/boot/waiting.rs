//! Waiting for descriptors, and looking at them without waiting, while a rank speaks to a process
//! manager.
#![expect(
    clippy::disallowed_methods,
    reason = "in Init and Finalize, and where the job ends, no link has anything to do"
)]

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::{Errno, ioctl_fionread};

/// How long a process manager may take for an answer. It needs well below a millisecond, but some
/// machines are very busy.
pub(super) const ANSWER_PATIENCE: Duration = Duration::from_secs(20);

/// In how many pieces [`patiently`] waits.
const SLICES: u32 = 20;

/// How often [`await_reader`] looks.
const LOOK_EVERY: Duration = Duration::from_millis(1);

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

/// Calls `look`, which waits for at most the given time, until it returns something; for at most
/// `patience` in all. A process that is stopped meanwhile loses one of many pieces of its patience,
/// since what it waits for may have been stopped as well.
pub(super) fn patiently<T>(
    patience: Duration,
    mut look: impl FnMut(Duration) -> Option<T>,
) -> Option<T> {
    (0..SLICES).find_map(|_| look(patience / SLICES))
}

/// Waits until something can be read, or the other side is gone. Returns false if that takes longer
/// than `patience`.
pub(super) fn await_bytes(descriptor: BorrowedFd<'_>, patience: Duration) -> bool {
    let ready = patiently(patience, |time| {
        let mut polled = [PollFd::new(&descriptor, PollFlags::IN)];
        let time = Timespec::try_from(time).unwrap_or_default();
        match poll(&mut polled, Some(&time)) {
            Ok(0) | Err(Errno::INTR) => None,
            // If this fails, reading finds what is wrong.
            Ok(_) | Err(_) => Some(()),
        }
    });
    ready.is_some()
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

/// Waits until the other side of a pipe has read all that was written, for at most `patience`.
/// Returns at once if the descriptor is no pipe. A pipe that nobody reads counts as read.
pub(super) fn await_reader(pipe: impl AsFd, patience: Duration) {
    let is_pipe = fstat(&pipe).is_ok_and(|it| FileType::from_raw_mode(it.st_mode).is_fifo());
    let start = Instant::now();
    while is_pipe
        && !has_hung_up(pipe.as_fd())
        && ioctl_fionread(&pipe).is_ok_and(|unread| unread > 0)
        && start.elapsed() < patience
    {
        pause(LOOK_EVERY);
    }
}

/// Does nothing for so long.
pub(super) fn pause(time: Duration) {
    std::thread::sleep(time);
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{PipeReader, PipeWriter, Read, Write};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn pipe_with_a_line() -> (PipeReader, PipeWriter) {
        let (reader, mut writer) = io::pipe().expect("a pipe");
        writer.write_all(b"a line\n").expect("room in the pipe");
        (reader, writer)
    }

    #[test]
    fn a_pipe_is_awaited_until_its_reader_has_read_all() {
        let (mut reader, writer) = pipe_with_a_line();
        let waits = std::thread::spawn(move || {
            await_reader(&writer, LONG);
            ioctl_fionread(&writer)
        });
        let mut byte = [0];
        reader.read_exact(&mut byte).expect("the first byte");
        pause(Duration::from_millis(20));
        assert!(!waits.is_finished(), "six bytes are unread");
        let mut rest = [0; 6];
        reader.read_exact(&mut rest).expect("the rest");
        assert_eq!(waits.join().expect("the thread").ok(), Some(0));
    }

    #[test]
    fn a_pipe_that_nobody_reads_is_awaited_for_the_given_time() {
        let (_reader, writer) = pipe_with_a_line();
        let start = Instant::now();
        await_reader(&writer, Duration::from_millis(30));
        assert!(start.elapsed() >= Duration::from_millis(30));
    }

    #[test]
    fn a_pipe_without_a_reader_and_a_file_are_not_awaited() {
        let (reader, writer) = pipe_with_a_line();
        drop(reader);
        let start = Instant::now();
        await_reader(&writer, LONG);
        let file = File::open("/proc/self/exe").expect("this program");
        await_reader(&file, LONG);
        assert!(start.elapsed() < LONG);
    }
}
