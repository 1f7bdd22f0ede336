//! Every algorithm with every number of processes from 1 to 33, each process a thread. A send
//! waits until it is received, so an algorithm that leans on buffering hangs, and is found out.
//! Then the same over shared memory, where small ones take other ways, and on several nodes.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;

use super::buffers::parts;
use super::choose::RELAY_BYTES;
use super::near::Near;
use super::*;
use crate::clock::Clock;
use crate::comm::{Call, Communicator, Everyone, Members, Nodes, Operation, Peers, drive};
use crate::config::Settings;
use crate::data::{Basic, Buffer, Datatype, Op, UserOp};
use crate::engine::{AtSite, Engine, Lane, Subject, Survey, WaitPolicy};
use crate::error::{Cause, Result};
pub(crate) use crate::transport::shm::tests::Dice;
use crate::transport::{Link, Links, Loopback, PeerId, Shm, shm};

const SIZES: std::ops::RangeInclusive<usize> = 1..=33;

/// No program of a test takes that long, however busy the machine is: an algorithm is stuck.
const STUCK: Duration = Duration::from_secs(300);

/// Where the processes run, and what they send from one host to another.
pub(super) struct Placement {
    /// The host of each process, by rank.
    hosts: Vec<usize>,
    nodes: Option<Nodes>,
    messages: AtomicUsize,
    bytes: AtomicUsize,
}

/// One process's ends of the channels with all others.
pub(super) struct Member {
    rank: usize,
    placement: Arc<Placement>,
    data_to: Vec<Sender<Vec<u8>>>,
    data_from: Vec<Mutex<Receiver<Vec<u8>>>>,
    taken_to: Vec<Sender<()>>,
    taken_from: Vec<Mutex<Receiver<()>>>,
    /// How many messages it has sent.
    sent: AtomicUsize,
}

impl Member {
    fn put(&self, to: usize, buffer: &Buffer) {
        self.sent.fetch_add(1, Ordering::Relaxed);
        let bytes = buffer.pack();
        let placement = &self.placement;
        if placement.hosts[to] != placement.hosts[self.rank] {
            placement.messages.fetch_add(1, Ordering::Relaxed);
            placement.bytes.fetch_add(bytes.len(), Ordering::Relaxed);
        }
        self.data_to[to].send(bytes).expect("its thread runs");
    }

    fn wait_taken(&self, to: usize) {
        self.taken_from[to]
            .lock()
            .recv_timeout(STUCK)
            .expect("a receive must follow");
    }
}

impl Peers for Member {
    fn here(&self) -> usize {
        self.rank
    }

    fn all(&self) -> usize {
        self.data_to.len()
    }

    async fn send(&self, to: usize, buffer: &Buffer) -> Result<()> {
        self.put(to, buffer);
        self.wait_taken(to);
        Ok(())
    }

    async fn receive(&self, from: usize, buffer: &Buffer) -> Result<()> {
        let bytes = self.data_from[from]
            .lock()
            .recv_timeout(STUCK)
            .expect("a send must follow");
        assert_eq!(
            buffer.bytes()?,
            bytes.len() as u64,
            "all messages fill their buffers"
        );
        buffer.unpack(&bytes);
        self.taken_to[from].send(()).expect("its thread runs");
        Ok(())
    }

    async fn exchange(&self, send: (usize, &Buffer), receive: (usize, &Buffer)) -> Result<()> {
        self.put(send.0, send.1);
        self.receive(receive.0, receive.1).await?;
        self.wait_taken(send.0);
        Ok(())
    }

    async fn exchange_all(
        &self,
        sends: &[(usize, Buffer)],
        receives: &[(usize, Buffer)],
    ) -> Result<()> {
        sends.iter().for_each(|(to, buffer)| self.put(*to, buffer));
        for (from, buffer) in receives {
            self.receive(*from, buffer).await?;
        }
        sends.iter().for_each(|(to, _)| self.wait_taken(*to));
        Ok(())
    }
}

/// A process of a test: one whose sends wait, or a rank of a node.
pub(super) enum Process {
    Strict(Member),
    OnOneNode(Communicator),
}

impl Peers for Process {
    fn here(&self) -> usize {
        match self {
            Self::Strict(member) => member.here(),
            Self::OnOneNode(world) => world.within(NO_CALL).here(),
        }
    }

    fn all(&self) -> usize {
        match self {
            Self::Strict(member) => member.all(),
            Self::OnOneNode(world) => world.within(NO_CALL).all(),
        }
    }

    async fn send(&self, to: usize, buffer: &Buffer) -> Result<()> {
        match self {
            Self::Strict(member) => member.send(to, buffer).await,
            Self::OnOneNode(world) => world.within(NO_CALL).send(to, buffer).await,
        }
    }

    async fn receive(&self, from: usize, buffer: &Buffer) -> Result<()> {
        match self {
            Self::Strict(member) => member.receive(from, buffer).await,
            Self::OnOneNode(world) => world.within(NO_CALL).receive(from, buffer).await,
        }
    }

    async fn exchange(&self, send: (usize, &Buffer), receive: (usize, &Buffer)) -> Result<()> {
        match self {
            Self::Strict(member) => member.exchange(send, receive).await,
            Self::OnOneNode(world) => world.within(NO_CALL).exchange(send, receive).await,
        }
    }

