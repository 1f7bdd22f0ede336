//! Arguments: a type for each meaning, with how C passes it in both widths, its spelling in the
//! header, and its check. They read objects; no object knows them.

pub mod arrays;
pub mod buffers;
pub mod callbacks;
pub mod handles;
pub mod numbers;
pub mod status;
pub mod text;
pub mod tools;

pub use arrays::*;
pub use buffers::*;
pub use callbacks::*;
pub use handles::*;
pub use numbers::*;
pub use status::*;
pub use text::*;
pub use tools::*;

pub(crate) use crate::entry::{mpi, values};
