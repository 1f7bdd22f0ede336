//! How threads wait for messages, and who makes progress meanwhile.

mod doorbells;
mod lead;
#[cfg(test)]
mod lead_tests;
mod lock;
#[cfg(test)]
mod lock_tests;
mod policy;
mod stillness;
mod ticker;
mod wait;
mod waiters;

#[cfg(test)]
pub(super) use doorbells::doorbell;
pub(super) use doorbells::{Doorbells, Sleeper};
pub(super) use lock::{Guard, Leave, Lock};
pub(super) use policy::WaitHistory;
pub use policy::WaitPolicy;
pub use ticker::{Ticker, tick};
pub(super) use wait::Waiting;
pub(super) use waiters::{Seen, Shared, Until, Waiters};
