//! How the threads of this process are asked what they wait for, and their answers. Decision 0051.
//!
//! A thread that waits describes itself when it is asked: only it knows its call, and its stack is
//! its own. The ticker asks, wakes it, and collects the answers.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::boot::state::{Operation, RankState, THREADS_MAX, ThreadState};
use crate::clock::Instant;
use crate::engine::Engine;
use crate::engine::lane::Lane;
use crate::engine::report::threads;
use crate::engine::report::waits::{Blockage, Describe, NameOfTag, Program};
use crate::engine::waiting::waiters::Shared as _;

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
    pub(crate) fn note_blocked(
        &self,
        (lane, subject): (&Lane, Describe<'_>),
        blockage: &mut Blockage,
        since: Instant,
    ) {
        blockage.is_noted = true;
        self.waits.since.store(since.0 + 1, Ordering::Relaxed);
        *blockage = self.describe_if_asked((lane, subject), *blockage, since);
    }

    /// Describes the wait of this thread, which began then, if a question is open that it has not
    /// answered.
    pub(crate) fn describe_if_asked(
        &self,
        (lane, subject): (&Lane, Describe<'_>),
        blockage: Blockage,
        since: Instant,
    ) -> Blockage {
        if !self.waits.asks(blockage) {
            return blockage;
        }
        // Not the time of the turn: the ticker may have read the clock after that.
        self.describe((lane, subject), self.clock.now().since(since));
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
            state.failed_call = program.failed_call();
        }
        state
    }

    /// Opens a question: the threads that wait describe themselves.
    pub(crate) fn ask(&self, question: u32) {
        self.waits.answers.lock().clear();
        *self.waits.held.lock() = RankState::default();
        self.waits.question.store(question, Ordering::SeqCst);
        self.ring();
        self.call_followers();
    }

    /// Wakes the threads that follow another one, if the lane is free. They look, and sleep again.
    pub(crate) fn call_followers(&self) {
        if self.is_threaded() {
            self.try_with(|lane| lane.waiters().call_if(|_| true));
        }
    }

    /// Returns true if each thread that sleeps in a wait has described itself.
    pub(crate) fn have_all_answered(&self) -> bool {
        let answers = self.waits.answers.lock().len();
        let followers = self.try_with(|lane| lane.waiters().followers());
        followers.is_some_and(|followers| answers > followers)
    }

    /// Closes the question. Returns what this process does.
    pub(crate) fn close_question(&self) -> RankState {
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
            state.failed_call = program.failed_call();
            let has_others = !waiting.is_empty() && program.has_calling_threads();
            state.may_go_on = has_others && threads::may_go_on(&waiting);
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
