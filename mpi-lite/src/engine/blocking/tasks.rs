//! Tasks and persistent requests begin.

use std::sync::{Arc, Weak};

use crate::data::Area;
use crate::engine::Engine;
use crate::engine::blocking::room::send_with_room;
use crate::engine::requests::{Operation, Request};
use crate::engine::tasks::{Job, Purpose, Submissions, TaskId, Tasks};
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
        let is_collective = matches!(job.purpose, Purpose::Collective { .. });
        let operation = Operation::of_task(job.context, is_collective);
        let request = lane.requests_mut().insert(operation);
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
            purpose: Purpose::Collective {
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
