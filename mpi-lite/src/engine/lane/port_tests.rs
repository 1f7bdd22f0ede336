//! Ports that are no communicators': what a window and a file pointer need of the door, shown with
//! a window of a test. Decision 0076.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmpp_core::{Caps, Config, Rng};
use rmpp_sim::Faults;

use super::arrive::Inlet;
use crate::clock::{Clock, Instant};
use crate::config::Settings;
use crate::data::Area;
use crate::engine::envelope::Envelope;
use crate::engine::inbox::matching::Pattern;
use crate::engine::outbox::{Deferred, Load};
use crate::engine::ports::{body_envelope, head_envelope};
use crate::engine::*;
use crate::error::{Cause, Error};
use crate::ids::{Context, Mode, PeerId};
use crate::memory::{Scratch, Span};
use crate::transport::sim::{Air, Guest as Protocol};
use crate::transport::{
    Arrival, Incoming, Landing, Link, Links, Loopback, Lost, Progress, Sink as _, tests,
};

const WINDOW: Context = Context::WORLD.window();

/// A port that nobody has opened.
const NOWHERE: Context = Context(400).window();

/// An answer has the number of its operation, and this bit: a process may use the same number for
/// an operation of its own.
const ANSWER: u32 = 1 << 31;

/// Data of at most this many bytes is in the head.
const SHORT: usize = 200;

/// What an operation does. It is the first byte of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Data goes to the window of the target.
    Put,
    /// Data comes from there.
    Get,
    /// Adds to a number there. Its old value comes back.
    Add,
}

/// An operation that this process has begun.
#[derive(Debug)]
struct Operation {
    to: PeerId,
    kind: Kind,
    request: Request,
    /// Where its data comes from or goes to.
    data: Arc<Scratch>,
    /// The link reads the data no more.
    is_sent: bool,
    /// The target has answered.
    is_answered: bool,
}

/// What the port of a process and the test share.
#[derive(Debug)]
struct Memory {
    window: Scratch,
    begun: BTreeMap<u32, Operation>,
    /// Bodies that land next.
    awaited: BTreeSet<(PeerId, u32)>,
    /// Heads that were served, in this order.
    heads: Vec<(PeerId, u32)>,
    /// Peers that are lost.
    lost: Vec<PeerId>,
    /// What no operation asks for.
    nonsense: u32,
}

impl Memory {
    fn place(&self, offset: usize, len: usize) -> Option<Span> {
        let end = offset.checked_add(len)?;
        (end <= self.window.span().len()).then(|| self.window.span().part(offset, len))
    }

    /// Finishes the operation with this number, if all is done.
    fn settle(&mut self, number: u32, effects: &mut Effects) {
        let begun = self.begun.get(&number);
        if begun.is_some_and(|it| it.is_sent && it.is_answered) {
            let it = self.begun.remove(&number).unwrap();
            effects.finish(it.request, None);
        }
    }

    /// The target has answered. Returns where the data of a long get lands.
    fn take_answer(&mut self, head: &Head, effects: &mut Effects) -> Option<Area> {
        let number = head.number() & !ANSWER;
        let its = |it: &&mut Operation| it.to == head.from();
        let Some(operation) = self.begun.get_mut(&number).filter(its) else {
            self.nonsense += 1;
            return None;
        };
        let (kind, data) = (operation.kind, operation.data.span());
        if kind == Kind::Get && data.len() > SHORT {
            self.awaited.insert((head.from(), head.number()));
            return Some(Area::Run(data));
        }
        if kind != Kind::Put {
            data.write(0, head.bytes());
        }
        operation.is_answered = true;
        self.settle(number, effects);
        None
    }
}

fn encode(kind: Kind, offset: usize, len: usize) -> Vec<u8> {
    let mut head = vec![kind as u8];
    head.extend((offset as u32).to_le_bytes());
    head.extend((len as u32).to_le_bytes());
    head
}

/// The kind, the offset, the length and the data of a head; `None` if it is nonsense.
fn decode(bytes: &[u8]) -> Option<(Kind, usize, usize, &[u8])> {
    let (kind, rest) = bytes.split_first()?;
    let (offset, rest) = rest.split_first_chunk()?;
    let (len, data) = rest.split_first_chunk()?;
    let kind = [Kind::Put, Kind::Get, Kind::Add]
        .into_iter()
        .find(|it| *it as u8 == *kind)?;
    let [offset, len] = [offset, len].map(|it| u32::from_le_bytes(*it) as usize);
    Some((kind, offset, len, data))
}

#[derive(Debug)]
struct Window(Arc<Mutex<Memory>>);

