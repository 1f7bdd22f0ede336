//! Sending: modes, copies, completion.

use crate::data::Area;
use crate::engine::Engine;
use crate::engine::lane::Lane;
use crate::engine::lane::delivery::Delivery;
use crate::engine::outbox::sends::Sending;
use crate::engine::protocol::{self, Completion};
use crate::engine::requests::operation::Requests;
use crate::engine::requests::request::{Completion as Received, Request, Status};
use crate::engine::tasks::plan::{ReceivePlan, SendPlan};
use crate::engine::waiting::lock::Guard;
use crate::error::{Cause, Error, Result};
use crate::ids::Mode;
use crate::memory::Span;
use crate::transport::{Links, Outbound, PeerId, Refusal, Token, Transport};

impl Lane {
    /// Sends what the links have kept back. Each call of the program that waits or tests begins
    /// with this.
    #[inline]
    pub(crate) fn flush(&mut self) {
        if self.burst.end() {
            for link in self.links.iter_mut() {
                link.flush();
            }
        }
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
    pub(crate) fn start_send(
        &mut self,
        plan: &SendPlan,
        is_waited_for: bool,
        request: impl FnOnce(&mut Requests) -> Request,
    ) -> Result<Option<Request>> {
        let Some(to) = plan.to else {
            return Ok(None);
        };
        let len = plan.area.len();
        let buffered = self.delivery.buffers.reserve(plan, len)?;
        let link = self.route(to);
        let is_copied = self.is_copied(plan.mode, len, (link, is_waited_for));
        let kept = if is_copied && buffered.is_none() {
            protocol::kept_by_copy(len)
        } else {
            0
        };
        let (body, copy) = match &plan.area {
            &Area::Run(span) if !is_copied => (Area::Run(span), None),
            area if area.is_kept() && !is_copied => (area.clone(), None),
            area if !is_copied && len > self.capabilities[link].packed_most => (area.clone(), None),
            area => {
                let mut bytes = self.delivery.spare.take();
                area.append_to(&mut bytes);
                (Area::Run(Span::held(&mut bytes)), Some(bytes))
            }
        };
        if let Some(error) = self.failure_of_send(plan) {
            return Err(error);
        }
        let request = (!is_copied).then(|| request(&mut self.delivery.requests));
        let mut envelope = plan.envelope();
        if !is_copied {
            envelope.flags = envelope.flags.with_serial(self.next_serial());
        }
        let envelope = envelope.encode();
        let token = Token(self.delivery.sends.insert(Sending {
            request,
            len,
            copy,
            kept,
            buffered,
            to,
            envelope,
        }));
        let is_short = len <= self.delivery.settings.eager_copy_bytes;
        let at_once = self.burst.goes_at_once(is_short);
        let message = Outbound {
            envelope: &envelope,
            body,
            token,
            // The last one of those kept back asks for the acknowledgement of all.
            is_awaited: !is_copied && at_once,
            needs_match: plan.mode == Mode::Synchronous,
        };
        self.own_is_busy |= link == Links::OWN;
        if let Err(refusal) = self.links[link].send(to, message) {
            return Err(self.take_back(token, refusal, to, len));
        }
        self.count_sent(len, kept);
        if plan.mode == Mode::Buffered {
            self.count_buffered(token);
        }
        if at_once {
            self.links[link].flush();
        }
        Ok(request)
    }

    /// Returns true if a send of `len` bytes over `link` is copied.
    #[inline]
    fn is_copied(&self, mode: Mode, len: u64, (link, is_waited_for): (usize, bool)) -> bool {
        let pays = is_waited_for && self.capabilities[link].acknowledges;
        let lens = (len, protocol::copied_most(pays, &self.delivery.settings));
        let choice = protocol::completion(
            mode,
            lens,
            self.delivery.kept_bytes,
            &self.delivery.settings,
        );
        choice == Completion::Copied
    }

    #[inline]
    fn count_sent(&mut self, len: u64, kept: u64) {
        self.delivery.kept_bytes += kept;
        self.delivery.counters.messages_sent += 1;
        self.delivery.counters.bytes_sent += len;
        self.delivery.counters.copies_peak_bytes = self
            .delivery
            .counters
            .copies_peak_bytes
            .max(self.delivery.kept_bytes);
    }

    #[cold]
    fn count_buffered(&mut self, token: Token) {
        let Delivery { buffers, sends, .. } = &mut self.delivery;
        let sending = sends.get_mut(token.0);
        if let Some(reserved) = sending.and_then(|sending| sending.buffered.as_mut()) {
            buffers.put(reserved);
        }
    }

    /// Undoes a send that the link refused, and returns the error.
    #[cold]
    fn take_back(&mut self, token: Token, refusal: Refusal, to: PeerId, len: u64) -> Error {
        let sending = self.delivery.sends.remove(token.0).expect("just inserted");
        if let Some(request) = sending.request {
            self.delivery.requests.abandon(request);
        }
        match refusal {
            Refusal::TooLong { limit } => Cause::TooLong { len, limit }.into(),
            Refusal::Lost => self.delivery.peers.error(to),
        }
    }
}

impl Delivery {
    fn close_send(&mut self, token: Token) -> Option<Request> {
        let sending = self
            .sends
            .remove(token.0)
            .expect("a link finishes what was sent");
        self.kept_bytes -= sending.kept;
        if let Some(reserved) = &sending.buffered {
            self.leave_buffer(reserved);
        }
        if let Some(copy) = sending.copy {
            self.spare.keep(copy, &self.settings);
        }
        sending.request
    }

    pub(crate) fn sent(&mut self, token: Token) {
        if self.withdrawals.is_empty() {
            self.end_send(token, Status::EMPTY);
        } else {
            self.sent_while_asking(token);
        }
    }

    /// Ends a send: the link has finished it.
    #[inline]
    pub(crate) fn end_send(&mut self, token: Token, status: Status) {
        if let Some(request) = self.close_send(token) {
            self.requests.finish(request, status, None);
        }
    }

    pub(crate) fn unsent(&mut self, token: Token, peer: PeerId) {
        self.forget_withdrawal(token);
        self.fail_send(token, self.peers.error(peer));
    }

    /// Ends a send whose message was not received.
    pub(crate) fn fail_send(&mut self, token: Token, why: Error) {
        if let Some(request) = self.close_send(token) {
            self.fail(request, why);
        }
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
                return self
                    .send_with_room(lane, refused, |lane| lane.send(plan))
                    .map(drop);
            }
            Ok(pending) => pending,
        };
        lane.flush();
        match pending {
            None => Ok(()),
            Some(_) => self.wait_with(lane, pending)?.into_result().map(|_| ()),
        }
    }

    /// Receives one message and sends another, in any order. Returns the status of the receive.
    ///
    /// # Errors
    /// As [`Lane::send`], and those of the operations. If nothing was sent, nothing is received.
    pub fn exchange(&self, send: &SendPlan, receive: ReceivePlan) -> Result<Status> {
        let (lane, receiving, sending) = self.begin_exchange(send, receive)?;
        let received = self.wait_with(lane, Some(receiving))?;
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
        Ok(lane.unite((receiving, sending)))
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
                self.wait_with(lane, Some(receiving))?;
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
            let is_copied = |len| lane.is_copied(Mode::Standard, len, (0, is_waited_for));
            assert!(is_copied(settings.eager_copy_bytes));
            assert!(!is_copied(settings.eager_copy_bytes + 1));
        }
    }
}
