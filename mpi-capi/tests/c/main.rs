//! The C surface as C programs see it.

mod anytime;
mod common;
mod header;
mod mpich_header;
mod objects;
mod profiling;
