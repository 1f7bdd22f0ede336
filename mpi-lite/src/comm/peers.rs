//! What an algorithm needs of a communicator, and how its futures are driven.
//!
//! An algorithm is an `async fn` over [`Peers`]. A blocking call drives its future in place: each
//! leaf blocks in the engine and is ready at its first poll. `tasks` has the peers of a call that
//! goes on beside the program. The tests of `coll` have peers of
//! their own, of threads.

use std::borrow::Cow;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::{Call, Communicator, Nodes, Sides, TaskPeers};
use crate::config::Limits;
use crate::data::Buffer;
use crate::engine::{AtSite, Calls};
use crate::error::{Cause, Class, Error, Result};

/// The processes of a communicator, seen from one of them.
///
/// Messages between two processes keep their order. A send may wait for its receive, so an
/// algorithm never sends around in a circle: there it exchanges.
pub trait Peers: Sync {
    /// This process, `0..size`.
    fn here(&self) -> usize;

    /// How many there are.
    fn all(&self) -> usize;

    /// Sends `buffer` to rank `to`; ready when it may be reused.
    fn send(&self, to: usize, buffer: &Buffer) -> impl Future<Output = Result<()>> + Send;

    /// Receives into `buffer` from rank `from`.
    fn receive(&self, from: usize, buffer: &Buffer) -> impl Future<Output = Result<()>> + Send;

    /// Both at once.
    fn exchange(
        &self,
        send: (usize, &Buffer),
        receive: (usize, &Buffer),
    ) -> impl Future<Output = Result<()>> + Send;

    /// Sends all of `sends` and receives all of `receives`, in any order of time. Two messages
    /// between the same processes match in the order in which they are listed.
    fn exchange_all(
        &self,
        sends: &[(usize, Buffer)],
        receives: &[(usize, Buffer)],
    ) -> impl Future<Output = Result<()>> + Send;

    /// Up to which sizes they take which algorithm: the same for all.
    fn limits(&self) -> Limits {
        Limits::MEASURED
    }

    /// The site where they meet without messages, if they do. A process that comes to an epoch
    /// stays until it is over: the future that does so blocks.
    fn at_site(&self) -> Option<AtSite<'_>> {
        None
    }

    /// Makes a call that may block, such as one to the file system: in a blocking call in place, in
    /// one that goes on beside the program on a thread for that.
    fn aside<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> impl Future<Output = Result<T>> + Send {
        async { call() }
    }

    /// The rank `by` after this one, around.
    fn after(&self, by: usize) -> usize {
        (self.here() + by) % self.all()
    }

    /// The rank `by` before this one, around; `by` is at most the number of processes.
    fn before(&self, by: usize) -> usize {
        (self.here() + self.all() - by) % self.all()
    }
}

/// All processes of a communicator, of which some may carry out a step of an operation among
/// themselves.
pub trait Everyone: Peers {
    /// Some of them. They have ranks of their own.
    type Part<'a>: Peers + Send
    where
        Self: 'a;

    /// The processes of these ranks, in this order. `None` if this process is not one of them.
    fn part<'a>(&'a self, ranks: impl Into<Cow<'a, [usize]>>) -> Option<Self::Part<'a>>;

    /// Which of them share a node, if they are on several nodes and some do. All of them get the
    /// same.
    fn nodes(&self) -> Option<&Nodes>;
}

/// The number of processes of a communicator, and this process's rank.
#[derive(Clone, Copy, Debug)]
pub struct Members {
    pub(crate) here: usize,
    pub(crate) all: usize,
}

impl Members {
    /// Checks a root. Returns true if it is this process.
    #[inline]
    pub(crate) fn is_root(self, root: i32) -> Result<bool> {
        match usize::try_from(root) {
            Ok(rank) if rank < self.all => Ok(rank == self.here),
            _ => Err(self.no_root(root)),
        }
    }

    #[cold]
    fn no_root(self, root: i32) -> Error {
        let size = self.all as u32;
        Cause::Root { root, size }.into()
    }
}

