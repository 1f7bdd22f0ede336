//! The launcher: `mpirun`, and its part on each host.
//!
//! ```text
//!   cli (a command line) -> job (what it means: plan, ranks, exit status) <- server (mpirun)
//!                                  |
//!             remote::link: Here(node) or There(remote) == ssh == remote::agent(node)
//!                                                   (or a connection of srun's agent)
//!                                  |
//!             node: processes, channels, output           reports: what mpirun prints and writes
//! ```
//!
//! [`wire`] says what passes between the server and a node. One thread, one `poll` per process, and
//! a thread for a moment that reads files of debug information ([`reports::stall::source`]); no
//! listening port and no network socket: whatever crosses machines goes through ssh. Only in an
//! allocation of Slurm agents connect back ([`remote::srun`]).

pub mod cli;
pub mod failure;
pub mod job;
pub mod node;
pub mod pmi;
pub mod poll;
mod process;
pub mod remote;
pub mod reports;
pub mod server;
pub mod signals;
pub mod wire;
