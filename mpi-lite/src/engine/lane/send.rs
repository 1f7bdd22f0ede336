//! Sending: modes, copies, completion.

use super::{Lane, Parts};
use crate::data::Area;
use crate::engine::Engine;
use crate::engine::outbox::BufferOwner;
use crate::engine::requests::Requests;
use crate::engine::requests::{Completion as Received, Request, Status};
use crate::engine::tasks::{ReceivePlan, SendPlan};
use crate::engine::waiting::{Guard, send_with_room};
use crate::error::{Cause, Error, Result};
use crate::ids::{Context, Mode};
use crate::memory::Span;
use crate::transport::{Outbound, PeerId, Refusal, Token, Transport};

impl Lane {
    /// Sends what the links have kept back. Each call of the program that waits or tests begins
    /// with this.
    #[inline]
    pub(crate) fn flush(&mut self) {
        if self.parts.outbox.end_burst() {
            self.links.flush();
        }
    }

    /// Ends a burst without sending. Returns true if sends may have been kept back.
    #[cfg(all(test, feature = "sim"))]
    pub(in crate::engine) fn ends_burst(&mut self) -> bool {
        self.parts.outbox.end_burst()
    }

    /// Returns the index of the link that leads to `peer`.
    #[inline]
    pub(super) fn route(&self, peer: PeerId) -> usize {
        self.parts.peers.link(peer)
    }

    /// Starts a send and returns its request. It may be complete already.
    ///
    /// # Errors
    /// The message is too long, its peer lost, or the attached buffer full. Nothing was sent.
    #[inline]
    pub fn send(&mut self, plan: &SendPlan) -> Result<Request> {
        if self.send_at_once(plan) {
            return Ok(Request::SENT);
        }
        let open = |requests: &mut Requests| requests.open(Some(plan.context), Area::EMPTY);
        Ok(self.start_send(plan, false, open)?.unwrap_or(Request::SENT))
    }

    /// Starts a send. Makes a request only if the send is not complete at once. `is_waited_for`:
    /// the call waits for it, and for nothing else.
    ///
    /// # Errors
    /// As [`Lane::send`].
    pub(super) fn start_send(
        &mut self,
        plan: &SendPlan,
        is_waited_for: bool,
        request: impl FnOnce(&mut Requests) -> Request,
    ) -> Result<Option<Request>> {
        let Some(to) = plan.to else {
            return Ok(None);
        };
        let len = plan.area.len();
        let link = self.route(to);
        let can = self.links.capabilities(link);
        let draft = self.parts.outbox.draft(plan, can, is_waited_for)?;
        if let Some(error) = self.failure_of_send(plan) {
            return Err(error);
        }
        let (is_copied, kept) = (draft.is_copied, draft.kept);
        let Parts {
            outbox, requests, ..
        } = &mut self.parts;
        let request = (!is_copied).then(|| request(requests));
        let (token, envelope, body) = outbox.enter((plan, to), draft, request);
        let at_once = outbox.goes_at_once(len);
        let message = Outbound {
            envelope: &envelope,
            body,
            token,
            // The last one of those kept back asks for the acknowledgement of all.
            is_awaited: !is_copied && at_once,
            needs_match: plan.mode == Mode::Synchronous,
        };
        if let Err(refusal) = self.links.send(link, to, message) {
            return Err(self.take_back(token, refusal, to, len));
        }
        self.parts.outbox.note_accepted(len, kept);
        if plan.mode == Mode::Buffered {
            self.parts.outbox.note_buffered(token);
        }
        if at_once {
            self.links.at(link).flush();
        }
        Ok(request)
    }

    /// Undoes a send that the link refused, and returns the error.
    #[cold]
    fn take_back(&mut self, token: Token, refusal: Refusal, to: PeerId, len: u64) -> Error {
        if let Some(request) = self.parts.outbox.take_back(token) {
            self.parts.requests.abandon(request);
        }
        match refusal {
            Refusal::TooLong { limit } => Cause::TooLong { len, limit }.into(),
            Refusal::Lost => self.parts.peers.error(to),
        }
    }

