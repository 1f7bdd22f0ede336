//! A node on another host, through the `ssh` program.
//!
//! The remote command is fixed: our own path and `--agent`. Everything else (program, arguments,
//! environment, key) goes as frames through the connection, so no shell ever sees it.

mod ledger;
mod ssh;

use std::collections::VecDeque;
use std::net::IpAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use mpi_lite::boot::protocol::{self, Frames};
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;

use crate::failure::{Failure, printable};
use crate::node::Inherited;
use crate::poll::{Interests, Token, earlier};
use crate::silence::{self, Silence};
use crate::wire::{
    MAGIC, MAGIC_START, MAGIC_VERSION_MAX, NOISE_MAX, ORDERS_WAITING_MAX, Order, REPORT_FRAME_MAX,
    Report,
};

use ledger::Ledger;
use ssh::{Obstacle, Settings, Ssh};

/// Both ends of a dead connection are noticed within this time of the first.
const LAST_NEWS: Duration = Duration::from_millis(300);
/// How long ssh may take to end when all its work is done.
const FAREWELL: Duration = Duration::from_secs(1);
/// After this silence the user is warned, or after half of what makes the node count as lost.
const SILENT_WARNING: Duration = Duration::from_secs(10);
/// After this silence a node that was told to end is given up.
const ENDING_LIMIT: Duration = Duration::from_millis(1500);
/// An sshd that is flooded with connections drops some of them: how often to try.
const ATTEMPTS: u32 = 4;
/// A host that accepts no connection may be starting: for how long to try.
const PATIENCE: Duration = Duration::from_secs(10);

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

/// What the agent has sent.
#[derive(Debug)]
enum Incoming {
    /// Its first line has not come: what a remote shell prints.
    Noise(Vec<u8>),
    Frames(Frames),
}

/// A node behind ssh.
#[derive(Debug)]
pub struct Remote {
    host: String,
    ranks: Vec<u32>,
    inherited: Inherited,
    settings: Settings,
    state: State,
    attempts: u32,
    /// Until when to try a host that accepts no connection. Unknown before the first attempt.
    patient_until: Option<Instant>,
    is_unreached: bool,
    ssh: Option<Ssh>,
    incoming: Incoming,
    ledger: Ledger,
    outgoing: VecDeque<u8>,
    reports: VecDeque<Report>,
    server: Option<IpAddr>,
    client: Option<IpAddr>,
    machine: Option<String>,
    silence: Silence,
    ping_at: Instant,
    is_warned: bool,
    is_ending: bool,
    /// When to conclude from the end of the connection.
    gone_at: Option<Instant>,
}

impl Remote {
    /// A node that is not yet connected. `ranks` are those that it may report about.
    ///
    /// # Errors
    ///
    /// A failure if our own path or a setting cannot be used.
    pub fn new(host: &str, ranks: &[u32], inherited: Inherited) -> Result<Remote, Failure> {
        let now = Instant::now();
        Ok(Remote {
            host: host.to_string(),
            ranks: ranks.to_vec(),
            inherited,
            settings: Settings::read()?,
            state: State::Waiting(None),
            attempts: 0,
            patient_until: None,
            is_unreached: false,
            ssh: None,
            incoming: Incoming::Noise(Vec::new()),
            ledger: Ledger::new(ranks),
            outgoing: VecDeque::new(),
            reports: VecDeque::new(),
            server: None,
            client: None,
            machine: None,
            silence: Silence::new(silence::limit()?, now),
            ping_at: now,
            is_warned: false,
            is_ending: false,
            gone_at: None,
        })
    }

    /// mpi-lite is installed in this directory on the host.
    ///
    /// # Errors
    ///
    /// A failure if the path cannot be given to a remote shell.
    pub fn set_prefix(&mut self, prefix: &Path) -> Result<(), Failure> {
        self.settings.set_agent(&prefix.join("bin/mpirun"))
    }

    /// How many bytes of orders have not been written yet.
    pub fn backlog(&self) -> usize {
        self.outgoing.len()
    }

    /// Starts ssh if it is time to.
    pub fn connect(&mut self, now: Instant) {
        match self.state {
            State::Waiting(at) if at.is_none_or(|at| at <= now) => {}
            _ => return,
        }
        self.attempts += 1;
        let patience = self.patience();
        self.patient_until.get_or_insert(now + patience);
        self.incoming = Incoming::Noise(Vec::new());
        match Ssh::spawn(&self.settings, &self.host, self.inherited) {
            Ok(ssh) => {
                self.ssh = Some(ssh);
                self.state = State::Connecting(now + self.settings.ready_within);
            }
            Err(error) => {
                let program = printable(&self.settings.program[0]);
                self.lose(format!(
                    "cannot start on host {}: '{program}' cannot be executed: {error}",
                    self.host
                ));
            }
        }
    }

