//! Messages on their way in, and those that wait for a receive.

pub(crate) mod budget;
pub mod matching;
