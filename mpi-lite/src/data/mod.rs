//! The data of messages: datatypes, packing, reduction operators.
//!
//! Source: MPI 5.0, chapters 5 and 6.9.

mod basic;
mod buffer;
mod datatype;
mod external;
mod grid;
mod layout;
mod op;

pub use basic::{Basic, Family};
pub use buffer::{Area, Buffer, Part, Scattered};
pub use datatype::{Block, Datatype};
pub use external::Unfit;
pub use grid::Axis;
pub use op::{Op, UserFunction, UserOp};

#[cfg(test)]
mod tests;
