//! Finding, entering and forgetting messages on their way in, and answering their senders.

use super::states::{Action, State};
use super::{Incoming, Listed, Store};
use crate::bits::{Bits, WINDOW};
use crate::caps::Caps;
use crate::common::{Common, Kept};
use crate::config::{Bug, Config};
use crate::error::{Dropped, Heard};
use crate::event::Event;
use crate::ids::IncomingId;
use crate::list::List;
use crate::packet::{Header, Kind};

/// So many held messages keep their unscheduled data: 8 MiB.
const MOST_KEEPING: u32 = 128;

impl<K: Kept> Store<K> {
    /// The state of the message a packet belongs to, if there is any.
    pub(super) fn known(&self, header: &Header) -> Heard<Option<u32>> {
        let Some(index) = self.at.get(header.src, header.msg_id) else {
            return Ok(None);
        };
        let Incoming { msg_num, len, .. } = self.messages[index];
        if (msg_num, len) != (header.msg_num, header.len) {
            return Err(Dropped::Mismatch);
        }
        Ok(Some(index))
    }

    /// The state of the message that a packet may begin. The sender reuses the name of a message
    /// that it has forgotten: if a finished message has the packet's name, but the packet bears the
    /// number that is due, the finished message is forgotten.
    // Rule L.
    pub(super) fn known_or_new(
        &mut self,
        common: &mut Common<K>,
        header: &Header,
    ) -> Heard<Option<u32>> {
        let known = self.known(header);
        let is_due = header.msg_num == common.numbers(header.src).next_in();
        if known == Err(Dropped::Mismatch)
            && is_due
            && let Some(index) = self.at.get(header.src, header.msg_id)
            && self.messages[index].is_done()
        {
            self.forget(index);
            return Ok(None);
        }
        known
    }

    // Rule P15.
    pub(super) fn enter(&mut self, header: &Header) -> u32 {
        let key = self.messages.insert(Incoming::new(header));
        let fresh = self.at.insert(header.src, header.msg_id, key.index);
        assert!(fresh, "an unknown message has no entry");
        key.index
    }

    pub(super) fn list(&mut self, common: &mut Common<K>, index: u32, listed: Listed) {
        if listed == Listed::Unconfirmed && !common.caps().has(Caps::LAZY) {
            return;
        }
        let from = self.messages[index].from;
        let list = self.from.list_of(from, listed).unwrap_or(&mut self.done);
        list.push_back(&mut self.messages, index);
        self.messages[index].listed = listed;
        // Rule C: the one too many goes at once.
        debug_assert!(self.done.len() <= common.config().max_done_states + 1);
    }

    pub(super) fn unlist(&mut self, index: u32) {
        let Incoming { from, listed, .. } = self.messages[index];
        if listed == Listed::Nowhere {
            return;
        }
        let list = self.from.list_of(from, listed).unwrap_or(&mut self.done);
        list.remove(&mut self.messages, index);
        self.messages[index].listed = Listed::Nowhere;
    }

    /// A held message keeps its unscheduled data from now on, unless too many do.
    // Rule U.
    pub(super) fn begin_keeping(&mut self, index: u32, config: &Config) {
        let message = &mut self.messages[index];
        if message.keeps {
            return;
        }
        let end = config.unscheduled_of(message.shape(config));
        if end > 0 && self.keeping < MOST_KEEPING {
            (message.keeps, message.limit) = (true, end);
            self.keeping += 1;
        } else {
            message.in_vain = true;
        }
    }

    /// A message is held no longer.
    pub(super) fn end_keeping(&mut self, index: u32) {
        let keeps = core::mem::take(&mut self.messages[index].keeps);
        self.keeping -= u32::from(keeps);
    }

    pub(super) fn forget(&mut self, index: u32) {
        self.unlist(index);
        self.end_keeping(index);
        let Incoming { from, msg_id, .. } = self.messages[index];
        self.at.remove(from, msg_id);
        self.messages.remove(index);
    }

    /// All of a message has been placed: what was kept with it goes back.
    pub(super) fn tell_arrival(&mut self, common: &mut Common<K>, index: u32) {
        let id = IncomingId(self.messages.key(index));
        let kept = self.messages[index].kept.take();
        let kept = kept.expect("a message that has landed is kept");
        common.raise(Event::Arrived(id, kept));
    }

    pub(super) fn reply_again(&mut self, common: &mut Common<K>, index: u32, action: Action) {
        if common.has(Bug::NoSecondMsgend) {
            return;
        }
        common.counts().answered_again += 1;
        let kind = if action == Action::DropAgain {
            Kind::MsgDrop
        } else {
            Kind::MsgEnd
        };
        self.reply(common, index, kind);
    }

    /// Returns the sender of an incoming message.
    pub(super) fn reply(&mut self, common: &mut Common<K>, index: u32, kind: Kind) {
        let message = &mut self.messages[index];
        message.named = true;
        let (seq, grant) = match kind {
            Kind::Cts => (message.expected, message.granted()),
            _ => (0, 0),
        };
        let header = Header {
            seq,
            info1: u16::try_from(grant).expect("a grant is at most MAX_DATA_PKTS"),
            ..message.header(kind, common.config().version)
        };
        let from = message.from;
        common.answer(from, header);
    }

    /// All messages of `from` with numbers before this are accepted, and none of them is held
    /// without its sender knowing.
    // Rule K.
    #[inline]
    pub(super) fn acceptable(&self, common: &Common<K>, from: u32) -> u32 {
        match self.from.unconfirmed(from) {
            Some(index) if !common.has(Bug::AckPassesHeld) => self.messages[index].msg_num,
            _ => common.numbers(from).next_in(),
        }
    }

    /// The numbers of `from` that need not come again, from the acknowledged one on.
    // Rule O.
    pub(super) fn accepted_ahead(&self, common: &Common<K>, from: u32) -> Bits {
        let ack = self.acceptable(common, from);
        let mut bits = Bits::NONE;
        let announced = common.numbers(from).next_in().wrapping_sub(ack).min(WINDOW);
        // The first one is being received, or it is held and that is not confirmed.
        let first = self.from.unconfirmed(from);
        let is_held = first.is_some_and(|index| self.messages[index].state == State::Held);
        for at in u32::from(is_held)..announced {
            bits.set(at);
        }
        let mut each = self.from.first_early(from);
        while let Some(index) = each {
            each = List::after(&self.messages, index);
            let at = self.messages[index].msg_num.wrapping_sub(ack);
            if at < WINDOW {
                bits.set(at);
            }
        }
        bits
    }

    /// The sender has confirmed the hold: acknowledgement may pass the message.
    // Rule K.
    pub(super) fn confirm(&mut self, common: &mut Common<K>, index: u32) {
        let now = common.now();
        let from = self.messages[index].from;
        if self.messages[index].listed == Listed::Unconfirmed {
            self.unlist(index);
            self.from.owe(common, from, false, now);
        }
    }
}
