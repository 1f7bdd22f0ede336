//! The lock of the lane, and the threads that wait under it.

#[path = "../../../src/engine/waiting/lock.rs"]
#[allow(dead_code, reason = "the models do not use all of it")]
mod lock;
#[path = "../../../src/engine/waiting/waiters.rs"]
#[allow(dead_code, reason = "the models do not use all of it")]
mod waiters;

mod inside;
mod waiting;
