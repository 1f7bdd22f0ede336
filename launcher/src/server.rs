//! `mpirun` itself: from a command line to an exit status.
//!
//! One thread, one loop: wait for descriptors and the clock, let the nodes report, let the
//! [`Job`] decide, carry out its effects.

use std::time::{Duration, Instant};

use mpi_boot::protocol;
use nix::sys::signal::{Signal, raise};

use crate::cli::network::Wanted;
use crate::cli::request::Options;
use crate::cli::values::{Launcher, Policy};
use crate::cli::{settings, times};
use crate::failure::{Failure, LAUNCH, OUTPUT_LOST, SIGNAL_BASE, STALLED};
use crate::job::allocation::{self, Allocation};
use crate::job::input::InputPump;
use crate::job::machine;
use crate::job::plan::Plan;
use crate::job::preload::{self, Preload};
use crate::job::programs::place;
use crate::job::{Effect, Job};
use crate::node::Node;
use crate::poll::{Interests, Token, earlier};
use crate::process::{Prepared, prepare_process};
use crate::remote::Remote;
use crate::remote::link::Link;
use crate::remote::settings::Settings as Way;
use crate::remote::srun::{News, Srun};
use crate::remote::tree::Tree;
use crate::reports::output::{Origin, Output, Trouble};
use crate::reports::progress::{Late, Progress};
use crate::reports::results::Results;
use crate::reports::stall::gather::{Gather, Step};
use crate::reports::stall::settings::Settings;
use crate::reports::stall::{self, Occasion, Snapshot};
use crate::reports::verbose;
use crate::wire::{Order, Report, Stream};

/// Exit status of a program that wrote into a closed pipe.
const BROKEN_PIPE: u8 = SIGNAL_BASE + 13;

/// Runs the job. Returns the exit status, or a failure from before anything was started.
pub fn run(options: &Options) -> Result<u8, Failure> {
    let has_hosts = !options.hosts.is_empty() || options.host_file.is_some();
    let allocation = Allocation::of_this_process(has_hosts)?;
    let placement = place(options, allocation.as_ref())?;
    let note = placement.note.clone();
    let way = Way::read(options, &placement, allocation.as_ref())?;
    let mut map = verbose::hosts(options, allocation.as_ref(), &placement, &way);
    let plan = Plan::new(options, placement)?;
    map.extend(plan.program_lines(options.is_verbose));
    check_secrecy(&plan, &way)?;
    let network = plan.network.as_ref().and_then(Wanted::note);
    let grace = times::grace(options.grace, allocation.is_some(), times::variable)?;
    let job = Job::new(&plan.placement.hosts, grace).with(plan.wishes.clone());
    let mut server = Server::new(options, (plan, job), &way)?;
    let unknown = settings::unknown_variables(std::env::vars_os());
    let idle = match has_hosts {
        true => None,
        false => allocation::note(|name| std::env::var_os(name)),
    };
    let notes = options.notes.iter().chain(&note).chain(&idle);
    let notes = notes.chain(&network).chain(&map);
    for note in notes.chain(&unknown) {
        server.output.say(note);
    }
    Ok(server.serve())
}

/// Refuses a seal whose key would cross the network in the clear.
fn check_secrecy(plan: &Plan, way: &Way) -> Result<(), Failure> {
    let mut places = plan.placement.places.iter();
    let is_open = way.launcher == Launcher::Srun && places.any(|place| !place.is_here);
    if is_open && plan.is_sealed() {
        return Err(Failure::usage(
            "--secure needs a private way for the job's key, but the agents that srun starts \
             connect over plain TCP; use --launcher ssh",
        ));
    }
    Ok(())
}

struct Server {
    plan: Plan,
    job: Job,
    links: Vec<Link>,
    tree: Tree,
    /// The srun of a Slurm job.
    srun: Option<Srun>,
    progress: Progress,
    output: Output,
    input: InputPump,
    preload: Preload,
    results: Results,
    gather: Gather,
    stall: Settings,
    process: Prepared,
    is_started: bool,
    is_verbose: bool,
    timeout: Option<(Duration, &'static str)>,
    time_is_up_at: Option<Instant>,
}

impl Server {
    fn new(options: &Options, (mut plan, job): (Plan, Job), way: &Way) -> Result<Server, Failure> {
        let timeout = times::timeout(options)?;
        let stall = Settings::new(options)?;
        let places = &plan.placement.places;
        let here = places.iter().find(|place| place.is_here);
        let here = here.map_or(&[][..], |place| &place.ranks);
        let gather = Gather::new(&plan.placement.hosts, here, stall.report_after());
        let process = prepare_process()?;
        let inherited = process.inherited;
        let mut links = Vec::new();
        for place in &plan.placement.places {
            links.push(match place.is_here {
                true => Link::Here(Box::new(Node::new(inherited))),
                false => {
                    let remote = Remote::new(&place.host, &place.ranks, way, inherited)?;
                    Link::There(Box::new(remote))
                }
            });
        }
        let srun = Srun::of(&plan.placement.places, way, inherited)?;
        let preload = plan.preload()?;
        // Last: it empties files, and a command line that is refused shall leave them as they were.
        let mut results = Results::open(options, &plan.placement)?;
        if let Some(capture) = &results.capture {
            plan.set_here(capture.variable());
        }
        let output = Output::new(options.style, results.rank_files.take())
            .map_err(|error| Failure::launch(format!("cannot start: {error}")))?;
        Ok(Server {
            job,
            input: InputPump::new(plan.input_nodes()),
            preload,
            results,
            gather,
            stall,
            plan,
            tree: Tree::new(&links, options.launch_fanout, way.launcher),
            links,
            srun,
            progress: Progress::new(way.ready_within),
            output,
            process,
            is_started: false,
            is_verbose: options.is_verbose,
            timeout,
            time_is_up_at: timeout.map(|(time, _)| Instant::now() + time),
        })
    }

