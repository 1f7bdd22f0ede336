//! Numbers of this protocol.

use std::time::Duration;

/// Streams of an association, in each direction.
pub(super) const STREAMS: u16 = 16;
/// Bytes that a process sends to a peer, or has from it unread, at most.
pub(super) const WINDOW_BYTES: u32 = 256 * 1024;
/// Messages that a process sends to a peer at most before they are acknowledged: the library sorts
/// what is outstanding at each chunk.
pub(super) const MESSAGES_MOST: usize = 1024;
/// About the bytes of the longest message.
pub(super) const MESSAGE_BYTES: usize = 16 * 1024;
/// The retransmission timeout before a round trip was measured.
pub(super) const FIRST_TIMEOUT: Duration = Duration::from_millis(20);
/// The TSN of the first chunk. The numbers soon begin again at 0, so that each job shows that this
/// does no harm.
pub(super) const FIRST_TSN: u32 = u32::MAX - 99;
