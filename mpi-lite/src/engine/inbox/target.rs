//! What a message on its way in is for.

use crate::engine::envelope::Envelope;
use crate::engine::ports::{Announced, Head};
use crate::engine::requests::Request;

/// What a message on its way in is for.
#[derive(Debug)]
pub(in crate::engine) enum Target {
    /// It fills this receive.
    Receive {
        request: Request,
        envelope: Envelope,
        len: u64,
    },
    /// It is unexpected and has this place.
    Unexpected(u32),
    /// A port reads it once it is here.
    Head(Head),
    /// It is the body that a head has announced to its port.
    Body(Announced),
    /// Nobody wants it.
    Nothing,
}
