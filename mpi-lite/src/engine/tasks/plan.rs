//! What operations are to do: sends, receives and tasks; and what a task submits to the engine:
//! these, conditions, and calls on other threads.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};

use parking_lot::Mutex;

use crate::data::Area;
use crate::engine::envelope::{Envelope, Flags};
use crate::engine::inbox::matching::Pattern;
use crate::engine::requests::{Completion, Request};
use crate::engine::tasks::outcome::Outcome;
use crate::error::{Cause, Result};
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

/// A task's future. The status of its request has the bytes that it returns.
pub type Work = Pin<Box<dyn Future<Output = Result<u64>> + Send>>;

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
enum Submission {
    /// The place is free.
    None,
    Wanted(Plan),
    Started(Request),
    /// The task takes it back, if that is still possible.
    Unwanted(Request),
    /// The task goes on when this is true.
    Look(Box<dyn FnMut() -> bool + Send>),
    /// A call that another thread is to make.
    Call(Box<dyn FnOnce() -> Result<()> + Send>),
    /// Another thread makes the call.
    Called,
    /// It has ended without the lane.
    Ended(Result<()>),
    Over(Result<Completion>),
}

/// Carries out what a task submits.
pub(super) trait Carry {
    fn start(&mut self, plan: &Plan) -> Result<Request>;
    fn cancel(&mut self, request: Request) -> Result<()>;
    fn take(&mut self, request: Request) -> Result<Option<Completion>>;
    /// Makes the call on another thread.
    fn call(&mut self, call: Box<dyn FnOnce() + Send>) -> Result<()>;
}

/// The operations that a task has submitted to the engine, and how they ended.
#[derive(Clone, Default)]
pub struct Submissions(Arc<Mutex<Vec<Submission>>>);

impl fmt::Debug for Submissions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submissions").finish_non_exhaustive()
    }
}

/// For the task.
impl Submissions {
    /// Submits an operation. It is started once the task waits for something.
    #[must_use]
    pub fn submit(&self, plan: Plan) -> Submitted<'_> {
        self.put(Submission::Wanted(plan))
    }

    /// Waits until `may_go_on` returns true. It is asked after each turn and before each sleep, by
    /// a thread that holds the engine: so it is quick, and calls neither the engine nor the
    /// program. A peer whose message makes it true wakes the sleeper; another thread rings
    /// ([`Engine::ring`](crate::engine::Engine::ring)) after it has made it true, in one order
    /// with the ring (`SeqCst`, or under a lock).
    #[must_use]
    pub fn look(&self, may_go_on: impl FnMut() -> bool + Send + 'static) -> Submitted<'_> {
        self.put(Submission::Look(Box::new(may_go_on)))
    }

    /// Makes a call that may block on a thread for that, and waits for it. If the task is dropped
    /// meanwhile, the call goes on: it owns what it uses.
    ///
    /// # Errors
    /// Those of the call; it panics; the system has no thread for it.
    pub async fn call<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let outcome = Outcome::default();
        let place = outcome.clone();
        let call = move || call().map(|value| place.set(value));
        self.put(Submission::Call(Box::new(call))).await?;
        Ok(outcome.take().expect("the call has returned"))
    }

    fn put(&self, wanted: Submission) -> Submitted<'_> {
        let mut submissions = self.0.lock();
        let free = submissions
            .iter()
            .position(|submission| matches!(submission, Submission::None));
        let place = free.unwrap_or(submissions.len());
        match submissions.get_mut(place) {
            Some(submission) => *submission = wanted,
            None => submissions.push(wanted),
        }
        Submitted {
            submissions: self,
            place,
        }
    }
}

/// For the thread that has the lane.
impl Submissions {
    /// Starts what was submitted and collects what has ended. Returns true if anything has ended.
    pub(super) fn serve(&self, carrier: &mut impl Carry) -> bool {
        let mut has_ended = self.look_again();
        for (place, submission) in self.0.lock().iter_mut().enumerate() {
            if let Submission::Wanted(plan) = submission {
                *submission = match carrier.start(plan) {
                    Ok(request) => Submission::Started(request),
                    Err(error) => Submission::Over(Err(error)),
                };
                has_ended |= matches!(submission, Submission::Over(_));
            }
            if let Submission::Unwanted(request) = *submission {
                *submission = match carrier.cancel(request) {
                    Ok(()) => Submission::Started(request),
                    Err(error) => Submission::Over(Err(error)),
                };
            }
            if let Submission::Started(request) = *submission
                && let Some(ended) = carrier.take(request).transpose()
            {
                *submission = Submission::Over(ended);
                has_ended = true;
            }
            if let Submission::Call(_) = submission {
                let wanted = core::mem::replace(submission, Submission::Called);
                if let Err(error) = carrier.call(self.calling(place, wanted)) {
                    *submission = Submission::Ended(Err(error));
                }
            }
            if let Submission::Ended(ended) = submission {
                let ended = core::mem::replace(ended, Ok(()));
                *submission = Submission::Over(ended.map(|()| Completion::NOTHING));
                has_ended = true;
            }
        }
        has_ended
    }

    /// The call at `place`, which tells here how it has ended.
    fn calling(&self, place: usize, wanted: Submission) -> Box<dyn FnOnce() + Send> {
        let submissions = self.clone();
        Box::new(move || {
            let Submission::Call(call) = wanted else {
                return;
            };
            let ended = catch_unwind(AssertUnwindSafe(call));
            let panicked =
                |_| Err(Cause::System("a call beside the program panicked".into()).into());
            submissions.0.lock()[place] = Submission::Ended(ended.unwrap_or_else(panicked));
        })
    }

    /// Asks whether the task may go on. Returns true if it may.
    pub(super) fn look_again(&self) -> bool {
        let mut may_go_on = false;
        for submission in self.0.lock().iter_mut() {
            if let Submission::Look(look) = submission
                && look()
            {
                *submission = Submission::Ended(Ok(()));
                may_go_on = true;
            }
        }
        may_go_on
    }

    /// Returns true if the task waits until it may go on.
    pub(super) fn has_look(&self) -> bool {
        let is_look = |it: &Submission| matches!(it, Submission::Look(_));
        self.0.lock().iter().any(is_look)
    }
}

/// What a task has submitted: a future of how it ends. If it is dropped before it ends, the engine
/// still uses the memory, and keeps it alive if it is our own. A task awaits all that it submits of
/// the program's memory.
#[derive(Debug)]
pub struct Submitted<'a> {
    submissions: &'a Submissions,
    place: usize,
}

impl Submitted<'_> {
    /// Takes back a receive that no message has matched, a send whose message nothing has matched,
    /// or a look. It is still to be awaited.
    pub fn withdraw(&self) {
        let submission = &mut self.submissions.0.lock()[self.place];
        match *submission {
            Submission::Started(request) => *submission = Submission::Unwanted(request),
            Submission::Wanted(_) | Submission::Look(_) => {
                *submission = Submission::Over(Ok(Completion::NOTHING));
            }
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