impl Guest for Window {
    fn head(&mut self, head: &Head, effects: &mut Effects) -> Option<Area> {
        let memory = &mut *self.0.lock();
        let (from, number) = (head.from(), head.number());
        if number & ANSWER != 0 {
            return memory.take_answer(head, effects);
        }
        memory.heads.push((from, number));
        let Some((kind, offset, len, data)) = decode(head.bytes()) else {
            memory.nonsense += 1;
            return None;
        };
        let is_right = kind != Kind::Add || len.min(data.len()) == 8;
        let Some(place) = memory.place(offset, len).filter(|_| is_right) else {
            memory.nonsense += 1;
            return None;
        };
        let mut answer = Vec::new();
        match kind {
            Kind::Put if len > SHORT => {
                memory.awaited.insert((from, number));
                return Some(Area::Run(place));
            }
            Kind::Put => _ = place.write(0, data),
            Kind::Get if len > SHORT => {
                effects.send_head(from, number | ANSWER, answer);
                effects.send_body(from, number | ANSWER, Area::Run(place));
                return None;
            }
            Kind::Get => place.append_to(&mut answer),
            Kind::Add => {
                place.append_to(&mut answer);
                let old = u64::from_le_bytes(*answer.first_chunk().unwrap());
                let more = u64::from_le_bytes(*data.first_chunk().unwrap());
                place.write(0, &old.wrapping_add(more).to_le_bytes());
            }
        }
        effects.send_head(from, number | ANSWER, answer);
        None
    }

    fn landed(&mut self, from: PeerId, number: u32, len: u64, effects: &mut Effects) {
        let memory = &mut *self.0.lock();
        let is_awaited = memory.awaited.remove(&(from, number));
        assert!(
            is_awaited,
            "a body of {len} bytes lands before its head is served"
        );
        if number & ANSWER == 0 {
            effects.send_head(from, number | ANSWER, Vec::new());
            return;
        }
        let number = number & !ANSWER;
        memory.begun.get_mut(&number).unwrap().is_answered = true;
        memory.settle(number, effects);
    }

    fn sent(&mut self, to: PeerId, number: u32, effects: &mut Effects) {
        if number & ANSWER == 0 {
            let memory = &mut *self.0.lock();
            let operation = memory.begun.get_mut(&number).unwrap();
            assert_eq!(operation.to, to);
            operation.is_sent = true;
            memory.settle(number, effects);
        }
    }

    fn lost(&mut self, peer: PeerId, effects: &mut Effects) {
        let memory = &mut *self.0.lock();
        memory.lost.push(peer);
        memory.awaited.retain(|(from, _)| *from != peer);
        memory.begun.retain(|_, it| {
            if it.to == peer {
                effects.finish(it.request, Some(lost(peer)));
            }
            it.to != peer
        });
    }
}

fn lost(peer: PeerId) -> Error {
    Cause::Lost {
        rank: peer.0,
        host: "here".into(),
        address: None,
        reason: "it is gone".into(),
    }
    .into()
}

/// How time passes.
enum Time {
    Simulated(Air),
    Real(Clock),
}

impl Time {
    fn now(&self) -> Instant {
        match self {
            Self::Simulated(air) => air.now(),
            Self::Real(clock) => clock.now(),
        }
    }
}

/// An operation that a test has begun, and where its data goes or comes from.
struct Begun {
    at: usize,
    request: Request,
    data: Arc<Scratch>,
}

/// Processes with a window each.
struct Job {
    time: Time,
    lanes: Vec<Lane>,
    memories: Vec<Arc<Mutex<Memory>>>,
    ports: Vec<Option<OpenPort>>,
    /// The number of the last operation.
    number: u32,
}

impl Job {
    fn new(time: Time, lanes: Vec<Lane>, window_bytes: usize) -> Self {
        let memory = |_| {
            Arc::new(Mutex::new(Memory {
                window: Scratch::new(window_bytes, 0).unwrap(),
                begun: BTreeMap::new(),
                awaited: BTreeSet::new(),
                heads: Vec::new(),
                lost: Vec::new(),
                nonsense: 0,
            }))
        };
        let memories: Vec<_> = (0..lanes.len()).map(memory).collect();
        let mut job = Self {
            time,
            lanes,
            memories,
            ports: Vec::new(),
            number: 0,
        };
        for at in 0..job.lanes.len() {
            let members = (0..job.lanes.len() as u32).map(PeerId).collect();
            let world = job.lanes[at].open_port(Context::WORLD, Port::among(members));
            job.ports.push(Some(world));
            let window = job.open(at);
            job.ports.push(Some(window));
        }
        job
    }

