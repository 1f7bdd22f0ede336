//! A steady load does not allocate: neither a sender, nor a receiver whose receives are posted;
//! between ranks that share memory not even a receiver of unexpected messages.
#![expect(
    unsafe_code,
    reason = "counting allocations needs an allocator of our own"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use mpi_lite::clock::Clock;
use mpi_lite::config::{CopyAcross, Settings};
use mpi_lite::data::{Area, Basic, Buffer, Datatype};
use mpi_lite::engine::envelope::{Envelope, Flags};
use mpi_lite::engine::matching::{Body, Buffered, Pattern, Posted, Unexpected, UnexpectedMessage};
use mpi_lite::engine::{Engine, Lane, ReceivePlan, Request, SendPlan, WaitPolicy};
use mpi_lite::ids::{Context, Mode};
use mpi_lite::memory::Span;
use mpi_lite::node::{self, Node};
use mpi_lite::slab::Key;
use mpi_lite::transport::udp::Bound;
use mpi_lite::transport::{Link, Links, Loopback, PeerId, Shm};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<usize> = const { Cell::new(0) };
    /// Bytes allocated and not given back.
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: everything is left to the system's allocator; counting touches a thread-local integer
// that has no destructor and needs no allocation.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        BYTES.with(|bytes| bytes.set(bytes.get() + layout.size()));
        LIVE.with(|live| live.set(live.get() + layout.size().cast_signed()));
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.with(|live| live.set(live.get() - layout.size().cast_signed()));
        // SAFETY: the caller keeps the contract of `dealloc`, which is the same.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Messages of a window, all received into receives that wait, then all sends completed.
const WINDOW: usize = 64;

/// Processes of one thread, by rank in `MPI_COMM_WORLD`.
struct Job {
    lanes: Vec<Lane>,
    clock: Clock,
}

impl Job {
    fn new(lanes: Vec<Lane>, clock: Clock) -> Self {
        Self { lanes, clock }
    }

    /// One process.
    fn alone() -> Self {
        let own = Link::Loopback(Loopback::new(PeerId(0)));
        let lane = Lane::new(
            PeerId(0),
            Links::new(own, None, None),
            Settings::default(),
            vec!["a".into()],
        );
        Self::new(vec![lane], Clock::start())
    }

    /// Two processes with UDP between them.
    fn pair() -> Self {
        Self::pair_with(&Settings::default())
    }

    fn pair_with(settings: &Settings) -> Self {
        let clock = Clock::start();
        let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let bound = [(); 2].map(|()| Bound::new(local, 1, settings).expect("a socket"));
        let cards = bound.each_ref().map(|bound| bound.card().clone());
        let hosts = vec!["a".to_owned(); 2];
        let lane = |(rank, bound): (u32, Bound)| {
            let own = Link::Loopback(Loopback::new(PeerId(rank)));
            let other = bound.connect(PeerId(rank), &cards, &[7; 32], (settings, clock));
            let links = Links::new(own, None, Some(Link::Udp(other)));
            Lane::new(PeerId(rank), links, settings.clone(), hosts.clone())
        };
        Self::new((0..).zip(bound).map(lane).collect(), clock)
    }

    fn wait_for(&mut self, process: usize, requests: &[Request]) {
        for &request in requests {
            loop {
                let ended = self.lanes[process].take(Some(request)).expect("a request");
                if let Some(ended) = ended {
                    assert_eq!(ended.error, None);
                    break;
                }
                for lane in &mut self.lanes {
                    lane.turn(self.clock.now());
                }
            }
        }
    }

    /// A window of messages of `bytes` bytes from the first process to the last.
    fn exchange<const WINDOW: usize>(&mut self, bytes: usize, room: &mut [u8]) {
        let to = self.lanes.len() - 1;
        let pattern = Some(Pattern {
            context: Context::WORLD,
            source: Some(0),
            tag: Some(7),
        });
        let mut body = [5; 4096];
        let plan = SendPlan {
            to: Some(PeerId(to as u32)),
            context: Context::WORLD,
            source: 0,
            tag: 7,
            mode: Mode::Standard,
            area: area_of(&mut body[..bytes]),
        };
        let receives = [(); WINDOW].map(|()| {
            let area = area_of(&mut room[..bytes]);
            self.lanes[to].receive(ReceivePlan { pattern, area })
        });
        let sends = [(); WINDOW].map(|()| self.lanes[0].send(&plan).expect("a send"));
        self.wait_for(to, &receives);
        self.wait_for(0, &sends);
    }

