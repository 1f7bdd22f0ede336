//! What an algorithm needs of a communicator. The tests have their own, of threads.

use super::choose::Nearness;
use crate::comm::{Call, Communicator, Operation};
use crate::data::Buffer;
use crate::engine::Circle;
use crate::error::{Cause, Result};

/// The processes of a communicator, seen from one of them.
///
/// Messages between two processes keep their order. A send may wait for its receive, so an
/// algorithm never sends around in a circle: there it exchanges.
pub(super) trait Peers {
    /// This process, `0..size`.
    fn here(&self) -> usize;

    /// How many there are.
    fn all(&self) -> usize;

    /// Sends `buffer` to rank `to` and waits until it may be reused.
    fn send(&self, to: usize, buffer: &Buffer) -> Result<()>;

    /// Receives into `buffer` from rank `from`.
    fn receive(&self, from: usize, buffer: &Buffer) -> Result<()>;

    /// Both at once.
    fn exchange(&self, send: (usize, &Buffer), receive: (usize, &Buffer)) -> Result<()>;

    /// Where they meet without messages, if they do.
    fn circle(&self) -> Option<Circle<'_>> {
        None
    }

    /// How near they are to each other. All of them know the same.
    fn nearness(&self) -> Nearness {
        match self.circle() {
            None => Nearness::Apart,
            Some(circle) if circle.meeting().is_crowded() => Nearness::Crowded,
            Some(_) => Nearness::Beside,
        }
    }

    /// The rank `by` after this one, around.
    fn after(&self, by: usize) -> usize {
        (self.here() + by) % self.all()
    }

    /// The rank `by` before this one, around; `by` is at most the number of processes.
    fn before(&self, by: usize) -> usize {
        (self.here() + self.all() - by) % self.all()
    }

    /// Checks a root.
    fn check_root(&self, root: i32) -> Result<usize> {
        let size = self.all();
        usize::try_from(root)
            .ok()
            .filter(|&root| root < size)
            .ok_or_else(|| {
                let size = size as u32;
                Cause::Root { root, size }.into()
            })
    }
}

/// A process of a communicator in one of its calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller<'a> {
    communicator: &'a Communicator,
    call: Call,
}

impl Communicator {
    /// This process in an operation without a root.
    pub(super) fn within(&self, operation: Operation) -> Caller<'_> {
        Caller {
            communicator: self,
            call: Call::of_all(operation),
        }
    }

    /// This process in an operation with a root.
    pub(super) fn within_rooted(&self, operation: Operation, root: i32) -> Caller<'_> {
        Caller {
            communicator: self,
            call: Call::rooted(operation, root),
        }
    }
}

impl Peers for Caller<'_> {
    fn here(&self) -> usize {
        self.communicator.rank() as usize
    }

    fn all(&self) -> usize {
        self.communicator.size() as usize
    }

    fn circle(&self) -> Option<Circle<'_>> {
        self.communicator.circle()
    }

    fn send(&self, to: usize, buffer: &Buffer) -> Result<()> {
        let communicator = self.communicator;
        communicator.send_in_collective(buffer.clone(), to, self.call)
    }

    fn receive(&self, from: usize, buffer: &Buffer) -> Result<()> {
        let communicator = self.communicator;
        communicator.recv_in_collective(buffer.clone(), from, self.call)
    }

    fn exchange(&self, (to, send): (usize, &Buffer), receive: (usize, &Buffer)) -> Result<()> {
        let (from, receive) = receive;
        let (send, receive) = ((send.clone(), to), (receive.clone(), from));
        self.communicator
            .exchange_in_collective(send, receive, self.call)
    }
}
