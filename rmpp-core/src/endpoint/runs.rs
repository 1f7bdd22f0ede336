//! Runs: data packets of one message that leave or come one behind the other, handled as one thing.
//! The packets on the wire and the state afterwards are those of the packets one by one.

use super::Endpoint;
use crate::caps::Caps;
use crate::ids::IncomingId;
use crate::incoming::states::State;
use crate::packet::{Kind, Packet};

impl<Out, In> Endpoint<Out, In> {
    /// Sends up to `most` packets behind the one at `offset`, short of the one that ends the burst.
    pub(super) fn send_more(&mut self, index: u32, offset: u64, most: u32) -> u32 {
        let message = &mut self.outgoing[index];
        let shape = message.shape(self.config.packet_bytes);
        let is_plain = shape.offset(message.next) == offset + shape.packet_bytes as u64
            && message.next > message.furthest
            && !message.opener_due;
        if !is_plain {
            return 0;
        }
        let end = message.limit.min(shape.last_seq());
        let more = end.saturating_sub(message.next).min(most);
        message.next += more;
        message.furthest = message.next - 1;
        self.counters.sent[Kind::Data.index()] += u64::from(more);
        more
    }

    /// Takes in more packets of a run whose first one has just been placed: as long as the next one
    /// is expected, granted, not the last of the message and gives no cause for a new grant.
    // Rule R. Rule W.
    pub(super) fn take_more(&mut self, IncomingId(key): IncomingId, run: &Packet<'_>) -> u32 {
        let Some(index) = self.incoming.find(key) else {
            return 0;
        };
        let seq = run.header.seq;
        let message = &self.incoming[index];
        let is_plain = message.state == State::Receiving
            && message.expected == seq + 1
            && message.came.is_empty()
            && self.config.caps.has(Caps::SNAK)
            && self.grants.is_full();
        if !is_plain {
            return 0;
        }
        let last = message.shape(self.config.packet_bytes).last_seq();
        let placeable = message.limit.min(last - 1).saturating_sub(seq);
        let more = (run.packets - 1)
            .min(placeable)
            .min(self.packets_to_grant(index, last));
        let message = &mut self.incoming[index];
        message.expected += more;
        if run.header.info2 == message.nak {
            message.fresh = message.fresh.max(seq + more);
        }
        let to_peer = &mut self.paths[message.from as usize].granted;
        self.grants.give_back(more, to_peer);
        self.counters.received[Kind::Data.index()] += u64::from(more);
        self.renew_grant(index);
        more
    }

    /// How many packets must come until more may be granted: see `renew_grant`.
    // Rule W.
    fn packets_to_grant(&self, index: u32, last: u32) -> u32 {
        let message = &self.incoming[index];
        if message.limit >= last {
            return u32::MAX;
        }
        let left = self.left_at_renewal();
        message.span().saturating_sub(left).max(1)
    }
}
