//! Moving outgoing messages between the lists of paper §3.4.

use alloc::vec::Vec;

use super::Endpoint;
use crate::caps::Caps;
use crate::event::Event;
use crate::ids::OutgoingId;
use crate::list::List;
use crate::outgoing::states::{Input, State};
use crate::outgoing::{Outgoing, Place};
use crate::time::Instant;

/// How many first packets are repeated at once: as many as a grant has data packets.
const REPEATED_AT_ONCE: usize = 16;

/// The value kept with a message is returned with its end.
const KEPT: &str = "a message that has not ended is kept";

/// Half of all msgIDs.
pub(super) const HALF_CIRCLE: u32 = 1 << 31;

impl<Out, In> Endpoint<Out, In> {
    /// Moves messages into the first-packet window as far as there is room.
    // Rule M.
    pub(super) fn admit_waiting(&mut self, to: u32) {
        while let Some(index) = self.paths[to as usize].waiting.head()
            && self.has_room(index)
        {
            let path = &mut self.paths[to as usize];
            path.waiting.remove(&mut self.outgoing, index);
            self.admit(index);
        }
    }

    /// Returns true if a message that waits fits into the first-packet window.
    // Rule M.
    pub(super) fn has_room(&self, index: u32) -> bool {
        let Outgoing { to, charge, .. } = self.outgoing[index];
        let path = &self.paths[to as usize];
        let bytes = path.pending_bytes + charge;
        let is_full = path.pending.len() >= self.common.config().first_window
            || bytes > self.common.config().first_window_bytes;
        !is_full || path.pending.len() == 0
    }

