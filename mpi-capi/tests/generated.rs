//! The prototypes in `include/mpi.h`, all of `include/mpich/mpi.h`, and `docs/coverage.md` are what
//! the tables say. With `UPDATE=1` in the environment they are rewritten instead of compared.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mpi_abi::chapters::CHAPTERS;
use mpi_abi::header;
use mpi_abi::mpich::{self, jumps};

const BEGIN: &str =
    "/* Prototypes: generated; UPDATE=1 cargo test -p mpi-capi --test generated */\n";
const END: &str = "/* End of the generated prototypes. */\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("a crate of the workspace")
        .to_owned()
}

fn compare(path: &Path, wanted: &str) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, wanted).expect("the tree is writable");
        return;
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    let differs = found
        .lines()
        .zip(wanted.lines())
        .position(|(found, wanted)| found != wanted);
    assert!(
        found == wanted,
        "{} differs from the tables (first in line {:?}); \
         run UPDATE=1 cargo test -p mpi-capi --test generated",
        path.display(),
        differs.map(|line| line + 1)
    );
}

/// The standard's header as it is to be.
fn standard_header(path: &Path) -> String {
    let found = std::fs::read_to_string(path).expect("the header is tracked");
    let (before, rest) = found
        .split_once(BEGIN)
        .expect("the header marks its generated part");
    let (_, after) = rest
        .split_once(END)
        .expect("the header marks the end of it");
    format!("{before}{BEGIN}{}{END}{after}", header::prototypes())
}

#[test]
fn the_headers_are_those_of_the_tables() {
    let path = root().join("include/mpi.h");
    let standard = standard_header(&path);
    compare(&path, &standard);
    let second = root().join("include/mpich/mpi.h");
    compare(&second, &mpich::header::of(&standard));
}

#[test]
fn the_jumps_of_libmpi_are_those_of_the_table() {
    compare(&root().join("mpi-capi/mpich/libmpi.S"), &jumps::source());
}

#[test]
fn the_coverage_list_is_that_of_the_table() {
    compare(&root().join("docs/coverage.md"), &header::coverage());
}

#[test]
fn the_readme_says_how_many_functions_have_a_body() {
    let entries = || CHAPTERS.iter().flat_map(|chapter| chapter.entries());
    let done = entries().filter(|entry| entry.implemented).count();
    let text = std::fs::read_to_string(root().join("README.md")).expect("it is there");
    let words = format!("{done} of the {} functions", entries().count());
    assert!(text.contains(&words), "the README is to say `{words}`");
}

#[test]
fn the_table_has_every_function_of_the_standard_once() {
    let entries: Vec<_> = CHAPTERS
        .iter()
        .flat_map(|chapter| chapter.entries())
        .collect();
    let names: BTreeSet<&str> = entries.iter().map(|entry| entry.name).collect();
    assert_eq!(entries.len(), names.len(), "a function appears twice");
    // MPI 5.0's reference header: 452 functions, 161 large-count twins, 51 of the tool interface.
    assert_eq!(names.len(), 664);
    assert_eq!(
        names.iter().filter(|name| name.ends_with("_c")).count(),
        161
    );
    assert_eq!(
        names
            .iter()
            .filter(|name| name.starts_with("MPI_T_"))
            .count(),
        51
    );
}
