//! What is kept of a message on its way in.

use super::channel::ChannelId;
use crate::data::Area;

/// What came over a stream is no record: it cannot be read any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Garbled;

/// Why a peer is lost whose stream is garbled.
pub(crate) const GARBLED: &str = "it has sent bytes that are no message";

/// A message from another process that was announced and is not complete.
#[derive(Debug)]
pub(super) struct Coming {
    pub(super) channel: ChannelId,
    pub(super) len: u64,
    /// Bytes of the body that are here.
    pub(super) here: u64,
    pub(super) place: Destination,
    /// The sender's name for the message, if it waits for an answer.
    pub(super) answer: u32,
}

#[derive(Debug)]
pub(super) enum Destination {
    /// The body is with its sender, who has asked.
    Asked,
    /// The body goes here.
    Into(Area),
    /// The body is taken in until the message lands.
    Kept(Vec<u8>),
}
