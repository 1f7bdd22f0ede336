//! A node on another host, through the `ssh` program.
//!
//! The remote command is fixed: our own path and `--agent`. Everything else (program, arguments,
//! environment, key) goes as frames through the connection, so no shell ever sees it.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use mpi_lite::boot::protocol::{self, Frames};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::WaitStatus;
use nix::unistd::{Pid, read, write};

use crate::failure::{Failure, printable};
use crate::node::{Inherited, set_nonblocking};
use crate::poll::{Interests, Token, earlier};
use crate::ssh::{quoted, ready_within, ssh_program};
use crate::wire::{MAGIC, NOISE_MAX, Order, Report};

/// Both ends of a dead connection are noticed within this time of the first.
const LAST_NEWS: Duration = Duration::from_millis(300);
/// How often a node is asked for a sign of life.
const PING_EVERY: Duration = Duration::from_secs(5);
/// After this silence the user is warned.
const SILENT_WARNING: Duration = Duration::from_secs(10);
/// After this silence the node counts as lost.
const SILENT_LIMIT: Duration = Duration::from_secs(60);
/// After this silence a node that was told to end is given up.
const ENDING_LIMIT: Duration = Duration::from_millis(1500);
/// An sshd that is flooded with connections drops some of them: how often to try again.
const ATTEMPTS: u32 = 4;

/// The running ssh program.
#[derive(Debug)]
struct Ssh {
    pid: Pid,
    /// `None` after we closed it.
    input: Option<OwnedFd>,
    output: Option<OwnedFd>,
    error: Option<OwnedFd>,
    ended: Option<WaitStatus>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not yet connected, or to be connected again at this time.
    Waiting(Option<Instant>),
    /// ssh runs; the agent must be there by this time.
    Connecting(Instant),
    /// The agent is there.
    Ready,
    /// All its ranks ended; ssh should be gone by this time.
    Quiet(Instant),
    /// There is nothing any more.
    Over,
}

/// A node behind ssh.
#[derive(Debug)]
pub struct Remote {
    host: String,
    ranks: Vec<u32>,
    inherited: Inherited,
    program: Vec<String>,
    agent: String,
    ready_within: Duration,
    state: State,
    attempts: u32,
    ssh: Option<Ssh>,
    outgoing: VecDeque<u8>,
    has_magic: bool,
    noise: Vec<u8>,
    frames: Frames,
    /// The end of what ssh (or the remote shell) said on standard error.
    complaints: Vec<u8>,
    reports: VecDeque<Report>,
    server: Option<IpAddr>,
    client: Option<IpAddr>,
    heard_at: Instant,
    ping_at: Instant,
    is_warned: bool,
    is_ending: bool,
    gone_at: Option<Instant>,
}

impl Remote {
    /// A node that is not yet connected. `ranks` are those that it may report about.
    ///
    /// # Errors
    ///
    /// A failure if our own path or a setting cannot be used.
    pub fn new(host: &str, ranks: &[u32], inherited: Inherited) -> Result<Remote, Failure> {
        let own = std::env::current_exe()
            .map_err(|error| Failure::launch(format!("cannot find my own program: {error}")))?;
        let now = Instant::now();
        Ok(Remote {
            host: host.to_string(),
            ranks: ranks.to_vec(),
            inherited,
            program: ssh_program()?,
            agent: format!("{} --agent", quoted(own.as_os_str())?),
            ready_within: ready_within()?,
            state: State::Waiting(None),
            attempts: 0,
            ssh: None,
            outgoing: VecDeque::new(),
            has_magic: false,
            noise: Vec::new(),
            frames: Frames::default(),
            complaints: Vec::new(),
            reports: VecDeque::new(),
            server: None,
            client: None,
            heard_at: now,
            ping_at: now,
            is_warned: false,
            is_ending: false,
            gone_at: None,
        })
    }

    /// Starts ssh if it is time to.
    pub fn connect(&mut self, now: Instant) {
        match self.state {
            State::Waiting(at) if at.is_none_or(|at| at <= now) => {}
            _ => return,
        }
        self.attempts += 1;
        self.noise.clear();
        self.complaints.clear();
        match self.spawn() {
            Ok(ssh) => {
                self.ssh = Some(ssh);
                self.state = State::Connecting(now + self.ready_within);
            }
            Err(error) => {
                let program = printable(&self.program[0]);
                self.lose(format!(
                    "cannot start on host {}: '{program}' cannot be executed: {error}",
                    self.host
                ));
            }
        }
    }

    /// Says whether the agent has answered.
    pub fn is_ready(&self) -> bool {
        !matches!(self.state, State::Waiting(_) | State::Connecting(_))
    }

    /// Says whether nothing will come any more.
    pub fn is_over(&self) -> bool {
        self.state == State::Over && self.reports.is_empty()
    }

