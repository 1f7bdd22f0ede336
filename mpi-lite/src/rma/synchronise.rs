//! The calls that open and close epochs. Source: MPI 5.0, 12.5.

use super::create::{FENCE, FREE};
use super::epochs::LockKind;
use super::errors::{out_of_turn, wrong};
use super::extent::Flavor;
use super::window::{Inner, Window};
use crate::comm::Group;
use crate::error::{Class, Result};

/// What the program asserts. Two change what a call does: `no_succeed` in a fence, and `no_check`
/// in the start of accesses to a shared window. Source: MPI 5.0, 12.5.5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assertions {
    /// No lock or post has to be waited for.
    pub no_check: bool,
    /// The memory was not changed by stores of this process since the last call.
    pub no_store: bool,
    /// No put or accumulate changes it before the next one.
    pub no_put: bool,
    /// No operation of this process comes before the fence.
    pub no_precede: bool,
    /// No operation follows.
    pub no_succeed: bool,
}

/// Fences, and groups of processes.
impl Window {
    /// Ends the operations of all processes since the last fence, and begins an epoch. Collective.
    ///
    /// # Errors
    /// `RmaSync`: another epoch is open. Those of the operations; `Lost`.
    ///
    /// Source: MPI 5.0, 12.5.1.
    pub fn fence(&self, assertions: Assertions) -> Result<()> {
        let inner = &*self.inner;
        inner.epochs.check_closed("MPI_Win_fence")?;
        if inner.epochs.groups().posted.is_some() {
            return Err(out_of_turn(
                "an epoch of MPI_Win_post is open: call MPI_Win_wait before MPI_Win_fence",
            ));
        }
        // Those after a failure come as well: the others must not wait for ever.
        let flushed = inner.means.flush(inner.ranks());
        inner.communicator.run(&FENCE)?;
        inner.epochs.fence(!assertions.no_succeed);
        flushed
    }

    /// Lets the processes of `group` access the memory of this one.
    ///
    /// # Errors
    /// `RmaSync`: it is exposed already. `Group`; `Lost`.
    ///
    /// Source: MPI 5.0, 12.5.2.
    pub fn post(&self, group: &Group, _: Assertions) -> Result<()> {
        let inner = &*self.inner;
        let ranks = inner.ranks_of(group)?;
        if inner.epochs.groups().posted.is_some() {
            return Err(out_of_turn(
                "an epoch of MPI_Win_post is open: call MPI_Win_wait before MPI_Win_post",
            ));
        }
        inner.means.post(&ranks)?;
        inner.epochs.groups().posted = Some(ranks);
        Ok(())
    }

    /// Begins an access epoch for the processes of `group`. An operation waits for the post of its
    /// target. In a shared window this call waits for all: the program may load and store.
    ///
    /// # Errors
    /// `RmaSync`: another epoch is open. `Group`.
    ///
    /// Source: MPI 5.0, 12.5.2.
    pub fn start(&self, group: &Group, assertions: Assertions) -> Result<()> {
        let inner = &*self.inner;
        let ranks = inner.ranks_of(group)?;
        inner.epochs.check_closed("MPI_Win_start")?;
        inner.epochs.begin_access(ranks.clone());
        let is_shared = inner.flavor == Flavor::Shared && !assertions.no_check;
        let mut awaited = ranks.into_iter().filter(|_| is_shared);
        awaited.try_for_each(|rank| inner.await_post(rank))
    }

    /// Ends the access epoch: all its operations are over at this process.
    ///
    /// # Errors
    /// `RmaSync`: there is none. Those of the operations; `Lost`.
    ///
    /// Source: MPI 5.0, 12.5.2.
    pub fn complete(&self) -> Result<()> {
        let inner = &*self.inner;
        let ranks = inner.epochs.started()?;
        for &rank in &ranks {
            inner.await_post(rank)?;
        }
        let completed = inner.means.complete(&ranks);
        inner.epochs.end_access();
        completed
    }