    /// Asks for the message of a send back, if there is one under way. If it is withdrawn the send
    /// fails with the error `why`; without one it is cancelled.
    #[cold]
    pub(super) fn ask_back(&mut self, request: Request, why: Option<Error>) {
        self.parts.outbox.ask_back(request, why);
        self.parts.has_errands |= self.parts.outbox.has_deferred();
        self.run_errands();
    }

    /// Returns a request that completes when all messages that are in the buffer now have left it.
    /// Source: MPI 5.0, 3.6 (`MPI_Buffer_iflush`).
    pub fn start_flush(&mut self, owner: BufferOwner) -> Request {
        let Parts {
            outbox, requests, ..
        } = &mut self.parts;
        let context = match owner {
            BufferOwner::Process => Some(Context::WORLD),
            BufferOwner::Communicator(context) => Some(context),
            BufferOwner::Session(_) => None,
        };
        let buffers = outbox.buffers_mut();
        let flush = buffers.flush(owner, || requests.open(context, Span::EMPTY.into()));
        flush.unwrap_or_else(|| requests.open_done(context, Status::EMPTY))
    }
}

impl Engine {
    /// Sends and waits until the body may be reused.
    ///
    /// # Errors
    /// As [`Lane::send`], and those of the operation.
    #[inline]
    pub fn send(&self, plan: &SendPlan) -> Result<()> {
        self.send_noting(plan, || ())
    }

    /// As [`Engine::send`]. Calls `note` before it may wait.
    ///
    /// # Errors
    /// As [`Engine::send`].
    #[inline(always)]
    pub fn send_noting(&self, plan: &SendPlan, note: impl FnOnce()) -> Result<()> {
        let mut lane = self.lane.lock();
        if lane.send_at_once(plan) {
            lane.flush();
            return Ok(());
        }
        note();
        self.send_with_request(lane, plan)
    }

    #[inline(never)]
    fn send_with_request(&self, mut lane: Guard<'_, Lane>, plan: &SendPlan) -> Result<()> {
        let open = |requests: &mut Requests| requests.open(Some(plan.context), Area::EMPTY);
        let pending = match lane.start_send(plan, true, open) {
            Err(refused) => {
                // A buffered send is complete when it is started.
                return send_with_room(self, lane, refused, |lane| lane.send(plan)).map(drop);
            }
            Ok(pending) => pending,
        };
        lane.flush();
        match pending {
            None => Ok(()),
            Some(_) => self
                .waiting
                .wait_with(lane, pending)?
                .into_result()
                .map(|_| ()),
        }
    }

    /// Receives one message and sends another, in any order. Returns the status of the receive.
    ///
    /// # Errors
    /// As [`Lane::send`], and those of the operations. If nothing was sent, nothing is received.
    pub fn exchange(&self, send: &SendPlan, receive: ReceivePlan) -> Result<Status> {
        let (lane, receiving, sending) = self.begin_exchange(send, receive)?;
        let received = self.waiting.wait_with(lane, Some(receiving))?;
        self.wait(Some(sending))?.into_result()?;
        received.into_result()
    }

    /// Starts to receive one message and to send another: one request for both, with the status of
    /// the receive. Source: MPI 5.0, 3.11.
    ///
    /// # Errors
    /// As [`Lane::send`]. If nothing was sent, nothing is received.
    pub fn start_exchange(&self, send: &SendPlan, receive: ReceivePlan) -> Result<Request> {
        let (mut lane, receiving, sending) = self.begin_exchange(send, receive)?;
        if sending == Request::SENT {
            return Ok(receiving);
        }
        Ok(lane.requests_mut().unite((receiving, sending)))
    }

