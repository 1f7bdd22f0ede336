//! Init, Finalize, Abort. Source: MPI 5.0, 11.2.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::launcher::Channel;
use super::placement::{begin_apart, cores};
use super::transports::{self, Ground};
use crate::boot::state::RankState;
use crate::boot::{Assignment, Boot, BootError, Counted};
use crate::clock::Clock;
use crate::comm::{Call, Communicator, Group};
use crate::config::{Settings, Wait};
use crate::engine::{
    CollectiveLeft, Counters, Engine, Lane, Launcher, Leftovers, MessageLeft, Subject, Ticker,
    WaitPolicy, tick,
};
use crate::error::{Cause, Error, Result};
use crate::hidden::scrub_stack;
use crate::ids::Context;
use crate::machine;
use crate::node::{self, Node};
use crate::transport::{Link, Links, Loopback, PeerId, Shm};

/// One MPI process. Everything hangs on it; there is nothing global.
#[derive(Debug)]
pub struct Process {
    boot: Arc<Mutex<Boot>>,
    assignment: Assignment,
    engine: Arc<Engine>,
    ticker: Mutex<Option<Ticker>>,
    /// The period of the ticker.
    tick: Duration,
    world: Communicator,
    own: Communicator,
    /// All processes, for those that make a communicator without another one.
    all: Communicator,
}

pub(super) fn failed(error: impl fmt::Display) -> Error {
    Cause::Start(error.to_string().into()).into()
}

/// What the engine needs of the system, for lines that say that there is none.
const DESCRIPTORS: &str = "make the descriptors that wake a sleeping thread (eventfd)";

/// What the ticker needs of the system, for such lines.
const TICKER: &str = "start the thread that works while the program computes";

/// The error of a start that stops because the system does not do `what`.
fn cannot(what: &str) -> impl Fn(io::Error) -> Error {
    move |error| failed(machine::cannot(what, &error))
}

impl Process {
    /// Joins the job: gets its assignment, opens what the transport needs, meets the others.
    ///
    /// Blocks until all processes of the job have come here.
    ///
    /// # Errors
    /// `Start`, in words: a setting, the launcher's channel, or the network.
    pub fn init() -> Result<Self> {
        let mut settings = Settings::from_environment().map_err(failed)?;
        let mut boot = Boot::from_environment().map_err(failed)?;
        let mut assignment = boot.assignment().clone();
        settings.settle_secure(assignment.secure).map_err(failed)?;
        settings.settle_budgets(machine::memory_bytes(), assignment.local_size);
        let clock = Clock::start();
        let me = PeerId::of_world_rank(assignment.rank);
        let mut node = join_node(&mut boot, &assignment, &settings)?;
        let is_alone = node.is_some() && assignment.local_size == assignment.size;
        let mut network = None;
        if is_alone {
            // Nobody starts before all have mapped the memory.
            boot.exchange(&[], &in_init()).map_err(failed)?;
        } else if assignment.size > 1 {
            network = Some(transports::join(Ground {
                boot: &mut boot,
                assignment: &assignment,
                settings: &settings,
                clock,
                state: &in_init(),
            })?);
        }
        let local = assignment.local_size as usize;
        let cores = node.as_ref().map_or_else(own_cores, Node::cores);
        if let Some(node) = &mut node {
            node.settle(local > cores);
        }
        let node = node.map(Arc::new);
        let own = Link::Loopback(Loopback::new(me));
        let links = Links::new(own, node.clone().map(Shm::new).map(Link::Shm), network);
        let policy = wait_policy(&settings, local, cores);
        let least = Duration::from_millis(settings.tick_ms.max(1));
        let tick = tick(least, local, cores);
        let mut lane = Lane::new(me, links, settings, assignment.hosts.clone());
        if let Some(node) = node {
            lane.join(node);
        }
        let engine = Engine::new(lane, clock, policy).map_err(cannot(DESCRIPTORS))?;
        let boot = Arc::new(Mutex::new(boot));
        // Before the ranks go apart: a thread that is made later disturbs them.
        let ticker = Mutex::new(Some(start_ticker(&engine, tick, &boot)?));
        let (world, own, all) = Communicator::predefined(&engine);
        let lot = assignment.key.lot();
        begin_apart(assignment.local_rank, assignment.local_size, lot);
        // The next Init of this rank, in another program, receives it again.
        boot.lock().forget_key();
        assignment.key.forget();
        scrub_stack();
        Ok(Self {
            boot,
            assignment,
            engine,
            ticker,
            tick,
            world,
            own,
            all,
        })
    }

    /// Lets several threads call at once, from now on. The thread that joined the job calls it.
    ///
    /// # Errors
    /// `Start`: the system has no more file descriptors.
    pub fn allow_threads(&self) -> Result<()> {
        self.engine.allow_threads().map_err(cannot(DESCRIPTORS))
    }

