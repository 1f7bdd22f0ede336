//! What the tests against an installed mpi-lite share: where the installation is, how a C program
//! is compiled with its `mpicc`, how a job is run under a deadline, what `/proc` knows about it.
//!
//! The installation is named by `MPILITE_PREFIX`; `make test` installs and sets it. A test that
//! cannot find what it needs fails and says what is missing; none is skipped.

mod compile;
pub mod guide;
mod install;
mod job;
mod process;
mod program;
mod roll;
mod scratch;
mod slurm;
mod ssh;
pub mod tidy;
pub mod wire;

pub use compile::{build, build_with, compile};
pub use install::{c_source, prefix, source_root, tool};
pub use job::{Job, Outcome, Running};
pub use process::{Process, SOON, udp_ports, wait_until_gone};
pub use program::{Exit, Program, programs};
pub use roll::hosts_of_ranks;
pub use scratch::Scratch;
pub use slurm::{NODES, Slurm};
pub use ssh::{SshFiles, SshServer};
