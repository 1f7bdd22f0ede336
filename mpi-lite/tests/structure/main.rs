//! What may name what inside mpi-lite, file by file. The layers of modules are in `layers.rs`.

mod circles;
mod facades;
mod held;
mod source;
mod transports;
