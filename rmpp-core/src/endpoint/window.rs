//! Data in any sequence, its missing packets, and the grants that go ahead of it (rules R, U, W,
//! G).

use super::{Endpoint, KEPT};
use crate::bits::Bits;
use crate::caps::Caps;
use crate::config::Bug;
use crate::error::Dropped;
use crate::event::Placement;
use crate::ids::{IncomingId, Key};
use crate::incoming::Listed;
use crate::incoming::states::{Input, State, step};
use crate::packet::{Flags, Header, Kind};
use crate::time::Instant;

/// How many later packets must have come before a missing one counts as lost: networks reorder a
/// little. Source: RFC 5681, 3.2.
const REORDERING: u32 = 3;

impl<Out, In> Endpoint<Out, In> {
    /// A long message has landed: grants it data, and asks for unscheduled data that was dropped.
    // Rule U. Rule W.
    pub(super) fn first_grant(&mut self, index: u32, now: Instant) {
        let caps = self.config.caps;
        let message = &mut self.incoming[index];
        let shape = message.shape(self.config.packet_bytes);
        let unscheduled = self.config.unscheduled_of(shape);
        message.limit = unscheduled;
        message.is_counted = true;
        let from = message.from;
        let to_peer = &mut self.paths[from as usize].granted;
        self.grants.begin(message.granted(), to_peer);
        if message.expected > shape.last_seq() {
            // All of it came before its turn.
            self.complete(index, now);
            return;
        }
        if !self.config.is_unasked(shape) {
            self.unlist_incoming(index);
        }
        let message = &mut self.incoming[index];
        let in_vain = message.in_vain || message.attempt > 0;
        if in_vain && unscheduled > 0 && !self.config.has(Bug::ForgetUnscheduled) {
            message.lost_to = unscheduled;
            self.queue_cts(index);
        }
        if unscheduled > 0 {
            self.paths[from as usize].block = self.incoming.key(index);
        }
        if !caps.has(Caps::SNAK) && !caps.has(Caps::PIPE) {
            self.grant(index);
        } else if caps.has(Caps::PIPE) || self.incoming[index].span() == 0 {
            self.renew_grant(index);
        }
    }

    /// The next message of `from` begins: earlier unscheduled data has come, or is lost.
    // Rule U. Rule R.
    pub(super) fn close_block(&mut self, from: u32) {
        let key = core::mem::replace(&mut self.paths[from as usize].block, Key::NONE);
        let Some(index) = self.incoming.find(key) else {
            return;
        };
        let message = &mut self.incoming[index];
        let shape = message.shape(self.config.packet_bytes);
        let end = self.config.unscheduled_of(shape);
        if message.state == State::Receiving && message.expected <= end {
            message.lost_to = message.lost_to.max(end);
            self.queue_cts(index);
        }
    }

    /// How many granted packets may be on their way when more are granted: half of the window,
    /// none without pipelining.
    // Rule W.
    pub(super) fn left_at_renewal(&self) -> u32 {
        if self.config.caps.has(Caps::PIPE) {
            self.grants.window(self.config.caps.has(Caps::BUDGET)) / 2
        } else {
            0
        }
    }

    /// Grants more when no more than that is left of what was granted.
    // Rule W. Rule G.
    pub(super) fn renew_grant(&mut self, index: u32) {
        let left = self.left_at_renewal();
        let window = self.grants.window(self.config.caps.has(Caps::BUDGET));
        let last = self.incoming[index]
            .shape(self.config.packet_bytes)
            .last_seq();
        let message = &mut self.incoming[index];
        if message.limit >= last || message.span() > left {
            return;
        }
        let wanted = (message.expected - 1).saturating_add(window).min(last);
        let more = wanted.saturating_sub(message.limit);
        let to_peer = &mut self.paths[message.from as usize].granted;
        let n = self
            .grants
            .take_up_to(more, message.granted(), (to_peer, self.last_now));
        if n > 0 {
            message.limit += n;
            self.queue_cts(index);
        }
    }

    /// A CTS with a grant by Figure 8, in place of the one before.
    // Rule P4.
    pub(super) fn grant(&mut self, index: u32) {
        let has_budget = self.config.caps.has(Caps::BUDGET);
        let message = &mut self.incoming[index];
        let to_peer = &mut self.paths[message.from as usize].granted;
        self.grants.give_back(message.granted(), to_peer);
        let n = if has_budget {
            let window = self.grants.window(true);
            self.grants.take_up_to(window, 0, (to_peer, self.last_now))
        } else {
            u32::from(self.grants.take(to_peer))
        };
        message.limit = message.expected - 1 + n;
        self.reply(index, Kind::Cts);
    }

    /// The first packet of a message that is being received comes again: no CTS has reached its
    /// sender, and its unscheduled data is lost.
    // Rule R. Rule U.
    pub(super) fn grant_again(&mut self, index: u32) {
        let message = &mut self.incoming[index];
        let shape = message.shape(self.config.packet_bytes);
        message.lost_to = message.lost_to.max(self.config.unscheduled_of(shape));
        self.queue_cts(index);
    }

