//! Where links deliver: matching, requests, what is taken in.

use super::Parts;
use crate::data::Area;
use crate::engine::envelope::Envelope;
use crate::engine::inbox::matching::Inbound;
use crate::engine::inbox::{Claimed, Target};
use crate::engine::outbox::{Ending, Verdict};
use crate::engine::ports::Comer;
use crate::engine::report::MessageStep;
use crate::engine::requests::{Request, Status};
use crate::error::{Cause, Error};
use crate::ids::{ContextKind, Source, TagSelector};
use crate::memory::Span;
use crate::transport::{
    Arrival, EnvelopeBytes, Incoming, Landing, Lost, PeerId, Refusal, Sink, Token, Unheard,
};

#[inline]
pub(super) fn status_of(envelope: &Envelope, bytes: u64) -> Status {
    Status {
        source: Source::Rank(envelope.source.cast_signed()),
        tag: TagSelector::Tag(envelope.tag),
        bytes,
        cancelled: false,
    }
}

impl Parts {
    /// A message is here. Matching is decided in this function: the receive that was posted first
    /// of those that fit gets it (MPI 5.0, 3.5).
    #[inline(always)]
    fn arriving(&mut self, link: usize, message: &Incoming) -> Landing {
        let envelope = Envelope::decode(&message.envelope);
        let requests = &self.requests;
        if message.is_whole
            && !self.is_special
            && let Some((request, span)) = self
                .inbox
                .match_at_once(&envelope, |request| requests.run(request))
        {
            self.finish_with(request, (&envelope, message.len), span.len() as u64);
            return Landing::Into(Area::Run(span));
        }
        self.arriving_otherwise(link, message, envelope)
    }

    /// A message that is not the short one of a receive without gaps that is found at once.
    #[inline(never)]
    fn arriving_otherwise(
        &mut self,
        link: usize,
        message: &Incoming,
        envelope: Envelope,
    ) -> Landing {
        let (len, arrival) = (message.len, message.arrival);
        let inbound = Inbound { link, arrival };
        if let Some(request) = self.inbox.match_receive(&envelope) {
            self.watch
                .note_message(MessageStep::Matched, &envelope, len);
            let area = self.requests.take_area(request);
            let target = Target::Receive {
                request,
                envelope,
                len,
            };
            self.aim(inbound, target, message.is_whole);
            return Landing::Into(area);
        }
        // No receive is for these, so those that wait are not asked for them.
        if envelope.context.kind() != ContextKind::Matching {
            return self.arriving_at_port(inbound, message, &envelope);
        }
        // A peer that begins a session already asks for this process's part in it.
        if self.is_closing && !envelope.context.is_of_all() {
            self.note_leftover(&envelope);
            self.aim(inbound, Target::Nothing, message.is_whole);
            return Landing::NOWHERE;
        }
        let (landing, place) = self.inbox.keep(inbound, message, envelope);
        if self.is_special {
            self.note_waiting(MessageStep::Unexpected, place);
        }
        self.has_errands |= self.inbox.has_turned();
        landing
    }

    /// A message for a port: its head, or a body that a head has announced.
    #[cold]
    fn arriving_at_port(
        &mut self,
        inbound: Inbound,
        message: &Incoming,
        envelope: &Envelope,
    ) -> Landing {
        // What comes now may be the body of a head that has come just before.
        self.serve_ports();
        let from = (message.from, envelope);
        match self.ports.come(from, inbound, message.len) {
            Comer::Head(mut head) => {
                let area = head.area();
                self.aim(inbound, Target::Head(head), message.is_whole);
                Landing::Into(area)
            }
            Comer::Body(body, area) => {
                self.aim(inbound, Target::Body(body), message.is_whole);
                Landing::Into(area)
            }
            Comer::Early => {
                self.inbox.aim(inbound, Target::Nothing);
                Landing::Later
            }
            Comer::Nonsense => {
                self.aim(inbound, Target::Nothing, message.is_whole);
                Landing::NOWHERE
            }
        }
    }

    /// Tells a tool that watches of the unexpected message at `place`.
    #[cold]
    #[inline(never)]
    pub(super) fn note_waiting(&mut self, step: MessageStep, place: u32) {
        let (envelope, len) = self.inbox.envelope(place);
        self.watch.note_message(step, &envelope, len);
    }

