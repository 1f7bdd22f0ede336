//! The C surface of mpi-lite: the MPI 5.0 standard ABI.
//!
//! C arguments become checked values ([`entry`], [`args`]), a chapter's body calls `mpi-lite`
//! ([`chapters`]), and an error goes to the error handler in charge ([`raise`]). The shared
//! library exports every function of the standard as `MPI_` and `PMPI_`, and nothing else.

pub mod abi;
pub mod args;
pub mod arrays;
pub mod attached;
pub mod attributes;
pub mod buffers;
pub mod callbacks;
pub mod chapters;
pub mod codes;
pub mod comm;
pub mod describe;
pub mod entry;
pub mod errhandler;
pub mod error;
pub mod event_types;
pub mod events;
pub mod external;
pub mod generalized;
pub mod global;
pub mod grids;
pub mod handle;
pub mod header;
pub mod info;
pub mod lifetime;
pub mod memory;
pub mod object;
pub mod objects;
pub mod panic;
pub mod python;
pub mod raise;
pub mod recipe;
pub mod record;
pub mod reduce;
pub mod registry;
pub mod request;
pub mod session;
pub mod stack;
pub mod status;
pub mod stdio;
pub mod text;
pub mod tools;
pub mod types;
pub mod variables;
pub mod win;