    /// Takes a message that is in no list into the window; its first packet is due.
    // Rule M.
    pub(super) fn admit(&mut self, index: u32) {
        debug_assert!(self.has_room(index), "the window is full");
        let message = &mut self.outgoing[index];
        message.place = Place::Pending;
        let path = &mut self.paths[message.to as usize];
        path.pending_bytes += message.charge;
        path.pending.push_back(&mut self.outgoing, index);
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
            if self.outgoing_at.get(0, msg_id).is_none() {
                return msg_id;
            }
        }
    }

    #[cold]
    pub(super) fn enter_all_names(&mut self) {
        let live: Vec<u32> = self.outgoing.iter().map(|(index, _)| index).collect();
        for index in live {
            self.enter_name(index);
        }
    }

    /// Lets answers that name the message find it.
    // Rule P1.
    pub(super) fn enter_name(&mut self, index: u32) {
        let message = &mut self.outgoing[index];
        if !message.named {
            message.named = self.outgoing_at.insert(0, message.msg_id, index);
            assert!(message.named, "two live messages have one name");
        }
    }

    /// Frees the state of a message that is in no list; returns what was kept with it.
    #[inline]
    pub(super) fn forget_outgoing(&mut self, index: u32) -> Out {
        let Outgoing { named, msg_id, .. } = self.outgoing[index];
        if named {
            self.outgoing_at.remove(0, msg_id);
        }
        let kept = self.outgoing[index].kept.take();
        self.outgoing.remove(index);
        kept.expect(KEPT)
    }

    /// Bytes that a message has under way before its first packet is acknowledged. The system
    /// keeps about a kibibyte beside those of a packet (facts: truesize).
    // Rule M.
    pub(super) fn charge_of(&self, len: u64) -> u64 {
        let packet_bytes = self.common.config().packet_bytes as u64;
        if len <= packet_bytes {
            return len + 1024;
        }
        let packets = 1 + u64::from(self.common.config().unscheduled());
        let bytes = len.min(packets * packet_bytes);
        bytes + 1024 * bytes.div_ceil(packet_bytes).max(1)
    }

    // Rule P15.
    pub(super) fn move_to(&mut self, index: u32, place: Place) {
        debug_assert_ne!(place, Place::Pending, "`admit` does that");
        self.unlist(index);
        let to = self.outgoing[index].to;
        self.outgoing[index].place = place;
        let mut list = *self.list_of(place, to);
        list.push_back(&mut self.outgoing, index);
        *self.list_of(place, to) = list;
    }

    pub(super) fn unlist(&mut self, index: u32) {
        let (place, to) = (self.outgoing[index].place, self.outgoing[index].to);
        if place == Place::Pending {
            self.paths[to as usize].pending_bytes -= self.outgoing[index].charge;
        }
        let mut list = *self.list_of(place, to);
        list.remove(&mut self.outgoing, index);
        *self.list_of(place, to) = list;
    }

    /// Queues a message for transmission; its timer stands still until then.
    pub(super) fn make_ready(&mut self, index: u32) {
        let message = &mut self.outgoing[index];
        message.deadline = Instant::NEVER;
        if !message.ready {
            message.ready = true;
            let key = self.outgoing.key(index);
            self.ready.push_back(key);
        }
    }

    /// Queues the first packet of a message, or the NULL in its place, to go out (again).
    pub(super) fn open_again(&mut self, index: u32) {
        self.outgoing[index].opener_due = true;
        self.make_ready(index);
    }

    /// Starts the timer of a granted message that has nothing to send; queues one that has. A
    /// message that is still queued loses its old deadline: it starts its timer when it leaves the
    /// queue.
    pub(super) fn arm_if_idle(&mut self, index: u32, now: Instant) {
        let message = &self.outgoing[index];
        debug_assert_eq!(
            message.state,
            State::Granted,
            "only such leave the queue armed"
        );
        if message.next_data().is_some() || message.ready {
            self.make_ready(index);
        } else {
            self.arm(index, now);
        }
    }

    /// A message leaves `send_pending`, or what remains of it: those behind it may move up.
    pub(super) fn close_gap(&mut self, to: u32, left_at: Option<Instant>) {
        if let Some(sent_at) = left_at {
            self.repeat_followers(to, sent_at);
        }
        self.admit_waiting(to);
        if let Some(head) = self.paths[to as usize].pending.head() {
            self.common
                .alarms_mut()
                .time_path(to, self.outgoing[head].deadline);
        }
    }

    /// The oldest first packet got through only when repeated at `sent_at`: those behind it that
    /// went out before were rejected for their number. They need not wait for a timer each.
    // Rule Q.
    fn repeat_followers(&mut self, to: u32, sent_at: Instant) {
        if self.common.caps().has(Caps::OOO) {
            // They were kept (rule O).
            return;
        }
        let mut at = self.paths[to as usize].pending.head();
        for _ in 0..REPEATED_AT_ONCE {
            let Some(index) = at else { break };
            at = List::after(&self.outgoing, index);
            let follower = &self.outgoing[index];
            if !follower.opened || follower.sent_at >= sent_at {
                break;
            }
            self.open_again(index);
        }
    }

    /// Ends a message: out of all lists, its event raised.
    pub(super) fn close(&mut self, index: u32, event: fn(OutgoingId, Out) -> Event<Out, In>) {
        let to = self.outgoing[index].to;
        let left_at = self.take_out(index, event);
        self.close_gap(to, left_at);
    }

    /// Ends a message, but leaves those behind it where they are. The caller calls `close_gap` with
    /// the result for the last message that was taken out.
    #[inline]
    pub(super) fn take_out(
        &mut self,
        index: u32,
        event: fn(OutgoingId, Out) -> Event<Out, In>,
    ) -> Option<Instant> {
        let key = self.outgoing.key(index);
        let (_, left_at) = self.leave(index);
        let kept = self.forget_outgoing(index);
        self.common.raise(event(OutgoingId(key), kept));
        left_at
    }

    /// Takes a message out of its list. Returns its destination, and when its first packet was
    /// repeated, if it was.
    fn leave(&mut self, index: u32) -> (u32, Option<Instant>) {
        self.unlist(index);
        let message = &self.outgoing[index];
        let repeated = message.place == Place::Pending && message.attempt > 0;
        (message.to, repeated.then_some(message.sent_at))
    }

    /// Moves an answered opener on; those behind it move up.
    pub(super) fn promote(&mut self, index: u32, place: Place) {
        let message = &self.outgoing[index];
        let (to, repeated) = (
            message.to,
            message.place == Place::Pending && message.attempt > 0,
        );
        let left_at = repeated.then_some(message.sent_at);
        self.move_to(index, place);
        self.close_gap(to, left_at);
    }

    // Rule P9.
    pub(super) fn abort_outgoing(&mut self, index: u32) {
        let Some((state, _)) = self.outgoing[index].step(Input::Abort, self.common.config()) else {
            return;
        };
        debug_assert_eq!(state, State::Aborting);
        self.outgoing[index].state = state;
        self.outgoing[index].tries = 0;
        self.outgoing[index].opener_due = true;
        match self.outgoing[index].place {
            // Its NULL takes its turn, as its first packet would have.
            Place::Waiting => {}
            Place::Held => {
                self.promote(index, Place::Sending);
                self.make_ready(index);
            }
            Place::Pending | Place::Sending => self.make_ready(index),
        }
    }
}
