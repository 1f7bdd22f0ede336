//! `mpicc --abi=mpich`: programs that our compiler makes for MPICH's binary interface run with our
//! `libmpi.so.12`, and with the library of MPICH. Needs `mpicc.mpich` and `mpirun.mpich` (package
//! mpich).

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use mpi_lite_tests::{Exit, Job, Scratch, build_with, c_source, prefix, programs, tool};

use crate::mpich_abi::call;

/// What differs between binary interfaces, in one program.
const SOURCE: &str = "tests/c/tools/of_mpich.c";

const OPTION: &str = "--abi=mpich";

/// Programs that use what the header alone can get wrong: callbacks, statuses, weights, codes.
const PROGRAMS: &[&str] = &[
    "collective/operators_beyond",
    "communicator/delete_function",
    "communicator/split_guided",
    "datatype/contents",
    "datatype/grids",
    "environment/error_handlers",
    "environment/null_objects",
    "environment/start",
    "point_to_point/buffer_comm",
    "point_to_point/completion",
    "point_to_point/generalized",
    "point_to_point/large_count",
    "session/buffers",
    "tool_support/variables",
    "topology/graphs",
];

/// The libraries of MPI that a program names.
fn needed(binary: &Path) -> Vec<String> {
    let dynamic = call("readelf", &["-d", &binary.display().to_string()]);
    let names = dynamic
        .lines()
        .filter(|line| line.contains("(NEEDED)"))
        .filter_map(|line| line.split(['[', ']']).nth(1));
    names
        .filter(|name| name.contains("mpi"))
        .map(str::to_owned)
        .collect()
}

/// The lines of [`SOURCE`] over a library that calls itself by this word.
fn expect_all(stdout: &str, ranks: usize, library: &str) {
    for rank in 0..ranks {
        let line = format!("rank {rank} of {ranks} over {library}\n");
        assert_eq!(stdout.matches(&line).count(), 1, "{line}: {stdout}");
    }
}

#[test]
fn a_program_that_our_compiler_makes_for_mpich_runs_with_our_library() {
    let scratch = Scratch::new("mpich-header");
    let binary = build_with(SOURCE, &scratch, &[OPTION]);
    assert_eq!(needed(&binary), ["libmpi.so.12"]);
    for ranks in [1, 2, 5] {
        let outcome = Job::mpirun(ranks).arg(&binary).run().expect_code(0);
        expect_all(&outcome.stdout, ranks, "mpi-lite");
    }
}

#[test]
fn programs_of_the_suite_run_in_mpichs_interface() {
    let scratch = Scratch::new("mpich-header-suite");
    let mut chapters: Vec<&str> = PROGRAMS
        .iter()
        .filter_map(|name| name.split('/').next())
        .collect();
    chapters.dedup();
    let ours = programs(&chapters);
    let ours = ours
        .iter()
        .filter(|program| PROGRAMS.contains(&&*program.name));
    let mut run = 0;
    for program in ours {
        let path = format!("tests/c/{}.c", program.name);
        let binary = build_with(&path, &scratch, &[OPTION]);
        let few = program.ranks.iter().filter(|ranks| **ranks <= 4).max();
        let ranks = few.copied().unwrap_or(program.ranks[0]);
        let job = Job::mpirun(ranks).arg(&binary).args(&program.arguments);
        assert_eq!(program.exit, Exit::Code(0), "{path}");
        drop(job.run().expect_code(0));
        run += 1;
    }
    assert_eq!(run, PROGRAMS.len(), "one of them is gone");
}

/// The library that programs of MPICH's own compiler use.
fn library_of_theirs(scratch: &Scratch) -> PathBuf {
    let binary = scratch.path().join("of_theirs").display().to_string();
    let source = c_source("tests/c/tools/hello.c").display().to_string();
    call("mpicc.mpich", &["-o", &binary, &source]);
    let libraries = call("ldd", &[&binary]);
    let line = libraries.lines().map(str::trim_start).find(|line| {
        let name = line.split(' ').next().unwrap_or_default();
        name.starts_with("libmpi") && name.ends_with(".so.12")
    });
    let path = line.and_then(|line| line.split(' ').nth(2));
    PathBuf::from(path.unwrap_or_else(|| panic!("no library of MPICH in {libraries}")))
}

#[test]
fn a_program_that_our_compiler_makes_runs_with_mpichs_library() {
    let scratch = Scratch::new("mpich-header-theirs");
    // Debian gives it another name.
    let folder = scratch.path().join("lib");
    std::fs::create_dir(&folder).expect("a folder of ours");
    symlink(library_of_theirs(&scratch), folder.join("libmpi.so.12")).expect("a link of ours");
    for (source, ranks) in [("tests/c/tools/hello.c", 2), (SOURCE, 2), (SOURCE, 3)] {
        let binary = build_with(source, &scratch, &[OPTION]);
        let job = Job::new("mpirun.mpich").env("LD_LIBRARY_PATH", &folder);
        let job = job.args(["-n", &ranks.to_string()]).arg(&binary);
        let outcome = job.run().expect_code(0);
        match source {
            SOURCE => expect_all(&outcome.stdout, ranks, "MPICH"),
            _ => drop(outcome.expect_stdout("hello from 1 of 2")),
        }
    }
}

#[test]
fn each_compiler_and_linker_here_makes_such_programs() {
    let scratch = Scratch::new("mpich-header-linkers");
    let is_here = |program: &str| Command::new(program).arg("--version").output().is_ok();
    let all = [
        ("mpicc", "hello.c", "cc", "ld.bfd", "-fuse-ld=bfd"),
        ("mpicc", "hello.c", "cc", "ld.gold", "-fuse-ld=gold"),
        ("mpicc", "hello.c", "clang", "ld.lld", "-fuse-ld=lld"),
        ("mpicxx", "hello.cpp", "c++", "ld.bfd", "-fuse-ld=bfd"),
    ];
    for (wrapper, source, compiler, linker, flag) in all {
        if !is_here(compiler) || !is_here(linker) {
            continue;
        }
        let binary = scratch.path().join(format!("{wrapper}{flag}"));
        let source = c_source(&format!("tests/c/tools/{source}"));
        let [source, out] = [&source, &binary].map(|path| path.display().to_string());
        let chosen = format!("-cc={compiler}");
        let strict = ["-Wall", "-Werror", "-Wl,--no-undefined"];
        let words = [&[OPTION, &chosen, flag, "-o", &out, &source], &strict[..]].concat();
        call(tool(wrapper), &words);
        assert_eq!(needed(&binary), ["libmpi.so.12"], "{wrapper} {flag}");
        let outcome = Job::mpirun(2).arg(&binary).run().expect_code(0);
        drop(outcome.expect_stdout("hello from 1 of 2"));
    }
}

#[test]
fn the_header_and_the_name_for_the_linker_are_installed() {
    let header = prefix().join("include/mpich/mpi.h");
    let in_tree = c_source("include/mpich/mpi.h");
    let text = |path: &Path| std::fs::read(path).expect("it is there");
    assert!(text(&header) == text(&in_tree), "{}", header.display());
    let link = prefix().join("lib/mpilite/mpich/libmpi.so");
    let [link, library] = [link, prefix().join("lib/libmpi.so.12")]
        .map(|path| std::fs::canonicalize(path).expect("it is there"));
    assert_eq!(link, library);
}
