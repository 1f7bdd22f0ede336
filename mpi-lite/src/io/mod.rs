//! Files: what MPI calls input and output.
//!
//! Low to high: [`View`] is which bytes of a file a process sees, [`Storage`] is what a file system
//! does, `access` moves the data of one process, `together` that of all. [`File`] is the object
//! with its pointers; `open` makes it.
//!
//! A call of the file system may block. It is made by the thread of the program that called, or by
//! a thread for that beside it; never with the lane locked.
//!
//! Source: MPI 5.0, chapter 14.

mod access;
mod errors;
mod file;
mod hints;
mod mode;
mod moving;
mod open;
mod pointer;
mod prepared;
mod represent;
mod storage;
mod together;
mod two_phase;
mod view;
mod viewed;

pub use file::{File, Whence};
pub use hints::Hints;
pub use mode::Mode;
pub use open::delete;
pub use prepared::{Access, Direction, Pointer};
pub use represent::{Conversion, Representation};
pub use storage::Storage;
pub use view::View;

#[cfg(test)]
mod tests;
