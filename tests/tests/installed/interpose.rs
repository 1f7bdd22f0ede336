//! Profiling tools (MPI 5.0, 15.2): one that overrides `MPI_Send` and calls `PMPI_Send` works when
//! it is loaded before the library, linked before it, and linked with the static library.

use std::path::{Path, PathBuf};
use std::process::Command;

use mpi_lite_tests::{Job, Outcome, Scratch, c_source, prefix, tool};

const PROGRAM: &str = "tests/c/tools/three_sends.c";
const TOOL: &str = "tests/c/tools/count_sends.c";

fn build(compiler: &Path, words: &[&str], output: &Path) {
    let result = Command::new(compiler)
        .args(words)
        .arg("-o")
        .arg(output)
        .output();
    let result = result.unwrap_or_else(|error| panic!("{}: {error}", compiler.display()));
    let stderr = String::from_utf8_lossy(&result.stderr);
    assert!(
        result.status.success(),
        "{} {words:?}: {stderr}",
        compiler.display()
    );
}

fn source(path: &str) -> String {
    c_source(path).to_string_lossy().into_owned()
}

fn check_counts(outcome: Outcome) {
    let outcome = outcome
        .expect_code(0)
        .expect_stdout("tool: rank 0 made 3 sends");
    drop(outcome.expect_stdout("tool: rank 1 made 0 sends"));
}

fn run(binary: &PathBuf) -> Outcome {
    Job::mpirun(2).arg(binary).run()
}

#[test]
fn a_preloaded_tool_sees_the_calls() {
    let scratch = Scratch::new("preload");
    let (binary, library) = (
        scratch.path().join("program"),
        scratch.path().join("tool.so"),
    );
    build(&tool("mpicc"), &[&source(PROGRAM)], &binary);
    build(
        &tool("mpicc"),
        &["-shared", "-fPIC", &source(TOOL)],
        &library,
    );
    let preload = format!("LD_PRELOAD={}", library.display());
    check_counts(Job::mpirun(2).args(["-x", &preload]).arg(&binary).run());
}

#[test]
fn a_tool_linked_with_the_program_sees_the_calls() {
    let scratch = Scratch::new("link");
    let binary = scratch.path().join("program");
    build(&tool("mpicc"), &[&source(PROGRAM), &source(TOOL)], &binary);
    check_counts(run(&binary));
}

#[test]
fn a_tool_linked_with_the_static_library_sees_the_calls() {
    let scratch = Scratch::new("static");
    let binary = scratch.path().join("program");
    let include = format!("-I{}", prefix().join("include").display());
    let library = prefix().join("lib/libmpi_abi.a").display().to_string();
    let words = [&include, &source(PROGRAM), &source(TOOL), &library];
    let mut words: Vec<&str> = words.iter().map(|word| word.as_str()).collect();
    words.extend(["-lpthread", "-ldl", "-lm"]);
    build(Path::new("cc"), &words, &binary);
    check_counts(run(&binary));
}
