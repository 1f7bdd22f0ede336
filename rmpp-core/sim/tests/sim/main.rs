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
mod silence;
mod simulation;
