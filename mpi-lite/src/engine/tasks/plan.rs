//! What operations are to do: sends, receives and tasks; and what a task submits to the engine.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};

use parking_lot::Mutex;

use crate::data::Area;
use crate::engine::envelope::{Envelope, Flags};
use crate::engine::inbox::matching::Pattern;
use crate::engine::requests::request::{Completion, Request};
use crate::error::Result;
use crate::ids::{Context, Mode, PeerId};
use crate::slab::Key;

/// A send, ready to be started. `to: None` is `MPI_PROC_NULL`.
#[derive(Clone, Debug)]
pub struct SendPlan {
    /// The receiver.
    pub to: Option<PeerId>,
    /// The communicator.
    pub context: Context,
    /// The sender's rank in it.
    pub source: u32,
    /// The tag, checked.
    pub tag: i32,
    /// The mode.
    pub mode: Mode,
    /// What is sent.
    pub area: Area,
}

impl SendPlan {
    #[inline]
    pub(crate) fn envelope(&self) -> Envelope {
        Envelope {
            context: self.context,
            source: self.source,
            tag: self.tag,
            flags: Flags::new(self.mode == Mode::Synchronous),
        }
    }
}

/// A receive, ready to be started. `pattern: None` is `MPI_PROC_NULL`.
#[derive(Clone, Debug)]
pub struct ReceivePlan {
    /// Which messages fit.
    pub pattern: Option<Pattern>,
    /// Where the message goes.
    pub area: Area,
}

/// A message that a matched probe took out of the queue. Source: MPI 5.0, 3.8.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Message(pub Key);

/// What a persistent request does each time it is started. Source: MPI 5.0, 3.9.
#[derive(Clone, Debug)]
pub enum Plan {
    /// A send.
    Send(SendPlan),
    /// A receive.
    Receive(ReceivePlan),
    /// A collective operation.
    Task(Recipe),
    /// A partitioned send or receive, whose messages have this context.
    Partitioned(Context),
}

impl Plan {
    pub(crate) fn context(&self) -> Option<Context> {
        match self {
            Self::Send(plan) => Some(plan.context),
            Self::Receive(plan) => plan.pattern.map(|pattern| pattern.context),
            Self::Task(recipe) => Some(recipe.context),
            Self::Partitioned(context) => Some(context.point_to_point()),
        }
    }
}

/// A task's future.
pub type Work = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// Makes the future of a task that submits its operations here.
pub type Make = dyn Fn(Submissions) -> Work + Send + Sync;

/// What a persistent request does each time it is started: a task.
#[derive(Clone)]
pub struct Recipe {
    /// Of the communicator to which the request belongs.
    pub context: Context,
    /// The task may call functions of the program.
    pub calls_program: bool,
    /// The tag of its messages, which names the collective.
    pub tag: i32,
    /// Its future.
    pub make: Arc<Make>,
}

impl fmt::Debug for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Recipe");
        shown
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}

/// How far an operation is that a task has submitted.
#[derive(Debug)]
pub(crate) enum Submission {
    /// The place is free.
    None,
    Wanted(Plan),
    Started(Request),
    /// The task takes it back, if that is still possible.
    Unwanted(Request),
    Over(Result<Completion>),
}

/// The operations that a task has submitted to the engine, and how they ended.
#[derive(Clone, Debug, Default)]
pub struct Submissions(pub(crate) Arc<Mutex<Vec<Submission>>>);

impl Submissions {
    /// Submits an operation. It is started once the task waits for something.
    #[must_use]
    pub fn submit(&self, plan: Plan) -> Submitted<'_> {
        let mut submissions = self.0.lock();
        let free = submissions
            .iter()
            .position(|submission| matches!(submission, Submission::None));
        let place = free.unwrap_or(submissions.len());
        match submissions.get_mut(place) {
            Some(submission) => *submission = Submission::Wanted(plan),
            None => submissions.push(Submission::Wanted(plan)),
        }
        Submitted {
            submissions: self,
            place,
        }
    }
}

/// An operation that a task has submitted: a future of how it ends. If it is dropped before it
/// ends, the engine still uses the memory, and keeps it alive if it is our own. A task awaits all
/// that it submits of the program's memory.
#[derive(Debug)]
pub struct Submitted<'a> {
    submissions: &'a Submissions,
    place: usize,
}

impl Submitted<'_> {
    /// Takes a receive back that no message has matched. It is still to be awaited.
    pub fn withdraw(&self) {
        let submission = &mut self.submissions.0.lock()[self.place];
        match *submission {
            Submission::Started(request) => *submission = Submission::Unwanted(request),
            Submission::Wanted(_) => *submission = Submission::Over(Ok(Completion::NOTHING)),
            _ => {}
        }
    }
}

impl Future for Submitted<'_> {
    type Output = Result<Completion>;

    fn poll(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<Self::Output> {
        let submission = &mut self.submissions.0.lock()[self.place];
        match core::mem::replace(submission, Submission::None) {
            Submission::Over(ended) => Poll::Ready(ended),
            pending => {
                *submission = pending;
                Poll::Pending
            }
        }
    }
}
