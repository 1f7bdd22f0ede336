//! The means of a window, and what synchronisation asks of them.

use core::sync::atomic::Ordering::SeqCst;

use super::epochs::LockKind;
use super::far::Far;
use super::near::Near;
use crate::error::Result;
use crate::sync::fence;

/// How operations reach their targets.
#[derive(Debug)]
pub(super) enum Means {
    /// All processes share memory.
    Near(Near),
    /// By messages.
    Far(Far),
}

impl Means {
    /// The words that the processes share, if they do.
    #[inline(always)]
    pub(super) fn near(&self) -> Option<&Near> {
        match self {
            Self::Near(near) => Some(near),
            Self::Far(_) => None,
        }
    }

    /// Locks a target. It may be that the lock is only taken with the first operation.
    #[inline]
    pub(super) fn lock(&self, rank: u32, kind: LockKind) -> Result<()> {
        match self {
            Self::Near(near) => near.lock(rank, kind),
            Self::Far(far) => far.lock(&[rank], kind),
        }
    }

    /// Locks all targets, shared.
    pub(super) fn lock_all(&self, size: u32) -> Result<()> {
        match self {
            Self::Near(near) => {
                for rank in 0..size {
                    if let Err(error) = near.lock(rank, LockKind::Shared) {
                        (0..rank).for_each(|rank| near.unlock(rank, LockKind::Shared));
                        return Err(error);
                    }
                }
                Ok(())
            }
            Self::Far(far) => {
                let all: Vec<u32> = (0..size).collect();
                far.lock(&all, LockKind::Shared)
            }
        }
    }

    /// Completes all operations at these targets, and unlocks them.
    #[inline]
    pub(super) fn unlock(&self, ranks: &[u32], kind: LockKind) -> Result<()> {
        match self {
            Self::Near(near) => {
                ranks.iter().for_each(|&rank| near.unlock(rank, kind));
                Ok(())
            }
            Self::Far(far) => far.unlock(ranks),
        }
    }

    /// Completes all operations at these targets.
    #[inline]
    pub(super) fn flush(&self, ranks: impl Iterator<Item = u32>) -> Result<()> {
        match self {
            Self::Near(near) => {
                near.flush();
                Ok(())
            }
            Self::Far(far) => far.flush(ranks),
        }
    }

    /// Completes all operations on these targets at this process.
    #[inline]
    pub(super) fn flush_local(&self, ranks: impl Iterator<Item = u32>) -> Result<()> {
        match self {
            Self::Near(_) => Ok(()),
            Self::Far(far) => far.flush_local(ranks),
        }
    }

    /// Orders loads and stores of the program. What waits to be sent leaves.
    pub(super) fn sync(&self) -> Result<()> {
        fence(SeqCst);
        match self {
            Self::Near(_) => Ok(()),
            Self::Far(far) => far.sync(),
        }
    }

    /// Tells these ranks that they may access the memory of this process.
    pub(super) fn post(&self, ranks: &[u32]) -> Result<()> {
        match self {
            Self::Near(near) => {
                near.post(ranks);
                Ok(())
            }
            Self::Far(far) => far.post(ranks),
        }
    }

    /// Waits for the post of a target.
    pub(super) fn await_post(&self, rank: u32) -> Result<()> {
        match self {
            Self::Near(near) => near.await_post(rank),
            Self::Far(far) => far.await_post(rank),
        }
    }

    /// Completes all operations at these targets, which have posted, and tells them so.
    pub(super) fn complete(&self, ranks: &[u32]) -> Result<()> {
        match self {
            Self::Near(near) => {
                near.complete(ranks);
                Ok(())
            }
            Self::Far(far) => far.complete(ranks),
        }
    }

    /// Waits until these ranks have completed what they did here, once each.
    pub(super) fn wait(&self, ranks: &[u32]) -> Result<()> {
        match self {
            Self::Near(near) => near.wait(ranks),
            Self::Far(far) => far.wait(ranks),
        }
    }

    /// Returns true if they have, without waiting.
    pub(super) fn test(&self, ranks: &[u32]) -> Result<bool> {
        match self {
            Self::Near(near) => near.test(ranks),
            Self::Far(far) => far.test(ranks),
        }
    }

    /// Ends what the window has opened. All processes have come.
    pub(super) fn end(&self) {
        match self {
            Self::Near(_) => {}
            Self::Far(far) => far.end(),
        }
    }
}
