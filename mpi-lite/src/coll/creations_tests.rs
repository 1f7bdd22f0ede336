//! Communicators are made while others are, by processes that take no turns for seconds, over a
//! network that loses, copies and reorders. All ends, and no context is taken twice.
//!
//! `MPILITE_SEED=n` replays job n; `MPILITE_PROGRAMS=n` runs the first n jobs.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmpp_core::Rng;
use rmpp_core::{Caps, Config};
use rmpp_sim::Faults;

use super::Barrier;
use crate::clock::{Clock, Instant};
use crate::comm::{Call, Communicator, Group};
use crate::config::Settings;
use crate::engine::{Engine, Lane, Request, WaitPolicy};
use crate::ids::Context;
use crate::transport::sim::Air;
use crate::transport::{Link, Links, Loopback, PeerId, Progress};

/// Jobs of one run.
const JOBS: u64 = 100;

/// Calls of a job, each by all processes of a communicator.
const CALLS: usize = 60;

/// How often time may pass until a job that does not end is stuck.
const ADVANCES: u32 = 1_000_000;

/// A communicator of the job. That of all processes is the first one.
type Number = usize;

#[derive(Debug)]
enum What {
    Dup,
    /// The color and the key of each member.
    Split(Vec<(usize, i32)>),
    /// Of these processes, in this order.
    Create(Vec<usize>),
    Barrier,
    Free,
}

/// What all processes of a communicator call.
#[derive(Debug)]
struct Step {
    on: Number,
    what: What,
    /// The communicators that it makes: one, or one for each color.
    makes: Vec<Number>,
    /// Each process waits for its end, as in a blocking call.
    is_awaited: bool,
}

/// The calls of a job in their order. Each process makes those of its communicators.
#[derive(Debug, Default)]
struct Script {
    /// The processes of each communicator.
    groups: Vec<Vec<usize>>,
    steps: Vec<Step>,
}

fn pick<T: Copy>(rng: &mut Rng, choices: &[T]) -> T {
    choices[rng.below(choices.len() as u64) as usize]
}

fn shuffled(rng: &mut Rng, things: &[usize]) -> Vec<usize> {
    let mut things = things.to_vec();
    for last in (1..things.len()).rev() {
        things.swap(last, rng.below(last as u64 + 1) as usize);
    }
    things
}

impl Script {
    fn draw(rng: &mut Rng, processes: usize) -> Self {
        let mut script = Self {
            groups: vec![(0..processes).collect()],
            steps: Vec::new(),
        };
        let mut open = vec![0];
        while script.steps.len() < CALLS {
            let on = pick(rng, &open);
            let members = script.groups[on].clone();
            let (what, made) = match rng.below(10) {
                0..4 => (What::Dup, vec![members]),
                4 => {
                    let parts = 1 + rng.below(2) as usize;
                    let mut draw = || (rng.below(2) as usize % parts, rng.below(9) as i32);
                    let words: Vec<_> = members.iter().map(|_| draw()).collect();
                    let made = (0..parts).map(|color| part(&members, &words, color));
                    (What::Split(words.clone()), made.collect())
                }
                5..7 => {
                    let mut chosen = shuffled(rng, &members);
                    chosen.truncate(1 + rng.below(members.len() as u64) as usize);
                    (What::Create(chosen.clone()), vec![chosen])
                }
                7..9 => (What::Barrier, Vec::new()),
                _ if on != 0 => (What::Free, Vec::new()),
                _ => continue,
            };
            if let What::Free = what {
                open.retain(|number| *number != on);
            }
            let makes = script.groups.len()..script.groups.len() + made.len();
            script.groups.extend(made);
            open.extend(makes.clone().filter(|&it| !script.groups[it].is_empty()));
            script.steps.push(Step {
                on,
                what,
                makes: makes.collect(),
                is_awaited: rng.below(3) == 0,
            });
        }
        script
    }
}

/// The members of a color, by key and rank.
fn part(members: &[usize], words: &[(usize, i32)], color: usize) -> Vec<usize> {
    let with_words = members.iter().zip(words);
    let chosen = with_words.filter(|(_, word)| word.0 == color);
    let mut chosen: Vec<_> = chosen.map(|(member, word)| (word.1, *member)).collect();
    chosen.sort_by_key(|(key, _)| *key);
    chosen.into_iter().map(|(_, member)| member).collect()
}

/// The communicators that tasks have made.
type Made = Arc<Mutex<Vec<(Number, Communicator)>>>;

struct Process {
    me: usize,
    engine: Arc<Engine>,
    comms: BTreeMap<Number, Communicator>,
    made: Made,
    contexts: BTreeSet<Context>,
    /// Its next step.
    next: usize,
    pending: Vec<Request>,
    awaited: Option<Request>,
    /// It does nothing until then.
    away_until: Instant,
}

