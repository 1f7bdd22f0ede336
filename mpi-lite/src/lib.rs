//! MPI's meaning in Rust; no C types. Layers, low to high; a module uses only lower ones:
//!
//! * L0 `error ids counters clock memory pool slab sync`; and `config hidden hosts machine packets`
//!   of the crate `mpi-boot`, which the launcher shares
//! * L1 `data topology`
//! * L2 `node transport boot`
//! * L3 `peers`
//! * L4 `engine`
//! * L5 `comm`
//! * L6 `coll`
//! * L7 `io rma`
//! * L8 `world`

pub mod boot;
pub mod clock;
pub mod coll;
pub mod comm;
pub mod counters;
pub mod data;
pub mod engine;
pub mod error;
pub mod ids;
pub mod io;
pub mod memory;
pub mod node;
pub mod peers;
pub mod pool;
#[cfg(test)]
mod protocol_page;
pub mod rma;
pub mod slab;
mod sync;
pub mod topology;
pub mod transport;
pub mod world;

pub use mpi_boot::{config, hidden, hosts, machine, packets};
