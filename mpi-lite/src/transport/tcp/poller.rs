//! Which sockets have something to do: one `epoll` descriptor for all of them. Source: epoll(7).

use core::mem::MaybeUninit;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};

/// The most sockets that one call reports.
const EVENTS: usize = 64;

/// Something that is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// The socket that listens.
    Listener,
    /// A connection in its handshake, by its index.
    Door(u32),
    /// A connection that carries messages, by its index.
    Line(u32),
}

impl Source {
    fn data(self) -> EventData {
        let (kind, index) = match self {
            Self::Listener => (0, 0),
            Self::Door(index) => (1, index),
            Self::Line(index) => (2, index),
        };
        EventData::new_u64(kind << 32 | u64::from(index))
    }

    fn of(data: EventData) -> Self {
        let data = data.u64();
        let index = data as u32;
        match data >> 32 {
            0 => Self::Listener,
            1 => Self::Door(index),
            _ => Self::Line(index),
        }
    }
}

/// What a source is watched for. Errors are always reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Interest {
    pub(super) reads: bool,
    pub(super) writes: bool,
}

impl Interest {
    pub(super) const READS: Self = Self {
        reads: true,
        writes: false,
    };
    pub(super) const NONE: Self = Self {
        reads: false,
        writes: false,
    };

    fn flags(self) -> EventFlags {
        let mut flags = EventFlags::empty();
        flags.set(EventFlags::IN, self.reads);
        flags.set(EventFlags::OUT, self.writes);
        flags
    }
}

/// The sources, and those of them that were reported and not handled yet.
#[derive(Debug)]
pub(super) struct Poller {
    epoll: OwnedFd,
    /// With each, whether it can be written.
    ready: VecDeque<(Source, bool)>,
}

impl Poller {
    /// # Errors
    /// The system's.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            ready: VecDeque::with_capacity(EVENTS),
        })
    }

    /// # Errors
    /// The system's: there are too many sources.
    pub(super) fn add(
        &self,
        socket: impl AsFd,
        source: Source,
        interest: Interest,
    ) -> io::Result<()> {
        Ok(epoll::add(
            &self.epoll,
            socket,
            source.data(),
            interest.flags(),
        )?)
    }

    /// Changes what a source is, or is watched for.
    pub(super) fn change(&self, socket: impl AsFd, source: Source, interest: Interest) {
        // It was added, so the system can change it.
        let _ = epoll::modify(&self.epoll, socket, source.data(), interest.flags());
    }

    pub(super) fn remove(&self, socket: impl AsFd) {
        let _ = epoll::delete(&self.epoll, socket);
    }

    /// Asks the system which sources are ready, without waiting; all reported ones are handled.
    #[inline]
    pub(super) fn ask(&mut self) {
        const AT_ONCE: Timespec = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let mut events = [MaybeUninit::<Event>::uninit(); EVENTS];
        // Interrupted by a signal: the next call asks again.
        if let Ok((events, _)) = epoll::wait(&self.epoll, &mut events, Some(&AT_ONCE)) {
            for event in events {
                let flags = event.flags;
                let source = Source::of(event.data);
                self.ready
                    .push_back((source, flags.contains(EventFlags::OUT)));
            }
        }
    }

    /// The next one that was reported, and whether it can be written.
    #[inline]
    pub(super) fn next(&mut self) -> Option<(Source, bool)> {
        self.ready.pop_front()
    }

    /// Returns true if `next` has something to return.
    #[inline]
    pub(super) fn has_next(&self) -> bool {
        !self.ready.is_empty()
    }

    /// A descriptor that is readable when a source is ready.
    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}
