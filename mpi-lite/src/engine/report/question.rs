//! How the threads of this process are asked what they wait for, and their answers. Decision 0051.
//!
//! A thread that waits describes itself when it is asked (`describe`): only it knows its call, and
//! its stack is its own. The ticker asks, wakes it, and collects the answers.

use crate::boot::state::{RankState, THREADS_MAX, ThreadState};
use crate::clock::Instant;
use crate::engine::Engine;
use crate::engine::report::threads;
use crate::engine::report::waits::{NameOfTag, Program, Waits};
use crate::engine::waiting::Shared as _;
use crate::ids::Context;

/// What a process says of itself.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    engine: &'a Engine,
}

impl Engine {
    /// What this process says of itself.
    #[must_use]
    pub fn report(&self) -> Report<'_> {
        Report { engine: self }
    }
}

impl<'a> Report<'a> {
    /// Makes reports name calls and communicators by what `program` returns.
    pub fn set_program(self, program: &'static dyn Program) {
        self.waits().set_program(program);
    }

    /// Makes reports name collectives.
    pub fn name_collectives_by(self, name: NameOfTag) {
        self.waits().name_collectives_by(name);
    }

    /// How many blocking and nonblocking collectives the communicator of this context has
    /// begun here.
    #[must_use]
    pub fn begun(self, context: Context) -> (u32, u32) {
        self.engine.with(|lane| {
            let calls = |context| lane.view().ports().calls(context);
            (calls(context.collective()), calls(context.nonblocking()))
        })
    }

    pub(crate) fn waits(self) -> &'a Waits {
        self.engine.waiting.waits()
    }

    /// Since when the program is blocked, if it is. It is not while a call of a task goes on beside
    /// it, such as the read of a file: nobody else has to do anything then.
    pub(crate) fn blocked_since(self) -> Option<Instant> {
        let waiting = &self.engine.waiting;
        let since = waiting.waits().since();
        since.filter(|_| !waiting.tasks().has_calls())
    }

    pub(crate) fn now(self) -> Instant {
        self.engine.now()
    }

    /// What these threads do and the lane holds, if the lane is free.
    fn state(self, threads: Vec<ThreadState>) -> Option<RankState> {
        let waiting = &self.engine.waiting;
        self.engine
            .visit()
            .map(|lane| waiting.describe(&lane).state(threads))
    }

    /// What this process does while the calling thread waits for all others in `call`, since
    /// `begin`.
    #[must_use]
    pub fn describe_fence(self, call: &str, begin: Instant) -> RankState {
        let mut state = RankState::waiting_for_all(call, self.now().since(begin));
        if let (Some(program), Some(thread)) = (self.waits().program(), state.threads.first_mut()) {
            program.describe_call(thread);
        }
        state = RankState {
            threads: state.threads,
            ..self.state(Vec::new()).unwrap_or_default()
        };
        if let Some(program) = self.waits().program() {
            program.name(&mut state.communicators);
            state.failed_call = program.failed_call();
        }
        state
    }

    /// Opens a question: the threads that wait describe themselves.
    pub(crate) fn ask(self, question: u32) {
        self.waits().open(question);
        self.engine.waiting.ring();
        self.call_followers();
    }

    /// Wakes the threads that follow another one, if the lane is free. They look, and sleep again.
    pub(crate) fn call_followers(self) {
        if self.engine.is_threaded()
            && let Some(mut lane) = self.engine.visit()
        {
            lane.waiters().call_if(|_| true);
        }
    }

    /// Returns true if each thread that sleeps in a wait has described itself.
    pub(crate) fn have_all_answered(self) -> bool {
        let answers = self.waits().answers();
        let lane = self.engine.visit();
        lane.is_some_and(|mut lane| answers > lane.waiters().followers())
    }

    /// Closes the question. Returns what this process does.
    pub(crate) fn close_question(self) -> RankState {
        let (mut answers, held) = self.waits().close();
        let waiting: Vec<i32> = answers.iter().map(|(id, _)| *id).collect();
        answers.truncate(THREADS_MAX);
        answers.sort_by_key(|(_, thread)| core::cmp::Reverse(thread.blocked_ms));
        let threads: Vec<_> = answers.into_iter().map(|(_, thread)| thread).collect();
        let left_out = waiting.len() - threads.len();
        let described = self.state(threads.clone());
        let mut state = described.unwrap_or(RankState { threads, ..held });
        state.threads_left_out = u32::try_from(left_out).unwrap_or(u32::MAX);
        if let Some(program) = self.waits().program() {
            program.name(&mut state.communicators);
            state.last_call = program.last_call();
            state.failed_call = program.failed_call();
            let has_others = !waiting.is_empty() && program.has_calling_threads();
            state.may_go_on = has_others && threads::may_go_on(&waiting);
        }
        state
    }
}