    /// Processes on a simulated network.
    fn simulated(
        (guest, config): (Protocol, &Config),
        (seed, faults): (u64, Faults),
        window_bytes: usize,
    ) -> Self {
        let count = config.nodes;
        let air = Air::new(count as usize, seed, faults);
        let lane = |me| {
            let own = Link::Loopback(Loopback::new(PeerId(me)));
            let others = Link::simulated(guest, &air, PeerId(me), config);
            let hosts = vec!["here".to_owned(); count as usize];
            let links = Links::new(own, None, Some(others));
            Lane::new(PeerId(me), links, settings(), hosts)
        };
        let lanes = (0..count).map(lane).collect();
        Self::new(Time::Simulated(air), lanes, window_bytes)
    }

    /// Processes with tiny packets, so that few heads are whole.
    fn tiny(count: u32, faults: Faults) -> Self {
        let mut config = Config::with_caps(count, 16, Caps::FAST);
        config.lost_after = Some(Duration::from_secs(10));
        Self::simulated((Protocol::Rmpp, &config), (1, faults), 10_000)
    }

    fn open(&mut self, at: usize) -> OpenPort {
        let window = Window(Arc::clone(&self.memories[at]));
        self.lanes[at].open_port(WINDOW, Port::Window(Box::new(window)))
    }

    fn air(&self) -> &Air {
        match &self.time {
            Time::Simulated(air) => air,
            Time::Real(_) => panic!("it is real"),
        }
    }

    /// Takes a turn of each process. Returns true if anything was delivered.
    fn turn(&mut self) -> bool {
        let now = self.time.now();
        let turns = self.lanes.iter_mut().map(|lane| lane.turn(now));
        let most = turns.max();
        self.check_that_memory_is_kept();
        most == Some(Progress::Delivered)
    }

    /// A link reads or writes the memory of no operation that is over.
    fn check_that_memory_is_kept(&self) {
        for (lane, memory) in self.lanes.iter().zip(&self.memories) {
            let memory = memory.lock();
            for sending in lane.parts.outbox.sends() {
                let envelope = sending.envelope();
                let number = envelope.tag.cast_unsigned();
                let is_its = (1..=self.number).contains(&number);
                let is_body = envelope == body_envelope(WINDOW, number) && is_its;
                let is_over = !memory.begun.contains_key(&number);
                let is_to_lost = memory.lost.contains(&sending.receiver());
                assert!(!(is_body && is_over) || is_to_lost, "{number} is over");
            }
        }
    }

    /// Takes turns until `done`, or until nothing happens any more. Returns true if it is done.
    #[expect(clippy::disallowed_methods, reason = "a test that hangs must end")]
    fn run(&mut self, mut done: impl FnMut(&mut Self) -> bool) -> bool {
        let deadline = std::time::Instant::now() + Duration::from_secs(120);
        while !done(self) {
            assert!(std::time::Instant::now() < deadline, "it does not end");
            if !self.step() {
                return done(self);
            }
        }
        true
    }

    /// Takes a turn of each process, and lets time pass if nothing was delivered. Returns false if
    /// nothing happens any more.
    fn step(&mut self) -> bool {
        if self.turn() {
            return true;
        }
        let wakes = self.lanes.iter().filter_map(|lane| lane.links().wake_at());
        let wake_at = wakes.min();
        match &self.time {
            Time::Simulated(air) => air.advance(wake_at),
            Time::Real(_) => true,
        }
    }

    /// Begins an operation. `data` is what is put or added; of a get its length counts.
    fn begin(&mut self, kind: Kind, (at, to): (usize, usize), offset: usize, data: &[u8]) -> Begun {
        self.number += 1;
        let (number, to) = (self.number, PeerId(to as u32));
        let lane = &mut self.lanes[at];
        let request = lane.open_operation(WINDOW);
        let scratch = filled(data);
        let span = scratch.span();
        let is_long = kind == Kind::Put && data.len() > SHORT;
        let operation = Operation {
            to,
            kind,
            request,
            data: Arc::clone(&scratch),
            is_sent: !is_long,
            is_answered: false,
        };
        let before = self.memories[at].lock().begun.insert(number, operation);
        assert!(before.is_none());
        let mut head = encode(kind, offset, data.len());
        match is_long {
            // A body may come before the end of a long head.
            true => head.extend([0; SHORT]),
            false if kind == Kind::Get => {}
            false => head.extend(data),
        }
        let body = is_long.then_some(Area::Run(span));
        if let Err(error) = lane.visit((to, WINDOW, number), head, body) {
            self.memories[at].lock().begun.remove(&number);
            lane.parts.finish(request, Some(error));
        }
        Begun {
            at,
            request,
            data: scratch,
        }
    }

    fn put(&mut self, ends: (usize, usize), offset: usize, data: &[u8]) -> Begun {
        self.begin(Kind::Put, ends, offset, data)
    }

    fn is_over(&self, begun: &Begun) -> bool {
        let completion = self.lanes[begun.at].peek(Some(begun.request)).unwrap();
        completion.is_some()
    }

