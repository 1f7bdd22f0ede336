//! What others may read of the parts of a lane.

use std::sync::Arc;

use super::{Lane, Parts};
use crate::engine::envelope::Envelope;
use crate::engine::inbox::matching::{Posted, Unexpected};
use crate::engine::outbox::{Buffers, Sending};
use crate::engine::ports::Ports;
use crate::engine::report::Watch;
use crate::engine::requests::{Request, Requests};
use crate::node::Node;
use crate::peers::PeerTable;
use crate::transport::Links;

/// The parts of a lane, to be read.
#[derive(Clone, Copy)]
pub(in crate::engine) struct View<'a>(&'a Parts);

impl<'a> View<'a> {
    #[inline(always)]
    pub(in crate::engine) fn requests(self) -> &'a Requests {
        &self.0.requests
    }

    /// Receives without a message.
    pub(in crate::engine) fn posted(self) -> &'a Posted {
        self.0.inbox.posted()
    }

    /// Messages without a receive.
    pub(in crate::engine) fn unexpected(self) -> &'a Unexpected {
        self.0.inbox.unexpected()
    }

    /// Sends that the transport has not finished.
    pub(in crate::engine) fn sends(self) -> impl Iterator<Item = &'a Sending> {
        self.0.outbox.sends()
    }

    pub(in crate::engine) fn buffers(self) -> &'a Buffers {
        self.0.outbox.buffers()
    }

    pub(in crate::engine) fn ports(self) -> &'a Ports {
        &self.0.ports
    }

    pub(in crate::engine) fn peers(self) -> &'a PeerTable {
        &self.0.peers
    }

    /// The tool that watches.
    pub(in crate::engine) fn watch(self) -> Watch {
        self.0.watch
    }

    /// Returns true if a message was not taken in that a call which waits for long would take in.
    #[inline(always)]
    pub(in crate::engine) fn wants_room(self) -> bool {
        self.0.inbox.wants_room()
    }

    /// The message that this receive has matched, and its length, while it is on its way.
    pub(in crate::engine) fn incoming(self, request: Request) -> Option<(Envelope, u64)> {
        self.0.inbox.incoming(request)
    }
}

impl Lane {
    #[inline(always)]
    pub(in crate::engine) fn view(&self) -> View<'_> {
        View(&self.parts)
    }

    /// The links of this process.
    #[must_use]
    pub fn links(&self) -> &Links {
        &self.links
    }

    /// The ranks that the link through memory leads to, and what they share.
    #[must_use]
    pub fn node(&self) -> Option<Arc<Node>> {
        self.node.clone()
    }
}
