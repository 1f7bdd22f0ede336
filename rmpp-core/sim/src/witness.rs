//! Follows each packet and event to its message, and passes it to the checker.

use rmpp_core::{Awaited, Dropped, Event, Header, IncomingId, Kind, Placement, Transmit};

use super::checker::{Checker, Outcome, Verdict, hold};
use super::node::{Packet, Payload, Tables, TaggedEvent};

/// The state beside the endpoint of node `at`.
pub(super) struct Witness<'a> {
    pub(super) at: u32,
    pub(super) tables: &'a mut Tables,
    pub(super) checker: &'a mut Checker,
}

impl Witness<'_> {
    /// A packet of message `tag` leaves; answers what it is and carries.
    pub(super) fn transmitted(
        &mut self,
        transmit: &Transmit,
        header: &Header,
        tag: u32,
    ) -> Result<Option<Payload>, String> {
        self.checker.named(tag, header.msg_id)?;
        match header.kind {
            Kind::Cts => {
                let up_to = u64::from(header.seq - 1 + u32::from(header.info1));
                self.checker.allow(tag, up_to);
            }
            Kind::Data | Kind::StopData | Kind::LastData => {
                self.checker.data_sent(tag, header.seq)?;
            }
            _ => {}
        }
        let Some(id) = transmit.message else {
            return Ok(None);
        };
        let tag = self.tables.outgoing.get(id.index(), id);
        let tag = tag.ok_or("I4: a message is sent after its last event")?;
        Ok(Some(Payload {
            tag,
            offset: transmit.offset,
            len: transmit.len,
        }))
    }

    /// I3: the next packet is written to the place from `awaited`, whatever it is.
    pub(super) fn awaits(&self, awaited: &Awaited) -> Verdict {
        let Awaited {
            message, offset, ..
        } = *awaited;
        let tag = self.tables.incoming.get(message.index(), message);
        let tag = tag.ok_or("I3: data is awaited of a message that is over")?;
        self.checker.awaits(tag, offset, awaited.payload_bytes)
    }

    /// I3: a packet is placed where it was awaited, or does not look like the awaited one.
    /// `is_it`: it looks so, and its payload is at the awaited place already.
    pub(super) fn placed_as_awaited(
        &self,
        (awaited, is_it): (&Awaited, bool),
        packet: &Packet,
        outcome: Result<Placement, Dropped>,
    ) -> Verdict {
        let place = Placement::Data {
            message: awaited.message,
            offset: awaited.offset,
            packets: 1,
        };
        let is_placed = outcome == Ok(place);
        if !is_it {
            hold!(!is_placed, "I3: {place:?} did not look as it was awaited");
            return Ok(());
        }
        let bytes = packet.payload.map(|payload| payload.len);
        hold!(
            (packet.header.len(), bytes) == (awaited.header_bytes, Some(awaited.payload_bytes)),
            "I3: {packet:?} was awaited as {awaited:?}"
        );
        let is_dropped = !matches!(outcome, Ok(Placement::Data { .. }));
        hold!(
            is_placed || is_dropped && !self.checker.is_selective(),
            "I3: {outcome:?} for what is at {place:?} already"
        );
        Ok(())
    }

    /// A packet was taken; answers the message that it announced.
    pub(super) fn placed(
        &mut self,
        packet: &Packet,
        placement: Placement,
    ) -> Result<Option<(IncomingId, u32)>, String> {
        let tables = &mut *self.tables;
        match (placement, packet.payload) {
            (Placement::None, _) => Ok(None),
            (Placement::First { message, len }, Some(payload)) => {
                let offset = payload.offset;
                hold!(offset == 0, "I3: announced by bytes from {offset}");
                tables.incoming.put(message.index(), message, payload.tag)?;
                self.checker.announce(self.at, payload.tag, len)?;
                Ok(Some((message, payload.tag)))
            }
            (Placement::Early { message }, Some(payload)) => {
                let offset = payload.offset;
                hold!(offset == 0, "I3: early by bytes from {offset}");
                tables.incoming.put(message.index(), message, payload.tag)?;
                Ok(None)
            }
            (
                Placement::Data {
                    message, offset, ..
                },
                Some(payload),
            ) => {
                tables.current = Some(message);
                // The last packet's event is still to come, so the id is known.
                let tag = tables.incoming.get(message.index(), message);
                hold!(
                    tag == Some(payload.tag),
                    "I3: {} placed in {tag:?}",
                    payload.tag
                );
                hold!(
                    offset == payload.offset,
                    "I3: {} placed at {offset}",
                    payload.offset
                );
                let header = Header::decode(&packet.header).ok_or("a header that was taken")?;
                self.checker.place(payload.tag, header.info2, header.seq)?;
                Ok(None)
            }
            (_, None) => Err(format!("I3: {placement:?} for a packet without payload")),
        }
    }

    /// The turn of a message that came early; answers its tag.
    pub(super) fn due(&mut self, message: IncomingId, len: u64) -> Result<u32, String> {
        let tag = self.tables.incoming.get(message.index(), message);
        let tag = tag.ok_or("I1: a message is due that nobody knows")?;
        self.checker.announce(self.at, tag, len)?;
        Ok(tag)
    }

    /// A message has ended in some way; returns how, and which one. The caller sees to a lost peer
    /// and to a message whose turn has come.
    pub(super) fn heard(&mut self, event: TaggedEvent) -> Result<(&'static str, u32), String> {
        let tables = &mut *self.tables;
        let (taken, kept) = match event {
            Event::Arrived(id, kept) => (tables.incoming.take(id.index(), id), Some(kept)),
            Event::Aborted(id, _, kept) => (tables.incoming.take(id.index(), id), kept),
            Event::Sent(id, kept) | Event::Refused(id, kept) | Event::Cancelled(id, kept) => {
                (tables.outgoing.take(id.index(), id), Some(kept))
            }
            Event::Lost { .. } | Event::Due { .. } | Event::Unheard { .. } => (None, None),
        };
        let tag = taken.ok_or("I1: an event for a message that had its last event")?;
        hold!(
            kept.is_none_or(|kept| kept == tag),
            "I3: {kept:?} was kept with message {tag}"
        );
        if let Event::Aborted(_, from, _) = event {
            let sender = self.checker.messages[tag as usize].from;
            hold!(
                from.0 == sender,
                "I5: {from} gives up a message of {sender}"
            );
        }
        let (what, verdict) = match event {
            Event::Arrived(..) => ("arrived", self.checker.arrive(tag)),
            Event::Aborted(..) => ("aborted", self.checker.abort(tag)),
            Event::Sent(..) => ("sent", self.checker.end(tag, Outcome::Sent)),
            Event::Refused(..) => ("refused", self.checker.end(tag, Outcome::Refused)),
            Event::Cancelled(..) => ("cancelled", self.checker.end(tag, Outcome::Cancelled)),
            Event::Lost { .. } | Event::Due { .. } | Event::Unheard { .. } => ("else", Ok(())),
        };
        verdict.map(|()| (what, tag))
    }

    /// I5: with a lost peer all ends that is under way to it, and all that it has announced.
    pub(super) fn lost(
        &mut self,
        peer: u32,
        unsent: &[u32],
        unfinished: &[(IncomingId, Option<u32>)],
    ) -> Verdict {
        let at = self.at;
        let tables = &mut *self.tables;
        for &tag in unsent {
            let id = tables.outgoing.id_of(tag);
            let id = id.ok_or("I5: a message is lost that had its last event")?;
            tables.outgoing.take(id.index(), id);
            self.checker.end(tag, Outcome::Lost)?;
        }
        let open = |tag: u32| {
            let message = &self.checker.messages[tag as usize];
            message.outcome == Outcome::Open && message.to == peer
        };
        let left = tables.outgoing.live().find(|it| open(it.1));
        hold!(
            left.is_none(),
            "I5: node {at} lost node {peer}, and nothing is told of {left:?}"
        );
        for &(id, kept) in unfinished {
            let tag = tables.incoming.take(id.index(), id);
            let tag = tag.ok_or("I5: a message is unfinished that had its last event")?;
            let message = &self.checker.messages[tag as usize];
            hold!(
                message.from == peer && !message.arrived && kept.is_none_or(|kept| kept == tag),
                "I5: message {tag} is unfinished: {message:?}"
            );
        }
        let checker = &self.checker;
        let is_its = |tag: u32| checker.messages[tag as usize].from == peer;
        tables.incoming.drop_all(is_its);
        Ok(())
    }
}
