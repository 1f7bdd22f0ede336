//! Operations that go on beside the program: futures, polled when a request of theirs has finished.
//!
//! A task owns requests, never the lane. It puts its sends and receives into its [`Submissions`].
//! The thread that holds the lane starts them, and puts their results there. A task is polled with
//! the lane unlocked, since it may run an operator of the program. One thread at a time polls: a
//! thread of the program that waits or tests, or the ticker. The ticker polls no task that calls
//! the program.
//!
//! There are two locks, the lane's and the one here; a thread that takes both takes the lane's
//! first. Decision 0042.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{self, Poll, Waker};

use parking_lot::Mutex;

use crate::engine::lane::Lane;
use crate::engine::requests::{Completion, Request, Status};
use crate::engine::tasks::calls::{Call, Calls};
use crate::engine::tasks::plan::{Carry, Plan, Submissions, Work};
use crate::error::{Cause, Result};
use crate::ids::Context;
use crate::slab::Slab;

/// The name of a task. It is stale once the task has ended.
#[derive(Clone, Copy, Debug)]
pub struct TaskId {
    number: u32,
    serial: u64,
}

/// How far a task is.
enum Stage {
    /// To be polled for the first time.
    New(Work),
    /// It waits for what it has submitted.
    Waiting(Work),
    /// A thread polls it.
    Polled,
    /// It is over, and its request is still to be finished.
    Ended(Result<u64>),
}

struct Task {
    stage: Stage,
    submissions: Submissions,
    /// The request of the program.
    request: Request,
    calls_program: bool,
    purpose: Purpose,
    /// Of the communicator.
    context: Context,
    serial: u64,
    /// It is in the queue of tasks that may be able to go on.
    is_due: bool,
    /// It is among the tasks that wait for a condition.
    is_looking: bool,
    /// The task that begins when this one has ended.
    follower: Option<u32>,
}

impl Task {
    /// Tells who observes collectives that one begins or ends.
    fn tell(&self, lane: &Lane, is_end: bool) {
        if let Purpose::Collective { tag, .. } = self.purpose {
            let watch = lane.view().watch();
            watch.note_collective(is_end, tag, self.context);
        }
    }
}

#[derive(Default)]
struct Book {
    tasks: Slab<Task>,
    due: VecDeque<u32>,
    /// Those that wait for a condition.
    looking: Vec<u32>,
    next_serial: u64,
    /// A thread polls tasks.
    is_running: bool,
}

/// All tasks of an engine.
pub(crate) struct Tasks {
    book: Mutex<Book>,
    calls: Calls,
    /// Each call that has not returned has a clone.
    calls_under_way: Arc<()>,
    /// Tells the engine that a call of this task has returned.
    has_called: HasCalled,
    /// A task may be able to go on, or waits for a condition. Read without the lock. A thread that
    /// sets it looks for sleepers after that, and a thread that is about to sleep says so and then
    /// reads it: so that one of the two sees the other, all of this is in one order (`SeqCst`).
    needs_look: AtomicBool,
}

/// Called on another thread when a call of this task has returned.
pub(super) type HasCalled = Arc<dyn Fn(TaskId) + Send + Sync>;

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let book = self.book.lock();
        let (tasks, due) = (book.tasks.len(), book.due.len());
        let mut shown = f.debug_struct("Tasks");
        shown.field("tasks", &tasks).field("due", &due).finish()
    }
}

/// The kind of thread that polls tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runner {
    Program,
    Ticker,
}

impl Book {
    fn note_due(&mut self, number: u32) {
        if let Some(task) = self.tasks.get_mut(number)
            && !task.is_due
        {
            task.is_due = true;
            self.due.push_back(number);
        }
    }

    /// Takes the next task off the queue that `runner` may poll.
    fn next(&mut self, runner: Runner) -> Option<u32> {
        let tasks = &self.tasks;
        let is_for = |&number: &u32| {
            let task = tasks.get(number).expect("what is due has not ended");
            runner == Runner::Program || !task.calls_program
        };
        let place = self.due.iter().position(is_for)?;
        let number = self.due.remove(place)?;
        let task = self.tasks.get_mut(number).expect("just found");
        task.is_due = false;
        Some(number)
    }