    /// The address by which ssh reached the node, if the agent knows it.
    pub fn server(&self) -> Option<IpAddr> {
        self.server
    }

    /// The address of this host as the node sees it.
    pub fn client(&self) -> Option<IpAddr> {
        self.client
    }

    /// The next report.
    pub fn report(&mut self) -> Option<Report> {
        self.reports.pop_front()
    }

    /// Sends an order.
    pub fn obey(&mut self, order: &Order, now: Instant) {
        if *order == Order::End {
            self.is_ending = true;
            self.heard_at = now;
        }
        match self.state {
            State::Waiting(_) | State::Connecting(_) if self.is_ending => self.over(),
            State::Waiting(_) | State::Connecting(_) | State::Ready => self.send(order),
            State::Quiet(_) | State::Over => {}
        }
    }

    /// Names the descriptors to wait for.
    pub fn interests<'a>(&'a self, number: usize, interests: &mut Interests<'a>) {
        let Some(ssh) = &self.ssh else { return };
        for descriptor in [&ssh.output, &ssh.error].into_iter().flatten() {
            interests.readable(descriptor.as_fd(), Token::Remote(number));
        }
        if let Some(input) = ssh.input.as_ref().filter(|_| !self.outgoing.is_empty()) {
            interests.writable(input.as_fd(), Token::Remote(number));
        }
    }

    /// Something can be read or written.
    pub fn ready(&mut self, now: Instant) {
        self.flush();
        self.read_complaints();
        self.read_frames(now);
    }

    /// When [`Remote::tick`] must be called.
    pub fn wake_at(&self) -> Option<Instant> {
        let at = match self.state {
            State::Waiting(at) => at,
            State::Connecting(at) | State::Quiet(at) => Some(at),
            State::Ready if self.is_ending => Some(self.ping_at.min(self.heard_at + ENDING_LIMIT)),
            State::Ready => Some(self.ping_at),
            State::Over => None,
        };
        earlier(at, self.gone_at.filter(|_| self.state != State::Over))
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Instant) {
        if self.gone_at.is_some_and(|at| at <= now) {
            return self.conclude(now);
        }
        match self.state {
            State::Connecting(at) if at <= now => {
                let seconds = self.ready_within.as_secs_f64();
                let line = format!("host {} did not answer within {seconds} s", self.host);
                self.lose(line + &self.complaint());
            }
            State::Quiet(at) if at <= now => self.over(),
            State::Ready => self.watch_silence(now),
            _ => {}
        }
    }

    /// A child process changed; says whether it is our ssh.
    pub fn child(&mut self, pid: Pid, status: WaitStatus, now: Instant) -> bool {
        let Some(ssh) = self.ssh.as_mut().filter(|ssh| ssh.pid == pid) else {
            return false;
        };
        if matches!(status, WaitStatus::Exited(..) | WaitStatus::Signaled(..)) {
            ssh.ended = Some(status);
            self.read_complaints();
            self.read_frames(now);
            self.notice_end(now);
        }
        true
    }

    fn spawn(&self) -> io::Result<Ssh> {
        let mut command = Command::new(&self.program[0]);
        command.args(&self.program[1..]);
        command.args(["-T", "-x", "-oBatchMode=yes", "-oConnectTimeout=10", "--"]);
        command.args([&self.host, &self.agent]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // Its own group: an interrupt of the terminal is for us to forward.
        command.process_group(0);
        crate::node::prepare_child(&mut command, None, self.inherited);
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
        })
    }

    fn send(&mut self, order: &Order) {
        match protocol::encode(order) {
            Ok(frame) => self.outgoing.extend(frame),
            Err(error) => self.lose(format!("host {}: cannot send {error}", self.host)),
        }
        self.flush();
    }

    fn flush(&mut self) {
        let Some(Ssh {
            input: Some(input), ..
        }) = &self.ssh
        else {
            return;
        };
        while !self.outgoing.is_empty() {
            let (front, _) = self.outgoing.as_slices();
            match write(input, front) {
                Ok(length) => drop(self.outgoing.drain(..length)),
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return,
                // ssh is going: its output will end, and that is noticed there.
                Err(_) => return self.outgoing.clear(),
            }
        }
    }

    fn read_complaints(&mut self) {
        const KEPT: usize = 4096;
        let Some(ssh) = &mut self.ssh else { return };
        read_all(&mut ssh.error, |bytes| {
            self.complaints.extend_from_slice(bytes);
            let excess = self.complaints.len().saturating_sub(KEPT);
            self.complaints.drain(..excess);
        });
    }

    fn read_frames(&mut self, now: Instant) {
        let Some(ssh) = &mut self.ssh else { return };
        if ssh.output.is_none() {
            return;
        }
        let mut received = Vec::new();
        read_all(&mut ssh.output, |bytes| received.extend_from_slice(bytes));
        let is_at_end = ssh.output.is_none();
        if !received.is_empty() {
            self.heard_at = now;
            self.is_warned = false;
            self.take(&received, now);
        }
        if is_at_end {
            self.notice_end(now);
        }
    }

    fn take(&mut self, received: &[u8], now: Instant) {
        if self.has_magic {
            self.frames.push(received);
        } else {
            self.noise.extend_from_slice(received);
            let magic = self
                .noise
                .windows(MAGIC.len())
                .position(|window| window == MAGIC);
            match magic {
                Some(at) => {
                    self.has_magic = true;
                    self.frames.push(&self.noise[at + MAGIC.len()..]);
                }
                None if self.noise.len() > NOISE_MAX => {
                    return self.lose(format!(
                        "cannot start on host {}: its shell prints more than 64 KiB before our \
                         agent starts",
                        self.host
                    ));
                }
                None => return,
            }
        }
        self.take_frames(now);
    }

    fn take_frames(&mut self, now: Instant) {
        while self.state != State::Over {
            match self.frames.pop::<Report>() {
                Ok(Some(report)) => self.hear(report, now),
                Ok(None) => return,
                Err(error) => self.lose(format!("host {} sent {error}", self.host)),
            }
        }
    }

    fn hear(&mut self, report: Report, now: Instant) {
        if report
            .rank()
            .is_some_and(|rank| !self.ranks.contains(&rank))
        {
            return self.lose(format!(
                "host {} reports about a rank of another host",
                self.host
            ));
        }
        match report {
            Report::Ready {
                version,
                server,
                client,
            } => {
                let own = env!("CARGO_PKG_VERSION");
                if version != own {
                    let version = printable(&version);
                    return self.lose(format!(
                        "host {} has mpi-lite {version}, but this is mpi-lite {own}",
                        self.host
                    ));
                }
                (self.server, self.client) = (server, client);
                self.state = State::Ready;
                self.ping_at = now + PING_EVERY;
            }
            Report::Pong | Report::Lost { .. } => {}
            Report::Quiet => {
                self.state = State::Quiet(now + Duration::from_secs(1));
                if let Some(ssh) = &mut self.ssh {
                    ssh.input = None;
                }
                self.reports.push_back(Report::Quiet);
            }
            report => self.reports.push_back(report),
        }
    }

    fn watch_silence(&mut self, now: Instant) {
        let silence = now.saturating_duration_since(self.heard_at);
        if self.is_ending && silence >= ENDING_LIMIT {
            return self.lose(format!(
                "host {} does not answer; processes may be left there",
                self.host
            ));
        }
        if silence >= SILENT_LIMIT {
            return self.lose(format!(
                "host {} has given no sign of life for 60 s; ending the job",
                self.host
            ));
        }
        if silence >= SILENT_WARNING && !self.is_warned {
            self.is_warned = true;
            self.reports.push_back(Report::Silent);
        }
        if self.ping_at <= now {
            self.ping_at = now
                + if self.is_ending {
                    ENDING_LIMIT / 4
                } else {
                    PING_EVERY
                };
            self.send(&Order::Ping);
        }
    }

    /// One end of the connection is gone: the other follows at once, or does not matter.
    fn notice_end(&mut self, now: Instant) {
        let Some(ssh) = &self.ssh else { return };
        let is_complete = ssh.output.is_none() && ssh.ended.is_some();
        let at = if is_complete { now } else { now + LAST_NEWS };
        self.gone_at = earlier(self.gone_at, Some(at));
    }

    /// The connection is gone.
    fn conclude(&mut self, now: Instant) {
        self.gone_at = None;
        match self.state {
            State::Connecting(_) if self.attempts < ATTEMPTS && self.is_crowded() => {
                // A little different for each, so that they do not all come again at once.
                let jitter = u64::from(
                    self.ssh
                        .as_ref()
                        .map_or(0, |ssh| ssh.pid.as_raw() % 128)
                        .unsigned_abs(),
                );
                let pause = Duration::from_millis(200 * u64::from(self.attempts) + jitter);
                self.hang_up();
                self.state = State::Waiting(Some(now + pause));
            }
            State::Connecting(_) => {
                let line = self.why_not_connected();
                self.lose(line);
            }
            State::Ready => {
                let how = self.how_ssh_ended();
                self.lose(format!(
                    "lost host {} ({how}{}); ending the job",
                    self.host,
                    self.complaint()
                ));
            }
            State::Quiet(_) => self.over(),
            State::Waiting(_) | State::Over => {}
        }
    }

    /// sshd drops connections when too many arrive at a time (its MaxStartups).
    fn is_crowded(&self) -> bool {
        let text = String::from_utf8_lossy(&self.complaints);
        [
            "kex_exchange_identification",
            "Connection reset by",
            "Connection closed by",
        ]
        .iter()
        .any(|sign| text.contains(sign))
    }

    fn why_not_connected(&self) -> String {
        let host = &self.host;
        let status = self.ssh.as_ref().and_then(|ssh| ssh.ended);
        match status {
            Some(WaitStatus::Exited(_, 126 | 127)) => format!(
                "cannot start on host {host}: {} cannot be executed there (install mpi-lite at \
                 the same path on every host){}",
                self.agent.trim_end_matches(" --agent"),
                self.complaint()
            ),
            _ => format!(
                "cannot start on host {host}: {}{}",
                self.how_ssh_ended(),
                self.complaint()
            ),
        }
    }

    fn how_ssh_ended(&self) -> String {
        match self.ssh.as_ref().and_then(|ssh| ssh.ended) {
            Some(WaitStatus::Exited(_, code)) => format!("ssh exited with status {code}"),
            Some(WaitStatus::Signaled(_, signal, _)) => {
                format!("ssh was killed by signal {}", signal as i32)
            }
            _ => "the connection was closed".to_string(),
        }
    }

    /// The last line of ssh, as the end of ours.
    fn complaint(&self) -> String {
        let text = String::from_utf8_lossy(&self.complaints);
        let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
        last.map_or(String::new(), |line| format!(": {}", printable(line)))
    }

    fn lose(&mut self, reason: String) {
        if self.state != State::Over {
            self.reports.push_back(Report::Lost { reason });
            self.over();
        }
    }

    fn over(&mut self) {
        self.state = State::Over;
        self.hang_up();
    }

    /// Ends ssh; the agent sees the end of its input and ends its ranks.
    fn hang_up(&mut self) {
        self.outgoing.clear();
        if let Some(ssh) = self.ssh.take().filter(|ssh| ssh.ended.is_none()) {
            kill(ssh.pid, Signal::SIGTERM).ok();
        }
    }
}

