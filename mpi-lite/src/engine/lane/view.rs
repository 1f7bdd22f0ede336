//! What others may read of the parts of a lane.

use std::sync::Arc;

use crate::engine::envelope::Envelope;
use crate::engine::inbox::matching::{Pattern, Posted, Unexpected};
use crate::engine::lane::Lane;
use crate::engine::lane::delivery::{Delivery, Target};
use crate::engine::outbox::attached::Buffers;
use crate::engine::outbox::sends::Sending;
use crate::engine::ports::Ports;
use crate::engine::requests::operation::Requests;
use crate::engine::requests::request::Request;
use crate::node::Node;
use crate::peers::PeerTable;
use crate::slab::SlotMap;
use crate::transport::{Links, Transport as _};

/// The parts of a lane, to be read.
#[derive(Clone, Copy)]
pub(crate) struct View<'a>(&'a Delivery);

impl<'a> View<'a> {
    #[inline(always)]
    pub(crate) fn requests(self) -> &'a Requests {
        &self.0.requests
    }

    /// Receives without a message.
    pub(crate) fn posted(self) -> &'a Posted {
        &self.0.posted
    }

    /// Messages without a receive.
    pub(crate) fn unexpected(self) -> &'a Unexpected {
        &self.0.unexpected
    }

    /// Sends that the transport has not finished.
    pub(crate) fn sends(self) -> impl Iterator<Item = &'a Sending> {
        self.0.sends.iter().map(|(_, sending)| sending)
    }

    pub(crate) fn buffers(self) -> &'a Buffers {
        &self.0.buffers
    }

    pub(crate) fn ports(self) -> &'a Ports {
        &self.0.ports
    }

    pub(crate) fn peers(self) -> &'a PeerTable {
        &self.0.peers
    }

    /// The message that this receive has matched, and its length, while it is on its way.
    pub(crate) fn incoming(self, request: Request) -> Option<(Envelope, u64)> {
        let its = |target: &Target| match target {
            Target::Receive {
                request: receive,
                envelope,
                len,
            } if *receive == request => Some((*envelope, *len)),
            _ => None,
        };
        let mut targets = self.0.targets.iter().flat_map(SlotMap::iter);
        let claimed = || self.0.unexpected.claimed_by(request);
        let claimed = || claimed().map(|message| (message.envelope, message.len));
        targets.find_map(its).or_else(claimed)
    }
}

impl Lane {
    #[inline(always)]
    pub(crate) fn view(&self) -> View<'_> {
        View(&self.delivery)
    }

    pub(crate) fn links(&self) -> &Links {
        &self.links
    }

    /// The ranks that the link through memory leads to, and what they share.
    pub(crate) fn node(&self) -> Option<Arc<Node>> {
        self.node.clone()
    }

    /// The first message without a receive that fits.
    pub(crate) fn first_unexpected(&mut self, pattern: &Pattern) -> Option<Envelope> {
        let unexpected = &mut self.delivery.unexpected;
        if unexpected.is_empty() {
            return None;
        }
        unexpected.find(pattern).map(|message| message.envelope)
    }

    /// Returns true if messages are kept back; `None` if something has failed, perhaps elsewhere.
    #[inline(always)]
    pub(crate) fn holds_back_unless_failed(&self) -> Option<bool> {
        (!self.delivery.has_failures).then(|| self.holds_back())
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
