//! A program that reaches other hosts, as a child: its three streams, and what it says when it
//! fails.
#![expect(unsafe_code, reason = "sets up the child between fork and exec")]

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::WaitStatus;
use nix::unistd::{Pid, getpid, read, write};

use super::fate::Fate;
use crate::node::{Inherited, set_nonblocking};
use crate::poll::{Interests, Token};

/// How often a stream is read before others have their turn.
const READS_PER_TURN: usize = 16;

/// A running program that reaches other hosts: ssh, or srun.
#[derive(Debug)]
pub(super) struct Process {
    pid: Pid,
    input: Option<OwnedFd>,
    output: Option<OwnedFd>,
    error: Option<OwnedFd>,
    fate: Fate,
}

impl Process {
    /// Starts a command whose streams are not set yet. It gets pipes.
    ///
    /// # Errors
    ///
    /// The system's reason why the program cannot be executed.
    pub(super) fn spawn(mut command: Command, inherited: Inherited) -> io::Result<Process> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Its own group: an interrupt of the terminal is for us to forward.
        command.process_group(0);
        set_up(&mut command, inherited);
        let mut child = command.spawn()?;
        let input = child.stdin.take().map(OwnedFd::from);
        let output = child.stdout.take().map(OwnedFd::from);
        let error = child.stderr.take().map(OwnedFd::from);
        for descriptor in [&input, &output, &error].into_iter().flatten() {
            set_nonblocking(descriptor)?;
        }
        let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid fits in i32"));
        Ok(Process {
            pid,
            input,
            output,
            error,
            fate: Fate::default(),
        })
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    pub(super) fn set_ended(&mut self, status: WaitStatus) {
        self.fate.set_ended(status);
    }

    /// Names the streams to wait for.
    pub(super) fn interests<'a>(
        &'a self,
        has_outgoing: bool,
        token: Token,
        interests: &mut Interests<'a>,
    ) {
        for descriptor in [&self.output, &self.error].into_iter().flatten() {
            interests.readable(descriptor.as_fd(), token);
        }
        if has_outgoing {
            self.input_interest(token, interests);
        }
    }

    /// Names the input to wait for.
    pub(super) fn input_interest<'a>(&'a self, token: Token, interests: &mut Interests<'a>) {
        if let Some(input) = &self.input {
            interests.writable(input.as_fd(), token);
        }
    }

    /// Writes as much as there is room for.
    pub(super) fn write(&mut self, outgoing: &mut VecDeque<u8>) {
        if let Some(input) = &self.input {
            write_all(input, outgoing);
        }
    }

    /// Ends the agent's input: there will be no more orders.
    pub(super) fn close_input(&mut self) {
        self.input = None;
    }

    /// Reads what there is of both streams. Returns the output.
    pub(super) fn read(&mut self) -> Vec<u8> {
        let fate = &mut self.fate;
        read_all(&mut self.error, |bytes| fate.complain(bytes));
        let mut received = Vec::new();
        read_all(&mut self.output, |bytes| received.extend_from_slice(bytes));
        received
    }

    /// Returns true if there is nothing more to read.
    pub(super) fn is_at_end(&self) -> bool {
        self.output.is_none()
    }

    /// Returns true if there is nothing more to read and the exit status is known.
    pub(super) fn is_gone(&self) -> bool {
        self.output.is_none() && self.fate.has_ended()
    }

    /// What became of it.
    pub(super) fn fate(&self) -> &Fate {
        &self.fate
    }

    /// Asks it to end.
    pub(super) fn terminate(&self) {
        if !self.fate.has_ended() {
            kill(self.pid, Signal::SIGTERM).ok();
        }
    }

    /// Returns true if it has ended, though its streams may go on.
    pub(super) fn has_ended(&self) -> bool {
        self.fate.has_ended()
    }
}

/// Arranges that the child dies with us, has the limits that we were started with, and hears our
/// signals.
fn set_up(command: &mut Command, inherited: Inherited) {
    let launcher = getpid();
    let inherited = inherited.for_own_programs();
    let set_up = move || Ok(inherited.give_back(launcher)?);
    // SAFETY: the closure runs in a forked child; it makes system calls that are safe there, and
    // neither allocates nor takes a lock, which another thread might hold.
    unsafe { command.pre_exec(set_up) };
}

impl Drop for Process {
    /// The agent sees the end of its input and ends its ranks.
    fn drop(&mut self) {
        self.terminate();
    }
}

/// Writes as much as there is room for.
pub(super) fn write_all(descriptor: impl AsFd, outgoing: &mut VecDeque<u8>) {
    while !outgoing.is_empty() {
        let (front, _) = outgoing.as_slices();
        match write(&descriptor, front) {
            Ok(length) => drop(outgoing.drain(..length)),
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => return,
            // The other end is going: its output will end, and that is noticed there.
            Err(_) => outgoing.clear(),
        }
    }
}

/// Reads what is there, but not for ever if the writer is as fast; closes the descriptor at the end
/// of its data.
pub(super) fn read_all(descriptor: &mut Option<OwnedFd>, mut take: impl FnMut(&[u8])) {
    let mut bytes = [0; 64 << 10];
    for _ in 0..READS_PER_TURN {
        let Some(open) = descriptor else { return };
        match read(&*open, &mut bytes) {
            Ok(length) if length > 0 => take(&bytes[..length]),
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => return,
            _ => *descriptor = None,
        }
    }
}