    pub(super) fn queue_cts(&mut self, index: u32) {
        let message = &mut self.incoming[index];
        if !message.cts_due {
            message.cts_due = true;
            let key = self.incoming.key(index);
            let most = KEPT + 2 * self.incoming.len();
            if self.grants_due.len() >= most {
                // Messages that ended while the layer below had no room for their CTS.
                self.grants_due
                    .retain(|&key| self.incoming.find(key).is_some());
            }
            debug_assert!(self.grants_due.len() < most, "queued once each");
            self.grants_due.push_back(key);
        }
    }

    /// The next CTS: made when it leaves, so that it is up to date.
    // Rule W. Rule R.
    pub(super) fn make_cts(&mut self) -> Option<(u32, Header, Bits)> {
        while let Some(key) = self.grants_due.pop_front() {
            let Some(index) = self.incoming.find(key) else {
                continue;
            };
            let selective = self.config.caps.has(Caps::SNAK);
            let message = &mut self.incoming[index];
            message.cts_due = false;
            if message.state != State::Receiving || message.span() == 0 {
                continue;
            }
            message.named = true;
            let lost = (message.lost_to + 1).saturating_sub(message.expected);
            let mut bits = message.came.gaps(lost);
            if self.config.has(Bug::ShiftNak) {
                bits.advance(1);
            }
            message.lost_to = 0;
            if !bits.is_empty() {
                message.nak = message.nak.wrapping_add(1);
                message.fresh = 0;
                self.counters.naks += 1;
                self.grants.lose(bits.count());
            }
            let header = Header {
                kind: Kind::Cts,
                version: self.config.version,
                src: message.from,
                msg_id: message.msg_id,
                len: message.len,
                seq: message.expected,
                info1: u16::try_from(message.span()).unwrap_or(u16::MAX),
                info2: if selective {
                    message.nak
                } else {
                    message.attempt
                },
                msg_num: message.msg_num,
                ack: 0,
                flags: Flags::NONE,
            };
            return Some((message.from, header, bits));
        }
        None
    }

    /// All data has come.
    fn complete(&mut self, index: u32, now: Instant) {
        let (state, _) = step(State::Receiving, Input::LastData).expect("it ends so");
        self.incoming[index].state = state;
        self.tell_arrival(index);
        self.finish(index, Kind::MsgEnd, now);
    }

    /// Unscheduled data of a message whose turn has not come: kept with its first packet.
    // Rule O.
    pub(super) fn keep_early_data(
        &mut self,
        index: u32,
        header: &Header,
    ) -> Result<Placement, Dropped> {
        let message = &mut self.incoming[index];
        if header.seq > message.limit {
            return Err(Dropped::BeyondGrant);
        }
        if !message.note(header.seq) {
            self.counters.duplicates += 1;
            return Ok(Placement::None);
        }
        let offset = message.shape(self.config.packet_bytes).offset(header.seq);
        let message = IncomingId(self.incoming.key(index));
        let packets = 1;
        Ok(Placement::Data {
            message,
            offset,
            packets,
        })
    }

    /// Data of a message that is being received: placed wherever it belongs.
    // Rule R.
    pub(super) fn take_data(
        &mut self,
        index: u32,
        header: &Header,
        now: Instant,
    ) -> Result<Placement, Dropped> {
        let message = &mut self.incoming[index];
        let shape = message.shape(self.config.packet_bytes);
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
            let to_peer = &mut self.paths[message.from as usize].granted;
            self.grants.give_back(1, to_peer);
        } else {
            self.counters.duplicates += 1;
        }
        let id = IncomingId(self.incoming.key(index));
        if is_confirmed {
            // A NAK has named it to its sender: those behind it need not wait (rule K).
            self.unlist_incoming(index);
        }
        if is_whole {
            self.complete(index, now);
        } else {
            self.note_losses(index, header);
            self.renew_grant(index);
        }
        Ok(if is_new {
            let offset = shape.offset(header.seq);
            Placement::Data {
                message: id,
                offset,
                packets: 1,
            }
        } else {
            Placement::None
        })
    }

    /// Finds the packets that a data packet shows to be lost. Between two NAKs that reach it a
    /// sender sends in ascending order, and names the NAK; so all packets missing below one of
    /// these are lost.
    // Rule R.
    fn note_losses(&mut self, index: u32, header: &Header) {
        let message = &mut self.incoming[index];
        let probes = header.flags.has(Flags::PROBE);
        let ends_burst = header.kind != Kind::Data;
        let is_fresh = header.info2 == message.nak || self.config.has(Bug::NakOnOldData);
        // The last packet that has been sent.
        let sent_to = header
            .seq
            .saturating_add(u32::from(header.info1))
            .min(message.limit);
        let lost_to = if probes || (ends_burst && is_fresh) {
            sent_to
        } else if is_fresh {
            message.fresh.saturating_sub(REORDERING)
        } else {
            0
        };
        let is_missing = message.expected <= lost_to;
        // A sender that stops before the limit has not received the grant that goes further.
        let knows_less = ends_burst && message.limit > sent_to;
        if is_missing {
            message.lost_to = message.lost_to.max(lost_to);
        }
        if is_missing || probes || knows_less {
            self.queue_cts(index);
        }
    }
}
