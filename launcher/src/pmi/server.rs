//! The ranks of a node, as their server of PMI sees them.
//!
//! A [`Server`] is pure: bytes of ranks and commands of `mpirun` go in, [`Action`]s come out. A
//! rank may run several programs one after the other, each from Init to Finalize.

use std::collections::{BTreeMap, VecDeque};

use super::dialect::{Asked, Reply, Request};
use super::mapping::mapping;
use super::store::{self, Puts, Store};
use super::text::{BLOCK_MAX, Dialect, LINE_MAX, Reader};
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

/// What comes of a request at once.
enum Next {
    Reply(Reply),
    Wait(Wait),
    Nothing,
}

/// How far the program of a rank has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    /// It has not called Init, or has finalized.
    #[default]
    Outside,
    /// It has begun with PMI-2, and the second step is to follow.
    Greeted,
    /// It is between Init and Finalize.
    InMpi,
}

#[derive(Debug, Default)]
struct Session {
    rank: u32,
    reader: Reader,
    phase: Phase,
    /// It has been in a fence since its Init, or has finalized.
    is_used: bool,
    puts: Puts,
    open: Option<(Asked, Wait)>,
    is_broken: bool,
}

impl Session {
    fn waits_for(&self, what: &Wait) -> bool {
        self.open.as_ref().is_some_and(|(_, wait)| wait == what)
    }
}

