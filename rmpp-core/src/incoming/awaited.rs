//! Which data packet comes next, for a driver that receives payload straight into its place.

use super::Receiver;
use super::states::State;
use crate::common::Kept;
use crate::config::{Bug, Config};
use crate::ids::{IncomingId, NodeId};
use crate::packet::{Header, Kind, bare_header_bytes, header_bytes_of};

/// A data packet that was granted and has not come: its header, and where its payload belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Awaited {
    /// The message.
    pub message: IncomingId,
    /// Where in the message the payload begins, in bytes.
    pub offset: u64,
    /// Bytes of the payload.
    pub payload_bytes: usize,
    /// Bytes of the header.
    pub header_bytes: usize,
    from: u32,
    msg_id: u32,
    msg_num: u32,
    message_len: u64,
    seq: u32,
}

impl Awaited {
    /// Returns true if `packet`, which came from `from`, begins as this one does. Its payload then
    /// belongs here and nowhere else: [`Endpoint::handle`](crate::Endpoint::handle) places it here,
    /// or drops it.
    #[must_use]
    pub fn is(&self, from: NodeId, packet: &[u8]) -> bool {
        let is_data = |kind| matches!(kind, Kind::Data | Kind::StopData | Kind::LastData);
        header_bytes_of(packet) == Some(self.header_bytes)
            && Header::decode(packet).is_some_and(|header| {
                is_data(header.kind)
                    && (from.0, header.src) == (self.from, self.from)
                    && (header.msg_id, header.msg_num) == (self.msg_id, self.msg_num)
                    && (header.seq, header.len) == (self.seq, self.message_len)
            })
    }
}

impl<K: Kept> Receiver<K> {
    /// The data packet that a message lacks next, if that is certain.
    pub(crate) fn awaited(&self, config: &Config, message: IncomingId) -> Option<Awaited> {
        let index = self.store.messages.find(message.0)?;
        let incoming = &self.store.messages[index];
        let is_next = incoming.state == State::Receiving
            && incoming.expected <= incoming.limit
            && incoming.came.is_empty();
        if !is_next {
            return None;
        }
        let shape = incoming.shape(config);
        let seq = match config.has(Bug::AwaitWhatCame) {
            true => incoming.expected - 1,
            false => incoming.expected,
        };
        Some(Awaited {
            message,
            offset: shape.offset(seq),
            payload_bytes: shape.data_bytes(seq),
            header_bytes: bare_header_bytes(config.version),
            from: incoming.from,
            msg_id: incoming.msg_id,
            msg_num: incoming.msg_num,
            message_len: incoming.len,
            seq,
        })
    }
}
