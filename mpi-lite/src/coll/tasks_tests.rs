//! Collectives that go on beside the program, between processes on a simulated network.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmpp_core::Config;
use rmpp_sim::Faults;

use super::*;
use crate::clock::{Clock, Instant};
use crate::comm::{Call, Communicator, Everyone, Members};
use crate::config::Settings;
use crate::data::{Basic, Buffer, Datatype, Op, UserOp};
use crate::engine::{Completion, Engine, Lane, Request, WaitPolicy};
use crate::error::{Cause, Result};
use crate::transport::shm::tests::Dice;
use crate::transport::sim::Air;
use crate::transport::{Link, Links, Loopback, PeerId, Progress};

/// The processes of a job, whose peers are lost after ten seconds of silence.
struct World {
    air: Air,
    comms: Vec<Communicator>,
}

impl World {
    fn new(size: usize, seed: u64) -> Self {
        Self::on(&vec![0; size], seed)
    }

    /// Of processes on these hosts, by rank.
    fn on(hosts: &[usize], seed: u64) -> Self {
        let size = hosts.len();
        let air = Air::new(size, seed, Faults::none());
        let join = |me: u32| {
            let mut config = Config::classic(size as u32, 100);
            config.lost_after = Some(Duration::from_secs(10));
            let own = Link::Loopback(Loopback::new(PeerId(me)));
            let others = Link::from(air.join(PeerId(me), config));
            let hosts: Vec<_> = hosts.iter().map(|host| format!("host{host}")).collect();
            let lane = Lane::new(
                PeerId(me),
                Links::new(own, None, Some(others)),
                Settings::default(),
                hosts,
            );
            let engine = Engine::new(lane, Clock::start(), WaitPolicy::of(1, 1)).unwrap();
            Communicator::predefined(&engine).0
        };
        let comms = (0..size as u32).map(join).collect();
        Self { air, comms }
    }

    fn engine(&self, rank: usize) -> &Arc<Engine> {
        self.comms[rank].engine()
    }

    /// Goes on until these requests are finished, by rank; answers how they ended.
    fn run(&self, requests: &[(usize, Request)]) -> Vec<Completion> {
        let is_over = |&(rank, request): &(usize, Request)| {
            let seen = self.engine(rank).with(|lane| lane.peek(Some(request)));
            seen.unwrap().is_some()
        };
        while !requests.iter().all(is_over) {
            let mut worked = false;
            for rank in 0..self.comms.len() {
                let now = self.air.now();
                let progress = self.engine(rank).with(|lane| lane.turn(now));
                worked |= progress > Progress::Idle;
                self.engine(rank).run_tasks();
            }
            if !worked {
                let all = 0..self.comms.len();
                let wakes =
                    all.filter_map(|rank| self.engine(rank).with(|lane| lane.links().wake_at()));
                assert!(self.air.advance(wakes.min()), "nothing happens any more");
            }
        }
        let take = |&(rank, request): &(usize, Request)| {
            let taken = self.engine(rank).with(|lane| lane.take(Some(request)));
            taken.unwrap().unwrap()
        };
        requests.iter().map(take).collect()
    }
}

fn all_went_well(ended: &[Completion]) -> bool {
    ended.iter().all(|ended| ended.error.is_none())
}

/// A sum of the program that looks at something each time.
fn watched_sum(watch: impl Fn() + Send + Sync + 'static) -> Op {
    let function = move |a: &[u8], b: &mut [u8], _: u64, _: &Datatype| {
        watch();
        for (a, b) in a.chunks_exact(4).zip(b.chunks_exact_mut(4)) {
            let load = |bytes: &[u8]| i32::from_ne_bytes(bytes.try_into().unwrap());
            let sum = load(a) + load(b);
            b.copy_from_slice(&sum.to_ne_bytes());
        }
    };
    Op::User(UserOp::on_slices(function, true))
}

fn ints(bytes: &mut [u8]) -> Buffer {
    let all = Buffer::of_bytes(bytes);
    Buffer::at(all.origin(), bytes.len() as u64 / 4, Basic::Int.into())
}

fn start_bcast(world: &Communicator, buffer: Buffer, root: i32) -> Result<Request> {
    world.start(Bcast { buffer, root })
}

