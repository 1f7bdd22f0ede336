//! Operations that go on beside the program.

mod book;
mod calls;
mod outcome;
mod plan;
mod runner;
#[cfg(test)]
mod tests;

pub(super) use book::Tasks;
pub use book::{Job, Purpose, TaskId};
pub use outcome::Outcome;
pub use plan::{Make, Message, Plan, ReceivePlan, Recipe, SendPlan, Submissions, Submitted, Work};
