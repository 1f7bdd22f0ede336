//! Packets that answer an outgoing message: CTS, MSGEND, MSGDROP, and GCH for a held one.

use super::Endpoint;
use super::wake::PROBES;
use crate::bits::Bits;
use crate::caps::Caps;
use crate::config::Bug;
use crate::error::Dropped;
use crate::event::Event;
use crate::ids::{later_attempt, precedes};
use crate::list::List;
use crate::outgoing::states::{Action, Input, State};
use crate::outgoing::{Outgoing, Place};
use crate::packet::{Flags, Header, Kind};
use crate::time::Instant;

/// The most failures that count while a peer answers but still lacks the same data.
// Rule T.
const MOST_TRIES_HEARD: u8 = PROBES + 2;

impl<Out, In> Endpoint<Out, In> {
    /// The outgoing message that an answer names.
    fn answered(&self, from: u32, header: &Header) -> Result<u32, Dropped> {
        let is_it = |index: &u32| {
            let Outgoing {
                to,
                msg_id,
                msg_num,
                len,
                ..
            } = self.outgoing[*index];
            (to, msg_id, msg_num, len) == (from, header.msg_id, header.msg_num, header.len)
        };
        let named = self.outgoing_at.get(0, header.msg_id);
        if let Some(index) = named.filter(is_it) {
            return Ok(index);
        }
        let unnamed = self.pending_at(from, header.msg_num).filter(is_it);
        unnamed.ok_or(match named {
            Some(_) => Dropped::Mismatch,
            None => Dropped::Unexpected,
        })
    }

    /// The message with this number among those whose first packet waits for its acknowledgement.
    fn pending_at(&self, to: u32, msg_num: u32) -> Option<u32> {
        let mut at = self.paths[to as usize].pending.head();
        while let Some(index) = at {
            let number = self.outgoing[index].msg_num;
            if !precedes(number, msg_num) {
                return (number == msg_num).then_some(index);
            }
            at = List::after(&self.outgoing, index);
        }
        None
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
        let obey_all = self.common.has(Bug::ObeyEveryCts) && message.place == Place::Sending;
        let step = message.step(Input::Cts, self.common.config());
        if !obey_all {
            let is_useful = self.grants_what_comes_next(message, header);
            if self.common.caps().has(Caps::PIPE) && (step.is_none() || !is_useful) {
                // Its grant has been overtaken by a greater one, or by the data.
                return Ok(());
            }
            let (_, action) = step.ok_or(Dropped::Unexpected)?;
            debug_assert_eq!(action, Action::SendBlock);
            if !is_useful {
                return Err(Dropped::OldAttempt);
            }
        }
        self.measure(index, header.info2, now);
        self.begin_block(index, now);
        let limit = self.limit_of(index, header);
        let message = &mut self.outgoing[index];
        message.grant = header.info1;
        message.limit = limit;
        self.make_ready(index);
        Ok(())
    }

    /// A message is granted something: no first packet of it is due, and it has been answered.
    fn begin_block(&mut self, index: u32, now: Instant) {
        self.enter_name(index);
        if self.outgoing[index].place != Place::Sending {
            // A CTS need not echo the attempt.
            self.note_held_answered(index, self.outgoing[index].attempt, now);
            self.promote(index, Place::Sending);
        }
        let message = &mut self.outgoing[index];
        message.state = State::Granted;
        message.opener_due = false;
        message.tries = 0;
    }

    /// The last packet that a CTS lets a message send.
    fn limit_of(&self, index: u32, header: &Header) -> u32 {
        if self.common.has(Bug::AddGrants) {
            return self.outgoing[index]
                .limit
                .saturating_add(header.info1.into());
        }
        header.grants_to()
    }