    /// Waits for a send or a receive.
    fn complete(&mut self, at: usize, request: Request) {
        let is_over = |job: &mut Self| job.lanes[at].peek(Some(request)).unwrap().is_some();
        assert!(self.run(is_over), "it hangs");
        let ended = self.lanes[at].take(Some(request)).unwrap();
        assert_eq!(ended.unwrap().error, None);
    }

    /// Waits for an operation. Returns its data, or why it has failed.
    fn end(&mut self, begun: &Begun) -> Result<Vec<u8>, Error> {
        assert!(self.run(|job| job.is_over(begun)), "it hangs");
        let ended = self.lanes[begun.at].take(Some(begun.request)).unwrap();
        match ended.unwrap().error {
            None => Ok(bytes_of(&begun.data)),
            Some(error) => Err(error),
        }
    }

    fn window(&self, at: usize) -> Vec<u8> {
        bytes_of(&self.memories[at].lock().window)
    }

    /// Sends a message of the program.
    fn send(&mut self, ends: (usize, usize), context: Context, body: &Scratch) -> Request {
        let plan = SendPlan {
            to: Some(PeerId(ends.1 as u32)),
            context,
            source: ends.0 as u32,
            tag: 7,
            mode: Mode::Standard,
            area: Area::Run(body.span()),
        };
        self.lanes[ends.0].send(&plan).unwrap()
    }

    fn receive(&mut self, ends: (usize, usize), context: Context, room: &Scratch) -> Request {
        let pattern = Pattern {
            context,
            source: Some(ends.0 as u32),
            tag: Some(7),
        };
        self.lanes[ends.1].receive(ReceivePlan {
            pattern: Some(pattern),
            area: Area::Run(room.span()),
        })
    }

    /// Takes turns until nothing is under way. Nothing is left then, but for what `left` has.
    fn drain(&mut self, left: &[usize]) {
        let is_quiet = |lane: &Lane| lane.survey() == Survey::default() && lane.links().are_quiet();
        let quiet = |job: &mut Self| {
            let mut lanes = job.lanes.iter().enumerate();
            lanes.all(|(at, lane)| left.contains(&at) || is_quiet(lane))
        };
        let is_over = self.run(quiet);
        let surveys: Vec<_> = self.lanes.iter().map(Lane::survey).collect();
        assert!(is_over, "{surveys:?}");
        for (at, lane) in self.lanes.iter().enumerate() {
            let is_empty = lane.parts.ports.await_nothing();
            assert!(
                left.contains(&at) || is_empty,
                "process {at} awaits something"
            );
        }
    }
}

fn bytes_of(scratch: &Scratch) -> Vec<u8> {
    let mut bytes = Vec::new();
    scratch.span().append_to(&mut bytes);
    bytes
}

/// Little is taken in without a receive.
fn settings() -> Settings {
    Settings {
        unexpected_budget_bytes: 2000,
        ..Settings::default()
    }
}

/// A network that does everything wrong.
fn bad() -> Faults {
    Faults::lossy(100_000)
}

fn filled(bytes: &[u8]) -> Arc<Scratch> {
    let scratch = Scratch::new(bytes.len(), 0).unwrap();
    scratch.span().write(0, bytes);
    Arc::new(scratch)
}

fn pattern(len: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    (0..len).map(|_| rng.bits() as u8).collect()
}

fn from_number(number: u64) -> [u8; 8] {
    number.to_le_bytes()
}

fn to_number(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(*bytes.first_chunk().unwrap())
}

/// Begins a put, a get and an addition of each length around which something changes.
const LENGTHS: [usize; 8] = [0, 1, 15, 17, SHORT, SHORT + 1, 1000, 3000];

/// Puts data of several lengths into the window of `to`, and gets it from there. No byte beside it
/// is touched.
fn put_and_get_all(job: &mut Job, (at, to): (usize, usize)) {
    let mut expected = job.window(to);
    let (mut offset, mut puts, mut gets) = (5, Vec::new(), Vec::new());
    for (seed, len) in (1..).zip(LENGTHS) {
        let data = pattern(len, seed);
        puts.push(job.put((at, to), offset, &data));
        expected[offset..offset + len].copy_from_slice(&data);
        offset += len + 3;
    }
    for put in &puts {
        job.end(put).unwrap();
    }
    assert_eq!(job.window(to), expected);
    offset = 5;
    for len in LENGTHS {
        let get = job.begin(Kind::Get, (at, to), offset, &vec![0; len]);
        gets.push((get, offset..offset + len));
        offset += len + 3;
    }
    for (get, range) in gets {
        assert_eq!(job.end(&get).unwrap(), expected[range]);
    }
}

#[test]
fn a_put_is_at_its_place_and_no_byte_beside_it_is_touched() {
    for faults in [Faults::none(), bad()] {
        let mut job = Job::tiny(3, faults);
        for ends in [(0, 1), (1, 0), (2, 0), (0, 0)] {
            put_and_get_all(&mut job, ends);
        }
        job.drain(&[]);
    }
}

