//! The other end of a connection as descriptors: of a program that reaches other hosts, of an
//! agent that srun has started, or of `mpirun` as its agent sees it.
#![expect(unsafe_code, reason = "sets up the child between fork and exec")]

use std::collections::VecDeque;
use std::io;
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::socket::{Shutdown, shutdown};
use nix::unistd::{Pid, getpid, read, write};

use super::carrier::Carrier;
use super::fate::Fate;
use super::settings::Settings;
use crate::node::{Inherited, set_nonblocking};
use crate::poll::{Interests, Token};
use crate::wire::Ended;

/// How often a stream is read before others have their turn.
const READS_PER_TURN: usize = 16;

/// The streams of the other end. Each is `None` at its end.
#[derive(Debug)]
pub struct Streams {
    /// The program whose streams these are; `None` if it is no child of ours.
    pid: Option<Pid>,
    input: Option<OwnedFd>,
    output: Option<OwnedFd>,
    error: Option<OwnedFd>,
    fate: Fate,
}

impl Streams {
    /// Starts a command whose streams are not set yet: ssh, or srun. It gets pipes. Returns the
    /// system's reason if the program cannot be executed.
    pub(super) fn spawn(mut command: Command, inherited: Inherited) -> io::Result<Streams> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Its own group: an interrupt of the terminal is for us to forward.
        command.process_group(0);
        set_up(&mut command, inherited);
        let mut child = command.spawn()?;
        let streams = Streams {
            pid: Some(Pid::from_raw(child.id().cast_signed())),
            input: child.stdin.take().map(OwnedFd::from),
            output: child.stdout.take().map(OwnedFd::from),
            error: child.stderr.take().map(OwnedFd::from),
            fate: Fate::default(),
        };
        streams.without_blocking()
    }

    /// Those of another end that writes `output` and reads `input`.
    pub(super) fn new(output: OwnedFd, input: OwnedFd) -> io::Result<Streams> {
        let streams = Streams {
            pid: None,
            input: Some(input),
            output: Some(output),
            error: None,
            fate: Fate::default(),
        };
        streams.without_blocking()
    }

    /// Those of a connection.
    pub(super) fn of(connection: &TcpStream) -> io::Result<Streams> {
        Streams::new(
            connection.try_clone()?.into(),
            connection.try_clone()?.into(),
        )
    }

    fn without_blocking(self) -> io::Result<Streams> {
        for descriptor in [&self.input, &self.output, &self.error] {
            descriptor.as_ref().map_or(Ok(()), set_nonblocking)?;
        }
        Ok(self)
    }

    /// Names the input to wait for.
    pub(super) fn input_interest<'a>(&'a self, token: Token, interests: &mut Interests<'a>) {
        if let Some(input) = &self.input {
            interests.writable(input.as_fd(), token);
        }
    }

    /// Asks the program to end.
    pub(super) fn terminate(&self) {
        if let Some(pid) = self.pid.filter(|_| !self.fate.has_ended()) {
            kill(pid, Signal::SIGTERM).ok();
        }
    }
}

impl Carrier for Streams {
    fn fate(&self) -> &Fate {
        &self.fate
    }

    fn end(&mut self, pid: Pid, ended: Ended) -> bool {
        let is_ours = self.pid == Some(pid);
        if is_ours {
            self.fate.set_ended(ended);
        }
        is_ours
    }

    fn interests<'a>(&'a self, has_outgoing: bool, token: Token, interests: &mut Interests<'a>) {
        for descriptor in [&self.output, &self.error].into_iter().flatten() {
            interests.readable(descriptor.as_fd(), token);
        }
        if has_outgoing {
            self.input_interest(token, interests);
        }
    }

    fn write(&mut self, outgoing: &mut VecDeque<u8>) -> bool {
        let Some(input) = &self.input else {
            return true;
        };
        while !outgoing.is_empty() {
            let (front, _) = outgoing.as_slices();
            match write(input, front) {
                Ok(length) => drop(outgoing.drain(..length)),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return true,
                // The other end is going: its output will end.
                Err(_) => {
                    outgoing.clear();
                    return false;
                }
            }
        }
        true
    }

    fn close_input(&mut self) {
        if let Some(input) = self.input.take() {
            // A pipe needs none, and refuses it.
            shutdown(input.as_raw_fd(), Shutdown::Write).ok();
        }
    }

    /// Reads what there is of both streams. Returns the output.
    fn read(&mut self) -> Vec<u8> {
        let fate = &mut self.fate;
        read_all(&mut self.error, |bytes| fate.complain(bytes));
        let mut received = Vec::new();
        read_all(&mut self.output, |bytes| received.extend_from_slice(bytes));
        received
    }

    fn is_at_end(&self) -> bool {
        self.output.is_none()
    }

    fn is_gone(&self) -> bool {
        self.output.is_none() && (self.pid.is_none() || self.fate.has_ended())
    }

    fn how_it_ended(&self, settings: &Settings) -> String {
        match self.pid {
            Some(_) => self.fate.how_it_ended(&settings.shown_program()),
            None => "the connection of srun's agent was closed".into(),
        }
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

impl Drop for Streams {
    /// The agent sees the end of its input and ends its ranks.
    fn drop(&mut self) {
        self.terminate();
    }
}

/// Reads what is there, but not for ever if the writer is as fast; closes the descriptor at the end
/// of its data.
fn read_all(descriptor: &mut Option<OwnedFd>, mut take: impl FnMut(&[u8])) {
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
