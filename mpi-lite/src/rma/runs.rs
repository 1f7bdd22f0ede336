//! What most operations are: one run of bytes, in memory that is mapped here, in an epoch that is
//! open. Such an operation is over when its call is, and none of its arguments is wrong. All others
//! take the long way, which also finds what is wrong.

use super::combine::{combine_runs, swap_runs};
use super::epochs::Admission;
use super::near::Near;
use super::operation::is_comparable;
use super::window::{Inner, Window};
use crate::data::{Basic, Op};
use crate::memory::Span;

/// A target: a rank, and a displacement in its units.
pub type RunAt = (u32, i64);

impl Inner {
    /// The memory of a target, if it is mapped here and may be accessed now.
    #[inline(always)]
    fn run_at(&self, (rank, displacement): RunAt, len: usize) -> Option<(&Near, Span)> {
        let near = self.means.near()?;
        let extent = self.extents.get(rank as usize)?;
        let displacement = u64::try_from(displacement).ok()?;
        let at = displacement.checked_mul(extent.unit.into())?;
        let is_within = at.checked_add(len as u64)? <= extent.size;
        let is_open = matches!(self.epochs.admit(rank), Ok(Admission::Open));
        if !is_within || !is_open {
            return None;
        }
        let place = near.mapped(rank)?.at(at.cast_signed(), len);
        Some((near, place))
    }
}

impl Window {
    /// Puts bytes at once. Returns false if nothing was done.
    #[inline(always)]
    #[must_use]
    pub fn put_run(&self, from: Span, at: RunAt) -> bool {
        let Some((_, place)) = self.inner.run_at(at, from.len()) else {
            return false;
        };
        place.copy_short(from);
        true
    }

    /// Gets bytes at once. Returns false if nothing was done.
    #[inline(always)]
    #[must_use]
    pub fn get_run(&self, to: Span, at: RunAt) -> bool {
        let Some((_, place)) = self.inner.run_at(at, to.len()) else {
            return false;
        };
        to.copy_short(place);
        true
    }

    /// Combines elements of `base` at once; what was there before goes to `old`. Returns false if
    /// nothing was done.
    #[inline(always)]
    #[must_use]
    pub fn combine_run(
        &self,
        (op, base): (&Op, Basic),
        (incoming, old): (Span, Option<Span>),
        at: RunAt,
    ) -> bool {
        // What programs count with is defined.
        let is_count = matches!(op, Op::Sum) && base.is_long_integer();
        if !is_count && op.check_accumulate(base, old.is_some()).is_err() {
            return false;
        }
        let Some((near, place)) = self.inner.run_at(at, incoming.len()) else {
            return false;
        };
        let Some(_held) = near.try_hold(at.0) else {
            return false;
        };
        combine_runs((op, base), incoming, place, old).is_ok()
    }

    /// Compares and swaps an element of four or eight bytes at once: the new one, what must be
    /// there, and where goes what was there. Returns false if nothing was done.
    #[inline(always)]
    #[must_use]
    pub fn swap_run(&self, base: Basic, [origin, compare, old]: [Span; 3], at: RunAt) -> bool {
        if !is_comparable(base) {
            return false;
        }
        let Some((near, place)) = self.inner.run_at(at, origin.len()) else {
            return false;
        };
        let Some(_held) = near.try_hold(at.0) else {
            return false;
        };
        swap_runs([origin, compare, old], place)
    }
}
