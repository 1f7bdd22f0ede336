//! What wakes a rank that sleeps: an eventfd for each rank of the node.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// The bells of a node, as one rank sees them.
#[derive(Debug)]
pub(crate) struct Bells {
    bells: Vec<OwnedFd>,
    me: usize,
}

impl Bells {
    /// `bells` by local rank; this rank is `me`.
    pub(crate) fn new(bells: Vec<OwnedFd>, me: u32) -> Self {
        let me = me as usize;
        Self { bells, me }
    }

    /// What becomes readable when this rank's bell is rung.
    pub(crate) fn mine(&self) -> BorrowedFd<'_> {
        self.bells[self.me].as_fd()
    }

    /// This rank's bell has been heard.
    pub(crate) fn silence(&self) {
        let _ = rustix::io::read(self.mine(), &mut [0; 8]);
    }

    /// Rings that of a neighbour.
    pub(crate) fn ring(&self, neighbour: u32) {
        if let Some(bell) = self.bells.get(neighbour as usize) {
            let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
        }
    }
}
