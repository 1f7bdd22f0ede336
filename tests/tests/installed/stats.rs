//! `mpirun --stats` with MPI programs: the figures of all ranks agree with each other, and a job
//! that breaks still tells what it counted.

use mpi_lite_tests::{Job, Process, Scratch, build};
use rustix::process::Signal;
use serde_json::Value;

/// The object among the lines of standard error.
pub(crate) fn object(stderr: &str) -> Value {
    let line = stderr.lines().find(|line| line.starts_with('{'));
    let line = line.unwrap_or_else(|| panic!("no object: {stderr}"));
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

pub(crate) fn sum(object: &Value, counter: &str) -> u64 {
    object["counters"][counter]["sum"]
        .as_u64()
        .unwrap_or_else(|| panic!("no sum of {counter}: {object}"))
}

#[test]
fn all_that_was_sent_was_received_and_every_message_takes_a_packet() {
    let scratch = Scratch::new("stats");
    let program = build("tests/c/collective/mixed.c", &scratch);
    let job = Job::mpirun(4).args(["--transport", "rmpp", "--stats=json"]);
    let outcome = job.arg(program).run().expect_code(0);
    let object = object(&outcome.stderr);
    assert_eq!(
        (&object["ranks"], &object["reported"]),
        (&4.into(), &4.into())
    );
    let sum = |counter| sum(&object, counter);
    assert!(sum("mpi_messages_sent") > 0, "{object}");
    assert_eq!(sum("mpi_messages_sent"), sum("mpi_messages_received"));
    assert_eq!(sum("mpi_bytes_sent"), sum("mpi_bytes_received"));
    let messages = sum("rmpp_messages_sent");
    assert!(
        messages > 0 && messages <= sum("mpi_messages_sent"),
        "{object}"
    );
    assert!(object["packets"].as_u64() >= Some(messages), "{object}");
    assert!(
        sum("udp_datagrams_sent") >= sum("udp_datagrams_received"),
        "{object}"
    );
    for counter in ["udp_foreign", "udp_misplaced", "rmpp_dropped_version"] {
        assert_eq!(sum(counter), 0, "{counter}");
    }
}

#[test]
fn a_program_that_is_alone_has_no_packets() {
    let scratch = Scratch::new("stats-alone");
    let program = build("tests/c/point_to_point/self.c", &scratch);
    let outcome = Job::mpirun(1)
        .arg("--stats")
        .arg(program)
        .run()
        .expect_code(0);
    let outcome = outcome.expect_stderr("mpirun: counters of 1 rank\n");
    let outcome = outcome.expect_stderr("  mpi_messages_sent ");
    assert!(!outcome.stderr.contains("packets"), "{}", outcome.report());
}

#[test]
fn ranks_that_are_killed_with_their_job_report_nothing() {
    let scratch = Scratch::new("stats-killed");
    let victim = build("tests/c/faults/victim.c", &scratch);
    let mut job = Job::mpirun(3)
        .arg("--stats")
        .arg(victim)
        .arg("receive")
        .start();
    job.wait_for("ready", 3);
    let stdout = job.stdout();
    let line = stdout
        .lines()
        .find_map(|line| line.strip_prefix("ready 1 "));
    let id = line.and_then(|id| id.trim().parse().ok());
    Process::new(id.expect("its process")).signal(Signal::KILL);
    let outcome = job.finish().expect_code(137).expect_stderr("rank 1 ");
    drop(outcome.expect_stderr("mpirun: counters: no rank has reported any"));
}

#[test]
fn a_rank_that_aborts_reports_first() {
    let scratch = Scratch::new("stats-abort");
    let program = build("tests/c/bad_arguments/point_to_point.c", &scratch);
    let job = Job::mpirun(2).arg("--stats").arg(program);
    let outcome = job.args(["fatal", "send_to_99"]).run().expect_code(1);
    let outcome = outcome.expect_stderr("MPI error ");
    drop(outcome.expect_stderr("mpirun: counters of 1 of 2 ranks"));
}
