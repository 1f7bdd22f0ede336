//! Records the messages that a link announces. Tests need their order, since MPI's matching rules
//! start from it.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use parking_lot::Mutex;

use super::tallies::Counts;
use super::{
    Arrival, Capabilities, EnvelopeBytes, Incoming, Landing, Lost, Outbound, PeerId, Progress,
    Refusal, Sink, Tallies, Token, Transport, Unheard,
};
use crate::clock::Instant;
use crate::memory::Span;

/// A message that a link announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    /// The sender.
    pub from: PeerId,
    /// The engine's envelope.
    pub envelope: EnvelopeBytes,
    /// Bytes of the body.
    pub len: u64,
}

/// The announced messages that were not taken yet, in order. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Heard(Arc<Mutex<Vec<Announced>>>);

impl Heard {
    /// Takes the messages announced since the last call.
    #[must_use]
    pub fn take(&self) -> Vec<Announced> {
        std::mem::take(&mut *self.0.lock())
    }
}

/// A link whose announcements are recorded.
#[derive(Debug)]
pub struct Tap<L> {
    link: L,
    heard: Heard,
}

impl<L: Transport> Tap<L> {
    /// `link`, with its announcements recorded in `heard`.
    #[must_use]
    pub fn new(link: L, heard: Heard) -> Self {
        Self { link, heard }
    }
}

#[expect(private_bounds, reason = "a link alone counts")]
impl<L: Counts> Tap<L> {
    /// Adds to `tallies` what the link has counted.
    pub(super) fn count(&self, tallies: &mut Tallies) {
        self.link.count(tallies);
    }
}

/// A sink that records announcements.
struct Listener<'a> {
    sink: &'a mut dyn Sink,
    heard: &'a Heard,
}

impl Sink for Listener<'_> {
    fn arriving(&mut self, message: Incoming) -> Landing {
        self.heard.0.lock().push(Announced {
            from: message.from,
            envelope: message.envelope,
            len: message.len,
        });
        self.sink.arriving(message)
    }

    fn arrived(&mut self, arrival: Arrival) {
        self.sink.arrived(arrival);
    }

    fn sent(&mut self, token: Token) {
        self.sink.sent(token);
    }

    fn lost(&mut self, lost: Lost) {
        self.sink.lost(lost);
    }

    fn unheard(&mut self, peer: Unheard) {
        self.sink.unheard(peer);
    }

    fn wants_more(&self) -> bool {
        self.sink.wants_more()
    }
}

impl<L: Transport> Transport for Tap<L> {
    fn capabilities(&self) -> Capabilities {
        self.link.capabilities()
    }

    fn offer(&mut self, to: PeerId, envelope: &EnvelopeBytes, body: Span) -> bool {
        self.link.offer(to, envelope, body)
    }

    fn send(&mut self, to: PeerId, message: Outbound<'_>) -> Result<(), Refusal> {
        self.link.send(to, message)
    }

    fn flush(&mut self) {
        self.link.flush();
    }

    fn land(&mut self, arrival: Arrival, landing: Landing) -> bool {
        self.link.land(arrival, landing)
    }

    fn progress(&mut self, now: Instant, sink: &mut impl Sink) -> Progress {
        let heard = &self.heard;
        self.link.progress(now, &mut Listener { sink, heard })
    }

    fn wake_at(&self) -> Option<Instant> {
        self.link.wake_at()
    }

    fn wake_on(&self) -> Option<BorrowedFd<'_>> {
        self.link.wake_on()
    }

    fn set_asleep(&mut self, is_asleep: bool) -> bool {
        self.link.set_asleep(is_asleep)
    }

    fn push_back(&mut self, away: bool) {
        self.link.push_back(away);
    }

    fn close(&mut self) {
        self.link.close();
    }

    fn is_quiet(&self) -> bool {
        self.link.is_quiet()
    }
}
