//! What the system does not give: limits of files, and calls that a sandbox forbids. An error says
//! what cannot be had and what to raise; where there is another way, a job goes it.

use std::path::PathBuf;

use mpi_lite_tests::{Job, Scratch, build};

/// A program, and what runs it in a sandbox.
struct Sandbox {
    scratch: Scratch,
    forbid: PathBuf,
}

impl Sandbox {
    fn new(name: &str) -> Self {
        let scratch = Scratch::new(name);
        let forbid = build("tests/c/tools/forbid.c", &scratch);
        Self { scratch, forbid }
    }

    /// Two ranks, to which the system answers each of `calls` with an error of that number.
    fn job(&self, transport: &str, calls: &[(&str, i32)]) -> Job {
        let mut job = Job::mpirun(2).args(["--transport", transport]);
        for (call, error) in calls {
            job = job.arg(&self.forbid).args([call, &*error.to_string()]);
        }
        job
    }

    fn large(&self) -> PathBuf {
        build("tests/c/point_to_point/large.c", &self.scratch)
    }
}

/// Numbers of errors, the same on every Linux system that the library runs on.
const EPERM: i32 = 1;
const EAGAIN: i32 = 11;
const ENOSYS: i32 = 38;

#[test]
fn init_names_what_a_sandbox_or_a_limit_does_not_give_and_what_to_raise() {
    let sandbox = Sandbox::new("limits-init");
    let program = sandbox.large();
    for (call, error, transport, words) in [
        (
            "eventfd2",
            EPERM,
            "shm",
            ["(eventfd)", "not permitted", "seccomp"],
        ),
        (
            "eventfd2",
            ENOSYS,
            "rmpp",
            ["(eventfd)", "not implemented", "seccomp"],
        ),
        (
            "clone3",
            EAGAIN,
            "rmpp",
            [
                "thread that works",
                "unavailable",
                "processes and threads of",
            ],
        ),
        (
            "socket",
            EPERM,
            "rmpp",
            ["UDP socket on 127.0.0.1", "not permitted", "seccomp"],
        ),
    ] {
        let job = sandbox.job(transport, &[(call, error)]).arg(&program);
        let outcome = job.run().expect_failure();
        outcome.expect_line(&[&["MPI_Init", "cannot "], &words[..]].concat());
    }
}

#[test]
fn init_names_the_limit_of_open_files_whatever_it_needs_the_next_one_for() {
    let scratch = Scratch::new("limits-files");
    let program = build("tests/c/point_to_point/large.c", &scratch);
    // A rank has descriptors 0 to 2 and that of mpirun's channel; each limit stops it later.
    let script = "ulimit -n $0; exec \"$@\"";
    let (mut refused, mut limit) = (0, 4);
    loop {
        let limit_word = limit.to_string();
        let job = Job::mpirun(2).args(["--transport", "rmpp", "sh", "-c", script, &limit_word]);
        let outcome = job.arg(&program).run();
        if outcome.code == Some(0) {
            break;
        }
        if outcome.stderr.contains("MPI_Init") {
            let the_limit = format!("the limit is {limit} open files");
            let words = ["cannot ", "Too many open files", &*the_limit, "ulimit -n"];
            outcome.expect_line(&words);
            refused += 1;
        }
        assert!(limit < 64, "it needs few: {}", outcome.report());
        limit += 1;
    }
    assert!(refused >= 3, "channel, socket, eventfd: {refused}");
}

/// Long messages leave in batches and come in batches.
#[test]
fn a_sandbox_that_forbids_to_send_and_receive_in_batches_costs_time_but_no_message() {
    let sandbox = Sandbox::new("limits-batches");
    let program = sandbox.large();
    for error in [EPERM, ENOSYS] {
        for calls in [
            &[("sendmmsg", error)][..],
            &[("recvmmsg", error)],
            &[("sendmmsg", error), ("recvmmsg", error)],
        ] {
            let outcome = sandbox.job("rmpp", calls).arg(&program).run();
            let outcome = outcome.expect_code(0);
            assert!(outcome.stderr.is_empty(), "{calls:?}: {}", outcome.report());
        }
    }
}

/// As containers forbid it: long messages then go through shared memory.
#[test]
fn a_sandbox_that_forbids_to_copy_from_process_to_process_costs_no_message() {
    let sandbox = Sandbox::new("limits-copy");
    let program = sandbox.large();
    let calls = [("process_vm_readv", EPERM), ("process_vm_writev", EPERM)];
    let job = sandbox.job("shm", &calls).arg(&program);
    let outcome = job.env("MPILITE_COPY_ACROSS", "always").run();
    let outcome = outcome.expect_code(0);
    assert!(outcome.stderr.is_empty(), "{}", outcome.report());
}

#[test]
fn a_connection_for_each_tag_ends_at_the_limit_of_open_files_with_a_line_that_says_so() {
    let scratch = Scratch::new("limits-tags");
    let program = build("tests/c/faults/many_tags.c", &scratch);
    let job = |transport| {
        Job::mpirun(2)
            .args(["--transport", transport])
            .args(["sh", "-c", "ulimit -n 64 && exec \"$0\""])
            .arg(&program)
    };
    let outcome = job("tcp-trc").run().expect_failure();
    outcome.expect_line(&[
        "is lost: ",
        "the limit is 64 open files",
        "tcp-trc needs a connection for each tag",
        "--transport tcp",
    ]);
    let _ = job("tcp").run().expect_code(0);
}
