//! The ranks of a node, as their server of PMI sees them.
//!
//! A [`Server`] is pure: bytes of ranks and commands of `mpirun` go in, [`Action`]s come out. A rank
//! may run several programs one after the other, each from Init to Finalize.

use std::collections::{BTreeMap, VecDeque};

use super::dialect::{Asked, Dialect, Reply, Request};
use super::mapping::mapping;
use super::names::Ask;
use super::store::{self, Puts, Store};
use super::text::{BLOCK_MAX, LINE_MAX, Reader};
use super::{Command, Event, Put};

/// The key of what [`mapping`] says.
const MAPPING: &str = "PMI_process_mapping";

/// The longest name of a space.
const SPACE_NAME_MAX: usize = 256;

/// The most values that the ranks of a node give each other.
const ATTRIBUTES_MAX: usize = 1024;

/// What is to be done for a rank, by its place on the node.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// Send it these bytes.
    Send(usize, Vec<u8>),
    /// Report this.
    Report(usize, Event),
    /// It has broken the protocol: read no more of it, and end the job for this reason.
    Break(usize, String),
}

/// What a rank waits for before it may ask for more.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Wait {
    Fence,
    Name,
    Attribute(String),
}

/// How far the program of a rank has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// It has not called Init, or has finalized.
    Outside,
    /// It has begun with PMI-2, and the second step is to follow.
    Greeted,
    /// It is between Init and Finalize.
    InMpi,
}

#[derive(Debug)]
struct Session {
    rank: u32,
    reader: Reader,
    dialect: Dialect,
    phase: Phase,
    /// It has been in no fence since its Init.
    is_fresh: bool,
    puts: Puts,
    open: Option<(Asked, Wait)>,
    is_broken: bool,
}

impl Session {
    fn new(rank: u32) -> Session {
        Session {
            rank,
            reader: Reader::default(),
            dialect: Dialect::One,
            phase: Phase::Outside,
            is_fresh: true,
            puts: Puts::default(),
            open: None,
            is_broken: false,
        }
    }

    fn waits_in_fence(&self) -> bool {
        matches!(self.open, Some((_, Wait::Fence)))
    }
}

/// The server of the ranks of a node.
#[derive(Debug)]
pub struct Server {
    sessions: Vec<Session>,
    size: usize,
    mapping: String,
    /// The name of the job and of its space.
    name: String,
    store: Store,
    /// What the ranks of the node give each other.
    attributes: BTreeMap<String, String>,
    actions: VecDeque<Action>,
}

impl Server {
    /// The server of these ranks, by place, of a job with these hosts, by rank.
    pub fn new(name: &str, ranks: &[u32], hosts: &[String]) -> Server {
        Server {
            sessions: ranks.iter().copied().map(Session::new).collect(),
            size: hosts.len(),
            mapping: mapping(hosts),
            name: name.to_string(),
            store: Store::default(),
            attributes: BTreeMap::new(),
            actions: VecDeque::new(),
        }
    }

    /// The next thing to do.
    pub fn action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Returns true if the program of the rank is between Init and Finalize.
    pub fn is_in_mpi(&self, place: usize) -> bool {
        self.sessions[place].phase == Phase::InMpi
    }

    /// Returns true if the rank has finalized, and has not begun again.
    pub fn has_finalized(&self, place: usize) -> bool {
        let session = &self.sessions[place];
        session.phase == Phase::Outside && !session.is_fresh
    }

    /// Takes bytes that a rank has sent.
    pub fn hear(&mut self, place: usize, bytes: &[u8]) {
        let session = &mut self.sessions[place];
        if session.is_broken {
            return;
        }
        session.reader.push(bytes);
        let most = match session.open {
            Some(_) => LINE_MAX,
            None => BLOCK_MAX,
        };
        if session.reader.waiting() > most + bytes.len() {
            return self.fail(
                place,
                "sends PMI messages and does not wait for answers".into(),
            );
        }
        self.go_on(place);
    }

    /// Carries out a command of `mpirun`.
    pub fn obey(&mut self, command: Command) {
        match command {
            Command::Release(puts) => self.release(puts),
            Command::Named { rank, answer } => {
                let asks =
                    |it: &Session| it.rank == rank && matches!(it.open, Some((_, Wait::Name)));
                if let Some(place) = self.sessions.iter().position(asks) {
                    let reply = answer.map(|port| match port.is_empty() {
                        true => Vec::new(),
                        false => vec![("port", port.clone()), ("value", port)],
                    });
                    self.close(place, &reply);
                    self.go_on(place);
                }
            }
        }
    }

