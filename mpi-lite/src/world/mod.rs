//! The process as a whole: how it begins and ends.

pub mod hardware;
mod launcher;
mod placement;
mod process;

pub use process::Process;
