//! The agents of a Slurm job: one `srun` starts them all, and each connects back.
//!
//! srun gives its tasks no streams of their own, so `mpirun` listens while the agents start, and
//! only in this case. An agent finds addresses and token in its environment (`HOME`); what comes
//! in without a proof (`proof`) is dropped.

use std::collections::{HashSet, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;

use super::carrier::Carrier;
use super::proof::{self, ANSWER_MAX, BLOCK, GREETING, Token, Verdict};
use super::settings::Settings;
use super::streams::Streams;
use crate::cli::values::Launcher;
use crate::failure::{Failure, printable};
use crate::job::place::Place;
use crate::node::Inherited;
use crate::node::address;
use crate::poll::{self, Interests, earlier};
use crate::wire::Ended;

/// The variable with token, port and addresses, for agents alone.
pub(crate) const HOME: &str = "MPILITE_AGENT_HOME";

/// A connection that has not proven itself after this time is dropped.
const PROOF_WITHIN: Duration = Duration::from_secs(5);
/// The most connections without a proof.
const PENDING_MAX: usize = 4096;
/// After the end of srun its last words are waited for.
const LAST_WORDS: Duration = Duration::from_millis(300);
/// How long srun may take to end when all agents are gone.
const FAREWELL: Duration = Duration::from_secs(2);

/// What the step has to report.
#[derive(Debug)]
pub enum News {
    /// This command line starts the agents.
    Called(Vec<String>),
    /// The agent of this node is there.
    Arrived(usize, Streams),
    /// The agents that have not arrived never will.
    Failed(String),
}

/// A connection that has not proven itself.
#[derive(Debug)]
struct Pending {
    stream: TcpStream,
    nonce: [u8; BLOCK],
    answer: Vec<u8>,
    until: Instant,
}

/// The step of srun that runs the agents.
#[derive(Debug)]
pub struct Srun {
    /// Names and numbers of the nodes.
    nodes: Vec<(String, usize)>,
    agent: String,
    ready_within: Duration,
    inherited: Inherited,
    token: Token,
    /// None once all agents are there, or never will be.
    listener: Option<TcpListener>,
    process: Option<Streams>,
    has_overlap: bool,
    pending: Vec<Pending>,
    arrived: HashSet<usize>,
    news: VecDeque<News>,
    has_failed: bool,
    /// When all agents must be there.
    until: Option<Instant>,
    /// When to conclude from the end of srun.
    gone_at: Option<Instant>,
    /// When srun must have ended.
    farewell_at: Option<Instant>,
}

impl Srun {
    /// The step for the places on other hosts, if srun starts the agents and there are any. It is
    /// not yet started. Returns a failure if there is no socket to listen at, or no random number.
    pub fn of(
        places: &[Place],
        settings: &Settings,
        inherited: Inherited,
    ) -> Result<Option<Srun>, Failure> {
        let places = places.iter().enumerate();
        let others = places.filter(|(_, place)| !place.is_here);
        let nodes: Vec<(String, usize)> = others
            .map(|(number, place)| (place.host.clone(), number))
            .collect();
        if settings.launcher != Launcher::Srun || nodes.is_empty() {
            return Ok(None);
        }
        let cannot = |error| {
            Failure::launch(format!(
                "cannot listen for the agents that srun starts: {error}; --launcher ssh needs no \
                 listener"
            ))
        };
        let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0))
            .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)))
            .map_err(cannot)?;
        listener.set_nonblocking(true).map_err(cannot)?;
        Ok(Some(Srun {
            nodes,
            agent: settings.agent.clone(),
            ready_within: settings.ready_within,
            inherited,
            token: Token::new()?,
            listener: Some(listener),
            process: None,
            has_overlap: true,
            pending: Vec::new(),
            arrived: HashSet::new(),
            news: VecDeque::new(),
            has_failed: false,
            until: None,
            gone_at: None,
            farewell_at: None,
        }))
    }

    /// Starts srun, the first time.
    pub fn start(&mut self, now: Instant) {
        if self.process.is_none() && !self.has_failed {
            self.until = Some(now + self.ready_within);
            self.spawn();
        }
    }

    /// The next news.
    pub fn news(&mut self) -> Option<News> {
        self.news.pop_front()
    }

    /// Names the descriptors to wait for.
    pub fn interests<'a>(&'a self, interests: &mut Interests<'a>) {
        if let Some(process) = &self.process {
            process.interests(false, poll::Token::Step, interests);
        }
        if let Some(listener) = &self.listener {
            interests.readable(listener.as_fd(), poll::Token::Step);
        }
        for pending in &self.pending {
            interests.readable(pending.stream.as_fd(), poll::Token::Step);
        }
    }

    /// When [`Srun::tick`] must be called.
    pub fn wake_at(&self) -> Option<Instant> {
        let until = self.until.filter(|_| self.listener.is_some());
        let first = self.pending.iter().map(|pending| pending.until).min();
        let at = earlier(earlier(until, first), self.gone_at);
        earlier(at, self.farewell_at)
    }

    /// Something can be read.
    pub fn ready(&mut self, now: Instant) {
        if let Some(process) = &mut self.process {
            process.read();
            if process.is_gone() && self.gone_at.is_some() {
                self.gone_at = Some(now);
            }
        }
        self.accept(now);
        self.hear_pending();
    }

    /// Does what is due.
    pub fn tick(&mut self, now: Instant) {
        self.pending.retain(|pending| now < pending.until);
        if self.gone_at.is_some_and(|at| at <= now) {
            self.gone_at = None;
            self.conclude();
        }
        if self.until.is_some_and(|at| at <= now) && self.listener.is_some() {
            let seconds = self.ready_within.as_secs_f64();
            self.fail(&format!("did not answer within {seconds} s"));
        }
        if self.farewell_at.is_some_and(|at| at <= now) {
            self.farewell_at = None;
            self.process = None;
        }
    }

    /// A child process changed. Returns true if it is our srun.
    pub fn child(&mut self, pid: Pid, status: WaitStatus, now: Instant) -> bool {
        let (Some(process), Some(ended)) = (&mut self.process, Ended::of(status)) else {
            return false;
        };
        let is_ours = process.end(pid, ended);
        if is_ours {
            process.read();
            let is_gone = process.is_gone();
            self.gone_at = Some(if is_gone { now } else { now + LAST_WORDS });
        }
        is_ours
    }

    /// All nodes are over. Returns true if srun has ended as well, or has had its time.
    pub fn finish(&mut self, now: Instant) -> bool {
        self.has_failed = true;
        self.stop_listening();
        let Some(process) = &self.process else {
            return true;
        };
        if process.fate().has_ended() {
            self.process = None;
            return true;
        }
        if self.farewell_at.is_none() {
            if self.arrived.len() < self.nodes.len() {
                process.terminate();
            }
            self.farewell_at = Some(now + FAREWELL);
        }
        false
    }

    fn stop_listening(&mut self) {
        self.listener = None;
        self.pending.clear();
    }

    fn spawn(&mut self) {
        let spawned = self.home().and_then(|home| {
            let words = self.command_line();
            let mut command = Command::new(&words[0]);
            command.args(&words[1..]).env(HOME, home);
            command.env("SLURM_EXTERNAL_LAUNCHER", "1");
            self.news.push_back(News::Called(words));
            Streams::spawn(command, self.inherited).map_err(|error| error.to_string())
        });
        match spawned {
            Ok(mut process) => {
                process.close_input();
                self.process = Some(process);
            }
            Err(error) => self.fail(&format!(
                "cannot be reached: 'srun' cannot be executed: {error}; is Slurm's srun in PATH? \
                 (--launcher ssh does without)"
            )),
        }
    }

    /// srun and its arguments.
    fn command_line(&self) -> Vec<String> {
        let names: Vec<&str> = self.nodes.iter().map(|(name, _)| name.as_str()).collect();
        let number = names.len();
        let agent = self.agent.trim_end_matches(" --agent").trim_matches('\'');
        let overlap = if self.has_overlap { "--overlap" } else { "" };
        let words = [
            "srun",
            "--mpi=none",
            overlap,
            &format!("--nodes={number}"),
            &format!("--ntasks={number}"),
            "--ntasks-per-node=1",
            &format!("--nodelist={}", names.join(",")),
            "--cpu-bind=none",
            "--input=none",
            "--kill-on-bad-exit=1",
            "--export=ALL",
            agent,
            "--agent",
        ];
        let words = words.into_iter().filter(|word| !word.is_empty());
        words.map(String::from).collect()
    }

    /// Token, port and our addresses, those that other machines may reach first.
    fn home(&self) -> Result<String, String> {
        let listener = self.listener.as_ref().ok_or("nothing listens")?;
        let port = listener.local_addr().map_err(|it| it.to_string())?.port();
        let mut home = format!("{} {port}", self.token.text());
        let mut own = address::all().map_err(|failure| failure.text)?;
        own.sort_by_key(std::net::IpAddr::is_loopback);
        for address in own {
            home += &format!(" {address}");
        }
        Ok(home)
    }

    fn accept(&mut self, now: Instant) {
        while self.pending.len() < PENDING_MAX {
            let Some(Ok((mut stream, _))) = self.listener.as_ref().map(TcpListener::accept) else {
                return;
            };
            let Ok(nonce) = proof::random("a token") else {
                return;
            };
            let greeting = [GREETING, &nonce].concat();
            // A new connection has room for so little.
            let is_sent = stream.set_nonblocking(true).is_ok()
                && stream.set_nodelay(true).is_ok()
                && stream.write_all(&greeting).is_ok();
            if is_sent {
                self.pending.push(Pending {
                    stream,
                    nonce,
                    answer: Vec::new(),
                    until: now + PROOF_WITHIN,
                });
            }
        }
    }

    fn hear_pending(&mut self) {
        for mut pending in std::mem::take(&mut self.pending) {
            let is_open = pending.read();
            match proof::judge(&self.token, &pending.nonce, &pending.answer) {
                Verdict::Incomplete if is_open => self.pending.push(pending),
                Verdict::Incomplete | Verdict::Stranger => {}
                Verdict::Agent { node, reply } => self.admit(pending, &node, reply),
            }
        }
    }

    /// An agent may reach us by several of our addresses: the first is taken, and only it gets our
    /// proof.
    fn admit(&mut self, mut pending: Pending, node: &str, reply: [u8; BLOCK]) {
        let Some((_, number)) = self.nodes.iter().find(|(name, _)| name == node) else {
            return;
        };
        if self.arrived.contains(number) || pending.stream.write_all(&reply).is_err() {
            return;
        }
        if let Ok(connection) = Streams::of(&pending.stream) {
            self.arrived.insert(*number);
            self.news.push_back(News::Arrived(*number, connection));
        }
        if self.arrived.len() == self.nodes.len() {
            self.stop_listening();
        }
    }

    /// srun has ended.
    fn conclude(&mut self) {
        let Some(process) = self.process.as_ref().filter(|_| self.listener.is_some()) else {
            return;
        };
        let complaints = process.fate().complaints();
        let is_unknown = complaints.contains("unrecognized option") && self.has_overlap;
        if is_unknown && complaints.contains("--overlap") {
            // Slurm before 20.11 overlaps all steps.
            self.has_overlap = false;
            return self.spawn();
        }
        let how = process.fate().how_it_ended("srun");
        self.fail(&format!("cannot be reached: {how}"));
    }

    fn fail(&mut self, what: &str) {
        let arrived = &self.arrived;
        let missing = self.nodes.iter().filter(|(_, it)| !arrived.contains(it));
        let missing: Vec<String> = missing.map(|(name, _)| printable(name)).collect();
        let process = self.process.as_ref();
        let complaint = process.map_or(String::new(), |it| it.fate().complaint());
        let hosts = if missing.len() == 1 { "host" } else { "hosts" };
        self.has_failed = true;
        self.listener = None;
        self.news.push_back(News::Failed(format!(
            "{hosts} {} {what}{complaint}",
            missing.join(", ")
        )));
    }
}

impl Pending {
    /// Reads what there is. Returns false if nothing more will come.
    fn read(&mut self) -> bool {
        // One byte more than an agent sends shows a stranger.
        let most = (ANSWER_MAX + 1 - self.answer.len()) as u64;
        let read = Read::take(&self.stream, most).read_to_end(&mut self.answer);
        read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }
}
