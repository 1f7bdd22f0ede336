//! The lists of messages on their way out (paper §3.4), their names, and which ones go next.

use alloc::vec::Vec;

use super::{Outgoing, Place, Queues};
use crate::caps::Caps;
use crate::common::Kept;
use crate::config::Config;
use crate::error::{Dropped, Heard};
use crate::ids::precedes;
use crate::list::List;
use crate::packet::Header;
use crate::time::Instant;

/// How many first packets are repeated at once: as many as a grant has data packets.
const REPEATED_AT_ONCE: usize = 16;

/// The value kept with a message is returned with its end.
const KEPT: &str = "a message that has not ended is kept";

/// Half of all msgIDs.
pub(super) const HALF_CIRCLE: u32 = 1 << 31;

impl<K: Kept> Queues<K> {
    /// The outgoing message that an answer names.
    pub(super) fn answered(&self, from: u32, header: &Header) -> Heard<u32> {
        let is_it = |index: &u32| {
            let m = &self.messages[*index];
            (m.to, m.msg_id, m.msg_num, m.len) == (from, header.msg_id, header.msg_num, header.len)
        };
        let named = self.at.get(0, header.msg_id);
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
    pub(super) fn pending_at(&self, to: u32, msg_num: u32) -> Option<u32> {
        let mut at = self.to[to as usize].pending.head();
        while let Some(index) = at {
            let number = self.messages[index].msg_num;
            if !precedes(number, msg_num) {
                return (number == msg_num).then_some(index);
            }
            at = List::after(&self.messages, index);
        }
        None
    }

    /// Moves messages into the first-packet window as far as there is room.
    // Rule M.
    pub(super) fn admit_waiting(&mut self, config: &Config, to: u32) {
        while let Some(index) = self.to[to as usize].waiting.head()
            && self.has_room(config, index)
        {
            let path = &mut self.to[to as usize];
            path.waiting.remove(&mut self.messages, index);
            self.admit(config, index);
        }
    }

    /// Returns true if a message that waits fits into the first-packet window.
    // Rule M.
    pub(super) fn has_room(&self, config: &Config, index: u32) -> bool {
        let Outgoing { to, charge, .. } = self.messages[index];
        let path = &self.to[to as usize];
        let bytes = path.pending_bytes + charge;
        let is_full =
            path.pending.len() >= config.first_window || bytes > config.first_window_bytes;
        !is_full || path.pending.len() == 0
    }

    /// Takes a message that is in no list into the window; its first packet is due.
    // Rule M.
    pub(super) fn admit(&mut self, config: &Config, index: u32) {
        debug_assert!(self.has_room(config, index), "the window is full");
        let message = &mut self.messages[index];
        message.place = Place::Pending;
        let path = &mut self.to[message.to as usize];
        path.pending_bytes += message.charge;
        path.pending.push_back(&mut self.messages, index);
        self.open_again(index);
    }

    /// The next msgID that no live message has. A live one whose name is not entered is younger
    /// than half of the circle, so it cannot have it.
    // Rule L.
    #[inline]
    pub(super) fn take_msg_id(&mut self) -> u32 {
        loop {
            let msg_id = self.next_msg_id;
            if msg_id.is_multiple_of(HALF_CIRCLE) {
                self.enter_all_names();
            }
            self.next_msg_id = msg_id.wrapping_add(1);
            if self.at.get(0, msg_id).is_none() {
                return msg_id;
            }
        }
    }

    #[cold]
    pub(super) fn enter_all_names(&mut self) {
        let live: Vec<u32> = self.messages.iter().map(|(index, _)| index).collect();
        for index in live {
            self.enter_name(index);
        }
    }

    /// Lets answers that name the message find it.
    // Rule P1.
    pub(super) fn enter_name(&mut self, index: u32) {
        let message = &mut self.messages[index];
        if !message.named {
            message.named = self.at.insert(0, message.msg_id, index);
            assert!(message.named, "two live messages have one name");
        }
    }

    /// Frees the state of a message that is in no list; returns what was kept with it.
    #[inline]
    pub(super) fn forget_outgoing(&mut self, index: u32) -> K::Out {
        let Outgoing { named, msg_id, .. } = self.messages[index];
        if named {
            self.at.remove(0, msg_id);
        }
        let kept = self.messages[index].kept.take();
        self.messages.remove(index);
        kept.expect(KEPT)
    }

    // Rule P15.
    pub(super) fn move_to(&mut self, index: u32, place: Place) {
        debug_assert_ne!(place, Place::Pending, "`admit` does that");
        self.unlist(index);
        let to = self.messages[index].to;
        self.messages[index].place = place;
        let mut list = *self.list_of(place, to);
        list.push_back(&mut self.messages, index);
        *self.list_of(place, to) = list;
    }

    pub(super) fn unlist(&mut self, index: u32) {
        let (place, to) = (self.messages[index].place, self.messages[index].to);
        if place == Place::Pending {
            self.to[to as usize].pending_bytes -= self.messages[index].charge;
        }
        let mut list = *self.list_of(place, to);
        list.remove(&mut self.messages, index);
        *self.list_of(place, to) = list;
    }

    /// Queues a message for transmission; its timer stands still until then.
    pub(super) fn make_ready(&mut self, index: u32) {
        let message = &mut self.messages[index];
        message.deadline = Instant::NEVER;
        if !message.ready {
            message.ready = true;
            let key = self.messages.key(index);
            self.ready.push_back(key);
        }
    }

    /// Queues the first packet of a message, or the NULL in its place, to go out (again).
    pub(super) fn open_again(&mut self, index: u32) {
        self.messages[index].opener_due = true;
        self.make_ready(index);
    }

    /// The oldest first packet got through only when repeated at `sent_at`: those behind it that
    /// went out before were rejected for their number. They need not wait for a timer each.
    // Rule Q.
    pub(super) fn repeat_followers(&mut self, config: &Config, to: u32, sent_at: Instant) {
        if config.caps.has(Caps::OOO) {
            // They were kept (rule O).
            return;
        }
        let mut at = self.to[to as usize].pending.head();
        for _ in 0..REPEATED_AT_ONCE {
            let Some(index) = at else { break };
            at = List::after(&self.messages, index);
            let follower = &self.messages[index];
            if !follower.opened || follower.sent_at >= sent_at {
                break;
            }
            self.open_again(index);
        }
    }

    /// Where an outgoing message may be found by the lists of paper §3.4.
    // Rule P15.
    pub(super) fn list_of(&mut self, place: Place, to: u32) -> &mut List {
        let path = &mut self.to[to as usize];
        match place {
            Place::Waiting => &mut path.waiting,
            Place::Pending => &mut path.pending,
            Place::Held => &mut path.held,
            Place::Sending => &mut self.sending,
        }
    }

    /// Asks after the next held messages: `turns` of them, or all, or as many as a first-packet
    /// window has room for.
    // Rule H. Rule M.
    pub(super) fn ask_after_held(&mut self, config: &Config, to: u32, turns: usize) {
        let mut held = self.to[to as usize].held;
        let mut bytes = 0;
        for _ in 0..turns.min(held.len()) {
            let index = held.head().expect("there are as many as turns");
            let shape = self.messages[index].shape(config);
            bytes += config.charge_of(shape.first_bytes() as u64);
            held.remove(&mut self.messages, index);
            held.push_back(&mut self.messages, index);
            self.open_again(index);
            if bytes >= config.first_window_bytes {
                break;
            }
        }
        self.to[to as usize].held = held;
    }
}
