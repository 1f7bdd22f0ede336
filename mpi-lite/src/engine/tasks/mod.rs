//! Operations that go on beside the program.

mod book;
mod plan;
mod runner;
#[cfg(test)]
mod tests;

pub(super) use book::Tasks;
pub use book::{Job, TaskCall, TaskId};
pub use plan::{Make, Message, Plan, ReceivePlan, Recipe, SendPlan, Submissions, Submitted, Work};
