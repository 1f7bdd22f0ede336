//! Measures mpi-lite with C programs, alone (`bench`) or beside the MPIs installed on this machine
//! and beside what the kernel alone costs (`compare`).
//!
//! Absolute figures move with the machine; a comparison is a ratio taken within one round, in
//! which everybody runs back to back, and the median of that ratio over the rounds.

mod bench;
mod contender;
mod goal;
pub mod laboratory;
pub mod machine;
mod measurements;
mod options;
mod origin;
mod place;
pub mod plot;
pub mod profile;
mod report;
pub mod sections;
mod table;
mod wheels;

pub use bench::{Bench, Missing, Program};
pub use contender::{Contender, auto, counting, kernel, ours, peers, peers_on_one_machine, rmpp};
pub use goal::{Goal, Limit};
pub use measurements::{Better, Measurements, Round, Spread, lines_of, number_after};
pub use options::Options;
pub use origin::Origin;
pub use place::{
    ETHERNET, JUMBO, LOOPBACK, NETWORKS, Network, Place, check_networks, cut, disturbed,
};
pub use report::{Report, plots_folder, redraw};
pub use table::{Table, short};
