//! Programs under valgrind: it reports nothing about the library, so that it is of use to users who
//! look for the mistakes of their own program.

use std::time::Duration;

use mpi_lite_tests::{Job, Scratch, build};

/// Programs with their ranks: messages of two ranks that wait for each other, collectives of three.
const PROGRAMS: [(&str, usize); 2] = [("point_to_point/order", 2), ("collective/reduce", 3)];

/// Valgrind runs one thread at a time, some thirty times slower.
const DEADLINE: Duration = Duration::from_secs(300);

#[test]
fn valgrind_finds_nothing_in_the_library() {
    let scratch = Scratch::new("memcheck");
    for (program, ranks) in PROGRAMS {
        let binary = build(&format!("tests/c/{program}.c"), &scratch);
        for transport in ["shm", "rmpp"] {
            let words = [
                "valgrind",
                "--quiet",
                "--error-exitcode=9",
                "--leak-check=full",
            ];
            let job = Job::mpirun(ranks).args(["--transport", transport]);
            let job = job.args(words).arg(&binary).deadline(DEADLINE);
            let outcome = job.run().expect_code(0);
            assert!(outcome.stderr.is_empty(), "{}", outcome.report());
        }
    }
}
