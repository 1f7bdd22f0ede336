//! A line: what carries the messages of a channel to and from a peer, for as long as the job.

use std::borrow::Cow;
use std::time::Duration;

use socket2::Socket;

use super::poller::Interest;
use crate::clock::Instant;
use crate::transport::PeerId;
use crate::transport::streams::ChannelId;

/// How long this process waits before it tries again to connect, times the number of the try.
const PAUSE: Duration = Duration::from_millis(100);

/// The longest such pause.
const PAUSE_MOST: Duration = Duration::from_secs(1);

/// A peer that has not answered for so long is reported, and then every second.
const UNHEARD_AFTER: Duration = Duration::from_secs(3);
const UNHEARD_EVERY: Duration = Duration::from_secs(1);

/// How long this process waits for the connection of a peer that connects, too, before it tries
/// again itself.
const CROSSING: Duration = Duration::from_secs(1);

/// A line.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) peer: PeerId,
    /// The channel key.
    pub(super) key: u32,
    pub(super) stream: ChannelId,
    pub(super) state: LineState,
    /// Bytes that have come and that the stream has not taken.
    pub(super) rest: Rest,
    /// It is in the list of lines that may have something to write.
    pub(super) is_listed: bool,
    /// It is in the list of lines whose rest waits.
    pub(super) is_held: bool,
}

/// How far a line is.
#[derive(Debug)]
pub(super) enum LineState {
    /// There is no connection yet.
    Opening(Opening),
    /// There is one.
    Open(Connection),
    /// There was one; this is why it ended. Nothing was on its way.
    Closed(Cow<'static, str>),
    /// There was one; this is why it ended, while something was on its way. The peer is lost then.
    Broken(Instant, Cow<'static, str>),
}

/// The connection of a line.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) socket: Socket,
    /// The system has no room for more bytes.
    pub(super) is_blocked: bool,
    /// What the system reports of it.
    pub(super) interest: Interest,
}

/// A connection that is to come.
#[derive(Debug)]
pub(super) struct Opening {
    since: Instant,
    /// The handshake of this process's own connection, if there is one.
    pub(super) door: Option<u32>,
    /// When it tries again.
    pub(super) again_at: Option<Instant>,
    /// When the peer is reported as unheard.
    unheard_at: Instant,
    pub(super) tries: u32,
    /// Why this host cannot connect, in words.
    pub(super) refusal: Option<String>,
}

impl Opening {
    /// An attempt is due.
    pub(super) fn new(now: Instant) -> Self {
        Self {
            since: now,
            door: None,
            again_at: Some(now),
            unheard_at: now.plus(UNHEARD_AFTER),
            tries: 0,
            refusal: None,
        }
    }

    /// The attempt has failed: there will be another one.
    pub(super) fn fail(&mut self, now: Instant) {
        self.door = None;
        self.again_at = Some(now.plus((PAUSE * self.tries).min(PAUSE_MOST)));
    }

    /// The peer has refused this attempt: its own connection comes.
    pub(super) fn cross(&mut self, now: Instant) {
        self.door = None;
        self.tries = 0;
        self.again_at = Some(now.plus(CROSSING));
    }

    /// How long there has been no answer, if that is to be reported now.
    pub(super) fn is_unheard(&mut self, now: Instant) -> Option<Duration> {
        if now < self.unheard_at {
            return None;
        }
        self.unheard_at = now.plus(UNHEARD_EVERY);
        Some(now.since(self.since))
    }

    /// Returns true if the peer has not answered for `lost_after`.
    pub(super) fn is_lost(&self, now: Instant, lost_after: Option<Duration>) -> bool {
        lost_after.is_some_and(|lost_after| now >= self.since.plus(lost_after))
    }

    /// When something is due.
    pub(super) fn wake_at(&self, lost_after: Option<Duration>) -> Instant {
        let lost_at = lost_after.map(|lost_after| self.since.plus(lost_after));
        let others = [self.again_at, lost_at].into_iter().flatten();
        others.fold(self.unheard_at, Instant::min)
    }
}

/// Bytes that wait.
#[derive(Debug, Default)]
pub(super) struct Rest {
    bytes: Vec<u8>,
    taken: usize,
}

impl Rest {
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.taken..]
    }

    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.bytes.clear();
        self.bytes.extend_from_slice(bytes);
        self.taken = 0;
    }

    pub(super) fn take(&mut self, bytes: usize) {
        self.taken += bytes;
        if self.taken == self.bytes.len() {
            self.clear();
        }
    }

    /// Frees its memory, too.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}
