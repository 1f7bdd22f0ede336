//! Polls tasks: in calls of the program that wait or test, and in the ticker.

use crate::data::Area;
use crate::engine::Engine;
use crate::engine::lane::Lane;
use crate::engine::requests::request::Request;
use crate::engine::tasks::book::TaskCall;
use crate::engine::tasks::book::{Job, Runner, TaskId};
use crate::engine::tasks::plan::Plan;
use crate::engine::tasks::plan::{Recipe, Submissions};
use crate::engine::waiting::lock::Guard;
use crate::error::Result;

impl Engine {
    /// Enters a task, which begins when `after` has ended. Its request completes with it.
    /// [`Engine::run_tasks`] must follow.
    pub fn enter_task(&self, job: Job, after: Option<TaskId>) -> (Request, TaskId) {
        let mut lane = self.lane.lock();
        let request = lane.task_requests().open_collective(job.context);
        (request, self.tasks.enter(request, job, after))
    }

    /// Makes a persistent request, not started, that is a task each time.
    #[must_use]
    pub fn plan_task(&self, recipe: Recipe) -> Request {
        self.with(|lane| lane.plan(Plan::Task(recipe)))
    }

    /// Starts a persistent request. Source: MPI 5.0, 3.9 and 6.13.
    ///
    /// # Errors
    /// It is not an inactive persistent one, or the operation cannot start.
    pub fn start(&self, request: Request) -> Result<()> {
        let mut lane = self.lane.lock();
        let Some(recipe) = lane.task_requests().recipe(request) else {
            return match lane.start(request) {
                Err(refused) => self.send_with_room(lane, refused, |lane| lane.start(request)),
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
        self.tasks.enter(request, job, None);
        self.advance(&mut lane);
        Ok(())
    }

    /// Lets the tasks go on that can.
    pub fn run_tasks(&self) {
        self.advance(&mut self.lane.lock());
    }

    /// Lets the tasks go on that can; costs a few instructions if none can. Returns true if any has
    /// gone on. The lane is left to others meanwhile.
    #[inline(always)]
    pub(crate) fn advance_if_due(&self, lane: &mut Guard<'_, Lane>) -> bool {
        let is_due = lane.task_requests().has_woken() || self.tasks.has_due();
        is_due && self.advance(lane)
    }

    #[cold]
    fn advance(&self, lane: &mut Guard<'_, Lane>) -> bool {
        if !self.tasks.begin() {
            return false;
        }
        while let Some((number, work)) = self.tasks.next(lane, Runner::Program) {
            lane.unlocked(|| self.tasks.poll(number, work));
        }
        // A request that another thread waits for may have finished.
        self.ring();
        true
    }

    /// Lets the tasks go on for the ticker, which visits the lane: a program that has come back
    /// does it itself.
    pub(crate) fn advance_as_ticker<'a>(&'a self, mut lane: Guard<'a, Lane>) -> bool {
        let is_due = lane.task_requests().has_woken() || self.tasks.has_due();
        if !is_due || !self.tasks.begin() {
            return false;
        }
        let mut has_polled = false;
        while let Some((number, work)) = self.tasks.next(&mut lane, Runner::Ticker) {
            drop(lane);
            self.tasks.poll(number, work);
            has_polled = true;
            match self.lane.visit() {
                Some(again) => lane = again,
                None => {
                    self.tasks.leave();
                    break;
                }
            }
        }
        self.ring();
        has_polled
    }

    /// Returns true if a task may be able to go on: then a thread must not sleep.
    pub(crate) fn has_due_tasks(&self) -> bool {
        self.tasks.has_due()
    }
}
