//! The ends of messages on their way in: landed, finished, lost.

use alloc::vec::Vec;

use super::states::{Action, Input, State, step};
use super::{Listed, Receiver};
use crate::bits::Bits;
use crate::caps::Caps;
use crate::common::{Common, Kept};
use crate::config::Bug;
use crate::event::Landing;
use crate::ids::IncomingId;
use crate::packet::Kind;

impl<K: Kept> Receiver<K> {
    /// Says where an announced message lands. Returns false if it is gone, or has not had its turn.
    pub(crate) fn land(
        &mut self,
        common: &mut Common<K>,
        message: IncomingId,
        (landing, kept): (Landing, K::In),
    ) -> bool {
        let Some(index) = self.store.messages.find(message.0) else {
            return false;
        };
        let message = &mut self.store.messages[index];
        if message.state == State::Early {
            message.kept = Some(kept);
            return false;
        }
        let short = message.shape(common.config()).is_short();
        if landing == Landing::Later && message.state == State::Held {
            message.named = true;
            message.kept = Some(kept);
            self.store.begin_keeping(index, common.config());
            if common.caps().has(Caps::HOLD) {
                self.store.reply(common, index, Kind::Gch);
            }
            return true;
        }
        let input = match (landing, short) {
            (Landing::Drop, _) => Input::Refuse,
            (Landing::Accept, true) => Input::AcceptShort,
            (Landing::Accept, false) => Input::AcceptLong,
            (Landing::Later, _) => return true,
        };
        let Some((state, action)) = step(message.state, input) else {
            return true;
        };
        message.state = state;
        message.kept = Some(kept);
        self.store.end_keeping(index);
        match action {
            Action::Grant => self.first_grant(common, index),
            Action::Drop => {
                self.store.messages[index].kept = None;
                self.finish(common, index, Kind::MsgDrop);
            }
            _ => {
                self.store.tell_arrival(common, index);
                self.finish(common, index, Kind::MsgEnd);
            }
        }
        true
    }

    /// A long message has landed: grants it data, and asks for unscheduled data that was dropped.
    // Rule U. Rule W.
    pub(super) fn first_grant(&mut self, common: &mut Common<K>, index: u32) {
        let caps = common.caps();
        let message = &mut self.store.messages[index];
        let shape = message.shape(common.config());
        let unscheduled = common.config().unscheduled_of(shape);
        message.limit = unscheduled;
        message.is_counted = true;
        let from = message.from;
        self.granting
            .begin(message.granted(), self.store.from.granted(from));
        if message.expected > shape.last_seq() {
            // All of it came before its turn.
            self.complete(common, index);
            return;
        }
        if !common.config().is_unasked(shape) {
            self.store.unlist(index);
        }
        let message = &mut self.store.messages[index];
        let in_vain = message.in_vain || message.attempt > 0;
        if in_vain && unscheduled > 0 && !common.has(Bug::ForgetUnscheduled) {
            message.lost_to = unscheduled;
            self.granting.queue_cts(&mut self.store.messages, index);
        }
        if unscheduled > 0 {
            let key = self.store.messages.key(index);
            self.store.from.replace_block(from, key);
        }
        if !caps.has(Caps::SNAK) && !caps.has(Caps::PIPE) {
            self.grant(common, index);
        } else if caps.has(Caps::PIPE) || self.store.messages[index].span() == 0 {
            self.renew_grant(common, index);
        }
    }

    /// All data has come.
    pub(super) fn complete(&mut self, common: &mut Common<K>, index: u32) {
        let (state, _) = step(State::Receiving, Input::LastData).expect("it ends so");
        self.store.messages[index].state = state;
        self.store.tell_arrival(common, index);
        self.finish(common, index, Kind::MsgEnd);
    }

    /// The message is over: answers `kind`, and is remembered to answer it again. With cumulative
    /// acknowledgement nothing is remembered, and a message that came unasked and was never named
    /// is answered by no packet of its own.
    // Rule P6. Rule K.
    pub(super) fn finish(&mut self, common: &mut Common<K>, index: u32, kind: Kind) {
        let now = common.now();
        let lazy = common.caps().has(Caps::LAZY);
        let message = &self.store.messages[index];
        let (from, asks, granted) = (message.from, message.asks, message.granted());
        let is_unasked = common.config().is_unasked(message.shape(common.config()));
        let is_counted = message.is_counted && !common.has(Bug::LeakGrant);
        if is_unasked && kind == Kind::MsgEnd && !message.named {
            self.store.from.owe(common, from, asks, now);
        } else {
            self.store.reply(common, index, kind);
        }
        if is_counted {
            self.granting
                .give_back(granted, self.store.from.granted(from));
        }
        self.store.unlist(index);
        let message = &mut self.store.messages[index];
        message.is_counted = false;
        message.limit = message.expected - 1;
        message.came = Bits::NONE;
        if lazy || common.has(Bug::FreeStateEarly) {
            self.store.forget(index);
            return;
        }
        message.done_at = now;
        self.store.list(common, index, Listed::Done);
        let expiry = now.plus(common.config().done_state_lifetime);
        common.alarms_mut().wake_at(expiry);
        // Rule C.
        while self.store.done.len() > common.config().max_done_states
            && let Some(oldest) = self.store.done.head()
        {
            common.counts().done_expired += 1;
            self.store.forget(oldest);
        }
    }

    /// Forgets all messages of a peer that is gone; returns those that had not ended.
    pub(crate) fn lose(&mut self, peer: u32) -> Vec<(IncomingId, Option<K::In>)> {
        let messages = self.store.messages.iter();
        let of_peer = messages.filter(|(_, message)| message.from == peer);
        let of_peer: Vec<u32> = of_peer.map(|(index, _)| index).collect();
        let mut unfinished = Vec::new();
        for index in of_peer {
            let message = &mut self.store.messages[index];
            if message.is_done() {
                self.store.forget(index);
                continue;
            }
            let (kept, msg_id) = (message.kept.take(), message.msg_id);
            if message.is_counted {
                self.granting
                    .give_back(message.granted(), self.store.from.granted(peer));
            }
            unfinished.push((IncomingId(self.store.messages.key(index)), kept));
            self.store.end_keeping(index);
            self.store.at.remove(peer, msg_id);
            self.store.messages.remove(index);
        }
        self.store.from.lose(peer);
        unfinished
    }
}