#[test]
fn of_additions_at_once_each_has_its_own_old_value() {
    let mut job = Job::tiny(4, bad());
    let adds: Vec<Begun> = (0..100)
        .map(|number| job.begin(Kind::Add, (number % 4, 2), 16, &from_number(1)))
        .collect();
    let old: BTreeSet<u64> = adds
        .iter()
        .map(|add| to_number(&job.end(add).unwrap()))
        .collect();
    assert_eq!(old, (0..100).collect());
    job.drain(&[]);
}

#[test]
fn heads_of_a_process_are_served_in_the_order_in_which_they_were_sent() {
    let mut job = Job::tiny(2, bad());
    let lens = (0..60).map(|number| if number % 3 == 0 { SHORT } else { 1 });
    let puts: Vec<Begun> = lens
        .map(|len| job.put((0, 1), 0, &pattern(len, len as u64)))
        .collect();
    for put in &puts {
        job.end(put).unwrap();
    }
    let numbers: Vec<u32> = job.memories[1].lock().heads.iter().map(|it| it.1).collect();
    assert_eq!(numbers, (1..=60).collect::<Vec<_>>());
    job.drain(&[]);
}

/// A message of process `from` to the ports of process `to`, whatever it says.
fn say(job: &mut Job, (from, to): (usize, usize), envelope: Envelope, bytes: Vec<u8>) {
    let parts = &mut job.lanes[from].parts;
    parts.outbox.defer(Deferred {
        to: PeerId(to as u32),
        envelope,
        body: Load::Bytes(bytes),
    });
    parts.has_errands = true;
    job.lanes[from].run_errands();
}

#[test]
fn what_no_port_has_asked_for_is_dropped_and_leaves_nothing_behind() {
    let mut job = Job::tiny(2, bad());
    let long = encode(Kind::Put, 0, 1000);
    let twice = [&*long, &[0; 300]].concat();
    let unknown = Envelope {
        source: 99,
        ..head_envelope(NOWHERE, 8)
    };
    let nonsense = [
        (head_envelope(NOWHERE, 1), long.clone()),
        (body_envelope(NOWHERE, 1), vec![7; 1000]),
        (body_envelope(WINDOW, 2), vec![7; 1000]),
        (head_envelope(WINDOW, 3), vec![7; 5000]),
        (body_envelope(WINDOW, 3), vec![7; 1000]),
        (head_envelope(WINDOW, 4), vec![]),
        (head_envelope(WINDOW, 5), encode(Kind::Put, 9990, 1000)),
        (body_envelope(WINDOW, 5), vec![7; 1000]),
        (head_envelope(WINDOW, 6 | ANSWER), vec![7; 8]),
        (body_envelope(WINDOW, 6 | ANSWER), vec![7; 1000]),
        (unknown, vec![7; 100]),
        (head_envelope(Context::SERVICE, 7), vec![7; 100]),
        (head_envelope(WINDOW, 8), twice.clone()),
        (head_envelope(WINDOW, 8), twice),
    ];
    for (envelope, bytes) in nonsense {
        say(&mut job, (0, 1), envelope, bytes);
    }
    // More than was announced: what is beyond is dropped.
    say(&mut job, (0, 1), body_envelope(WINDOW, 8), vec![7; 3000]);
    say(&mut job, (0, 1), body_envelope(WINDOW, 8), vec![8; 1000]);
    job.drain(&[]);
    let mut expected = vec![7; 1000];
    expected.resize(10_000, 0);
    assert_eq!(job.window(1), expected);
    put_and_get_all(&mut job, (0, 1));
    put_and_get_all(&mut job, (1, 0));
    job.drain(&[]);
}

#[test]
fn a_body_touches_no_memory_of_a_port_that_has_closed_or_of_its_successor() {
    for is_opened_again in [false, true] {
        let mut job = Job::tiny(2, bad());
        say(
            &mut job,
            (0, 1),
            head_envelope(WINDOW, 1),
            encode(Kind::Put, 0, 1000),
        );
        assert!(job.run(|job| !job.memories[1].lock().heads.is_empty()));
        let window = 3;
        job.ports[window] = None;
        if is_opened_again {
            job.ports[window] = Some(job.open(1));
        }
        say(&mut job, (0, 1), body_envelope(WINDOW, 1), vec![7; 1000]);
        // Nobody answers this.
        say(
            &mut job,
            (0, 1),
            head_envelope(NOWHERE, 2),
            encode(Kind::Put, 0, 1000),
        );
        let is_quiet = |lane: &Lane| lane.survey() == Survey::default() && lane.links().are_quiet();
        assert!(job.run(|job| job.lanes.iter().all(is_quiet)));
        assert_eq!(job.window(1), vec![0; 10_000]);
        job.ports[window] = Some(job.open(1));
        put_and_get_all(&mut job, (0, 1));
        job.drain(&[]);
    }
}

