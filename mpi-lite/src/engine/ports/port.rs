//! What a context leads to.

use std::sync::Arc;

use super::handler::Handler;
use crate::ids::PeerId;

/// What the messages of a context are for.
#[derive(Debug)]
pub enum Port {
    /// Receives match them: those of a communicator.
    Matching {
        /// Its processes, by rank. Those of this side of an inter-communicator are the last ones.
        members: Arc<[PeerId]>,
        /// How many of them, the first ones, may send point-to-point messages to this process.
        senders: usize,
    },
    /// They are operations on a window: [`Context::window`](crate::ids::Context::window).
    Window(Box<dyn Handler>),
    /// They are for a service among the processes of a communicator:
    /// [`Context::service`](crate::ids::Context::service).
    Service(Box<dyn Handler>),
}

impl Port {
    /// The port of an intra-communicator of these processes.
    #[must_use]
    pub fn among(members: Arc<[PeerId]>) -> Self {
        let senders = members.len();
        Self::Matching { members, senders }
    }
}
