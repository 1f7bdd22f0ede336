//! What the threads of the program wait for, for the report of a job that hangs. Decision 0051.
//!
//! A thread that waits describes itself when it is asked: only it knows its call, and its stack is
//! its own. The ticker asks, wakes it, and collects the answers. While nobody asks, a thread that
//! has looked in vain for long, or is about to sleep, writes one word and reads another.

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::Engine;
use super::completion::Array;
use super::lane::Lane;
use super::matching::Pattern;
use super::operation::Request;
use super::request::CompletionState;
use super::waiters::Shared as _;
use crate::boot::state::{
    CommunicatorState, EndsWith, LISTED_MAX, Operation, RankState, THREADS_MAX, ThreadState,
};
use crate::clock::Instant;
use crate::ids::Context;

/// A thread that does not sleep says that it is blocked after this time.
pub(super) const LONG: Duration = Duration::from_millis(100);

/// The program around this library, as far as its C interface can see it.
pub trait Program: fmt::Debug + Send + Sync {
    /// Describes the MPI call in which the calling thread is: its name, its arguments and where the
    /// program calls it from.
    fn describe_call(&self, thread: &mut ThreadState);

    /// Enters names of communicators, and how they were made.
    fn name(&self, communicators: &mut [CommunicatorState]);

    /// The MPI function that was entered last.
    fn last_call(&self) -> String;

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
    Words(&'static str),
}

/// Returns what a thread waits for.
pub(super) type Describe<'a> = &'a dyn Fn(&Lane) -> Subject;

impl Subject {
    pub(super) fn one(request: Option<Request>) -> Self {
        Self::Requests {
            ends_with: EndsWith::All,
            pending: request.into_iter().collect(),
            left_out: 0,
        }
    }

    pub(super) fn some_of(lane: &Lane, requests: impl Array, ends_with: EndsWith) -> Self {
        let is_pending = |request: &Request| {
            let state = lane.delivery.requests.state(*request);
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
pub(super) struct Waits {
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
    /// Since when a thread is blocked, if one is.
    pub(super) fn since(&self) -> Option<Instant> {
        let since = self.since.load(Ordering::Relaxed);
        since.checked_sub(1).map(Instant)
    }

    /// Returns true if a question is open that a thread has not answered in its wait.
    #[inline]
    pub(super) fn asks(&self, blockage: Blockage) -> bool {
        let question = self.question.load(Ordering::SeqCst);
        question != 0 && question != blockage.answered
    }

    /// Notes that something has come, or that the wait is over.
    #[inline]
    pub(super) fn end(&self, blockage: &mut Blockage) {
        if blockage.is_noted {
            blockage.is_noted = false;
            self.since.store(0, Ordering::Relaxed);
        }
    }

    pub(super) fn program(&self) -> Option<&'static dyn Program> {
        self.program.get().copied()
    }

    /// The collective of a message with this tag.
    pub(super) fn collective(&self, tag: i32) -> (String, Option<u32>) {
        let name = self.name_of_tag.get();
        name.map_or_else(Default::default, |name| name(tag))
    }
}

/// What a waiting thread has written and answered so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Blockage {
    /// The last question that it has answered.
    answered: u32,
    /// It has written `Waits::since`.
    is_noted: bool,
}

impl Engine {
    /// Makes the engine's reports name calls and communicators by what `program` returns.
    pub fn set_program(&self, program: &'static dyn Program) {
        // The first one stays.
        let _ = self.waits.program.set(program);
    }

    /// Makes the engine's reports name collectives.
    pub fn name_collectives_by(&self, name: NameOfTag) {
        let _ = self.waits.name_of_tag.set(name);
    }

