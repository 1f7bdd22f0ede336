//! A node on another host, through the `ssh` program, a connection of an agent of `srun`, or the
//! agent of another host.

mod below;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use mpi_boot::protocol::{self, Frames};
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;

use crate::cli::values::Launcher;
use crate::failure::{Failure, printable};
use crate::node::Inherited;
use crate::poll::{Interests, Token, earlier};
use crate::remote::carrier::Carrier;
use crate::remote::fate::Fate;
use crate::remote::greeting::{self, Greeting};
use crate::remote::ledger::Ledger;
use crate::remote::settings::Settings;
use crate::remote::silence::{self, Silence};
use crate::remote::ssh::{self, Obstacle};
use crate::remote::streams::Streams;
use crate::reports::progress::Late;
use crate::wire::{Ended, Known, ORDERS_WAITING_MAX, Order, REPORT_FRAME_MAX, Report};

use below::Below;

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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not yet connected, or to be connected again at this time. An agent of srun connects itself.
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

/// A node on another host.
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
    /// Why the last attempt did not reach the host, if it is tried again.
    unreached: Option<&'static str>,
    carrier: Option<Box<dyn Carrier>>,
    incoming: Incoming,
    ledger: Ledger,
    below: Below,
    outgoing: VecDeque<u8>,
    reports: VecDeque<Report>,
    known: Known,
    silence: Silence,
    ping_at: Instant,
    is_warned: bool,
    is_ending: bool,
    /// When to conclude from the end of the connection.
    gone_at: Option<Instant>,
}

impl Remote {
    /// A node that is not yet connected. `ranks` are those that it may report about. Returns a
    /// failure if a setting cannot be used.
    pub fn new(
        host: &str,
        ranks: &[u32],
        settings: &Settings,
        inherited: Inherited,
    ) -> Result<Remote, Failure> {
        let now = Instant::now();
        Ok(Remote {
            host: host.to_string(),
            ranks: ranks.to_vec(),
            inherited,
            settings: settings.clone(),
            state: State::Waiting(None),
            attempts: 0,
            patient_until: None,
            unreached: None,
            carrier: None,
            incoming: Incoming::Noise(Vec::new()),
            ledger: Ledger::new(ranks),
            below: Below::default(),
            outgoing: VecDeque::new(),
            reports: VecDeque::new(),
            known: Known::default(),
            silence: Silence::new(silence::limit()?, now),
            ping_at: now,
            is_warned: false,
            is_ending: false,
            gone_at: None,
        })
    }

    /// How many bytes of orders have not been written yet.
    pub fn backlog(&self) -> usize {
        self.outgoing.len()
    }

    /// Starts ssh if it is time to.
    pub fn connect(&mut self, now: Instant) {
        let is_time = matches!(self.state, State::Waiting(at) if at.is_none_or(|at| at <= now));
        if !is_time || self.settings.launcher == Launcher::Srun {
            return;
        }
        self.attempts += 1;
        self.patient_until
            .get_or_insert(now + self.settings.patience);
        let words = ssh::command_line(&self.settings, &self.host);
        self.reports.push_back(Report::Calling(words.clone()));
        match ssh::connect(&words, self.inherited) {
            Ok(process) => self.go_through(Box::new(process), now),
            Err(error) => {
                let program = printable(&self.settings.program[0]);
                let why = format!("'{program}' cannot be executed: {error}");
                self.lose(self.cannot_start(&why));
            }
        }
    }

    /// Takes the connection of an agent that srun has started.
    pub fn attach(&mut self, connection: Streams, now: Instant) {
        if matches!(self.state, State::Waiting(_)) {
            self.go_through(Box::new(connection), now);
        }
    }

    /// Waits for an agent at the end of this way.
    fn go_through(&mut self, carrier: Box<dyn Carrier>, now: Instant) {
        self.incoming = Incoming::Noise(Vec::new());
        self.carrier = Some(carrier);
        self.state = State::Connecting(now + self.settings.ready_within);
        self.flush();
    }

    /// Gives up a host that has not answered.
    pub fn give_up(&mut self, reason: &str) {
        if !self.is_ready() {
            self.lose(reason.to_string());
        }
    }

