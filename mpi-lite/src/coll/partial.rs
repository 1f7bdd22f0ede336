//! A partial result of a reduction, in memory of our own or where the result goes.

use super::buffers::keep;
use crate::data::{Buffer, Op};
use crate::error::Result;

/// Elements that are being reduced, in the layout of their datatype.
pub(super) enum Partial<'a> {
    /// They are in memory of our own.
    Own(Buffer),
    /// They are where the result goes.
    Placed(&'a Buffer),
}

impl<'a> Partial<'a> {
    /// Room for as many elements as `like` has.
    pub(super) fn room(like: &Buffer) -> Result<Self> {
        Buffer::scratch(like.count(), like.datatype()).map(Self::Own)
    }

    /// A copy of `from`.
    pub(super) fn copy_of(from: &Buffer) -> Result<Self> {
        let partial = Self::room(from)?;
        partial.buffer().copy_from(from)?;
        Ok(partial)
    }

    /// Elements that are written to `place`, where the result goes.
    pub(super) fn at(place: &'a Buffer) -> Self {
        Self::Placed(place)
    }

    /// A copy of `from` in `place`, where it may lie already. [`Partial::settle`] ends it.
    pub(super) fn begin(from: &Buffer, place: &'a Buffer) -> Result<Self> {
        keep(from, place)?;
        Ok(Self::at(place))
    }

    /// Lays the elements into `place`, unless they are there.
    pub(super) fn settle(&self, place: &Buffer) -> Result<()> {
        match self {
            Self::Own(buffer) => place.copy_from(buffer).map(|_| ()),
            Self::Placed(_) => Ok(()),
        }
    }

    /// The elements, for a message.
    pub(super) fn buffer(&self) -> &Buffer {
        match self {
            Self::Own(buffer) => buffer,
            Self::Placed(place) => place,
        }
    }

    /// `self = left op self`.
    pub(super) fn fold_left(&mut self, left: &Self, op: &Op) -> Result<()> {
        fold(left.buffer(), self.buffer(), op)
    }

    /// `self = self op right`; `right` is overwritten.
    pub(super) fn fold_right(&mut self, right: &mut Self, op: &Op) -> Result<()> {
        if !op.is_commutative() {
            core::mem::swap(self, right);
        }
        self.fold_left(right, op)
    }
}

/// `inout = left op inout`, element by element; the two do not overlap.
pub(super) fn fold(left: &Buffer, inout: &Buffer, op: &Op) -> Result<()> {
    let (left, span) = (left.occupied()?, inout.occupied()?);
    let (count, datatype) = (inout.count(), inout.datatype());
    op.apply_to(left, span, count, datatype)
}