    async fn exchange_all(
        &self,
        sends: &[(usize, Buffer)],
        receives: &[(usize, Buffer)],
    ) -> Result<()> {
        match self {
            Self::Strict(member) => member.exchange_all(sends, receives).await,
            Self::OnOneNode(world) => world.within(NO_CALL).exchange_all(sends, receives).await,
        }
    }

    fn at_site(&self) -> Option<AtSite<'_>> {
        match self {
            Self::Strict(_) => None,
            Self::OnOneNode(world) => Communicator::at_site(world),
        }
    }
}

impl Everyone for Process {
    type Part<'a> = Part<'a>;

    fn part<'a>(&'a self, ranks: impl Into<Cow<'a, [usize]>>) -> Option<Part<'a>> {
        let (whole, ranks) = (self, ranks.into());
        let here = ranks.iter().position(|&rank| rank == self.here())?;
        Some(Part { whole, ranks, here })
    }

    fn nodes(&self) -> Option<&Nodes> {
        match self {
            Self::Strict(member) => member.placement.nodes.as_ref(),
            Self::OnOneNode(world) => Communicator::nodes(world),
        }
    }
}

/// Some processes, which have ranks of their own.
pub(super) struct Part<'a> {
    whole: &'a Process,
    ranks: Cow<'a, [usize]>,
    here: usize,
}

impl Part<'_> {
    fn in_whole(&self, messages: &[(usize, Buffer)]) -> Vec<(usize, Buffer)> {
        let messages = messages.iter();
        let named = messages.map(|(rank, buffer)| (self.ranks[*rank], buffer.clone()));
        named.collect()
    }
}

impl Peers for Part<'_> {
    fn here(&self) -> usize {
        self.here
    }

    fn all(&self) -> usize {
        self.ranks.len()
    }

    async fn send(&self, to: usize, buffer: &Buffer) -> Result<()> {
        self.whole.send(self.ranks[to], buffer).await
    }

    async fn receive(&self, from: usize, buffer: &Buffer) -> Result<()> {
        self.whole.receive(self.ranks[from], buffer).await
    }

    async fn exchange(
        &self,
        (to, outgoing): (usize, &Buffer),
        (from, incoming): (usize, &Buffer),
    ) -> Result<()> {
        let (send, receive) = ((self.ranks[to], outgoing), (self.ranks[from], incoming));
        self.whole.exchange(send, receive).await
    }

    async fn exchange_all(
        &self,
        sends: &[(usize, Buffer)],
        receives: &[(usize, Buffer)],
    ) -> Result<()> {
        let (sends, receives) = (self.in_whole(sends), self.in_whole(receives));
        self.whole.exchange_all(&sends, &receives).await
    }
}

/// A call of the right kind for messages of any.
const NO_CALL: Call = Call::of_all(Operation::Barrier);

/// Checks and carries out an operation among `peers`.
pub(super) fn run(peers: &Process, collective: &impl Collective<Output = ()>) -> Result<()> {
    collective.check(Members {
        here: peers.here(),
        all: peers.all(),
    })?;
    let near = match peers {
        Process::Strict(_) => None,
        Process::OnOneNode(world) => Some(Near::of(world)),
    };
    let done = near.map(|near| collective.without_messages(&near));
    match done.transpose()?.flatten() {
        Some(()) => Ok(()),
        None => drive(collective.by_messages(peers)),
    }
}

type Ends<T> = (Vec<Vec<Sender<T>>>, Vec<Vec<Mutex<Receiver<T>>>>);

/// Channels from everybody to everybody, by owner of the end.
fn mesh<T>(size: usize) -> Ends<T> {
    let mut to: Vec<Vec<Sender<T>>> = (0..size).map(|_| Vec::new()).collect();
    let mut from: Vec<Vec<Mutex<Receiver<T>>>> = (0..size).map(|_| Vec::new()).collect();
    for sender in &mut to {
        for receiver in &mut from {
            let (tx, rx) = channel();
            sender.push(tx);
            receiver.push(Mutex::new(rx));
        }
    }
    (to, from)
}

/// Runs `program` in `size` processes on hosts of their own; checks that no message is left over.
fn strict(size: usize, program: &(impl Fn(&Process) + Sync)) {
    on_hosts((0..size).collect(), program);
}

/// Runs `program` in processes on these hosts, by rank; checks that no message is left over.
/// Returns the number of messages from one host to another, and of their bytes.
pub(super) fn on_hosts(hosts: Vec<usize>, program: &(impl Fn(&Process) + Sync)) -> (usize, usize) {
    let size = hosts.len();
    let placement = Arc::new(Placement {
        nodes: Nodes::of(hosts.iter()),
        hosts,
        messages: AtomicUsize::new(0),
        bytes: AtomicUsize::new(0),
    });
    let ((data_to, data_from), (taken_to, taken_from)) = (mesh(size), mesh(size));
    let ends = data_to
        .into_iter()
        .zip(data_from)
        .zip(taken_to.into_iter().zip(taken_from));
    thread::scope(|scope| {
        for (rank, ((data_to, data_from), (taken_to, taken_from))) in ends.enumerate() {
            let member = Member {
                rank,
                placement: Arc::clone(&placement),
                data_to,
                data_from,
                taken_to,
                taken_from,
                sent: AtomicUsize::new(0),
            };
            scope.spawn(move || {
                let process = Process::Strict(member);
                program(&process);
                let Process::Strict(member) = process else {
                    unreachable!("it was made strict");
                };
                let left = member
                    .data_from
                    .iter()
                    .filter(|from| from.lock().try_recv().is_ok());
                assert_eq!(left.count(), 0, "messages left at rank {rank} of {size}");
            });
        }
    });
    let Placement {
        messages, bytes, ..
    } = &*placement;
    (
        messages.load(Ordering::Relaxed),
        bytes.load(Ordering::Relaxed),
    )
}

