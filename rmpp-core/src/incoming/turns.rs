//! Turns of messages: they are announced in the order of their numbers (rules P10, A, O).

use super::states::{Input, State, step};
use super::{Fresh, Listed, Store};
use crate::caps::Caps;
use crate::common::{Common, Kept};
use crate::config::Bug;
use crate::error::Dropped;
use crate::event::{Event, Placed, Placement};
use crate::ids::{IncomingId, Key, NodeId, precedes};
use crate::list::List;
use crate::packet::{Flags, Header, Kind};

/// First packets that are less than this ahead of their turn are kept.
const EARLY_WINDOW: u32 = 64;

/// The turn of a message: it may be announced only when its number is due.
pub(super) enum Turn {
    Now,
    /// It was, once.
    Over,
    Later,
}

/// MSGEND for a message without state.
// Rule A. Rule N.
pub(super) fn end_unknown<K: Kept>(common: &mut Common<K>, header: &Header) {
    let answer = Header {
        kind: Kind::MsgEnd,
        seq: 0,
        info1: 0,
        ack: 0,
        flags: Flags::NONE,
        ..*header
    };
    common.answer(header.src, answer);
}

impl<K: Kept> Store<K> {
    /// Announces a new message in order, and consumes its number.
    pub(super) fn announce(&mut self, common: &mut Common<K>, header: &Header) -> Placement {
        let leaves_nothing = header.shape(common.config().packet_bytes).is_short()
            && common.caps().has(Caps::LAZY)
            && self.from.early(header.src) == 0;
        let key = if leaves_nothing {
            let key = self.messages.next_key();
            let header = *header;
            self.fresh = Some(Fresh { key, header });
            key
        } else {
            self.enter_announced(common, header)
        };
        self.consume_number(common, header);
        Placement::First {
            message: IncomingId(key),
            len: header.len,
        }
    }

    pub(super) fn enter_announced(&mut self, common: &mut Common<K>, header: &Header) -> Key {
        let index = self.enter(header);
        self.list(common, index, Listed::Unconfirmed);
        self.messages.key(index)
    }

    /// Enters the message that was announced last, because it has not landed at once.
    #[cold]
    pub(super) fn keep_fresh(&mut self, common: &mut Common<K>) {
        if let Some(Fresh { key, header }) = self.fresh.take() {
            let entered = self.enter_announced(common, &header);
            debug_assert_eq!(entered, key);
        }
    }

    pub(super) fn consume_number(&mut self, common: &mut Common<K>, header: &Header) {
        common.numbers_mut(header.src).pass_in(header.msg_num);
        self.take_turns(common, header.src);
    }

    /// Returns the turn of an unknown message. An older number was accepted once and its state is
    /// gone: it is answered, and nothing is created. A later number must wait for those before it.
    // Rule A. Rule P10.
    pub(super) fn turn_of(&mut self, common: &mut Common<K>, header: &Header) -> Turn {
        let due = common.numbers(header.src).next_in();
        if header.msg_num == due || common.has(Bug::AcceptAnyNumber) {
            return Turn::Now;
        }
        let old = if common.has(Bug::CompareWithoutWrap) {
            header.msg_num < due
        } else {
            precedes(header.msg_num, due)
        };
        if !old || common.has(Bug::ForgetOldNumbers) || common.has(Bug::FreeStateEarly) {
            return Turn::Later;
        }
        common.counts().answered_without_state += 1;
        end_unknown(common, header);
        Turn::Over
    }

    /// A first packet ahead of its turn: kept if it is not too far ahead.
    // Rule O.
    pub(super) fn keep_early(&mut self, common: &mut Common<K>, header: &Header) -> Placed {
        let due = common.numbers(header.src).next_in();
        let is_near = header.msg_num.wrapping_sub(due) < EARLY_WINDOW;
        if !is_near || !common.caps().has(Caps::OOO) {
            self.from.tell_gap(common, header.src);
            return Err(Dropped::OutOfOrder);
        }
        let early = self.from.early(header.src);
        debug_assert!(early < EARLY_WINDOW as usize, "each number is kept once");
        common.counts().early += 1;
        let index = self.enter(header);
        self.messages[index].state = State::Early;
        self.list(common, index, Listed::Early);
        // The report may be lost, so it is repeated, more and more seldom as more packets come.
        if self.from.early(header.src).is_power_of_two() {
            self.from.tell_gap(common, header.src);
        }
        let shape = self.messages[index].shape(common.config());
        self.messages[index].limit = common.config().unscheduled_of(shape);
        let message = IncomingId(self.messages.key(index));
        if common.has(Bug::AnnounceEarly) {
            return Ok(Placement::First {
                message,
                len: header.len,
            });
        }
        Ok(Placement::Early { message })
    }

    /// The next number of `from` is due: messages that came early have their turn.
    // Rule O.
    pub(super) fn take_turns(&mut self, common: &mut Common<K>, from: u32) {
        let mut last = None;
        loop {
            let due = common.numbers(from).next_in();
            let mut at = self.from.first_early(from);
            while at.is_some_and(|index| self.messages[index].msg_num != due) {
                at = at.and_then(|index| List::after(&self.messages, index));
            }
            let Some(index) = at else { break };
            let turn = step(self.messages[index].state, Input::Turn);
            let (state, _) = turn.expect("a message in the list of early ones is early");
            self.messages[index].state = state;
            // Its unscheduled data may have come before it.
            self.messages[index].in_vain = true;
            self.unlist(index);
            self.list(common, index, Listed::Unconfirmed);
            common.numbers_mut(from).pass_in(due);
            common.raise(Event::Due {
                message: IncomingId(self.messages.key(index)),
                from: NodeId(from),
                len: self.messages[index].len,
            });
            last = Some(index);
        }
        if let Some(index) = last {
            // One acknowledgement for all of them, at once: their sender has waited long enough.
            self.messages[index].asks = true;
        }
    }
}
