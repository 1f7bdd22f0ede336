//! Collective operations: over point-to-point messages in the communicator's second context, and
//! small ones of ranks that share memory without messages (`meeting`).
//!
//! Each file holds one operation: its algorithms, written against `Peers`, and its method of
//! `Communicator`. `choose` says which algorithm is taken when.
//!
//! Every process of the communicator must make the same collective calls in the same order with
//! fitting arguments. A call returns when this process's part is done.
//!
//! Source: MPI 5.0, chapter 6.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod bcast;
mod choose;
mod exchange;
mod gather;
mod meeting;
mod partial;
mod reduce;
mod reduce_scatter;
mod scan;
mod scatter;

pub use reduce::reduce_local;

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
    fn check(&self) -> Result<()> {
        match self {
            Self::Buffer(buffer) => buffer.check().map(|_| ()),
            Self::InPlace => Ok(()),
        }
    }

    /// The buffer, or `place`.
    fn or(&self, place: &Buffer) -> Buffer {
        match self {
            Self::Buffer(buffer) => buffer.clone(),
            Self::InPlace => place.clone(),
        }
    }

    /// The buffer, where `MPI_IN_PLACE` has no meaning.
    fn required(&self) -> Result<&Buffer> {
        match self {
            Self::Buffer(buffer) => Ok(buffer),
            Self::InPlace => Err(Cause::Argument("MPI_IN_PLACE is only for the root here").into()),
        }
    }
}

/// The argument that only the root gives.
fn at_root<T>(argument: Option<T>) -> Result<T> {
    let why = "the root must give a buffer for all processes";
    argument.ok_or_else(|| Cause::Argument(why).into())
}

/// One buffer per process, as the calls with counts per process need.
fn one_per_process(buffers: &[Buffer], size: usize) -> Result<&[Buffer]> {
    if buffers.len() != size {
        return Err(Cause::Argument("there must be one buffer per process").into());
    }
    buffers
        .iter()
        .try_for_each(|buffer| buffer.check().map(|_| ()))?;
    Ok(buffers)
}

/// The parts of `all`, `all.count()` elements for each of `size` processes, in rank order.
fn parts(all: &Buffer, size: usize) -> Result<Vec<Buffer>> {
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

#[cfg(test)]
mod meeting_tests;
#[cfg(all(test, feature = "sim"))]
mod tasks_tests;
#[cfg(test)]
mod tests;
