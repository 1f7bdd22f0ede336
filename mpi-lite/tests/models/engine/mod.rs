//! The lock of the lane, and the threads that wait under it.

#[path = "../../../src/engine/crew.rs"]
#[allow(dead_code, reason = "the models do not use all of it")]
mod crew;
#[path = "../../../src/engine/lock.rs"]
#[allow(dead_code, reason = "the models do not use all of it")]
mod lock;

mod inside;
mod waiting;
