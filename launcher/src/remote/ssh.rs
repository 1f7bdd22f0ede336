//! The `ssh` program as a child: its three streams, and what it says when it fails.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::WaitStatus;
use nix::unistd::{Pid, read, write};

use crate::failure::{Failure, printable};
use crate::node::{Inherited, set_nonblocking};
use crate::poll::{Interests, Token};

/// From starting ssh to the agent's first report, unless `MPILITE_LAUNCH_TIMEOUT` says else.
const READY_WITHIN: Duration = Duration::from_secs(30);

/// How often a stream is read before others have their turn.
const READS_PER_TURN: usize = 16;

/// How much of what ssh says on standard error is kept: the end, in bytes.
const COMPLAINTS_KEPT: usize = 4096;

/// What may pass: another attempt is worth it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// sshd drops connections when too many arrive at a time (its `MaxStartups`).
    Crowd,
    /// No sshd answers, for this reason of the system: the host or its sshd may be starting.
    NoServer(&'static str),
}

/// What ssh says when sshd drops its connection.
const CROWDED_OUT: [&str; 3] = [
    "kex_exchange_identification",
    "Connection reset by",
    "Connection closed by",
];

/// How ssh begins the line about a connection that it cannot make.
const NO_CONNECTION: &str = "ssh: connect to host ";

/// How that line ends for a host that may be starting.
const UNREACHED: [&str; 3] = [
    "Connection refused",
    "No route to host",
    "Connection timed out",
];

/// How other hosts are reached.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    /// The ssh program and its first arguments.
    pub(super) program: Vec<String>,
    /// The command for the remote shell.
    pub(super) agent: String,
    /// How long the agent may take to answer.
    pub(super) ready_within: Duration,
}

impl Settings {
    /// Reads the environment.
    ///
    /// # Errors
    ///
    /// A failure that names the wrong setting, or our own path if it cannot be used.
    pub(super) fn read() -> Result<Settings, Failure> {
        let own = std::env::current_exe().map_err(|error| {
            Failure::launch(format!("cannot find the path of mpirun itself: {error}"))
        })?;
        Ok(Settings {
            program: ssh_program()?,
            agent: format!("{} --agent", quoted(own.as_os_str())?),
            ready_within: ready_within()?,
        })
    }

    /// Sets the path of the launcher on the other host.
    ///
    /// # Errors
    ///
    /// A failure if it cannot be given to a remote shell.
    pub(super) fn set_agent(&mut self, path: &Path) -> Result<(), Failure> {
        self.agent = format!("{} --agent", quoted(path.as_os_str())?);
        Ok(())
    }

    /// The program in words: ssh, or which other one the user has set.
    pub(super) fn shown_program(&self) -> String {
        match self.program[0].as_str() {
            "ssh" => "ssh".into(),
            other => format!("'{}' (MPILITE_SSH)", printable(other)),
        }
    }
}

/// The words of `MPILITE_SSH`, or ssh.
fn ssh_program() -> Result<Vec<String>, Failure> {
    let Some(setting) = std::env::var_os("MPILITE_SSH") else {
        return Ok(vec!["ssh".into()]);
    };
    let setting = setting.to_string_lossy();
    let words: Vec<String> = setting.split_ascii_whitespace().map(String::from).collect();
    if words.is_empty() {
        return Err(Failure::usage(
            "MPILITE_SSH is empty; unset it or name an ssh program",
        ));
    }
    Ok(words)
}

fn ready_within() -> Result<Duration, Failure> {
    let Some(setting) = std::env::var_os("MPILITE_LAUNCH_TIMEOUT") else {
        return Ok(READY_WITHIN);
    };
    let seconds = setting.to_str().and_then(|text| text.parse::<f64>().ok());
    match seconds {
        Some(seconds) if seconds > 0.0 && seconds <= 86_400.0 => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => {
            let shown = printable(&setting.to_string_lossy());
            Err(Failure::usage(format!(
                "MPILITE_LAUNCH_TIMEOUT={shown} is not a number of seconds (up to 86400)"
            )))
        }
    }
}

/// Our own path as a word for any remote shell.
fn quoted(path: &OsStr) -> Result<String, Failure> {
    let Some(text) = path
        .to_str()
        .filter(|text| !text.contains(['\n', '!', '\'']))
    else {
        let shown = printable(&path.to_string_lossy());
        return Err(Failure::launch(format!(
            "mpirun cannot be started on other hosts by its path '{shown}': install it elsewhere"
        )));
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    if text.chars().all(is_plain) {
        Ok(text.to_string())
    } else {
        Ok(format!("'{text}'"))
    }
}

/// A running ssh program.
#[derive(Debug)]
pub(super) struct Ssh {
    pid: Pid,
    input: Option<OwnedFd>,
    output: Option<OwnedFd>,
    error: Option<OwnedFd>,
    ended: Option<WaitStatus>,
    complaints: Vec<u8>,
}

impl Ssh {
    /// Starts ssh to this host.
    ///
    /// # Errors
    ///
    /// The system's reason why the program cannot be executed.
    pub(super) fn spawn(settings: &Settings, host: &str, inherited: Inherited) -> io::Result<Ssh> {
        let (program, first) = settings
            .program
            .split_first()
            .expect("checked to have a word");
        let mut command = Command::new(program);
        command.args(first);
        command.args([
            "-T",
            "-x",
            "-oBatchMode=yes",
            "-oConnectTimeout=10",
            "--",
            host,
        ]);
        command.arg(&settings.agent);
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
        Ok(Ssh {
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
        let Some(input) = &self.input else { return };
        while !outgoing.is_empty() {
            let (front, _) = outgoing.as_slices();
            match write(input, front) {
                Ok(length) => drop(outgoing.drain(..length)),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return,
                // ssh is going: its output will end, and that is noticed there.
                Err(_) => outgoing.clear(),
            }
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

    /// Returns what ssh has met, if it may pass.
    pub(super) fn obstacle(&self) -> Option<Obstacle> {
        let text = String::from_utf8_lossy(&self.complaints);
        let own = text.lines().filter(|line| line.starts_with(NO_CONNECTION));
        let mut reasons = own.flat_map(|line| UNREACHED.iter().filter(|it| line.contains(*it)));
        if let Some(reason) = reasons.next() {
            return Some(Obstacle::NoServer(reason));
        }
        let is_crowd = CROWDED_OUT.iter().any(|sign| text.contains(sign));
        is_crowd.then_some(Obstacle::Crowd)
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
    pub(super) fn how_it_ended(&self, settings: &Settings) -> String {
        let program = settings.shown_program();
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
        let text = String::from_utf8_lossy(&self.complaints);
        let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
        last.map_or(String::new(), |line| format!(": {}", printable(line)))
    }
}

impl Drop for Ssh {
    /// The agent sees the end of its input and ends its ranks.
    fn drop(&mut self) {
        if self.ended.is_none() {
            kill(self.pid, Signal::SIGTERM).ok();
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_unusual_path_is_quoted() {
        assert_eq!(
            quoted(OsStr::new("/usr/bin/mpirun")).unwrap(),
            "/usr/bin/mpirun"
        );
        assert_eq!(
            quoted(OsStr::new("/my dir/$x/mpirun")).unwrap(),
            "'/my dir/$x/mpirun'"
        );
        assert!(quoted(OsStr::new("/a'b/mpirun")).is_err());
    }
}
