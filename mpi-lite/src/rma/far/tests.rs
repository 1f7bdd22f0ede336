//! Random programs on a simulated network that loses datagrams, against a model of the windows.
//!
//! Each origin has a part of each window to itself, and knows what is there. All of them count
//! together in the first words: with an atomic operation, and with a get and a put under a lock.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmpp_core::{Caps, Config, Rng};
use rmpp_sim::Faults;

use super::act_on;
use super::arrivals::Service;
use super::desk::{Desk, Locked};
use crate::comm::Group;
use crate::config::Settings;
use crate::data::{Basic, Buffer, Datatype, Op};
use crate::engine::{Lane, OpenPort, Port};
use crate::ids::{Context, PeerId};
use crate::rma::epochs::LockKind;
use crate::rma::operation::{Target, WindowAction};
use crate::transport::sim::{Air, Guest};
use crate::transport::{Link, Links, Loopback, Progress};

const WINDOW: Context = Context::WORLD.window();

/// Words that all count in: tickets, and what is counted under the lock.
const TICKETS: u64 = 0;
const LOCKED: u64 = 1;
const COMMON: u64 = 2;

/// Words of an origin in each window.
const PART: u64 = 1500;

/// A process: its lane, its desk, its window.
struct Process {
    lane: Lane,
    desk: Arc<Mutex<Desk>>,
    window: Buffer,
    _ports: [OpenPort; 2],
}

/// What an origin does at a target.
#[derive(Default)]
struct Actor {
    /// What the part of the origin has.
    model: Vec<u64>,
    /// What operations read, and what they must have read.
    read: Vec<(Buffer, Vec<u64>)>,
    tickets: Vec<Buffer>,
    /// It counts under the lock, and this has what was there.
    counts: Option<Buffer>,
    locked: u64,
    is_waiting: bool,
    /// Memory of operations that are not over.
    kept: Vec<Buffer>,
}

struct Program {
    air: Air,
    rng: Rng,
    processes: Vec<Process>,
    /// By origin and target.
    actors: Vec<Vec<Actor>>,
}

fn words(datatype: &Datatype, values: &[u64]) -> Buffer {
    let buffer = Buffer::scratch(values.len() as u64, datatype).unwrap();
    let bytes: Vec<u8> = values.iter().flat_map(|it| it.to_ne_bytes()).collect();
    buffer.unpack(&bytes);
    buffer
}

fn values(buffer: &Buffer) -> Vec<u64> {
    let bytes = buffer.pack();
    let word = |word: &[u8; 8]| u64::from_ne_bytes(*word);
    bytes.as_chunks().0.iter().map(word).collect()
}

fn word() -> Datatype {
    Datatype::Basic(Basic::Uint64)
}