#[test]
fn the_loss_of_a_process_ends_all_operations_with_it_and_no_others() {
    for seed in 1..=20 {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let mut job = Job::tiny(3, Faults::lossy(30_000));
        let mut begun = Vec::new();
        for number in 0..40 {
            let ends = (rng.below(3) as usize, rng.below(3) as usize);
            let kind = [Kind::Put, Kind::Get][rng.below(2) as usize];
            let data = vec![1; rng.below(1000) as usize];
            begun.push((ends, job.begin(kind, ends, 16 * number, &data)));
            for _ in 0..rng.below(4) {
                job.step();
            }
        }
        for other in [0, 1] {
            let never = Instant(u64::MAX);
            job.air().cut(PeerId(2), PeerId(other), never);
            job.air().cut(PeerId(other), PeerId(2), never);
        }
        // A peer is found to be lost by what is sent to it.
        for at in [0, 1] {
            begun.push(((at, 2), job.put((at, 2), 0, &[1; 1000])));
        }
        for (ends, operation) in begun.iter().filter(|(ends, _)| ends.0 != 2) {
            let ended = job.end(operation);
            assert!(ended.is_ok() || ends.1 == 2, "{ends:?}: {ended:?}");
        }
        let late = job.lanes[0].visit((PeerId(2), WINDOW, 9999), vec![], None);
        assert!(matches!(
            late.unwrap_err().cause(),
            Cause::Lost { rank: 2, .. }
        ));
        for at in [0, 1] {
            assert_eq!(job.memories[at].lock().lost, [PeerId(2)]);
        }
        put_and_get_all(&mut job, (0, 1));
        job.drain(&[2]);
    }
}

/// The head was served in the same turn, so that the body was about to land.
#[test]
fn a_body_that_waited_for_its_head_lands_nowhere_once_its_sender_is_lost() {
    let mut job = Job::tiny(2, Faults::none());
    let lane = &mut job.lanes[1];
    let incoming = |arrival, envelope: Envelope, len| Incoming {
        arrival: Arrival(arrival),
        from: PeerId(0),
        envelope: envelope.encode(),
        len,
        is_whole: false,
    };
    let others = 1;
    let mut inlet = Inlet::new(&mut lane.parts, others, 0);
    let mut head = encode(Kind::Put, 0, 1000);
    let Landing::Into(area) =
        inlet.arriving(incoming(0, head_envelope(WINDOW, 1), head.len() as u64))
    else {
        panic!("a head is taken in");
    };
    area.copy_from(&Area::of_bytes(&mut head));
    let body = inlet.arriving(incoming(1, body_envelope(WINDOW, 1), 1000));
    assert!(matches!(body, Landing::Later));
    inlet.arrived(Arrival(0));
    inlet.arriving(incoming(2, head_envelope(WINDOW, 2), 8));
    inlet.lost(Lost {
        peer: PeerId(0),
        address: None,
        unfinished: vec![Arrival(1), Arrival(2)],
        unsent: Vec::new(),
        reason: "it is gone".into(),
    });
    lane.run_errands();
    assert_eq!(job.memories[1].lock().lost, [PeerId(0)]);
    assert_eq!(job.memories[1].lock().heads, [(PeerId(0), 1)]);
    assert_eq!(job.lanes[1].survey(), Survey::default());
    assert!(job.lanes[1].parts.ports.await_nothing());
}

/// The budget for messages without a receive is used up. Puts need none of it.
#[test]
fn long_puts_go_on_beside_a_flood_of_messages_that_nobody_receives() {
    let mut job = Job::tiny(3, Faults::lossy(30_000));
    let bodies: Vec<Arc<Scratch>> = (0..40).map(|seed| filled(&pattern(500, seed))).collect();
    let sends: Vec<Request> = bodies
        .iter()
        .map(|body| job.send((0, 1), Context::WORLD, body))
        .collect();
    for number in 0..20 {
        put_and_get_all(&mut job, (2 * (number % 2), 1));
    }
    let survey = job.lanes[1].survey();
    assert!(
        survey.unexpected > 0 && survey.taken_in_bytes > 0,
        "{survey:?}"
    );
    for (body, send) in bodies.iter().zip(sends) {
        let room = filled(&[0; 500]);
        let receive = job.receive((0, 1), Context::WORLD, &room);
        job.complete(1, receive);
        job.complete(0, send);
        assert_eq!(bytes_of(&room), bytes_of(body));
    }
    job.drain(&[]);
}

