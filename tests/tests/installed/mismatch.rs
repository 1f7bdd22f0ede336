//! Processes that call different collectives are told which ones. A program that asks for it is
//! told what it leaves behind at its end.

use std::path::PathBuf;

use mpi_lite_tests::{Job, Outcome, Scratch, build};

const TRANSPORTS: [&str; 2] = ["rmpp", "shm"];

struct Program {
    _scratch: Scratch,
    binary: PathBuf,
}

impl Program {
    fn new() -> Self {
        let scratch = Scratch::new("mismatch");
        let binary = build("tests/c/faults/mismatch.c", &scratch);
        Self {
            _scratch: scratch,
            binary,
        }
    }

    fn run(&self, transport: &str, case: &str, check: &str) -> Outcome {
        let job = Job::mpirun(2).env("MPILITE_CHECK", check);
        self.start(job, transport, case)
    }

    /// With more ranks than cores.
    fn run_oversubscribed(&self, transport: &str, case: &str) -> Outcome {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        self.start(Job::mpirun(cores + 1), transport, case)
    }

    fn start(&self, job: Job, transport: &str, case: &str) -> Outcome {
        let job = job.args(["--transport", transport]);
        job.arg(&self.binary).args(case.split(' ')).run()
    }
}

/// Roots do not wait for the other members, which wait where a root never comes.
#[test]
fn waiting_ranks_that_share_cores_name_the_root_that_went_on() {
    let program = Program::new();
    for (case, call) in [
        ("bcast barrier", "MPI_Bcast(root 0)"),
        ("bcast-barrier-barrier", "MPI_Bcast(root 0)"),
        ("reduce-barrier", "MPI_Reduce(root 1)"),
        ("barrier scan", "MPI_Scan"),
    ] {
        for transport in TRANSPORTS {
            let outcome = program.run_oversubscribed(transport, case).expect_failure();
            let names_both = |line: &str| line.contains(call) && line.contains("MPI_Barrier");
            assert!(
                outcome.stderr.lines().any(names_both),
                "{case} over {transport}: {}",
                outcome.report()
            );
        }
    }
}

/// Whichever of them comes last, whatever it brings, and whichever finds it out.
#[test]
fn ranks_in_different_collectives_get_an_error_that_names_both() {
    const ALLGATHER: &str = "MPI_Allgather of ";
    const ALLREDUCE: &str = "MPI_Allreduce of 4 bytes";
    const ALLTOALL: &str = "MPI_Alltoall of ";
    const DUP: &str = "the creation of a communicator";
    let program = Program::new();
    for (case, mine, theirs) in [
        ("barrier allgather", "MPI_Barrier", ALLGATHER),
        ("allgather barrier", ALLGATHER, "MPI_Barrier"),
        ("allreduce barrier", ALLREDUCE, "MPI_Barrier"),
        ("alltoall allgather", ALLTOALL, ALLGATHER),
        ("allgather-long allreduce", ALLGATHER, ALLREDUCE),
        ("allreduce allgather-long", ALLREDUCE, ALLGATHER),
        ("alltoall scan", ALLTOALL, "MPI_Scan of 4 bytes"),
        ("bcast alltoall", "MPI_Bcast(root 0) of 4 bytes", ALLTOALL),
        ("dup allreduce", DUP, ALLREDUCE),
        ("barrier dup", "MPI_Barrier", DUP),
    ] {
        for outcome in [
            program.run("shm", case, "off"),
            program.run_oversubscribed("shm", case),
        ] {
            let outcome = outcome.expect_failure();
            let names_both = |line: &str| line.contains(mine) && line.contains(theirs);
            assert!(
                outcome.stderr.lines().any(names_both) && !outcome.stderr.contains("invalid data"),
                "{case}: {}",
                outcome.report()
            );
        }
    }
}

#[test]
fn ranks_in_different_nonblocking_collectives_get_an_error_that_names_both() {
    check("ibarrier ibcast", &["MPI_Ibarrier", "MPI_Ibcast(root 0)"]);
    check("ibcast ibarrier", &["MPI_Ibarrier", "MPI_Ibcast(root 0)"]);
    check(
        "allreduce-init dup",
        &["MPI_Allreduce_init", "another operation"],
    );
}

