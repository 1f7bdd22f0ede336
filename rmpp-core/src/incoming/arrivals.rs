//! Packets of incoming messages: first packets, data, NULL and GCH.

use super::Receiver;
use super::states::{Action, Input, State, step};
use super::turns::{Turn, end_unknown};
use crate::caps::Caps;
use crate::common::{Common, Kept};
use crate::config::Bug;
use crate::error::{Dropped, Heard};
use crate::event::{Event, Placed, Placement};
use crate::ids::{IncomingId, NodeId, later_attempt, precedes};
use crate::packet::{Header, Kind};

impl<K: Kept> Receiver<K> {
    /// RTS or LAST_RTS.
    pub(crate) fn hear_opener(&mut self, common: &mut Common<K>, header: &Header) -> Placed {
        let Some(index) = self.store.known_or_new(common, header)? else {
            let turn = self.store.turn_of(common, header);
            if !matches!(turn, Turn::Over) {
                self.close_block(common, header.src);
            }
            return match turn {
                Turn::Now => Ok(self.store.announce(common, header)),
                Turn::Over => Ok(Placement::None),
                Turn::Later => self.store.keep_early(common, header),
            };
        };
        self.store.messages[index].note_attempt(header.info2);
        let message = &self.store.messages[index];
        let (state, action) = step(message.state, Input::Opener).ok_or(Dropped::Unexpected)?;
        debug_assert_eq!(state, message.state);
        match action {
            Action::Hint if common.has(Bug::AnnounceTwice) => {
                let len = header.len;
                let message = IncomingId(self.store.messages.key(index));
                return Ok(Placement::First { message, len });
            }
            // Rule H.
            Action::Hint => self.store.reply(common, index, Kind::Gch),
            // Data has come, so the CTS had: this RTS is an old one.
            Action::GrantAgain if common.caps().has(Caps::SNAK) => self.grant_again(common, index),
            Action::GrantAgain if message.expected > 1 => return Err(Dropped::Unexpected),
            Action::GrantAgain => self.store.reply(common, index, Kind::Cts),
            Action::TellGap => self.store.from.tell_gap(common, header.src),
            _ => self.store.reply_again(common, index, action),
        }
        Ok(Placement::None)
    }

    /// DATA, STOP_DATA or LAST_DATA.
    pub(crate) fn hear_data(&mut self, common: &mut Common<K>, header: &Header) -> Placed {
        let Some(index) = self.store.known(header)? else {
            let is_within_burst = common.caps().has(Caps::SNAK) && header.kind == Kind::Data;
            if is_within_burst && precedes(header.msg_num, common.numbers(header.src).next_in()) {
                // The packet that ends its burst is answered.
                return Ok(Placement::None);
            }
            return match self.store.turn_of(common, header) {
                Turn::Over => Ok(Placement::None),
                Turn::Now | Turn::Later => {
                    // Its first packet is missing (rule O).
                    if header.kind != Kind::Data || header.seq.is_power_of_two() {
                        self.store.from.tell_gap(common, header.src);
                    }
                    Err(Dropped::Unexpected)
                }
            };
        };
        let message = &self.store.messages[index];
        if (message.state == State::Early || message.keeps) && common.caps().has(Caps::SNAK) {
            return self.keep_unscheduled(common, index, header);
        }
        if self.store.messages[index].state == State::Receiving && common.caps().has(Caps::SNAK) {
            return self.take_data(common, index, header);
        }
        let stray = match self.store.messages[index].state {
            State::Receiving => self.sequence(common, index, header).err(),
            _ => Some(Dropped::Unexpected),
        };
        let input = match header.kind {
            _ if stray.is_some() => Input::StrayData,
            Kind::Data => Input::Data,
            Kind::StopData => Input::StopData,
            _ => Input::LastData,
        };
        let dropped = stray.unwrap_or(Dropped::Unexpected);
        let (state, action) = step(self.store.messages[index].state, input).ok_or(dropped)?;
        if matches!(action, Action::EndAgain | Action::DropAgain) {
            self.store.messages[index].note_attempt(header.info2);
            self.store.reply_again(common, index, action);
            return Ok(Placement::None);
        }
        self.store.messages[index].state = state;
        Ok(self.place(common, (index, action), header))
    }

