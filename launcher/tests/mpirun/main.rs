//! `mpirun`, run as a program: a module for each thing that it does.

mod common;

mod bad_input;
mod binding;
mod criteria_ssh;
mod ending;
mod environment;
mod exit_status;
mod kubernetes;
mod lying_host;
mod output;
mod pages;
mod passage;
mod pmi;
mod preload;
mod programs;
mod remote;
mod results;
mod shared;
mod source;
mod srun;
mod stall;
mod stats;
mod streams;
mod telling;
mod terminal;
mod tree;