    /// Waits until the processes to which this one posted have completed their accesses.
    ///
    /// # Errors
    /// `RmaSync`: it has not posted. `Lost`.
    ///
    /// Source: MPI 5.0, 12.5.2.
    pub fn wait(&self) -> Result<()> {
        let inner = &*self.inner;
        let ranks = inner.posted()?;
        inner.means.wait(&ranks)?;
        inner.epochs.groups().posted = None;
        Ok(())
    }

    /// Returns true if [`Window::wait`] would not wait; the epoch is over then.
    ///
    /// # Errors
    /// As [`Window::wait`].
    ///
    /// Source: MPI 5.0, 12.5.2.
    pub fn test(&self) -> Result<bool> {
        let inner = &*self.inner;
        let ranks = inner.posted()?;
        let is_over = inner.means.test(&ranks)?;
        if is_over {
            inner.epochs.groups().posted = None;
        }
        Ok(is_over)
    }
}

/// Locks.
impl Window {
    /// Locks a target.
    ///
    /// # Errors
    /// `RmaSync`: it is locked by this process, or another epoch is open. `Rank`; `Lost`.
    ///
    /// Source: MPI 5.0, 12.5.3.
    #[inline]
    pub fn lock(&self, kind: LockKind, rank: u32, _: Assertions) -> Result<()> {
        let inner = &*self.inner;
        inner.check_rank(rank)?;
        inner.epochs.check_unlocked(rank)?;
        inner.means.lock(rank, kind)?;
        inner.epochs.note_lock(rank, kind);
        Ok(())
    }

    /// Completes the operations on a target, here and there, and unlocks it.
    ///
    /// # Errors
    /// `RmaSync`: it is not locked. Those of the operations; `Lost`.
    ///
    /// Source: MPI 5.0, 12.5.3.
    #[inline]
    pub fn unlock(&self, rank: u32) -> Result<()> {
        let inner = &*self.inner;
        inner.check_rank(rank)?;
        let kind = inner.epochs.locked(rank)?;
        if inner.epochs.has_locked_all() {
            return Err(out_of_turn(
                "MPI_Win_lock_all has locked the ranks of the window: call MPI_Win_unlock_all",
            ));
        }
        let unlocked = inner.means.unlock(&[rank], kind);
        inner.epochs.note_unlock(rank);
        unlocked
    }

    /// Locks all processes, shared. Not collective.
    ///
    /// # Errors
    /// `RmaSync`: another epoch is open. `Lost`.
    ///
    /// Source: MPI 5.0, 12.5.3.
    pub fn lock_all(&self, _: Assertions) -> Result<()> {
        let inner = &*self.inner;
        inner.epochs.check_closed("MPI_Win_lock_all")?;
        inner.means.lock_all(inner.extents.len() as u32)?;
        inner.epochs.note_lock_all(true);
        Ok(())
    }

    /// Completes all operations, and unlocks all processes.
    ///
    /// # Errors
    /// `RmaSync`: [`Window::lock_all`] was not called. Those of the operations; `Lost`.
    ///
    /// Source: MPI 5.0, 12.5.3.
    pub fn unlock_all(&self) -> Result<()> {
        let inner = &*self.inner;
        if !inner.epochs.has_locked_all() {
            let why = "the window is not locked by MPI_Win_lock_all";
            return Err(out_of_turn(why));
        }
        let all: Vec<u32> = inner.ranks().collect();
        let unlocked = inner.means.unlock(&all, LockKind::Shared);
        inner.epochs.note_lock_all(false);
        unlocked
    }

    /// Completes the operations on a target, here and there.
    ///
    /// # Errors
    /// `RmaSync`: it is not locked. Those of the operations; `Rank`; `Lost`.
    ///
    /// Source: MPI 5.0, 12.5.4.
    #[inline]
    pub fn flush(&self, rank: u32) -> Result<()> {
        let inner = &*self.inner;
        inner.check_rank(rank)?;
        inner.epochs.locked(rank)?;
        inner.means.flush(core::iter::once(rank))
    }

