//! Turns of messages: they are announced in the order of their numbers (rules P10, A, O).

use super::Endpoint;
use crate::caps::Caps;
use crate::config::Bug;
use crate::error::Dropped;
use crate::event::{Event, Placement};
use crate::ids::{IncomingId, NodeId, precedes};
use crate::incoming::Listed;
use crate::incoming::states::{Input, State, step};
use crate::list::List;
use crate::packet::Header;

/// First packets that are less than this ahead of their turn are kept.
const EARLY_WINDOW: u32 = 64;

/// The turn of a message: it may be announced only when its number is due.
pub(super) enum Turn {
    Now,
    /// It was, once.
    Over,
    Later,
}

impl<Out, In> Endpoint<Out, In> {
    /// Returns the turn of an unknown message. An older number was accepted once and its state is
    /// gone: it is answered, and nothing is created. A later number must wait for those before it.
    // Rule A. Rule P10.
    pub(super) fn turn_of(&mut self, header: &Header) -> Turn {
        let due = self.peers[header.src as usize].next_in;
        if header.msg_num == due || self.config.has(Bug::AcceptAnyNumber) {
            return Turn::Now;
        }
        let old = if self.config.has(Bug::CompareWithoutWrap) {
            header.msg_num < due
        } else {
            precedes(header.msg_num, due)
        };
        if !old || self.config.has(Bug::ForgetOldNumbers) || self.config.has(Bug::FreeStateEarly) {
            return Turn::Later;
        }
        self.counters.answered_without_state += 1;
        self.end_unknown(header);
        Turn::Over
    }

    /// A first packet ahead of its turn: kept if it is not too far ahead.
    // Rule O.
    pub(super) fn keep_early(&mut self, header: &Header) -> Result<Placement, Dropped> {
        let due = self.peers[header.src as usize].next_in;
        let is_near = header.msg_num.wrapping_sub(due) < EARLY_WINDOW;
        if !is_near || !self.config.caps.has(Caps::OOO) {
            self.tell_gap(header.src);
            return Err(Dropped::OutOfOrder);
        }
        let early = self.paths[header.src as usize].early.len();
        debug_assert!(early < EARLY_WINDOW as usize, "each number is kept once");
        self.counters.early += 1;
        let index = self.enter_incoming(header);
        self.incoming[index].state = State::Early;
        self.list_incoming(index, Listed::Early);
        // The report may be lost, so it is repeated, more and more seldom as more packets come.
        if self.paths[header.src as usize]
            .early
            .len()
            .is_power_of_two()
        {
            self.tell_gap(header.src);
        }
        let shape = self.incoming[index].shape(self.config.packet_bytes);
        self.incoming[index].limit = self.config.unscheduled_of(shape);
        let message = IncomingId(self.incoming.key(index));
        if self.config.has(Bug::AnnounceEarly) {
            return Ok(Placement::First {
                message,
                len: header.len,
            });
        }
        Ok(Placement::Early { message })
    }

    /// The next number of `from` is due: messages that came early have their turn.
    // Rule O.
    pub(super) fn take_turns(&mut self, from: u32) {
        let mut last = None;
        loop {
            let due = self.peers[from as usize].next_in;
            let mut at = self.paths[from as usize].early.head();
            while let Some(index) = at {
                if self.incoming[index].msg_num == due {
                    break;
                }
                at = List::after(&self.incoming, index);
            }
            let Some(index) = at else { break };
            let turn = step(self.incoming[index].state, Input::Turn);
            let (state, _) = turn.expect("a message in the list of early ones is early");
            self.incoming[index].state = state;
            // Its unscheduled data may have come before it.
            self.incoming[index].in_vain = true;
            self.unlist_incoming(index);
            self.list_incoming(index, Listed::Unconfirmed);
            self.peers[from as usize].next_in = due.wrapping_add(1);
            self.events.push_back(Event::Due {
                message: IncomingId(self.incoming.key(index)),
                from: NodeId(from),
                len: self.incoming[index].len,
            });
            last = Some(index);
        }
        if let Some(index) = last {
            // One acknowledgement for all of them, at once: their sender has waited long enough.
            self.incoming[index].asks = true;
        }
    }
}
