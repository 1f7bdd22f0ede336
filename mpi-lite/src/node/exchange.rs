//! Exchange buffers, through which members of a communicator exchange what fits no payload.
//!
//! Each rank has two exchange buffers in the node's memory, whatever the communicator: its send
//! buffer and its receive buffer. Each place has a third, the broadcast buffer, which all members
//! read. An epoch hands the buffers over. Each member writes its send buffer and is counted. The
//! last one to come reads all send buffers, writes the receive buffers or the broadcast buffer, and
//! releases the others. Then they read.
//!
//! So nothing is overwritten before it was read. A send buffer is read before the epoch is
//! released, and its owner stays until then. Receive and broadcast buffers are written when all
//! have come. A member that has come to this epoch has read what the epoch before gave it.

use super::line::tell;
use super::site::{About, Epoch};
use crate::memory::Span;

impl Epoch<'_> {
    /// What this member gives. It may write there until it comes.
    #[must_use]
    pub fn send_buffer(&self) -> Span {
        self.myself().send_buffer.span()
    }

    /// What the member of `rank` gives. The last one to come may read it until it releases.
    #[must_use]
    pub fn send_buffer_of(&self, rank: usize) -> Span {
        self.site.members[rank].send_buffer.span()
    }

    /// What this member gets. It may read it once the epoch is released.
    #[must_use]
    pub fn receive_buffer(&self) -> Span {
        self.myself().receive_buffer.span()
    }

    /// What the member of `rank` gets. The last one to come may write there until it releases.
    #[must_use]
    pub fn receive_buffer_of(&self, rank: usize) -> Span {
        self.site.members[rank].receive_buffer.span()
    }

    /// What all get. The last one to come may write there until it releases, then all may read it.
    #[must_use]
    pub fn broadcast_buffer(&self) -> Span {
        self.site.broadcast_buffer.span()
    }

    /// Comes to the epoch with what lies in the send buffer. Requires that [`Epoch::is_free`]
    /// returned something.
    pub fn come(&self, about: About) {
        let line = &self.myself().slot.brought[self.turn()];
        tell(line, self.sequence(0), about);
    }

    /// Ends an epoch at which all were counted. The results lie in the exchange buffers.
    pub fn release_exchange(&self, about: About) {
        let line = &self.site.members[0].slot.results[self.result_turn()];
        tell(line, self.sequence(0), about);
    }
}
