//! Packets that answer an outgoing message: CTS, MSGEND, MSGDROP, and GCH for a held one.

use super::states::{Action, Input, State};
use super::wake::PROBES;
use super::{Place, Sender};
use crate::bits::Bits;
use crate::caps::Caps;
use crate::common::Common;
use crate::config::Bug;
use crate::error::Dropped;
use crate::event::Event;
use crate::ids::{later_attempt, precedes};
use crate::packet::{Flags, Header, Kind};
use crate::time::Instant;

/// The most failures that count while a peer answers but still lacks the same data.
// Rule T.
const MOST_TRIES_HEARD: u8 = PROBES + 2;

impl<Out> Sender<Out> {
    /// A CTS: obeyed once, and only when it grants what comes next in the present attempt.
    // Rule B.
    pub(crate) fn hear_cts<In>(
        &mut self,
        common: &mut Common<Out, In>,
        from: u32,
        header: &Header,
        now: Instant,
    ) -> Result<(), Dropped> {
        let index = self.queues.answered(from, header)?;
        let message = &self.queues.messages[index];
        let obey_all = common.has(Bug::ObeyEveryCts) && message.place == Place::Sending;
        let step = message.step(Input::Cts, common.config());
        if !obey_all {
            let is_useful = message.is_granted_next(header, common.config());
            if common.caps().has(Caps::PIPE) && (step.is_none() || !is_useful) {
                // Its grant has been overtaken by a greater one, or by the data.
                return Ok(());
            }
            let (_, action) = step.ok_or(Dropped::Unexpected)?;
            debug_assert_eq!(action, Action::SendBlock);
            if !is_useful {
                return Err(Dropped::OldAttempt);
            }
        }
        self.measure(common, index, header.info2, now);
        self.begin_block(common, index, now);
        let limit = self.queues.messages[index].limit_of(header, common.config());
        let message = &mut self.queues.messages[index];
        message.grant = header.info1;
        message.limit = limit;
        self.queues.make_ready(index);
        Ok(())
    }

    /// A message is granted something: no first packet of it is due, and it has been answered.
    pub(super) fn begin_block<In>(
        &mut self,
        common: &mut Common<Out, In>,
        index: u32,
        now: Instant,
    ) {
        self.queues.enter_name(index);
        if self.queues.messages[index].place != Place::Sending {
            // A CTS need not echo the attempt.
            self.note_held_answered(common, index, self.queues.messages[index].attempt, now);
            self.promote(common, index, Place::Sending);
        }
        let message = &mut self.queues.messages[index];
        message.state = State::Granted;
        message.opener_due = false;
        message.tries = 0;
    }

    /// A CTS with selective NAK: it grants up to a limit, and names what is missing. It may come
    /// twice, or late: the limit never goes back, and a NAK is obeyed once.
    // Rule R. Rule W.
    pub(crate) fn hear_selective_cts<In>(
        &mut self,
        common: &mut Common<Out, In>,
        from: u32,
        (header, bits): (&Header, Bits),
        now: Instant,
    ) -> Result<(), Dropped> {
        let index = self.queues.answered(from, header)?;
        let step = self.queues.messages[index].step(Input::Cts, common.config());
        step.ok_or(Dropped::Unexpected)?;
        let path = &mut self.queues.to[from as usize];
        if precedes(path.answered, header.msg_num) {
            path.answered = header.msg_num;
        }
        let tries = self.queues.messages[index].tries;
        self.measure_block(common, index, header.seq, now);
        self.begin_block(common, index, now);
        let limit = self.queues.messages[index].limit_of(header, common.config());
        let obey_old = common.has(Bug::ObeyOldNak);
        let message = &mut self.queues.messages[index];
        if !message.note_asked(limit, header.seq, bits.count()) {
            // Data that never gets through is sent more seldom. But the peer answers, so chance may
            // be to blame.
            message.tries = tries.min(MOST_TRIES_HEARD);
        }
        let last = message.shape(common.config().packet_bytes).last_seq();
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
            common.counts().probes += 1;
            self.queues.messages[index].probe();
        }
        self.arm_if_idle(common, index, now);
        Ok(())
    }

    /// MSGEND or MSGDROP: the receiver needs nothing more.
    // Rule P7. Rule K.
    pub(crate) fn hear_end<In>(
        &mut self,
        common: &mut Common<Out, In>,
        from: u32,
        header: &Header,
        now: Instant,
    ) -> Result<(), Dropped> {
        if header.flags.has(Flags::PURE) {
            return Ok(());
        }
        let index = self.queues.answered(from, header)?;
        let input = if header.kind == Kind::MsgEnd {
            Input::End
        } else {
            Input::Drop
        };
        let step = self.queues.messages[index].step(input, common.config());
        let (_, action) = step.ok_or(Dropped::Unexpected)?;
        let event = match action {
            Action::Complete => Event::Sent,
            Action::Refuse => Event::Refused,
            _ => Event::Cancelled,
        };
        self.measure(common, index, header.info2, now);
        self.note_held_answered(common, index, header.info2, now);
        if !common.caps().has(Caps::LAZY) {
            let hint = self.queues.messages[index].header(Kind::Gch, common);
            common.answer(from, hint);
        }
        self.close(common, index, event);
        Ok(())
    }

    /// A GCH from the receiver: it holds the message and will answer later.
    // Rule H.
    pub(crate) fn hear_hold<In>(
        &mut self,
        common: &mut Common<Out, In>,
        from: u32,
        header: &Header,
        now: Instant,
    ) -> Result<(), Dropped> {
        let index = self.queues.answered(from, header)?;
        let message = &mut self.queues.messages[index];
        let step = message.step(Input::Hint, common.config());
        let (state, action) = step.ok_or(Dropped::Unexpected)?;
        if later_attempt(header.info2, message.held_at) {
            message.held_at = header.info2;
        }
        // From now on it is found by its name: an acknowledgement may pass it (rule K).
        self.queues.enter_name(index);
        if common.caps().has(Caps::LAZY) {
            let confirmation = self.queues.messages[index].header(Kind::Gch, common);
            common.answer(from, confirmation);
        }
        if action != Action::Hold {
            return Ok(());
        }
        self.measure(common, index, header.info2, now);
        self.queues.messages[index].state = state;
        self.promote(common, index, Place::Held);
        self.ask_anew(common, from, now);
        Ok(())
    }
}
