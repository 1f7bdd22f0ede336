//! Programs of MPICH with its own library under our `mpirun`, which serves them by PMI. Needs
//! `mpicc.mpich` (packages mpich, libmpich-dev), and `sshd` for two hosts.

use std::path::{Path, PathBuf};
use std::process::Command;

use mpi_lite_tests::{Job, Scratch, SshServer, c_source, tool};
use rustix::process::Signal;

const COMPILER: &str = "mpicc.mpich";
const SOURCE: &str = "tests/c/tools/other_mpi.c";

/// Compiles a C file of the source tree with the compiler of MPICH.
fn build(path: &str, scratch: &Scratch) -> PathBuf {
    let source = c_source(path);
    let binary = scratch.path().join(source.file_stem().expect("a file"));
    let output = Command::new(COMPILER)
        .args(["-O2", "-o"])
        .args([&binary, &source])
        .output();
    let output = output.unwrap_or_else(|error| panic!("{COMPILER} (package mpich): {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {said}", source.display());
    binary
}

/// The user asks for the library of MPICH: it comes before ours.
fn with_its_library(job: Job) -> Job {
    let output = Command::new("cc")
        .arg("-print-file-name=libmpich.so")
        .output();
    let output = output.expect("there is a compiler");
    let name = String::from_utf8_lossy(&output.stdout).into_owned();
    let library = Path::new(name.trim()).canonicalize();
    let library = library.expect("the library of package libmpich-dev");
    job.env("LD_LIBRARY_PATH", library.parent().expect("its folder"))
}

/// `tests/c/tools/other_mpi.c`, compiled.
struct Program {
    binary: PathBuf,
    scratch: Scratch,
}

impl Program {
    fn build() -> Self {
        let scratch = Scratch::new("mpich");
        let binary = build(SOURCE, &scratch);
        Self { binary, scratch }
    }

    /// A job in which rank 1 does what the word says.
    fn job(&self, ranks: usize, word: &str) -> Job {
        with_its_library(Job::mpirun(ranks))
            .arg(&self.binary)
            .arg(word)
    }
}

/// The lines that a job of the program prints, in any order.
fn expect_all(stdout: &str, ranks: usize) {
    let sum = ranks * (ranks + 1) / 2;
    for rank in 0..ranks {
        let line = format!("rank {rank} of {ranks}, sum {sum}\n");
        assert_eq!(stdout.matches(&line).count(), 1, "{line}: {stdout}");
    }
}

#[test]
fn ranks_of_one_host_are_one_job() {
    let program = Program::build();
    for ranks in [1, 2, 4] {
        let outcome = program.job(ranks, "").run().expect_code(0);
        expect_all(&outcome.stdout, ranks);
        assert_eq!(outcome.stderr, "");
    }
}

#[test]
fn ranks_of_two_hosts_are_one_job() {
    let server = SshServer::start();
    let binary = build(SOURCE, server.files.scratch());
    let job = Job::new(tool("mpirun")).env("MPILITE_SSH", server.files.client());
    let outcome = with_its_library(job)
        .args(["--host", "n1:2,n2:2", "-n", "4"])
        .arg(binary)
        .run()
        .expect_code(0);
    expect_all(&outcome.stdout, 4);
}

#[test]
fn a_pingpong_and_a_farm_end_well() {
    let scratch = Scratch::new("mpich");
    let pingpong = build("benches/c/pingpong.c", &scratch);
    drop(
        with_its_library(Job::mpirun(2).arg(pingpong))
            .run()
            .expect_code(0),
    );
    let farm = build("benches/c/farm.c", &scratch);
    let job = with_its_library(Job::mpirun(3).arg(farm).arg("100"));
    let outcome = job.run().expect_code(0);
    drop(outcome.expect_stdout("(right)"));
}

#[test]
fn a_shell_script_as_rank_runs_the_program() {
    let program = Program::build();
    let script = format!("cd /\n{}\necho done\n", program.binary.display());
    let script = program.scratch.write("script", &script);
    let job = with_its_library(Job::mpirun(2).arg("sh").arg(script));
    let outcome = job.run().expect_code(0);
    expect_all(&outcome.stdout, 2);
    assert_eq!(outcome.stdout.matches("done\n").count(), 2);
}

#[test]
fn a_rank_that_does_not_end_well_ends_the_job() {
    let program = Program::build();
    for (word, code, words) in [
        ("abort", 7, "aborted the job with code 7"),
        ("exit", 1, "exited without calling MPI_Finalize"),
        ("status", 5, "exited with status 5"),
    ] {
        let outcome = program.job(2, word).run().expect_code(code);
        outcome.expect_line(&["mpirun: rank 1", words]);
    }
}

#[test]
fn a_rank_that_is_killed_ends_the_job() {
    let program = Program::build();
    let mut job = program.job(2, "wait").start();
    job.wait_for("ready", 2);
    job.process_of("1").signal(Signal::KILL);
    let outcome = job.finish().expect_code(137);
    outcome.expect_line(&["mpirun: rank 1", "was killed by signal 9"]);
}

#[test]
fn the_input_goes_to_rank_0_and_lines_have_their_tags() {
    let program = Program::build();
    let outcome = program.job(2, "input").run().expect_code(0);
    let outcome = outcome.expect_stdout("rank 0 read 0 bytes");
    expect_all(&outcome.stdout, 2);
    let job = Job::new(tool("mpirun")).args(["--tag-output", "-n", "2"]);
    let job = with_its_library(job).arg(&program.binary);
    let outcome = job.run().expect_code(0);
    for rank in 0..2 {
        let line = format!("rank {rank} of 2, sum 3");
        let is_tagged = |it: &str| it.ends_with(&line) && !it.starts_with(&line);
        let has_tag = outcome.stdout.lines().any(is_tagged);
        assert!(has_tag, "{}", outcome.report());
    }
}

#[test]
fn a_job_that_is_too_late_is_ended_and_its_ranks_are_named() {
    let program = Program::build();
    let job = program.job(2, "wait").env("MPIEXEC_TIMEOUT", "1");
    let outcome = job.run().expect_code(124);
    outcome.expect_line(&["ranks 0-1", "another MPI"]);
}

#[test]
fn messages_that_get_no_seal_end_the_job_that_asks_for_one() {
    let program = Program::build();
    let job = Job::new(tool("mpirun")).args(["--secure", "-n", "2"]);
    let outcome = with_its_library(job).arg(&program.binary).run();
    let outcome = outcome.expect_failure();
    outcome.expect_line(&["runs a program of another MPI", "--secure does not protect"]);
}

#[test]
fn our_library_is_taken_where_nobody_asks_for_another() {
    let program = Program::build();
    for ranks in [1, 4] {
        let job = Job::new(tool("mpirun")).args(["--secure", "--stats", "-n", &ranks.to_string()]);
        let outcome = job.arg(&program.binary).run().expect_code(0);
        expect_all(&outcome.stdout, ranks);
    }
}
