//! What goes on the wire.

mod header;
mod kind;
mod shape;

pub use header::{HEADER_BYTES, Header};
pub(crate) use header::{source_of, version_of};
pub use kind::Kind;
pub(crate) use shape::Shape;