    /// Ends the fence that all ranks are in.
    fn release(&mut self, puts: Vec<Put>) {
        let places = (0..self.sessions.len()).filter(|it| self.sessions[*it].waits_in_fence());
        let places: Vec<usize> = places.collect();
        let is_first = places.iter().all(|place| self.sessions[*place].is_fresh);
        self.store.release(puts, is_first);
        for place in &places {
            self.sessions[*place].is_fresh = false;
            self.close(*place, &Ok(Vec::new()));
        }
        for place in places {
            self.go_on(place);
        }
    }

    /// Takes the messages of a rank, until it must wait.
    fn go_on(&mut self, place: usize) {
        loop {
            let session = &mut self.sessions[place];
            if session.open.is_some() || session.is_broken {
                return;
            }
            match session.reader.pop() {
                Ok(Some(message)) => {
                    let asked = session.dialect.read(&message);
                    self.take(place, asked);
                }
                Ok(None) => return,
                Err(reason) => return self.fail(place, reason),
            }
        }
    }

    /// Does what a rank asks for.
    fn take(&mut self, place: usize, asked: Asked) {
        let session = &self.sessions[place];
        let is_allowed = match (&asked.request, session.phase, session.dialect) {
            (Request::Init(_), phase, _) => phase == Phase::Outside,
            (Request::FullInit, phase, _) => phase == Phase::Greeted,
            (_, phase, _) => phase == Phase::InMpi,
        };
        if !is_allowed {
            let shown = crate::failure::printable_line(asked.command());
            let state = match session.phase {
                Phase::InMpi => "between Init and Finalize",
                Phase::Outside | Phase::Greeted => "outside of Init and Finalize",
            };
            return self.fail(place, format!("sent the PMI command '{shown}' {state}"));
        }
        match asked.request.clone() {
            Request::Init(version) => self.begin(place, &asked, version),
            Request::FullInit => {
                self.enter(place);
                let fields = self.full_init(place);
                self.reply(place, &asked, &Ok(fields));
            }
            Request::Fence => {
                let puts = self.sessions[place].puts.take();
                self.wait(place, asked, Wait::Fence);
                self.actions
                    .push_back(Action::Report(place, Event::Fence(puts)));
            }
            Request::Name(ask) => self.ask(place, asked, ask),
            Request::NodeAttribute { key, waits } => self.look(place, asked, &key, waits),
            Request::PutNodeAttribute { key, value } => {
                let reply = self.give(&key, value);
                self.reply(place, &asked, &reply);
                self.answer_waiting(&key);
            }
            Request::Spawn { has_more: true } => {}
            Request::Finalize => self.finalize(place, &asked),
            Request::Abort { code, message } => {
                let event = Event::Abort { code, message };
                self.actions.push_back(Action::Report(place, event));
            }
            request => {
                let reply = self.answer(place, request);
                self.reply(place, &asked, &reply);
            }
        }
    }

    /// The answer to what needs nobody else.
    fn answer(&mut self, place: usize, request: Request) -> Reply {
        match request {
            Request::Maxes => Ok(vec![
                ("kvsname_max", SPACE_NAME_MAX.to_string()),
                ("keylen_max", store::KEY_MAX.to_string()),
                ("vallen_max", store::VALUE_MAX.to_string()),
            ]),
            Request::AppNumber => Ok(vec![("appnum", "0".into())]),
            Request::SpaceName => Ok(vec![("kvsname", self.name.clone())]),
            Request::UniverseSize => Ok(vec![("size", "-1".into())]),
            Request::JobName => Ok(vec![("jobid", self.name.clone())]),
            Request::JobAttribute(key) => {
                let value = Some(self.mapping.clone()).filter(|_| key == MAPPING);
                Ok(found(value))
            }
            Request::Put { key, value } => {
                let put = self.sessions[place].puts.add(&key, &value);
                put.map(|()| Vec::new())
            }
            Request::Get { space, key } => self.get(place, space.as_deref(), &key),
            Request::Spawn { .. } => Err("mpirun of mpi-lite starts no more programs".into()),
            _ => Err("the server has no such command".into()),
        }
    }

    fn get(&self, place: usize, space: Option<&str>, key: &str) -> Reply {
        let session = &self.sessions[place];
        if space.is_some_and(|space| space != self.name) {
            return Err("there is no such space".into());
        }
        let value = match key {
            MAPPING => Some(self.mapping.clone()),
            // What is there is of the program before this one.
            _ if session.is_fresh => None,
            key => self.store.get(key).map(String::from),
        };
        match (session.dialect, value) {
            (Dialect::Two, value) => Ok(found(value)),
            (Dialect::One, Some(value)) => Ok(vec![("msg", "success".into()), ("value", value)]),
            (Dialect::One, None) => Err("no such key".into()),
        }
    }

