//! The messages of an endpoint, by their ids: those that its node sends, and those that it
//! receives. The layer above keeps a value with each one, from its beginning to its end.

use super::Endpoint;
use crate::caps::Caps;
use crate::event::{Landing, Transmit};
use crate::ids::{IncomingId, OutgoingId};
use crate::incoming::Awaited;
use crate::time::Instant;

/// The messages that a node sends, from [`Endpoint::send`] on; made by [`Endpoint::outgoing`].
pub struct OutgoingMessages<'a, Out = (), In = ()>(&'a mut Endpoint<Out, In>);

/// The messages that a node receives, from their first packet on; made by [`Endpoint::incoming`].
pub struct IncomingMessages<'a, Out = (), In = ()>(&'a mut Endpoint<Out, In>);

impl<'a, Out, In> OutgoingMessages<'a, Out, In> {
    #[inline]
    pub(super) fn of(endpoint: &'a mut Endpoint<Out, In>) -> Self {
        Self(endpoint)
    }

    /// The value kept with a message that has not ended.
    #[inline]
    #[must_use]
    pub fn kept(self, message: OutgoingId) -> Option<&'a Out> {
        self.0.sender.kept(message)
    }

    /// The first packet of a short message that [`send`](Endpoint::send) has just begun, if it may
    /// go now and no other message waits for [`poll_transmit`](Endpoint::poll_transmit), which
    /// gives it out otherwise. Call [`note_sent`](Self::note_sent) when it has gone.
    #[inline]
    #[must_use]
    pub fn first_packet(self, message: OutgoingId) -> Option<Transmit> {
        let endpoint = self.0;
        let common = &mut endpoint.common;
        let (index, to) = endpoint.sender.goes_first(common.config(), message)?;
        let ack = endpoint.receiver.acknowledge(common, to);
        Some(endpoint.sender.first_packet(common, index, ack))
    }

    /// A packet that [`first_packet`](Self::first_packet) has given out is on its way. Until then
    /// no timer runs for it: the clock need not be read before.
    #[inline]
    pub fn note_sent(self, message: OutgoingId, now: Instant) {
        let endpoint = self.0;
        endpoint.observe(now);
        endpoint.sender.note_sent(&mut endpoint.common, message);
    }

    /// Gives a message up: NULL goes out until the receiver has answered, then
    /// [`Event::Cancelled`](crate::Event::Cancelled) is raised. A message that has had its last
    /// event is left alone.
    ///
    /// Source: paper §3.2, NULL.
    pub fn abort(self, message: OutgoingId, now: Instant) {
        let endpoint = self.0;
        endpoint.observe(now);
        endpoint.sender.settle(&mut endpoint.common);
        endpoint.sender.abort(&mut endpoint.common, message);
    }
}

impl<'a, Out, In> IncomingMessages<'a, Out, In> {
    #[inline]
    pub(super) fn of(endpoint: &'a mut Endpoint<Out, In>) -> Self {
        Self(endpoint)
    }

    /// Says where an announced message lands, and what is to be kept with it. As long as this is
    /// not called the message is held: neither CTS nor MSGEND goes out. One that came early can
    /// only land [`Landing::Later`]. A message that is gone (aborted, peer lost) or has landed
    /// already is left alone. Returns what was to be kept if the message is there as a whole: it is
    /// over then, without an event.
    ///
    /// Source: paper §3.6.
    pub fn land(self, message: IncomingId, landing: Landing, kept: In, now: Instant) -> Option<In> {
        let endpoint = self.0;
        let common = &mut endpoint.common;
        if landing == Landing::Accept && endpoint.receiver.land_fresh(common, message, now) {
            return Some(kept);
        }
        endpoint.observe(now);
        let common = &mut endpoint.common;
        let has_landed = endpoint.receiver.land(common, message, (landing, kept));
        has_landed.then(|| common.take_arrival(message)).flatten()
    }

    /// The message whose id has this [`index`](IncomingId::index), if one has.
    #[inline]
    #[must_use]
    pub fn at(self, index: usize) -> Option<IncomingId> {
        let index = u32::try_from(index).ok()?;
        self.0.receiver.id_at(index)
    }

    /// Returns the value kept with a message that has been announced, or came early, and whose last
    /// event has not been polled; `None` as long as it has not landed, not even [`Landing::Later`].
    #[inline]
    #[must_use]
    pub fn kept(self, message: IncomingId) -> Option<&'a mut In> {
        let endpoint = self.0;
        if let Some(kept) = endpoint.receiver.kept(message) {
            return Some(kept);
        }
        // Its last packet has just been handled, and is to be placed.
        endpoint.common.arrived(message)
    }

    /// The layer below has lost packets because its receive buffer was full: less is granted for a
    /// while.
    // Rule G.
    pub fn note_overflow(self) {
        self.0.common.counts().overflows += 1;
        if self.0.common.caps().has(Caps::BUDGET) {
            self.0.receiver.overflow();
        }
    }

    /// The data packet that `message` lacks next: none if it is not being received, nothing more is
    /// granted, or packets are missing before others that have come, so that it is open which comes
    /// next. Until something else is done at the endpoint, nobody but this packet has a claim to
    /// its place.
    #[must_use]
    pub fn awaited(self, message: IncomingId) -> Option<Awaited> {
        self.0.receiver.awaited(self.0.common.config(), message)
    }
}
