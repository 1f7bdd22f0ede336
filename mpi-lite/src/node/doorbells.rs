//! What wakes a rank that sleeps: an eventfd for each rank of the node.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The doorbells of a node, as one rank sees them.
#[derive(Debug)]
pub(crate) struct Doorbells {
    doorbells: Vec<OwnedFd>,
    me: usize,
}

impl Doorbells {
    /// `doorbells` by local rank; this rank is `me`.
    pub(crate) fn new(doorbells: Vec<OwnedFd>, me: u32) -> Self {
        let me = me as usize;
        Self { doorbells, me }
    }

    /// Returns the descriptor that becomes readable when this rank's doorbell is rung.
    pub(crate) fn mine(&self) -> BorrowedFd<'_> {
        self.doorbells[self.me].as_fd()
    }

    /// Clears this rank's doorbell.
    pub(crate) fn silence(&self) {
        let _ = rustix::io::read(self.mine(), &mut [0; 8]);
    }

    /// Rings the doorbell of a local peer.
    pub(crate) fn ring(&self, local_peer: u32) {
        if let Some(doorbell) = self.doorbells.get(local_peer as usize) {
            let _ = rustix::io::write(doorbell, &1_u64.to_ne_bytes());
        }
    }
}