    fn begin(&mut self, place: usize, asked: &Asked, version: u32) {
        let (dialect, sub) = match version {
            1 => (Dialect::One, "1"),
            2 => (Dialect::Two, "0"),
            _ => {
                let reply = Err("the server has PMI-1 and PMI-2".into());
                return self.reply(place, asked, &reply);
            }
        };
        let fields = vec![
            ("pmi_version", version.to_string()),
            ("pmi_subversion", sub.into()),
        ];
        self.reply(place, asked, &Ok(fields));
        let session = &mut self.sessions[place];
        session.dialect = dialect;
        session.reader.set_syntax(dialect.syntax());
        session.phase = Phase::Greeted;
        if dialect == Dialect::One {
            self.enter(place);
        }
    }

    /// A program of the rank is in MPI from now on.
    fn enter(&mut self, place: usize) {
        let is_first = !self.sessions.iter().any(|it| it.phase == Phase::InMpi);
        if is_first {
            self.attributes.clear();
        }
        let session = &mut self.sessions[place];
        session.phase = Phase::InMpi;
        session.is_fresh = true;
        session.puts = Puts::default();
        self.actions.push_back(Action::Report(place, Event::Init));
    }

    fn full_init(&self, place: usize) -> Vec<(&'static str, String)> {
        vec![
            ("pmi-version", "2".into()),
            ("pmi-subversion", "0".into()),
            ("rank", self.sessions[place].rank.to_string()),
            ("size", self.size.to_string()),
            ("appnum", "0".into()),
            ("debugged", "FALSE".into()),
            ("pmiverbose", "FALSE".into()),
        ]
    }

    fn finalize(&mut self, place: usize, asked: &Asked) {
        self.reply(place, asked, &Ok(Vec::new()));
        let session = &mut self.sessions[place];
        session.phase = Phase::Outside;
        session.is_fresh = false;
        session.dialect = Dialect::One;
        session.reader.set_syntax(Dialect::One.syntax());
        self.actions
            .push_back(Action::Report(place, Event::Finalized));
    }

    fn ask(&mut self, place: usize, asked: Asked, ask: Ask) {
        match ask.check() {
            Ok(()) => {
                self.wait(place, asked, Wait::Name);
                self.actions
                    .push_back(Action::Report(place, Event::Name(ask)));
            }
            Err(reason) => self.reply(place, &asked, &Err(reason)),
        }
    }

    /// Answers with a value of the node, or lets the rank wait for it.
    fn look(&mut self, place: usize, asked: Asked, key: &str, waits: bool) {
        let value = self.attributes.get(key).cloned();
        if value.is_none() && waits && key.len() <= store::KEY_MAX {
            return self.wait(place, asked, Wait::Attribute(key.into()));
        }
        self.reply(place, &asked, &Ok(found(value)));
    }

    fn give(&mut self, key: &str, value: String) -> Reply {
        store::check(key, &value)?;
        if self.attributes.len() >= ATTRIBUTES_MAX && !self.attributes.contains_key(key) {
            return Err(format!("a node has at most {ATTRIBUTES_MAX} attributes"));
        }
        self.attributes.insert(key.into(), value);
        Ok(Vec::new())
    }

    /// Answers those that wait for this value of the node.
    fn answer_waiting(&mut self, key: &str) {
        let Some(value) = self.attributes.get(key).cloned() else {
            return;
        };
        for place in 0..self.sessions.len() {
            let open = self.sessions[place].open.as_ref();
            if open.is_some_and(|(_, wait)| *wait == Wait::Attribute(key.into())) {
                self.close(place, &Ok(found(Some(value.clone()))));
                self.go_on(place);
            }
        }
    }

    fn wait(&mut self, place: usize, asked: Asked, wait: Wait) {
        self.sessions[place].open = Some((asked, wait));
    }

    /// Answers what a rank waits for.
    fn close(&mut self, place: usize, reply: &Reply) {
        if let Some((asked, _)) = self.sessions[place].open.take() {
            self.reply(place, &asked, reply);
        }
    }

    fn reply(&mut self, place: usize, asked: &Asked, reply: &Reply) {
        let bytes = self.sessions[place].dialect.write(asked, reply);
        self.actions.push_back(Action::Send(place, bytes));
    }

    fn fail(&mut self, place: usize, reason: String) {
        self.sessions[place].is_broken = true;
        self.actions.push_back(Action::Break(place, reason));
    }
}

/// A value of PMI-2 that need not be there.
fn found(value: Option<String>) -> Vec<(&'static str, String)> {
    match value {
        Some(value) => vec![("found", "TRUE".into()), ("value", value)],
        None => vec![("found", "FALSE".into())],
    }
}
