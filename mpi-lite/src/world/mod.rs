//! The process as a whole: how it begins and ends.

pub mod hardware;
mod launcher;
mod placement;
mod process;
mod transports;

pub use process::Process;
