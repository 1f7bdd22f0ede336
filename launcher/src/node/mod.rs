//! The ranks of one node: starting, watching and ending them.
//!
//! A [`Node`] takes [`Order`]s and gives [`Report`]s; it does not know whether `mpirun` is the
//! same process or at the other end of an ssh connection. It never blocks: the owner's loop waits
//! for the descriptors it names ([`Node::interests`]) and calls back.

mod activity;
pub mod address;
pub mod binding;
mod bound;
mod channel;
mod child;
pub mod cores;
pub mod elf;
mod ending;
pub mod group;
pub mod guard;
mod input;
mod lines;
mod memory;
mod output;
mod pmi;
mod question;
mod rank;
mod segment;
mod shortage;
mod spawn;
mod start;
mod strangers;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use mpi_boot::protocol::{FromRank, ToRank};
use nix::sys::signal::Signal;
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;

use crate::node::guard::Guard;
use crate::poll::{Interests, Token, earlier};
use crate::wire::{Ended, OUTPUT_WINDOW, Order, Report};

use channel::Outgoing;
use ending::Ending;
use input::RankInput;
use lines::LINE_MAX;
use memory::Memory;
use output::OnTheWay;
use question::Questions;
use rank::{RankProcess, STREAMS};
use shortage::Shortage;
pub(crate) use spawn::inherited_descriptors;
pub use spawn::{Inherited, set_nonblocking};
use start::Assigner;
pub(crate) use start::DESCRIPTORS_OF_NODE;
use strangers::Strangers;

/// After how long in state T a rank is reported.
pub const STOPPED_FOR: Duration = Duration::from_secs(10);

const SCRATCH: usize = 64 << 10;

/// The most bytes of output that a node has on the way: what is read last may pass the window, with
/// the begun line before it.
pub const OUTPUT_ON_THE_WAY_MAX: usize = OUTPUT_WINDOW + LINE_MAX + SCRATCH;

/// The part of the launcher on one machine.
#[derive(Debug, Default)]
pub struct Node {
    inherited: Inherited,
    ranks: Vec<RankProcess>,
    shortage: Shortage,
    job: Option<Assigner>,
    /// For programs of MPICH, unless the ranks run one of ours.
    pmi: Option<pmi::Sockets>,
    strangers: Strangers,
    input: Option<RankInput>,
    /// Programs that were sent.
    memory: Memory,
    reports: VecDeque<Report>,
    questions: Questions,
    guard: Option<Guard>,
    /// After how much silence of ours the guard ends the ranks; `None`: never.
    silent_for: Option<Duration>,
    /// The folder that the guard removes.
    records: Option<PathBuf>,
    on_the_way: OnTheWay,
    /// How its ranks are ended.
    pub ending: Ending,
    is_started: bool,
    is_quiet: bool,
    scratch: Vec<u8>,
}

impl Node {
    /// A node without ranks.
    pub fn new(inherited: Inherited) -> Node {
        Node {
            inherited,
            shortage: Shortage::below("/".into()),
            strangers: Strangers::below("/proc".into()),
            scratch: vec![0; SCRATCH],
            ..Node::default()
        }
    }

    /// Carries out an order.
    pub fn obey(&mut self, order: Order, now: Instant) {
        match order {
            Order::Piece { program, bytes } => self.memory.add(program, &bytes),
            Order::Start(start) if !self.is_started => self.start(*start),
            Order::Start(_) => {}
            Order::Cards(cards) => {
                let frame = Outgoing::new(&ToRank::Cards(cards));
                for rank in &mut self.ranks {
                    rank.channel.send_cards(frame.clone());
                }
            }
            Order::Pmi(command) => self.obey_pmi(command),
            Order::Input(bytes) => self.give_input(&bytes),
            Order::InputEnd => {
                if let Some(input) = &mut self.input {
                    input.end();
                }
                self.push_input();
            }
            Order::OutputTaken(bytes) => self.on_the_way.take(bytes),
            Order::Signal {
                signal,
                is_from_terminal,
            } => self
                .ending
                .forward(&mut self.ranks, signal, is_from_terminal),
            Order::End => self.end(now),
            Order::Kill => {
                // What has not been started will not be.
                self.is_started = true;
                self.ending.kill(&mut self.ranks);
            }
            Order::Ping => self.reports.push_back(Report::Pong),
            Order::Describe { question } if !self.is_quiet => {
                self.questions.ask(question, &mut self.ranks, now);
            }
            // `Below` is for the agent itself.
            Order::Describe { .. } | Order::Below { .. } => {}
        }
        self.settle(now);
    }

