//! What the seals of datagrams promise (docs/decisions/0019-seals.md), tried by an attacker on the
//! path, who captures all and sends anything with any address.

use std::collections::BTreeMap;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mpi_lite_tests::wire::{Captured, Tap, capture, forge, wait_until_passed};
use mpi_lite_tests::{
    Job, Outcome, Process, Running, Scratch, build, source_root, tool, udp_ports,
};
use rustix::process::Signal;
use serde_json::Value;

const RANKS: usize = 3;
/// How many packets of a job are captured.
const CAPTURED: usize = 400;
/// Bytes of the wrap; the number of an encrypted datagram is its beginning.
const WRAP: usize = 16;
/// The seals of datagrams, as `mpirun --secure` names them.
const SEALS: [&str; 3] = ["cookie", "tag", "encrypt"];

/// A job of two rounds of Init: a script starts the same MPI program twice.
struct TwoRounds {
    job: Running,
    scratch: Scratch,
}

impl TwoRounds {
    fn start(seal: &str) -> Self {
        let scratch = Scratch::new(&format!("rounds-{seal}"));
        let binary = build("tests/c/faults/steady.c", &scratch);
        let path = |name| scratch.path().join(name);
        let job = Job::mpirun(RANKS)
            .args(["--transport", "rmpp"])
            .arg(format!("--secure={seal}"))
            .arg(format!("--stats={}", path("stats.json").display()))
            .args(["sh", "-c", r#""$0" "$1" && exec "$0" "$2""#])
            .args([binary, path("1"), path("2")]);
        let mut job = job.deadline(Duration::from_secs(120)).start();
        job.wait_for("ready", RANKS);
        Self { job, scratch }
    }

    fn ports(&self) -> Vec<u16> {
        udp_ports(&self.job.process().descendants())
    }

    fn end(&self, round: &str) {
        std::fs::write(self.scratch.path().join(round), "").expect("the file that ends the round");
    }

    fn begin_second(&mut self) {
        self.end("1");
        self.job.wait_for("ready", 2 * RANKS);
    }

    /// Ends the second round, which must be unharmed; what it dropped, by reason.
    fn finish(self) -> impl Fn(&str) -> u64 + use<> {
        self.end("2");
        let outcome = self.job.finish().expect_code(0);
        let unharmed = outcome.stdout.matches("all right").count();
        assert_eq!(unharmed, 2, "{}", outcome.report());
        dropped(self.scratch.path().join("stats.json"))
    }
}

fn dropped(statistics: PathBuf) -> impl Fn(&str) -> u64 + use<> {
    let text = std::fs::read_to_string(statistics).expect("mpirun wrote it");
    let counted: Value = serde_json::from_str(&text).expect("an object");
    move |reason| {
        let sum = &counted["counters"][format!("udp_{reason}")]["sum"];
        sum.as_u64().unwrap_or(0)
    }
}

/// The port of each rank, by what it sends.
fn ports_by_rank(packets: &[Captured]) -> BTreeMap<u32, u16> {
    let port = |packet: &Captured| Some((packet.sender()?, packet.from()));
    packets.iter().filter_map(port).collect()
}

/// `old` packets between the ranks' ports of now.
fn between_ports_of_now(old: &[Captured], now: &[Captured]) -> Vec<Captured> {
    let (then, now) = (ports_by_rank(old), ports_by_rank(now));
    assert_eq!((then.len(), now.len()), (RANKS, RANKS), "every rank sends");
    let rank_at = |port| {
        then.iter()
            .find(|(_, at)| **at == port)
            .map(|(rank, _)| *rank)
    };
    let move_over = |packet: &Captured| {
        let (from, to) = (rank_at(packet.from())?, rank_at(packet.to())?);
        Some(Captured::new(now[&from], now[&to], packet.payload()))
    };
    old.iter().filter_map(move_over).collect()
}

#[test]
fn a_datagram_of_the_first_round_of_init_is_dropped_in_the_second() {
    // An encrypted datagram is first dropped by its number, if the second round has had it.
    let reasons: [&[_]; 3] = [&["foreign"], &["forged"], &["forged", "replayed"]];
    for (seal, reasons) in SEALS.into_iter().zip(reasons) {
        let mut job = TwoRounds::start(seal);
        let old = capture(&job.ports(), CAPTURED);
        job.begin_second();
        let now = capture(&job.ports(), CAPTURED);
        let moved = between_ports_of_now(&old, &now);
        assert!(moved.len() > CAPTURED / 2);
        forge(&moved);
        let dropped = job.finish();
        let dropped: u64 = reasons.iter().map(|reason| dropped(reason)).sum();
        assert!(dropped > 0, "{seal}: the old datagrams were taken");
    }
}

/// Whether an encrypted datagram is one of the first of its sender, by its number. The zeros that
/// another test throws at its job are none.
fn is_early(packet: &Captured) -> bool {
    let number = packet
        .payload()
        .first_chunk()
        .map(|it| u64::from_be_bytes(*it));
    let has_text = || packet.payload().iter().skip(WRAP).any(|byte| *byte != 0);
    number.is_some_and(|number| number < 2000) && has_text()
}

/// Whether a packet shows the word that nobody may read, of whatever job.
fn shows_marker(packet: &Captured) -> bool {
    shows(packet, MARKER)
}

fn shows(packet: &Captured, word: &str) -> bool {
    let mut parts = packet.payload().windows(word.len());
    parts.any(|part| part == word.as_bytes())
}

/// Two texts under one key and number would give away the difference of what they say; headers are
/// much alike, so many such texts would begin alike.
#[test]
fn no_two_rounds_of_init_encrypt_with_the_same_key_and_numbers() {
    // As soon as the ranks are ready, hardly anything has passed.
    let heard = |tap: Tap, ports: &[u16]| {
        let _captured = capture(ports, CAPTURED);
        tap.heard(ports)
    };
    let tap = Tap::new(is_early);
    let mut job = TwoRounds::start("encrypt");
    let first = heard(tap, &job.ports());
    let tap = Tap::new(is_early);
    job.begin_second();
    let second = heard(tap, &job.ports());
    drop(job.finish());
    let numbered = |packets: &[Captured]| -> BTreeMap<_, [u8; 4]> {
        let text = |packet: &Captured| {
            let (number, _) = packet.payload().split_first_chunk::<8>()?;
            let text = packet.payload().get(WRAP..)?.first_chunk()?;
            Some(((packet.sender()?, *number), *text))
        };
        packets.iter().filter_map(text).collect()
    };
    let (first, second) = (numbered(&first), numbered(&second));
    let both: Vec<_> = first
        .iter()
        .filter_map(|(name, text)| Some((text, second.get(name)?)))
        .collect();
    assert!(both.len() >= 20, "only {} numbers in both", both.len());
    let alike = both.iter().filter(|(first, second)| first == second);
    assert_eq!(alike.count(), 0, "of {} pairs", both.len());
}

/// This many datagrams later from one rank to another, a copy is older than any that the protocol
/// must tell from new ones by itself: more than two epochs (docs/decisions/0019-seals.md).
const OLD: usize = 3 << 16;

#[test]
fn an_old_copy_of_a_tagged_datagram_is_dropped() {
    let scratch = Scratch::new("old");
    let binary = build("tests/c/faults/steady.c", &scratch);
    let path = |name| scratch.path().join(name);
    let job = Job::mpirun(2)
        .args(["--transport", "rmpp", "--secure=tag"])
        .arg(format!("--stats={}", path("stats.json").display()))
        .args([binary, path("stop")])
        .arg("short");
    let mut job = job.deadline(Duration::from_secs(300)).start();
    job.wait_for("ready", 2);
    let ports = udp_ports(&job.process().descendants());
    let mut copies = capture(&ports, CAPTURED);
    let way = (copies[0].from(), copies[0].to());
    copies.retain(|copy| (copy.from(), copy.to()) == way);
    wait_until_passed(way, OLD);
    forge(&copies);
    // Something after them, so that they are not in the socket's queue at the end.
    wait_until_passed(way, CAPTURED);
    std::fs::write(path("stop"), "").expect("the file that ends the job");
    let outcome = job.finish().expect_code(0).expect_stdout("all right");
    assert!(outcome.stderr.is_empty(), "{}", outcome.report());
    let dropped = dropped(path("stats.json"));
    assert!(dropped("forged") > 0, "old copies were taken");
}

/// The word that nobody on the path may read; each job has a number of its own behind it, since
/// others send theirs at the same time.
const MARKER: &str = "KEEP-THIS-SECRET-0123456789";

static SENT: AtomicUsize = AtomicUsize::new(0);

/// Runs the program that sends the word, behind `wrapper`, under this `--secure`; what came of it,
/// and whether the word was on the wire.
fn send_marker(secure: &[&str], wrapper: &[&str]) -> (Outcome, bool) {
    let scratch = Scratch::new("marker");
    let binary = build("tests/c/faults/marker.c", &scratch);
    let tap = Tap::new(shows_marker);
    let job = Job::mpirun(2).args(["--transport", "rmpp"]).args(secure);
    let number = SENT.fetch_add(1, Ordering::Relaxed);
    let word = format!("{MARKER}-{}-{number}.", std::process::id());
    let outcome = job.args(wrapper).arg(binary).arg(&word).run();
    let everywhere: Vec<_> = (0..=u16::MAX).collect();
    let heard = tap.heard(&everywhere);
    let is_readable = heard.iter().any(|packet| shows(packet, &word));
    (outcome, is_readable)
}

#[test]
fn a_job_without_encryption_sends_readable_bytes() {
    // So that the tests below would notice it.
    for secure in [&[][..], &["--secure=tag"]] {
        let (outcome, is_readable) = send_marker(secure, &[]);
        let _ = outcome.expect_code(0).expect_stdout("sent to 1 of 2");
        assert!(is_readable, "{secure:?}");
    }
}

#[test]
fn a_wrapper_that_strips_the_environment_does_not_lower_the_seal() {
    const CHANNEL_ALONE: &str = r#"exec env -i "MPILITE_BOOT_FD=$MPILITE_BOOT_FD" "$0" "$@""#;
    for wrapper in [
        &["env", "-u", "MPILITE_SECURE"][..],
        &["sh", "-c", CHANNEL_ALONE],
        &["env", "MPILITE_SECURE=encrypt"],
    ] {
        let (outcome, is_readable) = send_marker(&["--secure"], wrapper);
        let _ = outcome.expect_code(0).expect_stdout("sent to 1 of 2");
        assert!(!is_readable, "{wrapper:?}");
    }
}

#[test]
fn a_rank_without_the_launchers_channel_is_alone_and_sends_nothing() {
    let (outcome, is_readable) = send_marker(&["--secure"], &["env", "-i"]);
    let _ = outcome.expect_code(0).expect_stdout("sent to 0 of 1");
    assert!(!is_readable);
}

#[test]
fn a_rank_whose_environment_asks_for_a_weaker_seal_ends_the_job() {
    for (secure, weaker) in [("encrypt", "tag"), ("encrypt", "cookie"), ("tag", "cookie")] {
        let variable = format!("MPILITE_SECURE={weaker}");
        let wrapper = ["env", variable.as_str()];
        let (outcome, is_readable) = send_marker(&[&format!("--secure={secure}")], &wrapper);
        let outcome = outcome.expect_failure().expect_stderr(&variable);
        let _ = outcome.expect_stderr(&format!("--secure={secure}"));
        assert!(!is_readable);
    }
}

/// The variable in the environment of `mpirun` itself is as good as the option.
#[test]
fn the_launchers_own_environment_asks_for_the_seal_of_the_job() {
    let ask = ["-x", "MPILITE_SECURE=encrypt"];
    let (outcome, is_readable) = send_marker(&ask, &["env", "-u", "MPILITE_SECURE"]);
    let _ = outcome.expect_code(0).expect_stdout("sent to 1 of 2");
    assert!(!is_readable);
}

/// All memory of a process that a core file of it would hold, from its maps on; what cannot be read
/// (devices, the kernel's own pages) no core file has either.
fn dumped_memory(process: Process) -> Vec<Vec<u8>> {
    let folder = format!("/proc/{}", process.id());
    let smaps = std::fs::read_to_string(format!("{folder}/smaps")).expect("it runs");
    let memory = std::fs::File::open(format!("{folder}/mem")).expect("root, or its own user");
    let (mut all, mut range) = (Vec::new(), None);
    for line in smaps.lines() {
        let words: Vec<_> = line.split_ascii_whitespace().collect();
        let ends = words[0]
            .split_once('-')
            .filter(|_| !words[0].ends_with(':'));
        if let Some((first, end)) = ends {
            let number = |text| u64::from_str_radix(text, 16).expect("an address");
            range = Some((number(first), number(end)));
        } else if words[0] == "VmFlags:" && !words.contains(&"dd") {
            let (first, end) = range.take().expect("the flags end a mapping");
            let mut bytes = vec![0; usize::try_from(end - first).expect("64 bits")];
            if memory.read_exact_at(&mut bytes, first).is_ok() {
                all.push(bytes);
            }
        }
    }
    all
}

#[test]
fn after_init_the_jobs_key_is_nowhere_in_a_rank() {
    const KEY_BYTES: usize = 32;
    for secure in SEALS {
        let scratch = Scratch::new(&format!("key-{secure}"));
        let binary = build("tests/c/faults/steady.c", &scratch);
        let stop = scratch.path().join("stop");
        // Above each rank is a program that sees the key pass by and tells it.
        let job = Job::mpirun(2)
            .args(["--transport", "rmpp"])
            .arg(format!("--secure={secure}"))
            .arg("python3")
            .arg(source_root().join("tests/src/tell_key.py"))
            .args([&binary, &stop]);
        let mut job = job.start();
        job.wait_for("ready", 2);
        let stdout = job.stdout();
        let told = stdout.lines().find_map(|line| line.strip_prefix("key "));
        let told = told.expect("it is told before a rank is ready");
        let digits = |at: usize| u8::from_str_radix(&told[at..at + 2], 16).expect("hex");
        let key: Vec<u8> = (0..2 * KEY_BYTES).step_by(2).map(digits).collect();
        let ranks = job.process().running(&binary);
        assert_eq!(ranks.len(), 2);
        for rank in ranks {
            let memory = dumped_memory(rank);
            let bytes: usize = memory.iter().map(Vec::len).sum();
            assert!(bytes > 1 << 20, "only {bytes} bytes could be read");
            for half in key.chunks(KEY_BYTES / 2) {
                let has_it = |part: &Vec<u8>| part.windows(half.len()).any(|it| it == half);
                let found = memory.iter().filter(|part| has_it(part)).count();
                assert_eq!(found, 0, "{secure}: the key is in {found} mappings");
            }
        }
        std::fs::write(&stop, "").expect("the file that ends the job");
        let _ = job.finish().expect_code(0).expect_stdout("all right");
    }
}

/// Files of a process that may write no core file belong to root, whichever user runs it (proc(5)).
#[test]
fn mpirun_which_keeps_the_jobs_key_writes_no_core_file() {
    const NOBODY: u32 = 65534;
    let scratch = Scratch::new("core");
    // A copy that everybody can run.
    let launcher = std::fs::read(tool("mpirun")).expect("it is installed");
    let launcher = scratch.program("mpirun", launcher);
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(scratch.path(), open).expect("the folder is ours");
    let ids = ["--reuid", "--regid"].map(|id| format!("{id}={NOBODY}"));
    let job = Job::new("setpriv").args(ids).arg("--clear-groups");
    // Where the tests run, other users may not be allowed to look.
    let job = job.directory(scratch.path());
    let job = job.arg(&launcher).args(["-n", "1", "--secure=tag"]);
    let mut job = job.args(["sh", "-c", "echo up; sleep 100"]).start();
    job.wait_for("up", 1);
    let owner = |process: Process| {
        let file = std::fs::metadata(format!("/proc/{}/environ", process.id()));
        file.expect("it runs").uid()
    };
    // mpirun itself, which is where setpriv was, its guard and the rank.
    let mut processes = job.process().descendants();
    processes.push(job.process());
    for process in processes {
        let is_launcher = process.words()[0].ends_with("/mpirun");
        let expected = if is_launcher { 0 } else { NOBODY };
        assert_eq!(owner(process), expected, "{:?}", process.words());
    }
    job.signal(Signal::TERM);
    let _ = job.finish();
}
