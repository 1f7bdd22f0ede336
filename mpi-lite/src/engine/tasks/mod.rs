//! Operations that go on beside the program.

pub(crate) mod book;
pub(crate) mod plan;
pub(crate) mod runner;
#[cfg(test)]
mod tests;