    /// Returns true if a CTS is for the present attempt and grants what comes next, or with
    /// pipelining something beyond what was granted.
    // Rule B. Rule W.
    fn grants_what_comes_next(&self, message: &Outgoing<Out>, header: &Header) -> bool {
        let is_first = !matches!(message.state, State::Granted | State::Blocked);
        let is_present = is_first || message.attempt == header.info2;
        let is_next = if self.common.caps().has(Caps::PIPE) && !is_first {
            header.seq <= message.next && header.grants_to() > message.limit
        } else {
            message.next == header.seq
        };
        is_present && is_next
    }

    /// A CTS with selective NAK: it grants up to a limit, and names what is missing. It may come
    /// twice, or late: the limit never goes back, and a NAK is obeyed once.
    // Rule R. Rule W.
    pub(super) fn hear_selective_cts(
        &mut self,
        from: u32,
        (header, bits): (&Header, Bits),
        now: Instant,
    ) -> Result<(), Dropped> {
        let index = self.answered(from, header)?;
        let step = self.outgoing[index].step(Input::Cts, self.common.config());
        step.ok_or(Dropped::Unexpected)?;
        let path = &mut self.paths[from as usize];
        if precedes(path.answered, header.msg_num) {
            path.answered = header.msg_num;
        }
        let tries = self.outgoing[index].tries;
        self.measure_block(index, header.seq, now);
        self.begin_block(index, now);
        let limit = self.limit_of(index, header);
        let obey_old = self.common.has(Bug::ObeyOldNak);
        let message = &mut self.outgoing[index];
        if !message.note_asked(limit, header.seq, bits.count()) {
            // Data that never gets through is sent more seldom. But the peer answers, so chance may
            // be to blame.
            message.tries = tries.min(MOST_TRIES_HEARD);
        }
        let last = message.shape(self.common.config().packet_bytes).last_seq();
        message.forget_received(header.seq);
        message.limit = message.limit.max(limit).min(last);
        let is_new = later_attempt(header.info2, message.nak) || obey_old;
        if is_new {
            message.nak = header.info2;
        }
        if !bits.is_empty() && is_new {
            message.resend_from = header.seq;
            message.resend = bits.first(message.next.saturating_sub(header.seq));
        } else if is_new {
            // The NAK of that number was lost: the receiver is asked what is still missing.
            self.probe(index);
        }
        self.arm_if_idle(index, now);
        Ok(())
    }

    /// MSGEND or MSGDROP: the receiver needs nothing more.
    // Rule P7. Rule K.
    pub(super) fn hear_end(
        &mut self,
        from: u32,
        header: &Header,
        now: Instant,
    ) -> Result<(), Dropped> {
        if header.flags.has(Flags::PURE) {
            return Ok(());
        }
        let index = self.answered(from, header)?;
        let input = if header.kind == Kind::MsgEnd {
            Input::End
        } else {
            Input::Drop
        };
        let step = self.outgoing[index].step(input, self.common.config());
        let (_, action) = step.ok_or(Dropped::Unexpected)?;
        let event = match action {
            Action::Complete => Event::Sent,
            Action::Refuse => Event::Refused,
            _ => Event::Cancelled,
        };
        self.measure(index, header.info2, now);
        self.note_held_answered(index, header.info2, now);
        if !self.common.caps().has(Caps::LAZY) {
            let hint = self.outgoing_header(index, Kind::Gch);
            self.common.answer(from, hint);
        }
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
        let message = &mut self.outgoing[index];
        let step = message.step(Input::Hint, self.common.config());
        let (state, action) = step.ok_or(Dropped::Unexpected)?;
        if later_attempt(header.info2, message.held_at) {
            message.held_at = header.info2;
        }
        // From now on it is found by its name: an acknowledgement may pass it (rule K).
        self.enter_name(index);
        if self.common.caps().has(Caps::LAZY) {
            let confirmation = self.outgoing_header(index, Kind::Gch);
            self.common.answer(from, confirmation);
        }
        if action != Action::Hold {
            return Ok(());
        }
        self.measure(index, header.info2, now);
        self.outgoing[index].state = state;
        self.promote(index, Place::Held);
        self.ask_anew(from, now);
        Ok(())
    }
}
