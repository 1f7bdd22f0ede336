//! What a process reports about itself: to a tool, at its end, and if the job hangs.

pub(crate) mod describe;
pub(crate) mod held;
pub(crate) mod inquiry;
pub(crate) mod leftovers;
pub(crate) mod observer;
pub(crate) mod question;
#[cfg(test)]
mod question_tests;
pub(crate) mod threads;
pub(crate) mod unheard;
pub(crate) mod waits;
