//! A node of the simulated world: an endpoint and the tables its driver keeps.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};

use rmpp_core::{Endpoint, Event, Header, HeaderBytes, IncomingId, Instant, NodeId, OutgoingId};

use super::checker::{Verdict, hold};

/// An endpoint that keeps a tag with each message.
pub(super) type Tagged = Endpoint<u32, u32>;

/// The events of such an endpoint.
pub(super) type TaggedEvent = Event<u32, u32>;

/// The payload of a packet: bytes from `offset` on of message `tag`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Payload {
    pub(super) tag: u32,
    pub(super) offset: u64,
    pub(super) len: usize,
}

/// A packet under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Packet {
    /// Of the job it belongs to (rule E); the layer below checks it.
    pub(super) cookie: u64,
    pub(super) header: HeaderBytes,
    pub(super) payload: Option<Payload>,
}

impl Packet {
    /// Bytes of header and payload together.
    pub(super) fn bytes(&self) -> usize {
        self.header.len() + self.payload.map_or(0, |payload| payload.len)
    }
}

/// Messages by slab position, each with the id that distinguishes the tenants of a position. The
/// last tenant is remembered when it is gone. A position may be given out again before the last
/// event of its tenant has been taken in.
#[derive(Clone)]
pub(super) struct Tags<Id, T = u32> {
    places: Vec<Option<(Id, Option<T>)>>,
    /// Tenants whose positions have been given to others.
    leaving: Vec<(Id, T)>,
}

impl<Id: Copy + PartialEq + Debug, T: Copy + Debug> Tags<Id, T> {
    pub(super) const EMPTY: Self = Self {
        places: Vec::new(),
        leaving: Vec::new(),
    };

    /// A message begins.
    ///
    /// # Errors
    /// I1: its id has been used already.
    pub(super) fn put(&mut self, index: usize, id: Id, tag: T) -> Verdict {
        if self.places.len() <= index {
            self.places.resize(index + 1, None);
        }
        if let Some((last, tenant)) = self.places[index] {
            hold!(
                last != id,
                "I1: message {tag:?} has the id {id:?} of one that is over"
            );
            self.leaving.extend(tenant.map(|tenant| (last, tenant)));
        }
        self.places[index] = Some((id, Some(tag)));
        Ok(())
    }

    pub(super) fn get(&self, index: usize, id: Id) -> Option<T> {
        match self.places.get(index)?.as_ref()? {
            (tenant, tag) if *tenant == id => *tag,
            _ => self.leaving.iter().find(|it| it.0 == id).map(|it| it.1),
        }
    }

    pub(super) fn live(&self) -> impl Iterator<Item = (Id, T)> {
        let taken = self.places.iter().flatten();
        let staying = taken.filter_map(|&(id, tag)| Some((id, tag?)));
        staying.chain(self.leaving.iter().copied())
    }

    pub(super) fn take(&mut self, index: usize, id: Id) -> Option<T> {
        let tag = self.get(index, id)?;
        match &mut self.places[index] {
            Some((tenant, left)) if *tenant == id => *left = None,
            _ => self.leaving.retain(|it| it.0 != id),
        }
        Some(tag)
    }

    /// I1: when all events have been taken in no position has two tenants.
    pub(super) fn check_heard(&self) -> Verdict {
        let leaving = self.leaving.first();
        hold!(
            leaving.is_none(),
            "I1: the place of {leaving:?} is given out, and nothing is told of it"
        );
        Ok(())
    }
}

impl<Id: Copy + PartialEq + Debug> Tags<Id> {
    /// Messages end without an event each.
    pub(super) fn drop_all(&mut self, is_one: impl Fn(u32) -> bool) {
        for (_, tag) in self.places.iter_mut().flatten() {
            tag.take_if(|tag| is_one(*tag));
        }
        self.leaving.retain(|it| !is_one(it.1));
    }

    /// The id of the message with this tag; slow, for rare use.
    pub(super) fn id_of(&self, tag: u32) -> Option<Id> {
        self.live()
            .find(|entry| entry.1 == tag)
            .map(|entry| entry.0)
    }
}

impl<Id: Copy + PartialEq + Debug + Hash> Hash for Tags<Id> {
    /// Of those that live: names that are gone make no difference.
    fn hash<H: Hasher>(&self, state: &mut H) {
        for place in &self.places {
            place.and_then(|(id, tag)| Some((id, tag?))).hash(state);
        }
        self.leaving.hash(state);
    }
}

/// The messages of a driver.
#[derive(Clone, Hash)]
pub(super) struct Tables {
    pub(super) outgoing: Tags<OutgoingId>,
    pub(super) incoming: Tags<IncomingId>,
    /// Tags of all messages sent to each node, in the order of their numbers.
    pub(super) sent: Vec<Vec<u32>>,
    /// The message that the last data was for.
    pub(super) current: Option<IncomingId>,
}

impl Tables {
    pub(super) const EMPTY: Self = Self {
        outgoing: Tags::EMPTY,
        incoming: Tags::EMPTY,
        sent: Vec::new(),
        current: None,
    };

    pub(super) fn note_sent(&mut self, to: u32, tag: u32) {
        let to = to as usize;
        if self.sent.len() <= to {
            self.sent.resize(to + 1, Vec::new());
        }
        self.sent[to].push(tag);
    }

    /// The message from this node to `to` that a header names.
    pub(super) fn tag_of(&self, header: &Header, to: u32, first_msg_num: u32) -> Option<u32> {
        let place = header.msg_num.wrapping_sub(first_msg_num);
        let sent = self.sent.get(to as usize)?;
        sent.get(place as usize).copied()
    }
}

/// An endpoint with its driver's tables.
pub(super) struct Node {
    pub(super) endpoint: Tagged,
    pub(super) tables: Tables,
    /// Asleep, and what came meanwhile.
    pub(super) asleep: bool,
    pub(super) inbox: VecDeque<(NodeId, Packet)>,
    /// First packets that were handed out at once, and whose timers do not run yet.
    pub(super) begun: Vec<OutgoingId>,
    /// Packets have come, and it has not been asked yet what it has to send.
    pub(super) has_more: bool,
    /// The layer below has no room.
    pub(super) stalled: bool,
    /// Timeouts handled since time last moved on.
    pub(super) timeouts_now: (Instant, u32),
}

impl Node {
    pub(super) fn new(endpoint: Tagged) -> Self {
        Self {
            endpoint,
            tables: Tables::EMPTY,
            asleep: false,
            inbox: VecDeque::new(),
            begun: Vec::new(),
            has_more: false,
            stalled: false,
            timeouts_now: (Instant::ZERO, 0),
        }
    }
}
