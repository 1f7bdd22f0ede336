//! The C surface of mpi-lite: the MPI 5.0 standard ABI.
//!
//! C arguments become checked values ([`entry`], [`args`]), a chapter's body calls `mpi-lite`
//! ([`chapters`]), and an error goes to the error handler in charge ([`raise`]). The shared
//! library exports every function of the standard as `MPI_` and `PMPI_`, and nothing else.

pub mod abi;
pub mod args;
pub mod callback;
pub mod calls;
pub mod chapters;
pub mod codes;
pub mod declaration;
pub mod describe;
pub mod entry;
pub mod error;
pub mod event_types;
pub mod events;
mod forks;
pub mod global;
pub mod handle;
pub mod header;
pub mod lifetime;
pub mod missing;
pub mod mpich;
pub mod object;
pub mod objects;
pub mod panic;
pub mod python;
pub mod raise;
pub mod registry;
pub mod stack;
pub mod stdio;
pub mod symbol;
pub mod variables;
