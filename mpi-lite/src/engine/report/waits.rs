//! What the threads of the program wait for, for the report of a job that hangs. Decision 0051.
//!
//! While nobody asks (`question`), a thread that has looked in vain for long, or is about to sleep,
//! writes one word and reads another.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::boot::state::{
    CommunicatorState, EndsWith, FailedCall, LISTED_MAX, RankState, THREADS_MAX, ThreadState,
};
use crate::clock::Instant;
use crate::engine::inbox::matching::Pattern;
use crate::engine::lane::Lane;
use crate::engine::requests::CompletionState;
use crate::engine::requests::{Array, Request};
use crate::ids::Context;

/// A thread that does not sleep says that it is blocked after this time.
pub(crate) const LONG: Duration = Duration::from_millis(100);

/// The program around this library, as far as its C interface can see it.
pub trait Program: fmt::Debug + Send + Sync {
    /// Describes the MPI call in which the calling thread is: its name, its arguments and where the
    /// program calls it from.
    fn describe_call(&self, thread: &mut ThreadState);

    /// Enters names of communicators, and how they were made.
    fn name(&self, communicators: &mut [CommunicatorState]);

    /// The MPI function that was entered last.
    fn last_call(&self) -> String;

    /// The MPI call that has returned an error last.
    fn failed_call(&self) -> FailedCall;

    /// Returns true if other threads than the first one may call MPI.
    fn has_calling_threads(&self) -> bool;
}

/// The name of a collective in words, with its root, by the tag of its messages.
pub type NameOfTag = fn(i32) -> (String, Option<u32>);

/// What a thread waits for.
#[derive(Debug)]
pub enum Subject {
    /// Requests of the program, or of one of its calls.
    Requests {
        /// Whether it waits for all of them.
        ends_with: EndsWith,
        /// The first unfinished ones.
        pending: Vec<Request>,
        /// How many more of them there are.
        left_out: u64,
    },
    /// A message that fits.
    Probe(Pattern),
    /// Other members, in the collective that has begun last in this context.
    Collective(Context),
    /// The end of all sends.
    AllSent,
    /// Something else, in words.
    Words(Cow<'static, str>),
}

/// Returns what a thread waits for.
pub(crate) type Describe<'a> = &'a dyn Fn(&Lane) -> Subject;

impl Subject {
    pub(crate) fn one(request: Option<Request>) -> Self {
        Self::Requests {
            ends_with: EndsWith::All,
            pending: request.into_iter().collect(),
            left_out: 0,
        }
    }

    pub(crate) fn some_of(lane: &Lane, requests: impl Array, ends_with: EndsWith) -> Self {
        let is_pending = |request: &Request| {
            let state = lane.view().requests().state(*request);
            matches!(state, Ok(CompletionState::Pending))
        };
        let mut unfinished = requests.iter().flatten().filter(is_pending);
        Self::Requests {
            ends_with,
            pending: unfinished.by_ref().take(LISTED_MAX).collect(),
            left_out: unfinished.count() as u64,
        }
    }
}

/// The waits of the threads of a process.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// Since when nothing has come for the thread that takes turns and has looked in vain for long;
    /// one nanosecond later, so that 0 is none.
    since: AtomicU64,
    /// The number of the question that is open; 0 is none.
    question: AtomicU32,
    /// The answers to it, by thread.
    answers: Mutex<Vec<(i32, ThreadState)>>,
    /// What the lane held when the last of them answered: a thread that does not sleep keeps the
    /// lane to itself.
    held: Mutex<RankState>,
    program: OnceLock<&'static dyn Program>,
    name_of_tag: OnceLock<NameOfTag>,
}

impl Waits {
    /// The first one stays.
    pub(crate) fn set_program(&self, program: &'static dyn Program) {
        let _ = self.program.set(program);
    }

    pub(crate) fn name_collectives_by(&self, name: NameOfTag) {
        let _ = self.name_of_tag.set(name);
    }

    /// Since when a thread is blocked, if one is.
    pub(crate) fn since(&self) -> Option<Instant> {
        let since = self.since.load(Ordering::Relaxed);
        since.checked_sub(1).map(Instant)
    }

    /// Returns true if a question is open that a thread has not answered in its wait.
    #[inline]
    pub(crate) fn asks(&self, blockage: Blockage) -> bool {
        let question = self.question.load(Ordering::SeqCst);
        question != 0 && question != blockage.answered
    }

    /// Notes that nothing has come since then.
    pub(crate) fn begin(&self, blockage: &mut Blockage, since: Instant) {
        blockage.is_noted = true;
        self.since.store(since.0 + 1, Ordering::Relaxed);
    }

    /// Notes that something has come, or that the wait is over.
    #[inline]
    pub(crate) fn end(&self, blockage: &mut Blockage) {
        if blockage.is_noted {
            blockage.is_noted = false;
            self.since.store(0, Ordering::Relaxed);
        }
    }

    /// Notes that the thread has answered the open question.
    pub(crate) fn note_answer(&self, blockage: &mut Blockage) {
        blockage.answered = self.question.load(Ordering::Relaxed);
    }

    /// Opens a question. Threads that sleep must be woken.
    pub(crate) fn open(&self, question: u32) {
        self.answers.lock().clear();
        *self.held.lock() = RankState::default();
        self.question.store(question, Ordering::SeqCst);
    }

    /// Returns true if the thread need not describe itself: it has answered, or so many have that
    /// it is only counted, which is done here.
    pub(crate) fn is_answered(&self, thread: i32) -> bool {
        let mut answers = self.answers.lock();
        let has_answered = answers.iter().any(|(answered, _)| *answered == thread);
        let are_enough = answers.len() >= THREADS_MAX;
        if are_enough && !has_answered {
            answers.push((thread, ThreadState::default()));
        }
        has_answered || are_enough
    }

    /// Notes the answer of a thread, and what the lane held then.
    pub(crate) fn answer(&self, (thread, state): (i32, ThreadState), held: RankState) {
        *self.held.lock() = held;
        self.answers.lock().push((thread, state));
    }

    /// How many threads have answered.
    pub(crate) fn answers(&self) -> usize {
        self.answers.lock().len()
    }

    /// Closes the question. Returns the answers, and what the lane held at the last of them.
    pub(crate) fn close(&self) -> (Vec<(i32, ThreadState)>, RankState) {
        self.question.store(0, Ordering::SeqCst);
        let answers = core::mem::take(&mut *self.answers.lock());
        (answers, core::mem::take(&mut *self.held.lock()))
    }

    pub(crate) fn program(&self) -> Option<&'static dyn Program> {
        self.program.get().copied()
    }

    /// The collective of a message with this tag.
    pub(crate) fn collective(&self, tag: i32) -> (String, Option<u32>) {
        let name = self.name_of_tag.get();
        name.map_or_else(Default::default, |name| name(tag))
    }
}

/// What a waiting thread has written and answered so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Blockage {
    /// The last question that it has answered.
    answered: u32,
    /// It has written `Waits::since`.
    is_noted: bool,
}