/// Numbers of processes on several nodes.
const FAR_SIZES: [usize; 6] = [3, 4, 6, 8, 9, 13];

/// Hosts of `size` processes, by rank: one after the other, in turn, and without any rule.
fn placements(size: usize) -> Vec<Vec<usize>> {
    let hosts = |host: &dyn Fn(usize) -> usize| (0..size).map(host).collect();
    let mut dice = Dice(size as u64);
    let by_chance = (0..size).map(|_| dice.roll(3) as usize).collect();
    vec![
        hosts(&|rank| rank * 2 / size),
        hosts(&|rank| rank * 4 / size),
        hosts(&|rank| rank % 2),
        hosts(&|rank| rank % 3),
        hosts(&|rank| usize::from(rank == size / 2)),
        by_chance,
    ]
}

/// Sizes over shared memory: few, since the memory of a test stays until its process ends.
const NEAR_SIZES: [usize; 6] = [1, 2, 3, 5, 8, 13];

/// Runs `program` in `size` ranks of a node; checks that no message is left over.
pub(crate) fn on_one_node(
    size: usize,
    is_oversubscribed: bool,
    program: &(impl Fn(Communicator) + Sync),
) {
    let links = shm::tests::oversubscribed(size as u32, false, is_oversubscribed);
    thread::scope(|scope| {
        let (done, ends) = channel();
        for (link, me) in links.into_iter().zip(0..) {
            let done = done.clone();
            scope.spawn(move || {
                let world = join(link, me, size);
                let engine = Arc::clone(world.engine());
                program(world);
                // A message that nobody receives would keep this rank for ever.
                engine.wait_until(
                    |_| Subject::AllSent,
                    |lane| (lane.survey() == Survey::default()).then_some(()),
                );
                done.send(()).expect("somebody waits for it");
            });
        }
        drop(done);
        for _ in 0..size {
            // A thread that panicked has told why; one that is stuck cannot be waited for.
            if ends.recv_timeout(STUCK) == Err(RecvTimeoutError::Timeout) {
                eprintln!("ranks of {size} are stuck, oversubscribed: {is_oversubscribed}");
                std::process::abort();
            }
        }
    });
}

/// `MPI_COMM_WORLD` of rank `me`.
fn join(link: Shm, me: u32, size: usize) -> Communicator {
    let node = Arc::clone(link.node());
    let links = Links::new(
        Link::Loopback(Loopback::new(PeerId(me))),
        Some(Link::Shm(link)),
        None,
    );
    let hosts = vec!["here".to_owned(); size];
    let mut lane = Lane::new(PeerId(me), links, Settings::default(), hosts);
    lane.join(node);
    // There are more threads than cores, whatever the ranks believe.
    let policy = WaitPolicy::of(2, 1);
    let engine = Engine::new(lane, Clock::start(), policy).unwrap();
    Communicator::predefined(&engine).0
}

/// Runs `program` in `size` processes whose sends wait, in as many that share memory, and on
/// several nodes.
fn world(size: usize, program: impl Fn(&Process) + Sync) {
    strict(size, &program);
    if FAR_SIZES.contains(&size) {
        for hosts in placements(size) {
            println!("hosts of the processes: {hosts:?}");
            on_hosts(hosts, &program);
        }
    }
    if NEAR_SIZES.contains(&size) {
        for is_oversubscribed in [false, true] {
            on_one_node(size, is_oversubscribed, &|world| {
                program(&Process::OnOneNode(world))
            });
        }
    }
}

/// For each size: `program` once per layout, one that is one run of bytes and one with gaps.
fn everywhere(program: impl Fn(&Process, &Datatype) + Sync) {
    let plain = Datatype::Basic(Basic::Int);
    let gaps = plain.resized(-4, 12).unwrap();
    for size in SIZES {
        world(size, |peers| {
            program(peers, &plain);
            program(peers, &gaps);
        });
    }
}

/// Elements in memory.
pub(super) struct Room {
    pub(super) buffer: Buffer,
}

impl Room {
    pub(super) fn of(values: &[i32], datatype: &Datatype) -> Self {
        let buffer = Buffer::scratch(values.len() as u64, datatype).unwrap();
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_ne_bytes())
            .collect();
        buffer.unpack(&bytes);
        Self { buffer }
    }

    pub(super) fn empty(len: usize, datatype: &Datatype) -> Self {
        Self::of(&vec![-1; len], datatype)
    }

    fn values(&self) -> Vec<i32> {
        let bytes = self.buffer.pack();
        let value = |bytes: &[u8]| i32::from_ne_bytes(bytes.try_into().unwrap());
        bytes.chunks_exact(4).map(value).collect()
    }

    pub(super) fn input(&self) -> Input {
        Input::Buffer(self.buffer.clone())
    }

    /// The buffer of one block of `count` per process.
    pub(super) fn per_process(&self, count: u64) -> Buffer {
        self.buffer.part(0, count)
    }
}