    /// Exchanges messages of a collective with a member that may have gone on without sending: see
    /// [`Engine::receive_unless`].
    ///
    /// # Errors
    /// As [`Lane::send`], and those of the send.
    pub fn exchange_unless(
        &self,
        send: &SendPlan,
        receive: ReceivePlan,
        has_gone_on: impl Fn() -> bool,
    ) -> Result<Option<Received>> {
        let (lane, receiving, sending) = self.begin_exchange(send, receive)?;
        let received = self.wait_unless(lane, receiving, has_gone_on)?;
        match received {
            Some(_) => self.wait(Some(sending))?.into_result().map(drop)?,
            // The member may receive it no more, either. Its buffer is the program's again only
            // when the transport has done with it.
            None => {
                let why = Cause::Collective("a member has gone on without this message".into());
                self.with(|lane| lane.ask_back(sending, Some(why.into())));
                let _ = self.wait(Some(sending))?;
            }
        }
        Ok(received)
    }

    /// Exchanges messages of a collective: all of `receives`, and all of `sends`. `check` sees each
    /// received one, by its place, or `None` if its sender has gone on without sending. After the
    /// first error the others are taken back as far as they can be.
    ///
    /// # Errors
    /// As [`Lane::send`], those of the sends, and those of `check`.
    pub fn exchange_all(
        &self,
        sends: &[SendPlan],
        receives: Vec<ReceivePlan>,
        has_gone_on: impl Fn(usize) -> bool,
        check: impl Fn(usize, Option<Received>) -> Result<()>,
    ) -> Result<()> {
        let mut lane = self.lane.lock();
        let receiving: Vec<_> = receives.into_iter().map(|it| lane.receive(it)).collect();
        let mut sending = Vec::with_capacity(sends.len());
        let mut outcome = Ok(());
        for plan in sends {
            match lane.send(plan) {
                Ok(request) => sending.push(request),
                Err(error) => outcome = Err(error),
            }
        }
        lane.flush();
        drop(lane);
        for (place, &request) in receiving.iter().enumerate() {
            if let Err(error) = &outcome {
                // No request may outlive the call that owns its buffer.
                self.with(|lane| {
                    // A message that has matched comes to its end all the same.
                    let _ = lane.cancel(request);
                    sending
                        .iter()
                        .for_each(|&it| lane.ask_back(it, Some(error.clone())));
                });
                let _ = self.wait(Some(request))?;
                continue;
            }
            let received = self.wait_unless(self.lane.lock(), request, || has_gone_on(place))?;
            outcome = check(place, received);
        }
        for request in sending {
            let ended = self.wait(Some(request))?.into_result().map(drop);
            outcome = outcome.and(ended);
        }
        outcome
    }

    /// Starts a receive and a send.
    fn begin_exchange(
        &self,
        send: &SendPlan,
        receive: ReceivePlan,
    ) -> Result<(Guard<'_, Lane>, Request, Request)> {
        let mut lane = self.lane.lock();
        let receiving = lane.receive(receive);
        match lane.send(send) {
            Ok(sending) => Ok((lane, receiving, sending)),
            Err(error) => {
                // The posted receive must not outlive the call that owns its buffer.
                let withdrawn = lane.cancel(receiving);
                self.waiting.wait_with(lane, Some(receiving))?;
                withdrawn?;
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Settings;
    use crate::engine::Lane;
    use crate::ids::Mode;
    use crate::transport::{Link, Links, Loopback, PeerId, Transport};

    /// To copy more pays for a call that waits, over a transport that waits for an acknowledgement.
    #[test]
    fn a_call_that_waits_copies_no_more_where_nothing_is_acknowledged() {
        let settings = Settings::default();
        let own = Link::Loopback(Loopback::new(PeerId(0)));
        assert!(!own.capabilities().acknowledges);
        let lane = Lane::new(
            PeerId(0),
            Links::new(own, None, None),
            settings.clone(),
            vec!["here".into()],
        );
        for is_waited_for in [false, true] {
            let can = lane.links.capabilities(Links::OWN);
            let is_awaited = is_waited_for && can.acknowledges;
            let is_copied = |len| lane.parts.outbox.is_copied(Mode::Standard, len, is_awaited);
            assert!(is_copied(settings.eager_copy_bytes));
            assert!(!is_copied(settings.eager_copy_bytes + 1));
        }
    }
}
