//! Which message belongs to which receive.
//!
//! Two queues: receives that wait for a message (posted), messages that wait for a receive
//! (unexpected). A message takes the receive that was posted first of those that fit it; a receive
//! takes the message that arrived first (MPI 5.0, 3.5: messages do not overtake).

mod key;
mod posted;
mod unexpected;

pub use key::Pattern;
pub use posted::Posted;
pub use unexpected::{Body, Unexpected, UnexpectedMessage};