    /// `MPI_COMM_WORLD`.
    #[must_use]
    pub fn world(&self) -> &Communicator {
        &self.world
    }

    /// `MPI_COMM_SELF`.
    #[must_use]
    pub fn own(&self) -> &Communicator {
        &self.own
    }

    /// Makes a communicator of `group` without another one: see
    /// [`Communicator::create_from_group`].
    ///
    /// # Errors
    /// Those of `Communicator::create_from_group`.
    pub fn create_from_group(&self, group: &Group, name: &[u8]) -> Result<Option<Communicator>> {
        self.all.create_from_group(group, name)
    }

    /// Makes an inter-communicator of two groups: see [`Communicator::connect_groups`].
    ///
    /// # Errors
    /// Those of `Communicator::connect_groups`.
    pub fn connect_groups<E: From<Error>>(
        &self,
        local: (&Group, i32),
        remote: impl FnOnce() -> core::result::Result<(Group, i32), E>,
        name: &[u8],
    ) -> core::result::Result<Option<Communicator>, E> {
        self.all.connect_groups(local, remote, name)
    }

    /// This process, as groups name it.
    #[must_use]
    pub fn me(&self) -> PeerId {
        PeerId::of_world_rank(self.assignment.rank)
    }

    /// This process's assignment.
    #[must_use]
    pub fn assignment(&self) -> &Assignment {
        &self.assignment
    }

    /// Returns the counters of this process so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.engine.with(|lane| lane.counters())
    }

    /// What moves the messages of all communicators.
    #[must_use]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Leaves the job: waits until all that was sent is with its receivers, and until all other
    /// processes have come as far, so that nobody still needs an answer of this one. Nobody waits
    /// for a process that is lost. `call` names what the program does, for the report of a job that
    /// hangs. `survives`: the program goes on after an error, so this process leaves the job in
    /// order before an error is returned.
    ///
    /// # Errors
    /// `Lost`: a peer is gone, and with it maybe what was sent to it, also what completed before.
    /// `Collective`: processes called different collectives. `System`: the launcher is gone or ends
    /// the job.
    pub fn finalize(&self, call: &str, survives: bool) -> Result<()> {
        let system = |error: BootError| Error::from(Cause::System(error.to_string().into()));
        self.engine.with(Lane::close);
        let subject = |_: &Lane| Subject::AllSent;
        let loss = self
            .engine
            .wait_until(subject, |lane| match lane.peers().first_loss() {
                Some(loss) if !survives => Some(Err(loss)),
                loss => lane.links().are_quiet().then_some(Ok(loss)),
            })?;
        let mut boot = self.boot.lock();
        for (rank, reason) in self.engine.with(|lane| lane.peers().losses()) {
            boot.loss(rank, &reason).map_err(system)?;
        }
        // Twice: if another rank dies before it comes here, this report is the last.
        self.report(&mut boot, Some(self.counters()))
            .map_err(system)?;
        // Meanwhile the ticker answers the ranks that are not that far yet.
        let begin = self.engine.now();
        let state = || self.engine.report().describe_fence(call, begin);
        boot.exchange(&[], &state).map_err(system)?;
        // All have come, so all that was sent is here, whether somebody wanted it or not.
        self.engine.catch_up();
        let left = match loss {
            Some(loss) => Err(loss),
            None => self.check_leftovers(self.engine.with(|lane| lane.leftovers())),
        };
        match &left {
            Err(_) if !survives => return left,
            Err(error) if !matches!(error.cause(), Cause::Lost { .. }) => {
                boot.failure(&error.to_string()).map_err(system)?;
            }
            _ => {}
        }
        self.ticker.lock().take();
        self.engine.end_calls();
        self.report(&mut boot, Some(self.counters()))
            .map_err(system)?;
        boot.finalized().map_err(system)?;
        left
    }

    /// Communicates again after `finalize`. The launcher takes this process for one that has left
    /// the job, so it asks it no questions.
    ///
    /// # Errors
    /// `Start`: the system has no more threads.
    pub fn resume(&self) -> Result<()> {
        self.engine.with(Lane::reopen);
        let ticker = Ticker::start(Arc::clone(&self.engine), self.tick, None);
        let ticker = ticker.map_err(cannot(TICKER))?;
        self.ticker.lock().replace(ticker);
        Ok(())
    }

    /// Ends what `resume` began: waits until all that was sent is with its receivers, or a peer is
    /// lost. It does not wait for the other processes: the launcher has let them go.
    pub fn pause(&self) {
        self.engine.with(Lane::close);
        let subject = |_: &Lane| Subject::AllSent;
        let is_over = |lane: &Lane| {
            (lane.links().are_quiet() || lane.peers().first_loss().is_some()).then_some(())
        };
        self.engine.wait_until(subject, |lane| is_over(lane));
        self.ticker.lock().take();
        self.engine.end_calls();
    }

    /// Collectives that did not meet are an error. If `check` is set the others are reported, also
    /// that there are none.
    fn check_leftovers(&self, left: Leftovers) -> Result<()> {
        if let Some(left) = left.collective {
            return Err(Cause::Collective(self.tell_collective(left).into()).into());
        }
        self.world.check_epochs()?;
        let is_asked = self.engine.with(|lane| lane.settings().check);
        if is_asked {
            eprintln!("{}", self.tell(&left));
        }
        Ok(())
    }

    /// One line about a collective of which this process has not received everything.
    fn tell_collective(&self, left: CollectiveLeft) -> String {
        let CollectiveLeft { source, tag, .. } = left;
        let (call, me) = (Call::name_of(tag), self.assignment.rank);
        if left.is_unwaited {
            let communicator = match left.context {
                Context::WORLD => "MPI_COMM_WORLD",
                _ => "a communicator",
            };
            return format!(
                "{call} on {communicator} was begun and never completed by rank {me} of \
                 MPI_COMM_WORLD: call MPI_Wait or MPI_Test for its request until it is complete"
            );
        }
        format!(
            "rank {source} of a communicator has sent a message in {call} that rank {me} of \
             MPI_COMM_WORLD never received: all processes of a communicator must call the same \
             collective operations in the same order, with the same root"
        )
    }

    /// One line about what was left behind.
    fn tell(&self, left: &Leftovers) -> String {
        let Assignment { rank, host, .. } = &self.assignment;
        let first = left.first.map_or_else(String::new, |first| {
            let MessageLeft { source, tag, .. } = first;
            let kind = if first.is_partitioned {
                ", partitioned"
            } else {
                ""
            };
            format!(" (the first from rank {source}, tag {tag}{kind})")
        });
        let partitions = match left.partitions {
            0 => String::new(),
            count => format!("; partitions never received: {count}"),
        };
        format!(
            "mpi-lite: rank {rank} on host {host}: MPI_Finalize: messages never received: \
             {}{first}{partitions}; requests never completed or freed: {}",
            left.messages, left.requests
        )
    }

    /// Asks the launcher to end the job with exit status `code`, and to print `message`. The
    /// caller then ends this process.
    pub fn abort(&self, code: i32, message: &str) {
        let mut boot = self.boot.lock();
        // An abort may come out of the engine's midst: then there are none. And if the launcher is
        // gone the caller ends all the same.
        let counters = self.engine.visit().map(|lane| lane.counters());
        let _ = self.report(&mut boot, counters);
        boot.abort(code, message);
    }

    /// Reports to the launcher what was counted, if it asked for that and there are `counters`.
    fn report(
        &self,
        boot: &mut Boot,
        counters: Option<Counters>,
    ) -> core::result::Result<(), BootError> {
        match counters.filter(|_| self.assignment.reports_counters) {
            Some(counters) => boot.report(counters.rows().iter().map(Counted::from).collect()),
            None => Ok(()),
        }
    }
}

