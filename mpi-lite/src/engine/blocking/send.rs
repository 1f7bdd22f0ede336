//! Sends, and exchanges of messages, that wait until they are over.

use crate::data::Area;
use crate::engine::Engine;
use crate::engine::blocking::room::send_with_room;
use crate::engine::lane::Lane;
use crate::engine::requests::Requests;
use crate::engine::requests::{Completion as Received, Request, Status};
use crate::engine::tasks::{ReceivePlan, SendPlan};
use crate::engine::waiting::Guard;
use crate::error::Result;

impl Engine {
    /// Sends and waits until the body may be reused.
    ///
    /// # Errors
    /// As [`Traffic::send`](crate::engine::Traffic::send), and those of the operation.
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
    /// As [`Traffic::send`](crate::engine::Traffic::send), and those of the operations. If nothing
    /// was sent, nothing is received.
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
    /// As [`Traffic::send`](crate::engine::Traffic::send). If nothing was sent, nothing is
    /// received.
    pub fn start_exchange(&self, send: &SendPlan, receive: ReceivePlan) -> Result<Request> {
        let (mut lane, receiving, sending) = self.begin_exchange(send, receive)?;
        if sending == Request::SENT {
            return Ok(receiving);
        }
        Ok(lane.requests_mut().unite((receiving, sending)))
    }

    /// Exchanges messages of a collective. `check` sees the received one, or `None` if its sender
    /// has gone on without sending: see [`Engine::receive_unless`]. If that fails, the sent one is
    /// taken back if it can be.
    ///
    /// # Errors
    /// As [`Traffic::send`](crate::engine::Traffic::send), those of the send, and those of `check`.
    pub fn exchange_unless(
        &self,
        send: &SendPlan,
        receive: ReceivePlan,
        has_gone_on: impl Fn() -> bool,
        check: impl FnOnce(Option<Received>) -> Result<()>,
    ) -> Result<()> {
        let (lane, receiving, sending) = self.begin_exchange(send, receive)?;
        let outcome = check(self.wait_unless(lane, receiving, has_gone_on)?);
        if let Err(error) = &outcome {
            self.with(|lane| lane.ask_back(sending, Some(error.clone())));
        }
        // In any case: its buffer is the program's again only when the transport has done with it.
        let sent = self.wait(Some(sending))?.into_result();
        outcome.and(sent.map(drop))
    }

    /// Exchanges messages of a collective: all of `receives`, and all of `sends`. `check` sees each
    /// received one, by its place, or `None` if its sender has gone on without sending. After the
    /// first error the others are taken back as far as they can be.
    ///
    /// # Errors
    /// As [`Traffic::send`](crate::engine::Traffic::send), those of the sends, and those of
    /// `check`.
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
            if outcome.is_err() {
                // No request may outlive the call that owns its buffer. A message that has matched
                // comes to its end all the same.
                let _ = self.with(|lane| lane.cancel(request));
                let _ = self.wait(Some(request))?;
                continue;
            }
            let received = self.wait_unless(self.lane.lock(), request, || has_gone_on(place))?;
            outcome = check(place, received);
        }
        if let Err(error) = &outcome {
            let back = |&it: &Request| self.with(|lane| lane.ask_back(it, Some(error.clone())));
            sending.iter().for_each(back);
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
