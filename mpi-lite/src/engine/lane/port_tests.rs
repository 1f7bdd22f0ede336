//! Ports that are no communicators': what a window and a file pointer need of the door, shown with
//! a window of a test. Decision 0076.

#![expect(clippy::unwrap_used, reason = "a test")]

mod program_tests;
mod rule_tests;
mod service_tests;

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

impl Handler for Window {
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
        (handler, config): (Protocol, &Config),
        (seed, faults): (u64, Faults),
        window_bytes: usize,
    ) -> Self {
        let count = config.nodes;
        let air = Air::new(count as usize, seed, faults);
        let lane = |me| {
            let own = Link::Loopback(Loopback::new(PeerId(me)));
            let others = Link::simulated(handler, &air, PeerId(me), config);
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
        if let Err(error) = lane.begin_operation((to, WINDOW, number), head, body) {
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
