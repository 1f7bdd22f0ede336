//! What goes through an agent to a host below it, and back: the bytes of an ssh that the agent runs
//! for `mpirun`. The agent does not look into them.
//!
//! * [`Down`]: from `mpirun` to the ssh.
//! * [`Up`]: from the ssh to `mpirun`.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use crate::wire::Ended;

/// How many bytes may be on the way to a host below that its ssh has not taken. A host that does
/// not read holds no more memory of the agent above it, and delays no other host.
pub const PASSAGE_WINDOW: usize = 256 << 10;

/// The most bytes of one frame.
pub const PASSAGE_CHUNK: usize = 64 << 10;

/// What `mpirun` does with a host below an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Down {
    /// Start ssh with this command line.
    Reach(Vec<String>),
    /// The next bytes for it.
    Bytes(ByteBuf),
    /// Its input ends.
    End,
    /// End it; nothing about it matters any more.
    Drop,
}

/// What comes from a host below an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Up {
    /// The next bytes of ssh's output.
    Bytes(ByteBuf),
    /// Its output has ended.
    End,
    /// ssh has taken this many bytes more.
    Taken(u64),
    /// ssh has ended, and this is the end of what it has said on standard error.
    Ended(Ended, String),
    /// ssh cannot be executed there, for this reason.
    NotExecuted(String),
}