    /// Returns true if the agent has answered.
    pub fn is_ready(&self) -> bool {
        !matches!(self.state, State::Waiting(_) | State::Connecting(_))
    }

    /// Returns true if nothing will come any more.
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

    /// The identity of the machine, if the agent knows it: two names of one machine have the same.
    pub fn machine(&self) -> Option<&str> {
        self.machine.as_deref()
    }

    /// The next report.
    pub fn report(&mut self) -> Option<Report> {
        self.reports.pop_front()
    }

    /// Sends an order.
    pub fn obey(&mut self, order: &Order, now: Instant) {
        if *order == Order::End {
            self.is_ending = true;
            self.silence.heard(now);
            self.ping_at = now;
        }
        match self.state {
            State::Waiting(_) | State::Connecting(_) if self.is_ending => self.over(),
            State::Waiting(_) | State::Connecting(_) | State::Ready => self.send(order, now),
            State::Quiet(_) | State::Over => {}
        }
    }

    /// Names the descriptors to wait for.
    pub fn interests<'a>(&'a self, number: usize, interests: &mut Interests<'a>) {
        if let Some(ssh) = &self.ssh {
            ssh.interests(!self.outgoing.is_empty(), Token::Remote(number), interests);
        }
    }

    /// Something can be read or written.
    pub fn ready(&mut self, now: Instant) {
        self.flush();
        self.read(now);
    }

    /// When [`Remote::tick`] must be called.
    pub fn wake_at(&self) -> Option<Instant> {
        let at = match self.state {
            State::Waiting(at) => at,
            State::Connecting(at) | State::Quiet(at) => Some(at),
            State::Ready => Some(self.ping_at.min(self.silence.look_at())),
            State::Over => return None,
        };
        earlier(at, self.gone_at)
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Instant) {
        if self.gone_at.is_some_and(|at| at <= now) {
            return self.conclude(now);
        }
        match self.state {
            State::Connecting(at) if at <= now => {
                let seconds = self.settings.ready_within.as_secs_f64();
                let line = format!("host {} did not answer within {seconds} s", self.host);
                self.lose(line + &self.complaint());
            }
            State::Quiet(at) if at <= now => self.over(),
            State::Ready => self.watch_silence(now),
            _ => {}
        }
    }

    /// A child process changed. Returns true if it is our ssh.
    pub fn child(&mut self, pid: Pid, status: WaitStatus, now: Instant) -> bool {
        let Some(ssh) = self.ssh.as_mut().filter(|ssh| ssh.pid() == pid) else {
            return false;
        };
        if matches!(status, WaitStatus::Exited(..) | WaitStatus::Signaled(..)) {
            ssh.set_ended(status);
            self.read(now);
            self.notice_end(now);
        }
        true
    }

    fn send(&mut self, order: &Order, now: Instant) {
        self.ledger.enter_order(order, now);
        match protocol::encode(order) {
            Ok(frame) => self.outgoing.extend(frame),
            Err(error) => self.lose(format!("host {}: cannot send {error}", self.host)),
        }
        self.flush();
        if self.outgoing.len() > ORDERS_WAITING_MAX {
            let (host, bytes) = (&self.host, self.outgoing.len());
            self.lose(format!(
                "host {host} does not read its orders: {bytes} bytes wait for it; ending the job"
            ));
        }
    }

    fn flush(&mut self) {
        if let Some(ssh) = &mut self.ssh {
            ssh.write(&mut self.outgoing);
        }
    }

    fn read(&mut self, now: Instant) {
        let Some(ssh) = &mut self.ssh else { return };
        let was_at_end = ssh.is_at_end();
        let received = ssh.read();
        let is_at_end = ssh.is_at_end();
        if !received.is_empty() {
            self.silence.heard(now);
            self.is_warned = false;
            self.take(&received, now);
        }
        if is_at_end && !was_at_end {
            self.notice_end(now);
        }
    }

    fn take(&mut self, received: &[u8], now: Instant) {
        match &mut self.incoming {
            Incoming::Frames(frames) => frames.push(received),
            Incoming::Noise(noise) => {
                noise.extend_from_slice(received);
                self.look_for_agent();
            }
        }
        self.take_frames(now);
    }

    /// Looks for the agent's first line in what the remote shell prints.
    fn look_for_agent(&mut self) {
        let Incoming::Noise(noise) = &self.incoming else {
            return;
        };
        let start = position(noise, MAGIC_START);
        if let Some(rest) = start.and_then(|at| noise[at..].strip_prefix(MAGIC)) {
            let mut frames = Frames::up_to(REPORT_FRAME_MAX);
            frames.push(rest);
            self.incoming = Incoming::Frames(frames);
        } else if let Some(theirs) = start.and_then(|at| version_in(&noise[at..])) {
            self.lose_other_version(&format!("version {theirs} (agent)"));
        } else if noise.len() > NOISE_MAX {
            self.lose(format!(
                "cannot start on host {}: its shell prints more than 64 KiB before our \
                 agent starts",
                self.host
            ));
        }
    }

    /// The launcher there is not ours.
    fn lose_other_version(&mut self, theirs: &str) {
        let here = nix::unistd::gethostname().unwrap_or_default();
        let (own, host) = (env!("CARGO_PKG_VERSION"), &self.host);
        let protocol = version_in(MAGIC).unwrap_or_default();
        self.lose(format!(
            "host {host} has mpi-lite of {theirs}, but host {} has version {protocol} (mpi-lite \
             {own}): install the same one on both, at {}",
            printable(&here.to_string_lossy()),
            self.settings.agent.trim_end_matches(" --agent")
        ));
    }

    fn take_frames(&mut self, now: Instant) {
        while self.state != State::Over {
            let Incoming::Frames(frames) = &mut self.incoming else {
                return;
            };
            match frames.pop::<Report>() {
                Ok(Some(report)) => self.hear(report, now),
                Ok(None) => return,
                Err(error) => self.lose(format!("host {} sent {error}", self.host)),
            }
        }
    }

    fn hear(&mut self, report: Report, now: Instant) {
        if let Err(why) = self.ledger.enter_report(&report, now) {
            return self.lose(format!("host {} {why}; ending the job", self.host));
        }
        match report {
            Report::Ready {
                version,
                server,
                client,
                machine,
            } => {
                if version != env!("CARGO_PKG_VERSION") {
                    return self.lose_other_version(&printable(&version));
                }
                (self.server, self.client, self.machine) = (server, client, machine);
                self.state = State::Ready;
                self.silence.heard(now);
                self.ping_at = now + self.silence.period();
            }
            Report::Pong => {}
            Report::Quiet => {
                self.state = State::Quiet(now + FAREWELL);
                if let Some(ssh) = &mut self.ssh {
                    ssh.close_input();
                }
                self.reports.push_back(Report::Quiet);
            }
            report => self.reports.push_back(report),
        }
    }

    fn watch_silence(&mut self, now: Instant) {
        let silence = self.silence.look(now);
        let limit = self.silence.limit();
        if self.is_ending && silence >= ENDING_LIMIT {
            return self.lose(format!(
                "host {} does not answer; processes may be left there",
                self.host
            ));
        }
        if let Some(limit) = limit.filter(|&limit| silence >= limit) {
            return self.lose(format!(
                "host {} has given no sign of life for {} s (MPILITE_SILENT_S); is the network \
                 cut, or the host or our process there stopped? Ending the job",
                self.host,
                limit.as_secs_f64()
            ));
        }
        let warning = limit.map_or(SILENT_WARNING, |limit| (limit / 2).min(SILENT_WARNING));
        if silence >= warning && !self.is_warned {
            self.is_warned = true;
            self.reports.push_back(Report::Silent(warning));
        }
        if self.ping_at <= now {
            self.ping_at = now
                + if self.is_ending {
                    ENDING_LIMIT / 4
                } else {
                    self.silence.period()
                };
            self.send(&Order::Ping, now);
        }
    }

    /// One end of the connection is gone: the other follows at once, or does not matter.
    fn notice_end(&mut self, now: Instant) {
        let Some(ssh) = &self.ssh else { return };
        let at = if ssh.is_gone() { now } else { now + LAST_NEWS };
        self.gone_at = earlier(self.gone_at, Some(at));
    }

    /// The connection is gone.
    fn conclude(&mut self, now: Instant) {
        self.gone_at = None;
        match self.state {
            State::Connecting(_) => self.try_again_or_lose(now),
            State::Ready => {
                let how = self.ssh.as_ref();
                let how = how.map_or(String::new(), |ssh| ssh.how_it_ended(&self.settings));
                let complaint = self.complaint();
                self.lose(format!(
                    "lost host {} ({how}{complaint}); ending the job",
                    self.host
                ));
            }
            State::Quiet(_) => self.over(),
            State::Waiting(_) | State::Over => {}
        }
    }

    /// ssh did not reach the agent.
    fn try_again_or_lose(&mut self, now: Instant) {
        if self.may_succeed_later(now) {
            self.ssh = None;
            self.state = State::Waiting(Some(now + self.pause()));
        } else {
            let line = self.why_not_connected();
            self.lose(line);
        }
    }

    /// Returns true if ssh has met what may pass. The first time, the user gets a line about a host
    /// that accepts no connection.
    fn may_succeed_later(&mut self, now: Instant) -> bool {
        match self.ssh.as_ref().and_then(Ssh::obstacle) {
            Some(Obstacle::Crowd) => self.attempts < ATTEMPTS,
            Some(Obstacle::NoServer(reason)) => {
                let may = self.patient_until.is_some_and(|until| now < until);
                if may && !std::mem::replace(&mut self.is_unreached, true) {
                    self.reports.push_back(Report::Unreached {
                        reason: reason.to_string(),
                        patience: self.patience(),
                    });
                }
                may
            }
            None => false,
        }
    }

    /// For how long to try a host that accepts no connection.
    fn patience(&self) -> Duration {
        PATIENCE.min(self.settings.ready_within)
    }

    /// Before the next attempt; a little different for each node, so that they do not all come
    /// again at once.
    fn pause(&self) -> Duration {
        let different = u64::from(self.ranks.first().copied().unwrap_or_default() % 16) * 10;
        Duration::from_millis(200 * u64::from(self.attempts) + different)
    }

    fn why_not_connected(&self) -> String {
        let host = &self.host;
        let complaint = self.complaint();
        match &self.ssh {
            Some(ssh) if ssh.has_no_agent() => format!(
                "cannot start on host {host}: {} cannot be executed there (install mpi-lite at \
                 the same path on every host){complaint}",
                self.settings.agent.trim_end_matches(" --agent")
            ),
            Some(ssh) if ssh.has_succeeded() => format!(
                "cannot start on host {host}: {} ended with status 0 before mpi-lite started \
                 there: does it run the command that it is given on the host?{complaint}",
                self.settings.shown_program()
            ),
            Some(ssh) => {
                let how = ssh.how_it_ended(&self.settings);
                format!("cannot start on host {host}: {how}{complaint}")
            }
            None => format!("cannot start on host {host}"),
        }
    }

    fn complaint(&self) -> String {
        self.ssh.as_ref().map_or(String::new(), Ssh::complaint)
    }

    fn lose(&mut self, reason: String) {
        if self.state != State::Over {
            self.reports.push_back(Report::Lost { reason });
            self.over();
        }
    }

    fn over(&mut self) {
        self.state = State::Over;
        self.outgoing.clear();
        self.ssh = None;
    }
}

