//! Polls tasks: in calls of the program that wait or test, and in the ticker.

use crate::data::Area;
use crate::engine::Engine;
use crate::engine::lane::Lane;
use crate::engine::requests::request::Request;
use crate::engine::tasks::book::TaskCall;
use crate::engine::tasks::book::{Job, Runner, TaskId, Tasks};
use crate::engine::tasks::plan::Submissions;
use crate::engine::waiting::{Guard, send_with_room};
use crate::error::Result;

impl Engine {
    /// Enters a task, which begins when `after` has ended. Its request completes with it.
    /// [`Engine::run_tasks`] must follow.
    pub fn enter_task(&self, job: Job, after: Option<TaskId>) -> (Request, TaskId) {
        let mut lane = self.lane.lock();
        let request = lane.task_requests().open_collective(job.context);
        (request, self.waiting.tasks().enter(request, job, after))
    }

    /// Starts a persistent request. Source: MPI 5.0, 3.9 and 6.13.
    ///
    /// # Errors
    /// It is not an inactive persistent one, or the operation cannot start.
    pub fn start(&self, request: Request) -> Result<()> {
        let mut lane = self.lane.lock();
        let Some(recipe) = lane.task_requests().recipe(request) else {
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
        lane.task_requests().activate(request, Area::EMPTY);
        self.waiting.tasks().enter(request, job, None);
        self.waiting.advance(&mut lane);
        Ok(())
    }

    /// Lets the tasks go on that can.
    pub fn run_tasks(&self) {
        self.waiting.advance(&mut self.lane.lock());
    }
}

impl Tasks {
    /// Returns true if a task may be able to go on; costs a few instructions.
    #[inline(always)]
    pub(crate) fn is_due(&self, lane: &mut Lane) -> bool {
        lane.task_requests().has_woken() || self.has_due()
    }

    /// Lets the tasks go on that can. Returns true if any may have gone on, so that requests may
    /// have finished. The lane is left to others meanwhile.
    pub(crate) fn advance(&self, lane: &mut Guard<'_, Lane>) -> bool {
        if !self.begin() {
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
        if !self.is_due(&mut lane) || !self.begin() {
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
}
