//! Matching, requests, protocol choice, progress and waiting: what moves messages.
//!
//! A [`Lane`] is the state under one lock, and never blocks. The [`Engine`] around it blocks
//! (`wait`, by `wait_policy`), acknowledges while the program computes (`ticker`), and lets
//! operations go on beside the program (`tasks`).

mod at_site;
pub mod envelope;
mod inbox;
mod lane;
mod outbox;
mod ports;
pub mod protocol;
mod report;
mod requests;
mod tasks;
#[cfg(all(test, feature = "sim"))]
mod tests;
mod waiting;

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Once};

pub use at_site::exchange::Blocks;
pub use at_site::{AtSite, agree, complain};
pub use inbox::matching;
pub use lane::{Counters, Lane, Survey};
pub use outbox::attached::{Attached, BUFFERED_OVERHEAD_BYTES, BufferOwner};
pub use ports::{Calls, OpenPort, Port};
pub use report::inquiry::Launcher;
pub use report::leftovers::{CollectiveLeft, Leftovers, MessageLeft};
pub use report::observer::{CollectiveEvent, Event, MessageEvent, MessageStep, Observer};
pub use report::waits::{NameOfTag, Program, Subject};
pub use requests::channel::{PartitionedReceive, PartitionedSend};
pub use requests::completion::{Any, Indexed, Tell};
pub use requests::request::{Array, Completion, Request, Status};
pub use tasks::book::{Job, TaskCall, TaskId};
pub use tasks::plan::{
    Make, Message, Plan, ReceivePlan, Recipe, SendPlan, Submissions, Submitted, Work,
};
use waiting::lock::Lock;
pub use waiting::policy::WaitPolicy;
pub use waiting::ticker::{Ticker, tick};

use report::waits::Waits;
use rustix::event::{EventfdFlags, eventfd};
use tasks::book::Tasks;

use crate::clock::Clock;
use crate::node::Node;
use crate::node::wakeup::Watch;
use crate::transport::Transport;

/// The lane of a process, and how its threads wait for it.
#[derive(Debug)]
pub struct Engine {
    lane: Lock<Lane>,
    clock: Clock,
    policy: WaitPolicy,
    /// How often a receive looks for its message before it becomes a request.
    looks: u32,
    /// What becomes readable when a link has something to do: copies of the links' descriptors.
    doorbells: Vec<OwnedFd>,
    /// Written to when another thread has done what a sleeper waits for.
    own_doorbell: OwnedFd,
    /// The node, if its ranks share memory.
    node: Option<Arc<Node>>,
    /// Several threads of the program may be inside at once: see `lead`.
    is_threaded: AtomicBool,
    /// Written to when the ticker is to end: it never takes the ring of the doorbell from a
    /// sleeper.
    end: OwnedFd,
    /// How the ticker sleeps, if there are local peers that may wake it.
    watch: Option<Watch<'static>>,
    sleepers: AtomicU32,
    tasks: Tasks,
    waits: Waits,
    /// Turns taken by the program's threads.
    turns: AtomicU64,
    is_closed: AtomicBool,
    /// It was said that the program has closed the descriptors.
    closed: Once,
}

/// A descriptor on which threads sleep until another rings it.
fn doorbell() -> std::io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?)
}

impl Engine {
    /// An engine around `lane`.
    ///
    /// # Errors
    /// The system has no more file descriptors.
    pub fn new(lane: Lane, clock: Clock, policy: WaitPolicy) -> std::io::Result<Arc<Self>> {
        let doorbells = lane
            .links
            .iter()
            .filter_map(Transport::wake_on)
            .map(|descriptor| descriptor.try_clone_to_owned())
            .collect::<Result<_, _>>()?;
        let node = lane.node.clone();
        Ok(Arc::new(Self {
            watch: node.as_deref().map(Node::watch),
            node,
            looks: lane.looks(&policy),
            lane: Lock::new(lane),
            clock,
            policy,
            doorbells,
            own_doorbell: doorbell()?,
            is_threaded: AtomicBool::new(false),
            end: doorbell()?,
            sleepers: AtomicU32::new(0),
            tasks: Tasks::default(),
            waits: Waits::default(),
            turns: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
            closed: Once::new(),
        }))
    }

    /// Runs `act` on the lane.
    pub fn with<T>(&self, act: impl FnOnce(&mut Lane) -> T) -> T {
        act(&mut self.lane.lock())
    }

    /// Runs `act` on the lane, unless somebody has it.
    pub fn try_with<T>(&self, act: impl FnOnce(&mut Lane) -> T) -> Option<T> {
        self.lane.visit().map(|mut lane| act(&mut lane))
    }
}