/// A nonblocking allreduce in place.
fn start_allreduce(world: &Communicator, buffer: &Buffer, op: &Op) -> Request {
    let (send, receive, op) = (Input::InPlace, buffer.clone(), op.clone());
    world.start(Allreduce { send, receive, op }).unwrap()
}

/// More than are active at a time, of several kinds and lengths, each process at its own speed.
#[test]
fn many_at_a_time_do_not_take_each_others_messages() {
    const COUNT: usize = 300;
    let on_one = [1, 2, 3, 5].map(|size| vec![0; size]);
    let on_several = [vec![0, 1, 0, 1, 0], vec![0, 0, 0, 1, 1, 2]];
    for hosts in on_one.into_iter().chain(on_several) {
        let size = hosts.len();
        let world = World::on(&hosts, size as u64);
        let mut dice = Dice(size as u64);
        let lens: Vec<usize> = (0..COUNT).map(|_| 4 << dice.roll(11)).collect();
        let value = |at: usize| (at as i32 + 1).to_ne_bytes();
        let room = |(at, &len): (usize, &usize)| value(at).repeat(len / 4);
        let mut rooms: Vec<Vec<Vec<u8>>> = (0..size)
            .map(|_| lens.iter().enumerate().map(room).collect())
            .collect();
        let mut requests = Vec::new();
        for (rank, rooms) in rooms.iter_mut().enumerate() {
            let comm = &world.comms[rank];
            for (at, room) in rooms.iter_mut().enumerate() {
                let root = at % size;
                let request = match at % 3 {
                    0 => comm.start(Barrier).unwrap(),
                    1 => {
                        if rank != root {
                            room.fill(0);
                        }
                        start_bcast(comm, Buffer::of_bytes(room), root as i32).unwrap()
                    }
                    _ => start_allreduce(comm, &ints(room), &Op::Sum),
                };
                requests.push((rank, request));
            }
        }
        assert!(all_went_well(&world.run(&requests)));
        for (at, &len) in lens.iter().enumerate() {
            let times = if at % 3 == 2 { size as i32 } else { 1 };
            let expected = ((at as i32 + 1) * times).to_ne_bytes().repeat(len / 4);
            for rooms in &rooms {
                assert_eq!(rooms[at], expected, "call {at} of {size}");
            }
        }
    }
}

