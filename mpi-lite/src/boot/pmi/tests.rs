//! Ranks, a thread each, beside a process manager made up here.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::client::{self, Client};
use super::wire::Wire;
use crate::boot::managed::{Interface, Managed};
use crate::boot::{Asked, BootError};

/// What the made-up process manager has of its job.
#[derive(Default)]
struct Job {
    size: usize,
    mapping: &'static str,
    values: BTreeMap<String, String>,
    waiting: Vec<UnixStream>,
    aborts: Vec<String>,
}

impl Job {
    fn released(&mut self, rank: &UnixStream, answer: &str) {
        self.waiting.push(rank.try_clone().unwrap());
        if self.waiting.len() == self.size {
            for mut rank in self.waiting.drain(..) {
                let _ = rank.write_all(answer.as_bytes());
            }
        }
    }
}

/// Serves one rank in version 1 until it closes its connection.
fn serve_one(job: &Mutex<Job>, rank: &UnixStream) {
    let lines = BufReader::new(rank.try_clone().unwrap()).lines();
    for line in lines.map_while(Result::ok) {
        let words: BTreeMap<&str, &str> = line
            .split(' ')
            .filter_map(|it| it.split_once('='))
            .collect();
        let mut job = job.lock().unwrap();
        let answer = match words["cmd"] {
            "init" => "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0".to_string(),
            "get_appnum" => "cmd=appnum appnum=-1".into(),
            "get_my_kvsname" => "cmd=my_kvsname rc=0 kvsname=1.0".into(),
            "put" => {
                job.values
                    .insert(words["key"].into(), words["value"].into());
                "cmd=put_result rc=0 msg=success".into()
            }
            "get" if words["key"] == "PMI_process_mapping" && !job.mapping.is_empty() => {
                format!("cmd=get_result rc=0 value={}", job.mapping)
            }
            "get" => match job.values.get(words["key"]) {
                Some(value) => format!("cmd=get_result rc=0 msg=success value={value}"),
                None => "cmd=get_result rc=-1 msg=key_not_found value=unknown".into(),
            },
            "barrier_in" => {
                job.released(rank, "cmd=barrier_out\n");
                continue;
            }
            "finalize" => "cmd=finalize_ack".into(),
            "abort" => {
                job.aborts.push(line);
                continue;
            }
            other => panic!("{other}"),
        };
        (&*rank).write_all((answer + "\n").as_bytes()).unwrap();
    }
}

/// Serves one rank in version 2.
fn serve_two(job: &Mutex<Job>, mut rank: &UnixStream) {
    let mut line = String::new();
    while !line.ends_with('\n') {
        let mut byte = [0];
        rank.read_exact(&mut byte).unwrap();
        line.push(byte[0] as char);
    }
    assert_eq!(line, "cmd=init pmi_version=2 pmi_subversion=0\n");
    rank.write_all(b"cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n")
        .unwrap();
    // As Slurm writes the length.
    let frame = |body: String| format!("{:<6}{body}", body.len());
    let mut digits = [0; 6];
    while rank.read_exact(&mut digits).is_ok() {
        let length = str::from_utf8(&digits).unwrap().trim().parse().unwrap();
        let mut body = vec![0; length];
        rank.read_exact(&mut body).unwrap();
        let body = String::from_utf8(body).unwrap();
        let fields: BTreeMap<&str, &str> = body
            .split(';')
            .filter_map(|it| it.split_once('='))
            .collect();
        let mut job = job.lock().unwrap();
        let cmd = fields["cmd"];
        let rest = match cmd {
            "fullinit" => format!("rank={};size={};appnum=3", fields["pmirank"], job.size),
            "kvs-put" => {
                job.values
                    .insert(fields["key"].into(), fields["value"].into());
                String::new()
            }
            "info-getjobattr" => match job.mapping {
                "" => "found=FALSE".into(),
                mapping => format!("found=TRUE;value={mapping}"),
            },
            "kvs-get" => match job.values.get(fields["key"]) {
                Some(value) => format!("found=TRUE;value={value}"),
                None => "found=FALSE".into(),
            },
            "kvs-fence" => {
                job.released(rank, &frame("cmd=kvs-fence-response;rc=0;".into()));
                continue;
            }
            "finalize" => String::new(),
            "abort" => {
                job.aborts.push(body);
                continue;
            }
            other => panic!("{other}"),
        };
        let answer = frame(format!("cmd={cmd}-response;{rest};rc=0;"));
        rank.write_all(answer.as_bytes()).unwrap();
    }
}

type Serve = fn(&Mutex<Job>, &UnixStream);

/// How a rank connects to its manager.
type Connect = fn(Wire, u32, u32) -> Result<Box<dyn Interface>, BootError>;

