//! What may name what inside mpi-lite, file by file. The layers of modules are in `layers.rs`.

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