    /// Asks the tasks that wait for a condition. Returns true if a task may be able to go on.
    fn look_again(&mut self) -> bool {
        for number in core::mem::take(&mut self.looking) {
            let Some(task) = self.tasks.get_mut(number) else {
                continue;
            };
            if task.submissions.look_again() {
                task.is_looking = false;
                self.note_due(number);
            } else {
                task.is_looking = task.submissions.has_look();
                self.looking.extend(task.is_looking.then_some(number));
            }
        }
        !self.due.is_empty()
    }

    /// Does for a task what needs the lane. Returns its future if it must be polled.
    fn serve(&mut self, tasks: &Tasks, lane: &mut Lane, number: u32) -> Option<Work> {
        let task = self.tasks.get_mut(number).expect("it has not ended");
        match core::mem::replace(&mut task.stage, Stage::Polled) {
            Stage::New(work) => {
                task.tell(lane, false);
                Some(work)
            }
            Stage::Waiting(work) => {
                let serial = task.serial;
                let task_id = TaskId { number, serial };
                let mut carrier = Carrier {
                    lane,
                    tasks,
                    task: task_id,
                };
                if task.submissions.serve(&mut carrier) {
                    return Some(work);
                }
                if !task.is_looking && task.submissions.has_look() {
                    task.is_looking = true;
                    self.looking.push(number);
                }
                task.stage = Stage::Waiting(work);
                None
            }
            Stage::Ended(result) => {
                let (request, follower) = (task.request, task.follower);
                task.tell(lane, true);
                self.tasks.discard(number);
                let status = Status {
                    bytes: *result.as_ref().unwrap_or(&0),
                    ..Status::EMPTY
                };
                lane.requests_mut().finish(request, status, result.err());
                if let Some(follower) = follower {
                    self.note_due(follower);
                }
                None
            }
            Stage::Polled => None,
        }
    }
}

impl Tasks {
    pub(crate) fn new(has_called: HasCalled) -> Self {
        Self {
            book: Mutex::default(),
            calls: Calls::default(),
            calls_under_way: Arc::default(),
            has_called,
            needs_look: AtomicBool::new(false),
        }
    }

    /// Returns true if a task may be able to go on that no thread polls, or waits for a condition.
    #[inline]
    pub(super) fn needs_look(&self) -> bool {
        self.needs_look.load(Ordering::SeqCst)
    }

    /// Returns true if a task may be able to go on: asks those that wait for a condition.
    pub(crate) fn look_again(&self) -> bool {
        self.needs_look() && self.book.lock().look_again()
    }

    /// A call of this task has returned.
    pub(crate) fn note_called(&self, id: TaskId) {
        let book = &mut *self.book.lock();
        let task = book.tasks.get(id.number);
        if task.is_some_and(|task| task.serial == id.serial) {
            book.note_due(id.number);
            self.needs_look.store(true, Ordering::SeqCst);
        }
    }

    /// Returns true if a task waits for a call on another thread.
    pub(crate) fn has_calls(&self) -> bool {
        Arc::strong_count(&self.calls_under_way) > 1
    }

    /// Ends the threads that make calls, once their calls have returned.
    pub(crate) fn end_calls(&self) {
        self.calls.end();
    }

    /// Enters a new task. It begins when `after` has ended, or at once if there is none.
    pub(crate) fn enter(&self, request: Request, job: Job, after: Option<TaskId>) -> TaskId {
        let book = &mut *self.book.lock();
        let serial = book.next_serial;
        book.next_serial += 1;
        let number = book.tasks.insert(Task {
            stage: Stage::New(job.work),
            submissions: job.submissions,
            request,
            calls_program: job.calls_program,
            purpose: job.purpose,
            context: job.context,
            serial,
            is_due: false,
            is_looking: false,
            follower: None,
        });
        let before = after.and_then(|id| {
            let task = book.tasks.get_mut(id.number);
            task.filter(|task| task.serial == id.serial)
        });
        match before {
            Some(before) => before.follower = Some(number),
            None => {
                book.note_due(number);
                self.needs_look.store(true, Ordering::SeqCst);
            }
        }
        TaskId { number, serial }
    }

