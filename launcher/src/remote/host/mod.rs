//! A node on another host, through the `ssh` program, a connection of an agent of `srun`, or the
//! agent of another host.

mod below;
mod way;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use mpi_boot::protocol::{self, Frames};
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;

use crate::cli::values::Launcher;
use crate::failure::{Failure, printable};
use crate::node::Inherited;
use crate::poll::earlier;
use crate::remote::carrier::Carrier;
use crate::remote::greeting::{self, Greeting};
use crate::remote::ledger::Ledger;
use crate::remote::settings::Settings;
use crate::remote::silence::{self, Silence};
use crate::remote::ssh;
use crate::remote::streams::Streams;
use crate::remote::tunnel::Tunnel;
use crate::reports::progress::Late;
use crate::wire::{Down, Ended, Known, ORDERS_WAITING_MAX, Order, REPORT_FRAME_MAX, Report, Up};

use below::Below;
use way::Way;

/// How long ssh may take to end when all its work is done.
const FAREWELL: Duration = Duration::from_secs(1);
/// After this silence the user is warned, or after half of what makes the node count as lost.
const SILENT_WARNING: Duration = Duration::from_secs(10);
/// After this silence a node that was told to end is given up.
const ENDING_LIMIT: Duration = Duration::from_millis(1500);
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
    inherited: Inherited,
    state: State,
    /// How its agent is reached.
    pub way: Way,
    /// The hosts that are reached through it.
    pub below: Below,
    incoming: Incoming,
    ledger: Ledger,
    reports: VecDeque<Report>,
    known: Known,
    silence: Silence,
    ping_at: Instant,
    is_warned: bool,
    is_ending: bool,
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
            inherited,
            state: State::Waiting(None),
            way: Way::new(host, ranks, settings),
            below: Below::default(),
            incoming: Incoming::Noise(Vec::new()),
            ledger: Ledger::new(ranks),
            reports: VecDeque::new(),
            known: Known::default(),
            silence: Silence::new(silence::limit()?, now),
            ping_at: now,
            is_warned: false,
            is_ending: false,
        })
    }

    /// Starts ssh if it is time to.
    pub fn connect(&mut self, now: Instant) {
        let is_time = matches!(self.state, State::Waiting(at) if at.is_none_or(|at| at <= now));
        if !is_time || self.way.settings.launcher == Launcher::Srun {
            return;
        }
        self.way.count_attempt(now);
        let words = self.way.command_line();
        self.reports.push_back(Report::Calling(words.clone()));
        match ssh::connect(&words, self.inherited) {
            Ok(process) => self.go_through(Box::new(process), now),
            Err(error) => {
                let program = printable(&self.way.settings.program[0]);
                let why = format!("'{program}' cannot be executed: {error}");
                self.lose(self.way.cannot_start(&why));
            }
        }
    }

    /// Takes the connection of an agent that srun has started.
    pub fn attach(&mut self, connection: Streams, now: Instant) {
        if matches!(self.state, State::Waiting(_)) {
            self.go_through(Box::new(connection), now);
        }
    }

    /// Has the agent of another host start ssh, if it is time to. Returns true if it is.
    pub fn connect_through(&mut self, now: Instant) -> bool {
        let is_by_ssh = self.way.settings.launcher == Launcher::Ssh;
        let is_time = is_by_ssh && self.state == State::Waiting(None);
        if is_time {
            let tunnel = Tunnel::new(self.way.command_line());
            self.go_through(Box::new(tunnel), now);
        }
        is_time
    }

    /// Waits for an agent at the end of this way.
    fn go_through(&mut self, carrier: Box<dyn Carrier>, now: Instant) {
        self.incoming = Incoming::Noise(Vec::new());
        self.state = State::Connecting(now + self.way.settings.ready_within);
        self.way.open(carrier);
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
            host: self.way.host(),
            reason: self.way.unreached.unwrap_or("no answer yet"),
            is_announced: self.way.unreached.is_some() && !self.way.settings.waits_for_names,
        })
    }

    /// Returns true if the agent has answered.
    pub fn is_ready(&self) -> bool {
        !matches!(self.state, State::Waiting(_) | State::Connecting(_))
    }

    /// Returns true if nothing will come any more.
    pub fn is_over(&self) -> bool {
        self.state == State::Over && self.reports.is_empty()
    }

    /// Returns true if there is no way to the node any more.
    pub fn is_gone(&self) -> bool {
        self.state == State::Over
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

    /// Something can be read or written.
    pub fn ready(&mut self, now: Instant) {
        self.way.flush();
        self.read(now);
    }

    /// Takes what has come through another host. Returns false if it cannot be.
    pub fn receive(&mut self, up: Up, now: Instant) -> bool {
        let Some(tunnel) = self.way.tunnel() else {
            return true;
        };
        let is_last = matches!(up, Up::Ended(..) | Up::End | Up::NotExecuted(_));
        if tunnel.take(up).is_err() {
            return false;
        }
        self.ready(now);
        if is_last {
            self.way.notice_end(now);
        }
        true
    }

    /// Passes an order on to a host below.
    pub fn pass(&mut self, node: u32, down: Down, now: Instant) {
        if self.state == State::Ready {
            self.send(&Order::Below { node, down }, None, now);
        }
    }

    /// One host fewer hangs on this one. After the last one, its agent may end.
    pub fn remove_below(&mut self, now: Instant) {
        if self.below.remove() && self.state == State::Ready {
            self.be_quiet(now);
        }
    }

    /// When [`Remote::tick`] must be called.
    pub fn wake_at(&self) -> Option<Instant> {
        let at = match self.state {
            State::Waiting(at) => at,
            State::Connecting(at) | State::Quiet(at) => Some(at),
            State::Ready => Some(self.ping_at.min(self.silence.look_at())),
            State::Over => return None,
        };
        earlier(at, self.way.gone_at)
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Instant) {
        if self.way.gone_at.is_some_and(|at| at <= now) {
            return self.conclude(now);
        }
        match self.state {
            State::Connecting(at) if at <= now => {
                if self.way.has_tunnel() {
                    return self.conclude(now);
                }
                let seconds = self.way.settings.ready_within.as_secs_f64();
                let line = format!("host {} did not answer within {seconds} s", self.way.host());
                self.lose(line + &self.way.complaint());
            }
            State::Quiet(at) if at <= now => self.over(),
            State::Ready => self.watch_silence(now),
            _ => {}
        }
    }

    /// A child process changed. Returns true if it is our ssh.
    pub fn child(&mut self, pid: Pid, status: WaitStatus, now: Instant) -> bool {
        let is_ours = Ended::of(status).is_some_and(|ended| self.way.end(pid, ended));
        if is_ours {
            self.read(now);
            self.way.notice_end(now);
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
            Ok(frame) => self.way.send(&frame),
            Err(error) => self.lose(format!("host {}: cannot send {error}", self.way.host())),
        }
        let bytes = self.way.backlog();
        if bytes > ORDERS_WAITING_MAX {
            let what = format!("does not read its orders: {bytes} bytes wait for it");
            self.blame(&what);
        }
    }

    fn read(&mut self, now: Instant) {
        let received = self.way.read(now);
        if received.is_empty() {
            return;
        }
        self.silence.heard(now);
        self.is_warned = false;
        match &mut self.incoming {
            Incoming::Frames(frames) => frames.push(&received),
            Incoming::Noise(noise) => {
                noise.extend_from_slice(&received);
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
                let theirs = format!("version {theirs} (agent)");
                self.lose(self.way.other_version(&theirs));
            }
            Greeting::TooMuch => {
                let what = "its shell prints more than 64 KiB before our agent starts";
                self.lose(self.way.cannot_start(what));
            }
            Greeting::Unknown => {}
        }
    }

    fn take_frames(&mut self, now: Instant) {
        while self.state != State::Over {
            let Incoming::Frames(frames) = &mut self.incoming else {
                return;
            };
            match frames.pop::<Report>() {
                Ok(Some(report)) => self.hear(report, now),
                Ok(None) => return,
                Err(error) => self.lose(format!("host {} sent {error}", self.way.host())),
            }
        }
    }

    fn hear(&mut self, report: Report, now: Instant) {
        if let Err(why) = self.ledger.enter_report(&report, now) {
            return self.blame(&why);
        }
        match report {
            Report::Ready { version, .. } if version != env!("CARGO_PKG_VERSION") => {
                self.lose(self.way.other_version(&printable(&version)));
            }
            Report::Ready { mut known, .. } => {
                known.client = known.client.filter(|_| !self.way.has_tunnel());
                self.known = known;
                self.state = State::Ready;
                self.reports.push_back(Report::Connected);
                self.silence.heard(now);
                self.ping_at = now + self.silence.period();
            }
            Report::Pong => {}
            Report::Quiet => {
                if self.below.note_done() {
                    self.be_quiet(now);
                }
                self.reports.push_back(Report::Quiet);
            }
            Report::Below { node, up } => self.below.push(node, up),
            report => self.reports.push_back(report),
        }
    }

    fn watch_silence(&mut self, now: Instant) {
        let silence = self.silence.look(now).saturating_sub(self.grace());
        let limit = self.silence.limit();
        if self.is_ending && silence >= ENDING_LIMIT {
            let what = "does not answer; processes may be left there";
            return self.lose(format!("host {} {what}", self.way.host()));
        }
        if let Some(limit) = limit.filter(|&limit| silence >= limit) {
            let (losses, seconds) = (self.below.losses(), limit.as_secs_f64());
            let host = self.way.host();
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

    /// How much longer the silence of a node may be whose signs of life go through another host: if
    /// that one is silent, it is the one to name.
    fn grace(&self) -> Duration {
        match (self.way.has_tunnel(), self.is_ending) {
            (false, _) => Duration::ZERO,
            (true, true) => ENDING_LIMIT / 2,
            (true, false) => self.silence.period(),
        }
    }

    /// The connection is gone.
    fn conclude(&mut self, now: Instant) {
        self.way.gone_at = None;
        match self.state {
            State::Connecting(_) if self.way.has_tunnel() => {
                self.way.take_detour();
                self.state = State::Waiting(None);
            }
            State::Connecting(_) => match self.way.try_again(&mut self.reports, now) {
                Ok(at) => self.state = State::Waiting(Some(at)),
                Err(why) => self.lose(why),
            },
            State::Ready => {
                let (how, losses) = (self.way.how_it_ended(), self.below.losses());
                let host = self.way.host();
                self.lose(format!("lost host {host} ({how}){losses}; ending the job"));
            }
            State::Quiet(_) => self.over(),
            State::Waiting(_) | State::Over => {}
        }
    }

    /// All ranks of the node and of those below it ended.
    fn be_quiet(&mut self, now: Instant) {
        self.state = State::Quiet(now + FAREWELL);
        self.way.close_input();
    }

    /// Ends the job for what the host has done.
    pub fn blame(&mut self, what: &str) {
        self.lose(format!("host {} {what}; ending the job", self.way.host()));
    }

    /// Gives the host up for this reason.
    pub fn lose(&mut self, reason: String) {
        if self.state != State::Over {
            self.reports.push_back(Report::Lost { reason });
            self.over();
        }
    }

    fn over(&mut self) {
        self.state = State::Over;
        self.way.close();
    }
}

#[cfg(test)]
mod tests;
