//! How threads wait for messages, and who makes progress meanwhile.

pub(crate) mod lead;
#[cfg(test)]
mod lead_tests;
pub(crate) mod lock;
#[cfg(test)]
mod lock_tests;
pub(crate) mod policy;
pub(crate) mod room;
pub(crate) mod ticker;
pub(crate) mod wait;
pub(crate) mod waiters;
