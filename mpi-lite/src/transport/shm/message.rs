//! Records of messages on their way.

use std::collections::VecDeque;

use super::super::sink::LinkEvent;
use super::super::{EnvelopeBytes, Token};
use super::body::Room;
use super::choice::Trial;
use crate::data::Area;
use crate::slab::Slab;

/// What the sink is told at the next progress.
pub(super) type Events = VecDeque<LinkEvent>;

/// A message on its way in that is not complete, or has not landed.
#[derive(Debug)]
pub(super) struct Inbound {
    pub(super) from: u32,
    pub(super) len: u64,
    /// Bytes that have come through the ring.
    pub(super) come: u64,
    pub(super) room: Room,
    /// Where it is, if it does not come in pieces.
    pub(super) source: Option<Source>,
    /// Its way was chosen, and is measured.
    pub(super) trial: Option<Trial>,
}

/// Where the bytes of a long message are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    /// What its sender calls it.
    pub(super) name: u32,
    /// The sender's address.
    pub(super) address: u64,
    /// The transfer that both sides use, if there is one of this number.
    pub(super) transfer: u32,
}

/// A message that waits for its receiver.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) to: u32,
    pub(super) envelope: EnvelopeBytes,
    pub(super) body: Area,
    pub(super) token: Token,
    /// Its sender waits for the match.
    pub(super) needs_match: bool,
    pub(super) transfer: Option<u32>,
    /// It was announced to the receiver, by this name.
    pub(super) is_told: bool,
    /// How often this side has looked in vain for the place that it goes to.
    pub(super) looks: u32,
    /// Bytes that have gone through the ring, and the receiver's name for it, once it asked.
    pub(super) gone: usize,
    pub(super) asked: Option<u32>,
}

impl Outgoing {
    /// Bytes of the body.
    pub(super) fn bytes(&self) -> usize {
        self.body.len() as usize
    }
}

/// The numbers of the messages that are meant.
pub(super) fn numbers_of<T>(messages: &Slab<T>, is_meant: impl Fn(&T) -> bool) -> Vec<u32> {
    let meant = messages.iter().filter(|(_, message)| is_meant(message));
    meant.map(|(index, _)| index).collect()
}
