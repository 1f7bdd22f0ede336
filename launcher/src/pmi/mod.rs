//! The process management interface of MPICH and of what comes from it (Intel MPI, MVAPICH): the
//! server of PMI-1 and PMI-2, so that `mpirun` starts their programs.
//!
//! * [`account`]: what another host may report of its ranks.
//! * [`text`]: lines of PMI-1 and frames of PMI-2, as bytes.
//! * [`dialect`]: what a message asks for, and how an answer to it is written.
//! * [`server`]: the ranks of a node, each a state machine.
//! * [`store`]: what the ranks have put, and how much they may put.
//! * [`mapping`]: which ranks share a node, in the words of PMI.
//! * [`names`]: the services that ranks publish.
//!
//! All of it is pure. `node/pmi.rs` has the sockets, `job/pmi.rs` the fence over all nodes.
//!
//! ```text
//!    rank                    node                       job (in mpirun)
//!     | init, fullinit -----> | Event::Init -----------> |
//!     | put ----------------> |                          |
//!     | barrier_in ---------> | Event::Fence(puts) ----> |  waits for all
//!     | <-------- barrier_out | <------- Release(puts)   |
//!     | get ----------------> |                          |
//!     | publish, lookup ----> | Event::Name -----------> |
//!     | <-------------------- | <----------------- Named |
//!     | finalize, abort ----> | Event::Finalized, Abort  |
//! ```

pub mod account;
pub mod dialect;
pub mod mapping;
pub mod names;
pub mod server;
pub mod store;
pub mod text;

use serde::{Deserialize, Serialize};

pub use names::Ask;

/// A key and its value.
pub type Put = (String, String);

/// What a node reports about the conversation of a rank with its server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// The rank is in Init.
    Init,
    /// The rank waits for all ranks, and has put this since the fence before.
    Fence(Vec<Put>),
    /// The rank has finalized.
    Finalized,
    /// The rank aborts the job.
    Abort {
        /// Exit status.
        code: i32,
        /// What to print, maybe nothing.
        message: String,
    },
    /// The rank asks about a service.
    Name(Ask),
}

/// What `mpirun` orders the nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// All ranks are in the fence: what they have put.
    Release(Vec<Put>),
    /// The answer to [`Event::Name`].
    Named {
        /// Who asked.
        rank: u32,
        /// The port, if that was asked for; or why not.
        answer: Result<String, String>,
    },
}
