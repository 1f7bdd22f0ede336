//! The simulator: endpoints in virtual time over links with seeded faults.

mod network;

pub use network::{Faults, Network};

pub use crate::rng::Rng;
