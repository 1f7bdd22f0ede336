//! The one place that blocks: waiting for descriptors and the clock.

use std::os::fd::BorrowedFd;
use std::time::Instant;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::wire::Stream;

/// What a descriptor belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// A signal has come.
    Signals,
    /// The channel to a rank, by its place on the node.
    Boot(usize),
    /// The channel to a rank that speaks PMI, by its place on the node.
    Pmi(usize),
    /// An output pipe of a rank.
    Rank(usize, Stream),
    /// The input pipe of rank 0.
    RankInput,
    /// The standard output or error of `mpirun`.
    Sink(Stream),
    /// The standard input of `mpirun`.
    Input,
    /// The connection to a remote node.
    Remote(usize),
    /// The srun that starts agents, and what connects because of it.
    Step,
    /// The agent's connection to `mpirun`.
    Server,
    /// The agent's ssh to a host below it, by the number of the node.
    Below(u32),
}

/// The descriptors to wait for in one turn.
#[derive(Default)]
pub struct Interests<'fd> {
    descriptors: Vec<PollFd<'fd>>,
    tokens: Vec<Token>,
}

impl<'fd> Interests<'fd> {
    /// Waits for something to read.
    pub fn readable(&mut self, descriptor: BorrowedFd<'fd>, token: Token) {
        self.add(descriptor, PollFlags::POLLIN, token);
    }

    /// Waits for room to write.
    pub fn writable(&mut self, descriptor: BorrowedFd<'fd>, token: Token) {
        self.add(descriptor, PollFlags::POLLOUT, token);
    }

    /// Waits for the other end to close, nothing else.
    pub fn closed(&mut self, descriptor: BorrowedFd<'fd>, token: Token) {
        self.add(descriptor, PollFlags::empty(), token);
    }

    fn add(&mut self, descriptor: BorrowedFd<'fd>, flags: PollFlags, token: Token) {
        self.descriptors.push(PollFd::new(descriptor, flags));
        self.tokens.push(token);
    }

    /// Blocks until a descriptor is ready or the time has come; returns the tokens of those ready.
    pub fn wait(mut self, until: Option<Instant>) -> Vec<Token> {
        match poll(&mut self.descriptors, timeout(until)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => panic!("poll of {} descriptors: {error}", self.descriptors.len()),
        }
        let is_ready = |fd: &PollFd<'_>| fd.revents().is_some_and(|events| !events.is_empty());
        let pairs = self.descriptors.iter().zip(self.tokens);
        pairs
            .filter(|(fd, _)| is_ready(fd))
            .map(|(_, token)| token)
            .collect()
    }
}

/// Milliseconds until then, rounded up so that the time has come when `poll` returns.
fn timeout(until: Option<Instant>) -> PollTimeout {
    let Some(until) = until else {
        return PollTimeout::NONE;
    };
    let left = until.saturating_duration_since(Instant::now());
    let milliseconds = left.as_micros().div_ceil(1000).min(60_000);
    PollTimeout::from(u16::try_from(milliseconds).expect("at most 60 000"))
}

/// The earlier of two times, where either may be absent.
pub fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    [a, b].into_iter().flatten().min()
}