    /// Checks that data is next in sequence. The first data packet of a later attempt restarts it.
    // Rule P11. Rule D.
    fn sequence(&mut self, common: &mut Common<K>, index: u32, header: &Header) -> Heard {
        let any_order = common.has(Bug::PlaceOutOfSequence);
        let any_attempt = common.has(Bug::RestartOnOldAttempt);
        let message = &mut self.store.messages[index];
        if later_attempt(message.attempt, header.info2) && !any_attempt {
            return Err(Dropped::OldAttempt);
        }
        let later = later_attempt(header.info2, message.attempt);
        if header.seq == 1 && (later || any_attempt) {
            message.attempt = header.info2;
            if message.expected > 1 {
                // The old grant is void; this one packet comes unasked.
                self.granting
                    .give_back(message.granted(), self.store.from.granted(message.from));
                (message.expected, message.limit) = (1, 0);
            }
        } else if later || (header.seq != message.expected && !any_order) {
            return Err(Dropped::OutOfSequence);
        } else if header.seq > message.limit {
            return Err(Dropped::BeyondGrant);
        }
        Ok(())
    }

    /// Returns where data in sequence belongs, and answers as its type requires.
    fn place(
        &mut self,
        common: &mut Common<K>,
        (index, action): (u32, Action),
        header: &Header,
    ) -> Placement {
        let message = &mut self.store.messages[index];
        if message.limit >= header.seq {
            let come = (header.seq + 1).saturating_sub(message.expected);
            self.granting
                .give_back(come, self.store.from.granted(message.from));
        } else {
            message.limit = header.seq;
        }
        message.expected = message.expected.max(header.seq + 1);
        let offset = message.shape(common.config()).offset(header.seq);
        let id = IncomingId(self.store.messages.key(index));
        let pipelined = common.caps().has(Caps::PIPE);
        match action {
            Action::Place if pipelined => self.renew_grant(common, index),
            Action::PlaceGrant if pipelined => {
                // The sender has nothing more to send: its last grant was lost.
                self.renew_grant(common, index);
                self.granting.queue_cts(&mut self.store.messages, index);
            }
            Action::PlaceGrant if common.has(Bug::EndAtBlockEnd) => {
                self.store.messages[index].state = State::Ended;
                self.store.tell_arrival(common, index);
                self.finish(common, index, Kind::MsgEnd);
            }
            Action::PlaceGrant => self.grant(common, index),
            Action::PlaceEnd => {
                self.store.tell_arrival(common, index);
                self.finish(common, index, Kind::MsgEnd);
            }
            _ => {}
        }
        Placement::data(id, offset)
    }

    /// NULL: the number is consumed exactly once, whatever is known of the message.
    // Rule N.
    pub(crate) fn hear_null(&mut self, common: &mut Common<K>, header: &Header) -> Heard {
        let Some(index) = self.store.known_or_new(common, header)? else {
            return match self.store.turn_of(common, header) {
                Turn::Over => Ok(()),
                Turn::Later => {
                    self.store.from.tell_gap(common, header.src);
                    Err(Dropped::OutOfOrder)
                }
                Turn::Now => {
                    if !common.has(Bug::NullKeepsNumber) {
                        self.store.consume_number(common, header);
                    }
                    end_unknown(common, header);
                    Ok(())
                }
            };
        };
        let step = step(self.store.messages[index].state, Input::Null);
        let (state, action) = step.ok_or(Dropped::Unexpected)?;
        if action == Action::TellGap {
            // It is aborted when its turn has come.
            self.store.from.tell_gap(common, header.src);
            return Err(Dropped::OutOfOrder);
        }
        self.store.messages[index].note_attempt(header.info2);
        if action != Action::Abort {
            self.store.reply_again(common, index, action);
            return Ok(());
        }
        let message = &mut self.store.messages[index];
        message.state = state;
        // A message that is given up is not ended by its number.
        message.named = true;
        self.store.end_keeping(index);
        if !common.has(Bug::SilentAbort) {
            let kept = self.store.messages[index].kept.take();
            let id = IncomingId(self.store.messages.key(index));
            let from = NodeId(header.src);
            common.raise(Event::Aborted(id, from, kept));
        }
        self.finish(common, index, Kind::MsgEnd);
        Ok(())
    }

    /// GCH from the sender: the end has reached it, or with cumulative acknowledgement the hold.
    // Rule P7. Rule K.
    pub(crate) fn hear_gch(&mut self, common: &mut Common<K>, header: &Header) -> Heard {
        if common.caps().has(Caps::LAZY) {
            // The message may have landed meanwhile.
            if let Some(index) = self.store.known(header)? {
                self.store.confirm(common, index);
            }
            return Ok(());
        }
        let index = self.store.known(header)?.ok_or(Dropped::Unexpected)?;
        step(self.store.messages[index].state, Input::Gch).ok_or(Dropped::Unexpected)?;
        if !common.has(Bug::IgnoreGch) {
            self.store.forget(index);
        }
        Ok(())
    }
}
