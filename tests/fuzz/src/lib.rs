//! What the targets of `make fuzz` share: a watch on memory, and the checks of framed streams.

pub mod frames;
pub mod memory;
