//! A rank that dies takes the job with it: soon, with the right exit code and with a line that
//! names rank, process and reason; nothing is left behind, wherever the rank was in its life.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use mpi_lite_tests::{Job, Process, Running, SOON, Scratch, build, wait_until_gone};
use rustix::process::Signal;

const RANKS: usize = 3;

/// What a job of one machine can run over.
const TRANSPORTS: [&str; 7] = ["rmpp", "shm", "gobackn", "unet", "sctp", "tcp", "tcp-trc"];

/// A program of `tests/c/faults`, compiled, and the folder that it lies in.
fn faulty(name: &str) -> (Scratch, PathBuf) {
    let scratch = Scratch::new(name);
    let binary = build(&format!("tests/c/faults/{name}.c"), &scratch);
    (scratch, binary)
}

struct Victim {
    scratch: Scratch,
    binary: PathBuf,
}

impl Victim {
    fn new() -> Self {
        let (scratch, binary) = faulty("victim");
        Self { scratch, binary }
    }

    fn start(&self, transport: &str, words: &[&str]) -> Running {
        Job::mpirun(RANKS)
            .args(["--transport", transport])
            .arg(&self.binary)
            .args(words)
            .start()
    }
}

/// Ends the victim; the job must end soon, with this code and these words on standard error.
fn check_end(job: Running, victim: Process, signal: Signal, code: i32, words: &[&str]) {
    let everybody = job.process().descendants();
    let moment = Instant::now();
    victim.signal(signal);
    let mut outcome = job.finish().expect_code(code);
    let took = moment.elapsed();
    assert!(
        took < SOON,
        "the job went on for {took:?}: {}",
        outcome.report()
    );
    for word in words {
        outcome = outcome.expect_stderr(word);
    }
    outcome = outcome.expect_stderr(&victim.id().to_string());
    wait_until_gone(&everybody);
    let lines = outcome.stderr.lines().count();
    assert!(
        lines <= 3,
        "a line or two, not {lines}: {}",
        outcome.report()
    );
}

fn kill_in(phase: &str) {
    let program = Victim::new();
    for transport in TRANSPORTS {
        let mut job = program.start(transport, &[phase]);
        job.wait_for("ready", RANKS);
        let victim = job.process_of("1");
        check_end(job, victim, Signal::KILL, 137, &["rank 1", "signal 9"]);
    }
}

#[test]
fn a_rank_killed_before_it_joins_ends_the_ranks_that_wait_in_init() {
    let program = Victim::new();
    for transport in TRANSPORTS {
        let file = program.scratch.path().join(transport).display().to_string();
        let mut job = program.start(transport, &["init", &file]);
        job.wait_for("ready ?", 1);
        let victim = job.process_of("?");
        check_end(job, victim, Signal::KILL, 137, &["rank ", "signal 9"]);
    }
}

#[test]
fn a_rank_killed_while_it_computes_ends_the_job() {
    kill_in("compute");
}

#[test]
fn a_rank_killed_in_a_blocked_receive_ends_the_job() {
    kill_in("receive");
}

#[test]
fn a_rank_killed_in_the_middle_of_a_transfer_ends_the_job() {
    kill_in("transfer");
}

#[test]
fn a_rank_killed_among_barriers_ends_the_job() {
    kill_in("barrier");
}

#[test]
fn a_rank_killed_while_the_others_are_in_finalize_ends_the_job() {
    kill_in("finalize");
}

#[test]
fn a_segmentation_fault_is_reported_as_what_it_is() {
    let program = Victim::new();
    for transport in TRANSPORTS {
        let mut job = program.start(transport, &["receive"]);
        job.wait_for("ready", RANKS);
        let victim = job.process_of("2");
        check_end(job, victim, Signal::SEGV, 139, &["rank 2", "signal 11"]);
    }
}

#[test]
fn a_rank_that_exits_with_a_code_gives_the_job_its_code() {
    let program = Victim::new();
    for transport in TRANSPORTS {
        let outcome = program.start(transport, &["exit", "3"]).finish();
        drop(outcome.expect_code(3).expect_stderr("rank 1"));
    }
}

#[test]
fn a_rank_that_leaves_without_finalize_is_reported_and_fails_the_job() {
    let program = Victim::new();
    for transport in TRANSPORTS {
        let outcome = program.start(transport, &["leave"]).finish();
        drop(
            outcome
                .expect_code(1)
                .expect_stderr("rank 1")
                .expect_stderr("MPI_Finalize"),
        );
    }
}

fn signal_to_mpirun(signal: Signal, code: i32) {
    let program = Victim::new();
    for transport in TRANSPORTS {
        let mut job = program.start(transport, &["receive"]);
        job.wait_for("ready", RANKS);
        let everybody = job.process().descendants();
        let moment = Instant::now();
        job.signal(signal);
        let outcome = job.finish().expect_code(code);
        assert!(moment.elapsed() < SOON, "too late: {}", outcome.report());
        wait_until_gone(&everybody);
    }
}

#[test]
fn an_interrupt_to_mpirun_ends_the_job_with_130() {
    signal_to_mpirun(Signal::INT, 130);
}

#[test]
fn a_termination_of_mpirun_ends_the_job_with_143() {
    signal_to_mpirun(Signal::TERM, 143);
}

#[test]
fn when_mpirun_is_killed_no_rank_is_left() {
    signal_to_mpirun(Signal::KILL, 137);
}