/// Reads until nothing is left; closes the descriptor at its end.
fn read_all(descriptor: &mut Option<OwnedFd>, mut take: impl FnMut(&[u8])) {
    let mut bytes = [0; 64 << 10];
    while let Some(open) = descriptor {
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
    use nix::sys::signal::SigSet;

    use super::*;

    /// A node whose "ssh" is this shell script.
    fn behind(script: &str) -> Remote {
        let inherited = Inherited {
            signals: SigSet::empty(),
            files: (1024, 1024),
        };
        let mut remote = Remote::new("n1", &[0], inherited).expect("nothing is set wrong");
        remote.program = ["sh", "-c", script].map(String::from).to_vec();
        remote
    }

    /// Lets the node read until it is ready.
    fn until_ready(remote: &mut Remote) {
        remote.connect(Instant::now());
        while !remote.is_ready() {
            let mut interests = Interests::default();
            remote.interests(0, &mut interests);
            interests.wait(None);
            remote.ready(Instant::now());
        }
    }

    fn reports(remote: &mut Remote) -> Vec<Report> {
        std::iter::from_fn(|| remote.report()).collect()
    }

    /// An agent that is there and then says nothing more.
    fn silent_agent() -> String {
        let version = env!("CARGO_PKG_VERSION").to_string();
        let ready = Report::Ready {
            version,
            server: None,
            client: None,
        };
        let frame = protocol::encode(&ready).expect("it is short");
        let bytes: String = MAGIC
            .iter()
            .chain(&frame)
            .map(|byte| format!("\\{byte:03o}"))
            .collect();
        format!("printf '{bytes}'; exec sleep 100")
    }

    #[test]
    fn a_silent_node_is_reported_and_then_lost() {
        let mut remote = behind(&silent_agent());
        until_ready(&mut remote);
        let start = remote.heard_at;
        remote.tick(start + SILENT_WARNING - Duration::from_secs(1));
        assert_eq!(reports(&mut remote), []);
        remote.tick(start + SILENT_WARNING);
        remote.tick(start + SILENT_WARNING + Duration::from_secs(1));
        assert_eq!(reports(&mut remote), [Report::Silent]);
        remote.tick(start + SILENT_LIMIT);
        assert!(matches!(&reports(&mut remote)[..], [Report::Lost { .. }]));
        assert!(remote.is_over());
    }

    #[test]
    fn a_node_that_does_not_end_is_given_up() {
        let mut remote = behind(&silent_agent());
        until_ready(&mut remote);
        let now = Instant::now();
        remote.obey(&Order::End, now);
        remote.tick(now + ENDING_LIMIT);
        assert!(matches!(&reports(&mut remote)[..], [Report::Lost { .. }]));
    }

    #[test]
    fn a_node_that_was_not_reached_yet_ends_without_a_word() {
        let mut remote = behind("exec sleep 100");
        remote.connect(Instant::now());
        remote.obey(&Order::End, Instant::now());
        assert!(remote.is_over());
    }
}
