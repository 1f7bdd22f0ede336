//! What may name what inside mpi-lite, file by file. The layers of modules are in `layers.rs`.
//!
//! How much the types of all crates hold, and which files form circles. `PRINT=1 cargo test -p
//! mpi-lite --test structure` shows all that is counted: see `bounds.rs`.

mod bounds;
mod calls;
mod circles;
mod facades;
mod groups;
mod held;
mod library;
mod methods;
mod names;
mod open_fields;
mod source;
mod transports;