impl Program {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let size = 1 + rng.below(4) as u32;
        let faults = Faults::lossy((rng.below(21) * 10_000) as u32);
        let air = Air::new(size as usize, seed, faults);
        let mut config = Config::with_caps(size, 1024, Caps::FAST);
        config.lost_after = Some(Duration::from_secs(1000));
        let members: Arc<[PeerId]> = (0..size).map(PeerId).collect();
        let process = |me| {
            let own = Link::Loopback(Loopback::new(PeerId(me)));
            let others = Link::simulated(Guest::Rmpp, &air, PeerId(me), &config);
            let links = Links::new(own, None, Some(others));
            let hosts = vec!["here".to_owned(); size as usize];
            let mut lane = Lane::new(PeerId(me), links, Settings::default(), hosts);
            let window = Buffer::scratch(COMMON + u64::from(size) * PART, &word()).unwrap();
            let group = Group::from_members(Arc::clone(&members));
            let memory = window.occupied().unwrap();
            let desk = Desk::new(&group, &Default::default(), memory, None);
            let desk = Arc::new(Mutex::new(desk));
            let world = lane.open_port(Context::WORLD, Port::among(Arc::clone(&members)));
            let service = Port::Window(Box::new(Service(Arc::clone(&desk))));
            let port = lane.open_port(WINDOW, service);
            Process {
                lane,
                desk,
                window,
                _ports: [world, port],
            }
        };
        let actor = || Actor {
            model: vec![0; PART as usize],
            ..Actor::default()
        };
        Self {
            rng,
            processes: (0..size).map(process).collect(),
            actors: (0..size)
                .map(|_| (0..size).map(|_| actor()).collect())
                .collect(),
            air,
        }
    }

    fn below(&mut self, most: u64) -> u64 {
        self.rng.below(most)
    }

    fn act(&mut self, origin: usize, act: impl FnOnce(&mut Desk, &mut super::Out)) {
        let Process { lane, desk, .. } = &mut self.processes[origin];
        let done = act_on(lane, (desk, WINDOW), |desk, out| {
            act(desk, out);
            Ok(())
        });
        done.unwrap();
    }

    fn operate(&mut self, origin: usize, action: &WindowAction, target: &Target) {
        let access = action.check(target).unwrap();
        let at = target.displacement * 8;
        self.act(origin, |desk, out| {
            let done = desk.operate((action, access), (target, at), None, out);
            done.unwrap();
        });
    }

    fn lock(&mut self, (origin, target): (usize, usize), kind: LockKind) {
        self.act(origin, |desk, _| {
            desk.lines[target].locked = Locked::Wanted(kind);
        });
    }

    fn unlock(&mut self, (origin, target): (usize, usize)) {
        self.act(origin, |desk, out| desk.unlock(target as u32, out));
        self.actors[origin][target].is_waiting = true;
    }

    fn common(place: u64, target: usize) -> Target {
        Target {
            rank: target as u32,
            displacement: place as i64,
            count: 1,
            datatype: word(),
        }
    }

    /// Begins an epoch of a pair, or goes on with it.
    fn step(&mut self, (origin, target): (usize, usize)) {
        let pair = (origin, target);
        if self.actors[origin][target].is_waiting {
            let desk = self.processes[origin].desk.lock();
            if !desk.lines[target].is_over() {
                return;
            }
            drop(desk);
            self.actors[origin][target].is_waiting = false;
            self.check(pair);
            if let Some(counted) = self.actors[origin][target].counts.take() {
                let more = words(&word(), &[values(&counted)[0] + 1]);
                let there = Self::common(LOCKED, target);
                self.operate(origin, &WindowAction::Put(more.clone()), &there);
                self.actors[origin][target].kept.push(more);
                self.actors[origin][target].locked += 1;
                self.unlock(pair);
                return;
            }
        }
        match self.below(4) {
            0 => {
                self.lock(pair, LockKind::Exclusive);
                let counted = words(&word(), &[0]);
                let there = Self::common(LOCKED, target);
                self.operate(origin, &WindowAction::Get(counted.clone()), &there);
                self.actors[origin][target].counts = Some(counted);
                self.act(origin, |desk, out| desk.ask(target as u32, out));
                self.actors[origin][target].is_waiting = true;
            }
            kind => {
                let kind = match kind {
                    1 => LockKind::Exclusive,
                    _ => LockKind::Shared,
                };
                self.lock(pair, kind);
                // None at all is an epoch as well.
                let (operations, sort) = (self.below(5), self.below(3));
                for number in 0..operations {
                    self.begin(pair, number, sort);
                    if self.below(3) == 0 {
                        self.take_ticket(pair);
                    }
                }
                self.unlock(pair);
            }
        }
    }

    fn take_ticket(&mut self, (origin, target): (usize, usize)) {
        let (one, ticket) = (words(&word(), &[1]), words(&word(), &[u64::MAX]));
        let action = WindowAction::GetAccumulate {
            origin: one,
            result: ticket.clone(),
            op: Op::Sum,
        };
        self.operate(origin, &action, &Self::common(TICKETS, target));
        self.actors[origin][target].tickets.push(ticket);
    }

    /// Elements of the part, and a datatype that has them all.
    fn draw(&mut self, from: u64, room: u64) -> (Vec<u64>, Datatype) {
        let step = match self.below(3) {
            0 => 2 + self.below(2),
            _ => 1,
        };
        let most = match self.below(5) {
            0 => room / step,
            _ => 6.min(room / step),
        };
        let count = 1 + self.below(most);
        let first = from + self.below(room - (count - 1) * step);
        let places: Vec<u64> = (0..count).map(|number| first + number * step).collect();
        let datatype = match self.below(2) {
            0 => word().vector(count, 1, step as i64).unwrap(),
            _ => {
                let at = |number: u64| (1, (number * step) as i64);
                word()
                    .indexed(&(0..count).map(at).collect::<Vec<_>>())
                    .unwrap()
            }
        };
        datatype.commit();
        (places, datatype)
    }

    /// Begins an operation on the part of an origin; `sort` is the same in an epoch.
    fn begin(&mut self, (origin, target): (usize, usize), number: u64, sort: u64) {
        // Puts do not overlap: their order is open.
        let (places, datatype) = match sort {
            0 => self.draw(number * PART / 5, PART / 5),
            _ => self.draw(0, PART),
        };
        let there = Target {
            rank: target as u32,
            displacement: (COMMON + origin as u64 * PART + places[0]) as i64,
            count: 1,
            datatype,
        };
        let new: Vec<u64> = places.iter().map(|_| self.below(1 << 40)).collect();
        let layout = match self.below(2) {
            0 => word(),
            _ => word().resized(0, 24).unwrap(),
        };
        let (data, result) = (words(&layout, &new), words(&layout, &new));
        let op = match self.below(3) {
            0 => Op::Sum,
            1 => Op::Replace,
            _ => Op::Bxor,
        };
        let actor = &mut self.actors[origin][target];
        let before: Vec<u64> = places.iter().map(|&at| actor.model[at as usize]).collect();
        for ((&at, &old), &new) in places.iter().zip(&before).zip(&new) {
            actor.model[at as usize] = match (sort, &op) {
                (2, _) => old,
                (0, _) | (_, Op::Replace) => new,
                (_, Op::Sum) => old.wrapping_add(new),
                _ => old ^ new,
            };
        }
        actor.kept.push(data.clone());
        let action = match sort {
            0 => WindowAction::Put(data),
            1 if number.is_multiple_of(2) => WindowAction::Accumulate { origin: data, op },
            1 => {
                actor.read.push((result.clone(), before));
                WindowAction::GetAccumulate {
                    origin: data,
                    result,
                    op,
                }
            }
            _ => {
                actor.read.push((result.clone(), before));
                WindowAction::Get(result)
            }
        };
        self.operate(origin, &action, &there);
    }

    fn check(&mut self, (origin, target): (usize, usize)) {
        let actor = &mut self.actors[origin][target];
        actor.kept.clear();
        for (found, wanted) in actor.read.drain(..) {
            assert!(values(&found) == wanted, "{origin} reads at {target}");
        }
    }

    /// Takes a turn of each process, and lets time pass if nothing was delivered.
    fn turn(&mut self) {
        let now = self.air.now();
        let lanes = self.processes.iter_mut();
        let most = lanes.map(|process| process.lane.turn(now)).max();
        if most != Some(Progress::Delivered) {
            let lanes = self.processes.iter();
            let wake_at = lanes.filter_map(|process| process.lane.links().wake_at());
            self.air.advance(wake_at.min());
        }
    }

    fn run(mut self, steps: usize) {
        let size = self.processes.len() as u64;
        let mut left = steps;
        let mut turns = 0;
        loop {
            let pair = (self.below(size) as usize, self.below(size) as usize);
            let is_busy = self.actors[pair.0][pair.1].is_waiting;
            if left > 0 || is_busy {
                left = left.saturating_sub(1);
                // What counts under a lock is not left half done.
                let goes_on = self.actors[pair.0][pair.1].counts.is_some();
                if left > 0 || goes_on {
                    self.step(pair);
                }
            }
            for _ in 0..self.below(4) {
                self.turn();
            }
            let is_over = |process: &Process| {
                let desk = process.desk.lock();
                desk.lines.iter().all(super::Line::is_over) && desk.leaving.is_empty()
            };
            let counts = self.actors.iter().flatten().any(|it| it.counts.is_some());
            if left == 0 && !counts && self.processes.iter().all(is_over) {
                break;
            }
            turns += 1;
            assert!(turns < 2_000_000, "it does not end");
        }
        self.check_windows();
    }

    fn check_windows(&mut self) {
        for origin in 0..self.processes.len() {
            for target in 0..self.processes.len() {
                self.check((origin, target));
            }
        }
        for (target, process) in self.processes.iter().enumerate() {
            let found = values(&process.window);
            let actors: Vec<&Actor> = self.actors.iter().map(|all| &all[target]).collect();
            for (part, actor) in found[COMMON as usize..].chunks(PART as usize).zip(&actors) {
                assert!(part == actor.model, "the window of {target}");
            }
            let locked: u64 = actors.iter().map(|actor| actor.locked).sum();
            assert_eq!(found[LOCKED as usize], locked);
            let tickets = actors.iter().flat_map(|actor| &actor.tickets);
            let tickets: Vec<u64> = tickets.map(|ticket| values(ticket)[0]).collect();
            let distinct: BTreeSet<u64> = tickets.iter().copied().collect();
            assert_eq!(found[TICKETS as usize], tickets.len() as u64);
            assert_eq!(distinct, (0..tickets.len() as u64).collect());
        }
    }
}

/// `MPILITE_PROGRAMS` says how many seeds, `MPILITE_SEED` runs one alone.
#[test]
fn random_operations_leave_in_the_windows_what_they_must() {
    let number = |name| {
        let value = std::env::var(name).ok();
        value.map(|value| value.parse().unwrap())
    };
    let seeds = match number("MPILITE_SEED") {
        Some(seed) => seed..=seed,
        None => 1..=number("MPILITE_PROGRAMS").unwrap_or(400),
    };
    for seed in seeds {
        println!("seed {seed}");
        Program::new(seed).run(300);
    }
}