/// Runs the future of a blocking call: in place, polled once, without allocation.
#[inline]
pub(crate) fn drive<T>(future: impl Future<Output = T>) -> T {
    let future = pin!(future);
    match future.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("a leaf of a blocking call is ready at once"),
    }
}

/// A process of a communicator in one of its blocking calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller<'a> {
    communicator: &'a Communicator,
    call: Call,
}

impl Communicator {
    /// This process and the others, for the check of an operation's arguments.
    #[inline]
    pub(crate) fn members(&self) -> Members {
        Members {
            here: self.rank() as usize,
            all: self.size() as usize,
        }
    }

    /// The processes of both sides of this inter-communicator in a call, whose arguments are
    /// checked. `local` is this side.
    pub(crate) fn sides<'a>(&'a self, local: &'a Self, call: Call) -> Sides<Participant<'a>> {
        let (local, remote) = (local.within(call), self.within(call));
        Sides { local, remote }
    }

    /// This process in a call, whose arguments are checked.
    #[inline]
    pub(crate) fn within(&self, call: Call) -> Participant<'_> {
        self.inner.port.count_call();
        let caller = Caller {
            communicator: self,
            call,
        };
        let driver = Driver::Caller(caller);
        Participant { driver, part: None }
    }
}

impl Caller<'_> {
    fn give_up(&self, error: Error) -> Error {
        let context = self.communicator.context().collective();
        let calls = Calls { context, number: 0 };
        let from = self.communicator.inner.port.present_call();
        self.communicator.give_up((self.call, (calls, from)), error)
    }

    fn send(&self, to: usize, buffer: &Buffer) -> Result<()> {
        let communicator = self.communicator;
        communicator
            .send_in_collective(buffer.clone(), to, self.call)
            .map_err(|error| self.give_up(error))
    }

    fn receive(&self, from: usize, buffer: &Buffer) -> Result<()> {
        let communicator = self.communicator;
        communicator
            .recv_in_collective(buffer.clone(), from, self.call)
            .map_err(|error| self.give_up(error))
    }

    fn exchange(
        &self,
        (to, send): (usize, &Buffer),
        (from, receive): (usize, &Buffer),
    ) -> Result<()> {
        let (send, receive) = ((send.clone(), to), (receive.clone(), from));
        self.communicator
            .exchange_in_collective(send, receive, self.call)
            .map_err(|error| self.give_up(error))
    }

    fn exchange_all(&self, sends: &[(usize, Buffer)], receives: &[(usize, Buffer)]) -> Result<()> {
        self.communicator
            .exchange_all_in_collective(sends, receives, self.call)
            .map_err(|error| self.give_up(error))
    }
}

/// A process of a communicator in a collective: in a blocking call, or in one that goes on beside
/// the program; among all its processes, or some. One type for all: each algorithm is compiled
/// once.
#[derive(Clone, Debug)]
pub(crate) struct Participant<'a> {
    driver: Driver<'a>,
    part: Option<Selection<'a>>,
}

/// Who makes a collective go on.
#[derive(Clone, Copy, Debug)]
enum Driver<'a> {
    Caller(Caller<'a>),
    Task(&'a TaskPeers),
}

/// Some ranks, by their rank among themselves.
#[derive(Clone, Debug)]
struct Selection<'a> {
    ranks: Cow<'a, [usize]>,
    here: usize,
}

impl<'a> Participant<'a> {
    /// A process in a collective that goes on beside the program.
    pub(super) fn of_task(task: &'a TaskPeers) -> Self {
        let driver = Driver::Task(task);
        Self { driver, part: None }
    }

    fn communicator(&self) -> &Communicator {
        match self.driver {
            Driver::Caller(caller) => caller.communicator,
            Driver::Task(task) => task.communicator(),
        }
    }

    /// The rank in the communicator.
    fn rank(&self, rank: usize) -> usize {
        self.part.as_ref().map_or(rank, |part| part.ranks[rank])
    }