impl Process {
    fn new(me: usize, link: Link, (processes, settings): (usize, Settings)) -> Self {
        let peer = PeerId(me as u32);
        let links = Links::new(Link::Loopback(Loopback::new(peer)), None, Some(link));
        let lane = Lane::new(peer, links, settings, vec!["here".into(); processes]);
        let engine = Engine::new(lane, Clock::start(), WaitPolicy::of(1, 1)).unwrap();
        let world = Communicator::predefined(&engine).0;
        Self {
            me,
            engine,
            comms: BTreeMap::from([(0, world)]),
            made: Made::default(),
            contexts: BTreeSet::new(),
            next: 0,
            pending: Vec::new(),
            awaited: None,
            away_until: Instant::ZERO,
        }
    }

    /// Makes the next call of the script, if it may go on and has the communicator. Returns true if
    /// it has come further.
    fn act(&mut self, script: &Script) -> bool {
        let is_mine = |step: &Step| script.groups[step.on].contains(&self.me);
        let before = self.next;
        while script
            .steps
            .get(self.next)
            .is_some_and(|step| !is_mine(step))
        {
            self.next += 1;
        }
        let Some(step) = script.steps.get(self.next) else {
            return self.next > before;
        };
        if self.awaited.is_some() || !self.comms.contains_key(&step.on) {
            return false;
        }
        self.next += 1;
        let comm = self.comms[&step.on].clone();
        let request = match &step.what {
            What::Free => {
                self.comms.remove(&step.on);
                return true;
            }
            What::Barrier => comm.start(Barrier).unwrap(),
            What::Dup => {
                let (made, number) = (Arc::clone(&self.made), step.makes[0]);
                comm.idup(move |comm| made.lock().push((number, comm)))
            }
            What::Split(words) => self.split(&comm, step, words[comm.rank() as usize]),
            What::Create(members) => self.create(&comm, step, members),
        };
        self.pending.push(request);
        self.awaited = step.is_awaited.then_some(request);
        true
    }

    fn split(&self, comm: &Communicator, step: &Step, (color, key): (usize, i32)) -> Request {
        let (made, number, parent) = (Arc::clone(&self.made), step.makes[color], comm.clone());
        comm.start_call(Call::CREATE, false, move |peers| {
            Box::pin(async move {
                let part = parent
                    .split_among(&peers.participant(), Some(color as u32), key)
                    .await?;
                made.lock().push((number, part.expect("it has a color")));
                Ok(0)
            })
        })
    }

    fn create(&self, comm: &Communicator, step: &Step, members: &[usize]) -> Request {
        let (made, number, parent) = (Arc::clone(&self.made), step.makes[0], comm.clone());
        let peers = members.iter().map(|&member| PeerId(member as u32));
        let group = Group::from_members(peers.collect());
        comm.start_call(Call::CREATE, false, move |peers| {
            Box::pin(async move {
                let part = parent.create_among(&peers.participant(), &group).await?;
                made.lock().extend(part.map(|part| (number, part)));
                Ok(0)
            })
        })
    }

    /// Takes a turn. Returns true if anything has gone on.
    fn turn(&mut self, now: Instant) -> bool {
        let progress = self.engine.with(|lane| lane.turn(now));
        self.engine.run_tasks();
        let before = self.pending.len();
        let engine = Arc::clone(&self.engine);
        self.pending.retain(|&request| {
            let ended = engine.with(|lane| lane.take(Some(request))).unwrap();
            if let Some(ended) = &ended {
                assert_eq!(ended.error, None);
            }
            ended.is_none()
        });
        self.awaited = self.awaited.filter(|it| self.pending.contains(it));
        progress > Progress::Idle || self.pending.len() < before
    }

    /// Takes over what the tasks have made.
    fn take_made(&mut self, script: &Script, contexts: &mut BTreeMap<Number, Context>) {
        for (number, comm) in self.made.lock().drain(..) {
            let members = comm.group().members().iter();
            let members: Vec<_> = members.map(|member| member.0 as usize).collect();
            assert_eq!(members, script.groups[number], "communicator {number}");
            let context = comm.context();
            let agreed = contexts.entry(number).or_insert(context);
            assert_eq!(*agreed, context, "communicator {number} at {}", self.me);
            assert!(self.contexts.insert(context), "{context:?} is taken twice");
            self.comms.insert(number, comm);
        }
    }

    fn is_over(&self, script: &Script) -> bool {
        self.next == script.steps.len() && self.pending.is_empty()
    }
}

struct Job {
    rng: Rng,
    air: Air,
    script: Script,
    processes: Vec<Process>,
    contexts: BTreeMap<Number, Context>,
    advances: u32,
}