pub(super) fn bcast(buffer: &Buffer, root: i32) -> Bcast {
    let buffer = buffer.clone();
    Bcast { buffer, root }
}

pub(super) fn reduce(send: Input, receive: Option<&Buffer>, op: &Op, root: i32) -> Reduce {
    let (receive, op) = (receive.cloned(), op.clone());
    Reduce {
        send,
        receive,
        op,
        root,
    }
}

pub(super) fn allreduce(send: Input, receive: &Buffer, op: &Op) -> Allreduce {
    let (receive, op) = (receive.clone(), op.clone());
    Allreduce { send, receive, op }
}

pub(super) fn scan(send: Input, receive: &Buffer, op: &Op) -> Scan {
    let (receive, op) = (receive.clone(), op.clone());
    Scan { send, receive, op }
}

pub(super) fn exscan(send: Input, receive: &Buffer, op: &Op) -> Exscan {
    let (receive, op) = (receive.clone(), op.clone());
    Exscan { send, receive, op }
}

pub(super) fn reduce_scatter(
    send: Input,
    receive: &Buffer,
    counts: &[u64],
    op: &Op,
) -> ReduceScatter {
    let (receive, counts, op) = (receive.clone(), counts.to_vec(), op.clone());
    ReduceScatter {
        send,
        receive,
        counts,
        op,
    }
}

pub(super) fn gather(send: Input, receive: Option<&Buffer>, root: i32) -> Gather {
    let receive = receive.cloned();
    Gather {
        send,
        receive,
        root,
    }
}

pub(super) fn scatter(send: Option<&Buffer>, receive: Input, root: i32) -> Scatter {
    let send = send.cloned();
    Scatter {
        send,
        receive,
        root,
    }
}

pub(super) fn allgather(send: Input, receive: &Buffer) -> Allgather {
    let receive = receive.clone();
    Allgather { send, receive }
}

pub(super) fn alltoall(send: Input, receive: &Buffer) -> Alltoall {
    let receive = receive.clone();
    Alltoall { send, receive }
}

/// The roots worth trying: all of a few, some of many.
fn roots(size: usize) -> Vec<i32> {
    let mut roots = vec![0, size / 2, size - 1];
    if size <= 8 {
        roots = (0..size).collect();
    }
    roots.dedup();
    roots.into_iter().map(|root| root as i32).collect()
}

/// `count` values that name their rank and place.
fn block(rank: usize, count: usize) -> Vec<i32> {
    (0..count).map(|at| (rank * 1000 + at) as i32).collect()
}

fn blocks(size: usize, count: usize) -> Vec<i32> {
    (0..size).flat_map(|rank| block(rank, count)).collect()
}

/// Small, empty, and large enough for the algorithms for long messages.
const COUNTS: [usize; 4] = [0, 1, 5, 1100];

#[test]
fn nobody_leaves_a_barrier_before_all_have_come() {
    for size in SIZES {
        let come = AtomicUsize::new(0);
        world(size, |peers| {
            for _ in 1..=3 {
                let before = come.fetch_add(1, Ordering::SeqCst);
                run(peers, &Barrier).unwrap();
                let all = (before / size + 1) * size;
                assert!(come.load(Ordering::SeqCst) >= all);
            }
        });
    }
}

#[test]
fn a_broadcast_reaches_everybody() {
    everywhere(|peers, datatype| {
        for root in roots(peers.all()) {
            for count in COUNTS.into_iter().chain([20_000]) {
                let is_root = peers.here() == root as usize;
                let room = match is_root {
                    true => Room::of(&block(7, count), datatype),
                    false => Room::empty(count, datatype),
                };
                run(peers, &bcast(&room.buffer, root)).unwrap();
                assert_eq!(room.values(), block(7, count));
            }
        }
    });
}

/// None, one of one byte, one short one, and more pieces or fewer than there are processes.
#[test]
fn a_broadcast_in_pieces_reaches_everybody() {
    everywhere(|peers, datatype| {
        for count in [0, 1, 7, 5 * RELAY_BYTES as usize / 4 / 2] {
            let is_root = peers.here() == 0;
            let room = match is_root {
                true => Room::of(&block(7, count), datatype),
                false => Room::empty(count, datatype),
            };
            drive(bcast::in_pieces(peers, &room.buffer, 0)).unwrap();
            assert_eq!(room.values(), block(7, count));
        }
    });
}

