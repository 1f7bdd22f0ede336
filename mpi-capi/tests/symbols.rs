//! The shared library exports the functions of the table as `MPI_` and `PMPI_`, and nothing else.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use mpi_abi::chapters::CHAPTERS;
use mpi_abi::mpich::jumps;

/// The library that cargo built beside this test.
fn library() -> PathBuf {
    std::env::current_exe()
        .expect("a running program has a path")
        .with_file_name("libmpi_abi.so")
}

fn output(program: &str, args: &[&str]) -> String {
    let result = Command::new(program)
        .args(args)
        .arg(library())
        .output()
        .unwrap_or_else(|error| panic!("the tests need {program} of binutils: {error}"));
    assert!(
        result.status.success(),
        "{}",
        String::from_utf8_lossy(&result.stderr)
    );
    String::from_utf8(result.stdout).expect("symbols are ASCII")
}

#[test]
fn the_library_exports_the_table_twice_and_nothing_else() {
    let listing = output("nm", &["-D", "--defined-only"]);
    let (private, exported): (BTreeSet<&str>, BTreeSet<&str>) = listing
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .partition(|name| name.starts_with("mpilite_mpich_"));
    let source = jumps::source();
    let wanted = |name: &&str| !private.contains(name);
    let words = source.split([',', ' ', '\n']);
    let mut targets = words.filter(|word| word.starts_with("mpilite_mpich_"));
    assert_eq!(targets.find(wanted), None, "libmpi.so.12 leads to it");
    let names = CHAPTERS
        .iter()
        .flat_map(|chapter| chapter.entries())
        .map(|entry| entry.name);
    let wanted: BTreeSet<String> = names
        .flat_map(|name| [name.to_owned(), format!("P{name}")])
        .collect();
    let wanted: BTreeSet<&str> = wanted.iter().map(String::as_str).collect();
    assert_eq!(
        exported.difference(&wanted).collect::<Vec<_>>(),
        Vec::<&&str>::new()
    );
    assert_eq!(
        wanted.difference(&exported).collect::<Vec<_>>(),
        Vec::<&&str>::new()
    );
    assert_eq!(exported.len(), 1328);
}

#[test]
fn the_soname_is_the_one_programs_of_the_abi_ask_for() {
    assert!(output("readelf", &["-d"]).contains("soname: [libmpi_abi.so.1]"));
}
