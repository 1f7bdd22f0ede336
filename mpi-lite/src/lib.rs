//! MPI's meaning in Rust; no C types. Layers, low to high; a module uses only lower ones:
//!
//! * L0 `error ids memory`
//! * L1 `data`
//! * L2 `transport boot`
//! * L3 `engine`
//! * L4 `comm`
//! * L5 `coll`
//! * L6 `world`

pub mod boot;
pub mod data;
pub mod error;
pub mod ids;
pub mod memory;
