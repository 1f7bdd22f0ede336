//! Nodes on other hosts.
//!
//! The remote command is fixed: our own path and `--agent`. Everything else (program, arguments,
//! environment, key) goes as frames through the connection, so no shell ever sees it.
//!
//! * [`Remote`]: the node, however its agent is reached; [`link`]: one of these, or our own.
//! * [`agent`]: the other end, with `relay`, through which hosts below it are reached.
//! * [`settings`]: which way is taken, and what the user has set about it.
//! * [`srun`]: the step that starts the agents of a Slurm job, and where they connect to.

pub mod agent;
mod carrier;
mod fate;
mod greeting;
mod home;
mod host;
mod ledger;
pub mod link;
pub(crate) mod proof;
pub(crate) mod relay;
pub mod settings;
pub mod silence;
pub mod srun;
mod ssh;
mod streams;
pub(crate) mod tree;
mod tunnel;

pub use host::Remote;
