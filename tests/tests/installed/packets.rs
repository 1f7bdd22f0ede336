//! `mpirun --packets` and `--sequence` with MPI programs: the file agrees with the counters, the
//! diagram with Figures 5 and 6 of the RMPP paper, and Wireshark's dissector with both.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use mpi_lite_tests::{Job, Process, Scratch, build, source_root, tool};
use rustix::process::Signal;
use serde_json::Value;

const PROGRAM: &str = "tests/c/tools/messages.c";

/// How many packets each interface of a pcapng file has. Both lengths of each block agree.
fn packets_of(path: &Path) -> BTreeMap<String, u64> {
    let file = std::fs::read(path).expect("the file");
    let word = |at: usize| {
        let bytes = file[at..at + 4].try_into().expect("four bytes");
        u32::from_le_bytes(bytes)
    };
    let (mut at, mut names, mut counts) = (0, Vec::new(), BTreeMap::new());
    while at < file.len() {
        let (kind, len) = (word(at), word(at + 4) as usize);
        assert_eq!(word(at + len - 4) as usize, len);
        match kind {
            1 => {
                let name_bytes = usize::from(u16::from_le_bytes([file[at + 18], file[at + 19]]));
                let name = &file[at + 20..at + 20 + name_bytes];
                names.push(String::from_utf8(name.to_vec()).expect("text"));
                counts.insert(names[names.len() - 1].clone(), 0);
            }
            6 => *counts.get_mut(&names[word(at + 8) as usize]).expect("one") += 1,
            _ => {}
        }
        at += len;
    }
    counts
}

fn sum(object: &Value, counter: &str) -> u64 {
    object["counters"][counter]["sum"]
        .as_u64()
        .unwrap_or_else(|| panic!("no sum of {counter}: {object}"))
}

/// Runs the program with these words; returns the file of packets and the counters.
fn ping_pong(scratch: &Scratch, options: &[&str], words: [&str; 2]) -> (Vec<(String, u64)>, Value) {
    let (program, file) = (build(PROGRAM, scratch), scratch.path().join("job.pcapng"));
    let job = Job::mpirun(2).args(options).arg("--stats=json");
    let job = job.arg("--packets").arg(&file).arg(program);
    let outcome = job.args(words).arg("back").run().expect_code(0);
    let line = outcome.stderr.lines().find(|line| line.starts_with('{'));
    let object = serde_json::from_str(line.expect("an object")).expect("JSON");
    (packets_of(&file).into_iter().collect(), object)
}

#[test]
fn the_file_has_each_datagram_that_was_counted() {
    let cases: [(&[&str], [&str; 2]); 4] = [
        (&[], ["8", "100"]),
        (&["--secure=tag"], ["100000", "20"]),
        (&["--secure"], ["1000000", "5"]),
        (&["-x", "MPILITE_RMPP=classic"], ["300000", "5"]),
    ];
    for (options, words) in cases {
        let scratch = Scratch::new("packets");
        let (packets, object) = ping_pong(&scratch, options, words);
        let names: Vec<&str> = packets.iter().map(|it| &*it.0).collect();
        let expected = [
            "rank 0 received",
            "rank 0 sent",
            "rank 1 received",
            "rank 1 sent",
        ];
        assert_eq!(names, expected);
        let received = packets[0].1 + packets[2].1;
        let sent = packets[1].1 + packets[3].1;
        // A rank may answer after it has reported its counters: a few at most.
        let counted = sum(&object, "udp_datagrams_sent") + sum(&object, "udp_refused");
        assert!(
            (counted..=counted + 4).contains(&sent),
            "{packets:?} {object}"
        );
        let counted = sum(&object, "udp_datagrams_received");
        assert!(
            (counted..=counted + 4).contains(&received),
            "{packets:?} {object}"
        );
        assert!(received <= sent && sent > 0, "{packets:?}");
    }
}