    /// Notes what a message is for; if all of it is here it is complete.
    #[inline]
    pub(super) fn aim(&mut self, inbound: Inbound, target: Target, is_whole: bool) {
        if is_whole {
            self.complete(target);
        } else {
            self.inbox.aim(inbound, target);
        }
    }

    /// A message is complete.
    #[inline]
    fn complete(&mut self, target: Target) {
        match target {
            Target::Receive {
                request,
                envelope,
                len,
            } => self.finish_receive(request, &envelope, len),
            Target::Unexpected(place) => self.complete_unexpected(place),
            Target::Head(head) => {
                self.ports.note_head(head);
                self.has_errands = true;
            }
            Target::Body(body) => {
                self.ports.note_body(body);
                self.has_errands = true;
            }
            Target::Nothing => {}
        }
    }

    fn complete_unexpected(&mut self, place: u32) {
        if let Some(filled) = self.inbox.complete(place) {
            let (request, envelope) = (filled.request, filled.envelope);
            let len = filled.bytes.len() as u64;
            self.requests.fill(request, &filled.bytes);
            self.finish_receive(request, &envelope, len);
            self.inbox.keep_buffer(filled.bytes);
        }
    }

    /// Finishes a receive whose message has landed.
    #[inline]
    fn finish_receive(&mut self, request: Request, envelope: &Envelope, len: u64) {
        let room = self.requests.room(request);
        self.finish_with(request, (envelope, len), room);
    }

    /// Finishes a receive that has room for `room` bytes.
    #[inline(always)]
    fn finish_with(&mut self, request: Request, (envelope, len): (&Envelope, u64), room: u64) {
        match self.outcome(envelope, len, room) {
            (status, None) => self.requests.finish(request, status, None),
            (status, error) => self.requests.finish(request, status, error),
        }
    }

    /// Returns how a receive with room for `room` bytes ends by a message of `len` bytes.
    #[inline(always)]
    pub(super) fn outcome(
        &mut self,
        envelope: &Envelope,
        len: u64,
        room: u64,
    ) -> (Status, Option<Error>) {
        self.received += 1;
        self.bytes_received += len;
        let error = (len > room).then(|| Cause::Truncate { len, room }.into());
        (status_of(envelope, len.min(room)), error)
    }

    /// Gives the unexpected message at `place`, already out of its queue, to `request`. Returns how
    /// it lands if its body is still with its sender.
    pub(super) fn claim(
        &mut self,
        place: u32,
        request: Request,
    ) -> Option<(Inbound, Target, Area)> {
        let requests = &mut self.requests;
        let fill = |bytes: &[u8]| requests.fill(request, bytes);
        let (envelope, len, claimed) = self.inbox.claim(place, request, fill);
        match claimed {
            Claimed::Coming => {}
            Claimed::Held(inbound) => {
                let target = Target::Receive {
                    request,
                    envelope,
                    len,
                };
                return Some((inbound, target, self.requests.take_area(request)));
            }
            Claimed::Filled => self.finish_receive(request, &envelope, len),
            Claimed::Lost(peer) => self.fail(request, self.peers.error(peer)),
        }
        self.has_errands |= self.inbox.has_turned();
        None
    }

    pub(super) fn fail(&mut self, request: Request, error: Error) {
        self.requests.finish(request, Status::EMPTY, Some(error));
    }
}

/// Sends that are over.
impl Parts {
    /// Undoes a send that the link refused, and returns the error.
    #[cold]
    pub(super) fn take_back(
        &mut self,
        (token, to): (Token, PeerId),
        refusal: Refusal,
        len: u64,
    ) -> Error {
        if let Some(request) = self.outbox.take_back(token) {
            self.requests.abandon(request);
        }
        match refusal {
            Refusal::TooLong { limit } => Cause::TooLong { len, limit }.into(),
            Refusal::Lost => self.peers.error(to),
        }
    }

    fn close_send(&mut self, token: Token) -> Option<Request> {
        let (request, ending) = self.outbox.close(token);
        match ending.as_deref() {
            Some(Ending::Buffered(reserved)) => {
                for request in self.outbox.buffers_mut().take_out(reserved) {
                    self.requests.finish(request, Status::EMPTY, None);
                }
            }
            Some(Ending::Body(to, envelope)) if !self.peers.is_lost(*to) => {
                self.ports.note_sent(*to, envelope);
                self.has_errands = true;
            }
            _ => {}
        }
        request
    }

