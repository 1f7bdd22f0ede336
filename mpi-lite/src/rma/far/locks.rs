//! The lock of the memory of this process, and who waits for it. Source: MPI 5.0, 12.5.3.

use std::collections::{BTreeSet, VecDeque};

use crate::rma::epochs::LockKind;

/// So often others may share the lock while a rank waits to have it alone: who has it may wait for
/// them.
const OVERTAKEN_MOST: u32 = 128;

/// A lock that ranks share, or that one has alone. Those that wait get it in their order.
#[derive(Debug, Default)]
pub(super) struct Locks {
    exclusive: Option<u32>,
    shared: BTreeSet<u32>,
    queue: VecDeque<(u32, LockKind)>,
    overtaken: u32,
}

impl Locks {
    fn is_free_for(&self, kind: LockKind) -> bool {
        self.exclusive.is_none() && (kind == LockKind::Shared || self.shared.is_empty())
    }

    fn grant(&mut self, rank: u32, kind: LockKind) {
        match kind {
            LockKind::Exclusive => self.exclusive = Some(rank),
            LockKind::Shared => _ = self.shared.insert(rank),
        }
    }

    /// Takes the lock for a rank. Returns false if the rank has to wait.
    pub(super) fn take(&mut self, rank: u32, kind: LockKind) -> bool {
        let goes_first = match kind {
            LockKind::Shared if self.overtaken < OVERTAKEN_MOST => {
                self.overtaken += u32::from(!self.queue.is_empty());
                true
            }
            _ => self.queue.is_empty(),
        };
        let is_taken = goes_first && self.is_free_for(kind);
        match is_taken {
            true => self.grant(rank, kind),
            false => self.queue.push_back((rank, kind)),
        }
        is_taken
    }

    /// Gives the lock of a rank back, which may be waiting for it, too. Returns who has it now and
    /// had to wait.
    pub(super) fn give_back(&mut self, rank: u32) -> Vec<u32> {
        self.exclusive = self.exclusive.filter(|holder| *holder != rank);
        self.shared.remove(&rank);
        let mut next = Vec::new();
        while let Some(&(rank, kind)) = self.queue.front()
            && self.is_free_for(kind)
        {
            self.queue.pop_front();
            self.overtaken = 0;
            self.grant(rank, kind);
            next.push(rank);
        }
        if !self.shared.is_empty() {
            // Those that share it now may wait for others that want to.
            let waiting = core::mem::take(&mut self.queue).into_iter();
            let (shared, others): (Vec<_>, Vec<_>) =
                waiting.partition(|(_, kind)| *kind == LockKind::Shared);
            self.queue = others.into();
            self.shared.extend(shared.iter().map(|(rank, _)| rank));
            next.extend(shared.iter().map(|(rank, _)| rank));
        }
        next
    }

    /// Forgets a rank that is lost. Returns who has the lock now and had to wait.
    pub(super) fn forget(&mut self, rank: u32) -> Vec<u32> {
        self.queue.retain(|(waiting, _)| *waiting != rank);
        self.give_back(rank)
    }

    /// A rank that has the lock.
    pub(super) fn holder(&self) -> Option<u32> {
        self.exclusive.or_else(|| self.shared.first().copied())
    }
}