/// A limit for the size of files stands for a disk that is full.
#[test]
fn records_that_a_rank_cannot_write_are_missed_and_not_status_0() {
    let scratch = Scratch::new("packets-full");
    let (program, file) = (build(PROGRAM, &scratch), scratch.path().join("job.pcapng"));
    let limited = "trap '' XFSZ; ulimit -f 8; exec \"$@\"";
    let job = Job::mpirun(2).args(["--transport", "rmpp", "--packets"]);
    let job = job
        .arg(&file)
        .args(["sh", "-c", limited, "sh"])
        .arg(program);
    let outcome = job.args(["8", "1000", "back"]).run().expect_code(1);
    let words = "mpirun: ranks 0, 1 could not record all packets";
    assert!(outcome.stderr.contains(words), "{}", outcome.report());
    assert!(packets_of(&file).values().all(|&count| count > 0));
}

#[test]
fn records_of_ranks_that_were_not_asked_by_mpirun_are_read_by_mpi_packets() {
    let scratch = Scratch::new("packets-alone");
    let (program, records) = (build(PROGRAM, &scratch), scratch.path().join("records"));
    std::fs::create_dir(&records).expect("a folder");
    let job = Job::mpirun(2).env("MPILITE_PACKETS", records.join("it"));
    let job = job.args(["--transport", "rmpp"]).arg(program);
    drop(job.args(["8", "10", "back"]).run().expect_code(0));
    let file = scratch.path().join("job.pcapng");
    let mut command = Command::new(tool("mpi-packets"));
    let status = command.arg("--packets").arg(&file).arg(&records).status();
    assert!(status.expect("it can be started").success());
    let packets = packets_of(&file);
    assert_eq!(packets.len(), 4);
    assert!(packets.values().all(|&count| count >= 10), "{packets:?}");
}

#[test]
fn shared_memory_has_no_packets() {
    let scratch = Scratch::new("packets-shm");
    let file = scratch.path().join("job.pcapng");
    for (option, transport) in [("--packets", "shm"), ("--sequence", "loopback")] {
        let job = Job::mpirun(1)
            .arg(option)
            .arg(&file)
            .args(["--transport", transport]);
        let outcome = job.arg("true").run().expect_failure();
        let outcome =
            outcome.expect_stderr(&format!("needs datagrams, and --transport {transport}"));
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.report());
    }
}

#[test]
fn a_bad_file_name_is_one_line_and_nothing_is_started() {
    for option in ["--packets", "--sequence"] {
        let job = Job::mpirun(2).args([option, "/nowhere/at/all", "echo", "started"]);
        let outcome = job.run().expect_failure();
        let outcome = outcome.expect_stderr(&format!("{option} /nowhere/at/all: "));
        assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.report());
        assert_eq!(outcome.stdout, "");
    }
}

#[test]
fn the_packets_of_a_rank_that_is_killed_are_in_the_file() {
    let scratch = Scratch::new("packets-killed");
    let (victim, file) = (
        build("tests/c/faults/victim.c", &scratch),
        scratch.path().join("it"),
    );
    let job = Job::mpirun(3).arg("--packets").arg(&file).arg(victim);
    let mut job = job.arg("receive").start();
    job.wait_for("ready", 3);
    let stdout = job.stdout();
    let line = stdout
        .lines()
        .find_map(|line| line.strip_prefix("ready 1 "));
    let id = line.and_then(|id| id.trim().parse().ok());
    Process::new(id.expect("its process")).signal(Signal::KILL);
    drop(job.finish().expect_code(137));
    assert_eq!(packets_of(&file).len(), 6);
}

/// A packet of a diagram: its sender, its kind, and the number behind `n=` of a CTS.
type Shown = (u32, String, Option<usize>);

/// The packets of a diagram, as they were sent. All of them have come.
fn diagram(bytes: &str) -> Vec<Shown> {
    let scratch = Scratch::new("sequence");
    let (program, file) = (build(PROGRAM, &scratch), scratch.path().join("job.svg"));
    let run = || {
        let job = Job::mpirun(2).env("MPILITE_RMPP", "classic");
        let job = job.env("MPILITE_PACKET_BYTES", "1000");
        let job = job.arg("--sequence").arg(&file).arg(&program);
        drop(job.args([bytes, "1"]).run().expect_code(0));
        std::fs::read_to_string(&file).expect("the diagram")
    };
    // A rank that waits long for its core repeats packets, which the figures do not.
    let mut runs = std::iter::repeat_with(run).take(RUNS);
    let has_repeats = |svg: &String| svg.matches(", info2 0,").count() < arrows_of(svg).count();
    let svg = runs.find(|svg| !has_repeats(svg));
    let svg = svg.expect("one of the runs is without repeated packets");
    arrows_of(&svg).map(shown).collect()
}

