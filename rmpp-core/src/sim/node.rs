//! A node of the simulated world: an endpoint and the tables its driver keeps.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::endpoint::Endpoint;
use crate::ids::{IncomingId, NodeId, OutgoingId};
use crate::packet::{Header, HeaderBytes};
use crate::time::Instant;

/// What a packet would carry: bytes from `offset` on of message `tag`.
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

/// Tags by slab position, with the id that tells tenants of a position apart.
#[derive(Clone, Hash)]
pub(super) struct Tags<Id>(Vec<Option<(Id, u32)>>);

impl<Id: Copy + PartialEq> Tags<Id> {
    pub(super) const EMPTY: Self = Self(Vec::new());

    pub(super) fn put(&mut self, index: usize, id: Id, tag: u32) {
        if self.0.len() <= index {
            self.0.resize(index + 1, None);
        }
        self.0[index] = Some((id, tag));
    }

    pub(super) fn get(&self, index: usize, id: Id) -> Option<u32> {
        let (tenant, tag) = (*self.0.get(index)?)?;
        (tenant == id).then_some(tag)
    }

    /// The id of the message with this tag; slow, for rare use.
    pub(super) fn id_of(&self, tag: u32) -> Option<Id> {
        self.0
            .iter()
            .flatten()
            .find(|entry| entry.1 == tag)
            .map(|entry| entry.0)
    }

    pub(super) fn take(&mut self, index: usize, id: Id) -> Option<u32> {
        let tag = self.get(index, id)?;
        self.0[index] = None;
        Some(tag)
    }
}

/// What a driver remembers of its messages.
#[derive(Clone, Hash)]
pub(super) struct Tables {
    pub(super) outgoing: Tags<OutgoingId>,
    pub(super) incoming: Tags<IncomingId>,
    /// Tags of all messages sent, in the order of their msgIDs.
    pub(super) sent: Vec<u32>,
}

impl Tables {
    pub(super) const EMPTY: Self = Self {
        outgoing: Tags::EMPTY,
        incoming: Tags::EMPTY,
        sent: Vec::new(),
    };

    /// The message of this node that a header of it names.
    pub(super) fn tag_of(&self, header: &Header, first_msg_id: u32) -> Option<u32> {
        let place = header.msg_id.wrapping_sub(first_msg_id);
        self.sent.get(place as usize).copied()
    }
}

/// An endpoint with its driver's tables.
pub(super) struct Node {
    pub(super) endpoint: Endpoint,
    pub(super) tables: Tables,
    /// Asleep, and what came meanwhile.
    pub(super) asleep: bool,
    pub(super) inbox: VecDeque<(NodeId, Packet)>,
    /// The layer below has no room.
    pub(super) stalled: bool,
    /// Timeouts handled since time last moved on.
    pub(super) timeouts_now: (Instant, u32),
}

impl Node {
    pub(super) fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint,
            tables: Tables::EMPTY,
            asleep: false,
            inbox: VecDeque::new(),
            stalled: false,
            timeouts_now: (Instant::ZERO, 0),
        }
    }
}
