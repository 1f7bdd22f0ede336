//! What the layer above keeps with its messages: given at the beginning, given back at the end.

use super::Endpoint;
use crate::event::{Event, Landing};
use crate::ids::{IncomingId, OutgoingId};
use crate::incoming::states::State;
use crate::time::Instant;

impl<Out, In> Endpoint<Out, In> {
    /// Says where an announced message lands, and what is to be kept with it. As long as this is
    /// not called the message is held: neither CTS nor MSGEND goes out. One that came early can
    /// only land [`Landing::Later`]. A message that is gone (aborted, peer lost) or has landed
    /// already is left alone. Returns what was to be kept if the message is there as a whole: it is
    /// over then, without an event.
    ///
    /// Source: paper §3.6.
    pub fn land(
        &mut self,
        message: IncomingId,
        landing: Landing,
        kept: In,
        now: Instant,
    ) -> Option<In> {
        if let Some(fresh) = self.fresh
            && fresh.key == message.0
            && landing == Landing::Accept
        {
            self.land_fresh(fresh, now);
            return Some(kept);
        }
        self.observe(now);
        let index = self.incoming.find(message.0)?;
        if self.incoming[index].state == State::Early {
            self.incoming[index].kept = Some(kept);
            return None;
        }
        self.land_incoming(index, (landing, kept), now);
        match self.events.pop_back()? {
            Event::Arrived(id, kept) if id == message => Some(kept),
            other => {
                self.events.push_back(other);
                None
            }
        }
    }

    /// What is kept with a message that has not ended.
    #[inline]
    #[must_use]
    pub fn outgoing(&self, message: OutgoingId) -> Option<&Out> {
        let index = self.outgoing.find(message.0)?;
        self.outgoing[index].kept.as_ref()
    }

    /// The message whose id has this [`index`](IncomingId::index), if one has.
    #[inline]
    #[must_use]
    pub fn incoming_at(&self, index: usize) -> Option<IncomingId> {
        let index = u32::try_from(index).ok()?;
        self.incoming.get(index)?;
        Some(IncomingId(self.incoming.key(index)))
    }

    /// What is kept with a message that has been announced, or came early, and whose last event has
    /// not been polled; nothing as long as it has not landed, not even [`Landing::Later`].
    #[inline]
    pub fn incoming(&mut self, message: IncomingId) -> Option<&mut In> {
        let index = self.incoming.find(message.0);
        let known = index.and_then(|index| self.incoming.get_mut(index));
        if let Some(kept) = known.and_then(|known| known.kept.as_mut()) {
            return Some(kept);
        }
        // Its last packet has just been handled, and is to be placed.
        self.events.iter_mut().rev().find_map(|event| match event {
            Event::Arrived(id, kept) if *id == message => Some(kept),
            _ => None,
        })
    }
}
