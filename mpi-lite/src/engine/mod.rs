//! Matching, requests, protocol choice, progress and waiting: what moves messages.
//!
//! A [`Lane`] is the state under one lock, and never blocks. The [`Engine`] around it blocks
//! (`wait`, by `wait_policy`), acknowledges while the program computes (`ticker`), and lets
//! operations go on beside the program (`tasks`).

mod at_site;
mod blocking;
pub mod envelope;
mod inbox;
mod lane;
mod outbox;
mod ports;
pub mod protocol;
mod report;
mod requests;
mod still;
mod tasks;
#[cfg(all(test, feature = "sim"))]
mod tests;
mod waiting;

use std::sync::Arc;

pub use at_site::{AtSite, agree, complain};
pub use blocking::{Any, Indexed, Tell};
pub use inbox::matching;
pub use lane::{Counters, Lane, Survey, Traffic};
pub use outbox::{Attached, BUFFERED_OVERHEAD_BYTES, BufferOwner, Buffers};
pub use ports::{Calls, Effects, HEAD_MOST, Handler, Head, OpenPort, Port};
pub use report::Launcher;
pub use report::Report;
pub use report::{CollectiveEvent, Event, MessageEvent, MessageStep, Observer};
pub use report::{CollectiveLeft, Leftovers, MessageLeft};
pub use report::{NameOfTag, Program, Subject};
pub use requests::{Array, Completion, PartitionedReceive, PartitionedSend, Request, Status};
pub(crate) use still::while_still;
pub use tasks::{
    Job, Make, Message, Outcome, Plan, Purpose, ReceivePlan, Recipe, SendPlan, Submissions,
    Submitted, TaskId, Work,
};
pub use waiting::WaitPolicy;
use waiting::{Guard, Lock};
pub use waiting::{Ticker, tick};

use tasks::Tasks;
use waiting::{Doorbells, Shared as _, Until, Waiting};

use crate::clock::{Clock, Instant};
use crate::node::Node;

/// The lane of a process, and how its threads wait for it.
#[derive(Debug)]
pub struct Engine {
    lane: Lock<Lane>,
    waiting: Waiting,
    /// How often a receive looks for its message before it becomes a request.
    looks: u32,
    /// The node, if its ranks share memory.
    node: Option<Arc<Node>>,
}

impl Engine {
    /// An engine around `lane`.
    ///
    /// # Errors
    /// The system has no more file descriptors.
    pub fn new(lane: Lane, clock: Clock, policy: WaitPolicy) -> std::io::Result<Arc<Self>> {
        let doorbells = Doorbells::of(lane.links())?;
        Ok(Arc::new_cyclic(|engine| Self {
            waiting: Waiting::new(doorbells, (clock, policy), Tasks::of(engine)),
            node: lane.node(),
            looks: policy.looks(lane.links().reach_beyond_memory()),
            lane: Lock::new(lane),
        }))
    }

    /// Runs `act` on the lane.
    pub fn with<T>(&self, act: impl FnOnce(&mut Lane) -> T) -> T {
        act(&mut self.lane.lock())
    }

    /// Wakes all threads that sleep: something has changed that one of them may wait for.
    pub fn ring(&self) {
        self.waiting.ring();
    }

    /// Returns the lane, unless somebody has it.
    pub(crate) fn visit(&self) -> Option<Guard<'_, Lane>> {
        self.lane.visit()
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.waiting.now()
    }

    /// Allows several threads inside at once. The thread that made the engine must call it before
    /// another one is inside.
    ///
    /// # Errors
    /// The system has no more file descriptors.
    pub fn allow_threads(&self) -> std::io::Result<()> {
        let doorbell = self.waiting.doorbells().copy()?;
        self.lane.share();
        self.with(|lane| lane.waiters().allow_several(doorbell));
        self.waiting.allow_threads();
        Ok(())
    }

    /// Returns true if several threads may be inside at once.
    #[inline(always)]
    #[must_use]
    pub fn is_threaded(&self) -> bool {
        self.waiting.is_threaded()
    }

    /// Takes turns until `ready` returns something. `subject` is what is waited for, for the report
    /// of a job that hangs.
    #[inline(always)]
    pub fn wait_until<T>(
        &self,
        subject: impl Fn(&Lane) -> Subject,
        ready: impl FnMut(&mut Lane) -> Option<T>,
    ) -> T {
        let lane = self.lane.lock();
        self.waiting
            .wait_whole(lane, |_| Until::Change, subject, ready)
    }

    /// Takes one turn and returns what `look` returns: for the calls that test.
    #[inline]
    pub fn look<T>(&self, look: impl FnOnce(&mut Lane) -> T) -> T {
        self.waiting.look(self.lane.lock(), look)
    }

    /// Delivers what has come, also from peers that never sent before. The number of turns has a
    /// limit, so that it ends.
    pub fn catch_up(&self) {
        self.waiting.catch_up(&mut self.lane.lock());
    }
}

/// Sets when a thread that sleeps must look again at what it waits for, though nothing comes.
pub(crate) fn look_again(lane: &mut Lane, at: Option<Instant>) {
    lane.waiters().look_again(at);
}
