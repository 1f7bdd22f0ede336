//! What the libraries export: the functions of the standard ABI, twice each, and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use mpi_lite_tests::prefix;

/// MPI 5.0 has 664 functions in C, the `_c` twins counted.
const FUNCTIONS: usize = 664;

/// How the names begin that `libmpi.so.12` leads to.
const OF_MPICH: &str = "mpilite_mpich_";

fn output(program: &str, arguments: &[&str], file: &Path) -> String {
    let output = Command::new(program)
        .args(arguments)
        .arg(file)
        .output()
        .unwrap_or_else(|error| panic!("{program} is needed for this test: {error}"));
    assert!(
        output.status.success(),
        "{program} {} failed",
        file.display()
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn shared() -> std::path::PathBuf {
    prefix().join("lib/libmpi_abi.so.1")
}

fn dynamic_names() -> BTreeSet<String> {
    let table = output("nm", &["-D", "--defined-only"], &shared());
    table
        .lines()
        .filter_map(|line| line.split(' ').next_back())
        .filter(|name| !name.starts_with(OF_MPICH))
        .map(str::to_owned)
        .collect()
}

/// The functions that the installed header declares.
fn declared() -> BTreeSet<String> {
    let header = fs::read_to_string(prefix().join("include/mpi.h")).expect("the installed header");
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name_before = |piece: &str| {
        let start = piece.rfind(|c| !is_name(c)).map_or(0, |at| at + 1);
        piece[start..].to_owned()
    };
    let pieces = header
        .lines()
        .filter_map(|line| Some(name_before(line.split_once('(')?.0)));
    pieces
        .filter(|name| name.starts_with("MPI_") || name.starts_with("PMPI_"))
        .collect()
}

#[test]
fn the_shared_library_exports_each_function_of_the_standard_twice_and_nothing_else() {
    let names = dynamic_names();
    let foreign: Vec<_> = names
        .iter()
        .filter(|n| !n.starts_with("MPI_") && !n.starts_with("PMPI_"))
        .collect();
    assert!(foreign.is_empty(), "names that are not MPI's: {foreign:?}");
    assert_eq!(names.len(), 2 * FUNCTIONS);
    let plain = names.iter().filter(|name| name.starts_with("MPI_"));
    let alone: Vec<_> = plain
        .filter(|name| !names.contains(&format!("P{name}")))
        .collect();
    assert!(alone.is_empty(), "without a PMPI_ twin: {alone:?}");
}

#[test]
fn every_exported_function_is_declared_in_the_header() {
    let declared = declared();
    let names = dynamic_names();
    let missing: Vec<_> = names
        .iter()
        .filter(|name| !declared.contains(*name))
        .collect();
    assert!(
        missing.is_empty(),
        "{} not declared in mpi.h: {missing:?}",
        missing.len()
    );
}

#[test]
fn the_soname_is_that_of_the_standard_abi() {
    let dynamic = output("readelf", &["-d"], &shared());
    assert!(
        dynamic.contains("Library soname: [libmpi_abi.so.1]"),
        "{dynamic}"
    );
    let link = prefix().join("lib/libmpi_abi.so");
    let target = fs::canonicalize(&link).expect("the link for the linker");
    assert_eq!(target, fs::canonicalize(shared()).expect("the library"));
}

#[test]
fn the_library_needs_only_the_c_library() {
    let dynamic = output("readelf", &["-d"], &shared());
    let known = [
        "libc.so",
        "libm.so",
        "libgcc_s.so",
        "ld-linux",
        "libpthread.so",
        "libdl.so",
    ];
    let needed = dynamic.lines().filter(|line| line.contains("(NEEDED)"));
    let foreign: Vec<_> = needed
        .filter(|line| !known.iter().any(|k| line.contains(k)))
        .collect();
    assert!(foreign.is_empty(), "{foreign:?}");
}

#[test]
fn in_the_static_library_the_plain_names_are_weak() {
    let table = output(
        "nm",
        &["--defined-only"],
        &prefix().join("lib/libmpi_abi.a"),
    );
    let kind = |name: &str| {
        let line = table
            .lines()
            .find(|line| line.ends_with(&format!(" {name}")))?;
        line.split(' ').nth(1).map(str::to_owned)
    };
    assert_eq!(
        kind("MPI_Send").as_deref(),
        Some("W"),
        "a tool must be able to replace it"
    );
    assert!(kind("PMPI_Send").is_some());
}

/// Two libraries that are written in Rust can be linked into one program.
#[test]
fn the_static_library_shows_only_functions_of_mpi() {
    let library = prefix().join("lib/libmpi_abi.a");
    let table = output("nm", &["--extern-only", "--defined-only"], &library);
    let lines = table.lines().filter(|line| line.contains(' '));
    let names = lines.filter_map(|line| line.split(' ').next_back());
    let names: BTreeSet<_> = names.map(str::to_owned).collect();
    assert_eq!(names, dynamic_names());
}

/// A distance that no linking changes is no relocation: these were most of a megabyte.
#[cfg(target_arch = "x86_64")]
#[test]
fn calls_inside_of_the_static_library_are_settled() {
    let library = prefix().join("lib/libmpi_abi.a");
    let listed = output("readelf", &["-rW"], &library);
    let code = listed.split(".rela.text'").nth(1).expect("relocations");
    let code = code.split("Relocation section").next().expect("some");
    let within = |line: &&str| line.contains(" .text ") && line.contains("R_X86_64_P");
    let open: Vec<_> = code.lines().filter(within).take(5).collect();
    assert!(open.is_empty(), "{open:?}");
}
