//! Processes that may do without messages.

use crate::comm::{Communicator, Members, Peers};
use crate::engine::AtSite;

/// The processes of a communicator in a blocking call, before they use messages.
#[derive(Clone, Copy, Debug)]
pub struct Near<'a> {
    members: Members,
    at_site: Option<AtSite<'a>>,
}

impl<'a> Near<'a> {
    /// Those of `communicator`.
    #[inline]
    pub(super) fn of(communicator: &'a Communicator) -> Self {
        Self {
            members: communicator.members(),
            at_site: communicator.at_site(),
        }
    }

    /// Those of a step of an operation.
    pub(super) fn among(peers: &'a impl Peers) -> Self {
        let (here, all) = (peers.here(), peers.all());
        Self {
            members: Members { here, all },
            at_site: peers.at_site(),
        }
    }

    /// The rank of this process.
    pub(super) fn here(&self) -> usize {
        self.members.here
    }

    /// How many there are.
    pub(super) fn all(&self) -> usize {
        self.members.all
    }

    /// Returns true if there is no other one.
    pub(super) fn is_alone(&self) -> bool {
        self.members.all == 1
    }

    /// Where they meet, if they share memory.
    pub(super) fn at_site(&self) -> Option<AtSite<'a>> {
        self.at_site
    }
}