impl Job {
    fn draw(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x1d09);
        let processes = pick(&mut rng, &[2, 3, 4, 4, 4, 5, 8]);
        let air = Air::new(processes, seed, draw_faults(&mut rng));
        let settings = Settings {
            eager_copy_bytes: pick(&mut rng, &[0, 40, 16_384]),
            eager_budget_bytes: pick(&mut rng, &[0, 5000, 8_388_608]),
            unexpected_bytes: pick(&mut rng, &[0, 40, 65_536]),
            unexpected_budget_bytes: pick(&mut rng, &[0, 200, 16_777_216]),
            ..Settings::default()
        };
        let config = draw_config(&mut rng, processes as u32);
        let process = |me| {
            let link = Link::from(air.join(PeerId(me as u32), config.clone()));
            Process::new(me, link, (processes, settings.clone()))
        };
        Self {
            processes: (0..processes).map(process).collect(),
            script: Script::draw(&mut rng, processes),
            contexts: BTreeMap::new(),
            advances: 0,
            rng,
            air,
        }
    }

    /// One thing that happens, whatever the time is.
    fn breathe(&mut self) {
        let process = self.rng.below(self.processes.len() as u64) as usize;
        let now = self.air.now();
        if self.processes[process].away_until > now {
            _ = self.advance();
            return;
        }
        match self.rng.below(100) {
            0..40 => _ = self.processes[process].act(&self.script),
            40..80 => _ = self.turn(process),
            80..99 => _ = self.advance(),
            _ => {
                let most = pick(&mut self.rng, &[1_000_000, 100_000_000, 5_000_000_000]);
                self.processes[process].away_until = Instant(now.0 + self.rng.below(most));
            }
        }
    }

    fn turn(&mut self, process: usize) -> bool {
        let worked = self.processes[process].turn(self.air.now());
        self.processes[process].take_made(&self.script, &mut self.contexts);
        worked
    }

    /// Time passes until something can happen. Returns true if anything can.
    fn advance(&mut self) -> bool {
        self.advances += 1;
        assert!(self.advances < ADVANCES, "the job does not end");
        let wakes = self.processes.iter().filter_map(|process| {
            let wake_at = process.engine.with(|lane| lane.links().wake_at());
            wake_at.map(|at| at.max(process.away_until))
        });
        self.air.advance(wakes.min())
    }

    /// What each process has not done.
    fn told(&self) -> String {
        let tell = |process: &Process| {
            let step = self.script.steps.get(process.next);
            let survey = process.engine.with(|lane| lane.survey());
            let (me, pending) = (process.me, process.pending.len());
            format!("\n{me}: next {step:?}, {pending} pending, {survey:?}")
        };
        self.processes.iter().map(tell).collect()
    }

    fn run(mut self) {
        for _ in 0..CALLS * self.processes.len() * 8 {
            self.breathe();
        }
        self.air.set_faults(Faults::none());
        while !self.processes.iter().all(|it| it.is_over(&self.script)) {
            let mut worked = false;
            for process in 0..self.processes.len() {
                self.processes[process].away_until = Instant::ZERO;
                worked |= self.processes[process].act(&self.script);
                worked |= self.turn(process);
            }
            assert!(
                worked || self.advance(),
                "nothing happens any more: {}",
                self.told()
            );
        }
    }
}

fn draw_faults(rng: &mut Rng) -> Faults {
    let mut faults = Faults::lossy(pick(rng, &[0, 10_000, 100_000]));
    faults.spread_ns = pick(rng, &[0, 10_000, 500_000]);
    faults.duplicate_ppm = pick(rng, &[0, 10_000, 300_000]);
    faults.reorder_ppm = pick(rng, &[0, 100_000]);
    faults.reorder_ns = pick(rng, &[20_000, 1_000_000]);
    faults
}

fn draw_config(rng: &mut Rng, processes: u32) -> Config {
    let some = Caps::from_bits(rng.below(1 << 16) as u16);
    let caps = pick(rng, &[Caps::FAST, Caps::FAST, Caps::CLASSIC, some]);
    let packet_bytes = pick(rng, &[24, 100, 1000]);
    let mut config = Config::with_caps(processes, packet_bytes, caps);
    config.first_window = pick(rng, &[1, 4, 512]);
    config.ack_every = pick(rng, &[1, 3, 128]);
    config.first_msg_num = pick(rng, &[0, u32::MAX - 4]);
    config.done_state_lifetime = Duration::from_millis(pick(rng, &[100, 600_000]));
    config.lost_after = None;
    config
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap())
}

/// Tells the seed when its job fails.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("replay it with MPILITE_SEED={}", self.0);
        }
    }
}

#[test]
fn creations_under_way_end_with_a_context_of_their_own() {
    let seeds = match number("MPILITE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("MPILITE_PROGRAMS").unwrap_or(JOBS),
    };
    for seed in seeds {
        let _named = Named(seed);
        Job::draw(seed).run();
    }
}
