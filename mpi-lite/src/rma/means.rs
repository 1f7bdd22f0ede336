//! The means of a window, and what synchronisation asks of them.

use super::created::Created;
use super::epochs::LockKind;
use super::far::Far;
use super::near::Near;
use crate::error::Result;

/// How operations reach their targets.
#[derive(Debug)]
pub(super) enum Means {
    /// All processes map the memory.
    Near(Near),
    /// All processes share a node: locks and counts are near, operations both.
    Created(Created),
    /// By messages.
    Far(Far),
}

/// Where locks and counts are.
enum Words<'a> {
    Near(&'a Near),
    Far(&'a Far),
}

impl Means {
    /// The words that the processes share, if they do.
    #[inline(always)]
    pub(super) fn near(&self) -> Option<&Near> {
        match self {
            Self::Near(near) => Some(near),
            Self::Created(created) => Some(&created.near),
            Self::Far(_) => None,
        }
    }

    #[inline(always)]
    fn words(&self) -> Words<'_> {
        match self {
            Self::Near(near) => Words::Near(near),
            Self::Created(created) => Words::Near(&created.near),
            Self::Far(far) => Words::Far(far),
        }
    }

    /// Locks a target. It may be that the lock is only taken with the first operation.
    #[inline]
    pub(super) fn lock(&self, rank: u32, kind: LockKind) -> Result<()> {
        match self.words() {
            Words::Near(near) => near.lock(rank, kind),
            Words::Far(far) => far.lock(&[rank], kind),
        }
    }

    /// Locks all targets, shared.
    pub(super) fn lock_all(&self, size: u32) -> Result<()> {
        match self.words() {
            Words::Near(near) => {
                for rank in 0..size {
                    if let Err(error) = near.lock(rank, LockKind::Shared) {
                        (0..rank).for_each(|rank| near.unlock(rank, LockKind::Shared));
                        return Err(error);
                    }
                }
                Ok(())
            }
            Words::Far(far) => {
                let all: Vec<u32> = (0..size).collect();
                far.lock(&all, LockKind::Shared)
            }
        }
    }

    /// Completes all operations at these targets, and unlocks them.
    #[inline]
    pub(super) fn unlock(&self, ranks: &[u32], kind: LockKind) -> Result<()> {
        match self.words() {
            Words::Near(near) => {
                let flushed = match self {
                    Self::Created(created) => created.flush(ranks.iter().copied()),
                    _ => Ok(()),
                };
                ranks.iter().for_each(|&rank| near.unlock(rank, kind));
                flushed
            }
            Words::Far(far) => far.unlock(ranks),
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
            Self::Created(created) => created.flush(ranks),
            Self::Far(far) => far.flush(ranks),
        }
    }

    /// Completes all operations on these targets at this process.
    #[inline]
    pub(super) fn flush_local(&self, ranks: impl Iterator<Item = u32>) -> Result<()> {
        match self {
            Self::Near(_) => Ok(()),
            Self::Created(created) => created.flush_local(ranks),
            Self::Far(far) => far.flush_local(ranks),
        }
    }

    /// Tells these ranks that they may access the memory of this process.
    pub(super) fn post(&self, ranks: &[u32]) -> Result<()> {
        match self.words() {
            Words::Near(near) => {
                near.post(ranks);
                Ok(())
            }
            Words::Far(far) => far.post(ranks),
        }
    }

    /// Waits for the post of a target.
    pub(super) fn await_post(&self, rank: u32) -> Result<()> {
        match self.words() {
            Words::Near(near) => near.await_post(rank),
            Words::Far(far) => far.await_post(rank),
        }
    }

    /// Completes all operations at these targets, which have posted, and tells them so.
    pub(super) fn complete(&self, ranks: &[u32]) -> Result<()> {
        match self.words() {
            Words::Near(near) => {
                let flushed = self.flush(ranks.iter().copied());
                near.complete(ranks);
                flushed
            }
            Words::Far(far) => far.complete(ranks),
        }
    }

    /// Waits until these ranks have completed what they did here, once each.
    pub(super) fn wait(&self, ranks: &[u32]) -> Result<()> {
        match self.words() {
            Words::Near(near) => near.wait(ranks),
            Words::Far(far) => far.wait(ranks),
        }
    }

    /// Returns true if they have, without waiting.
    pub(super) fn test(&self, ranks: &[u32]) -> Result<bool> {
        match self.words() {
            Words::Near(near) => near.test(ranks),
            Words::Far(far) => far.test(ranks),
        }
    }

    /// Ends what the window has opened. All processes have come.
    pub(super) fn end(&self) {
        match self {
            Self::Near(_) => {}
            Self::Created(created) => created.end(),
            Self::Far(far) => far.end(),
        }
    }
}
