//! An exception that leaves a function of the program inside a call of MPI ends the job in words
//! (docs/decisions/0030-exceptions-stop.md), also if somebody above would catch it.

use std::path::PathBuf;
use std::process::Command;

use mpi_lite_tests::{Job, Outcome, Scratch, c_source, tool};

fn compile(scratch: &Scratch, flags: &[&str]) -> PathBuf {
    let binary = scratch.path().join("exception");
    let output = Command::new(tool("mpicxx"))
        .args(["-std=c++11", "-Wall", "-Wextra", "-Werror", "-O1", "-o"])
        .arg(&binary)
        .arg(c_source("tests/c/faults/exception.cpp"))
        .args(flags)
        .output()
        .unwrap_or_else(|error| panic!("mpicxx: {error}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    binary
}

fn run(mode: &str, transport: &str) -> Outcome {
    run_linked(&[], mode, transport)
}

fn run_linked(flags: &[&str], mode: &str, transport: &str) -> Outcome {
    let scratch = Scratch::new("exception");
    let binary = compile(&scratch, flags);
    let job = Job::mpirun(2).args(["--transport", transport]);
    job.arg(binary).arg(mode).run()
}

#[test]
fn an_exception_out_of_a_function_of_the_program_ends_the_job_with_its_name() {
    for (mode, call, function) in [
        ("operator", "MPI_Allreduce", "operator"),
        ("handler", "MPI_Send", "error handler"),
        ("copy", "MPI_Comm_dup", "attribute copy function"),
        (
            "delete",
            "MPI_Comm_delete_attr",
            "attribute delete function",
        ),
        ("event", "MPI_Barrier", "event callback"),
        ("query", "MPI_Wait", "query function"),
    ] {
        for transport in ["rmpp", "shm"] {
            let outcome = run(mode, transport).expect_code(1);
            let line = format!("in {call}: an exception");
            let outcome = outcome.expect_stderr(&line).expect_stderr(function);
            let report = outcome.report();
            assert!(!outcome.stdout.contains("unwound"), "{report}");
            assert!(!outcome.stderr.contains("internal error"), "{report}");
            assert_eq!(outcome.stderr.lines().count(), 1, "{report}");
        }
    }
}

#[test]
fn an_exception_that_stays_in_the_function_is_the_programs_own_affair() {
    let outcome = run("catch", "rmpp").expect_code(0);
    assert_eq!(outcome.stdout.matches("all right").count(), 2);
}

/// The static library has what the unwinder needs.
#[test]
fn an_exception_is_named_in_a_program_with_the_static_library_too() {
    let outcome = run_linked(&["-static-mpi"], "operator", "shm").expect_code(1);
    drop(outcome.expect_stderr("in MPI_Allreduce: an exception"));
}