    fn serve(&mut self) -> u8 {
        loop {
            let now = Instant::now();
            self.tree.exchange(&mut self.links, now);
            self.connect_and_start(now);
            self.tick(now);
            self.hear_all(now);
            let is_over = self.is_over(now);
            if is_over {
                self.finish_results(now);
            }
            if is_over && self.output.is_empty() {
                if self.job.leaves_nothing() {
                    self.process.children.kill_all();
                }
                return self.job.exit_code();
            }
            let ready = self.wait();
            let now = Instant::now();
            for token in ready {
                self.ready(token, now);
            }
        }
    }

    /// Writes what is known at the end of the job.
    fn finish_results(&mut self, now: Instant) {
        let closing = self.results.finish();
        self.links.iter_mut().for_each(Link::dismiss_guard);
        if !closing.text.is_empty() {
            self.output.show(&closing.text);
        }
        closing.notes.iter().for_each(|it| self.output.say(it));
        for line in closing.losses {
            self.job.outcome.lose_result(line);
        }
        self.carry_out(now);
        self.write(now);
    }

    /// Returns true if nothing will come any more, from srun neither.
    fn is_over(&mut self, now: Instant) -> bool {
        let are_links_over = self.links.iter().all(Link::is_over);
        are_links_over && self.srun.as_mut().is_none_or(|srun| srun.finish(now))
    }

    fn wait(&self) -> Vec<Token> {
        let mut interests = Interests::default();
        interests.readable(self.process.signals.descriptor(), Token::Signals);
        self.output.interests(&mut interests);
        let mut until = earlier(self.job.wake_at(), self.time_is_up_at);
        until = earlier(until, self.gather.wake_at());
        until = earlier(until, self.progress.wake_at());
        if let Some(srun) = &self.srun {
            srun.interests(&mut interests);
            until = earlier(until, srun.wake_at());
        }
        if self.is_started {
            self.input.interests(&mut interests);
            until = earlier(until, self.input.wake_at());
        }
        for (number, link) in self.links.iter().enumerate() {
            link.interests(number, &mut interests);
            until = earlier(until, link.wake_at());
        }
        interests.wait(until)
    }

    fn ready(&mut self, token: Token, now: Instant) {
        match token {
            Token::Signals => self.hear_signals(now),
            // `hear_all` writes what can be written.
            Token::Sink(_) | Token::Server | Token::Below(_) => {}
            Token::Step => {
                if let Some(srun) = &mut self.srun {
                    srun.ready(now);
                }
            }
            Token::Input => {
                if let Some((nodes, order)) = self.input.read() {
                    for node in nodes {
                        self.links[node].obey(&order, None, now);
                    }
                }
            }
            Token::Remote(number) => self.links[number].ready(token, now),
            Token::Boot(_) | Token::Pmi(_) | Token::Rank(..) | Token::RankInput => {
                let mut links = self.links.iter_mut();
                let here = links.find(|link| matches!(link, Link::Here(_)));
                let here = here.expect("only a node here has such descriptors");
                here.ready(token, now);
            }
        }
    }

    fn tick(&mut self, now: Instant) {
        self.job.tick(now);
        if self.time_is_up_at.is_some_and(|at| at <= now) {
            self.time_is_up_at = None;
            if self.is_started && !self.job.leaves_nothing() {
                self.gather.time_is_up(now);
            } else {
                self.time_is_up(now);
            }
        }
        self.links.iter_mut().for_each(|link| link.tick(now));
        self.tick_srun(now);
    }