/// How often a job is run until its ranks are not delayed.
const RUNS: usize = 20;

fn arrows_of(svg: &str) -> impl Iterator<Item = &str> {
    svg.split("<g class=\"packet ").skip(1)
}

fn shown(arrow: &str) -> Shown {
    let attribute = |name: &str| {
        let (_, rest) = arrow
            .split_once(&format!("{name}=\""))
            .expect("the attribute");
        rest.split_once('"').expect("its end").0
    };
    assert_eq!(attribute("data-fate"), "received", "{arrow}");
    let grant = attribute("data-label")
        .strip_prefix("CTS n=")
        .and_then(|text| text.split(' ').next())
        .map(|number| number.parse().expect("a number"));
    let from = attribute("data-from").parse().expect("a rank");
    (from, attribute("data-kind").to_owned(), grant)
}

/// Sender and kind of each packet.
fn kinds(shown: &[Shown]) -> Vec<(u32, &str)> {
    shown.iter().map(|it| (it.0, &*it.1)).collect()
}

#[test]
fn a_short_message_is_figure_5_of_the_paper() {
    let shown = diagram("100");
    assert_eq!(kinds(&shown), [(0, "LAST_RTS"), (1, "MSGEND"), (0, "GCH")]);
}

#[test]
fn a_long_message_is_figure_6_of_the_paper() {
    // One packet with the RTS, two blocks of 16, and three more; 16 bytes are the envelope.
    let shown = diagram(&(36 * 1000 - 16).to_string());
    let mut expected = vec![(0, "RTS")];
    let mut left = 35;
    let grants: Vec<usize> = shown.iter().filter_map(|it| it.2).collect();
    for grant in &grants {
        expected.push((1, "CTS"));
        let block = left.min(*grant);
        expected.extend((1..block).map(|_| (0, "DATA")));
        left -= block;
        expected.push((0, if left == 0 { "LAST_DATA" } else { "STOP_DATA" }));
    }
    expected.extend([(1, "MSGEND"), (0, "GCH")]);
    assert_eq!(kinds(&shown), expected, "{shown:?}");
    assert_eq!(grants.len(), 3, "{grants:?}");
}

/// What `tshark` with our dissector prints of these fields, a line for each frame.
fn dissected(file: &Path, filter: &str, fields: &[&str]) -> Vec<String> {
    let script = source_root().join("docs/rmpp.lua");
    let mut command = Command::new("tshark");
    command
        .arg("-X")
        .arg(format!("lua_script:{}", script.display()));
    command.args(["-o", "udp.try_heuristic_first:TRUE"]);
    command
        .arg("-r")
        .arg(file)
        .args(["-Y", filter, "-T", "fields"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap_or_else(|error| {
        panic!("tshark cannot be started ({error}): install it (Debian: package tshark)")
    });
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && !errors.contains("Lua"),
        "{errors}"
    );
    let lines = String::from_utf8_lossy(&output.stdout);
    lines.lines().map(str::to_owned).collect()
}

#[test]
fn wiresharks_dissector_sees_every_packet_that_was_counted() {
    for options in [&[][..], &["-x", "MPILITE_RMPP=classic"], &["--secure"]] {
        let scratch = Scratch::new("packets-tshark");
        let (packets, object) = ping_pong(&scratch, options, ["200000", "20"]);
        let file = scratch.path().join("job.pcapng");
        let sent = "frame.interface_name contains \"sent\"";
        let lines = dissected(&file, sent, &["rmpp.kind"]);
        assert_eq!(lines.len() as u64, packets[1].1 + packets[3].1);
        let seen = lines
            .iter()
            .flat_map(|line| line.split(','))
            .filter(|it| !it.is_empty());
        let seen = seen.count() as u64;
        let counted = object["packets"].as_u64().expect("packets");
        assert!((counted..=counted + 8).contains(&seen), "{seen}: {object}");
        let strange = dissected(&file, "_ws.malformed or _ws.lua.error", &["frame.number"]);
        assert_eq!(strange, [""; 0]);
    }
}