    /// Allocations in the stretch of windows, after many others, that has the fewest. What each
    /// message allocates is in all of them. A machine that is busy with something else may once let
    /// more pile up than usual.
    fn allocations(&mut self) -> u64 {
        let mut room = [0; 4096];
        let bytes = |round| if round % 10 == 0 { 3_000 } else { 8 };
        for round in 0..2_000 {
            self.exchange::<{ 4 * WINDOW }>(bytes(round), &mut room);
        }
        assert!(
            COUNT.get() > 0,
            "the first windows must allocate, or nothing is counted"
        );
        let mut stretch = |_| {
            let before = COUNT.get();
            for round in 0..500 {
                self.exchange::<WINDOW>(bytes(round), &mut room);
            }
            COUNT.get() - before
        };
        (0..4).map(&mut stretch).min().expect("four stretches")
    }
}

fn span_of(bytes: &mut [u8]) -> Span {
    // SAFETY: the tests wait for their messages before they look at the bytes or drop them.
    unsafe { Span::of_borrowed(bytes) }
}

fn area_of(bytes: &mut [u8]) -> Area {
    span_of(bytes).into()
}

#[test]
fn messages_to_oneself_do_not_allocate() {
    assert_eq!(Job::alone().allocations(), 0);
}

#[test]
fn messages_over_the_network_do_not_allocate() {
    assert_eq!(Job::pair().allocations(), 0);
}

const DEPTH: u32 = 5_000;

fn envelope(number: u32) -> Envelope {
    Envelope {
        context: Context::WORLD,
        source: number % 7,
        tag: number.cast_signed(),
        flags: Flags::default(),
    }
}

/// Fits the envelope of this number; every fourth leaves the source open.
fn pattern(number: u32) -> Pattern {
    let Envelope {
        context,
        source,
        tag,
        ..
    } = envelope(number);
    Pattern {
        context,
        source: (!number.is_multiple_of(4)).then_some(source),
        tag: Some(tag),
    }
}

fn request(index: u32) -> Request {
    let generation = 0;
    Request(Key { index, generation })
}

/// Allocations of `work`, once it has been done a few times.
fn allocations_of(mut work: impl FnMut()) -> u64 {
    (0..3).for_each(|_| work());
    let before = COUNT.get();
    (0..10).for_each(|_| work());
    COUNT.get() - before
}

#[test]
fn deep_queues_do_not_allocate() {
    let (mut posted, mut unexpected) = (Posted::default(), Unexpected::default());
    let turn = || {
        for number in 0..DEPTH {
            posted.push(pattern(number), request(number));
            unexpected.push(UnexpectedMessage {
                envelope: envelope(number),
                len: 0,
                body: Body::Whole(Buffered::Buffer(Vec::new())),
            });
        }
        for number in (0..DEPTH).rev() {
            assert_eq!(posted.take(&envelope(number)), Some(request(number)));
            let place = unexpected.extract(&pattern(number)).expect("it has come");
            unexpected.remove(place);
        }
    };
    assert_eq!(allocations_of(turn), 0);
}

#[test]
fn a_deep_queue_through_which_others_pass_does_not_allocate() {
    let mut posted = Posted::default();
    for number in 0..DEPTH {
        posted.push(pattern(number), request(number));
    }
    let pass = || {
        for number in DEPTH..2 * DEPTH {
            posted.push(pattern(number), request(number));
            assert_eq!(posted.take(&envelope(number)), Some(request(number)));
        }
    };
    assert_eq!(allocations_of(pass), 0);
}

/// This many messages wait at their senders.
const HELD: usize = 100_000;

/// What may stay: tables of a few thousand places, buffers for packets.
const LEFT_BYTES: isize = 4 << 20;

