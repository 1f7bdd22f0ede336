//! The launcher: `mpirun` and the compiler wrappers.
//!
//! ```text
//!   mpirun:   args -> place (hosts) -> plan -> server --- job (what it all means)
//!                                                |
//!                              link: Here(node) or There(remote) == ssh == agent(node)
//!                                                     (or a connection of srun's agent)
//!                                                                              |
//!                                                       node: processes, channels, output
//! ```
//!
//! [`wire`] says what passes between the server and a node. One thread, one `poll` per process, and
//! a thread for a moment that reads files of debug information ([`stall::source`]); no listening
//! port and no network socket: whatever crosses machines goes through ssh. Only in an allocation of
//! Slurm agents connect back ([`remote::srun`]).

pub mod address;
pub mod agent;
pub mod allocation;
pub mod args;
pub mod binding;
pub mod contradiction;
pub mod cores;
pub mod datagrams;
pub mod elf;
pub mod environment;
pub mod failure;
pub mod foreign;
pub mod group;
pub mod guard;
pub mod help;
mod home;
pub mod hosts;
pub mod info;
pub mod input;
pub mod job;
pub mod link;
mod machine;
mod mapping;
mod mca;
pub mod nearest;
pub mod network;
pub mod node;
pub mod options;
pub mod other_mpi;
pub mod output;
pub mod packets;
pub mod part;
pub mod passage;
pub mod phase;
pub mod place;
pub mod plan;
pub mod pmi;
pub mod poll;
pub mod preload;
mod process;
pub mod program;
pub mod programs;
pub mod progress;
pub mod rank_files;
pub mod remote;
mod result_file;
mod results;
pub mod server;
pub mod settings;
pub mod signals;
pub mod silence;
pub mod stall;
pub mod stamp;
pub mod stats;
mod times;
mod tree;
pub mod verbose;
pub mod wire;
pub mod wrapper;
