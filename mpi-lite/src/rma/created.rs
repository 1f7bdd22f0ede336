//! Windows of memory of the program whose processes share a node.
//!
//! A target that waits in MPI answers a short message sooner than the system copies to or from its
//! memory. A target that computes would answer late: then the origin does alone what it wants. Both
//! take the lock of the target for what must be atomic.

use core::sync::atomic::AtomicBool;
use core::sync::atomic::Ordering::Relaxed;

use super::far::Far;
use super::near::Near;
use super::operation::{AccessKind, Target, WindowAction};
use crate::error::Result;

/// The two ways to the memory of another process.
#[derive(Debug)]
pub(super) struct Created {
    pub(super) near: Near,
    far: Far,
    /// A message was sent.
    has_sent: AtomicBool,
}

/// Longer data is copied by the system: a message would be copied twice.
const SHORT: u64 = 2048;

impl Created {
    pub(super) fn new(near: Near, far: Far) -> Self {
        let has_sent = AtomicBool::new(false);
        Self {
            near,
            far,
            has_sent,
        }
    }

    /// Carries an operation out, or begins it.
    pub(super) fn perform(
        &self,
        what: (&WindowAction, AccessKind),
        target: &Target,
        at: i64,
    ) -> Result<()> {
        let rank = target.rank;
        let is_here = self.near.mapped(rank).is_some();
        if is_here {
            return self.near.perform(what, target, at);
        }
        if target.datatype.bytes(target.count)? <= SHORT && self.near.is_awake(rank) {
            self.has_sent.store(true, Relaxed);
            return self.far.perform(what, target, at, None);
        }
        self.perform_alone(what, target, at)
    }

    /// The same alone: it is over when this returns.
    pub(super) fn perform_alone(
        &self,
        what: (&WindowAction, AccessKind),
        target: &Target,
        at: i64,
    ) -> Result<()> {
        // Operations of a process on the same elements stay in order.
        let before = self.flush(core::iter::once(target.rank));
        self.near.perform(what, target, at).and(before)
    }

    /// Completes all operations at these targets.
    pub(super) fn flush(&self, ranks: impl Iterator<Item = u32>) -> Result<()> {
        self.near.flush();
        match self.has_sent.load(Relaxed) {
            true => self.far.flush(ranks),
            false => Ok(()),
        }
    }

    /// Completes all operations on these targets at this process.
    pub(super) fn flush_local(&self, ranks: impl Iterator<Item = u32>) -> Result<()> {
        match self.has_sent.load(Relaxed) {
            true => self.far.flush_local(ranks),
            false => Ok(()),
        }
    }

    /// Ends the port of the messages.
    pub(super) fn end(&self) {
        self.far.end();
    }
}