/// Each target has a number, and slots for each origin.
const SLOTS: usize = 4;
const SLOT_BYTES: usize = 3000;
const BETWEEN: usize = 5;

fn slot_at((origin, slot): (usize, usize)) -> usize {
    16 + (origin * SLOTS + slot) * (SLOT_BYTES + BETWEEN)
}

/// An operation of a random program.
struct Step {
    begun: Begun,
    kind: Kind,
    /// Target, origin, slot.
    slot: (usize, usize, usize),
    /// What a get must bring.
    expected: Vec<u8>,
}

/// A message of a random program.
struct Mail {
    ends: (usize, usize),
    context: Context,
    body: Arc<Scratch>,
    send: Request,
}

/// A random program of puts, gets, additions and messages. It is checked by what the windows must
/// hold.
struct Program {
    job: Job,
    rng: Rng,
    /// What the windows must hold, but for the first number.
    windows: Vec<Vec<u8>>,
    /// How much was added to the first number of each window, and the old values.
    sums: Vec<u64>,
    old: Vec<BTreeSet<u64>>,
    steps: Vec<Step>,
    mails: Vec<Mail>,
    receives: Vec<(Mail, Arc<Scratch>, Request)>,
}

impl Program {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let count = 3 + rng.below(3) as u32;
        let guests = [
            Protocol::Rmpp,
            Protocol::Rmpp,
            Protocol::Rmpp,
            Protocol::GoBackN,
            Protocol::Unet,
            Protocol::Sctp,
        ];
        let guest = guests[rng.below(6) as usize];
        let loss = [0, 10_000, 50_000][rng.below(3) as usize];
        let config = match (guest, rng.below(4)) {
            // Classic repeats a whole message: it must be short in packets.
            (_, 0) => Config::classic(count, 1000),
            (Protocol::Rmpp, 1) => Config::with_caps(count, 16, Caps::FAST),
            (Protocol::Rmpp, 2) => Config::with_caps(count, 100, Caps::FAST),
            _ => Config::with_caps(count, 1000, Caps::FAST),
        };
        println!("seed {seed}: {count} processes, {guest:?}, loss {loss} ppm");
        let bytes = slot_at((count as usize, 0));
        let job = Job::simulated((guest, &config), (seed, Faults::lossy(loss)), bytes);
        Self {
            job,
            rng,
            windows: vec![vec![0; bytes]; count as usize],
            sums: vec![0; count as usize],
            old: vec![BTreeSet::new(); count as usize],
            steps: Vec::new(),
            mails: Vec::new(),
            receives: Vec::new(),
        }
    }

    fn below(&mut self, limit: usize) -> usize {
        self.rng.below(limit as u64) as usize
    }

    fn len(&mut self) -> usize {
        let most = [10, SHORT + 2, SLOT_BYTES][self.below(3)];
        self.below(most + 1)
    }

    fn ends(&mut self) -> (usize, usize) {
        let count = self.windows.len();
        (self.below(count), self.below(count))
    }

    /// Begins an operation, unless one is under way at its place.
    fn operate(&mut self) {
        let (ends, number) = (self.ends(), self.below(SLOTS));
        let (origin, target) = ends;
        let slot = (target, origin, number);
        let kind = [Kind::Put, Kind::Put, Kind::Get, Kind::Add][self.below(4)];
        if kind == Kind::Add {
            let more = 1 + self.rng.below(1000);
            self.sums[target] += more;
            let begun = self.job.begin(kind, ends, 0, &from_number(more));
            let slot = (target, origin, SLOTS);
            self.steps.push(Step {
                begun,
                kind,
                slot,
                expected: Vec::new(),
            });
            return;
        }
        if self.steps.iter().any(|step| step.slot == slot) {
            return;
        }
        let (len, offset) = (self.len(), slot_at((origin, number)));
        let mut data = vec![0; len];
        let place = offset..offset + len;
        if kind == Kind::Put {
            data = pattern(len, self.rng.bits());
            self.windows[target][place.clone()].copy_from_slice(&data);
        }
        let begun = self.job.begin(kind, ends, offset, &data);
        let expected = self.windows[target][place].to_vec();
        self.steps.push(Step {
            begun,
            kind,
            slot,
            expected,
        });
    }

    /// Takes the operations that are over.
    fn collect(&mut self) {
        let job = &self.job;
        let (over, steps) = core::mem::take(&mut self.steps)
            .into_iter()
            .partition::<Vec<_>, _>(|step| job.is_over(&step.begun));
        self.steps = steps;
        for step in over {
            let data = self.job.end(&step.begun).unwrap();
            match step.kind {
                Kind::Add => assert!(self.old[step.slot.0].insert(to_number(&data))),
                Kind::Put | Kind::Get => assert_eq!(data, step.expected),
            }
        }
    }

    fn send(&mut self) {
        let (ends, len) = (self.ends(), self.len());
        let body = filled(&pattern(len, self.rng.bits()));
        let context = [Context::WORLD, Context::WORLD.collective()][self.below(2)];
        let send = self.job.send(ends, context, &body);
        self.mails.push(Mail {
            ends,
            context,
            body,
            send,
        });
    }

    /// Posts the receive for the first message that has none.
    fn receive(&mut self) {
        if self.mails.is_empty() {
            return;
        }
        let mail = self.mails.remove(0);
        let room = filled(&vec![0; bytes_of(&mail.body).len()]);
        let receive = self.job.receive(mail.ends, mail.context, &room);
        self.receives.push((mail, room, receive));
    }

    fn run(mut self, steps: usize) {
        for _ in 0..steps {
            match self.below(10) {
                0..=5 => self.operate(),
                6 | 7 => self.send(),
                _ => self.receive(),
            }
            for _ in 0..self.below(6) {
                self.job.step();
            }
            self.collect();
        }
        while !self.mails.is_empty() {
            self.receive();
        }
        for (mail, room, receive) in core::mem::take(&mut self.receives) {
            self.job.complete(mail.ends.1, receive);
            self.job.complete(mail.ends.0, mail.send);
            assert_eq!(bytes_of(&room), bytes_of(&mail.body));
        }
        for step in &self.steps {
            assert!(self.job.run(|job| job.is_over(&step.begun)), "it hangs");
        }
        self.collect();
        self.job.drain(&[]);
        for (at, window) in self.windows.iter().enumerate() {
            let found = self.job.window(at);
            assert_eq!(to_number(&found), self.sums[at]);
            assert!(found[8..] == window[8..], "the window of process {at}");
            let heads = &self.job.memories[at].lock().heads;
            for from in (0..self.windows.len() as u32).map(PeerId) {
                let numbers = heads.iter().filter(|head| head.0 == from);
                assert!(numbers.is_sorted(), "they stay in order");
            }
        }
    }
}

