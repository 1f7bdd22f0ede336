//! Windows: memory that other processes read, write and change without a call of its owner.
//!
//! Operations have one of two means. Processes that share memory (`near`) load and store, or copy
//! from process to process, and words of the memory that they share have the locks and counts:
//! whoever wants something does it alone. Otherwise operations are messages (`far`), which the
//! target's engine carries out whatever its program does. The rules of epochs and the checks of
//! arguments are the same for both.
//!
//! Source: MPI 5.0, chapter 12. Decision 0086.

mod attached;
mod combine;
mod create;
mod dynamic;
mod epochs;
mod errors;
mod extent;
mod far;
mod hints;
mod means;
mod memory;
mod near;
mod operation;
mod queries;
mod runs;
mod synchronise;
mod title;
mod window;

pub use epochs::LockKind;
pub use extent::{Extent, Flavor};
pub use hints::Hints;
pub use operation::{Target, WindowAction};
pub use runs::RunAt;
pub use synchronise::Assertions;
pub use window::Window;
