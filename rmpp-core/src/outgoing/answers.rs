//! Packets that answer an outgoing message: CTS, MSGEND, MSGDROP, and GCH for a held one.

use super::states::{Action, Input};
use super::wake::PROBES;
use super::{Place, Queues, Sender};
use crate::bits::Bits;
use crate::caps::Caps;
use crate::common::{Common, Kept};
use crate::config::Bug;
use crate::error::{Dropped, Heard};
use crate::event::Event;
use crate::ids::later_attempt;
use crate::packet::{Flags, Header, Kind};

/// The most failures that count while a peer answers but still lacks the same data.
// Rule T.
const MOST_TRIES_HEARD: u8 = PROBES + 2;

impl<K: Kept> Sender<K> {
    /// A CTS: obeyed once, and only when it grants what comes next in the present attempt.
    // Rule B.
    pub(crate) fn hear_cts(&mut self, common: &mut Common<K>, from: u32, header: &Header) -> Heard {
        let queues = &mut self.queues;
        let index = queues.answered(from, header)?;
        let message = &queues.messages[index];
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
        queues.measure(common, index, header.info2);
        queues.begin_block(common, index);
        let message = &mut queues.messages[index];
        message.grant = header.info1;
        message.limit = message.limit_of(header, common.config());
        queues.make_ready(index);
        Ok(())
    }

    /// A CTS with selective NAK: it grants up to a limit, and names what is missing. It may come
    /// twice, or late: the limit never goes back, and a NAK is obeyed once.
    // Rule R. Rule W.
    pub(crate) fn hear_selective_cts(
        &mut self,
        common: &mut Common<K>,
        from: u32,
        (header, bits): (&Header, Bits),
    ) -> Heard {
        let queues = &mut self.queues;
        let index = queues.answered(from, header)?;
        let message = &mut queues.messages[index];
        let step = message.step(Input::Cts, common.config());
        step.ok_or(Dropped::Unexpected)?;
        let path = &mut queues.to[from as usize];
        path.note_answered(header.msg_num);
        let tries = message.tries;
        let timing = message.timing_of_block(path, header.seq);
        path.note_round_trip(common.timeouts(), timing, common.now());
        queues.begin_block(common, index);
        let message = &mut queues.messages[index];
        let limit = message.limit_of(header, common.config());
        if !message.note_asked(limit, header.seq, bits.count()) {
            // Data that never gets through is sent more seldom. But the peer answers, so chance may
            // be to blame.
            message.tries = tries.min(MOST_TRIES_HEARD);
        }
        let last = message.shape(common.config()).last_seq();
        message.forget_received(header.seq);
        message.limit = message.limit.max(limit).min(last);
        let is_new = later_attempt(header.info2, message.nak) || common.has(Bug::ObeyOldNak);
        if is_new {
            message.nak = header.info2;
        }
        if !bits.is_empty() && is_new {
            message.resend_from = header.seq;
            message.resend = bits.first(message.next.saturating_sub(header.seq));
        } else if is_new {
            // The NAK of that number was lost: the receiver is asked what is still missing.
            common.counts().probes += 1;
            message.probe();
        }
        queues.arm_idle(common, index, common.now());
        Ok(())
    }

    /// MSGEND or MSGDROP: the receiver needs nothing more.
    // Rule P7. Rule K.
    pub(crate) fn hear_end(&mut self, common: &mut Common<K>, from: u32, header: &Header) -> Heard {
        if header.flags.has(Flags::PURE) {
            return Ok(());
        }
        let queues = &mut self.queues;
        let index = queues.answered(from, header)?;
        let input = match header.kind {
            Kind::MsgEnd => Input::End,
            _ => Input::Drop,
        };
        let step = queues.messages[index].step(input, common.config());
        let (_, action) = step.ok_or(Dropped::Unexpected)?;
        let event = match action {
            Action::Complete => Event::Sent,
            Action::Refuse => Event::Refused,
            _ => Event::Cancelled,
        };
        queues.measure(common, index, header.info2);
        queues.note_held_answered(common, index, header.info2);
        if !common.caps().has(Caps::LAZY) {
            common.answer(from, queues.messages[index].header(Kind::Gch, common));
        }
        let left_at = queues.take_out(common, index, event);
        queues.close_gap(common, from, left_at);
        Ok(())
    }

    /// A GCH from the receiver: it holds the message and will answer later.
    // Rule H.
    pub(crate) fn hear_gch(&mut self, common: &mut Common<K>, from: u32, header: &Header) -> Heard {
        let queues = &mut self.queues;
        let index = queues.answered(from, header)?;
        let message = &mut queues.messages[index];
        let step = message.step(Input::Hint, common.config());
        let (state, action) = step.ok_or(Dropped::Unexpected)?;
        if later_attempt(header.info2, message.held_at) {
            message.held_at = header.info2;
        }
        // From now on it is found by its name: an acknowledgement may pass it (rule K).
        queues.enter_name(index);
        if common.caps().has(Caps::LAZY) {
            common.answer(from, queues.messages[index].header(Kind::Gch, common));
        }
        if action != Action::Hold {
            return Ok(());
        }
        queues.measure(common, index, header.info2);
        queues.messages[index].state = state;
        queues.promote(common, index, Place::Held);
        let due = queues.to[from as usize].ask_anew(common.timeouts(), common.now());
        common.alarms_mut().time_path(from, due);
        Ok(())
    }
}

impl<K: Kept> Queues<K> {
    /// An answer names a message and echoes the attempt that it answers: what it measures.
    fn measure(&mut self, common: &Common<K>, index: u32, echo: u16) {
        let message = &self.messages[index];
        let path = &mut self.to[message.to as usize];
        let timing = message.timing_of_answer(path, echo, common.config());
        path.note_round_trip(common.timeouts(), timing, common.now());
    }
}
