//! Packets that answer an outgoing message: CTS, MSGEND, MSGDROP, and GCH for a held one.

use super::Endpoint;
use crate::config::Bug;
use crate::error::Dropped;
use crate::event::Event;
use crate::outgoing::states::{Action, Input, State};
use crate::outgoing::{Outgoing, Place};
use crate::packet::{Header, Kind};
use crate::time::Instant;
use crate::timers;

impl Endpoint {
    /// The outgoing message that an answer speaks of.
    fn answered(&self, from: u32, header: &Header) -> Result<u32, Dropped> {
        let index = self
            .outgoing_at
            .get(0, header.msg_id)
            .ok_or(Dropped::Unexpected)?;
        let Outgoing {
            to, msg_num, len, ..
        } = self.outgoing[index];
        if (to, msg_num, len) != (from, header.msg_num, header.len) {
            return Err(Dropped::Mismatch);
        }
        Ok(index)
    }

    /// A CTS: obeyed once, and only when it grants what comes next in the present attempt.
    // Rule B.
    pub(super) fn hear_cts(
        &mut self,
        from: u32,
        header: &Header,
        now: Instant,
    ) -> Result<(), Dropped> {
        let index = self.answered(from, header)?;
        let message = &self.outgoing[index];
        let obey_all = self.config.has(Bug::ObeyEveryCts) && message.place == Place::Sending;
        let step = message.step(Input::Cts, self.config.packet_bytes);
        if !obey_all {
            let (_, action) = step.ok_or(Dropped::Unexpected)?;
            debug_assert_eq!(action, Action::SendBlock);
            let fits = message.next == header.seq
                && (message.state != State::Blocked || message.attempt == header.info2);
            if !fits {
                return Err(Dropped::OldAttempt);
            }
        }
        self.measure(index, header.info2, now);
        if self.outgoing[index].place != Place::Sending {
            self.paths[from as usize].held_backoff = 0;
            self.promote(index, Place::Sending);
        }
        let message = &mut self.outgoing[index];
        message.state = State::Granted;
        message.tries = 0;
        message.grant = header.info1;
        message.limit = message.next.saturating_add(u32::from(header.info1) - 1);
        self.make_ready(index);
        Ok(())
    }

    /// MSGEND or MSGDROP: the receiver has all it wants.
    // Rule P7.
    pub(super) fn hear_end(
        &mut self,
        from: u32,
        header: &Header,
        now: Instant,
    ) -> Result<(), Dropped> {
        let index = self.answered(from, header)?;
        let input = if header.kind == Kind::MsgEnd {
            Input::End
        } else {
            Input::Drop
        };
        let step = self.outgoing[index].step(input, self.config.packet_bytes);
        let (_, action) = step.ok_or(Dropped::Unexpected)?;
        let event = match action {
            Action::Complete => Event::Sent,
            Action::Refuse => Event::Refused,
            _ => Event::Cancelled,
        };
        self.measure(index, header.info2, now);
        let hint = self.outgoing_header(index, Kind::Gch);
        self.answer(from, hint);
        self.close(index, event);
        Ok(())
    }

    /// A GCH from the receiver: it holds the message and will answer later.
    // Rule H.
    pub(super) fn hear_hold(
        &mut self,
        from: u32,
        header: &Header,
        now: Instant,
    ) -> Result<(), Dropped> {
        let index = self.answered(from, header)?;
        let step = self.outgoing[index].step(Input::Hint, self.config.packet_bytes);
        let (state, action) = step.ok_or(Dropped::Unexpected)?;
        if action != Action::Hold {
            return Ok(());
        }
        if self.outgoing[index].attempt == header.info2 {
            self.paths[from as usize].backoff = 0;
        }
        self.outgoing[index].state = state;
        self.promote(index, Place::Held);
        let path = &mut self.paths[from as usize];
        if path.held.len() == 1 {
            path.held_backoff = 0;
            path.held_due = now.plus_ns(self.timeouts.wait_ns(path, 0));
            self.wake = self.wake.min(path.held_due);
        }
        Ok(())
    }

    /// Takes the round trip when the answer is to the present attempt (Karn's rule, made sharper
    /// by the echo), and ends the back-off. Not for the first packet of a long message: its
    /// answer waits for the layer above.
    // Rule T.
    fn measure(&mut self, index: u32, echo: u16, now: Instant) {
        let message = &self.outgoing[index];
        if message.attempt != echo || !message.opened {
            return;
        }
        let path = &mut self.paths[message.to as usize];
        path.backoff = 0;
        let timely = match message.state {
            State::Pending => message.shape(self.config.packet_bytes).is_short(),
            State::Blocked | State::Closing => true,
            _ => false,
        };
        if timely {
            timers::sample(path, now.0.saturating_sub(message.sent_at.0));
        }
    }
}