    /// Completes all operations, here and at their targets.
    ///
    /// # Errors
    /// As [`Window::flush`].
    ///
    /// Source: MPI 5.0, 12.5.4.
    pub fn flush_all(&self) -> Result<()> {
        let inner = &*self.inner;
        inner.check_any_lock()?;
        inner.means.flush(inner.ranks())
    }

    /// Completes the operations on a target at this process.
    ///
    /// # Errors
    /// As [`Window::flush`].
    ///
    /// Source: MPI 5.0, 12.5.4.
    pub fn flush_local(&self, rank: u32) -> Result<()> {
        let inner = &*self.inner;
        inner.check_rank(rank)?;
        inner.epochs.locked(rank)?;
        inner.means.flush_local(core::iter::once(rank))
    }

    /// Completes all operations at this process.
    ///
    /// # Errors
    /// As [`Window::flush`].
    ///
    /// Source: MPI 5.0, 12.5.4.
    pub fn flush_local_all(&self) -> Result<()> {
        let inner = &*self.inner;
        inner.check_any_lock()?;
        inner.means.flush_local(inner.ranks())
    }

    /// Orders the loads and stores of the program before this call with those after it. The memory
    /// is one for all (`MPI_WIN_UNIFIED`). Operations that were begun go on, since a program may
    /// call this in a loop until its memory changes.
    ///
    /// # Errors
    /// `Lost`.
    ///
    /// Source: MPI 5.0, 12.5.4.
    pub fn sync(&self) -> Result<()> {
        self.inner.means.sync()
    }
}

impl Inner {
    pub(super) fn ranks(&self) -> core::ops::Range<u32> {
        0..self.extents.len() as u32
    }

    /// The ranks of the processes of a group.
    fn ranks_of(&self, group: &Group) -> Result<Vec<u32>> {
        let own = self.communicator.group();
        let rank = |member| {
            own.rank_of(member).ok_or_else(|| {
                let why = "a process of the group is none of the window";
                wrong(Class::Group, why)
            })
        };
        group.members().iter().map(|&member| rank(member)).collect()
    }

    fn posted(&self) -> Result<Vec<u32>> {
        let posted = self.epochs.groups().posted.clone();
        posted.ok_or_else(|| out_of_turn("no epoch of MPI_Win_post is open"))
    }

    fn check_any_lock(&self) -> Result<()> {
        let is_locked = self.epochs.has_locked_all() || self.epochs.locks().next().is_some();
        match is_locked {
            true => Ok(()),
            false => Err(out_of_turn(
                "no rank of the window is locked: call MPI_Win_lock or MPI_Win_lock_all before",
            )),
        }
    }
}

/// The end of a window: see [`Window::free`].
impl Window {
    /// Checks that the window may be freed: no epoch is open here.
    ///
    /// # Errors
    /// `RmaSync`.
    pub fn check_free(&self) -> Result<()> {
        let epochs = &self.inner.epochs;
        // A fence may be the last call before.
        if epochs.has_locked_all() || epochs.locks().next().is_some() {
            return epochs.check_closed("MPI_Win_free");
        }
        let groups = epochs.groups();
        match (&groups.started, &groups.posted) {
            (Some(_), _) => Err(out_of_turn(
                "an epoch of MPI_Win_start is open: call MPI_Win_complete before MPI_Win_free",
            )),
            (_, Some(_)) => Err(out_of_turn(
                "an epoch of MPI_Win_post is open: call MPI_Win_wait before MPI_Win_free",
            )),
            _ => Ok(()),
        }
    }

    /// Ends the window, once nobody needs it any more. Collective.
    ///
    /// # Errors
    /// As [`Window::check_free`]; those of operations that were not completed; `Lost`.
    ///
    /// Source: MPI 5.0, 12.2.5.
    pub fn free(self) -> Result<()> {
        self.check_free()?;
        let inner = &*self.inner;
        let flushed = inner.means.flush(inner.ranks());
        let ended = inner.communicator.run(&FREE);
        inner.means.end();
        if ended.is_ok() {
            inner.memory.end(inner.communicator.engine());
        }
        flushed.and(ended)
    }
}
