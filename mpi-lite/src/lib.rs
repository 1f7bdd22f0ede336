//! MPI semantics in Rust; no C types.
