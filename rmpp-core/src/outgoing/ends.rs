//! Moving messages on their way out between the lists of paper §3.4, up to their ends.

use super::states::{Input, State};
use super::{Outgoing, Place, Queues};
use crate::common::{Common, EventOf, Kept};
use crate::ids::{Key, OutgoingId, later_attempt};
use crate::time::Instant;

impl<K: Kept> Queues<K> {
    /// A message leaves `send_pending`, or what remains of it: those behind it may move up.
    pub(super) fn close_gap(&mut self, common: &mut Common<K>, to: u32, left_at: Option<Instant>) {
        if let Some(sent_at) = left_at {
            self.repeat_followers(common.config(), to, sent_at);
        }
        self.admit_waiting(common.config(), to);
        if let Some(head) = self.to[to as usize].pending.head() {
            common
                .alarms_mut()
                .time_path(to, self.messages[head].deadline);
        }
    }

    /// Ends a message, but leaves those behind it where they are. The caller calls `close_gap` with
    /// the result for the last message that was taken out.
    #[inline]
    pub(super) fn take_out(
        &mut self,
        common: &mut Common<K>,
        index: u32,
        event: fn(OutgoingId, K::Out) -> EventOf<K>,
    ) -> Option<Instant> {
        let key = self.messages.key(index);
        self.unlist(index);
        let left_at = self.messages[index].repeated_at();
        let kept = self.forget_outgoing(index);
        common.raise(event(OutgoingId(key), kept));
        left_at
    }

    /// Moves an answered opener on; those behind it move up.
    pub(super) fn promote(&mut self, common: &mut Common<K>, index: u32, place: Place) {
        let message = &self.messages[index];
        let (to, left_at) = (message.to, message.repeated_at());
        self.move_to(index, place);
        self.close_gap(common, to, left_at);
    }

    // Rule P9.
    pub(super) fn abort(&mut self, common: &mut Common<K>, index: u32) {
        let message = &mut self.messages[index];
        let Some((state, _)) = message.step(Input::Abort, common.config()) else {
            return;
        };
        debug_assert_eq!(state, State::Aborting);
        message.state = state;
        message.tries = 0;
        message.opener_due = true;
        match message.place {
            // Its NULL takes its turn, as its first packet would have.
            Place::Waiting => return,
            Place::Held => self.promote(common, index, Place::Sending),
            Place::Pending | Place::Sending => {}
        }
        self.make_ready(index);
    }

    /// Enters a new message. Returns true if it waits, since the window is full.
    pub(super) fn enter(&mut self, common: &Common<K>, message: Outgoing<K::Out>) -> (Key, bool) {
        let to = message.to as usize;
        let shape = message.shape(common.config());
        let key = self.messages.insert(message);
        // A message that goes unasked is acknowledged by its number alone, unless it is held or
        // something of it gets lost (rule K).
        if !common.config().is_unasked(shape) {
            self.enter_name(key.index);
        }
        let is_next = self.to[to].waiting.len() == 0;
        let waits = !is_next || !self.has_room(common.config(), key.index);
        if waits {
            let path = &mut self.to[to];
            path.waiting.push_back(&mut self.messages, key.index);
        } else {
            self.admit(common.config(), key.index);
        }
        (key, waits)
    }

    /// A message is granted something: no first packet of it is due, and it has been answered.
    pub(super) fn begin_block(&mut self, common: &mut Common<K>, index: u32) {
        self.enter_name(index);
        if self.messages[index].place != Place::Sending {
            // A CTS need not echo the attempt.
            self.note_held_answered(common, index, self.messages[index].attempt);
            self.promote(common, index, Place::Sending);
        }
        let message = &mut self.messages[index];
        message.state = State::Granted;
        message.opener_due = false;
        message.tries = 0;
    }

    /// A message is answered in its attempt `attempt`. If it was held, answers to others may have
    /// been lost, most likely if no hold has come since it was asked after.
    // Rule H.
    pub(super) fn note_held_answered(&mut self, common: &mut Common<K>, index: u32, attempt: u16) {
        let Outgoing {
            place, held_at, to, ..
        } = self.messages[index];
        if place == Place::Held {
            let was_lost = later_attempt(attempt, held_at);
            let path = &mut self.to[to as usize];
            let due = path.suspect(common.timeouts(), was_lost, common.now());
            common.alarms_mut().time_path(to, due);
        }
    }
}