/// All have called the same: only the wait is missing, and the line says so.
#[test]
fn a_nonblocking_barrier_that_nobody_waits_for_differs_from_one_that_others_did_not_call() {
    let program = Program::new();
    let case = "ibarrier-unwaited ibarrier-unwaited";
    let outcome = program.run("rmpp", case, "off").expect_failure();
    let told = outcome.expect_stderr("MPI_Ibarrier on MPI_COMM_WORLD was begun and never");
    let told = told.expect_stderr("call MPI_Wait");
    assert!(
        !told.stderr.contains("same collective"),
        "{}",
        told.report()
    );
}

/// Roots wait for nobody, so what they sent is found when the program ends.
#[test]
fn two_roots_of_a_nonblocking_broadcast_are_found_out_at_the_end() {
    check("ibcast ibcast-1", &["MPI_Ibcast(root ", "never received"]);
}

/// The job fails, and standard error has all of these words in one line.
fn check(case: &str, words: &[&str]) {
    let program = Program::new();
    for transport in TRANSPORTS {
        let outcome = program.run(transport, case, "off").expect_failure();
        outcome.expect_line(words);
    }
}

/// Nobody waits for the process that misses it, so the end of the program shows it.
#[test]
fn a_collective_that_one_rank_missed_is_named_at_the_end() {
    for (case, call) in [
        ("bcast nothing", "MPI_Bcast(root 0)"),
        ("scatter nothing", "MPI_Scatter(root 0)"),
        ("nothing reduce", "MPI_Reduce(root 0)"),
        ("nothing gather", "MPI_Gather(root 0)"),
        ("bcast nothing copy", "MPI_Bcast(root 0)"),
        ("nothing reduce copy", "MPI_Reduce(root 0)"),
    ] {
        check(case, &["in MPI_Finalize", call, "never"]);
    }
}

#[test]
fn different_roots_of_a_bcast_are_named() {
    check("roots", &["MPI_Bcast(root "]);
}

#[test]
fn a_barrier_that_meets_an_allreduce_is_named() {
    check("barrier allreduce", &["MPI_Barrier", "MPI_Allreduce"]);
}

#[test]
fn a_reduce_that_meets_an_allreduce_is_named() {
    check("reduce-allreduce", &["MPI_Reduce(root 0)", "MPI_Allreduce"]);
}

#[test]
fn a_gather_that_meets_a_bcast_is_named() {
    check("gather-bcast", &["MPI_Gather(root 0)", "MPI_Bcast(root 1)"]);
}

/// Over shared memory the root sends a message, and the other waits where there are none.
#[test]
fn a_bcast_that_is_long_at_the_root_and_short_elsewhere_ends() {
    check("long-short", &["MPI_Bcast"]);
}

/// Over shared memory the root writes where the others do not look, and they wait for a message. By
/// messages the others get less than they expect.
#[test]
fn a_bcast_that_is_short_at_the_root_and_long_elsewhere_ends() {
    let program = Program::new();
    for transport in ["shm", "rmpp"] {
        let outcome = program.run(transport, "short-long", "off").expect_failure();
        let outcome = outcome.expect_stderr("sent 100 bytes in MPI_Bcast(root 0)");
        let _ = outcome.expect_stderr("where 100000 are expected");
    }
}

/// What is wrong and what to do are told whole, however many arguments the call has. Over shared
/// memory the reduce sends no message, and the other waits for one.
#[test]
fn an_error_of_a_call_with_many_arguments_keeps_its_advice_and_its_class() {
    let program = Program::new();
    for transport in TRANSPORTS {
        let outcome = program.run(transport, "alltoallw-reduce", "off");
        let outcome = outcome.expect_failure();
        let outcome = outcome.expect_stderr("in MPI_Alltoallw(");
        let outcome = outcome.expect_stderr("MPI_Reduce(root 1)");
        let _ = outcome.expect_stderr("in the same order, with the same root [MPI_ERR_ARG]\n");
    }
}