    /// The messages with ranks of the communicator.
    fn in_whole<'b>(&self, messages: &'b [(usize, Buffer)]) -> Cow<'b, [(usize, Buffer)]> {
        if self.part.is_none() {
            return Cow::Borrowed(messages);
        }
        let messages = messages.iter();
        let named = messages.map(|(rank, buffer)| (self.rank(*rank), buffer.clone()));
        named.collect()
    }

    /// What an operation fails with. If no other process can see that, tells them.
    #[cold]
    pub(crate) fn fail(&self, error: Error) -> Error {
        match error.class() {
            Class::NoMem => self.give_up(error),
            _ => error,
        }
    }

    fn give_up(&self, error: Error) -> Error {
        match self.driver {
            Driver::Caller(caller) => caller.give_up(error),
            Driver::Task(task) => task.give_up(error),
        }
    }
}

impl Sides<Participant<'_>> {
    /// Tells the processes of both sides that this one has failed. Returns the error.
    #[cold]
    pub(crate) fn give_up(&self, error: Error) -> Error {
        self.remote.give_up(self.local.give_up(error))
    }
}

impl Everyone for Participant<'_> {
    type Part<'a>
        = Participant<'a>
    where
        Self: 'a;

    fn part<'a>(&'a self, ranks: impl Into<Cow<'a, [usize]>>) -> Option<Participant<'a>> {
        let ranks = ranks.into();
        let here = ranks.iter().position(|&rank| rank == self.here())?;
        let part = Some(Selection { ranks, here });
        let driver = self.driver;
        Some(Participant { driver, part })
    }

    fn nodes(&self) -> Option<&Nodes> {
        self.communicator().nodes()
    }
}

impl Peers for Participant<'_> {
    fn here(&self) -> usize {
        match &self.part {
            Some(part) => part.here,
            None => self.communicator().rank() as usize,
        }
    }

    fn all(&self) -> usize {
        match &self.part {
            Some(part) => part.ranks.len(),
            None => self.communicator().group().size() as usize,
        }
    }

    fn limits(&self) -> Limits {
        let engine = self.communicator().engine();
        engine.with(|lane| lane.settings().limits)
    }

    fn at_site(&self) -> Option<AtSite<'_>> {
        match (self.driver, &self.part) {
            (Driver::Caller(caller), None) => caller.communicator.at_site(),
            _ => None,
        }
    }

    async fn aside<T: Send + 'static>(
        &self,
        call: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        match self.driver {
            Driver::Caller(_) => call(),
            Driver::Task(task) => task.aside(call).await,
        }
    }

    async fn send(&self, to: usize, buffer: &Buffer) -> Result<()> {
        let to = self.rank(to);
        match self.driver {
            Driver::Caller(caller) => caller.send(to, buffer),
            Driver::Task(task) => task.send(to, buffer).await,
        }
    }

    async fn receive(&self, from: usize, buffer: &Buffer) -> Result<()> {
        let from = self.rank(from);
        match self.driver {
            Driver::Caller(caller) => caller.receive(from, buffer),
            Driver::Task(task) => task.receive(from, buffer).await,
        }
    }

    async fn exchange(
        &self,
        (to, outgoing): (usize, &Buffer),
        (from, incoming): (usize, &Buffer),
    ) -> Result<()> {
        let (send, receive) = ((self.rank(to), outgoing), (self.rank(from), incoming));
        match self.driver {
            Driver::Caller(caller) => caller.exchange(send, receive),
            Driver::Task(task) => task.exchange(send, receive).await,
        }
    }

    async fn exchange_all(
        &self,
        sends: &[(usize, Buffer)],
        receives: &[(usize, Buffer)],
    ) -> Result<()> {
        let (sends, receives) = (self.in_whole(sends), self.in_whole(receives));
        match self.driver {
            Driver::Caller(caller) => caller.exchange_all(&sends, &receives),
            Driver::Task(task) => task.exchange_all(&sends, &receives).await,
        }
    }
}
