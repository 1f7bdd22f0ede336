//! Listens on a link: a test learns in which order messages were announced, which is what MPI's
//! matching rules start from.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{
    Arrival, EnvelopeBytes, Event, Landed, Landing, Link, Outbound, Peer, Refusal, Transport,
};
use crate::clock::Instant;

/// A message that a link announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    /// Who sent it.
    pub from: Peer,
    /// The engine's envelope.
    pub envelope: EnvelopeBytes,
    /// Bytes of the body.
    pub len: u64,
}

/// What was announced and not yet looked at, in order; clones listen to the same.
#[derive(Clone, Debug, Default)]
pub struct Heard(Arc<Mutex<Vec<Announced>>>);

impl Heard {
    /// Takes what was announced since the last time.
    #[must_use]
    pub fn take(&self) -> Vec<Announced> {
        std::mem::take(&mut *self.0.lock())
    }
}

/// A link that writes down what it announces.
#[derive(Debug)]
pub struct Tap {
    link: Box<Link>,
    heard: Heard,
}

impl Tap {
    /// `link`, with its announcements written to `heard`.
    #[must_use]
    pub fn new(link: Link, heard: Heard) -> Self {
        let link = Box::new(link);
        Self { link, heard }
    }

    /// The link that it listens on.
    pub(super) fn link(&self) -> &Link {
        &self.link
    }
}

impl Transport for Tap {
    fn body_limit(&self) -> u64 {
        self.link.body_limit()
    }

    fn send(&mut self, to: Peer, message: Outbound<'_>) -> Result<(), Refusal> {
        self.link.send(to, message)
    }

    fn flush(&mut self) {
        self.link.flush();
    }

    fn pause(&mut self) {
        self.link.pause();
    }

    fn land(&mut self, arrival: Arrival, landing: Landing) -> Landed {
        self.link.land(arrival, landing)
    }

    fn poll(&mut self, now: Instant) -> Option<Event> {
        let event = self.link.poll(now);
        if let Some(Event::Arriving {
            from,
            envelope,
            len,
            ..
        }) = event
        {
            let announced = Announced {
                from,
                envelope,
                len,
            };
            self.heard.0.lock().push(announced);
        }
        event
    }

    fn wake_at(&self) -> Option<Instant> {
        self.link.wake_at()
    }

    fn wake_on(&self) -> Option<BorrowedFd<'_>> {
        self.link.wake_on()
    }

    fn packed_most(&self) -> u64 {
        self.link.packed_most()
    }

    fn acknowledges(&self) -> bool {
        self.link.acknowledges()
    }

    fn moved(&self) -> u64 {
        self.link.moved()
    }

    fn is_quiet(&self) -> bool {
        self.link.is_quiet()
    }
}
