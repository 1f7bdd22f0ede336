//! `include/mpi.h` as C and C++ compilers see it, against what the library is built with.

use std::fmt::Write as _;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::Command;

use mpi_abi::abi::{self, Handle};
use mpi_abi::args::status::Status;

use crate::common::{self, C99};

/// Compiles what calls nothing of the library.
pub(crate) fn compile(name: &str, compiler: &[&str], source: &str) -> PathBuf {
    let link = ["-Wl,--unresolved-symbols=ignore-all".to_owned()];
    common::compile(name, compiler, source, &link)
}

/// What the program prints.
pub(crate) fn run(program: &Path) -> String {
    let output = common::run(program, &[]);
    assert!(output.status.success());
    String::from_utf8(output.stdout).expect("it prints names and numbers")
}

pub(crate) const CXX11: &[&str] = &["c++", "-std=c++11", "-x", "c++"];

/// Uses what programs use at file scope and what only the header can get wrong.
const PROGRAM: &str = r"
#include <mpi.h>
#include <mpi.h>
static MPI_Comm comm = MPI_COMM_WORLD;
static MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_BYTE};
static MPI_Op op = MPI_SUM;
static MPI_Request request = MPI_REQUEST_NULL;
static void *in_place = MPI_IN_PLACE;
static int *unweighted = MPI_UNWEIGHTED;
static MPI_Comm_copy_attr_function *copy = MPI_COMM_DUP_FN;
static int handled;
static void handler(MPI_Comm *c, int *code, ...) { handled = *code + (*c == MPI_COMM_NULL); }
static MPI_Comm_errhandler_function *function = handler;
enum { TAG = MPI_ANY_TAG, SIZE = MPI_MAX_ERROR_STRING };
int main(int argc, char **argv)
{
    MPI_Status status = {0, 0, 0, {0, 0, 0, 0, 0}};
    char text[MPI_MAX_ERROR_STRING];
    switch (argc) { case MPI_ERR_RANK: case MPI_THREAD_MULTIPLE: return 2; }
    (void)argv; (void)text; (void)status;
    return comm == MPI_COMM_NULL || types[0] == MPI_DATATYPE_NULL || op == MPI_OP_NULL
        || request != MPI_REQUEST_NULL || in_place != MPI_IN_PLACE || !unweighted || !copy
        || !function || MPI_STATUS_IGNORE || (int)TAG == (int)SIZE;
}
";

#[test]
fn the_header_compiles_as_c99_without_a_warning() {
    run(&compile("header_c99", C99, PROGRAM));
}

#[test]
fn the_header_compiles_as_cxx11_without_a_warning() {
    run(&compile("header_cxx11", CXX11, PROGRAM));
}

/// The standards of both languages, and warnings beyond `-Wall -Wextra -pedantic` that a program's
/// build may turn into errors.
const LANGUAGES: [(&str, &[&str], &[&str]); 2] = [
    (
        "c",
        &["c89", "c99", "c11", "c17", "c2x"],
        &["-Wstrict-prototypes", "-Wc++-compat"],
    ),
    (
        "c++",
        &["c++98", "c++11", "c++14", "c++17", "c++20", "c++2b"],
        &["-Woverloaded-virtual"],
    ),
];

/// Uses what is not in a program that is linked without the library.
const CALLS: &str =
    "MPI_Fint number(void);\nMPI_Fint number(void) { return MPI_Comm_c2f(comm); }\n";

const STRICT: &[&str] = &["-Wshadow", "-Wconversion", "-Wundef", "-Wcast-qual"];

#[test]
fn a_program_of_any_standard_of_c_and_of_cxx_may_include_the_header() {
    check_in_all_languages(&format!("{PROGRAM}{CALLS}"));
}

/// Checks that each compiler here takes the program in each standard of both languages.
pub(crate) fn check_in_all_languages(program: &str) {
    let installed = |compiler: &&str| Command::new(compiler).arg("--version").output().is_ok();
    let compilers: Vec<_> = ["cc", "clang"].into_iter().filter(installed).collect();
    assert!(!compilers.is_empty(), "the tests need cc");
    for compiler in compilers {
        for (language, standards, warnings) in LANGUAGES {
            for standard in standards {
                let standard = format!("-std={standard}");
                let mut words = vec![compiler, "-x", language, &standard];
                words.extend(STRICT.iter().chain(warnings));
                common::check(&words, program);
            }
        }
    }
}

/// Size in bytes of the C types a program lays out.
fn sizes() -> Vec<(&'static str, usize)> {
    let mut sizes = vec![
        ("MPI_Aint", 8),
        ("MPI_Offset", 8),
        ("MPI_Count", 8),
        ("MPI_Fint", 4),
        ("MPI_Status", size_of::<Status>()),
        ("MPI_T_cb_safety", 4),
        ("MPI_T_source_order", 4),
    ];
    let handles = [
        "MPI_Comm",
        "MPI_Datatype",
        "MPI_Errhandler",
        "MPI_File",
        "MPI_Group",
        "MPI_Info",
        "MPI_Message",
        "MPI_Op",
        "MPI_Request",
        "MPI_Session",
        "MPI_Win",
        "MPI_T_enum",
        "MPI_T_cvar_handle",
        "MPI_T_pvar_handle",
        "MPI_T_pvar_session",
        "MPI_T_event_registration",
        "MPI_T_event_instance",
    ];
    sizes.extend(handles.map(|handle| (handle, size_of::<Handle>())));
    sizes
}

#[test]
fn every_constant_size_and_offset_is_the_same_in_c_and_in_rust() {
    let mut source = String::from("#include <mpi.h>\n#include <stddef.h>\n#include <stdio.h>\n");
    source.push_str("int main(void) {\n");
    let mut wanted = String::new();
    let mut line = |name: &str, expression: &str, value: i64| {
        writeln!(
            source,
            "printf(\"{name} %lld\\n\", (long long)(intptr_t)({expression}));"
        )
        .expect("a string");
        writeln!(wanted, "{name} {value}").expect("a string");
    };
    for constant in abi::CONSTANTS {
        line(constant.name, constant.name, constant.value);
    }
    for (name, size) in sizes() {
        line(
            name,
            &format!("sizeof({name})"),
            i64::try_from(size).expect("small"),
        );
    }
    for (field, offset) in [
        ("MPI_SOURCE", offset_of!(Status, source)),
        ("MPI_TAG", offset_of!(Status, tag)),
        ("MPI_ERROR", offset_of!(Status, error)),
        ("MPI_internal", 12),
    ] {
        let offset = i64::try_from(offset).expect("small");
        line(field, &format!("offsetof(MPI_Status, {field})"), offset);
    }
    source.push_str("return 0; }\n");
    let found = run(&compile("constants", C99, &source));
    assert_eq!(found.lines().count(), wanted.lines().count());
    for (found, wanted) in found.lines().zip(wanted.lines()) {
        assert_eq!(found, wanted);
    }
    // The standard's tables have 364 constants; one more comes with MPI 5.1.
    assert_eq!(abi::CONSTANTS.len(), 365);
}

#[test]
fn no_two_predefined_handles_share_a_value_but_the_two_aliases() {
    let mut values: Vec<i64> = abi::CONSTANTS
        .iter()
        .filter(|it| it.is_handle && it.value > 1)
        .map(|it| it.value)
        .collect();
    let all = values.len();
    values.sort_unstable();
    values.dedup();
    // MPI_LONG_LONG_INT and MPI_C_COMPLEX are second names.
    assert_eq!(values.len(), all - 2);
}
