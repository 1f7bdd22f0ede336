//! What threads sleep on, and how they are woken.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Once;
use std::time::Duration;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::transport::{Links, Transport};

/// Who sleeps: each has a doorbell of its own.
#[derive(Clone, Copy)]
pub(crate) enum Sleeper {
    /// A thread of the program that takes turns.
    Program,
    /// The ticker. It never takes the ring of the doorbell from the program.
    Ticker,
}

/// The descriptors that end a sleep.
#[derive(Debug)]
pub(crate) struct Doorbells {
    /// What becomes readable when a link has something to do: copies of the links' descriptors.
    links: Vec<OwnedFd>,
    /// Written to when another thread has done what a sleeper waits for.
    program: OwnedFd,
    /// Written to when the ticker is to end.
    ticker: OwnedFd,
    /// It was said that the program has closed the descriptors.
    told_closed: Once,
}

/// A descriptor on which threads sleep until another rings it.
pub(crate) fn doorbell() -> std::io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?)
}

impl Doorbells {
    /// # Errors
    /// The system has no more file descriptors.
    pub(crate) fn of(links: &Links) -> std::io::Result<Self> {
        let descriptors = links.iter().filter_map(Transport::wake_on);
        Ok(Self {
            links: descriptors
                .map(|descriptor| descriptor.try_clone_to_owned())
                .collect::<Result<_, _>>()?,
            program: doorbell()?,
            ticker: doorbell()?,
            told_closed: Once::new(),
        })
    }

    /// Returns true if no link has anything to wake a sleeper for.
    pub(crate) fn are_silent(&self) -> bool {
        self.links.is_empty()
    }

    fn of_sleeper(&self, sleeper: Sleeper) -> &OwnedFd {
        match sleeper {
            Sleeper::Program => &self.program,
            Sleeper::Ticker => &self.ticker,
        }
    }

    pub(crate) fn ring(&self, sleeper: Sleeper) {
        let doorbell = self.of_sleeper(sleeper);
        let _ = rustix::io::write(doorbell.as_fd(), &1u64.to_ne_bytes());
    }

    /// Takes back what rang the doorbell of `sleeper`.
    pub(crate) fn silence(&self, sleeper: Sleeper) {
        let _ = rustix::io::read(self.of_sleeper(sleeper).as_fd(), &mut [0; 8]);
    }

    /// Another descriptor that wakes the program.
    ///
    /// # Errors
    /// The system has no more file descriptors.
    pub(crate) fn copy(&self) -> std::io::Result<OwnedFd> {
        self.program.try_clone()
    }

    /// Sleeps until a link has something, the doorbell of `sleeper` rings, the launcher `asks`, or
    /// for `time`. Returns true if the launcher asks.
    #[expect(clippy::disallowed_methods, reason = "this file blocks")]
    pub(crate) fn doze(
        &self,
        time: Option<Duration>,
        sleeper: Sleeper,
        asks: Option<BorrowedFd<'_>>,
    ) -> bool {
        let timeout = time.map(|left| {
            Timespec::try_from(left).unwrap_or(Timespec {
                tv_sec: 1,
                tv_nsec: 0,
            })
        });
        let doorbell = self.of_sleeper(sleeper);
        let watched = self.links.iter().chain([doorbell]);
        let mut watched: Vec<_> = watched.map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
        let own = watched.len() - 1;
        watched.extend(asks.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        // Interrupted by a signal: the caller looks again.
        let _ = poll(&mut watched, timeout.as_ref());
        let is_closed = |it: &PollFd<'_>| it.revents().contains(PollFlags::NVAL);
        if watched[..=own].iter().any(is_closed) {
            self.tell_closed();
        }
        let has_come = |it: &PollFd<'_>| !it.revents().is_empty();
        if has_come(&watched[own]) {
            self.silence(sleeper);
        }
        watched.get(own + 1).is_some_and(has_come)
    }

    /// Sleeps until the launcher `asks`, the ticker is to end, or for `time`. Returns true if the
    /// launcher asks.
    #[expect(clippy::disallowed_methods, reason = "this file blocks")]
    pub(crate) fn await_question(&self, time: Duration, asks: Option<BorrowedFd<'_>>) -> bool {
        let mut watched = vec![PollFd::new(&self.ticker, PollFlags::IN)];
        watched.extend(asks.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)));
        let timeout = Timespec::try_from(time).ok();
        let _ = poll(&mut watched, timeout.as_ref());
        let is_readable = |it: &PollFd<'_>| !it.revents().is_empty();
        if is_readable(&watched[0]) {
            self.silence(Sleeper::Ticker);
        }
        watched.get(1).is_some_and(is_readable)
    }

    /// Reports, once, that the program has closed descriptors that threads sleep on. The peers
    /// notice by themselves that this process answers no more.
    #[cold]
    fn tell_closed(&self) {
        self.told_closed.call_once(|| {
            eprintln!(
                "mpi-lite (pid {}): the program has closed file descriptors of MPI, so it can \
                 send and receive no more messages; close only descriptors that the program opened",
                std::process::id()
            );
        });
    }
}