    /// Lets srun go on, and takes the agents that have arrived by it.
    fn tick_srun(&mut self, now: Instant) {
        let Some(srun) = &mut self.srun else { return };
        srun.tick(now);
        while let Some(news) = srun.news() {
            match news {
                News::Arrived(number, connection) => {
                    if let Some(remote) = self.links[number].remote_mut() {
                        remote.attach(connection, now);
                    }
                }
                News::Called(words) if self.is_verbose => {
                    self.output.say(&verbose::command_line(&words));
                }
                News::Called(_) => {}
                News::Failed(reason) => {
                    let links = self.links.iter_mut();
                    for remote in links.filter_map(Link::remote_mut) {
                        remote.give_up(&reason);
                    }
                }
            }
        }
    }

    /// The time for the job is over.
    fn time_is_up(&mut self, now: Instant) {
        if let Some((time, asked)) = self.timeout {
            self.job.time_is_up(time.as_secs_f64(), asked, now);
        }
    }

    /// Connects to the other hosts, and starts the ranks when every node is ready.
    fn connect_and_start(&mut self, now: Instant) {
        if self.is_started || self.job.outcome.is_ending() {
            return self.progress.stop();
        }
        if let Some(srun) = &mut self.srun {
            srun.start(now);
        }
        self.tree.connect(&mut self.links, now);
        if self.links.iter().all(Link::is_ready) && self.has_preloaded(now) {
            if let Err(line) = self.results.begin(&mut self.links) {
                return self.job.outcome.fail(LAUNCH, line);
            }
            self.is_started = true;
            self.job.note_start();
            self.note_one_machine();
            if let Some(note) = self.tree.note() {
                self.output.say(&note);
            }
            self.start(now);
        } else {
            self.show_progress(now);
        }
    }

    /// Prints a line about slow hosts if it is time to.
    fn show_progress(&mut self, now: Instant) {
        let remotes = self.links.iter().filter_map(Link::remote);
        let late: Vec<Late<'_>> = remotes.filter_map(Remote::late).collect();
        if let Some(line) = self.progress.line(&late, self.links.len(), now) {
            self.output.say(&line);
        }
    }

    /// Sends programs to the nodes that have room for more. Returns true if all have everything.
    fn has_preloaded(&mut self, now: Instant) -> bool {
        for (number, link) in self.links.iter_mut().enumerate() {
            let Some(remote) = link.remote_mut() else {
                continue;
            };
            while remote.way.backlog() < preload::BACKLOG {
                match self.preload.piece(number) {
                    Some(Ok(piece)) => remote.obey(&piece, None, now),
                    Some(Err(line)) => {
                        self.job.outcome.fail(LAUNCH, line);
                        return false;
                    }
                    None => break,
                }
            }
        }
        self.preload.is_done()
    }

    fn start(&mut self, now: Instant) {
        // How another host reached us back through its ssh connection.
        let mut remotes = self.links.iter().filter_map(Link::remote);
        let own_address = remotes.find_map(|remote| remote.known().client);
        for (number, link) in self.links.iter_mut().enumerate() {
            let of_remote = |remote: &Remote| remote.known().server;
            let address = link.remote().map_or(own_address, of_remote);
            let start = self.plan.start(number, address);
            link.obey(&Order::Start(Box::new(start)), None, now);
        }
    }

    /// Prints a note if two hosts are one machine.
    fn note_one_machine(&mut self) {
        let own = mpi_boot::machine::identity();
        let of_links = self.links.iter().map(|link| match link.remote() {
            Some(remote) => remote.known().machine.as_deref(),
            None => own.as_deref(),
        });
        let places = self.plan.placement.places.iter();
        if let Some(note) = machine::note(places.zip(of_links)) {
            self.output.say(&note);
        }
    }

    fn hear_signals(&mut self, now: Instant) {
        while let Some(arrived) = self.process.signals.pop() {
            match arrived.signal {
                Signal::SIGCHLD => {}
                Signal::SIGQUIT => self.gather.ask(now),
                signal => self
                    .job
                    .signal(signal as i32, arrived.is_from_terminal, now),
            }
            if arrived.signal == Signal::SIGCONT {
                self.gather.go_on(now);
            }
            if arrived.signal == Signal::SIGTSTP {
                self.carry_out(now);
                raise(Signal::SIGSTOP).expect("a process can stop itself");
            }
        }
        self.look_after_children(now);
    }

    fn look_after_children(&mut self, now: Instant) {
        let has_any = self.process.children.changes(|pid, status| {
            let mut links = self.links.iter_mut();
            // A child of nobody is an orphan that we adopted.
            if !links.any(|link| link.child(pid, status, now))
                && let Some(srun) = &mut self.srun
            {
                srun.child(pid, status, now);
            }
        });
        if !has_any {
            let links = self.links.iter_mut();
            links.for_each(|link| link.lose_children(now));
        }
    }

