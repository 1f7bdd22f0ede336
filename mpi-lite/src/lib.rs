//! MPI semantics in Rust; no C types.

pub mod boot;