/// As by a debugger or a machine that was put to sleep: the others wait, nothing is lost.
#[test]
fn a_rank_that_is_stopped_for_two_seconds_is_waited_for() {
    let scratch = Scratch::new("stopped");
    let binary = build("tests/c/faults/steady.c", &scratch);
    let jobs = TRANSPORTS.map(|transport| {
        let stop = scratch.path().join(transport);
        let job = Job::mpirun(RANKS).args(["--transport", transport]);
        let mut job = job.arg(&binary).arg(&stop).start();
        job.wait_for("ready", RANKS);
        let ranks = job.process().running(&binary);
        assert_eq!(ranks.len(), RANKS, "the ranks run the program itself");
        ranks[1].signal(Signal::STOP);
        (job, ranks[1], stop)
    });
    // The stop itself: longer than every timer of the protocol that could give up.
    std::thread::sleep(Duration::from_secs(2));
    for (job, rank, stop) in jobs {
        rank.signal(Signal::CONT);
        std::fs::write(&stop, "").expect("the file that ends the job");
        drop(job.finish().expect_code(0).expect_stdout("all right"));
    }
}

/// The system answers EFAULT. That is about memory of this process: no peer is to blame, and no
/// wait helps.
#[test]
fn a_buffer_that_the_system_cannot_use_ends_the_job_at_its_own_rank() {
    for (program, culprit, read) in [
        ("unreadable", "rank 0", "read"),
        ("unwritable", "rank 1", "write"),
    ] {
        let (_scratch, binary) = faulty(program);
        for transport in TRANSPORTS {
            let job = Job::mpirun(2).args(["--transport", transport]).arg(&binary);
            let outcome = job.run().expect_code(139);
            let mut outcome = outcome.expect_stderr(culprit).expect_stderr("signal 11");
            if ["rmpp", "tcp", "tcp-trc"].contains(&transport) {
                let told = format!("mpi-lite: {culprit}");
                outcome = outcome.expect_stderr(&told);
                let told = format!("the system cannot {read} the data of a message");
                outcome = outcome.expect_stderr(&told);
            }
            assert!(!outcome.stderr.contains("is lost"), "{}", outcome.report());
        }
    }
}

#[test]
fn a_rank_that_cannot_reach_mpirun_prints_its_error_itself() {
    let (_scratch, binary) = faulty("closed");
    for transport in TRANSPORTS {
        let job = Job::mpirun(2).args(["--transport", transport]).arg(&binary);
        let outcome = job.run().expect_failure().expect_stderr("on rank 0");
        drop(outcome.expect_stderr("MPI_ERR_RANK"));
    }
}

#[test]
fn a_program_that_closes_the_sockets_of_mpi_is_told() {
    let (_scratch, binary) = faulty("closed");
    let job = Job::mpirun(2).args(["--transport", "rmpp"]);
    let job = job.env("MPILITE_LOST_S", "2").arg(&binary).arg("wait");
    let outcome = job.run().expect_failure();
    drop(outcome.expect_stderr("has closed file descriptors of MPI"));
}

/// A rank that is stopped answers nothing; the job goes on, and so do the ranks that can.
#[test]
fn survivors_of_a_lost_rank_go_on_with_each_other() {
    let (_scratch, binary) = faulty("survivors");
    let job = Job::mpirun(RANKS)
        .args(["--transport", "rmpp"])
        .env("MPILITE_LOST_S", "2")
        .arg(&binary);
    let outcome = job.run().expect_code(1);
    let outcome = outcome.expect_stdout("survivor 0: all right");
    drop(outcome.expect_stdout("survivor 1: all right"));
}

/// One rank of four stops in the middle of each kind of collective operation.
#[test]
fn each_survivor_of_a_collective_gets_its_error_and_the_next_one_without_the_lost_rank_works() {
    const LOST_S: u32 = 2;
    let (_scratch, binary) = faulty("bereaved");
    let jobs = [
        (8, 0),
        (100_000, 0),
        (3_000_000, 1),
        (100_000, 2),
        (40_000, 6),
    ];
    let jobs = jobs.map(|(bytes, first)| {
        let job = Job::mpirun(4)
            .args(["--transport", "rmpp"])
            .env("MPILITE_LOST_S", LOST_S.to_string())
            .arg(&binary)
            .args([&bytes.to_string(), &first.to_string(), "60"]);
        (job.start(), bytes, first)
    });
    for (job, bytes, first) in jobs {
        let outcome = job.finish().expect_code(1);
        let told = outcome.stdout.matches("survivor: all right").count();
        assert_eq!(
            told,
            3,
            "{bytes} bytes, {first} first: {}",
            outcome.report()
        );
        let outcome = outcome.expect_stderr("rank 3 (pid ");
        drop(outcome.expect_stderr("is lost: "));
    }
}

/// The rank that works on is at it until the other one has found the loss and finalized.
#[test]
fn a_survivor_that_finalizes_does_not_end_the_others() {
    let (scratch, binary) = faulty("finalizes_early");
    let job = Job::mpirun(RANKS)
        .args(["--transport", "rmpp"])
        .env("MPILITE_LOST_S", "2")
        .arg(&binary)
        .arg(scratch.path().join("finalized"));
    let outcome = job.run().expect_code(1);
    let outcome = outcome.expect_stdout("the work is done");
    let outcome = outcome.expect_stderr("rank 2 (pid ");
    let outcome = outcome.expect_stderr("has finalized without it");
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.report());
}
