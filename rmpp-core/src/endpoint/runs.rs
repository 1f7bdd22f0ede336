//! Runs: data packets of one message that leave or come one behind the other, handled as one thing.
//! The packets on the wire and the state afterwards are those of the packets one by one.

use super::Endpoint;
use crate::packet::Kind;

impl<Out, In> Endpoint<Out, In> {
    /// Sends up to `most` packets behind the one at `offset`, short of the one that ends the burst.
    pub(super) fn send_more(&mut self, index: u32, offset: u64, most: u32) -> u32 {
        let message = &mut self.outgoing[index];
        let shape = message.shape(self.common.config().packet_bytes);
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
        self.common.counts().sent[Kind::Data.index()] += u64::from(more);
        more
    }
}
