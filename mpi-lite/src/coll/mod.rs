//! Collective operations. They use point-to-point messages in the communicator's second context.
//! Ranks that share memory use no messages in blocking ones: small data are in a line or a payload
//! (`shared`, `exchange`), long data go in pieces (`pieces`). Decision 0078.
//!
//! Each file holds one operation: the value that names it with its arguments, and its algorithms,
//! written against `Peers`. `choose` chooses the algorithms. [`Communicator::run`],
//! [`Communicator::start`] and [`Communicator::plan`] carry an operation out.
//!
//! On several nodes a step within each node, one between them, and another one within each follow
//! one another (`levels`).
//!
//! Every process of the communicator must make the same collective calls in the same order with
//! fitting arguments.
//!
//! [`Communicator::run`]: crate::comm::Communicator::run
//! [`Communicator::start`]: crate::comm::Communicator::start
//! [`Communicator::plan`]: crate::comm::Communicator::plan
//!
//! Source: MPI 5.0, chapter 6.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod bcast;
mod between;
mod buffers;
mod choose;
mod collective;
mod exchange;
mod gather;
mod levels;
mod near;
mod neighbors;
mod partial;
mod pieces;
mod reduce;
mod reduce_scatter;
mod scan;
mod scatter;
mod shared;
mod sorting;
mod tree;
mod words;

pub use allgather::{Allgather, Allgatherv};
pub use allreduce::Allreduce;
pub use alltoall::{Alltoall, Alltoallw};
pub use barrier::Barrier;
pub(crate) use barrier::BarrierOf;
pub use bcast::Bcast;
pub use buffers::Input;
pub use collective::Collective;
pub use gather::{Gather, Gatherv};
pub use neighbors::NeighborExchange;
pub use reduce::{Reduce, reduce_local};
pub use reduce_scatter::{ReduceScatter, ReduceScatterBlock};
pub use scan::{Exscan, Scan};
pub use scatter::{Scatter, Scatterv};
pub(crate) use words::{Told, tell_all};

#[cfg(all(test, feature = "sim"))]
mod creations_tests;
#[cfg(test)]
mod misuse_tests;
#[cfg(test)]
mod nodes_tests;
#[cfg(test)]
mod shared_tests;
#[cfg(all(test, feature = "sim"))]
mod tasks_tests;
#[cfg(test)]
pub(crate) mod tests;