#[test]
fn messages_that_were_held_leave_no_memory_behind() {
    let settings = Settings {
        eager_copy_bytes: 0,
        waited_copy_bytes: 0,
        unexpected_budget_bytes: 0,
        ..Settings::default()
    };
    let (mut job, mut room) = (Job::pair_with(&settings), [0; 8]);
    job.exchange::<WINDOW>(8, &mut room);
    let (before, mut body) = (LIVE.get(), [5; 8]);
    let plan = SendPlan {
        to: Some(PeerId(1)),
        context: Context::WORLD,
        source: 0,
        tag: 7,
        mode: Mode::Standard,
        area: area_of(&mut body),
    };
    let sends = (0..HELD).map(|_| job.lanes[0].send(&plan).expect("a send"));
    let sends: Vec<Request> = sends.collect();
    while job.lanes[1].survey().unexpected < HELD {
        for lane in &mut job.lanes {
            lane.turn(job.clock.now());
        }
    }
    let held = LIVE.get() - before;
    assert!(
        held > 2 * LEFT_BYTES,
        "{held} B: the test must see what is held"
    );
    let pattern = Some(Pattern {
        context: Context::WORLD,
        source: None,
        tag: None,
    });
    for _ in 0..HELD {
        let area = area_of(&mut room);
        let request = job.lanes[1].receive(ReceivePlan { pattern, area });
        job.wait_for(1, &[request]);
    }
    job.wait_for(0, &sends);
    while !job.lanes.iter().all(|lane| lane.links().are_quiet()) {
        for lane in &mut job.lanes {
            lane.turn(job.clock.now());
        }
    }
    drop(sends);
    // Links look after their tables once in 64 turns.
    for _ in 0..64 * (HELD / 1000) {
        for lane in &mut job.lanes {
            lane.shrink();
            lane.turn(job.clock.now());
        }
    }
    let left = LIVE.get() - before;
    assert!(left <= LEFT_BYTES, "{left} B of {held} B stay");
}

/// Two processes of one thread that share memory. All of their calls are those of a program.
struct LocalPeers {
    engines: [Arc<Engine>; 2],
    out: Vec<u8>,
    room: Vec<u8>,
}

impl LocalPeers {
    fn new(copies_across: bool) -> Self {
        let memory = memfd_create("test", MemfdFlags::CLOEXEC).expect("memory");
        ftruncate(&memory, mpi_boot::node_memory::bytes_of(2)).expect("room for two");
        let doorbell = |_| eventfd(0, EventfdFlags::NONBLOCK).expect("a doorbell");
        let doorbells = [0, 1].map(doorbell);
        let copy = |fd: &OwnedFd| fd.try_clone().expect("a descriptor");
        let engine = |me: u32| {
            let access = node::Access {
                memory: copy(&memory),
                doorbells: doorbells.iter().map(copy).collect(),
                ranks: vec![0, 1],
                me,
                cores: node::Cores {
                    allowed: [u64::MAX; 16],
                    most: u32::MAX,
                },
                copy_across: if copies_across {
                    CopyAcross::Always
                } else {
                    CopyAcross::Off
                },
            };
            let node = Arc::new(Node::join(access, 2).expect("a mapping"));
            let channel = Shm::new(Arc::clone(&node));
            let own = Link::Loopback(Loopback::new(PeerId(me)));
            let links = Links::new(own, Some(Link::Shm(channel)), None);
            let hosts = vec!["a".to_owned(); 2];
            let mut lane = Lane::new(PeerId(me), links, Settings::default(), hosts);
            lane.join(node);
            Engine::new(lane, Clock::start(), WaitPolicy::of(2, 2)).expect("a doorbell")
        };
        Self {
            engines: [0, 1].map(engine),
            out: vec![5; LONG_BYTES],
            room: vec![0; LONG_BYTES],
        }
    }

    fn send_plan(&mut self, bytes: usize) -> SendPlan {
        SendPlan {
            to: Some(PeerId(1)),
            context: Context::WORLD,
            source: 0,
            tag: 7,
            mode: Mode::Standard,
            area: area_of(&mut self.out[..bytes]),
        }
    }

    fn receive_plan(&mut self, bytes: usize) -> ReceivePlan {
        let pattern = Some(Pattern {
            context: Context::WORLD,
            source: Some(0),
            tag: Some(7),
        });
        let area = area_of(&mut self.room[..bytes]);
        ReceivePlan { pattern, area }
    }

    /// Both take turns until the requests are finished.
    fn finish(&self, requests: &[(usize, Request)]) {
        for &(process, request) in requests {
            loop {
                let end = self.engines[process]
                    .test(Some(request))
                    .expect("a request");
                if let Some(end) = end {
                    assert_eq!(end.error, None);
                    break;
                }
                self.engines[1 - process].look(|_| ());
            }
        }
    }

    /// Blocking calls: the message is there when it is asked for.
    fn send_and_receive(&mut self, bytes: usize) {
        let plan = self.send_plan(bytes);
        self.engines[0].send(&plan).expect("a send");
        let plan = self.receive_plan(bytes);
        let end = self.engines[1].receive(plan).expect("a receive");
        assert_eq!(end.error, None);
    }

