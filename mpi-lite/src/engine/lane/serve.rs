//! What comes to ports: it is served here, and what follows is left as errands.

use super::{Parts, Traffic};
use crate::data::Area;
use crate::engine::envelope::Envelope;
use crate::engine::inbox::matching::Inbound;
use crate::engine::outbox::{Deferred, Load};
use crate::engine::ports::{HEAD_MOST, Word, body_envelope, head_envelope};
use crate::engine::requests::{Operation, Request, Status};
use crate::error::{Cause, Error, Result};
use crate::ids::Context;
use crate::transport::PeerId;

impl Parts {
    /// Serves the ports to which something has come.
    pub(super) fn serve_ports(&mut self) {
        if self.ports.has_visits() {
            self.has_errands = true;
            self.ports.serve(&mut self.errands);
        }
    }

    /// A word of a peer's engine has come. Returns a message that must land nowhere.
    pub(super) fn hear(&mut self, from: PeerId, word: Word) -> Option<Inbound> {
        match word {
            Word::Question(token, asked) => {
                let dropped = self.inbox.drop_unmatched(&Envelope::decode(&asked));
                let answer = match dropped {
                    Some(_) => Word::Dropped(token),
                    None => Word::Matched(token),
                };
                self.outbox.defer_word(from, &answer);
                return dropped.flatten();
            }
            Word::Matched(token) | Word::Dropped(token) => {
                let is_dropped = matches!(word, Word::Dropped(_));
                let verdict = self.outbox.note_answer(from, token, is_dropped);
                self.judge(token, verdict);
            }
            Word::Lost(rank) => self.note_desertion(from, rank),
            Word::Hello => {}
            Word::GivenUp(context, notice) => self.note_given_up(from, context, notice),
        }
        None
    }

    /// Finishes an operation that a port has carried out.
    pub(super) fn finish(&mut self, request: Request, error: Option<Error>) {
        let operation = self.requests.get(request);
        if operation.is_some_and(Operation::is_active) {
            self.requests.finish(request, Status::EMPTY, error);
        }
    }
}

impl Traffic {
    /// Opens an operation that a port finishes: see [`Effects::finish`].
    ///
    /// [`Effects::finish`]: crate::engine::Effects::finish
    pub fn open_operation(&mut self, context: Context) -> Request {
        self.parts.requests.open(Some(context), Area::EMPTY)
    }

    /// Bytes that the body of an operation on a port of this peer may have.
    #[must_use]
    pub fn body_limit(&self, to: PeerId) -> u64 {
        let link = self.parts.peers.link(to);
        self.links.capabilities(link).body_limit
    }

    /// Opens an operation that is over.
    pub fn finished_operation(&mut self, context: Context) -> Request {
        let request = self.open_operation(context);
        self.parts.finish(request, None);
        request
    }

    /// Finishes an operation that no port finishes; with an error if it has failed.
    pub fn finish_operation(&mut self, request: Request, error: Option<Error>) {
        self.parts.finish(request, error);
    }

    /// Begins an operation on the port of `context` at a peer: sends a head of at most
    /// [`HEAD_MOST`] bytes, and the body that it announces. `number`
    /// tells it apart from the others of this process that have not ended. The memory must stay as
    /// it is until [`Handler::sent`](crate::engine::Handler::sent) or
    /// [`Handler::lost`](crate::engine::Handler::lost) is called for it.
    ///
    /// # Errors
    /// The peer is lost, or the body is longer than its link carries. Nothing was sent.
    ///
    /// # Panics
    /// When the head is too long.
    pub fn begin_operation(
        &mut self,
        (to, context, number): (PeerId, Context, u32),
        head: Vec<u8>,
        body: Option<Area>,
    ) -> Result<()> {
        assert!(head.len() as u64 <= HEAD_MOST, "the head is too long");
        let limit = self.body_limit(to);
        let Parts { peers, outbox, .. } = &mut self.parts;
        if peers.is_lost(to) {
            return Err(peers.error(to));
        }
        let len = body.as_ref().map_or(0, Area::len);
        if len > limit {
            return Err(Cause::TooLong { len, limit }.into());
        }
        let envelope = head_envelope(context, number);
        outbox.defer(Deferred {
            to,
            envelope,
            body: Load::Bytes(head),
        });
        if let Some(body) = body {
            outbox.defer(Deferred {
                to,
                envelope: body_envelope(context, number),
                body: Load::Area(body),
            });
        }
        self.parts.has_errands = true;
        self.run_errands();
        Ok(())
    }
}
