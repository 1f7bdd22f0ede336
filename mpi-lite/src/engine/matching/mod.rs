//! Which message belongs to which receive.
//!
//! Two queues: receives that wait for a message (posted), messages that wait for a receive
//! (unexpected). A message takes the receive that was posted first of those that fit it; a receive
//! takes the message that arrived first (MPI 5.0, 3.5: messages do not overtake).
//!
//! Both are one kind of queue, looked at from its two sides: a short one is scanned, a deep one
//! has its entries by context, source and tag, wildcards beside them.

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
