//! A job of many processes in one thread, and what the oracle knows of it.

use std::collections::{BTreeMap, VecDeque};

use mpi_lite::engine::matching::Pattern;
use mpi_lite::engine::protocol::kept_unexpected;
use mpi_lite::engine::{self, BufferOwner, Lane, Request};
use mpi_lite::ids::{Context, Mode};
use mpi_lite::transport::sim::Air;
use mpi_lite::transport::tap::{Announced, Heard, Tap};
use mpi_lite::transport::{Link, Links, Loopback, PeerId, Progress};
use rmpp_sim::Faults;

use crate::oracle::{Label, MessageId, Oracle, ReceiveId, Wanted};
use crate::plan::Plan;
use crate::rng::Rng;
use crate::room::Room;

/// How often time may be advanced until a job that does not end is stuck.
const ADVANCES: u64 = 1_000_000;

/// A message from its send on.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) label: Label,
    pub(crate) synchronous: bool,
    pub(crate) data: Vec<u8>,
    pub(crate) is_announced: bool,
    pub(crate) is_matched: bool,
    /// Its receiver has dropped it because of that.
    pub(crate) is_withdrawn: bool,
}

/// Where a request is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Persistent, not started.
    Inactive,
    Active,
    /// Freed while it was active: it goes on, but nobody may ask.
    Freed,
    Gone,
}

#[derive(Debug)]
pub(crate) struct Sending {
    pub(crate) process: usize,
    pub(crate) to: usize,
    pub(crate) label: Label,
    pub(crate) mode: Mode,
    pub(crate) room: Room,
    pub(crate) request: Request,
    pub(crate) is_persistent: bool,
    pub(crate) phase: Phase,
    /// What it sends now.
    pub(crate) message: Option<MessageId>,
}

#[derive(Debug)]
pub(crate) struct Receiving {
    pub(crate) process: usize,
    pub(crate) wanted: Wanted,
    pub(crate) room: Room,
    pub(crate) request: Request,
    pub(crate) is_persistent: bool,
    pub(crate) phase: Phase,
    /// What the oracle gave it.
    pub(crate) message: Option<MessageId>,
    pub(crate) is_cancelled: bool,
}

/// A message that a matched probe took.
#[derive(Debug)]
pub(crate) struct Probed {
    pub(crate) process: usize,
    pub(crate) handle: engine::Message,
    pub(crate) message: MessageId,
}

/// What the job did, to be counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    pub(crate) sends: u64,
    pub(crate) receives: u64,
    pub(crate) truncated: u64,
    pub(crate) cancelled: u64,
    pub(crate) withdrawn: u64,
    pub(crate) probed: u64,
    /// Payloads that came straight to their places.
    pub(crate) placed: u64,
    /// Datagrams for which there was no room.
    pub(crate) overflowed: u64,
    pub(crate) advances: u64,
    pub(crate) end_ns: u64,
}

pub(crate) struct Job {
    pub(crate) plan: Plan,
    pub(crate) rng: Rng,
    pub(crate) air: Air,
    pub(crate) lanes: Vec<Lane>,
    heard: Vec<Heard>,
    pub(crate) oracles: Vec<Oracle>,
    pub(crate) messages: Vec<Message>,
    /// Sent and not announced, in order, by sender and receiver.
    pub(crate) under_way: BTreeMap<(usize, usize), VecDeque<MessageId>>,
    /// A message is being asked back: for a while the oracle does not know whether it waits.
    pub(crate) is_asking: bool,
    /// Whether it was dropped.
    pub(crate) answer: Option<bool>,
    pub(crate) sends: Vec<Sending>,
    pub(crate) receives: Vec<Receiving>,
    pub(crate) probed: Vec<Probed>,
    /// Buffered sends of each process.
    pub(crate) buffered: Vec<Vec<MessageId>>,
    pub(crate) report: Report,
    /// The processes finalize: the oracle knows no more what waits.
    pub(crate) is_closed: bool,
    is_loud: bool,
}

impl Job {
    pub(crate) fn new(plan: Plan, is_loud: bool) -> Self {
        let air = Air::new(plan.processes, plan.seed, plan.faults.clone());
        air.set_room(plan.room);
        let heard: Vec<Heard> = (0..plan.processes).map(|_| Heard::default()).collect();
        let lanes = (0..).zip(&heard).map(|(me, heard)| {
            let me = PeerId(me);
            let own = Link::Loopback(Loopback::new(me));
            let others = Link::simulated(plan.guest, &air, me, &plan.config);
            let [own, others] = [own, others].map(|link| Link::from(Tap::new(link, heard.clone())));
            let links = Links::new(own, None, Some(others));
            let hosts = vec!["here".into(); plan.processes];
            let mut lane = Lane::new(me, links, plan.settings.clone(), hosts);
            if plan.attached > 0 {
                lane.buffers()
                    .attach(BufferOwner::Process, 0x1000, plan.attached)
                    .unwrap();
            }
            lane
        });
        Self {
            lanes: lanes.collect(),
            rng: Rng::new(plan.seed),
            oracles: heard.iter().map(|_| Oracle::default()).collect(),
            buffered: vec![Vec::new(); plan.processes],
            heard,
            air,
            plan,
            messages: Vec::new(),
            under_way: BTreeMap::new(),
            is_asking: false,
            answer: None,
            sends: Vec::new(),
            receives: Vec::new(),
            probed: Vec::new(),
            report: Report::default(),
            is_closed: false,
            is_loud,
        }
    }

