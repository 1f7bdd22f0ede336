//! What takes the messages of a context that no receive matches.
//!
//! An operation on a port is a head, and a body if the head announces one. The head is a short
//! message that says what the body is; its port answers where the body lands. So a body of any
//! length lands in place, over every link, and no link knows of ports.

use std::fmt;

use super::errand::Errand;
use super::head::{HEAD_MOST, Head, body_envelope, head_envelope};
use crate::data::Area;
use crate::engine::envelope::Envelope;
use crate::engine::outbox::{Deferred, Load};
use crate::engine::requests::Request;
use crate::error::Error;
use crate::ids::Context;
use crate::transport::PeerId;

/// What takes the messages of a window, a file pointer, or another service. It is called with the
/// lane locked, between the turns of links: it must be short, and reaches the engine only by the
/// [`Effects`].
pub trait Handler: fmt::Debug + Send {
    /// A head has come. Returns where the body lands that it announces; `None` if it announces
    /// none. What comes of a body beyond the area is dropped.
    fn head(&mut self, head: &Head, effects: &mut Effects) -> Option<Area>;

    /// The body with this number, which a head of `from` has announced, has landed; it had `len`
    /// bytes.
    fn landed(&mut self, from: PeerId, number: u32, len: u64, effects: &mut Effects);

    /// The body with this number is with `to`: its memory may be used again. The answer of `to` may
    /// come before.
    fn sent(&mut self, to: PeerId, number: u32, effects: &mut Effects);

    /// Nothing more comes of this peer: no body that it has announced will land, and no link reads
    /// those that go to it.
    fn lost(&mut self, peer: PeerId, effects: &mut Effects);
}

/// What a [`Handler`] makes the engine do once it returns.
#[derive(Debug)]
pub struct Effects {
    context: Context,
    sends: Vec<Deferred>,
    finished: Vec<(Request, Option<Error>)>,
}

impl Effects {
    pub(super) fn new(context: Context) -> Self {
        Self {
            context,
            sends: Vec::new(),
            finished: Vec::new(),
        }
    }

    /// Sends a head to the same port of a peer.
    ///
    /// # Panics
    /// When the head has more than [`HEAD_MOST`] bytes.
    pub fn send_head(&mut self, to: PeerId, number: u32, head: Vec<u8>) {
        assert!(head.len() as u64 <= HEAD_MOST, "the head is too long");
        self.send(to, head_envelope(self.context, number), Load::Bytes(head));
    }

    /// Sends the body that the head with this number has announced. The memory must stay as it is
    /// until [`Handler::sent`] or [`Handler::lost`] is called for it.
    pub fn send_body(&mut self, to: PeerId, number: u32, body: Area) {
        self.send(to, body_envelope(self.context, number), Load::Area(body));
    }

    /// Finishes an operation of the program, with an error if it has failed.
    pub fn finish(&mut self, request: Request, error: Option<Error>) {
        self.finished.push((request, error));
    }

    pub(super) fn append_to(self, errands: &mut Vec<Errand>) {
        errands.extend(self.sends.into_iter().map(Errand::Send));
        let finished = self.finished.into_iter();
        errands.extend(finished.map(|(request, error)| Errand::Finish(request, error)));
    }

    fn send(&mut self, to: PeerId, envelope: Envelope, body: Load) {
        self.sends.push(Deferred { to, envelope, body });
    }
}
