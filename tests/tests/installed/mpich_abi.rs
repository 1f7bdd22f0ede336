//! `libmpi.so.12`: what it exports, and programs that the compiler of MPICH made, over our library.
//! Needs `mpicc.mpich` (package mpich) for its `mpi.h`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use mpi_lite_tests::{Exit, Job, Program, Scratch, c_source, prefix, programs};

const COMPILER: &str = "mpicc.mpich";

const CHAPTERS: &[&str] = &[
    "collective",
    "communicator",
    "datatype",
    "environment",
    "partitioned",
    "point_to_point",
    "session",
    "tool_support",
    "topology",
];

/// Programs that MPICH's header or interface cannot have: why.
const OTHERS: &[(&str, &str)] = &[
    (
        "communicator/split_guided",
        "MPI_COMM_TYPE_RESOURCE_GUIDED is of MPI 4.1",
    ),
    (
        "datatype/f90",
        "it checks the integers of the standard's handles",
    ),
    (
        "environment/abi",
        "it checks the standard's binary interface",
    ),
    (
        "environment/null_objects",
        "MPI_ERR_ERRHANDLER is of MPI 4.1",
    ),
    (
        "environment/start",
        "the header is of MPI 4.0, the library of 5.0",
    ),
    (
        "point_to_point/buffer_comm",
        "MPI_BUFFER_AUTOMATIC is of MPI 4.1",
    ),
    ("session/buffers", "MPI_BUFFER_AUTOMATIC is of MPI 4.1"),
    (
        "tool_support/events",
        "what an event holds is in the standard's numbers",
    ),
];

fn library() -> PathBuf {
    prefix().join("lib/libmpi.so.12")
}

/// What a program prints that ends well.
pub(crate) fn call(program: impl AsRef<Path>, arguments: &[&str]) -> String {
    let program = program.as_ref().display().to_string();
    let output = Command::new(&program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{program} is needed for this test: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Compiles a C file with the header of MPICH, and links it with our library alone.
fn build(source: &Path, name: &str, scratch: &Scratch) -> PathBuf {
    let binary = scratch.path().join(name.replace('/', "."));
    let object = binary.with_extension("o");
    let text = |path: &Path| path.display().to_string();
    let (source, object) = (text(source), text(&object));
    call(
        COMPILER,
        &["-O1", "-w", "-pthread", "-c", "-o", &object, &source],
    );
    let libraries = format!("-Wl,-rpath-link,{}", text(&prefix().join("lib")));
    let (out, library) = (text(&binary), text(&library()));
    call(
        "cc",
        &["-pthread", "-o", &out, &object, &library, "-lm", &libraries],
    );
    binary
}

fn with_library(job: Job) -> Job {
    job.env("LD_LIBRARY_PATH", prefix().join("lib"))
}

fn run(program: &Program, scratch: &Scratch) {
    let binary = build(&program.source, &program.name, scratch);
    let few = program.ranks.iter().filter(|ranks| **ranks <= 4).max();
    let ranks = few.copied().unwrap_or(program.ranks[0]);
    let job = match program.is_direct {
        true => Job::new(&binary),
        false => Job::mpirun(ranks).arg(&binary),
    };
    let outcome = with_library(job.args(&program.arguments)).run();
    match program.exit {
        Exit::Code(wanted) => drop(outcome.expect_code(wanted)),
        Exit::NonZero => drop(outcome.expect_failure()),
    }
}

#[test]
fn programs_of_mpichs_compiler_run_over_our_library() {
    let scratch = Scratch::new("mpich-abi");
    let is_other = |program: &Program| OTHERS.iter().any(|(name, _)| *name == program.name);
    let (others, ours): (Vec<_>, Vec<_>) = programs(CHAPTERS).into_iter().partition(is_other);
    assert_eq!(others.len(), OTHERS.len(), "one of them is gone");
    for program in ours {
        run(&program, &scratch);
    }
}

#[test]
fn a_pingpong_and_a_farm_run_over_our_library() {
    let scratch = Scratch::new("mpich-abi-benches");
    for (name, ranks) in [("pingpong", 2), ("farm", 4)] {
        let source = c_source(&format!("benches/c/{name}.c"));
        let binary = build(&source, name, &scratch);
        let job = with_library(Job::mpirun(ranks).arg(&binary));
        drop(job.run().expect_code(0));
    }
}

/// The kind of each name: `W` is weak, `T` a function, `D` data.
fn exported(library: &Path) -> BTreeSet<(String, String)> {
    let path = library.display().to_string();
    let listing = call("nm", &["-D", "--defined-only", &path]);
    let words = |line: &str| {
        let mut words = line.split_whitespace().skip(1).map(str::to_owned);
        Some((words.next()?, words.next()?))
    };
    listing.lines().filter_map(words).collect()
}

#[test]
fn the_library_has_all_names_of_the_standard_and_those_of_mpich() {
    let names = exported(&library());
    let has = |kind: &str, name: &str| names.contains(&(kind.to_owned(), name.to_owned()));
    let standard = exported(&prefix().join("lib/libmpi_abi.so.1"));
    let of_the_standard = standard.iter().map(|(_, name)| name.as_str());
    let beyond = [
        "MPI_Address",
        "MPI_Comm_c2f",
        "MPI_Errhandler_create",
        "MPI_Status_c2f",
        "MPI_Type_f2c",
        "MPI_Type_struct",
        "MPIX_Query_cuda_support",
    ];
    let plain = of_the_standard.filter(|name| name.starts_with("MPI_"));
    for name in plain.chain(beyond) {
        assert!(has("W", name), "{name}");
        assert!(has("T", &format!("P{name}")), "P{name}");
    }
    for data in ["MPI_UNWEIGHTED", "MPI_WEIGHTS_EMPTY", "MPI_F_STATUS_IGNORE"] {
        assert!(has("D", data), "{data}");
    }
    assert!(has("T", "MPIR_Dup_fn"));
}

#[test]
fn the_library_is_called_as_programs_of_mpich_ask_for_it() {
    let dynamic = call("readelf", &["-d", &library().display().to_string()]);
    for entry in [
        "soname: [libmpi.so.12]",
        "[libmpi_abi.so.1]",
        "rpath: [$ORIGIN]",
    ] {
        assert!(dynamic.contains(entry), "{entry}: {dynamic}");
    }
    let link = prefix().join("lib/libmpich.so.12");
    let target = std::fs::canonicalize(link).expect("the link of Debian's name");
    assert_eq!(
        target,
        std::fs::canonicalize(library()).expect("the library")
    );
}
