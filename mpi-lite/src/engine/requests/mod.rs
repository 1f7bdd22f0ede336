//! Operations that the program, or a task, waits for.

pub(crate) mod channel;
pub(crate) mod completion;
pub(crate) mod operation;
pub(crate) mod partitioned;
pub(crate) mod parts;
pub(crate) mod request;
pub(crate) mod wholes;