const ONE: (Serve, Connect) = (serve_one, |mut wire, rank, size| {
    assert!(client::begin(&mut wire)?);
    Ok(Box::new(Client::one(wire, rank, size)?))
});
const TWO: (Serve, Connect) = (
    |job, rank| serve_two(job, rank),
    |wire, rank, _| Ok(Box::new(Client::two(wire, rank, "7.0")?)),
);

/// Starts `size` ranks that do `what`. Returns the job, when all have ended, and what they made.
fn run<T: Send + 'static>(
    version: (Serve, Connect),
    (size, mapping): (u32, &'static str),
    what: fn(Box<dyn Interface>) -> T,
) -> (Job, Vec<T>) {
    let (serve, connect) = version;
    let job = Arc::new(Mutex::new(Job {
        size: size as usize,
        mapping,
        ..Job::default()
    }));
    let start = |rank| {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let job = Arc::clone(&job);
        let server = thread::spawn(move || serve(&job, &theirs));
        let rank: JoinHandle<T> = thread::spawn(move || {
            let wire = Wire::over(ours.into(), "a manager", None);
            what(connect(wire, rank, size).unwrap())
        });
        (server, rank)
    };
    let started: Vec<_> = (0..size).map(start).collect();
    let mut made = Vec::new();
    for (server, rank) in started {
        made.push(rank.join().unwrap());
        server.join().unwrap();
    }
    let job = Arc::into_inner(job).unwrap().into_inner().unwrap();
    (job, made)
}

const NODES: &str = "(vector,(0,2,3))";

#[test]
fn ranks_get_one_key_and_the_cards_of_all_in_both_versions() {
    for (version, mapping) in [(ONE, NODES), (TWO, NODES), (ONE, ""), (TWO, "")] {
        let (job, ranks) = run(version, (5, mapping), |manager| {
            let mut managed = Managed::join(manager).unwrap();
            let me = managed.assignment().clone();
            // Longer than a value may be.
            let card = vec![me.rank as u8; 1000];
            let cards = managed.exchange(&card).unwrap();
            assert!(managed.exchange(&[]).unwrap().iter().all(Vec::is_empty));
            managed.finalized().unwrap();
            (me, cards)
        });
        for (rank, (assignment, cards)) in ranks.iter().enumerate() {
            assert_eq!((assignment.rank as usize, assignment.size), (rank, 5));
            assert_eq!(assignment.key, ranks[0].0.key);
            let all: Vec<Vec<u8>> = (0..5).map(|rank| vec![rank; 1000]).collect();
            assert_eq!(*cards, all);
            let peers: &[u32] = match (mapping, rank) {
                ("", _) => &[0, 1, 2, 3, 4],
                (_, ..3) => &[0, 1, 2],
                _ => &[3, 4],
            };
            assert_eq!(assignment.local_peers, peers);
            assert!(assignment.shares_memory);
        }
        assert!(job.aborts.is_empty(), "{:?}", job.aborts);
    }
}

#[test]
fn all_ranks_of_a_node_get_the_same_memory() {
    let (_, inodes) = run(ONE, (4, NODES), |manager| {
        let mut managed = Managed::join(manager).unwrap();
        let Some(shared) = managed.shared() else {
            assert_eq!(managed.assignment().local_peers, [3]);
            managed.exchange(&[]).unwrap();
            managed.finalized().unwrap();
            return 0;
        };
        assert_eq!(
            shared.doorbells.len(),
            managed.assignment().local_size as usize
        );
        let inode = rustix::fs::fstat(&shared.memory).unwrap().st_ino;
        managed.exchange(&[]).unwrap();
        managed.finalized().unwrap();
        inode
    });
    assert!(inodes[0] == inodes[1] && inodes[1] == inodes[2]);
    assert_ne!(inodes[0], inodes[3]);
}

#[test]
fn a_rank_that_ends_early_is_named_to_the_others_of_its_node_and_of_the_manager() {
    for version in [ONE, TWO] {
        let (_, errors) = run(version, (3, "(vector,(0,1,3))"), |manager| {
            // Rank 0 may have noticed it before rank 1 leaves Init.
            let mut managed = match Managed::join(manager) {
                Ok(managed) if managed.assignment().rank == 2 => return None,
                Ok(managed) => managed,
                Err(error) => return Some(error),
            };
            let error = managed.exchange(&[]).unwrap_err();
            managed.abort(1, "");
            Some(error)
        });
        assert!(
            matches!(errors[0], Some(BootError::Died { rank: 2, .. })),
            "{errors:?}"
        );
        // Rank 1 sees only rank 0.
        assert!(
            matches!(errors[1], Some(BootError::Ending { .. })),
            "{errors:?}"
        );
    }
}

