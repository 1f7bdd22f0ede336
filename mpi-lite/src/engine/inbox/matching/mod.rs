//! Which message belongs to which receive.
//!
//! Two queues: receives that wait for a message (posted), messages that wait for a receive
//! (unexpected). A message takes the first posted receive that fits it. A receive takes the first
//! message to arrive that fits it (MPI 5.0, 3.5: messages do not overtake).
//!
//! Both are one kind of queue, with the two sides exchanged. A short queue is scanned. A deep one
//! has its entries by context, source and tag, with the wildcards apart.

mod body;
mod chain;
mod deep;
mod index;
mod key;
mod posted;
mod queue;
mod unexpected;

pub use body::{Body, Buffered, Inbound};
pub use key::Pattern;
pub use posted::Posted;
pub use unexpected::{Unexpected, UnexpectedMessage};
