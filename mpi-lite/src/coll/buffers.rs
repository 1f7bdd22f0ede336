//! What collectives do with the program's buffers.

use crate::data::Buffer;
use crate::error::{Cause, Result};

/// What a process gives to a collective.
#[derive(Clone, Debug)]
pub enum Input {
    /// The elements in a buffer of their own.
    Buffer(Buffer),
    /// `MPI_IN_PLACE`: they lie where the result goes.
    InPlace,
}

impl Input {
    /// Checks the buffer, if there is one.
    pub(super) fn check(&self) -> Result<()> {
        match self {
            Self::Buffer(buffer) => buffer.check().map(|_| ()),
            Self::InPlace => Ok(()),
        }
    }

    /// The buffer, or `place`.
    pub(super) fn or(&self, place: &Buffer) -> Buffer {
        match self {
            Self::Buffer(buffer) => buffer.clone(),
            Self::InPlace => place.clone(),
        }
    }

    /// The buffer, where `MPI_IN_PLACE` has no meaning.
    pub(super) fn required(&self) -> Result<&Buffer> {
        match self {
            Self::Buffer(buffer) => Ok(buffer),
            Self::InPlace => Err(Cause::Argument("MPI_IN_PLACE is only for the root here").into()),
        }
    }
}

/// The argument that only the root gives.
pub(super) fn at_root<T>(argument: Option<T>) -> Result<T> {
    let why = "the root must give a buffer for all processes";
    argument.ok_or_else(|| Cause::Argument(why).into())
}

/// One buffer per process, as the calls with counts per process need.
pub(super) fn one_per_process(buffers: &[Buffer], size: usize) -> Result<&[Buffer]> {
    if buffers.len() != size {
        return Err(Cause::Argument("there must be one buffer per process").into());
    }
    buffers
        .iter()
        .try_for_each(|buffer| buffer.check().map(|_| ()))?;
    Ok(buffers)
}

/// The parts of `all`, `all.count()` elements for each of `size` processes, in rank order.
pub(super) fn parts(all: &Buffer, size: usize) -> Result<Vec<Buffer>> {
    let count = all.count();
    let total = count.checked_mul(size as u64).ok_or(Cause::Count {
        count,
        size: all.datatype().size(),
    })?;
    all.part(0, total).check()?;
    Ok((0..size as u64)
        .map(|rank| all.part((rank * count) as i64, count))
        .collect())
}

/// `whole` in `size` parts whose lengths differ by one element at most.
pub(super) fn split(whole: &Buffer, size: usize) -> Vec<Buffer> {
    let (count, size) = (whole.count(), size as u64);
    // `count * index / size` without overflow.
    let start = |index: u64| count / size * index + count % size * index / size;
    (0..size)
        .map(|index| whole.part(start(index) as i64, start(index + 1) - start(index)))
        .collect()
}

/// Moves the root's own block, unless it is in place already.
pub(super) fn keep(own: &Buffer, place: &Buffer) -> Result<()> {
    let in_place = own.origin().addr() == place.origin().addr()
        && own.count() == place.count()
        && own.datatype().is_same(place.datatype());
    if !in_place {
        place.copy_from(own)?;
    }
    Ok(())
}

/// Unpacks a block into its place.
pub(super) fn lay_down(place: &Buffer, bytes: &[u8]) -> Result<()> {
    let (len, room) = (bytes.len() as u64, place.bytes()?);
    if len > room {
        return Err(Cause::Truncate { len, room }.into());
    }
    place.unpack(bytes);
    Ok(())
}

/// Checks that what is reduced and the result have as many elements.
pub(super) fn check_counts(send: &Buffer, receive: &Buffer) -> Result<()> {
    if send.count() != receive.count() {
        let why = "a reduction has as many results as elements";
        return Err(Cause::Argument(why).into());
    }
    Ok(())
}
