//! What the ranks wrote before the job was aborted reaches the user: what is still in the buffers
//! of the rank that aborts, what its exit handlers write, and what others wrote.

use mpi_lite_tests::{Job, Outcome, Scratch, build};

/// Rank 0 ends the job in each of the ways and exits with `handler`, over each transport.
fn end_jobs(ways: &[&str], handler: &str) -> Vec<Outcome> {
    let scratch = Scratch::new("last-words");
    let program = build("tests/c/tools/last_words.c", &scratch);
    let mut outcomes = Vec::new();
    for transport in ["shm", "rmpp"] {
        for way in ways {
            let job = Job::mpirun(2).args(["--transport", transport]);
            let outcome = job.arg(&program).args([*way, handler]).run();
            assert_ne!(outcome.code, Some(0), "{}", outcome.report());
            outcomes.push(outcome);
        }
    }
    outcomes
}

#[test]
fn a_rank_that_aborts_flushes_its_output_before_it_reports_to_the_launcher() {
    for outcome in end_jobs(&["abort", "error"], "hang") {
        drop(outcome.expect_stdout("last words\n"));
    }
}

#[test]
fn a_rank_that_aborts_runs_its_exit_handlers_while_the_others_are_ended() {
    for outcome in end_jobs(&["abort", "error"], "outlive") {
        // The other rank's line may come between these two.
        let outcome = outcome.expect_stdout("last words\n");
        drop(outcome.expect_stdout("rank 0 outlived rank 1\n"));
    }
}

#[test]
fn output_that_another_rank_wrote_before_an_abort_is_shown() {
    for outcome in end_jobs(&["abort"; 10], "none") {
        let outcome = outcome.expect_code(3).expect_stdout("last words\n");
        drop(outcome.expect_stdout("rank 1 wrote this\n"));
    }
}

#[test]
fn the_text_that_the_program_gave_to_its_error_code_is_in_the_line_of_the_default_handler() {
    for outcome in end_jobs(&["raise"], "none") {
        let text = r"the tank is empty\nfill it [MPI_ERR_FILE]";
        let is_shown = outcome.stderr.lines().any(|line| line.ends_with(text));
        assert!(is_shown, "{}", outcome.report());
    }
}