/// Starts the thread that works while the program computes, and answers the launcher.
fn start_ticker(engine: &Arc<Engine>, tick: Duration, boot: &Arc<Mutex<Boot>>) -> Result<Ticker> {
    let channel = Channel::new(boot).map_err(cannot(DESCRIPTORS))?;
    let launcher = channel.map(|channel| Box::new(channel) as Box<dyn Launcher>);
    Ticker::start(Arc::clone(engine), tick, launcher).map_err(cannot(TICKER))
}

/// What a rank does that waits in Init from now on.
fn in_init() -> impl Fn() -> RankState {
    let clock = Clock::start();
    move || {
        let blocked = Duration::from_nanos(clock.now().0);
        RankState::waiting_for_all("MPI_Init", blocked)
    }
}

/// The memory that the ranks of this node share, if the launcher has given it.
fn join_node(
    boot: &mut Boot,
    assignment: &Assignment,
    settings: &Settings,
) -> Result<Option<Node>> {
    let Some(shared) = boot.shared() else {
        return Ok(None);
    };
    let access = node::Access {
        memory: shared.memory,
        doorbells: shared.doorbells,
        ranks: assignment.local_peers.clone(),
        me: assignment.local_rank,
        cores: cores(),
        copy_across: settings.copy_across,
    };
    let node = Node::join(access, assignment.size);
    node.map(Some)
        .map_err(cannot("map the memory that the node shares"))
}

/// The cores that this rank may use, as far as it can see.
pub(super) fn own_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn wait_policy(settings: &Settings, local: usize, cores: usize) -> WaitPolicy {
    let mut policy = match settings.wait {
        Wait::Auto => WaitPolicy::of(local, cores),
        Wait::Spin => WaitPolicy::SPINNING,
        Wait::Yield => WaitPolicy::YIELDING,
        Wait::Block => WaitPolicy::BLOCKING,
    };
    if let Some(spin_us) = settings.spin_us {
        policy.awake = Duration::from_micros(spin_us);
    }
    policy
}
