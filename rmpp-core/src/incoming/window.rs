//! Data in any sequence, its missing packets, and the grants that go ahead of it (rules R, U, W,
//! G).

use super::states::State;
use super::{Listed, Receiver};
use crate::caps::Caps;
use crate::common::{Common, Kept};
use crate::config::Bug;
use crate::error::Dropped;
use crate::event::{Placed, Placement};
use crate::ids::{IncomingId, Key};
use crate::packet::{Header, Kind, Packet};

impl<K: Kept> Receiver<K> {
    /// The next message of `from` begins: earlier unscheduled data has come, or is lost.
    // Rule U. Rule R.
    pub(super) fn close_block(&mut self, common: &mut Common<K>, from: u32) {
        let key = self.store.from.replace_block(from, Key::NONE);
        let Some(index) = self.store.messages.find(key) else {
            return;
        };
        let message = &mut self.store.messages[index];
        let shape = message.shape(common.config());
        let end = common.config().unscheduled_of(shape);
        if message.state == State::Receiving && message.expected <= end {
            message.lost_to = message.lost_to.max(end);
            self.granting.queue_cts(&mut self.store.messages, index);
        }
    }

    /// Grants more when no more than that is left of what was granted.
    // Rule W. Rule G.
    pub(super) fn renew_grant(&mut self, common: &mut Common<K>, index: u32) {
        let message = &mut self.store.messages[index];
        let to_peer = self.store.from.granted(message.from);
        if self
            .granting
            .renew(message, common.config(), (to_peer, common.now()))
        {
            self.granting.queue_cts(&mut self.store.messages, index);
        }
    }

    /// A CTS with a grant by Figure 8, in place of the one before.
    // Rule P4.
    pub(super) fn grant(&mut self, common: &mut Common<K>, index: u32) {
        let message = &mut self.store.messages[index];
        let to_peer = self.store.from.granted(message.from);
        self.granting.grant(common, message, to_peer);
        self.store.reply(common, index, Kind::Cts);
    }

    /// The first packet of a message that is being received comes again: no CTS has reached its
    /// sender, and its unscheduled data is lost.
    // Rule R. Rule U.
    pub(super) fn grant_again(&mut self, common: &mut Common<K>, index: u32) {
        let message = &mut self.store.messages[index];
        let shape = message.shape(common.config());
        message.lost_to = message.lost_to.max(common.config().unscheduled_of(shape));
        self.granting.queue_cts(&mut self.store.messages, index);
    }

    /// Unscheduled data of a message whose turn has not come, or that is held: kept with its first
    /// packet.
    // Rule O. Rule U.
    pub(super) fn keep_unscheduled(
        &mut self,
        common: &mut Common<K>,
        index: u32,
        header: &Header,
    ) -> Placed {
        let message = &mut self.store.messages[index];
        if header.seq > message.limit {
            return Err(Dropped::BeyondGrant);
        }
        if !message.note(header.seq) {
            common.counts().duplicates += 1;
            return Ok(Placement::None);
        }
        let offset = message.shape(common.config()).offset(header.seq);
        let id = IncomingId(self.store.messages.key(index));
        Ok(Placement::data(id, offset))
    }

    /// Data of a message that is being received: placed wherever it belongs.
    // Rule R.
    pub(super) fn take_data(
        &mut self,
        common: &mut Common<K>,
        index: u32,
        header: &Header,
    ) -> Placed {
        let message = &mut self.store.messages[index];
        let shape = message.shape(common.config());
        if header.seq > message.limit {
            return Err(Dropped::BeyondGrant);
        }
        let knows_nak = header.info2 == message.nak;
        if knows_nak {
            message.fresh = message.fresh.max(header.seq);
        }
        let is_confirmed = message.listed == Listed::Unconfirmed && knows_nak && message.nak > 0;
        let is_new = message.note(header.seq);
        let is_whole = message.expected > shape.last_seq();
        if is_new {
            self.granting
                .give_back(1, self.store.from.granted(message.from));
        } else {
            common.counts().duplicates += 1;
        }
        let id = IncomingId(self.store.messages.key(index));
        if is_confirmed {
            // A NAK has named it to its sender: those behind it need not wait (rule K).
            self.store.unlist(index);
        }
        if is_whole {
            self.complete(common, index);
        } else {
            let message = &mut self.store.messages[index];
            if message.note_losses(header, common.has(Bug::NakOnOldData)) {
                self.granting.queue_cts(&mut self.store.messages, index);
            }
            self.renew_grant(common, index);
        }
        Ok(match is_new {
            true => Placement::data(id, shape.offset(header.seq)),
            false => Placement::None,
        })
    }

    /// Takes in more packets of a run whose first one has just been placed: as long as the next one
    /// is expected, granted, not the last of the message and gives no cause for a new grant.
    // Rule R. Rule W.
    pub(crate) fn take_more(
        &mut self,
        common: &mut Common<K>,
        IncomingId(key): IncomingId,
        run: &Packet<'_>,
    ) -> u32 {
        let Some(index) = self.store.messages.find(key) else {
            return 0;
        };
        let seq = run.header.seq;
        let message = &self.store.messages[index];
        let is_plain = message.state == State::Receiving
            && message.expected == seq + 1
            && message.came.is_empty()
            && common.caps().has(Caps::SNAK)
            && self.granting.is_full();
        if !is_plain {
            return 0;
        }
        let last = message.shape(common.config()).last_seq();
        let placeable = message.limit.min(last - 1).saturating_sub(seq);
        let to_grant = self.granting.packets_to_grant(message, common.config());
        let more = (run.packets - 1).min(placeable).min(to_grant);
        let message = &mut self.store.messages[index];
        message.expected += more;
        if run.header.info2 == message.nak {
            message.fresh = message.fresh.max(seq + more);
        }
        self.granting
            .give_back(more, self.store.from.granted(message.from));
        common.counts().received[Kind::Data.index()] += u64::from(more);
        self.renew_grant(common, index);
        more
    }
}
