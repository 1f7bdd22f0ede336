//! Tests of the protocol in the simulator.

mod cluster;
mod digest;
mod exploration;
mod fuzz;
mod goodput;
mod long_paths;
mod network;
mod pair;
#[cfg(feature = "planted")]
mod planted;
mod round_trips;
mod scripts;
#[cfg(feature = "planted")]
mod silence;
mod simulation;
