//! The data of messages: datatypes, packing, reduction operators.
//!
//! Source: MPI 5.0, chapters 5 and 6.9.

mod area;
mod basic;
mod buffer;
mod datatype;
mod external;
mod grid;
mod layout;
mod numbered;
mod op;
mod wire;

pub use area::{Area, AreaPart, Scattered};
pub use basic::{Basic, Family};
pub use buffer::Buffer;
pub use datatype::{Block, Datatype};
pub use external::Unfit;
pub(crate) use external::with_sizes;
pub use grid::Axis;
pub(crate) use layout::{each_piece, each_run, each_run_of};
pub use numbered::{Known, Sent};
pub use op::{Op, UserFunction, UserOp};
pub use wire::Malformed;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod wire_tests;
