//! What an algorithm needs of a communicator, and how its futures are driven.
//!
//! An algorithm is an `async fn` over [`Peers`]. A blocking call drives its future in place: each
//! leaf blocks in the engine and is ready at its first poll. `tasks` has the peers of a call that
//! goes on beside the program. The tests of `coll` have peers of
//! their own, of threads.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::{Call, Communicator, Sides, TaskPeers};
use crate::data::Buffer;
use crate::engine::{AtSite, Calls};
use crate::error::{Cause, Error, Result};

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

    /// The site where they meet without messages, if they do. A process that comes to an epoch
    /// stays until it is over: the future that does so blocks.
    fn at_site(&self) -> Option<AtSite<'_>> {
        None
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
        Participant::Caller(Caller {
            communicator: self,
            call,
        })
    }
}

impl Caller<'_> {
    fn give_up(&self, error: Error) -> Error {
        let context = self.communicator.context().collective();
        let calls = Calls { context, number: 0 };
        let from = self.communicator.inner.port.present_call();
        self.communicator.give_up((self.call, (calls, from)), error)
    }
}

impl Caller<'_> {
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
/// the program. One type for both: each algorithm is compiled once.
#[derive(Debug)]
pub(crate) enum Participant<'a> {
    Caller(Caller<'a>),
    Task(TaskPeers),
}

impl Participant<'_> {
    fn communicator(&self) -> &Communicator {
        match self {
            Self::Caller(caller) => caller.communicator,
            Self::Task(task) => task.communicator(),
        }
    }

    fn give_up(&self, error: Error) -> Error {
        match self {
            Self::Caller(caller) => caller.give_up(error),
            Self::Task(task) => task.give_up(error),
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

impl Peers for Participant<'_> {
    fn here(&self) -> usize {
        self.communicator().rank() as usize
    }

    fn all(&self) -> usize {
        self.communicator().group().size() as usize
    }

    #[inline]
    fn at_site(&self) -> Option<AtSite<'_>> {
        match self {
            Self::Caller(caller) => caller.communicator.at_site(),
            Self::Task(_) => None,
        }
    }

    async fn send(&self, to: usize, buffer: &Buffer) -> Result<()> {
        match self {
            Self::Caller(caller) => caller.send(to, buffer),
            Self::Task(task) => task.send(to, buffer).await,
        }
    }

    async fn receive(&self, from: usize, buffer: &Buffer) -> Result<()> {
        match self {
            Self::Caller(caller) => caller.receive(from, buffer),
            Self::Task(task) => task.receive(from, buffer).await,
        }
    }

    async fn exchange(&self, send: (usize, &Buffer), receive: (usize, &Buffer)) -> Result<()> {
        match self {
            Self::Caller(caller) => caller.exchange(send, receive),
            Self::Task(task) => task.exchange(send, receive).await,
        }
    }

    async fn exchange_all(
        &self,
        sends: &[(usize, Buffer)],
        receives: &[(usize, Buffer)],
    ) -> Result<()> {
        match self {
            Self::Caller(caller) => caller.exchange_all(sends, receives),
            Self::Task(task) => task.exchange_all(sends, receives).await,
        }
    }
}
