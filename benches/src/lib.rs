//! Measures mpi-lite with C programs, alone (`bench`) or beside the MPIs installed on this machine
//! and beside what the kernel alone costs (`compare`).
//!
//! Absolute figures move with the machine; a comparison is a ratio taken within one round, in
//! which everybody runs back to back, and the median of that ratio over the rounds.

mod contender;
mod figures;
mod suite;
mod table;

pub use contender::{Contender, installed_peers, kernel, ours};
pub use figures::{Figures, median, ratios};
pub use suite::{Better, SUITE, Subject};
pub use table::Table;
