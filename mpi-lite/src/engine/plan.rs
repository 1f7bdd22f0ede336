//! What operations are to do: sends, receives, and tasks with the desk at which they order.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};

use parking_lot::Mutex;

use super::envelope::{Envelope, Flags};
use super::matching::Pattern;
use super::operation::{Completion, Request};
use crate::data::Area;
use crate::error::Result;
use crate::ids::{Context, Mode, PeerId};
use crate::slab::Key;

/// A send, ready to be started. `to: None` is `MPI_PROC_NULL`.
#[derive(Clone, Debug)]
pub struct SendPlan {
    /// The receiver.
    pub to: Option<PeerId>,
    /// The communicator.
    pub context: Context,
    /// The sender's rank in it.
    pub source: u32,
    /// The tag, checked.
    pub tag: i32,
    /// The mode.
    pub mode: Mode,
    /// What is sent.
    pub area: Area,
}

impl SendPlan {
    #[inline]
    pub(super) fn envelope(&self) -> Envelope {
        Envelope {
            context: self.context,
            source: self.source,
            tag: self.tag,
            flags: Flags::new(self.mode == Mode::Synchronous),
        }
    }
}

/// A receive, ready to be started. `pattern: None` is `MPI_PROC_NULL`.
#[derive(Clone, Debug)]
pub struct ReceivePlan {
    /// Which messages fit.
    pub pattern: Option<Pattern>,
    /// Where the message goes.
    pub area: Area,
}

/// A message that a matched probe took out of the queue. Source: MPI 5.0, 3.8.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Message(pub Key);

/// What a persistent request does each time it is started. Source: MPI 5.0, 3.9.
#[derive(Clone, Debug)]
pub enum Plan {
    /// A send.
    Send(SendPlan),
    /// A receive.
    Receive(ReceivePlan),
    /// A collective operation.
    Task(Recipe),
}

impl Plan {
    pub(super) fn context(&self) -> Option<Context> {
        match self {
            Self::Send(plan) => Some(plan.context),
            Self::Receive(plan) => plan.pattern.map(|pattern| pattern.context),
            Self::Task(recipe) => Some(recipe.context),
        }
    }
}

/// A task's future.
pub type Work = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// Makes the future of a task that works at a desk.
pub type Make = dyn Fn(Desk) -> Work + Send + Sync;

/// What a persistent request does each time it is started: a task.
#[derive(Clone)]
pub struct Recipe {
    /// Of the communicator to which the request belongs.
    pub context: Context,
    /// The task may call functions of the program.
    pub calls_program: bool,
    /// Its future.
    pub make: Arc<Make>,
}

impl fmt::Debug for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Recipe");
        shown
            .field("context", &self.context)
            .finish_non_exhaustive()
    }
}

/// How far an operation is that a task has ordered.
#[derive(Debug)]
pub(super) enum Order {
    /// Nobody has ordered here.
    None,
    Wanted(Plan),
    Started(Request),
    /// The task wants it back, if that is still possible.
    Unwanted(Request),
    Over(Result<Completion>),
}

/// Where a task orders operations of the engine, and finds how they ended.
#[derive(Clone, Debug, Default)]
pub struct Desk(pub(super) Arc<Mutex<Vec<Order>>>);

impl Desk {
    /// Orders an operation; it is started once the task waits for something.
    #[must_use]
    pub fn order(&self, plan: Plan) -> Ordered<'_> {
        let mut orders = self.0.lock();
        let free = orders.iter().position(|order| matches!(order, Order::None));
        let place = free.unwrap_or(orders.len());
        match orders.get_mut(place) {
            Some(order) => *order = Order::Wanted(plan),
            None => orders.push(Order::Wanted(plan)),
        }
        Ordered { desk: self, place }
    }
}

/// An operation that a task has ordered: a future of how it ends. If it is dropped before it ends,
/// the engine still uses the buffer; so a task awaits all that it orders.
#[derive(Debug)]
pub struct Ordered<'a> {
    desk: &'a Desk,
    place: usize,
}

impl Ordered<'_> {
    /// Takes a receive back that no message has matched. It is still to be awaited.
    pub fn withdraw(&self) {
        let order = &mut self.desk.0.lock()[self.place];
        match *order {
            Order::Started(request) => *order = Order::Unwanted(request),
            Order::Wanted(_) => *order = Order::Over(Ok(Completion::NOTHING)),
            _ => {}
        }
    }
}

impl Future for Ordered<'_> {
    type Output = Result<Completion>;

    fn poll(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<Self::Output> {
        let order = &mut self.desk.0.lock()[self.place];
        match core::mem::replace(order, Order::None) {
            Order::Over(ended) => Poll::Ready(ended),
            pending => {
                *order = pending;
                Poll::Pending
            }
        }
    }
}