    fn sent(&mut self, token: Token) {
        if self.outbox.takes_none_back() {
            self.end_send(token, Status::EMPTY);
        } else {
            let verdict = self.outbox.note_sent(token);
            self.judge(token, verdict);
        }
    }

    /// Ends a send: the link has finished it.
    #[inline]
    fn end_send(&mut self, token: Token, status: Status) {
        if let Some(request) = self.close_send(token) {
            self.requests.finish(request, status, None);
        }
    }

    /// Ends a send that was taken back, if it is over.
    #[cold]
    pub(super) fn judge(&mut self, token: Token, verdict: Verdict) {
        match verdict {
            Verdict::Pending => {}
            Verdict::Complete => self.end_send(token, Status::EMPTY),
            Verdict::Cancelled => self.end_send(token, Status::CANCELLED),
            Verdict::Failed(why) => self.fail_send(token, why),
        }
    }

    /// Ends a send that its receiver will not get.
    pub(super) fn unsent(&mut self, token: Token, peer: PeerId) {
        self.outbox.forget_withdrawal(token);
        self.fail_send(token, self.peers.error(peer));
    }

    fn fail_send(&mut self, token: Token, why: Error) {
        if let Some(request) = self.close_send(token) {
            self.fail(request, why);
        }
    }
}

/// How many things one link tells in one turn, so that no link starves the others.
const TOLD_PER_TURN: u32 = 64;

/// At most this many operations finish before the waiter looks whether they are the awaited ones.
const AT_ONCE: u64 = 8;

/// What one link delivers in one turn.
pub(super) struct Inlet<'a> {
    parts: &'a mut Parts,
    link: usize,
    /// Things told in this turn.
    told: u32,
    /// Operations that had finished when it was made.
    finished: u64,
}

impl<'a> Inlet<'a> {
    /// For link `link`, which has told `told` things in this turn.
    #[inline(always)]
    pub(super) fn new(parts: &'a mut Parts, link: usize, told: u32) -> Self {
        let finished = parts.requests.finished();
        Self {
            parts,
            link,
            told,
            finished,
        }
    }

    /// Returns true if operations have finished.
    #[inline]
    pub(super) fn has_finished(&self) -> bool {
        self.finished != self.parts.requests.finished()
    }

    /// Returns true if the link may not tell more in this turn.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.told >= TOLD_PER_TURN
    }

    /// How many things were told in this turn.
    #[inline]
    pub(super) fn told(&self) -> u32 {
        self.told
    }

    /// Makes a request for a receive that lands in `span`, since a part of its message is still to
    /// come.
    pub(super) fn begin(&mut self, message: &Incoming, envelope: Envelope, span: Span) -> Request {
        let parts = &mut *self.parts;
        let request = parts.requests.open(Some(envelope.context), Area::Run(span));
        let target = Target::Receive {
            request,
            envelope,
            len: message.len,
        };
        let (link, arrival) = (self.link, message.arrival);
        parts.inbox.aim(Inbound { link, arrival }, target);
        request
    }
}

impl Sink for Inlet<'_> {
    #[inline(always)]
    fn arriving(&mut self, message: Incoming) -> Landing {
        self.told += 1;
        self.parts.arriving(self.link, &message)
    }

    #[inline]
    fn arrived(&mut self, arrival: Arrival) {
        self.told += 1;
        let link = self.link;
        let target = self.parts.inbox.take_target(Inbound { link, arrival });
        self.parts.complete(target);
    }

    /// Not counted: there are no more of them than this process has sent.
    #[inline]
    fn sent(&mut self, token: Token) {
        self.parts.sent(token);
    }

    fn lost(&mut self, lost: Lost) {
        self.told += 1;
        self.parts.lose(self.link, &lost);
    }

    fn unheard(&mut self, peer: Unheard) {
        self.parts.warn_of(&peer);
    }

    fn may_overtake(&self, _from: PeerId, envelope: &EnvelopeBytes) -> bool {
        self.parts.inbox.names_tag(&Envelope::decode(envelope))
    }

    /// Until operations have finished that somebody waits for.
    #[inline(always)]
    fn wants_more(&self) -> bool {
        let requests = &self.parts.requests;
        let finished = requests.finished() - self.finished;
        let is_content = finished > 0 && (requests.is_due() || finished >= AT_ONCE);
        !is_content && !self.is_full()
    }
}
