//! Sending: modes, copies, completion.

use super::{Parts, Traffic};
use crate::data::Area;
use crate::engine::requests::{Request, Requests};
use crate::engine::tasks::SendPlan;
use crate::error::{Error, Result};
use crate::ids::Mode;
use crate::transport::{Outbound, Transport};

impl Traffic {
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
    /// As [`Traffic::send`](crate::engine::Traffic::send).
    pub(in crate::engine) fn start_send(
        &mut self,
        plan: &SendPlan,
        is_waited_for: bool,
        request: impl FnOnce(&mut Requests) -> Request,
    ) -> Result<Option<Request>> {
        let Some(to) = plan.to else {
            return Ok(None);
        };
        let len = plan.area.len();
        let link = self.parts.peers.link(to);
        let can = self.links.capabilities(link);
        let draft = self.parts.outbox.draft(plan, can, is_waited_for)?;
        if let Some(error) = self.parts.failure_of_send(plan) {
            return Err(error);
        }
        let (is_copied, kept) = (draft.is_copied(), draft.kept());
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
            return Err(self.parts.take_back((token, to), refusal, len));
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

    /// Asks for the message of a send back, if there is one under way. If it is withdrawn the send
    /// fails with the error `why`; without one it is cancelled.
    #[cold]
    pub(in crate::engine) fn ask_back(&mut self, request: Request, why: Option<Error>) {
        self.parts.outbox.ask_back(request, why);
        self.parts.has_errands |= self.parts.outbox.has_deferred();
        self.run_errands();
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