    /// The same, but it is found before it is asked for.
    fn send_and_find(&mut self, bytes: usize) {
        for _ in 0..2 {
            let plan = self.send_plan(bytes);
            self.engines[0].send(&plan).expect("a send");
        }
        while self.engines[1].look(|lane| lane.survey().unexpected) < 2 {}
        for _ in 0..2 {
            let plan = self.receive_plan(bytes);
            let end = self.engines[1].receive(plan).expect("a receive");
            assert_eq!(end.error, None);
        }
    }

    /// Calls that do not block, a window of them; receives first, or sends.
    fn exchange(&mut self, bytes: usize, receives_first: bool) {
        let (send, mut requests) = (self.send_plan(bytes), [None; 2 * NEAR_WINDOW]);
        for (place, half) in requests.chunks_mut(NEAR_WINDOW).enumerate() {
            for request in half {
                *request = Some(if receives_first == (place == 0) {
                    let plan = self.receive_plan(bytes);
                    (1, self.engines[1].with(|lane| lane.receive(plan)))
                } else {
                    let sent = self.engines[0].with(|lane| lane.send(&send));
                    (0, sent.expect("a send"))
                });
            }
        }
        self.finish(&requests.map(|request| request.expect("all were made")));
    }
}

const LONG_BYTES: usize = 300_000;
const NEAR_WINDOW: usize = 8;

/// Lengths of messages: in a slot, in the ring, in several pieces of it, at most that.
const THROUGH_THE_RING: [usize; 5] = [0, 8, 40, 3_000, 16_384];

#[test]
fn blocking_calls_between_local_peers_do_not_allocate() {
    for bytes in THROUGH_THE_RING {
        let mut job = LocalPeers::new(true);
        assert_eq!(
            allocations_of(|| job.send_and_receive(bytes)),
            0,
            "{bytes} bytes"
        );
    }
}

#[test]
fn started_calls_between_local_peers_do_not_allocate() {
    for bytes in THROUGH_THE_RING {
        let mut job = LocalPeers::new(true);
        assert_eq!(
            allocations_of(|| job.exchange(bytes, true)),
            0,
            "{bytes} bytes"
        );
    }
}

#[test]
fn messages_that_both_sides_copy_do_not_allocate() {
    for receives_first in [true, false] {
        let mut job = LocalPeers::new(true);
        let count = allocations_of(|| job.exchange(LONG_BYTES, receives_first));
        assert_eq!(count, 0, "receives first: {receives_first}");
    }
}

#[test]
fn long_messages_through_the_ring_do_not_allocate() {
    for receives_first in [true, false] {
        let mut job = LocalPeers::new(false);
        let count = allocations_of(|| job.exchange(LONG_BYTES, receives_first));
        assert_eq!(count, 0, "receives first: {receives_first}");
    }
}

#[test]
fn a_message_that_a_local_peer_finds_before_its_receive_does_not_allocate() {
    for bytes in THROUGH_THE_RING {
        let mut job = LocalPeers::new(true);
        let blocking = allocations_of(|| job.send_and_find(bytes));
        assert_eq!(blocking, 0, "{bytes} bytes");
        let started = allocations_of(|| job.exchange(bytes, false));
        assert_eq!(started, 0, "{bytes} bytes");
    }
}

#[test]
fn long_messages_with_gaps_are_packed_nowhere() {
    let gaps = Datatype::Basic(Basic::Byte).vector(1, 50, 100);
    let gaps = gaps.and_then(|one| one.resized(0, 100)).expect("a vector");
    gaps.commit();
    for copies_across in [true, false] {
        let mut job = LocalPeers::new(copies_across);
        let place = |bytes: &mut [u8]| {
            let count = bytes.len() as u64 / 100;
            let buffer = Buffer::at(span_of(bytes).origin(0), count, gaps.clone());
            buffer.area().expect("a buffer")
        };
        let (out, room) = (place(&mut job.out), place(&mut job.room));
        let before = BYTES.get();
        let plan = SendPlan {
            area: out,
            ..job.send_plan(0)
        };
        let sent = job.engines[0].with(|lane| lane.send(&plan));
        let plan = ReceivePlan {
            area: room,
            ..job.receive_plan(0)
        };
        let received = job.engines[1].with(|lane| lane.receive(plan));
        job.finish(&[(1, received), (0, sent.expect("a send"))]);
        let taken = BYTES.get() - before;
        assert!(taken < LONG_BYTES / 10, "{taken} bytes were allocated");
        let blocks = job.room.chunks(100);
        let is_right = |block: &[u8]| block[..50] == [5; 50] && block[50..] == [0; 50];
        assert!(blocks.into_iter().all(is_right));
    }
}