    /// The next report.
    pub fn report(&mut self) -> Option<Report> {
        self.reports.pop_front()
    }

    /// From now on the owner calls [`Node::give_sign`] again and again; ranks that are started
    /// later end when it has not done so for `limit`.
    pub fn lives_on_signs(&mut self, limit: Option<Duration>) {
        self.silent_for = limit;
    }

    /// Ranks that are started later write to this folder, and nothing of it shall stay if this
    /// process is killed before [`Node::dismiss_guard`].
    pub fn have_records(&mut self, folder: PathBuf) {
        self.records = Some(folder);
    }

    /// Whatever ranks have recorded is used, and nothing is left to guard.
    pub fn dismiss_guard(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            guard.dismiss();
        }
    }

    /// The owner lives.
    pub fn give_sign(&mut self) {
        if let Some(guard) = &mut self.guard {
            guard.give_sign();
        }
    }

    /// Returns true if there are processes to take care of.
    pub fn has_ranks(&self) -> bool {
        !self.ranks.is_empty()
    }

    /// Returns true if all ranks ended and everything has been reported.
    pub fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    /// Names the descriptors to wait for.
    pub fn interests<'a>(&'a self, interests: &mut Interests<'a>) {
        let has_room = self.on_the_way.has_room();
        for (place, rank) in self.ranks.iter().enumerate() {
            if rank.channel.has_outgoing() {
                interests.writable(rank.channel.descriptor(), Token::Boot(place));
            } else if !rank.channel.is_closed() {
                interests.readable(rank.channel.descriptor(), Token::Boot(place));
            }
            for (stream, source) in rank.sources().filter(|_| has_room) {
                interests.readable(source.descriptor(), Token::Rank(place, stream));
            }
        }
        if let Some(pmi) = &self.pmi {
            pmi.interests(interests);
        }
        if let Some(input) = &self.input {
            input.interests(interests);
        }
    }

    /// When [`Node::tick`] must be called at the latest.
    pub fn wake_at(&self) -> Option<Instant> {
        let mut first = self.ending.kill_at().filter(|_| !self.is_quiet);
        first = earlier(first, self.questions.ends_at());
        first = earlier(first, self.strangers.wake_at());
        for rank in &self.ranks {
            for (_, source) in rank.sources().filter(|_| self.on_the_way.has_room()) {
                first = earlier(first, source.lines.look_at());
            }
            first = earlier(first, rank.channel.paused_until());
            first = earlier(first, rank.stopped_since.map(|since| since + STOPPED_FOR));
        }
        first
    }

    /// Something can be read from or written to a descriptor.
    pub fn ready(&mut self, token: Token, now: Instant) {
        match token {
            Token::Boot(place) => {
                self.ranks[place].channel.flush();
                self.hear_channel(place);
            }
            Token::Pmi(place) => self.hear_pmi(place),
            Token::Rank(place, stream) if self.on_the_way.has_room() => {
                self.hear_output(place, stream, now);
            }
            Token::RankInput => {
                if let Some(input) = &mut self.input {
                    input.drop_closed();
                }
                self.push_input();
            }
            _ => {}
        }
        self.settle(now);
    }

    /// Does what is due at this time.
    pub fn tick(&mut self, now: Instant) {
        for place in 0..self.ranks.len() {
            for stream in STREAMS {
                self.show_begun_line(place, stream, now);
            }
            let rank = &mut self.ranks[place];
            if rank.channel.paused_until().is_some_and(|at| at <= now) {
                rank.channel.flush();
            }
            let has_waited = |since| since + STOPPED_FOR <= now;
            if rank.stopped_since.is_some_and(has_waited) {
                rank.stopped_since = None;
                self.reports.push_back(Report::Stopped { rank: rank.rank });
            }
        }
        for (place, library) in self.strangers.look(now) {
            self.report_stranger(place, library);
        }
        if self.ending.kill_at().is_some_and(|at| at <= now) {
            self.ending.kill(&mut self.ranks);
        }
        self.settle(now);
    }

    /// A child process changed. Returns true if it is one of the ranks.
    pub fn child(&mut self, pid: Pid, status: WaitStatus, now: Instant) -> bool {
        let Some(place) = self.ranks.iter().position(|rank| rank.pid == pid) else {
            self.settle(now);
            return false;
        };
        let rank = &mut self.ranks[place];
        let ended = match status {
            WaitStatus::Exited(_, code) => Ended::Exited(code),
            WaitStatus::Signaled(_, signal, _) => self.shortage.explain(signal),
            WaitStatus::Stopped(..) => {
                let is_known = self.ending.is_paused() || self.ending.has_begun();
                rank.stopped_since = (!is_known).then_some(now);
                rank.stopped_at = Some(now);
                return true;
            }
            _ => {
                (rank.stopped_since, rank.stopped_at) = (None, None);
                return true;
            }
        };
        // Its last messages come before its end: an abort explains the exit status.
        self.hear_channel(place);
        self.hear_pmi(place);
        if let Some(library) = self.strangers.end(place) {
            self.report_stranger(place, library);
        }
        let rank = &mut self.ranks[place];
        rank.ended = Some(ended);
        rank.stopped_since = None;
        if let Some(input) = &mut self.input {
            input.remove(rank.rank);
        }
        if let Some(guard) = self.guard.as_mut().filter(|_| !rank.has_group()) {
            guard.remove(pid);
        }
        let rank = rank.rank;
        self.reports.push_back(Report::Ended { rank, ended });
        self.push_input();
        self.settle(now);
        true
    }

    /// There are no child processes: something else has taken the ends of the ranks. How they ended
    /// is never reported then, and `mpirun` says so.
    pub fn lose_children(&mut self, now: Instant) {
        for place in 0..self.ranks.len() {
            if self.ranks[place].ended.is_none() {
                self.hear_channel(place);
                self.hear_pmi(place);
                self.ranks[place].ended = Some(Ended::Killed(Signal::SIGKILL as i32));
            }
        }
        self.settle(now);
    }

    /// Ends all ranks, politely at first. What has not been started will not be.
    pub fn end(&mut self, now: Instant) {
        self.is_started = true;
        self.ending.begin(&mut self.ranks, now);
    }

    fn hear_channel(&mut self, place: usize) {
        let process = &mut self.ranks[place];
        let rank = process.rank;
        match process.channel.receive(&mut self.scratch) {
            Ok(messages) => {
                for message in messages {
                    self.hear_message(place, message);
                }
            }
            Err(reason) => {
                let refusal = ToRank::Refused(reason.clone());
                process.channel.send(Outgoing::new(&refusal));
                self.reports.push_back(Report::Broken { rank, reason });
            }
        }
    }

    fn hear_message(&mut self, place: usize, message: FromRank) {
        let rank = self.ranks[place].rank;
        let report = match message {
            FromRank::Hello { .. } => self.assign(place),
            FromRank::Card(card) => Report::Card { rank, card },
            FromRank::Counters(counters) => Report::Counters { rank, counters },
            FromRank::Finalized => Report::Finalized { rank },
            FromRank::Loss { rank: lost, reason } => Report::Loss { rank, lost, reason },
            FromRank::Failure(reason) => Report::Failure { rank, reason },
            FromRank::Blocked(blocked_ms) => Report::Blocked { rank, blocked_ms },
            FromRank::Resumed => Report::Resumed { rank },
            FromRank::State { question, state } => {
                return self.questions.enter(place, question, state);
            }
            FromRank::Abort { code, message } => {
                self.ranks[place].aborts = true;
                Report::Abort {
                    rank,
                    code,
                    message,
                }
            }
        };
        self.reports.push_back(report);
    }

    fn report_stranger(&mut self, place: usize, library: String) {
        let rank = self.ranks[place].rank;
        self.reports.push_back(Report::Stranger { rank, library });
    }

    fn give_input(&mut self, bytes: &[u8]) {
        match &mut self.input {
            Some(input) => input.receive(bytes),
            None => self.reports.push_back(Report::InputClosed),
        }
        self.push_input();
    }

    fn push_input(&mut self) {
        let Some(input) = &mut self.input else { return };
        let taken = input.push();
        if taken > 0 {
            self.reports.push_back(Report::InputTaken(taken));
        }
        if input.is_closed() {
            self.input = None;
            self.reports.push_back(Report::InputClosed);
        }
    }

    /// Notices when everything is over.
    fn settle(&mut self, now: Instant) {
        let of_pmi = |place| self.pmi.as_ref()?.answer(place);
        let answers = self.questions.answers(&self.ranks, of_pmi, now);
        self.reports.extend(answers);
        let is_over = !self.is_started || self.is_quiet;
        if is_over || self.ending.leaves_time(&mut self.ranks) {
            return;
        }
        self.hear_last_words(now);
        if !self.ranks.iter().all(RankProcess::is_finished) {
            return;
        }
        if self.ending.is_told() {
            self.end(now);
        }
        // What the ranks started gets its grace as well.
        let is_asked = self.ending.kill_at().is_some();
        if !(is_asked && self.ranks.iter_mut().any(RankProcess::has_group)) {
            self.is_quiet = true;
            self.input = None;
            // Records are still needed, and may be for long: see `dismiss_guard`.
            if self.records.is_none() {
                self.dismiss_guard();
            }
            self.reports.push_back(Report::Quiet);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use nix::errno::Errno;
    use nix::sys::signal::kill;
    use serde_bytes::ByteBuf;

    use super::ending::GRACE;
    use super::*;
    use crate::wire::{self, Answer, Input, JobKey, Start};
    use mpi_boot::protocol::Secure;

    pub(crate) fn inherited() -> Inherited {
        Inherited {
            signals: crate::signals::Inherited::default(),
            files: (1024, 1024),
            descriptors: 3,
        }
    }

    fn node_with(program: &str, arguments: &[&str]) -> Node {
        let mut node = Node::new(inherited());
        start_in(&mut node, program, arguments);
        node
    }

    fn start_in(node: &mut Node, program: &str, arguments: &[&str]) {
        let bytes = |text: &&str| ByteBuf::from(text.as_bytes());
        let start = Start {
            node: 0,
            job: 0,
            ranks: vec![0],
            hosts: vec!["n1".into()],
            key: JobKey([0; 32]),
            secure: Secure::Cookie,
            transport: "auto".into(),
            interface: None,
            has_other_nodes: false,
            address: None,
            programs: vec![wire::Program {
                number: 0,
                file: ByteBuf::from(program.as_bytes()),
                is_from_path: false,
                arguments: std::iter::once(&program)
                    .chain(arguments)
                    .map(bytes)
                    .collect(),
                environment: 0,
                directory: ByteBuf::from(*b"/"),
                path: None,
            }],
            program_of: vec![0],
            environments: vec![wire::Environment {
                variables: vec![],
                is_whole: false,
            }],
            libraries: None,
            input: Input::Inherited(0),
            wants_counters: false,
            blocked_after_ms: 2000,
            silent_for: None,
            binding: None,
            reports_bindings: false,
        };
        node.obey(Order::Start(Box::new(start)), Instant::now());
    }

    fn reports(node: &mut Node) -> Vec<Report> {
        std::iter::from_fn(|| node.report()).collect()
    }

    fn pid(node: &mut Node) -> Pid {
        match &reports(node)[..] {
            [Report::Started { rank: 0, pid }] => Pid::from_raw(*pid),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_rank_that_stays_stopped_is_reported_once() {
        let mut node = node_with("sleep", &["100"]);
        let pid = pid(&mut node);
        let now = Instant::now();
        assert!(node.child(pid, WaitStatus::Stopped(pid, Signal::SIGSTOP), now));
        assert_eq!(node.wake_at(), Some(now + STOPPED_FOR));
        node.tick(now + STOPPED_FOR - Duration::from_millis(1));
        assert_eq!(reports(&mut node), []);
        node.tick(now + STOPPED_FOR);
        node.tick(now + 2 * STOPPED_FOR);
        assert_eq!(reports(&mut node), [Report::Stopped { rank: 0 }]);
        node.ending.kill(&mut node.ranks);
    }

    #[test]
    fn a_rank_that_goes_on_or_that_we_stopped_is_not_reported() {
        let mut node = node_with("sleep", &["100"]);
        let pid = pid(&mut node);
        let now = Instant::now();
        let stopped = WaitStatus::Stopped(pid, Signal::SIGSTOP);
        node.child(pid, stopped, now);
        node.child(pid, WaitStatus::Continued(pid), now);
        assert_eq!(node.wake_at(), None);
        let signal = Signal::SIGTSTP as i32;
        node.obey(
            Order::Signal {
                signal,
                is_from_terminal: false,
            },
            now,
        );
        node.child(pid, stopped, now);
        assert_eq!(node.wake_at(), None);
        node.ending.kill(&mut node.ranks);
    }

    #[test]
    fn a_node_answers_for_ranks_that_cannot_and_never_after_its_end() {
        let mut node = node_with("sleep", &["100"]);
        let pid = pid(&mut node);
        let now = Instant::now();
        let described = |question, answer| Report::Described {
            rank: 0,
            question,
            answer,
        };
        node.obey(Order::Describe { question: 1 }, now);
        assert_eq!(reports(&mut node), [described(1, Answer::BeforeInit)]);
        node.ending.kill(&mut node.ranks);
        let status = nix::sys::wait::waitpid(pid, None).unwrap();
        node.child(pid, status, now);
        let ended = reports(&mut node);
        assert_eq!(ended.last(), Some(&Report::Quiet));
        node.obey(Order::Describe { question: 2 }, now);
        assert_eq!((reports(&mut node), node.wake_at()), (vec![], None));
    }

    #[test]
    fn the_end_is_polite_first_and_final_after_the_grace() {
        let mut node = node_with(
            "sh",
            &["-c", "trap '' TERM; echo ready; sleep 100; sleep 100"],
        );
        let pid = pid(&mut node);
        while reports(&mut node).is_empty() {
            let mut interests = Interests::default();
            node.interests(&mut interests);
            for token in interests.wait(None) {
                node.ready(token, Instant::now());
            }
        }
        let now = Instant::now();
        node.obey(Order::End, now);
        assert_eq!(node.wake_at(), Some(now + GRACE));
        node.tick(now + GRACE);
        let status = nix::sys::wait::waitpid(pid, None).unwrap();
        assert_eq!(status, WaitStatus::Signaled(pid, Signal::SIGKILL, false));
        node.child(pid, status, now);
        let ended = Report::Ended {
            rank: 0,
            ended: Ended::Killed(9),
        };
        assert_eq!(reports(&mut node), [ended, Report::Quiet]);
        assert_eq!(kill(pid, None), Err(Errno::ESRCH));
    }

    /// Whatever is made of the records takes its time after the last rank has ended.
    #[test]
    fn records_are_guarded_until_they_are_used() {
        for is_used in [false, true] {
            let name = format!("mpilite-guarded-{}-{is_used}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            std::fs::create_dir(&folder).unwrap();
            let mut node = Node::new(inherited());
            node.have_records(folder.clone());
            start_in(&mut node, "true", &[]);
            let pid = pid(&mut node);
            let status = nix::sys::wait::waitpid(pid, None).unwrap();
            node.child(pid, status, Instant::now());
            assert!(node.is_quiet());
            let guard = node.guard.as_ref().unwrap().pid();
            if is_used {
                node.dismiss_guard();
            }
            // As if this process were killed.
            drop(node);
            nix::sys::wait::waitpid(guard, None).unwrap();
            assert_eq!(folder.exists(), is_used);
            std::fs::remove_dir_all(folder).ok();
        }
    }

    #[test]
    fn a_node_that_cannot_start_has_no_ranks_and_says_why() {
        let mut node = node_with("no-such-program", &[]);
        let reports = reports(&mut node);
        assert!(matches!(
            &reports[..],
            [Report::Refused { code: 127, .. }, Report::Quiet]
        ));
    }

    #[test]
    fn ranks_whose_ends_somebody_else_has_taken_are_lost() {
        let mut node = node_with("true", &[]);
        let pid = pid(&mut node);
        nix::sys::wait::waitpid(pid, None).unwrap();
        node.lose_children(Instant::now());
        assert_eq!(reports(&mut node), [Report::Quiet]);
    }

    #[test]
    fn orders_for_a_node_without_ranks_are_harmless() {
        let mut node = Node::new(inherited());
        let now = Instant::now();
        for order in [
            Order::Cards(vec![]),
            Order::Input(ByteBuf::new()),
            Order::InputEnd,
            Order::OutputTaken(u64::MAX),
            Order::Signal {
                signal: 999,
                is_from_terminal: true,
            },
            Order::End,
        ] {
            node.obey(order, now);
            node.tick(now + GRACE);
        }
        assert_eq!(reports(&mut node), [Report::InputClosed, Report::Quiet]);
    }
}