/// So the root receives none: its buffer is only read.
#[test]
fn a_broadcast_in_pieces_sends_each_piece_once_to_each_process_but_the_root() {
    const PIECES: usize = 3;
    for size in SIZES {
        let sent = AtomicUsize::new(0);
        strict(size, &|peers| {
            let count = PIECES * (RELAY_BYTES as usize - 1) / 4;
            let room = Room::of(&block(7, count), &Basic::Int.into());
            drive(bcast::in_pieces(peers, &room.buffer, size / 2)).unwrap();
            if let Process::Strict(member) = peers {
                sent.fetch_add(member.sent.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        });
        assert_eq!(sent.into_inner(), (size - 1) * PIECES, "{size} processes");
    }
}

/// Three pieces, the last of them short.
#[test]
fn a_reduction_in_pieces_keeps_the_order_of_the_ranks_if_it_has_to() {
    let count = 2 * RELAY_BYTES as usize / 4 + 7;
    for size in [1, 2, 3, 5, 8] {
        strict(size, &|peers| {
            let own = Room::of(&block(peers.here(), count), &Basic::Int.into());
            for root in [0, size / 2] {
                let operands = (&Op::Sum, root);
                let result = drive(reduce::in_pieces(peers, &own.buffer, None, operands)).unwrap();
                let result = result.map(|result| result.buffer().pack());
                let sum = Room::of(&sums(0..size, count), &Basic::Int.into());
                let expected = (peers.here() == root).then(|| sum.buffer.pack());
                assert!(result == expected, "{size} processes, root {root}");
            }
            let last = user_last();
            let operands = (&last, 0);
            let result = drive(reduce::in_pieces(peers, &own.buffer, None, operands)).unwrap();
            if let Some(result) = result {
                let last = Room::of(&block(size - 1, count), &Basic::Int.into());
                assert!(result.buffer().pack() == last.buffer.pack());
            }
        });
    }
}

/// Three pieces, the last of them short.
#[test]
fn both_ways_of_a_scan_add_all_lower_ranks() {
    let count = 2 * RELAY_BYTES as usize / 4 + 7;
    for size in [1, 2, 3, 5, 8] {
        strict(size, &|peers| {
            for is_chain in [false, true] {
                let own = Room::of(&block(peers.here(), count), &Basic::Int.into());
                let below = Room::empty(count, &Basic::Int.into());
                let (through, below_it) = (&own.buffer, Some(&below.buffer));
                match is_chain {
                    true => drive(scan::chain(peers, through, below_it, &Op::Sum)),
                    false => drive(scan::doubling(peers, through, below_it, &Op::Sum)),
                }
                .unwrap();
                assert!(own.values() == sums(0..peers.here() + 1, count));
                if peers.here() > 0 {
                    assert!(below.values() == sums(0..peers.here(), count));
                }
            }
        });
    }
}

/// The right operand: so the last rank's, if the order is right.
fn user_last() -> Op {
    Op::User(UserOp::on_slices(|_, _, _, _| (), false))
}

/// Sum of the ranks' blocks, element by element.
fn sums(ranks: std::ops::Range<usize>, count: usize) -> Vec<i32> {
    let sum = |at| ranks.clone().map(|rank| (rank * 1000 + at) as i32).sum();
    (0..count).map(sum).collect()
}

/// A sum of the program, so that it takes derived datatypes too.
fn sum_of_program() -> Op {
    let function = |a: &[u8], b: &mut [u8], count: u64, datatype: &Datatype| {
        let step = datatype.extent() as usize;
        for at in (0..count as usize).map(|index| index * step) {
            let left = i32::from_ne_bytes(a[at..at + 4].try_into().unwrap());
            let right = i32::from_ne_bytes(b[at..at + 4].try_into().unwrap());
            b[at..at + 4].copy_from_slice(&(left + right).to_ne_bytes());
        }
    };
    Op::User(UserOp::on_slices(function, true))
}

#[test]
fn a_reduction_sums_over_all_at_the_root() {
    everywhere(|peers, datatype| {
        let op = sum_of_program();
        for root in roots(peers.all()) {
            for count in COUNTS {
                let is_root = peers.here() == root as usize;
                let own = Room::of(&block(peers.here(), count), datatype);
                let result = Room::empty(count, datatype);
                let expected = sums(0..peers.all(), count);
                let receive = is_root.then_some(&result.buffer);
                run(peers, &reduce(own.input(), receive, &op, root)).unwrap();
                if is_root {
                    assert_eq!(result.values(), expected);
                }
                assert_eq!(own.values(), block(peers.here(), count), "the input stays");
                let (send, receive) = match is_root {
                    true => (Input::InPlace, Some(&own.buffer)),
                    false => (own.input(), None),
                };
                run(peers, &reduce(send.clone(), receive, &op, root)).unwrap();
                if is_root {
                    assert_eq!(own.values(), expected, "in place");
                }
            }
        }
    });
}

#[test]
fn an_allreduce_sums_over_all_everywhere() {
    everywhere(|peers, datatype| {
        let op = sum_of_program();
        for count in COUNTS.into_iter().chain([5000]) {
            let own = Room::of(&block(peers.here(), count), datatype);
            let result = Room::empty(count, datatype);
            let expected = sums(0..peers.all(), count);
            run(peers, &allreduce(own.input(), &result.buffer, &op)).unwrap();
            assert_eq!(result.values(), expected);
            run(peers, &allreduce(Input::InPlace, &own.buffer, &op)).unwrap();
            assert_eq!(own.values(), expected, "in place");
        }
    });
}

#[test]
fn prefix_reductions_sum_over_the_lower_ranks() {
    everywhere(|peers, datatype| {
        let (op, here) = (sum_of_program(), peers.here());
        for count in [0, 1, 5] {
            let own = Room::of(&block(here, count), datatype);
            let result = Room::empty(count, datatype);
            run(peers, &scan(own.input(), &result.buffer, &op)).unwrap();
            assert_eq!(result.values(), sums(0..here + 1, count));
            let result = Room::empty(count, datatype);
            run(peers, &exscan(own.input(), &result.buffer, &op)).unwrap();
            let untouched = vec![-1; count];
            let expected = if here == 0 {
                untouched
            } else {
                sums(0..here, count)
            };
            assert_eq!(result.values(), expected);
            run(peers, &scan(Input::InPlace, &own.buffer, &op)).unwrap();
            assert_eq!(own.values(), sums(0..here + 1, count), "in place");
        }
    });
}

#[test]
fn a_reduce_scatter_gives_each_its_part_of_the_sum() {
    everywhere(|peers, datatype| {
        let (op, here, size) = (sum_of_program(), peers.here(), peers.all());
        for scale in [1, 10_000] {
            let counts: Vec<u64> = (0..size as u64).map(|rank| rank % 3 * scale).collect();
            let total = counts.iter().sum::<u64>() as usize;
            let first = counts[..here].iter().sum::<u64>() as usize;
            let part = first..first + counts[here] as usize;
            let own = Room::of(&block(here, total), datatype);
            let result = Room::empty(part.len(), datatype);
            let send = own.input();
            run(peers, &reduce_scatter(send, &result.buffer, &counts, &op)).unwrap();
            let expected = &sums(0..size, total)[part.clone()];
            assert_eq!(result.values(), expected);
            let send = Input::InPlace;
            run(peers, &reduce_scatter(send, &own.buffer, &counts, &op)).unwrap();
            assert_eq!(&own.values()[..part.len()], expected, "in place");
        }
    });
}

/// Joins intervals: `[a, b] op [b + 1, d] = [a, d]`; anything else is poison.
fn joining() -> (Op, Datatype) {
    let function = |a: &[u8], b: &mut [u8], count: u64, datatype: &Datatype| {
        let step = datatype.extent() as usize;
        let load = |bytes: &[u8], at| i32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
        for at in (0..count as usize).map(|index| index * step) {
            let fits = load(a, at + 4) + 1 == load(b, at);
            let first = if fits { load(a, at) } else { -999_999 };
            b[at..at + 4].copy_from_slice(&first.to_ne_bytes());
        }
    };
    let op = Op::User(UserOp::on_slices(function, false));
    let pair = Datatype::Basic(Basic::Int).contiguous(2).unwrap();
    (op, pair.resized(-8, 20).unwrap())
}

fn intervals(values: &[(i32, i32)], datatype: &Datatype) -> Room {
    let buffer = Buffer::scratch(values.len() as u64, datatype).unwrap();
    let words = values.iter().flat_map(|&(a, b)| [a, b]);
    let bytes: Vec<u8> = words.flat_map(i32::to_ne_bytes).collect();
    buffer.unpack(&bytes);
    Room { buffer }
}

#[test]
fn operands_stay_in_rank_order_if_the_operator_does_not_commute() {
    for size in SIZES {
        world(size, |peers| {
            let (op, datatype) = joining();
            let (here, last) = (peers.here() as i32, size as i32 - 1);
            for count in [1, 3, 3000] {
                let own = || intervals(&vec![(here, here); count], &datatype);
                let all: Vec<i32> = [0, last].repeat(count);
                let result = own();
                run(peers, &allreduce(own().input(), &result.buffer, &op)).unwrap();
                assert_eq!(result.values(), all);
                for root in roots(size) {
                    let result = own();
                    let receive = (here == root).then_some(&result.buffer);
                    run(peers, &reduce(own().input(), receive, &op, root)).unwrap();
                    assert!(here != root || result.values() == all);
                }
                let result = own();
                run(peers, &scan(Input::InPlace, &result.buffer, &op)).unwrap();
                assert_eq!(result.values(), [0, here].repeat(count));
                let result = own();
                run(peers, &exscan(own().input(), &result.buffer, &op)).unwrap();
                assert!(here == 0 || result.values() == [0, here - 1].repeat(count));
                let (whole, part) = (intervals(&vec![(here, here); size], &datatype), own());
                let (send, place, counts) = (whole.input(), part.buffer.part(0, 1), vec![1; size]);
                run(peers, &reduce_scatter(send, &place, &counts, &op)).unwrap();
                assert_eq!(part.values()[..2], [0, last]);
            }
        });
    }
}

#[test]
fn a_gather_lays_the_blocks_in_rank_order() {
    everywhere(|peers, datatype| {
        for (root, count) in roots(peers.all())
            .into_iter()
            .flat_map(|root| COUNTS.map(|count| (root, count)))
        {
            let (here, size) = (peers.here(), peers.all());
            let is_root = here == root as usize;
            let own = Room::of(&block(here, count), datatype);
            let all = Room::empty(size * count, datatype);
            let place = all.per_process(count as u64);
            run(peers, &gather(own.input(), is_root.then_some(&place), root)).unwrap();
            assert!(!is_root || all.values() == blocks(size, count));
            let all = Room::empty(size * count, datatype);
            let place = all.per_process(count as u64);
            place
                .part((here * count) as i64, count as u64)
                .copy_from(&own.buffer)
                .unwrap();
            let send = if is_root { Input::InPlace } else { own.input() };
            run(peers, &gather(send, is_root.then_some(&place), root)).unwrap();
            assert!(!is_root || all.values() == blocks(size, count), "in place");
        }
    });
}

#[test]
fn a_scatter_gives_each_its_block() {
    everywhere(|peers, datatype| {
        for (root, count) in roots(peers.all())
            .into_iter()
            .flat_map(|root| COUNTS.map(|count| (root, count)))
        {
            let (here, size) = (peers.here(), peers.all());
            let is_root = here == root as usize;
            let own = Room::empty(count, datatype);
            let all = Room::of(&blocks(size, count), datatype);
            let send = all.per_process(count as u64);
            run(peers, &scatter(is_root.then_some(&send), own.input(), root)).unwrap();
            assert_eq!(own.values(), block(here, count));
            let own = Room::empty(count, datatype);
            let receive = if is_root { Input::InPlace } else { own.input() };
            run(peers, &scatter(is_root.then_some(&send), receive, root)).unwrap();
            assert!(is_root || own.values() == block(here, count), "in place");
            assert_eq!(all.values(), blocks(size, count), "the input stays");
        }
    });
}

#[test]
fn an_allgather_lays_the_blocks_in_rank_order_everywhere() {
    everywhere(|peers, datatype| {
        let (here, size) = (peers.here(), peers.all());
        for count in COUNTS {
            let own = Room::of(&block(here, count), datatype);
            let all = Room::empty(size * count, datatype);
            let place = all.per_process(count as u64);
            run(peers, &allgather(own.input(), &place)).unwrap();
            assert_eq!(all.values(), blocks(size, count));
            let all = Room::empty(size * count, datatype);
            let place = all.per_process(count as u64);
            place
                .part((here * count) as i64, count as u64)
                .copy_from(&own.buffer)
                .unwrap();
            run(peers, &allgather(Input::InPlace, &place)).unwrap();
            assert_eq!(all.values(), blocks(size, count), "in place");
        }
    });
}

/// What `from` sends to `to`.
fn letter(from: usize, to: usize, count: usize) -> Vec<i32> {
    (0..count)
        .map(|at| (from * 10_000 + to * 100 + at) as i32)
        .collect()
}

#[test]
fn an_alltoall_turns_senders_into_receivers() {
    everywhere(|peers, datatype| {
        let (here, size) = (peers.here(), peers.all());
        for count in [0, 1, 5, 60] {
            let outgoing: Vec<i32> = (0..size).flat_map(|to| letter(here, to, count)).collect();
            let expected: Vec<i32> = (0..size)
                .flat_map(|from| letter(from, here, count))
                .collect();
            let send = Room::of(&outgoing, datatype);
            let receive = Room::empty(size * count, datatype);
            let (from, to) = (
                send.per_process(count as u64),
                receive.per_process(count as u64),
            );
            run(peers, &alltoall(Input::Buffer(from.clone()), &to)).unwrap();
            assert_eq!(receive.values(), expected);
            run(peers, &alltoall(Input::InPlace, &from)).unwrap();
            assert_eq!(send.values(), expected, "in place");
        }
    });
}

/// Layouts of an element of four bytes: one run, one run between gaps, four runs.
fn layouts() -> [Datatype; 3] {
    let plain = Datatype::Basic(Basic::Int);
    let gaps = plain.resized(-4, 12).unwrap();
    let bytes = Datatype::Basic(Basic::Byte).vector(4, 1, 2).unwrap();
    [plain, gaps, bytes.resized(0, 9).unwrap()]
}

/// Checks that blocks of `count` elements reach their processes in hops: from a buffer with the one
/// layout to one with the other, and in place.
fn check_hops(peers: &Process, (from, to): (&Datatype, &Datatype), count: usize) {
    let (here, size) = (peers.here(), peers.all());
    let outgoing: Vec<i32> = (0..size).flat_map(|to| letter(here, to, count)).collect();
    let expected: Vec<i32> = (0..size)
        .flat_map(|from| letter(from, here, count))
        .collect();
    let send = Room::of(&outgoing, from);
    let receive = Room::empty(size * count, to);
    let split = |room: &Room| parts(&room.per_process(count as u64), size);
    let (blocks, places) = (split(&send), split(&receive));
    drive(alltoall::hops(peers, &blocks, &places)).unwrap();
    assert_eq!(receive.values(), expected);
    assert_eq!(send.values(), outgoing, "the input stays");
    drive(alltoall::hops(peers, &blocks, &blocks)).unwrap();
    assert_eq!(send.values(), expected, "in place");
}

#[test]
fn blocks_reach_their_processes_in_hops_however_many_and_long_they_are() {
    let layouts = layouts();
    for size in 1..=17 {
        for round in 0..10 {
            let seed = size as u64 * 1000 + round + 1;
            let mut dice = Dice(seed);
            let mut layout = || &layouts[dice.roll(3) as usize];
            let layouts = (layout(), layout());
            let most = 1 << dice.roll(12);
            let count = dice.roll(most) as usize;
            println!("seed {seed}: {count} elements for each of {size}");
            strict(size, &|peers: &Process| check_hops(peers, layouts, count));
        }
    }
}

#[test]
fn an_alltoall_of_short_blocks_sends_as_many_messages_as_the_logarithm_says() {
    for size in SIZES {
        for (count, most) in [
            (1, size.next_power_of_two().ilog2()),
            (5000, size as u32 - 1),
        ] {
            strict(size, &|peers: &Process| {
                let send = Room::empty(size * count, &Basic::Int.into());
                let receive = Room::empty(size * count, &Basic::Int.into());
                let blocks = |room: &Room| room.per_process(count as u64);
                run(
                    peers,
                    &alltoall(Input::Buffer(blocks(&send)), &blocks(&receive)),
                )
                .unwrap();
                let Process::Strict(member) = peers else {
                    unreachable!("it was made strict");
                };
                assert_eq!(
                    member.sent.load(Ordering::Relaxed),
                    most as usize,
                    "{count} of {size}"
                );
            });
        }
    }
}

/// One buffer per process in `room`: `count(rank)` elements each, from the last rank to the first.
fn backwards(room: &Room, size: usize, count: impl Fn(usize) -> usize) -> Vec<Buffer> {
    let first = |rank: usize| (rank + 1..size).map(&count).sum::<usize>() as i64;
    let one = |rank| room.buffer.part(first(rank), count(rank) as u64);
    (0..size).map(one).collect()
}

#[test]
fn blocks_of_different_sizes_find_their_places() {
    everywhere(|peers, datatype| {
        let (here, size) = (peers.here(), peers.all());
        let count = |rank: usize| (rank * 5) % 4;
        let total = (0..size).map(count).sum();
        let expected: Vec<i32> = (0..size)
            .rev()
            .flat_map(|rank| block(rank, count(rank)))
            .collect();
        let own = Room::of(&block(here, count(here)), datatype);
        let all = Room::empty(total, datatype);
        let places = backwards(&all, size, count);
        run(
            peers,
            &Allgatherv {
                send: own.input(),
                receive: places.clone(),
            },
        )
        .unwrap();
        assert_eq!(all.values(), expected);
        for root in roots(size) {
            let is_root = here == root as usize;
            let back = Room::empty(count(here), datatype);
            let send = is_root.then(|| places.clone());
            run(
                peers,
                &Scatterv {
                    send,
                    receive: back.input(),
                    root,
                },
            )
            .unwrap();
            assert_eq!(back.values(), own.values());
            let gathered = Room::empty(total, datatype);
            let places = backwards(&gathered, size, count);
            run(
                peers,
                &Gatherv {
                    send: back.input(),
                    receive: is_root.then_some(places),
                    root,
                },
            )
            .unwrap();
            assert!(!is_root || gathered.values() == expected);
        }
    });
}

#[test]
fn letters_of_different_sizes_reach_their_receivers() {
    everywhere(|peers, datatype| {
        let (here, size) = (peers.here(), peers.all());
        let count = |a: usize, b: usize| (a * b + a + b) % 5;
        let total = (0..size).map(|other| count(here, other)).sum();
        let outgoing = (0..size)
            .rev()
            .flat_map(|to| letter(here, to, count(here, to)));
        let send = Room::of(&outgoing.collect::<Vec<_>>(), datatype);
        let receive = Room::empty(total, datatype);
        let from = backwards(&send, size, |rank| count(here, rank));
        let to = backwards(&receive, size, |rank| count(here, rank));
        let expected: Vec<i32> = (0..size)
            .rev()
            .flat_map(|from| letter(from, here, count(from, here)))
            .collect();
        run(
            peers,
            &Alltoallw {
                send: Some(from.clone()),
                receive: to,
            },
        )
        .unwrap();
        assert_eq!(receive.values(), expected);
        run(
            peers,
            &Alltoallw {
                send: None,
                receive: from,
            },
        )
        .unwrap();
        assert_eq!(send.values(), expected, "in place");
    });
}

#[test]
fn wrong_arguments_are_refused_before_anything_is_sent() {
    world(1, |peers| {
        let room = Room::empty(2, &Basic::Double.into());
        let refused = run(peers, &bcast(&room.buffer, 1));
        assert_eq!(refused, Err(Cause::Root { root: 1, size: 1 }.into()));
        let refused = run(peers, &bcast(&room.buffer, -1));
        assert_eq!(refused, Err(Cause::Root { root: -1, size: 1 }.into()));
        let refused = run(peers, &allreduce(Input::InPlace, &room.buffer, &Op::Band));
        assert!(matches!(refused.unwrap_err().cause(), Cause::Op { .. }));
        let refused = run(peers, &gather(room.input(), None, 0));
        assert!(matches!(refused.unwrap_err().cause(), Cause::Argument(_)));
        let refused = run(
            peers,
            &Alltoallw {
                send: None,
                receive: vec![],
            },
        );
        assert!(matches!(refused.unwrap_err().cause(), Cause::Argument(_)));
    });
}

#[test]
fn a_local_reduction_takes_the_input_on_the_left() {
    let (op, datatype) = joining();
    let (left, inout) = (
        intervals(&[(1, 2)], &datatype),
        intervals(&[(3, 9)], &datatype),
    );
    reduce_local(&left.buffer, &inout.buffer, &op).unwrap();
    assert_eq!(inout.values(), [1, 9]);
}
