//! What a port leaves to be done once it was served.

use super::door::Announced;
use super::head::Head;
use super::word::Word;
use crate::data::Area;
use crate::engine::inbox::matching::Inbound;
use crate::engine::outbox::Deferred;
use crate::engine::requests::Request;
use crate::error::Error;
use crate::ids::PeerId;

/// What the service of a port leaves to be done.
#[derive(Debug)]
pub(in crate::engine) enum Errand {
    /// This word has come from a peer.
    Word(PeerId, Word),
    /// This body lands now, for what it is; `None`: nowhere.
    Land(Inbound, Option<(Announced, Area)>),
    /// This head lands now.
    Admit(Inbound, Head),
    /// This is to be sent.
    Send(Deferred),
    /// This operation of the program is over.
    Finish(Request, Option<Error>),
}

impl Errand {
    /// Returns true if this message lands by it.
    pub(in crate::engine) fn lands(&self, message: Inbound) -> bool {
        match self {
            Self::Admit(inbound, _) | Self::Land(inbound, _) => *inbound == message,
            Self::Word(..) | Self::Send(_) | Self::Finish(..) => false,
        }
    }
}