/// The server of the ranks of a node.
#[derive(Debug, Default)]
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
        let session = |rank: &u32| Session {
            rank: *rank,
            ..Session::default()
        };
        Server {
            sessions: ranks.iter().map(session).collect(),
            size: hosts.len(),
            mapping: mapping(hosts),
            name: name.to_string(),
            ..Server::default()
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
        session.phase == Phase::Outside && session.is_used
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
            let reason = "sends PMI messages and does not wait for answers";
            return self.fail(place, reason.into());
        }
        self.go_on(place);
    }

    /// Carries out a command of `mpirun`.
    pub fn obey(&mut self, command: Command) {
        match command {
            Command::Release(puts) => self.release(puts),
            Command::Named { rank, answer } => {
                let asks = |it: &Session| it.rank == rank && it.waits_for(&Wait::Name);
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
        let places =
            (0..self.sessions.len()).filter(|it| self.sessions[*it].waits_for(&Wait::Fence));
        let places: Vec<usize> = places.collect();
        let is_first = !places.iter().any(|place| self.sessions[*place].is_used);
        self.store.release(puts, is_first);
        for place in &places {
            self.sessions[*place].is_used = true;
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
                    let asked = session.reader.dialect.read(&message);
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
        let due = match &asked.request {
            Request::Init(_) => Phase::Outside,
            Request::FullInit => Phase::Greeted,
            _ => Phase::InMpi,
        };
        if session.phase != due {
            let shown = crate::failure::printable_line(&asked.command);
            let state = match session.phase {
                Phase::InMpi => "between Init and Finalize",
                Phase::Outside | Phase::Greeted => "outside of Init and Finalize",
            };
            return self.fail(place, format!("sent the PMI command '{shown}' {state}"));
        }
        let dialect = session.reader.dialect;
        match self.act(place, asked.request.clone()) {
            Next::Reply(reply) => {
                let bytes = dialect.write(&asked, &reply);
                self.actions.push_back(Action::Send(place, bytes));
            }
            Next::Wait(wait) => self.sessions[place].open = Some((asked, wait)),
            Next::Nothing => {}
        }
    }

    fn act(&mut self, place: usize, request: Request) -> Next {
        let session = &mut self.sessions[place];
        Next::Reply(match request {
            Request::Init(version) => self.begin(place, version),
            Request::FullInit => {
                self.enter(place);
                Ok(self.full_init(place))
            }
            Request::Maxes => Ok(vec![
                ("kvsname_max", SPACE_NAME_MAX.to_string()),
                ("keylen_max", store::KEY_MAX.to_string()),
                ("vallen_max", store::VALUE_MAX.to_string()),
            ]),
            Request::AppNumber => Ok(vec![("appnum", "0".into())]),
            Request::SpaceName => Ok(vec![("kvsname", self.name.clone())]),
            Request::UniverseSize => Ok(vec![("size", "-1".into())]),
            Request::JobName => Ok(vec![("jobid", self.name.clone())]),
            Request::JobAttribute(key) => Ok(found((key == MAPPING).then_some(&self.mapping))),
            Request::NodeAttribute(key, waits) => match self.attributes.get(&key) {
                None if waits && key.len() <= store::KEY_MAX => {
                    return Next::Wait(Wait::Attribute(key));
                }
                value => Ok(found(value)),
            },
            Request::PutNodeAttribute((key, value)) => {
                let reply = self.give(&key, value);
                self.answer_waiting(&key);
                reply
            }
            Request::Put(put) => session.puts.add(put).map(|()| Vec::new()),
            Request::Get(space, key) => self.get(place, space.as_deref(), &key),
            Request::Fence => {
                let puts = session.puts.take();
                self.report(place, Event::Fence(puts));
                return Next::Wait(Wait::Fence);
            }
            Request::Name(ask) => match ask.check() {
                Ok(()) => {
                    self.report(place, Event::Name(ask));
                    return Next::Wait(Wait::Name);
                }
                Err(reason) => Err(reason),
            },
            Request::Spawn(true) => return Next::Nothing,
            Request::Spawn(false) => Err("mpirun of mpi-lite starts no more programs".into()),
            Request::Finalize => {
                session.phase = Phase::Outside;
                session.is_used = true;
                session.reader.dialect = Dialect::One;
                self.report(place, Event::Finalized);
                Ok(Vec::new())
            }
            Request::Abort(code, message) => {
                self.report(place, Event::Abort { code, message });
                return Next::Nothing;
            }
            Request::Unknown => Err("the server has no such command".into()),
        })
    }

    fn get(&self, place: usize, space: Option<&str>, key: &str) -> Reply {
        let session = &self.sessions[place];
        if space.is_some_and(|space| space != self.name) {
            return Err("there is no such space".into());
        }
        let value = match key {
            MAPPING => Some(&self.mapping),
            // What is there is of the program before this one.
            _ if !session.is_used => None,
            key => self.store.get(key),
        };
        match (session.reader.dialect, value) {
            (Dialect::Two, value) => Ok(found(value)),
            (Dialect::One, Some(value)) => {
                Ok(vec![("msg", "success".into()), ("value", value.clone())])
            }
            (Dialect::One, None) => Err("no such key".into()),
        }
    }

    fn begin(&mut self, place: usize, version: u32) -> Reply {
        let (dialect, sub) = match version {
            1 => (Dialect::One, "1"),
            2 => (Dialect::Two, "0"),
            _ => return Err("the server has PMI-1 and PMI-2".into()),
        };
        let session = &mut self.sessions[place];
        session.reader.dialect = dialect;
        session.phase = Phase::Greeted;
        if dialect == Dialect::One {
            self.enter(place);
        }
        Ok(vec![
            ("pmi_version", version.to_string()),
            ("pmi_subversion", sub.into()),
        ])
    }

    /// A program of the rank is in MPI from now on.
    fn enter(&mut self, place: usize) {
        if !self.sessions.iter().any(|it| it.phase == Phase::InMpi) {
            self.attributes.clear();
        }
        let session = &mut self.sessions[place];
        session.phase = Phase::InMpi;
        session.is_used = false;
        session.puts = Puts::default();
        self.report(place, Event::Init);
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
        let wait = Wait::Attribute(key.into());
        for place in 0..self.sessions.len() {
            if self.sessions[place].waits_for(&wait) {
                self.close(place, &Ok(found(Some(&value))));
                self.go_on(place);
            }
        }
    }

    /// Answers what a rank waits for.
    fn close(&mut self, place: usize, reply: &Reply) {
        let session = &mut self.sessions[place];
        if let Some((asked, _)) = session.open.take() {
            let bytes = session.reader.dialect.write(&asked, reply);
            self.actions.push_back(Action::Send(place, bytes));
        }
    }

    fn report(&mut self, place: usize, event: Event) {
        self.actions.push_back(Action::Report(place, event));
    }

    fn fail(&mut self, place: usize, reason: String) {
        self.sessions[place].is_broken = true;
        self.actions.push_back(Action::Break(place, reason));
    }
}

/// A value of PMI-2 that need not be there.
fn found(value: Option<&String>) -> Vec<(&'static str, String)> {
    match value {
        Some(value) => vec![("found", "TRUE".into()), ("value", value.clone())],
        None => vec![("found", "FALSE".into())],
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pmi::text::frame;

    const INIT: &str = "cmd=init pmi_version=1 pmi_subversion=1\n";

    fn server(ranks: u32) -> Server {
        let all: Vec<u32> = (0..ranks).collect();
        Server::new("job", &all, &vec!["n1".to_string(); ranks as usize])
    }

    fn actions(server: &mut Server) -> Vec<Action> {
        std::iter::from_fn(|| server.action()).collect()
    }

    /// What the server sends after these bytes of a rank, to any rank.
    fn sent(server: &mut Server, place: usize, bytes: &[u8]) -> String {
        server.hear(place, bytes);
        let sent = actions(server).into_iter().map(|action| match action {
            Action::Send(_, bytes) => String::from_utf8(bytes).unwrap(),
            _ => String::new(),
        });
        sent.collect()
    }

    fn line(server: &mut Server, place: usize, line: &str) -> String {
        sent(server, place, format!("{line}\n").as_bytes())
    }

    fn two(server: &mut Server, place: usize, command: &str, fields: &[(&str, &str)]) -> String {
        let fields: Vec<(&str, String)> = fields
            .iter()
            .map(|(name, value)| (*name, (*value).to_string()))
            .collect();
        sent(server, place, &frame(command, &fields))
    }

    /// Lets all ranks of the server into a fence and out of it, as the job does.
    fn pass_fence(server: &mut Server, enter: &dyn Fn(&mut Server, usize)) -> String {
        let mut puts = Vec::new();
        for place in 0..server.sessions.len() {
            enter(server, place);
            for action in actions(server) {
                match action {
                    Action::Report(_, Event::Fence(more)) => puts.extend(more),
                    other => panic!("{other:?}"),
                }
            }
        }
        server.obey(Command::Release(puts));
        let sent = actions(server).into_iter().map(|action| match action {
            Action::Send(_, bytes) => String::from_utf8(bytes).unwrap(),
            other => panic!("{other:?}"),
        });
        sent.collect()
    }

    #[test]
    fn pmi_1_is_answered_as_documented() {
        let mut server = server(2);
        let said = sent(&mut server, 0, INIT.as_bytes());
        assert_eq!(
            said,
            "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n"
        );
        sent(&mut server, 1, INIT.as_bytes());
        let mut say = |text: &str| line(&mut server, 0, text);
        let maxes = "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024\n";
        assert_eq!(say("cmd=get_maxes"), maxes);
        assert_eq!(say("cmd=get_appnum"), "cmd=appnum rc=0 appnum=0\n");
        assert_eq!(
            say("cmd=get_my_kvsname"),
            "cmd=my_kvsname rc=0 kvsname=job\n"
        );
        assert_eq!(
            say("cmd=get_universe_size"),
            "cmd=universe_size rc=0 size=-1\n"
        );
        assert_eq!(
            say("cmd=get kvsname=job key=PMI_process_mapping"),
            "cmd=get_result rc=0 msg=success value=(vector,(0,1,2))\n"
        );
        assert_eq!(
            say("cmd=put kvsname=job key=-a-1 value=x=1;y"),
            "cmd=put_result rc=0\n"
        );
        assert!(say("cmd=get kvsname=job key=-a-1").starts_with("cmd=get_result rc=-1 msg="));
        assert!(say("cmd=put kvsname=job key=PMI_x value=y").contains("rc=-1"));
        assert!(say("cmd=dance").starts_with("cmd=dance rc=-1"));
        let out = pass_fence(&mut server, &|server, place| {
            server.hear(place, b"cmd=barrier_in\n");
        });
        assert_eq!(out, "cmd=barrier_out rc=0\ncmd=barrier_out rc=0\n");
        assert_eq!(
            line(&mut server, 1, "cmd=get kvsname=job key=-a-1"),
            "cmd=get_result rc=0 msg=success value=x=1;y\n"
        );
        assert!(line(&mut server, 1, "cmd=get kvsname=other key=-a-1").contains("rc=-1"));
        assert_eq!(
            line(&mut server, 1, "cmd=finalize"),
            "cmd=finalize_ack rc=0\n"
        );
        assert!(server.has_finalized(1) && server.is_in_mpi(0));
    }

    #[test]
    fn pmi_2_is_answered_as_documented() {
        let mut server = server(2);
        for place in 0..2 {
            let said = line(
                &mut server,
                place,
                "cmd=init pmi_version=2 pmi_subversion=0",
            );
            assert_eq!(
                said,
                "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n"
            );
            let rank = place.to_string();
            let said = two(&mut server, place, "fullinit", &[("pmirank", &rank)]);
            assert!(
                said.contains(&format!(";rank={rank};size=2;appnum=0;")),
                "{said}"
            );
        }
        let mut say = |command: &str, fields: &[(&str, &str)]| two(&mut server, 0, command, fields);
        assert!(say("job-getid", &[]).contains(";jobid=job;"));
        let mapping = say("info-getjobattr", &[("key", MAPPING)]);
        assert!(
            mapping.contains(";found=TRUE;value=(vector,(0,1,2));"),
            "{mapping}"
        );
        assert!(say("info-getjobattr", &[("key", "universeSize")]).contains(";found=FALSE;"));
        assert!(say("kvs-put", &[("key", "k"), ("value", "a;b")]).contains(";rc=0;"));
        assert!(say("spawn", &[]).contains(";rc=-1;errmsg="));
        let out = pass_fence(&mut server, &|server, place| {
            server.hear(place, &frame("kvs-fence", &[("thrid", "9".into())]));
        });
        assert_eq!(
            out.matches("cmd=kvs-fence-response;thrid=9;rc=0;").count(),
            2
        );
        let got = two(
            &mut server,
            1,
            "kvs-get",
            &[("jobid", ""), ("srcid", "0"), ("key", "k")],
        );
        assert!(got.ends_with(";rc=0;found=TRUE;value=a;;b;"), "{got}");
        let got = two(&mut server, 1, "kvs-get", &[("key", "nothing")]);
        assert!(got.contains(";found=FALSE;"), "{got}");
        assert!(two(&mut server, 1, "finalize", &[]).contains("finalize-response;rc=0;"));
        assert!(sent(&mut server, 1, INIT.as_bytes()).contains("pmi_version=1"));
    }

    #[test]
    fn a_value_of_the_node_is_waited_for_only_by_those_that_want_to() {
        let mut server = server(2);
        for place in 0..2 {
            line(
                &mut server,
                place,
                "cmd=init pmi_version=2 pmi_subversion=0",
            );
            two(&mut server, place, "fullinit", &[]);
        }
        let get = |server: &mut Server, waits| {
            two(
                server,
                0,
                "info-getnodeattr",
                &[("key", "k"), ("wait", waits)],
            )
        };
        assert!(get(&mut server, "FALSE").contains(";found=FALSE;"));
        assert_eq!(get(&mut server, "TRUE"), "");
        let said = two(
            &mut server,
            1,
            "info-putnodeattr",
            &[("key", "k"), ("value", "v")],
        );
        assert!(said.contains("putnodeattr-response;rc=0;"), "{said}");
        assert!(
            said.contains("getnodeattr-response;rc=0;found=TRUE;value=v;"),
            "{said}"
        );
        assert!(get(&mut server, "TRUE").contains(";value=v;"));
    }

    #[test]
    fn a_service_is_asked_of_mpirun_and_the_rank_waits() {
        let mut server = server(1);
        sent(&mut server, 0, INIT.as_bytes());
        let both = b"cmd=lookup_name service=s\ncmd=get_appnum\n";
        server.hear(0, both);
        let ask = crate::pmi::Ask::Lookup("s".into());
        assert_eq!(actions(&mut server), [Action::Report(0, Event::Name(ask))]);
        let answer = Ok("p".to_string());
        server.obey(Command::Named { rank: 0, answer });
        let said = sent(&mut server, 0, b"");
        assert_eq!(
            said,
            "cmd=lookup_result rc=0 port=p value=p\ncmd=appnum rc=0 appnum=0\n"
        );
        let long = format!("cmd=lookup_name service={}", "s".repeat(300));
        assert!(line(&mut server, 0, &long).contains("rc=-1"));
    }

    #[test]
    fn spawn_is_refused_once_all_its_programs_have_come() {
        let mut server = server(1);
        sent(&mut server, 0, INIT.as_bytes());
        let block = |number: u32| {
            format!("mcmd=spawn\nnprocs=1\ntotspawns=2\nspawnssofar={number}\nendcmd\n")
        };
        assert_eq!(sent(&mut server, 0, block(1).as_bytes()), "");
        let said = sent(&mut server, 0, block(2).as_bytes());
        assert!(said.starts_with("cmd=spawn_result rc=-1 msg="), "{said}");
    }

    #[test]
    fn what_breaks_the_protocol_ends_the_conversation() {
        let long = format!("cmd=put key=a value={}\n", "v".repeat(LINE_MAX));
        let wrong: [(&str, &str); 5] = [
            ("", "cmd=get_appnum\n"),
            ("", "hello\n"),
            (INIT, INIT),
            (INIT, &long),
            (
                "",
                "cmd=init pmi_version=2 pmi_subversion=0\n    10cmd=finalize;",
            ),
        ];
        for (first, then) in wrong {
            let mut server = server(1);
            sent(&mut server, 0, first.as_bytes());
            server.hear(0, then.as_bytes());
            let last = actions(&mut server).pop();
            assert!(
                matches!(last, Some(Action::Break(0, _))),
                "{then}: {last:?}"
            );
            assert_eq!(sent(&mut server, 0, INIT.as_bytes()), "");
        }
    }

    #[test]
    fn a_rank_that_does_not_wait_for_answers_fills_no_memory() {
        let mut server = server(2);
        sent(&mut server, 0, INIT.as_bytes());
        server.hear(0, b"cmd=barrier_in\n");
        let is_broken = (0..100).any(|_| {
            server.hear(0, &b"cmd=get_appnum\n".repeat(256));
            actions(&mut server)
                .iter()
                .any(|it| matches!(it, Action::Break(..)))
        });
        assert!(is_broken);
    }

    #[test]
    fn a_second_program_sees_nothing_of_the_first() {
        let mut server = server(1);
        let enter = |server: &mut Server, place: usize| server.hear(place, b"cmd=barrier_in\n");
        for round in 0..2 {
            sent(&mut server, 0, INIT.as_bytes());
            let get = "cmd=get kvsname=job key=k0";
            assert!(line(&mut server, 0, get).contains("rc=-1"));
            line(
                &mut server,
                0,
                &format!("cmd=put kvsname=job key=k{round} value=v"),
            );
            pass_fence(&mut server, &enter);
            assert_eq!(line(&mut server, 0, get).contains("rc=0"), round == 0);
            line(&mut server, 0, "cmd=finalize");
        }
    }

    fn words() -> impl Strategy<Value = Vec<u8>> {
        let known = prop::sample::select(vec![
            INIT.as_bytes().to_vec(),
            b"cmd=init pmi_version=2 pmi_subversion=0\n".to_vec(),
            b"cmd=put kvsname=job key=k value=v\n".to_vec(),
            b"cmd=get kvsname=job key=k\n".to_vec(),
            b"cmd=barrier_in\n".to_vec(),
            b"cmd=lookup_name service=s\n".to_vec(),
            b"cmd=finalize\n".to_vec(),
            frame("fullinit", &[]),
            frame("kvs-fence", &[]),
            frame(
                "info-getnodeattr",
                &[("key", "k".into()), ("wait", "TRUE".into())],
            ),
            frame(
                "info-putnodeattr",
                &[("key", "k".into()), ("value", "v".into())],
            ),
            frame("finalize", &[]),
        ]);
        prop_oneof![9 => known, 1 => prop::collection::vec(any::<u8>(), 0..20)]
    }

    proptest! {
        #[test]
        fn any_ranks_are_served_without_a_panic_and_accounted_for(
            said in prop::collection::vec((0_usize..3, words()), 0..60),
        ) {
            let mut server = server(3);
            let mut accounts = [crate::pmi::account::Account::default(); 3];
            let mut waiting = [false; 3];
            for (place, bytes) in said {
                server.hear(place, &bytes);
                while let Some(action) = server.action() {
                    let Action::Report(place, event) = action else { continue };
                    prop_assert_eq!(accounts[place].enter(&event), Ok(()));
                    waiting[place] |= matches!(event, Event::Fence(_));
                    let mut command = None;
                    if let Event::Name(_) = event {
                        let answer = Err("no".to_string());
                        command = Some(Command::Named { rank: place as u32, answer });
                    } else if waiting == [true; 3] {
                        waiting = [false; 3];
                        command = Some(Command::Release(Vec::new()));
                    }
                    if let Some(command) = command {
                        for (rank, account) in (0..).zip(&mut accounts) {
                            account.obey(rank, &command);
                        }
                        server.obey(command);
                    }
                }
            }
        }
    }
}
