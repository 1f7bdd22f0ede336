//! How many instructions the calls take that every message passes, as callgrind counts them:
//! `tests/instructions.table` holds them, and none may take 3 % more. Counted are messages to
//! oneself, so that all of it is ours and no packet's arrival depends on chance; and messages
//! between two ranks that share memory, each of which is there before it is asked for. The first
//! are counted for both binary interfaces.
//!
//! `UPDATE=1` writes the table anew.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use mpi_lite_tests::{Job, Scratch, build, build_with, source_root};

/// Functions of `benches/c/calls.c`, which runs alone.
const CALLS: &[&str] = &[
    "send_standard",
    "receive_unexpected",
    "start_receive",
    "start_send",
    "test_pending",
    "wait_for_message",
    "wait_for_finished_send",
    "wait_for_window",
    "barrier_alone",
    "bcast_alone",
    "allreduce_alone",
];

/// Functions of `benches/c/shm_calls.c`, of which two run.
const SHM_CALLS: &[&str] = &[
    "shm_send",
    "shm_receive",
    "shm_send_body",
    "shm_receive_body",
    "shm_receive_unexpected",
    "shm_answer",
    "shm_start_receive",
    "shm_start_send",
    "shm_test_pending",
    "shm_wait_for_message",
    "shm_wait_for_window",
    "shm_bcast_give",
    "shm_bcast_take",
    "shm_reduce",
    "shm_bcast_send",
    "shm_bcast_receive",
];

const HEAD: &str = "\
# Instructions of one call, with the transport below it, under callgrind: benches/c/calls.c over the
# loopback, benches/c/shm_calls.c over shared memory; mpich_: by MPICH's binary interface.
# UPDATE=1 cargo test --package mpi-lite-tests --test installed instructions
";

/// Words that run a program under callgrind; the profile of the only rank, or of rank 0, comes to
/// `profile.0`.
const VALGRIND: &[&str] = &["valgrind", "--tool=callgrind", "--compress-strings=no"];

/// Counts the instructions of each call, those of what it calls included.
fn count(scratch: &Scratch) -> BTreeMap<String, u64> {
    let found = std::process::Command::new("valgrind")
        .arg("--version")
        .output();
    assert!(
        found.is_ok_and(|run| run.status.success()),
        "valgrind is missing, which counts the instructions: install the package valgrind"
    );
    let (valgrind, options) = (VALGRIND[0], &VALGRIND[1..]);
    let alone = |flags: &[&str]| {
        let scratch = Scratch::new("instructions-alone");
        let built = build_with("benches/c/calls.c", &scratch, flags);
        let job = Job::new(valgrind)
            .args(options)
            .arg("--callgrind-out-file=profile.0");
        profile(&scratch, job.arg(built), CALLS)
    };
    let mut counts = alone(&[]);
    let of_mpich = alone(&["--abi=mpich"]).into_iter();
    counts.extend(of_mpich.map(|(name, count)| (format!("mpich_{name}"), count)));
    // No turn is to be taken but by the calls: the thread that takes some sleeps, and no doorbell
    // wakes it, because nobody else does.
    let through_memory = Job::mpirun(2)
        .env("MPILITE_TICK_MS", "600000")
        .env("MPILITE_WAIT", "spin")
        .args(["--transport", "shm", valgrind])
        .args(options)
        .arg("--callgrind-out-file=profile.%q{MPILITE_RANK}");
    let built = build("benches/c/shm_calls.c", scratch);
    counts.extend(profile(scratch, through_memory.arg(built), SHM_CALLS));
    counts
}

/// The costs of `calls` in a program that `job` runs under callgrind.
fn profile(scratch: &Scratch, job: Job, calls: &[&str]) -> BTreeMap<String, u64> {
    let outcome = job
        .arg("arrivals")
        .directory(scratch.path())
        .deadline(Duration::from_secs(300))
        .run();
    let _ = outcome.expect_code(0);
    let text = std::fs::read_to_string(scratch.path().join("profile.0"))
        .expect("callgrind has written its profile");
    let row = |&call: &&str| (call.to_owned(), cost(&text, call));
    calls.iter().map(row).collect()
}

/// Instructions of one call of the function `name`. A profile tells of the calls
/// `cfn=name`, `calls=how-many where`, and in the next line `line instructions`.
fn cost(profile: &str, name: &str) -> u64 {
    let mut lines = profile.lines();
    let (mut calls, mut instructions) = (0, 0);
    let number = |word: Option<&str>| word.and_then(|word| word.parse::<u64>().ok());
    while let Some(line) = lines.next() {
        if line.strip_prefix("cfn=") != Some(name) {
            continue;
        }
        let how_many = lines.next().and_then(|line| line.strip_prefix("calls="));
        calls += number(how_many.and_then(|line| line.split(' ').next())).expect("calls=");
        instructions += number(lines.next().and_then(|line| line.split(' ').nth(1))).expect("cost");
    }
    assert!(calls > 0, "{name} was not called");
    instructions / calls
}

fn read(path: &Path) -> BTreeMap<String, u64> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    let row = |line: &str| {
        let (name, count) = line.split_once(' ')?;
        Some((name.to_owned(), count.trim().parse().ok()?))
    };
    rows.filter_map(row).collect()
}

#[test]
fn no_call_takes_more_instructions_than_it_did() {
    let scratch = Scratch::new("instructions");
    let now = count(&scratch);
    let path = source_root().join("tests/instructions.table");
    if std::env::var_os("UPDATE").is_some() {
        let rows = now
            .iter()
            .map(|(name, count)| format!("{name:28} {count:6}\n"));
        std::fs::write(&path, HEAD.to_owned() + &rows.collect::<String>()).expect("the table");
    }
    let before = read(&path);
    let known = before.keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        known,
        now.keys().cloned().collect::<Vec<_>>(),
        "the rows of the table"
    );
    let more = |(name, count): (&String, &u64)| {
        let limit = before[name] * 103 / 100;
        (*count > limit).then(|| format!("{name}: {count}, was {}", before[name]))
    };
    let dearer: Vec<String> = now.iter().filter_map(more).collect();
    assert!(
        dearer.is_empty(),
        "more than 3 % above the table: {dearer:#?}"
    );
}