    pub(crate) fn say(&self, text: impl FnOnce() -> String) {
        if self.is_loud {
            println!("{:>12} {}", self.air.now().0, text());
        }
    }

    /// The whole program.
    pub(crate) fn run(mut self) -> Report {
        for _ in 0..self.plan.steps {
            self.act();
            while self.rng.percent(self.plan.turns) {
                self.breathe();
            }
        }
        self.say(|| "the network heals".into());
        self.air.set_faults(Faults::none());
        self.finish();
        self.report.end_ns = self.air.now().0;
        let tally = self.air.tally();
        (self.report.placed, self.report.overflowed) = (tally.placed, tally.overflowed);
        self.report
    }

    /// A turn of some process, or some time.
    fn breathe(&mut self) {
        if self.rng.percent(70) {
            let process = self.rng.index(self.lanes.len());
            self.turn(process);
        } else {
            self.advance();
        }
    }

    /// Takes turns and lets time pass until `done`.
    pub(crate) fn settle(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> bool) {
        while !done(self) {
            let mut worked = false;
            for process in 0..self.lanes.len() {
                let now = self.air.now();
                if self.lanes[process]
                    .links()
                    .wake_at()
                    .is_some_and(|at| at <= now)
                {
                    worked |= self.turn(process);
                }
            }
            if !worked {
                assert!(self.advance(), "{what}: nothing happens any more");
            }
        }
    }

    /// Time passes until something can happen. Returns true if anything can.
    fn advance(&mut self) -> bool {
        let wake_at = self
            .lanes
            .iter()
            .filter_map(|lane| lane.links().wake_at())
            .min();
        self.report.advances += 1;
        assert!(self.report.advances < ADVANCES, "the job does not end");
        self.air.advance(wake_at)
    }

    /// One turn of a process; the oracle hears what it heard.
    pub(crate) fn turn(&mut self, process: usize) -> bool {
        let worked = self.lanes[process].turn(self.air.now()) > Progress::Idle;
        for announced in self.heard[process].take() {
            self.announce(process, &announced);
        }
        self.compare(process);
        worked
    }

    /// Messages of a pair are announced in the order in which they were sent, as they were sent.
    fn announce(&mut self, process: usize, announced: &Announced) {
        let from = announced.from.0 as usize;
        let (label, synchronous) = read(&announced.envelope);
        if label.context == Context::SERVICE.0 {
            return self.hear_engine(label);
        }
        let queue = self.under_way.entry((from, process)).or_default();
        let id = queue.pop_front().expect("a message that nobody sent");
        let message = &mut self.messages[id];
        self.report.sends += 1;
        assert_eq!(label, message.label, "message {id} {from}->{process}");
        assert_eq!(synchronous, message.synchronous, "message {id}");
        assert_eq!(announced.len, message.data.len() as u64, "message {id}");
        message.is_announced = true;
        let receive = self.oracles[process].announce(id, label);
        self.say(|| format!("{process}: message {id} from {from}, for receive {receive:?}"));
        if let Some(receive) = receive {
            self.match_up(receive, id);
        }
    }

    /// The receiver of a message that was asked back has answered.
    fn hear_engine(&mut self, label: Label) {
        if label.source > 0 {
            self.answer = Some(label.source == 2);
        }
    }

    pub(crate) fn match_up(&mut self, receive: ReceiveId, message: MessageId) {
        let receiving = &mut self.receives[receive];
        assert!(receiving.message.is_none() && !self.messages[message].is_matched);
        receiving.message = Some(message);
        self.messages[message].is_matched = true;
    }

    /// Queues and budgets are what the oracle and the settings say.
    pub(crate) fn compare(&self, process: usize) {
        if self.is_closed || self.is_asking {
            return;
        }
        let (survey, oracle) = (self.lanes[process].survey(), &self.oracles[process]);
        let held = self
            .probed
            .iter()
            .filter(|probed| probed.process == process);
        assert_eq!(survey.posted, oracle.posted.len(), "posted of {process}");
        assert_eq!(
            survey.unexpected,
            oracle.unexpected.len(),
            "unexpected of {process}"
        );
        assert_eq!(survey.messages, held.clone().count(), "probed of {process}");
        let settings = &self.plan.settings;
        assert!(
            survey.kept_bytes <= settings.eager_budget_bytes,
            "{survey:?}"
        );
        assert!(
            survey.taken_in_bytes <= settings.unexpected_budget_bytes,
            "{survey:?}"
        );
        assert!(survey.buffered_bytes <= self.plan.attached, "{survey:?}");
        let queued = oracle.unexpected.iter().map(|&(message, _)| message);
        let unmatched = queued.chain(held.map(|probed| probed.message));
        let bytes = |id: MessageId| kept_unexpected(self.messages[id].data.len() as u64);
        let most: u64 = unmatched.map(bytes).sum();
        assert!(survey.taken_in_bytes <= most, "{survey:?}");
    }

    pub(crate) fn pattern(wanted: Wanted) -> Pattern {
        Pattern {
            context: Context(wanted.context),
            source: wanted.source,
            tag: wanted.tag,
        }
    }
}

/// The engine's envelope, read once more: context, source, tag, flags; big endian.
fn read(envelope: &[u8; 16]) -> (Label, bool) {
    let word = |at: usize| u32::from_be_bytes(envelope[at..at + 4].try_into().unwrap());
    let (context, source, tag) = (word(0), word(4), word(8) as i32);
    (
        Label {
            context,
            source,
            tag,
        },
        word(12) & 0xff == 1,
    )
}
