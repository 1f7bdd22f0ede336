//! The receive ring of a process (section 3.3, Figure 3): fragments of all peers, in the order of
//! their arrival, until the layer above takes them.

use std::collections::VecDeque;

use crate::transport::PeerId;

/// Buffers of the ring. The paper gives no number. Sixteen peers may fill their windows at once.
pub(super) const SLOTS: usize = 128;

#[derive(Debug)]
struct ReceiveSlot {
    from: PeerId,
    /// The memory is kept for the next fragment.
    bytes: Vec<u8>,
}

/// The receive ring. Buffers are made when they are first needed.
#[derive(Debug, Default)]
pub(super) struct ReceiveRing {
    /// READY, the oldest first.
    ready: VecDeque<ReceiveSlot>,
    /// On its way to the layer above: INTRANSIT.
    taken: Option<ReceiveSlot>,
    /// IDLE, of those that were made.
    idle: Vec<ReceiveSlot>,
}

impl ReceiveRing {
    /// Returns true if there is a free buffer besides the one for the packet that is here: one
    /// always remains, so that any packet can be received (section 3.3).
    pub(super) fn has_buffer(&self) -> bool {
        self.ready.len() + 1 < SLOTS
    }

    /// Returns true if a fragment is READY.
    pub(super) fn has_fragment(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Stores a fragment.
    pub(super) fn store(&mut self, from: PeerId, fragment: &[u8]) {
        let empty = || ReceiveSlot {
            from,
            bytes: Vec::new(),
        };
        let mut slot = self.idle.pop().unwrap_or_else(empty);
        slot.from = from;
        slot.bytes.clear();
        slot.bytes.extend_from_slice(fragment);
        self.ready.push_back(slot);
    }

    /// Takes the oldest fragment. Its buffer is IDLE when the next one is taken.
    pub(super) fn take(&mut self) -> Option<(PeerId, &[u8])> {
        self.idle.extend(self.taken.take());
        self.taken = self.ready.pop_front();
        let slot = self.taken.as_ref()?;
        Some((slot.from, &slot.bytes))
    }

    /// Drops the fragments of a peer.
    pub(super) fn drop_all(&mut self, of: PeerId) {
        self.ready.retain(|slot| slot.from != of);
    }
}
