//! The command line of `mpirun`, and what it prints about itself.

pub mod args;
pub mod contradiction;
pub mod datagrams;
pub mod foreign;
pub mod help;
pub mod info;
pub mod mapping;
pub mod mca;
pub mod nearest;
pub mod network;
pub mod options;
pub mod part;
pub mod request;
pub mod settings;
pub mod times;
pub mod values;
pub mod words;