    /// Notes that nothing has come for the thread that takes turns since then, which is so long
    /// ago. Describes its wait if a question is open that it has not answered.
    #[cold]
    pub(super) fn note_blocked(
        &self,
        (lane, subject): (&Lane, Describe<'_>),
        blockage: &mut Blockage,
        (since, waited): (Instant, Duration),
    ) {
        blockage.is_noted = true;
        self.waits.since.store(since.0 + 1, Ordering::Relaxed);
        *blockage = self.describe_if_asked((lane, subject), *blockage, waited);
    }

    /// Describes the wait of this thread, for so long now, if a question is open that it has not
    /// answered.
    pub(super) fn describe_if_asked(
        &self,
        (lane, subject): (&Lane, Describe<'_>),
        blockage: Blockage,
        waited: Duration,
    ) -> Blockage {
        if !self.waits.asks(blockage) {
            return blockage;
        }
        self.describe((lane, subject), waited);
        Blockage {
            answered: self.waits.question.load(Ordering::Relaxed),
            ..blockage
        }
    }

    #[cold]
    #[inline(never)]
    fn describe(&self, (lane, subject): (&Lane, Describe<'_>), blocked: Duration) {
        let me = rustix::thread::gettid().as_raw_nonzero().get();
        let mut thread = ThreadState {
            blocked_ms: u64::try_from(blocked.as_millis()).unwrap_or(u64::MAX),
            ..ThreadState::default()
        };
        let mut answers = self.waits.answers.lock();
        if answers.iter().any(|(answered, _)| *answered == me) {
            return;
        }
        if answers.len() >= THREADS_MAX {
            // It is only counted.
            return answers.push((me, thread));
        }
        drop(answers);
        self.describe_subject(lane, &subject(lane), &mut thread);
        if let Some(program) = self.waits.program() {
            program.describe_call(&mut thread);
            name_own_collective(&mut thread);
        }
        let mut held = self.describe_lane(lane);
        held.threads.push(thread);
        held.communicators = self.communicators(lane, &held);
        let thread = held.threads.pop().unwrap_or_default();
        *self.waits.held.lock() = held;
        self.waits.answers.lock().push((me, thread));
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// What this process does while the calling thread waits for all others in `call`, since
    /// `begin`.
    #[must_use]
    pub fn describe_fence(&self, call: &str, begin: Instant) -> RankState {
        let mut state = RankState::waiting_for_all(call, self.clock.now().since(begin));
        if let (Some(program), Some(thread)) = (self.waits.program(), state.threads.first_mut()) {
            program.describe_call(thread);
        }
        let described = self.try_with(|lane| {
            let held = self.describe_lane(lane);
            let communicators = self.communicators(lane, &held);
            RankState {
                communicators,
                ..held
            }
        });
        let held = described.unwrap_or_default();
        state = RankState {
            threads: state.threads,
            ..held
        };
        if let Some(program) = self.waits.program() {
            program.name(&mut state.communicators);
        }
        state
    }

    /// Opens a question: the threads that wait describe themselves.
    pub(super) fn ask(&self, question: u32) {
        self.waits.answers.lock().clear();
        *self.waits.held.lock() = RankState::default();
        self.waits.question.store(question, Ordering::SeqCst);
        self.ring();
        self.call_followers();
    }

    /// Wakes the threads that follow another one, if the lane is free. They look, and sleep again.
    pub(super) fn call_followers(&self) {
        if self.is_threaded() {
            self.try_with(|lane| lane.waiters().call_if(|_| true));
        }
    }

    /// Returns true if each thread that sleeps in a wait has described itself.
    pub(super) fn have_all_answered(&self) -> bool {
        let answers = self.waits.answers.lock().len();
        let followers = self.try_with(|lane| lane.waiters().followers());
        followers.is_some_and(|followers| answers > followers)
    }

    /// Closes the question. Returns what this process does.
    pub(super) fn close_question(&self) -> RankState {
        self.waits.question.store(0, Ordering::SeqCst);
        let mut answers = core::mem::take(&mut *self.waits.answers.lock());
        let held = core::mem::take(&mut *self.waits.held.lock());
        let waiting: Vec<i32> = answers.iter().map(|(id, _)| *id).collect();
        answers.truncate(THREADS_MAX);
        answers.sort_by_key(|(_, thread)| core::cmp::Reverse(thread.blocked_ms));
        let threads: Vec<_> = answers.into_iter().map(|(_, thread)| thread).collect();
        let left_out = waiting.len() - threads.len();
        let described = self.try_with(|lane| {
            let mut state = self.describe_lane(lane);
            state.threads.clone_from(&threads);
            state.communicators = self.communicators(lane, &state);
            state
        });
        let mut state = described.unwrap_or(RankState { threads, ..held });
        state.threads_left_out = u32::try_from(left_out).unwrap_or(u32::MAX);
        if let Some(program) = self.waits.program() {
            program.name(&mut state.communicators);
            state.last_call = program.last_call();
            let has_others = !waiting.is_empty() && program.has_calling_threads();
            state.may_go_on = has_others && super::threads::may_go_on(&waiting);
        }
        state
    }
}

/// A blocking collective has the name of the call that is in it.
fn name_own_collective(thread: &mut ThreadState) {
    let said = |argument: &String| argument.strip_prefix("root=")?.parse().ok();
    let said_root = thread.arguments.iter().find_map(said);
    for operation in &mut thread.operations {
        if let Operation::Collective {
            name,
            root,
            is_blocking: true,
            ..
        } = operation
            && name.is_empty()
        {
            name.clone_from(&thread.call);
            *root = root.or(said_root);
        }
    }
}
