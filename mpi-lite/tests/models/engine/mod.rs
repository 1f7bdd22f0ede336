//! The lock of the lane.

#[path = "../../../src/engine/lock.rs"]
#[allow(dead_code, reason = "the models do not use all of it")]
mod lock;

mod inside;
