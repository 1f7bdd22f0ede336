//! Collective operations. They use point-to-point messages in the communicator's second context.
//! Small ones of ranks that share memory use no messages (`shared`).
//!
//! Each file holds one operation: its algorithms, written against `Peers`, and its method of
//! `Communicator`. `choose` chooses the algorithms.
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
mod buffers;
mod choose;
mod exchange;
mod gather;
mod partial;
mod reduce;
mod reduce_scatter;
mod scan;
mod scatter;
mod shared;
mod tree;

pub use buffers::{Given, Input};
pub use reduce::reduce_local;

#[cfg(test)]
mod shared_tests;
#[cfg(all(test, feature = "sim"))]
mod tasks_tests;
#[cfg(test)]
mod tests;