/// Where the bytes begin in others.
fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|it| it == wanted)
}

/// The version in a line like [`MAGIC`], if it has come as a whole.
fn version_in(line: &[u8]) -> Option<String> {
    let version = line.strip_prefix(MAGIC_START)?;
    let end = version.iter().position(|byte| *byte == b'\n');
    let end = end.or((version.len() >= MAGIC_VERSION_MAX).then_some(MAGIC_VERSION_MAX))?;
    let version = &version[..end.min(MAGIC_VERSION_MAX)];
    Some(printable(&String::from_utf8_lossy(version)))
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
        remote.settings.program = ["sh", "-c", script].map(String::from).to_vec();
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
            machine: None,
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
        let start = Instant::now();
        remote.silence.heard(start);
        let warning = silence::LIMIT / 2;
        let mut pass = |from: Duration, to: Duration| {
            let mut time = from;
            while time < to {
                remote.tick(start + time);
                time += Duration::from_secs(1);
            }
            reports(&mut remote)
        };
        assert_eq!(pass(Duration::ZERO, warning), []);
        assert_eq!(pass(warning, silence::LIMIT), [Report::Silent(warning)]);
        let end = silence::LIMIT + Duration::from_secs(1);
        assert!(matches!(
            &pass(silence::LIMIT, end)[..],
            [Report::Lost { .. }]
        ));
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