#[test]
fn different_roots_of_a_bcast_are_named_though_another_collective_follows() {
    check("roots-allreduce", &["MPI_Bcast(root "]);
    let shm = Program::new()
        .run("shm", "roots-allreduce", "off")
        .expect_failure();
    let words = "in the collective call before this one, this process called MPI_Bcast(root ";
    let _ = shm.expect_stderr(words);
}

#[test]
fn leftovers_of_a_program_are_reported_if_the_setting_asks_for_it() {
    let program = Program::new();
    for transport in TRANSPORTS {
        let silent = program.run(transport, "leaves", "off").expect_code(0);
        assert_eq!(silent.stderr, "", "{}", silent.report());
        let told = program.run(transport, "leaves", "on").expect_code(0);
        let line = "rank 1 on host";
        let told = told.expect_stderr(line);
        let told = told.expect_stderr("messages never received: 2 (the first from rank 0, tag 5)");
        let told = told.expect_stderr("requests never completed or freed: 1");
        let nothing = "messages never received: 0; requests never completed or freed: 0\n";
        let told = told.expect_stderr("rank 0 on host").expect_stderr(nothing);
        assert_eq!(told.stderr.lines().count(), 2, "{}", told.report());
        let told = program
            .run(transport, "leaves-partitions", "on")
            .expect_code(0);
        let line = "messages never received: 1 (the first from rank 0, tag 5, partitioned); \
                    partitions never received: 4; requests";
        let _ = told.expect_stderr(line);
    }
}

/// What a process gives to itself must fill its place, as what it gives to others must.
#[test]
fn a_short_contribution_to_a_collective_is_an_error() {
    let scratch = Scratch::new("mismatch-short");
    let binary = build("tests/c/faults/short_block.c", &scratch);
    for transport in TRANSPORTS {
        for call in [
            "allgather",
            "allgatherv",
            "alltoall",
            "alltoallv",
            "gather",
            "scatter",
        ] {
            let job = Job::mpirun(2).args(["--transport", transport]);
            let outcome = job.arg(&binary).arg(call).run().expect_failure();
            outcome.expect_line(&["4 bytes", "40", "the same amount of data"]);
        }
    }
}

/// Whoever finds the mistake leaves the operation; the others would wait for messages of that one.
#[test]
fn each_rank_of_a_mismatched_collective_gets_its_error_and_goes_on_without_it() {
    const RANKS: usize = 4;
    let scratch = Scratch::new("mismatch-returned");
    let binary = build("tests/c/faults/mismatch_returned.c", &scratch);
    let cases = [
        ("barrier", "allreduce"),
        ("allreduce", "barrier"),
        ("bcast", "barrier"),
        ("bcast", "bcast-1"),
        ("bcast", "bcast-half"),
        ("ibcast", "ibcast-half"),
        ("allreduce", "allreduce-half"),
        ("scan", "allgather"),
        ("alltoall", "bcast"),
        ("iscan", "iscan-half"),
        ("iscan", "iallgather"),
        ("ialltoall", "iscan"),
    ];
    for transport in TRANSPORTS {
        for (first, others) in cases {
            // Halves of the longest go in the same pieces, but fewer. In shared memory nobody
            // notices that at the end of an allreduce, and the job is reported to hang.
            let lengths = ["40", "100000", "1048576"];
            let number = if transport == "shm" { 2 } else { 3 };
            for bytes in &lengths[..number] {
                let outcome = Job::mpirun(RANKS)
                    .args(["--transport", transport, "--timeout", "60"])
                    .arg(&binary)
                    .args([first, others, *bytes])
                    .run();
                let count = |word| outcome.stdout.matches(word).count();
                // The root of a broadcast and the first rank of a scan wait for nobody: they may be
                // done before.
                let roots = [
                    first.contains("bcast") || first.contains("scan"),
                    others == "bcast-1",
                ];
                let told = RANKS - roots.into_iter().filter(|is_root| *is_root).count();
                assert!(
                    count("told") >= told && count("goes on") == RANKS,
                    "{first} {others} {bytes} over {transport}: {}",
                    outcome.report()
                );
            }
        }
    }
}
