//! A program that reaches other hosts, as a child: its three streams, and what it says when it
//! fails.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::WaitStatus;
use nix::unistd::{Pid, read, write};

use crate::failure::printable;
use crate::node::{Inherited, set_nonblocking};
use crate::poll::{Interests, Token};

/// How often a stream is read before others have their turn.
const READS_PER_TURN: usize = 16;

/// How much of what it says on standard error is kept: the end, in bytes.
const COMPLAINTS_KEPT: usize = 4096;

/// A running program that reaches other hosts: ssh, or srun.
#[derive(Debug)]
pub(super) struct Process {
    pid: Pid,
    input: Option<OwnedFd>,
    output: Option<OwnedFd>,
    error: Option<OwnedFd>,
    ended: Option<WaitStatus>,
    complaints: Vec<u8>,
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
        crate::node::prepare_child(&mut command, None, inherited);
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
            ended: None,
            complaints: Vec::new(),
        })
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    pub(super) fn set_ended(&mut self, status: WaitStatus) {
        self.ended = Some(status);
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
        if let Some(input) = self.input.as_ref().filter(|_| has_outgoing) {
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
        let complaints = &mut self.complaints;
        read_all(&mut self.error, |bytes| {
            complaints.extend_from_slice(bytes);
            let excess = complaints.len().saturating_sub(COMPLAINTS_KEPT);
            complaints.drain(..excess);
        });
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
        self.output.is_none() && self.ended.is_some()
    }

    /// What it has said on standard error.
    pub(super) fn complaints(&self) -> String {
        String::from_utf8_lossy(&self.complaints).into_owned()
    }

    /// Asks it to end.
    pub(super) fn terminate(&self) {
        if self.ended.is_none() {
            kill(self.pid, Signal::SIGTERM).ok();
        }
    }

    /// Returns true if it has ended, though its streams may go on.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// The remote shell did not find or could not execute the agent.
    pub(super) fn has_no_agent(&self) -> bool {
        matches!(self.ended, Some(WaitStatus::Exited(_, 126 | 127)))
    }

    /// Returns true if it ended as if all were well.
    pub(super) fn has_succeeded(&self) -> bool {
        matches!(self.ended, Some(WaitStatus::Exited(_, 0)))
    }

    /// What became of it, in words.
    pub(super) fn how_it_ended(&self, program: &str) -> String {
        match self.ended {
            Some(WaitStatus::Exited(_, code)) => format!("{program} exited with status {code}"),
            Some(WaitStatus::Signaled(_, signal, _)) => {
                format!("{program} was killed by signal {}", signal as i32)
            }
            _ => "the connection was closed".to_string(),
        }
    }

    /// Its last line on standard error, as the end of a line of ours.
    pub(super) fn complaint(&self) -> String {
        let text = self.complaints();
        let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
        last.map_or(String::new(), |line| format!(": {}", printable(line)))
    }
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