    /// What this request of the program is for, if it is that of a task.
    pub(crate) fn purpose_of(&self, request: Request) -> Option<Purpose> {
        let book = self.book.lock();
        let found = book.tasks.iter().find(|(_, task)| task.request == request);
        found.map(|(_, task)| task.purpose)
    }

    /// Makes this thread poll, unless another one does. Returns true if it polls.
    pub(crate) fn begin(&self) -> bool {
        let book = &mut *self.book.lock();
        !core::mem::replace(&mut book.is_running, true)
    }

    /// Returns the next task to be polled, and its future. `None`: this thread polls no more.
    pub(crate) fn next(&self, lane: &mut Lane, runner: Runner) -> Option<(u32, Work)> {
        let book = &mut *self.book.lock();
        loop {
            for number in lane.requests_mut().drain_woken() {
                book.note_due(number);
            }
            let Some(number) = book.next(runner) else {
                self.end(book);
                return None;
            };
            if let Some(work) = book.serve(self, lane, number) {
                return Some((number, work));
            }
        }
    }

    fn end(&self, book: &mut Book) {
        book.is_running = false;
        let needs_look = !book.due.is_empty() || !book.looking.is_empty();
        self.needs_look.store(needs_look, Ordering::SeqCst);
    }

    /// Stops polling by this thread before all is done.
    pub(crate) fn leave(&self) {
        self.end(&mut self.book.lock());
    }

    /// Polls a task. The next thread that holds the lane serves it.
    pub(crate) fn poll(&self, number: u32, mut work: Work) {
        let polled = work
            .as_mut()
            .poll(&mut task::Context::from_waker(Waker::noop()));
        let stage = match polled {
            Poll::Pending => Stage::Waiting(work),
            Poll::Ready(result) => {
                // Dropped here, with no lock held: it may own much.
                drop(work);
                Stage::Ended(result)
            }
        };
        let book = &mut *self.book.lock();
        book.tasks.get_mut(number).expect("it has not ended").stage = stage;
        book.note_due(number);
    }
}

/// What a task is for, as a report tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A collective.
    Collective {
        /// The tag of its messages, which names it.
        tag: i32,
        /// Its number among the nonblocking collectives of its communicator; 0 of a persistent one.
        number: u32,
    },
    /// Something else. These words follow "waits for".
    Other(&'static str),
}

/// A task to be started.
pub struct Job {
    /// Of the communicator to which its request belongs.
    pub context: Context,
    /// It may call functions of the program.
    pub calls_program: bool,
    /// What it is for.
    pub purpose: Purpose,
    /// Where its future submits operations.
    pub submissions: Submissions,
    /// The future itself.
    pub work: Work,
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Job");
        shown
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}

/// Carries out what a task submits: messages with the lane, calls with other threads.
struct Carrier<'a> {
    lane: &'a mut Lane,
    tasks: &'a Tasks,
    task: TaskId,
}

impl Carry for Carrier<'_> {
    fn start(&mut self, plan: &Plan) -> Result<Request> {
        let request = match plan {
            Plan::Send(plan) => self.lane.send(plan)?,
            Plan::Receive(plan) => self.lane.receive(plan.clone()),
            Plan::Task(_) | Plan::Partitioned(_) => unreachable!("a task submits messages"),
        };
        if let Some(operation) = self.lane.requests_mut().get_mut(request) {
            operation.give_to_task(self.task.number);
        }
        Ok(request)
    }

    fn cancel(&mut self, request: Request) -> Result<()> {
        self.lane.cancel(request)
    }

    fn take(&mut self, request: Request) -> Result<Option<Completion>> {
        self.lane.take(Some(request))
    }

    fn call(&mut self, call: Call) -> Result<()> {
        let (task, has_called) = (self.task, Arc::clone(&self.tasks.has_called));
        let under_way = Arc::clone(&self.tasks.calls_under_way);
        let call = move || {
            call();
            drop(under_way);
            has_called(task);
        };
        let started = self.tasks.calls.run(Box::new(call));
        started.map_err(|error| {
            let why = format!("no thread for a call beside the program: {error}");
            Cause::System(why.into()).into()
        })
    }
}