#[test]
fn an_abort_reaches_the_manager_with_its_code_and_a_finalized_rank_is_no_loss() {
    let (job, asked) = run(ONE, (2, "(vector,(0,1,2))"), |manager| {
        let mut managed = Managed::join(manager).unwrap();
        if managed.assignment().rank == 1 {
            managed.finalized().unwrap();
            return Asked::Nothing;
        }
        let descriptor = managed.descriptor().unwrap();
        let mut polled = [rustix::event::PollFd::new(
            &descriptor,
            rustix::event::PollFlags::IN,
        )];
        rustix::event::poll(&mut polled, None).unwrap();
        let asked = managed.question();
        managed.abort(7, "it\nis over");
        asked
    });
    assert_eq!(asked, [Asked::Nothing; 2]);
    assert_eq!(job.aborts, ["cmd=abort exitcode=7 message=it"]);
}

#[test]
fn a_manager_that_refuses_version_1_is_asked_for_version_2() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let mut wire = Wire::over(ours.into(), "a manager", None);
    theirs
        .write_all(b"cmd=response_to_init rc=-1 pmi_version=2\n")
        .unwrap();
    assert!(!client::begin(&mut wire).unwrap());
    let refusal = b"cmd=response_to_init rc=-1 pmi_version=1 pmi_subversion=1\n";
    theirs.write_all(refusal).unwrap();
    let error = Client::two(wire, 0, "1.0").unwrap_err().to_string();
    assert!(error.contains("neither PMI 1 nor PMI 2"), "{error}");
}

#[test]
fn nonsense_of_a_manager_is_an_error_that_shows_it() {
    for answer in ["\n", "hello\n", "cmd=other rc=0\n", "cmd=appnum\u{1b}[1m\n"] {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut wire = Wire::over(ours.into(), "a manager", None);
        theirs.write_all(answer.as_bytes()).unwrap();
        let error = client::begin(&mut wire).unwrap_err().to_string();
        assert!(
            error.contains("a manager, which started this rank, answered"),
            "{error}"
        );
        assert!(!error.chars().any(char::is_control), "{error:?}");
    }
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let wire = Wire::over(ours.into(), "a manager", None);
    theirs.write_all(b"cmd=x rc=0\nabcdef").unwrap();
    assert!(matches!(
        Client::two(wire, 0, ""),
        Err(BootError::Manager { .. })
    ));
}

#[test]
fn a_manager_that_is_gone_is_an_error() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut wire = Wire::over(ours.into(), "a manager", None);
    drop(theirs);
    assert!(matches!(
        client::begin(&mut wire),
        Err(BootError::ManagerGone { .. })
    ));
}

/// Answers each of these lines, and then is silent.
fn silent_after(answers: &[&str]) -> (Wire, UnixStream) {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    for answer in answers {
        theirs.write_all(answer.as_bytes()).unwrap();
    }
    let wire = Wire::over(ours.into(), "a manager", None);
    (wire.with_patience(Duration::from_millis(20)), theirs)
}

#[test]
fn a_manager_that_is_silent_is_an_error_that_names_it_and_the_command() {
    let (mut wire, _theirs) = silent_after(&[]);
    let error = client::begin(&mut wire).unwrap_err().to_string();
    assert!(error.contains("a manager, which"), "{error}");
    assert!(error.contains("has not answered 'cmd=init'"), "{error}");
    let refusal = "cmd=response_to_init rc=-1 pmi_version=2\n";
    let (mut wire, _theirs) = silent_after(&[refusal]);
    assert!(!client::begin(&mut wire).unwrap());
    let error = Client::two(wire, 0, "1.0").unwrap_err().to_string();
    assert!(error.contains("has not answered 'cmd=init'"), "{error}");
    let begun = "cmd=response_to_init rc=0\n";
    let (wire, _theirs) = silent_after(&[begun, "    12cmd=fulli"]);
    let error = Client::two(wire, 0, "1.0").unwrap_err().to_string();
    assert!(error.contains("has not answered 'cmd=fullinit'"), "{error}");
    let ready = ["cmd=appnum appnum=0\n", "cmd=my_kvsname kvsname=x\n"];
    let (wire, _theirs) = silent_after(&ready);
    let mut manager = Client::one(wire, 0, 2).unwrap();
    let error = manager.put("key", "a-secret").unwrap_err().to_string();
    assert!(error.contains("has not answered 'cmd=put'"), "{error}");
    assert!(!error.contains("a-secret"), "{error}");
}

#[test]
fn what_a_manager_refuses_is_named_without_its_value() {
    let frame = |body: &str| format!("{:6}{body}", body.len());
    let full = frame("cmd=fullinit-response;rank=0;size=2;rc=0;");
    let refusal = frame("cmd=kvs-put-response;rc=1;errmsg=no room;");
    let begun = "cmd=response_to_init rc=0\n";
    let (wire, _theirs) = silent_after(&[begun, &full, &refusal]);
    let mut manager = Client::two(wire, 0, "1.0").unwrap();
    let error = manager.put("key", "a-secret").unwrap_err().to_string();
    assert!(error.contains("refused 'cmd=kvs-put': no room"), "{error}");
    assert!(!error.contains("a-secret"), "{error}");
}
