//! A partial result of a reduction, in memory of our own.

use crate::data::{Buffer, Op};
use crate::error::Result;
use crate::memory::Scratch;

/// Elements that are being reduced, laid out as their datatype says.
pub(super) struct Partial {
    memory: Scratch,
    buffer: Buffer,
}

impl Partial {
    /// Room for as many elements as `like` has.
    pub(super) fn room(like: &Buffer) -> Result<Self> {
        let (memory, buffer) = Buffer::scratch(like.count(), like.datatype())?;
        Ok(Self { memory, buffer })
    }

    /// A copy of `from`.
    pub(super) fn copy_of(from: &Buffer) -> Result<Self> {
        let partial = Self::room(from)?;
        partial.buffer.copy_from(from)?;
        Ok(partial)
    }

    /// The elements, for a message.
    pub(super) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// `self = left op self`.
    pub(super) fn fold_left(&mut self, left: &Self, op: &Op) -> Result<()> {
        let (count, datatype) = (self.buffer.count(), self.buffer.datatype());
        op.apply(
            left.memory.bytes(),
            self.memory.bytes_mut(),
            count,
            datatype,
        )
    }

    /// `self = self op right`; `right` is left with something else.
    pub(super) fn fold_right(&mut self, right: &mut Self, op: &Op) -> Result<()> {
        core::mem::swap(self, right);
        self.fold_left(right, op)
    }
}