    /// Takes all reports, and does what follows from them, until nothing more follows.
    fn hear_all(&mut self, now: Instant) {
        loop {
            let mut has_heard = self.tree.exchange(&mut self.links, now);
            for number in 0..self.links.len() {
                while let Some(report) = self.links[number].report() {
                    has_heard = true;
                    self.hear(number, report, now);
                }
            }
            self.carry_out(now);
            has_heard |= self.gather(now);
            has_heard |= self.write(now);
            if !has_heard {
                return;
            }
        }
    }

    fn hear(&mut self, node: usize, report: Report, now: Instant) {
        let host = &self.plan.placement.places[node].host;
        match report {
            Report::Output {
                rank,
                stream,
                bytes,
            } => {
                self.output.push(Origin { node, rank }, stream, &bytes);
            }
            Report::InputTaken(bytes) => self.input.taken(node, bytes),
            Report::InputClosed => self.input.close(node),
            Report::Counters { rank, counters } => {
                if let Some(recorder) = &mut self.results.recorder {
                    recorder.statistics.hear(rank, &counters);
                }
            }
            Report::Signalled { signal } if signal == Signal::SIGQUIT as i32 => {
                self.gather.ask(now);
            }
            Report::Signalled { signal } => self.job.signal_elsewhere(host, signal, now),
            report => {
                let recorder = self.results.recorder.as_mut();
                if let (Report::Init { rank }, Some(recorder)) = (&report, recorder) {
                    recorder.statistics.begin(*rank);
                }
                if matches!(report, Report::Quiet | Report::Lost { .. }) {
                    self.input.close(node);
                }
                self.gather.hear(&report, now);
                self.job.look_for_signal(&report, now);
                if let Some(line) = verbose::report(host, &report).filter(|_| self.is_verbose) {
                    self.output.say(&line);
                }
                self.job.hear(host, report);
            }
        }
    }

    fn carry_out(&mut self, now: Instant) {
        while let Some(effect) = self.job.outcome.effect() {
            match effect {
                Effect::Say(line) => self.output.say(&line),
                Effect::Order(order) => {
                    if matches!(order, Order::Cards(_)) {
                        self.gather.cards_are_out();
                    }
                    self.order(&order, now);
                }
            }
        }
    }

    /// Gives an order to all nodes. It is encoded once.
    fn order(&mut self, order: &Order, now: Instant) {
        // A node that gets no frame says why.
        let frame = match self.links.len() {
            1 => None,
            _ => protocol::encode(order).ok(),
        };
        for link in &mut self.links {
            link.obey(order, frame.as_deref(), now);
        }
    }

    /// Asks the ranks what they do when it is time to, and reports it. Returns true if they were
    /// asked.
    fn gather(&mut self, now: Instant) -> bool {
        if self.job.leaves_nothing() {
            self.gather.stop();
        }
        self.gather.tick(now);
        let mut has_asked = false;
        while let Some(step) = self.gather.step() {
            match step {
                Step::Ask(question) => {
                    has_asked = true;
                    self.order(&Order::Describe { question }, now);
                }
                Step::Say(line) => self.output.say(&line),
                Step::Report(snapshot) => self.report(&snapshot, now),
            }
        }
        has_asked
    }

    /// Prints what the ranks do, and ends the job if that is to follow.
    fn report(&mut self, snapshot: &Snapshot, now: Instant) {
        for line in stall::report(snapshot) {
            self.output.say(&line);
        }
        if let Some(record) = &mut self.results.stall_record
            && let Err(line) = record.write_whole(format!("{}\n", stall::json(snapshot)).as_bytes())
        {
            self.job.outcome.lose_result(line);
        }
        match snapshot.occasion {
            Occasion::Timeout => self.time_is_up(now),
            Occasion::Stall { .. } if self.stall.policy == Policy::Abort => {
                let line = format!("ending the job ({})", self.stall.asked);
                self.job.outcome.fail(STALLED, line);
            }
            Occasion::Stall { .. } | Occasion::Asked => {}
        }
    }

    /// Writes the output. Returns true if nodes may go on because of that.
    fn write(&mut self, now: Instant) -> bool {
        let (taken, troubles) = self.output.flush();
        for (stream, trouble) in troubles {
            match (stream, trouble) {
                (Stream::Output, Trouble::Closed) => self.job.outcome.output_closed(BROKEN_PIPE),
                (Stream::Output, Trouble::Failed(reason)) => self.job.outcome.fail(
                    OUTPUT_LOST,
                    format!("cannot write the output: {reason}; ending the job"),
                ),
                // There is nowhere left to tell it.
                (Stream::Error, _) => self.job.outcome.output_closed(OUTPUT_LOST),
            }
        }
        for done in &taken {
            self.links[done.node].obey(&Order::OutputTaken(done.bytes), None, now);
        }
        self.carry_out(now);
        !taken.is_empty()
    }
}
