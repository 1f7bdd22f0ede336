//! The calls of the program that may wait. Nothing below calls them.

mod completion;
mod receive;
mod room;
mod send;
mod tasks;

pub use completion::{Any, Indexed, Tell};
