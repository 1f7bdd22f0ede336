//! Carrying our standard input to the ranks that read it and do not have it themselves.
//!
//! No more is read than a window ahead of what the slowest has taken, and nothing while we are in
//! the background of a terminal: reading would stop us.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::unistd::{getpgrp, isatty, read, tcgetpgrp};
use serde_bytes::ByteBuf;

use crate::cli::values::Readers;
use crate::failure::Failure;
use crate::job::place::Place;
use crate::poll::{Interests, Token};
use crate::wire::{INPUT_WINDOW, Input, Order};

/// How often a process in the background looks whether it has come to the foreground.
const FOREGROUND_CHECK: Duration = Duration::from_millis(500);

impl Readers {
    /// Checks that the rank that reads is one of `size`.
    ///
    /// # Errors
    ///
    /// A usage failure that names both.
    pub fn check(self, size: u32) -> Result<(), Failure> {
        match self {
            Readers::One(rank) if rank >= size => Err(Failure::usage(format!(
                "--stdin {rank}: the job has no such rank, but 0 to {}",
                size.saturating_sub(1)
            ))),
            _ => Ok(()),
        }
    }

    /// Where the ranks of a place read from, in a job of `size` ranks.
    pub fn input_of(self, place: &Place, size: u32) -> Input {
        match self {
            Readers::All if size > 1 => Input::ForwardedToAll,
            Readers::All => Readers::One(0).input_of(place, size),
            Readers::One(rank) if !place.ranks.contains(&rank) => Input::Nothing,
            Readers::One(rank) if place.is_here => Input::Inherited(rank),
            Readers::One(rank) => Input::Forwarded(rank),
            Readers::None => Input::Nothing,
        }
    }
}

/// A node with ranks that read.
#[derive(Debug)]
struct Target {
    node: usize,
    /// How many bytes it may be sent now.
    room: usize,
}

/// Where the input goes, and how much of it may go now.
#[derive(Debug)]
pub struct InputPump {
    /// None when there is nothing to carry (any more).
    targets: Vec<Target>,
    descriptor: Option<OwnedFd>,
    is_terminal: bool,
}

impl InputPump {
    /// A pump to these nodes.
    pub fn new(nodes: Vec<usize>) -> InputPump {
        let own = || io::stdin().as_fd().try_clone_to_owned().ok();
        let descriptor = if nodes.is_empty() { None } else { own() };
        let is_terminal = isatty(io::stdin()).unwrap_or(false);
        let target = |node| Target {
            node,
            room: INPUT_WINDOW,
        };
        InputPump {
            targets: nodes.into_iter().map(target).collect(),
            descriptor,
            is_terminal,
        }
    }

    /// The ranks of a node have taken this many bytes.
    pub fn taken(&mut self, node: usize, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(INPUT_WINDOW);
        for target in self.targets.iter_mut().filter(|it| it.node == node) {
            target.room = target.room.saturating_add(bytes).min(INPUT_WINDOW);
        }
    }

    /// The ranks of a node read no more.
    pub fn close(&mut self, node: usize) {
        self.targets.retain(|target| target.node != node);
        if self.targets.is_empty() {
            self.descriptor = None;
        }
    }

    /// Names our input if something may be read.
    pub fn interests<'a>(&'a self, interests: &mut Interests<'a>) {
        if let Some(descriptor) = self.descriptor.as_ref().filter(|_| self.may_read()) {
            interests.readable(descriptor.as_fd(), Token::Input);
        }
    }

    /// When to look again whether something may be read.
    pub fn wake_at(&self) -> Option<Instant> {
        let waits = self.descriptor.is_some() && self.is_terminal && !is_in_foreground();
        waits.then(|| Instant::now() + FOREGROUND_CHECK)
    }

    /// Reads once. Returns the order and the nodes that it is for.
    pub fn read(&mut self) -> Option<(Vec<usize>, Order)> {
        let descriptor = self.descriptor.as_ref().filter(|_| self.may_read())?;
        let mut bytes = vec![0; self.room()];
        let order = match read(descriptor, &mut bytes) {
            Ok(length) if length > 0 => {
                bytes.truncate(length);
                for target in &mut self.targets {
                    target.room -= length;
                }
                Order::Input(ByteBuf::from(bytes))
            }
            Err(Errno::EINTR | Errno::EAGAIN) => return None,
            _ => {
                self.descriptor = None;
                Order::InputEnd
            }
        };
        let nodes = self.targets.iter().map(|target| target.node);
        Some((nodes.collect(), order))
    }

    /// How much the slowest node may be sent.
    fn room(&self) -> usize {
        let rooms = self.targets.iter().map(|target| target.room);
        rooms.min().unwrap_or(0)
    }

    fn may_read(&self) -> bool {
        self.room() > 0 && (!self.is_terminal || is_in_foreground())
    }
}

fn is_in_foreground() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
}
