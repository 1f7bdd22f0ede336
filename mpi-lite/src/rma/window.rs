//! A window.

use core::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use super::attached::SharedAttached;
use super::epochs::{Admission, Epochs};
use super::errors::wrong;
use super::extent::{Extent, Flavor};
use super::hints::Hints;
use super::means::Means;
use super::memory::Memory;
use super::operation::{Target, WindowAction};
use super::title::Title;
use crate::comm::Communicator;
use crate::engine::Request;
use crate::error::{Cause, Class, Result};

/// A window. Clones are the same window.
#[derive(Clone, Debug)]
pub struct Window {
    pub(super) inner: Arc<Inner>,
}

/// What a window has from its creation to its end.
pub(super) struct Inner {
    pub(super) communicator: Communicator,
    pub(super) flavor: Flavor,
    /// By rank.
    pub(super) extents: Box<[Extent]>,
    pub(super) epochs: Epochs,
    pub(super) means: Means,
    /// After what uses it.
    pub(super) memory: Memory,
    pub(super) attached: SharedAttached,
    pub(super) hints: Mutex<Hints>,
    pub(super) title: Title,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Window");
        shown.field("title", &self.title).finish_non_exhaustive()
    }
}

impl Inner {
    /// Checks that a rank is one of the window.
    #[inline]
    pub(super) fn check_rank(&self, rank: u32) -> Result<()> {
        if (rank as usize) < self.extents.len() {
            return Ok(());
        }
        let size = self.extents.len() as u32;
        let (what, rank) = ("rank", rank.cast_signed());
        Err(Cause::Rank { what, rank, size }.into())
    }

    /// Where displacement 0 of the target's datatype lies, in bytes from the start of its memory.
    ///
    /// # Errors
    /// `RmaRange`: the data lies outside of it. `Disp`.
    #[inline]
    pub(super) fn locate(&self, target: &Target) -> Result<i64> {
        let Extent { size, unit } = self.extents[target.rank as usize];
        let at = target.displacement.wrapping_mul(i64::from(unit));
        let (first, len) = match target.datatype.has_no_gaps() {
            true => (0, target.datatype.bytes(target.count)?),
            false => {
                let (first, len) = target.datatype.occupied(target.count)?;
                (first, len as u64)
            }
        };
        let start = at.wrapping_add(first);
        let end = start.cast_unsigned().saturating_add(len);
        if start >= 0 && end <= size && target.displacement <= i64::MAX / i64::from(unit) {
            return Ok(at);
        }
        match len {
            0 => Ok(0),
            _ => Err(self.beyond(target, (first, len))),
        }
    }

    #[cold]
    fn beyond(&self, target: &Target, (first, len): (i64, u64)) -> crate::error::Error {
        let Extent { size, unit } = self.extents[target.rank as usize];
        let &Target {
            rank, displacement, ..
        } = target;
        let start = i128::from(displacement) * i128::from(unit) + i128::from(first);
        let why = format!(
            "rank {rank} gave {size} bytes to the window, and displacement {displacement} (in \
             units of {unit} bytes) with this datatype reaches from byte {start} to {}",
            start + i128::from(len)
        );
        wrong(Class::RmaRange, why)
    }

    /// Admits an operation: waits for the target's post if it needs one.
    #[inline]
    fn admit(&self, rank: u32) -> Result<()> {
        self.check_rank(rank)?;
        match self.epochs.admit(rank)? {
            Admission::Open => Ok(()),
            Admission::AwaitsPost => self.await_post(rank),
        }
    }

    /// Waits until a target of the access epoch has posted.
    #[cold]
    pub(super) fn await_post(&self, rank: u32) -> Result<()> {
        self.epochs.await_post(rank, || self.means.await_post(rank))
    }
}

/// Operations.
impl Window {
    /// Begins an operation. It is over at the latest when the epoch ends.
    ///
    /// # Errors
    /// `Rank`; `RmaSync`: no epoch is open for the target; those of its arguments: `Type`, `Op`,
    /// `Truncate`, `RmaRange`, `Count`, `Buffer`; `Lost`.
    ///
    /// Source: MPI 5.0, 12.3.
    #[inline]
    pub fn perform(&self, action: &WindowAction, target: &Target) -> Result<()> {
        let inner = &*self.inner;
        inner.admit(target.rank)?;
        let access = action.check(target)?;
        match &inner.means {
            Means::Near(near) => near.perform((action, access), target, inner.locate(target)?),
            Means::Far(far) => {
                let at = inner.locate_far(target)?;
                far.perform((action, access), target, at, None)
            }
        }
    }

    /// Begins an operation that a request completes: at this process, not at the target.
    ///
    /// # Errors
    /// As [`Window::perform`]; also `RmaSync` if the target is not locked.
    ///
    /// Source: MPI 5.0, 12.3.5.
    pub fn start_operation(&self, action: &WindowAction, target: &Target) -> Result<Request> {
        let inner = &*self.inner;
        inner.check_rank(target.rank)?;
        inner.epochs.locked(target.rank)?;
        let access = action.check(target)?;
        let context = inner.communicator.context().window();
        let engine = inner.communicator.engine();
        match &inner.means {
            Means::Near(near) => {
                near.perform((action, access), target, inner.locate(target)?)?;
                Ok(engine.with(|lane| lane.finished_operation(context)))
            }
            Means::Far(far) => {
                let at = inner.locate_far(target)?;
                let request = engine.with(|lane| lane.open_operation(context));
                let begun = far.perform((action, access), target, at, Some(request));
                if let Err(error) = begun {
                    engine.with(|lane| {
                        lane.finish_operation(request, Some(error.clone()));
                        // The call fails, so there is no request.
                        lane.free(request)
                    })?;
                    return Err(error);
                }
                Ok(request)
            }
        }
    }
}

impl Inner {
    /// Where an operation by messages works: in a dynamic window the target finds that out.
    fn locate_far(&self, target: &Target) -> Result<i64> {
        if self.flavor != Flavor::Dynamic {
            return self.locate(target);
        }
        if target.rank == self.communicator.rank() {
            self.attached.lock().check(target)?;
        }
        Ok(target.displacement)
    }
}
