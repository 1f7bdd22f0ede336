//! Operations that the program, or a task, waits for.

mod channel;
mod operation;
mod parts;
mod request;
mod table;

pub(super) use channel::{HEADER_BYTES, Header, is_partition};
pub use channel::{PartitionedReceive, PartitionedSend};
pub(super) use operation::{CompletionState, Operation};
pub(super) use parts::{Part, Partitioned, Start, Whole};
pub use request::{Array, Completion, Request, Status};
pub(super) use table::Requests;
