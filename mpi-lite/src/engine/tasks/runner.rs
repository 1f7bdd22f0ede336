//! Polls tasks: in calls of the program that wait or test, and in the ticker.

use std::sync::{Arc, Weak};

use crate::data::Area;
use crate::engine::Engine;
use crate::engine::lane::Lane;
use crate::engine::requests::{Operation, Request};
use crate::engine::tasks::book::{Job, Runner, TaskCall, TaskId, Tasks};
use crate::engine::tasks::plan::Submissions;
use crate::engine::waiting::{Guard, send_with_room};
use crate::error::Result;

impl Tasks {
    /// The tasks of `engine`, which wakes a sleeper when a call of theirs has returned.
    pub(crate) fn of(engine: &Weak<Engine>) -> Self {
        let engine = Weak::clone(engine);
        Self::new(Arc::new(move |task| {
            if let Some(engine) = engine.upgrade() {
                engine.waiting.note_called(task);
            }
        }))
    }
}

impl Engine {
    /// Enters a task, which begins when `after` has ended. Its request completes with it.
    /// [`Engine::run_tasks`] must follow.
    pub fn enter_task(&self, job: Job, after: Option<TaskId>) -> (Request, TaskId) {
        let mut lane = self.lane.lock();
        let request = lane.requests_mut().insert(Operation::of_task(job.context));
        (request, self.waiting.tasks().enter(request, job, after))
    }

    /// Starts a persistent request. Source: MPI 5.0, 3.9 and 6.13.
    ///
    /// # Errors
    /// It is not an inactive persistent one, or the operation cannot start.
    pub fn start(&self, request: Request) -> Result<()> {
        let mut lane = self.lane.lock();
        let Some(recipe) = lane
            .requests()
            .get(request)
            .and_then(Operation::recipe)
            .cloned()
        else {
            return match lane.start(request) {
                Err(refused) => send_with_room(self, lane, refused, |lane| lane.start(request)),
                started => started,
            };
        };
        let submissions = Submissions::default();
        let job = Job {
            context: recipe.context,
            calls_program: recipe.calls_program,
            call: TaskCall {
                tag: recipe.tag,
                number: 0,
            },
            work: (recipe.make)(submissions.clone()),
            submissions,
        };
        lane.requests_mut().activate(request, Area::EMPTY);
        self.waiting.tasks().enter(request, job, None);
        self.waiting.advance(&mut lane);
        Ok(())
    }

    /// Ends the threads on which tasks make calls that block, once these have returned. The next
    /// such call starts new ones.
    pub fn end_calls(&self) {
        self.waiting.tasks().end_calls();
    }

    /// Lets the tasks go on that can.
    pub fn run_tasks(&self) {
        self.waiting.advance(&mut self.lane.lock());
    }
}

impl Tasks {
    /// Returns true if a task may be able to go on; costs a few instructions.
    #[inline(always)]
    pub(crate) fn is_due(&self, lane: &Lane) -> bool {
        lane.requests().has_woken() || self.needs_look()
    }

    /// Lets the tasks go on that can. Returns true if any may have gone on, so that requests may
    /// have finished. The lane is left to others meanwhile.
    pub(crate) fn advance(&self, lane: &mut Guard<'_, Lane>) -> bool {
        if !self.may_advance(lane) {
            return false;
        }
        while let Some((number, work)) = self.next(lane, Runner::Program) {
            lane.unlocked(|| self.poll(number, work));
        }
        true
    }

    /// Lets the tasks go on for the ticker, which visits the lane by `visit`: a program that has
    /// come back does it itself. Returns whether it has polled any; `None` if none is due.
    pub(crate) fn advance_as_ticker<'a>(
        &self,
        mut lane: Guard<'a, Lane>,
        visit: impl Fn() -> Option<Guard<'a, Lane>>,
    ) -> Option<bool> {
        if !self.may_advance(&lane) {
            return None;
        }
        let mut has_polled = false;
        while let Some((number, work)) = self.next(&mut lane, Runner::Ticker) {
            drop(lane);
            self.poll(number, work);
            has_polled = true;
            match visit() {
                Some(again) => lane = again,
                None => {
                    self.leave();
                    break;
                }
            }
        }
        Some(has_polled)
    }

    /// A task can go on, and this thread polls: no other one does.
    fn may_advance(&self, lane: &Lane) -> bool {
        let is_due = lane.requests().has_woken() || self.look_again();
        is_due && self.begin()
    }
}
