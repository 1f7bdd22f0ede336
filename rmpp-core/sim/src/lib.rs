//! The simulator: endpoints in virtual time over links with seeded faults.
//!
//! [`Network`] carries datagrams of any kind and serves other drivers too. [`World`] drives
//! endpoints over it as a [`Plan`] says, and checks the protocol's invariants after each step. No
//! payload moves: a packet in flight only names the bytes that it would carry, and their message.
#![forbid(unsafe_code)]

mod above;
mod below;
mod checker;
mod ending;
mod explore;
mod faults;
mod network;
mod node;
mod plan;
mod script;
mod traffic;
mod witness;
mod world;

pub use explore::{Case, Digest, Explored, explore};
pub use network::{Faults, Network, Wires};
pub use plan::{Outage, Pattern, Plan};
pub use script::{Choices, Played, Rig, Script};
pub use traffic::{Outcome, Traffic};
pub use world::{Report, World};