    /// Why the host is not ready, if it is not.
    pub fn late(&self) -> Option<Late<'_>> {
        (!self.is_ready()).then_some(Late {
            host: &self.host,
            reason: self.unreached.unwrap_or("no answer yet"),
            is_announced: self.unreached.is_some() && !self.settings.waits_for_names,
        })
    }

    /// Returns true if the agent has answered.
    pub fn is_ready(&self) -> bool {
        !matches!(self.state, State::Waiting(_) | State::Connecting(_))
    }

    /// Its name.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns true if nothing will come any more.
    pub fn is_over(&self) -> bool {
        self.state == State::Over && self.reports.is_empty()
    }

    /// What the agent knows about its host; no address of ours if it is not reached directly.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// The next report.
    pub fn report(&mut self) -> Option<Report> {
        self.reports.pop_front()
    }

    /// Sends an order; `frame` is its encoding, if that is known.
    pub fn obey(&mut self, order: &Order, frame: Option<&[u8]>, now: Instant) {
        if matches!(order, Order::End | Order::Kill) {
            self.is_ending = true;
            self.silence.heard(now);
            self.ping_at = now;
        }
        match self.state {
            State::Waiting(_) | State::Connecting(_) if self.is_ending => self.over(),
            State::Ready if self.below.is_done() => {}
            State::Waiting(_) | State::Connecting(_) | State::Ready => self.send(order, frame, now),
            State::Quiet(_) | State::Over => {}
        }
    }

    /// Names the descriptors to wait for.
    pub fn interests<'a>(&'a self, number: usize, interests: &mut Interests<'a>) {
        if let Some(carrier) = &self.carrier {
            carrier.interests(!self.outgoing.is_empty(), Token::Remote(number), interests);
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
                if self.has_tunnel() {
                    return self.take_detour();
                }
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
        let (Some(carrier), Some(ended)) = (&mut self.carrier, Ended::of(status)) else {
            return false;
        };
        let is_ours = carrier.end(pid, ended);
        if is_ours {
            self.read(now);
            self.notice_end(now);
        }
        is_ours
    }

    fn send(&mut self, order: &Order, frame: Option<&[u8]>, now: Instant) {
        self.ledger.enter_order(order, now);
        let encoded = match frame {
            Some(frame) => Ok(Cow::Borrowed(frame)),
            None => protocol::encode(order).map(Cow::Owned),
        };
        match encoded {
            Ok(frame) => self.outgoing.extend(frame.iter()),
            Err(error) => self.lose(format!("host {}: cannot send {error}", self.host)),
        }
        self.flush();
        if self.outgoing.len() > ORDERS_WAITING_MAX {
            let bytes = self.outgoing.len();
            self.blame(&format!(
                "does not read its orders: {bytes} bytes wait for it"
            ));
        }
    }

    fn flush(&mut self) {
        if let Some(carrier) = &mut self.carrier {
            carrier.write(&mut self.outgoing);
        }
    }

    fn read(&mut self, now: Instant) {
        let Some(carrier) = &mut self.carrier else {
            return;
        };
        let was_at_end = carrier.is_at_end();
        let received = carrier.read();
        let is_at_end = carrier.is_at_end();
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
                let greeting = greeting::look(noise);
                self.greet(greeting);
            }
        }
        self.take_frames(now);
    }

    /// The remote shell has printed this, and maybe the agent its first line.
    fn greet(&mut self, greeting: Greeting) {
        match greeting {
            Greeting::Agent(rest) => {
                let mut frames = Frames::up_to(REPORT_FRAME_MAX);
                frames.push(&rest);
                self.incoming = Incoming::Frames(frames);
            }
            Greeting::OtherVersion(theirs) => {
                self.lose_other_version(&format!("version {theirs} (agent)"));
            }
            Greeting::TooMuch => {
                let what = "its shell prints more than 64 KiB before our agent starts";
                self.lose(self.cannot_start(what));
            }
            Greeting::Unknown => {}
        }
    }

    /// The launcher there is not ours.
    fn lose_other_version(&mut self, theirs: &str) {
        let here = nix::unistd::gethostname().unwrap_or_default();
        let (own, host) = (env!("CARGO_PKG_VERSION"), &self.host);
        let protocol = greeting::own_version();
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
            return self.blame(&why);
        }
        match report {
            Report::Ready { version, .. } if version != env!("CARGO_PKG_VERSION") => {
                self.lose_other_version(&printable(&version));
            }
            Report::Ready { mut known, .. } => {
                known.client = known.client.filter(|_| !self.has_tunnel());
                self.known = known;
                self.state = State::Ready;
                self.reports.push_back(Report::Connected);
                self.silence.heard(now);
                self.ping_at = now + self.silence.period();
            }
            Report::Pong => {}
            Report::Quiet => self.hear_quiet(now),
            Report::Below { node, up } => self.below.push(node, up),
            report => self.reports.push_back(report),
        }
    }

    fn watch_silence(&mut self, now: Instant) {
        let silence = self.silence.look(now).saturating_sub(self.grace());
        let limit = self.silence.limit();
        if self.is_ending && silence >= ENDING_LIMIT {
            let host = &self.host;
            return self.lose(format!(
                "host {host} does not answer; processes may be left there"
            ));
        }
        if let Some(limit) = limit.filter(|&limit| silence >= limit) {
            let (host, losses, seconds) = (&self.host, self.losses(), limit.as_secs_f64());
            return self.lose(format!(
                "host {host}{losses} has given no sign of life for {seconds} s \
                 (MPILITE_SILENT_S); is the network cut, or the host or our process there \
                 stopped? Ending the job"
            ));
        }
        let warning = limit.map_or(SILENT_WARNING, |limit| (limit / 2).min(SILENT_WARNING));
        if silence >= warning && !self.is_warned {
            self.is_warned = true;
            self.reports.push_back(Report::Silent(warning));
        }
        if self.ping_at <= now {
            let period = match self.is_ending {
                true => ENDING_LIMIT / 4,
                false => self.silence.period(),
            };
            self.ping_at = now + period;
            self.send(&Order::Ping, None, now);
        }
    }

    /// One end of the connection is gone: the other follows at once, or does not matter.
    fn notice_end(&mut self, now: Instant) {
        if let Some(carrier) = &self.carrier {
            let wait = if carrier.is_gone() {
                Duration::ZERO
            } else {
                LAST_NEWS
            };
            self.gone_at = earlier(self.gone_at, Some(now + wait));
        }
    }

    /// The connection is gone.
    fn conclude(&mut self, now: Instant) {
        self.gone_at = None;
        match self.state {
            State::Connecting(_) if self.has_tunnel() => self.take_detour(),
            State::Connecting(_) => self.try_again_or_lose(now),
            State::Ready => {
                let (host, how, losses) = (&self.host, self.how_it_ended(), self.losses());
                self.lose(format!("lost host {host} ({how}){losses}; ending the job"));
            }
            State::Quiet(_) => self.over(),
            State::Waiting(_) | State::Over => {}
        }
    }

    /// ssh did not reach the agent.
    fn try_again_or_lose(&mut self, now: Instant) {
        if !self.may_succeed_later(now) {
            return self.lose(self.why_not_connected());
        }
        self.carrier = None;
        self.state = State::Waiting(Some(now + self.pause()));
    }

    /// Returns true if ssh has met what may pass. The first time, the user gets a line about a host
    /// that accepts no connection.
    fn may_succeed_later(&mut self, now: Instant) -> bool {
        let complaints = self.fate().map_or(String::new(), Fate::complaints);
        match ssh::obstacle(&complaints, self.settings.waits_for_names) {
            Some(Obstacle::Crowd) => self.attempts < ATTEMPTS,
            Some(Obstacle::NoServer(reason)) => {
                let may = self.patient_until.is_some_and(|until| now < until);
                let is_first = self.unreached.replace(reason).is_none();
                // Where hosts are known to come late, progress is shown instead.
                if may && is_first && !self.settings.waits_for_names {
                    self.reports.push_back(Report::Unreached {
                        reason: reason.to_string(),
                        patience: self.settings.patience,
                    });
                }
                may
            }
            None => false,
        }
    }

    /// Before the next attempt; a little different for each node, so that they do not all come
    /// again at once.
    fn pause(&self) -> Duration {
        let different = u64::from(self.ranks.first().copied().unwrap_or_default() % 16) * 10;
        Duration::from_millis(200 * u64::from(self.attempts.min(10)) + different)
    }

    fn why_not_connected(&self) -> String {
        let (fate, settings) = (self.fate(), &self.settings);
        let what = if fate.is_some_and(Fate::has_no_agent) {
            let agent = settings.agent.trim_end_matches(" --agent");
            let advice = "install mpi-lite at the same path on every host";
            format!("{agent} cannot be executed there ({advice})") + &self.complaint()
        } else if fate.is_some_and(Fate::has_succeeded) {
            let advice = "does it run the command that it is given on the host?";
            let what = "ended with status 0 before mpi-lite started there";
            format!("{} {what}: {advice}", settings.shown_program()) + &self.complaint()
        } else {
            self.how_it_ended()
        };
        self.cannot_start(&what)
    }

    fn cannot_start(&self, why: &str) -> String {
        format!("cannot start on host {}: {why}", self.host)
    }

    /// What became of the program that reaches the host, if one does.
    fn fate(&self) -> Option<&Fate> {
        self.carrier.as_ref().map(|it| it.fate())
    }

    /// What became of the way to the host, and the last line of its complaints.
    fn how_it_ended(&self) -> String {
        let how = self.carrier.as_ref();
        let how = how.map_or(String::new(), |it| it.how_it_ended(&self.settings));
        how + &self.complaint()
    }

    /// The last line of ssh's complaints, as the end of a line of ours.
    fn complaint(&self) -> String {
        self.fate().map_or(String::new(), Fate::complaint)
    }

    /// Ends the job for what the host has done.
    fn blame(&mut self, what: &str) {
        self.lose(format!("host {} {what}; ending the job", self.host));
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
        self.carrier = None;
    }
}

#[cfg(test)]
mod tests;