#[test]
fn a_random_program_leaves_in_the_windows_what_it_must() {
    for seed in 1..=24 {
        Program::new(seed).run(300);
    }
}

/// Process 0 sends anything. Process 1 takes no harm, and serves process 2.
#[test]
fn ports_survive_any_messages() {
    for seed in 1..=10 {
        println!("seed {seed}");
        let mut rng = Rng::new(seed);
        let mut job = Job::tiny(3, Faults::lossy(30_000));
        for _ in 0..300 {
            let contexts = [WINDOW, WINDOW, WINDOW, Context::SERVICE, NOWHERE];
            let context = contexts[rng.below(5) as usize];
            let envelope = Envelope {
                source: rng.below(7) as u32,
                ..head_envelope(context, rng.below(6) as u32)
            };
            let kind = [Kind::Put, Kind::Get, Kind::Add][rng.below(3) as usize];
            let (offset, len) = (rng.below(12_000) as usize, rng.below(1200) as usize);
            let mut bytes = encode(kind, offset, len);
            bytes.extend(pattern(rng.below(600) as usize, rng.bits()));
            bytes.truncate(rng.below(700) as usize);
            say(&mut job, (0, 1), envelope, bytes);
            for _ in 0..rng.below(4) {
                job.step();
            }
        }
        let is_quiet = |lane: &Lane| lane.survey() == Survey::default() && lane.links().are_quiet();
        assert!(job.run(|job| job.lanes.iter().all(is_quiet)));
        put_and_get_all(&mut job, (2, 1));
    }
}

/// Two processes, or one with itself, over each link that there is.
#[test]
fn a_put_and_a_get_go_over_every_transport() {
    for (name, rig) in tests::rigs() {
        println!("over {name}");
        let count = rig.links.len();
        let time = rig.air.map_or(Time::Real(rig.clock), Time::Simulated);
        let lane = |(link, me): (Link, u32)| {
            let own = Link::Loopback(Loopback::new(PeerId(me)));
            let links = match count {
                1 => Links::new(link, None, None),
                _ => Links::new(own, None, Some(link)),
            };
            Lane::new(
                PeerId(me),
                links,
                settings(),
                vec!["here".to_owned(); count],
            )
        };
        let lanes = rig.links.into_iter().zip(0..).map(lane).collect();
        let mut job = Job::new(time, lanes, 400_000);
        put_and_get_all(&mut job, (0, count - 1));
        put_and_get_all(&mut job, (count - 1, 0));
        let long = pattern(300_000, 9);
        let put = job.put((0, count - 1), 80_000, &long);
        job.end(&put).unwrap();
        let get = job.begin(Kind::Get, (0, count - 1), 80_000, &vec![0; long.len()]);
        assert_eq!(job.end(&get).unwrap(), long);
        job.drain(&[]);
    }
}
