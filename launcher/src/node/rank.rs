//! One rank as the node sees it: a process, its channel and its output.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Instant;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, read};

use super::channel::Channel;
use super::lines::Lines;
use super::spawn::Spawned;
use crate::node::group::Group;
use crate::wire::{Ended, Stream};

/// How many bytes are still read from a pipe after the rank ended: what fits into a pipe. Whatever
/// comes later was written by processes that the rank left behind.
const LAST_WORDS_MAX: usize = 1 << 20;

pub(super) const STREAMS: [Stream; 2] = [Stream::Output, Stream::Error];

/// One of the two output pipes.
#[derive(Debug)]
pub(super) struct Source {
    descriptor: OwnedFd,
    pub(super) lines: Lines,
    last_words: usize,
    pub(super) is_at_end: bool,
}

impl Source {
    fn new(descriptor: OwnedFd) -> Source {
        Source {
            descriptor,
            lines: Lines::default(),
            last_words: 0,
            is_at_end: false,
        }
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Reads once. Returns complete lines (or the last piece of the stream), maybe none yet; `None`
    /// if there is nothing to read now.
    pub(super) fn hear(&mut self, scratch: &mut [u8], now: Instant) -> Option<Vec<u8>> {
        match read(&self.descriptor, scratch) {
            Ok(length) if length > 0 => Some(self.lines.push(&scratch[..length], now)),
            Err(Errno::EAGAIN | Errno::EINTR) => None,
            Ok(_) | Err(_) => {
                self.is_at_end = true;
                Some(self.lines.take_rest())
            }
        }
    }

    /// Counts what is read after the rank's end. Returns true if that is enough.
    pub(super) fn counts_as_last_words(&mut self, length: usize) -> bool {
        self.last_words += length;
        self.last_words > LAST_WORDS_MAX
    }
}

/// One rank on this node.
#[derive(Debug)]
pub(super) struct RankProcess {
    pub(super) rank: u32,
    pub(super) pid: Pid,
    pub(super) channel: Channel,
    /// By stream: what it writes, until its end.
    sources: [Option<Source>; 2],
    pub(super) ended: Option<Ended>,
    /// It has aborted the job and is on its way out: its exit handlers may still write.
    pub(super) aborts: bool,
    /// Since when it is in state T, not by our own doing, and not reported.
    pub(super) stopped_since: Option<Instant>,
    /// Since when it is in state T, whoever stopped it.
    pub(super) stopped_at: Option<Instant>,
    /// Its own process group, if it has one.
    group: Option<Group>,
    /// No process of its group is left.
    is_group_gone: bool,
}

impl RankProcess {
    pub(super) fn new(
        rank: u32,
        spawned: Spawned,
        group: Option<Group>,
    ) -> std::io::Result<RankProcess> {
        Ok(RankProcess {
            rank,
            pid: spawned.pid,
            channel: Channel::new(spawned.boot)?,
            sources: [spawned.output, spawned.error].map(|it| Some(Source::new(it))),
            ended: None,
            aborts: false,
            stopped_since: None,
            stopped_at: None,
            group,
            is_group_gone: false,
        })
    }

    pub(super) fn source(&mut self, stream: Stream) -> &mut Option<Source> {
        &mut self.sources[stream as usize]
    }

    /// What it still writes to.
    pub(super) fn sources(&self) -> impl Iterator<Item = (Stream, &Source)> {
        let all = STREAMS.into_iter().zip(&self.sources);
        all.filter_map(|(stream, source)| Some((stream, source.as_ref()?)))
    }

    /// Returns true if the rank ended and all its output has been taken.
    pub(super) fn is_finished(&self) -> bool {
        self.ended.is_some() && self.sources().next().is_none()
    }

    pub(super) fn has_own_group(&self) -> bool {
        self.group.is_some()
    }

    /// Signals the rank alone.
    pub(super) fn signal(&self, signal: Signal) {
        if self.ended.is_none() {
            // It may have ended by itself in this moment: then there is nothing to do.
            kill(self.pid, signal).ok();
        }
    }

    /// Signals the rank and what it started, also after its own end.
    pub(super) fn signal_group(&mut self, signal: impl Into<Option<Signal>>) {
        match (&self.group, signal.into()) {
            (Some(group), signal) if !self.is_group_gone => {
                self.is_group_gone = group.signal(signal) == Err(Errno::ESRCH);
            }
            (None, Some(signal)) => self.signal(signal),
            _ => {}
        }
    }

    /// Returns true if a process of the rank's group is left.
    pub(super) fn has_group(&mut self) -> bool {
        self.signal_group(None);
        match self.group {
            Some(_) => !self.is_group_gone,
            None => self.ended.is_none(),
        }
    }
}
