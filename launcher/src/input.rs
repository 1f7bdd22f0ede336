//! Carrying our standard input to rank 0 on another host.
//!
//! No more is read than a window ahead of what the rank has taken, and nothing while we are in
//! the background of a terminal: reading would stop us.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::unistd::{getpgrp, isatty, read, tcgetpgrp};
use serde_bytes::ByteBuf;

use crate::poll::{Interests, Token};
use crate::wire::{INPUT_WINDOW, Order};

/// How often a process in the background looks whether it has come to the foreground.
const FOREGROUND_CHECK: Duration = Duration::from_millis(500);

/// Where the input goes, and how much of it may go now.
#[derive(Debug)]
pub struct InputPump {
    /// The node of rank 0; `None` when there is nothing to carry (any more).
    node: Option<usize>,
    descriptor: Option<OwnedFd>,
    is_terminal: bool,
    room: usize,
}

impl InputPump {
    /// A pump to this node, or one that does nothing.
    pub fn new(node: Option<usize>) -> InputPump {
        let descriptor = node.and_then(|_| io::stdin().as_fd().try_clone_to_owned().ok());
        let is_terminal = isatty(io::stdin()).unwrap_or(false);
        InputPump {
            node,
            descriptor,
            is_terminal,
            room: INPUT_WINDOW,
        }
    }

    /// The rank has taken this many bytes.
    pub fn taken(&mut self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(INPUT_WINDOW);
        self.room = self.room.saturating_add(bytes).min(INPUT_WINDOW);
    }

    /// The rank reads no more.
    pub fn close(&mut self) {
        self.descriptor = None;
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

    /// Reads once. Returns the node and what it must be told.
    pub fn read(&mut self) -> Option<(usize, Order)> {
        let node = self.node?;
        let descriptor = self.descriptor.as_ref().filter(|_| self.may_read())?;
        let mut bytes = vec![0; self.room];
        match read(descriptor, &mut bytes) {
            Ok(length) if length > 0 => {
                bytes.truncate(length);
                self.room -= length;
                Some((node, Order::Input(ByteBuf::from(bytes))))
            }
            Err(Errno::EINTR | Errno::EAGAIN) => None,
            _ => {
                self.close();
                Some((node, Order::InputEnd))
            }
        }
    }

    fn may_read(&self) -> bool {
        self.room > 0 && (!self.is_terminal || is_in_foreground())
    }
}

fn is_in_foreground() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
}
