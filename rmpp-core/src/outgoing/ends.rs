//! Moving messages on their way out between the lists of paper §3.4, up to their ends.

use super::states::{Input, State};
use super::{Outgoing, Place, Sender};
use crate::common::Common;
use crate::event::Event;
use crate::ids::{Key, OutgoingId};
use crate::time::Instant;

impl<Out> Sender<Out> {
    /// Starts the timer of a granted message that has nothing to send; queues one that has. A
    /// message that is still queued loses its old deadline: it starts its timer when it leaves the
    /// queue.
    pub(super) fn arm_if_idle<In>(
        &mut self,
        common: &mut Common<Out, In>,
        index: u32,
        now: Instant,
    ) {
        let message = &self.queues.messages[index];
        debug_assert_eq!(
            message.state,
            State::Granted,
            "only such leave the queue armed"
        );
        if message.next_data().is_some() || message.ready {
            self.queues.make_ready(index);
        } else {
            self.arm(common, index, now);
        }
    }

    /// A message leaves `send_pending`, or what remains of it: those behind it may move up.
    pub(super) fn close_gap<In>(
        &mut self,
        common: &mut Common<Out, In>,
        to: u32,
        left_at: Option<Instant>,
    ) {
        if let Some(sent_at) = left_at {
            self.queues.repeat_followers(common.config(), to, sent_at);
        }
        self.queues.admit_waiting(common.config(), to);
        if let Some(head) = self.queues.to[to as usize].pending.head() {
            common
                .alarms_mut()
                .time_path(to, self.queues.messages[head].deadline);
        }
    }

    /// Ends a message: out of all lists, its event raised.
    pub(super) fn close<In>(
        &mut self,
        common: &mut Common<Out, In>,
        index: u32,
        event: fn(OutgoingId, Out) -> Event<Out, In>,
    ) {
        let to = self.queues.messages[index].to;
        let left_at = self.take_out(common, index, event);
        self.close_gap(common, to, left_at);
    }

    /// Ends a message, but leaves those behind it where they are. The caller calls `close_gap` with
    /// the result for the last message that was taken out.
    #[inline]
    pub(super) fn take_out<In>(
        &mut self,
        common: &mut Common<Out, In>,
        index: u32,
        event: fn(OutgoingId, Out) -> Event<Out, In>,
    ) -> Option<Instant> {
        let key = self.queues.messages.key(index);
        let left_at = self.queues.leave(index);
        let kept = self.queues.forget_outgoing(index);
        common.raise(event(OutgoingId(key), kept));
        left_at
    }

    /// Moves an answered opener on; those behind it move up.
    pub(super) fn promote<In>(&mut self, common: &mut Common<Out, In>, index: u32, place: Place) {
        let message = &self.queues.messages[index];
        let (to, repeated) = (
            message.to,
            message.place == Place::Pending && message.attempt > 0,
        );
        let left_at = repeated.then_some(message.sent_at);
        self.queues.move_to(index, place);
        self.close_gap(common, to, left_at);
    }

    // Rule P9.
    pub(super) fn abort_outgoing<In>(&mut self, common: &mut Common<Out, In>, index: u32) {
        let Some((state, _)) = self.queues.messages[index].step(Input::Abort, common.config())
        else {
            return;
        };
        debug_assert_eq!(state, State::Aborting);
        self.queues.messages[index].state = state;
        self.queues.messages[index].tries = 0;
        self.queues.messages[index].opener_due = true;
        match self.queues.messages[index].place {
            // Its NULL takes its turn, as its first packet would have.
            Place::Waiting => {}
            Place::Held => {
                self.promote(common, index, Place::Sending);
                self.queues.make_ready(index);
            }
            Place::Pending | Place::Sending => self.queues.make_ready(index),
        }
    }

    pub(super) fn enter_outgoing<In>(
        &mut self,
        common: &mut Common<Out, In>,
        message: Outgoing<Out>,
    ) -> Key {
        let to = message.to;
        let shape = message.shape(common.config().packet_bytes);
        let key = self.queues.messages.insert(message);
        // A message that goes unasked is acknowledged by its number alone, unless it is held or
        // something of it gets lost (rule K).
        if !common.config().is_unasked(shape) {
            self.queues.enter_name(key.index);
        }
        if self.queues.to[to as usize].waiting.len() == 0
            && self.queues.has_room(common.config(), key.index)
        {
            self.queues.admit(common.config(), key.index);
        } else {
            let path = &mut self.queues.to[to as usize];
            path.waiting.push_back(&mut self.queues.messages, key.index);
            self.settle(common);
        }
        key
    }
}
