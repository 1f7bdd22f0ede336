//! What others may read of the parts of a lane.

use std::sync::Arc;

use super::{Lane, Parts};
use crate::engine::envelope::Envelope;
use crate::engine::inbox::matching::{Pattern, Posted, Unexpected};
use crate::engine::outbox::{Buffers, Sending};
use crate::engine::ports::Ports;
use crate::engine::requests::{Request, Requests};
use crate::node::Node;
use crate::peers::PeerTable;
use crate::transport::{Links, Transport as _};

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
    pub(in crate::engine) fn node(&self) -> Option<Arc<Node>> {
        self.node.clone()
    }

    /// The first message without a receive that fits.
    pub(in crate::engine) fn first_unexpected(&mut self, pattern: &Pattern) -> Option<Envelope> {
        let found = self.parts.inbox.find(pattern);
        found.map(|(envelope, _)| envelope)
    }

    /// Returns true if messages are kept back; `None` if something has failed, perhaps elsewhere.
    #[inline(always)]
    pub(crate) fn holds_back_unless_failed(&self) -> Option<bool> {
        (!self.parts.ports.has_failures()).then(|| self.holds_back())
    }

    /// Returns true if messages to ranks of this node are not all in their channels, or not all
    /// done with.
    #[inline]
    pub(crate) fn holds_back(&self) -> bool {
        self.links
            .memory()
            .is_some_and(|link| !self.links[link].is_quiet())
    }
}