#[test]
fn an_operator_of_the_program_runs_with_the_lane_unlocked() {
    let world = World::new(2, 1);
    let engine = Arc::clone(world.engine(0));
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let op = watched_sum(move || {
        assert!(engine.visit().is_some(), "the lane is locked");
        counted.fetch_add(1, Ordering::SeqCst);
    });
    let mut rooms = [1, 2].map(i32::to_ne_bytes);
    let [first, second] = &mut rooms;
    let requests = [
        (0, start_allreduce(&world.comms[0], &ints(first), &op)),
        (1, start_allreduce(&world.comms[1], &ints(second), &Op::Sum)),
    ];
    assert!(all_went_well(&world.run(&requests)));
    assert_eq!(rooms, [3, 3].map(i32::to_ne_bytes));
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[test]
fn tasks_that_wait_for_a_lost_process_fail_and_their_buffers_are_free() {
    let world = World::new(2, 1);
    for (from, to) in [(0, 1), (1, 0)] {
        world.air.cut(PeerId(from), PeerId(to), Instant(u64::MAX));
    }
    let mut room = [0; 5000];
    let (comm, buffer) = (&world.comms[0], Buffer::of_bytes(&mut room));
    let requests = [
        (0, comm.start(Barrier).unwrap()),
        (0, start_bcast(comm, buffer, 1).unwrap()),
        (0, comm.start(Barrier).unwrap()),
    ];
    for ended in world.run(&requests) {
        let error = ended.error.expect("the other process is lost");
        assert!(matches!(error.cause(), Cause::Lost { rank: 1, .. }));
    }
    // What begins now need not wait for that.
    let ended = world.run(&[(0, comm.start(Barrier).unwrap())]);
    assert!(ended[0].error.is_some());
    assert_eq!(world.engine(0).with(|lane| lane.survey().posted), 0);
}

#[test]
fn different_nonblocking_collectives_are_an_error_that_names_both_calls() {
    let world = World::new(2, 1);
    let mut room = [0; 4];
    let barrier = world.comms[0].start(Barrier).unwrap();
    let bcast = start_bcast(&world.comms[1], Buffer::of_bytes(&mut room), 0);
    let ended = world.run(&[(1, bcast.unwrap())]);
    let error = ended[0].error.as_ref().expect("they differ").to_string();
    let words = "rank 1 of the communicator called MPI_Ibcast(root 0) but rank 0 called \
                 MPI_Ibarrier";
    assert!(error.starts_with(words), "{error}");
    let pending = world.engine(0).with(|lane| lane.peek(Some(barrier)));
    assert_eq!(pending, Ok(None));
}

/// The lost process leads its node: one there waits for nobody else.
#[test]
fn all_that_wait_for_a_lost_leader_of_a_node_fail() {
    let world = World::on(&[0, 0, 1, 1], 1);
    for (from, to) in [0, 1, 3].into_iter().flat_map(|it| [(2, it), (it, 2)]) {
        world.air.cut(PeerId(from), PeerId(to), Instant(u64::MAX));
    }
    let mut rooms = [[0; 5000]; 4];
    let mut requests = Vec::new();
    for (rank, room) in rooms.iter_mut().enumerate().filter(|it| it.0 != 2) {
        let comm = &world.comms[rank];
        requests.push((rank, comm.start(Barrier).unwrap()));
        let bcast = start_bcast(comm, Buffer::of_bytes(room), 2);
        requests.push((rank, bcast.unwrap()));
    }
    for ended in world.run(&requests) {
        let error = ended.error.expect("the leader is lost");
        assert!(
            matches!(error.cause(), Cause::Lost { rank: 2, .. }),
            "{error}"
        );
    }
    for rank in [0, 1, 3] {
        assert_eq!(world.engine(rank).with(|lane| lane.survey().posted), 0);
    }
}

/// One that is no leader meets only its node.
#[test]
fn a_different_collective_on_another_node_is_an_error_that_names_both_calls() {
    let world = World::on(&[0, 0, 1, 1], 1);
    let barriers = [0, 1, 2].map(|rank| (rank, world.comms[rank].start(Barrier).unwrap()));
    let mut room = [0; 4];
    let bcast = start_bcast(&world.comms[3], Buffer::of_bytes(&mut room), 3);
    bcast.unwrap();
    let ended = world.run(&barriers);
    let names_both = |ended: &Completion| {
        let error = ended.error.as_ref().expect("they differ").to_string();
        error.contains("MPI_Ibcast(root 3)") && error.contains("MPI_Ibarrier")
    };
    assert!(ended.iter().any(names_both), "{ended:?}");
}

#[test]
fn an_active_collective_is_neither_cancelled_nor_freed() {
    let world = World::new(2, 1);
    let refused = Err(Cause::Irrevocable.into());
    let requests = [
        (0, world.comms[0].start(Barrier).unwrap()),
        (1, world.comms[1].start(Barrier).unwrap()),
    ];
    for (rank, request) in requests {
        world.engine(rank).with(|lane| {
            assert_eq!(lane.cancel(request), refused);
            assert_eq!(lane.free(request), refused);
        });
        let started = world.engine(rank).start(request);
        assert_eq!(started, Err(Cause::NotStartable.into()));
    }
    assert!(all_went_well(&world.run(&requests)));
}

#[test]
fn a_collective_that_is_over_is_freed_like_any_request() {
    let world = World::new(1, 1);
    let (comm, engine, mut room) = (&world.comms[0], world.engine(0), [0; 4]);
    let (send, receive, op) = (Input::InPlace, ints(&mut room), Op::Sum);
    let persistent = comm.plan(Allreduce { send, receive, op }).unwrap();
    engine.start(persistent).unwrap();
    for request in [comm.start(Barrier).unwrap(), persistent] {
        let ended = engine.with(|lane| lane.peek(Some(request)));
        assert!(ended.unwrap().is_some(), "it has one process");
        engine.with(|lane| lane.free(request)).unwrap();
        let gone = engine.with(|lane| lane.peek(Some(request)));
        assert_eq!(gone, Err(Cause::Request.into()));
    }
    assert_eq!(engine.with(|lane| lane.survey().requests), 0);
}

#[test]
fn a_persistent_collective_runs_as_often_as_it_is_started_and_is_freed_between() {
    let world = World::new(1, 1);
    let (comm, mut room) = (&world.comms[0], [0; 4]);
    let (send, receive, op) = (Input::InPlace, ints(&mut room), Op::Sum);
    let request = comm.plan(Allreduce { send, receive, op }).unwrap();
    let engine = world.engine(0);
    for value in 1..=3_i32 {
        ints(&mut room).unpack(&value.to_ne_bytes());
        engine.start(request).unwrap();
        assert_eq!(engine.start(request), Err(Cause::NotStartable.into()));
        let ended = engine.wait(Some(request)).unwrap();
        assert!(!ended.is_gone && ended.error.is_none());
    }
    engine.with(|lane| lane.free(request)).unwrap();
    assert!(engine.start(request).is_err());
    assert_eq!(engine.with(|lane| lane.survey().requests), 0);
}

#[test]
fn wrong_arguments_start_nothing() {
    let world = World::new(2, 1);
    let (comm, mut room) = (&world.comms[0], [0; 8]);
    let refused = start_bcast(comm, Buffer::of_bytes(&mut room), 2);
    assert_eq!(refused, Err(Cause::Root { root: 2, size: 2 }.into()));
    let (send, receive, op) = (Input::InPlace, ints(&mut room), Op::Minloc);
    let refused = comm.plan(Allreduce { send, receive, op });
    assert!(matches!(refused.unwrap_err().cause(), Cause::Op { .. }));
    assert_eq!(world.engine(0).with(|lane| lane.survey().requests), 0);
}

/// A sum whose value is returned, too.
struct Sum(Allreduce);

impl Sum {
    fn new(room: &mut [u8]) -> Self {
        let (send, receive, op) = (Input::InPlace, ints(room), Op::Sum);
        Self(Allreduce { send, receive, op })
    }

    fn value(&self) -> i32 {
        i32::from_ne_bytes(self.0.receive.pack()[..].try_into().unwrap())
    }
}

impl Collective for Sum {
    type Output = i32;

    fn call(&self) -> Call {
        self.0.call()
    }

    fn check(&self, members: Members) -> Result<()> {
        self.0.check(members)
    }

    async fn by_messages<P: Everyone>(&self, peers: &P) -> Result<i32> {
        self.0.by_messages(peers).await?;
        Ok(self.value())
    }
}

#[test]
fn a_collective_leaves_its_value_when_its_request_completes() {
    let world = World::new(3, 1);
    let mut rooms: Vec<_> = (1..=3_i32).map(i32::to_ne_bytes).collect();
    let start = |(comm, room): (&Communicator, &mut [u8; 4])| comm.start_for(Sum::new(room));
    let started = world.comms.iter().zip(&mut rooms).map(start);
    let started: Vec<_> = started.map(Result::unwrap).collect();
    let requests: Vec<_> = (0..).zip(started.iter().map(|it| it.0)).collect();
    assert!(all_went_well(&world.run(&requests)));
    let values: Vec<_> = started.iter().map(|it| it.1.take()).collect();
    assert_eq!(values, [Some(6); 3]);
    assert_eq!(started[0].1.take(), None, "it was taken");
}

#[test]
fn each_start_of_a_persistent_collective_leaves_a_value() {
    let world = World::new(1, 1);
    let (comm, mut room) = (&world.comms[0], [0; 4]);
    let (request, outcome) = comm.plan_for(Sum::new(&mut room)).unwrap();
    let engine = world.engine(0);
    for value in 1..=3_i32 {
        ints(&mut room).unpack(&value.to_ne_bytes());
        engine.start(request).unwrap();
        assert_eq!(engine.wait(Some(request)).unwrap().error, None);
        assert_eq!(outcome.take(), Some(value));
        assert_eq!(comm.run(&Sum::new(&mut room)), Ok(value));
    }
    engine.with(|lane| lane.free(request)).unwrap();
}
