//! What may name what inside mpi-lite, file by file. The layers of modules are in `layers.rs`.

mod bounds;
mod circles;
mod facades;
mod held;
mod library;
mod methods;
mod open_fields;
mod source;
mod transports;
