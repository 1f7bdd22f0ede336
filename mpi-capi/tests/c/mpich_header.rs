//! `include/mpich/mpi.h` against the tables, and against MPICH's own header where its compilers are
//! installed (package libmpich-dev).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use mpi_abi::mpich::statuses::FIELDS;
use mpi_abi::mpich::{header, jumps};

use crate::common::C99;
use crate::header::{CXX11, check_in_all_languages, compile, run};

/// How a program includes our header in this tree.
const OURS: &str = "#include <mpich/mpi.h>\n";

/// How a program includes MPICH's, with MPICH's compiler.
const THEIRS: &str = "#include <mpi.h>\n";

/// Uses what programs use at file scope and what only the header can get wrong.
const PROGRAM: &str = r"
static MPI_Comm comm = MPI_COMM_WORLD;
static MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_FLOAT_INT};
static MPI_Op op = MPI_SUM;
static MPI_File file = MPI_FILE_NULL;
static void *in_place = MPI_IN_PLACE;
static MPI_Comm_copy_attr_function *copy = MPI_COMM_NULL_COPY_FN;
static int handled;
static void handler(MPI_Comm *c, int *code, ...) { handled = *code + (*c == MPI_COMM_NULL); }
static MPI_Comm_errhandler_function *function = handler;
enum { TAG = MPI_ANY_TAG, SIZE = MPI_MAX_ERROR_STRING, WORLD = MPI_COMM_WORLD };
int main(int argc, char **argv)
{
    MPI_Status status = {0, 0, MPI_ANY_SOURCE, MPI_ANY_TAG, 0};
    switch (argc) { case MPI_ERR_RANK: case MPI_THREAD_MULTIPLE: return 2; }
    switch (types[0]) { case MPI_INT: case MPI_FLOAT_INT: return 2; default: break; }
    (void)argv; (void)status;
    return comm == MPI_COMM_NULL || op == MPI_OP_NULL || file || in_place != MPI_IN_PLACE || copy
        || !function || MPI_STATUS_IGNORE == MPI_STATUSES_IGNORE || (int)TAG == (int)SIZE;
}
";

/// Uses what is not in a program that is linked without the library.
const CALLS: &str = "
MPI_Fint number(void);
MPI_Fint number(void) { return MPI_Comm_c2f(comm) + MPI_File_c2f(file); }
int *weights(int is_empty);
int *weights(int is_empty) { return is_empty ? MPI_WEIGHTS_EMPTY : MPI_UNWEIGHTED; }
MPI_Copy_function *copies(void);
MPI_Copy_function *copies(void) { return MPI_DUP_FN; }
";

#[test]
fn a_program_of_any_standard_of_c_and_of_cxx_may_include_mpichs_interface() {
    check_in_all_languages(&format!("{OURS}{OURS}{PROGRAM}{CALLS}"));
}

/// What a program says with the header of MPICH, or `None` if its compiler is not installed.
fn said_with_theirs(compiler: &str, name: &str, source: &str) -> Option<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (input, output) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&input, source).expect("the target directory is writable");
    let language = if compiler.contains("cxx") { "c++" } else { "c" };
    let made = Command::new(compiler)
        .args(["-w", "-x", language])
        .arg(&input)
        .args(["-x", "none", "-o"])
        .arg(&output)
        .output()
        .ok()?;
    let errors = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{compiler}: {errors}");
    Some(run(&output))
}

/// The words of MPICH's header; none if there is no such header.
fn words_of_theirs() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let input = folder.join("words_of_theirs.c");
    std::fs::write(&input, THEIRS).expect("the target directory is writable");
    let mut compiler = Command::new("mpicc.mpich");
    let Ok(output) = compiler.args(["-E", "-dD"]).arg(&input).output() else {
        return BTreeSet::new();
    };
    assert!(output.status.success(), "mpicc.mpich -E -dD");
    let text = String::from_utf8_lossy(&output.stdout);
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.map(str::to_owned).collect()
}

/// The lines of a text as names and values.
fn rows(text: &str) -> BTreeMap<&str, &str> {
    let rows = text.lines();
    rows.map(|row| row.split_once(' ').expect("a name and a value"))
        .collect()
}

/// Values that MPICH 4 has and we do not: it has no integer of 16 bytes, and another version.
const OTHERS_IN_4: &[&str] = &["MPI_INTEGER16", "MPI_VERSION"];

const SIZES: &[&str] = &[
    "MPI_Aint",
    "MPI_Comm",
    "MPI_Count",
    "MPI_Datatype",
    "MPI_Errhandler",
    "MPI_F08_status",
    "MPI_File",
    "MPI_Fint",
    "MPI_Group",
    "MPI_Info",
    "MPI_Message",
    "MPI_Offset",
    "MPI_Op",
    "MPI_Request",
    "MPI_Session",
    "MPI_Status",
    "MPI_T_cb_safety",
    "MPI_T_enum",
    "MPI_T_event_instance",
    "MPI_T_source_order",
    "MPI_Win",
];

/// A program that prints each constant, size and place that `has` names.
fn printing(include: &str, has: impl Fn(&str) -> bool) -> String {
    let mut source = format!("{include}#include <stddef.h>\n#include <stdint.h>\n");
    source.push_str("#include <stdio.h>\nint main(void) {\n");
    let mut line = |name: &str, expression: &str| {
        let word = name.split('.').next().unwrap_or(name);
        if has(word) {
            let value = format!("(long long)(intptr_t)({expression})");
            writeln!(source, "printf(\"{name} %lld\\n\", {value});").expect("a string");
        }
    };
    let more = [
        "MPIX_GPU_SUPPORT_CUDA",
        "MPIX_GPU_SUPPORT_HIP",
        "MPIX_GPU_SUPPORT_ZE",
    ];
    for name in header::constants()
        .iter()
        .map(|(name, _)| *name)
        .chain(more)
    {
        line(name, name);
    }
    for name in SIZES {
        line(name, &format!("sizeof({name})"));
    }
    for ty in ["MPI_Status", "MPI_F08_status"] {
        for field in FIELDS {
            line(
                &format!("{ty}.{field}"),
                &format!("offsetof({ty}, {field})"),
            );
        }
    }
    source.push_str("return 0; }\n");
    source
}

#[test]
fn every_constant_size_and_place_is_that_of_mpich() {
    let found = run(&compile("mpich_constants", C99, &printing(OURS, |_| true)));
    let found = rows(&found);
    for (name, value) in header::constants() {
        // A handle is an int, also above 2^31.
        let value = match name {
            "MPI_VERSION" => 5,
            _ if value > i64::from(i32::MAX) => value - (1 << 32),
            _ => value,
        };
        assert_eq!(found[name], value.to_string(), "{name}");
    }
    for (index, field) in FIELDS.iter().enumerate() {
        let place = found[&*format!("MPI_Status.{field}")];
        assert_eq!(place, (4 * index).to_string(), "{field}");
    }
    assert_eq!(
        (found["MPI_Status"], found["MPI_Comm"], found["MPI_File"]),
        ("20", "4", "8")
    );

    let words = words_of_theirs();
    let source = printing(THEIRS, |name| words.contains(name));
    let Some(theirs) = said_with_theirs("mpicc.mpich", "mpich_constants_of_theirs", &source) else {
        return;
    };
    let theirs = rows(&theirs);
    for (name, value) in &theirs {
        if !OTHERS_IN_4.contains(name) {
            assert_eq!(found[name], *value, "{name}");
        }
    }
    assert!(theirs.len() > 370, "{} of {}", theirs.len(), found.len());
}

/// Types beyond those of functions.
const TYPES: &[&str] = &[
    "MPI_Comm_errhandler_function",
    "MPI_Copy_function",
    "MPI_Datarep_conversion_function",
    "MPI_Datarep_extent_function",
    "MPI_F08_status",
    "MPI_Fint",
    "MPI_Grequest_query_function",
    "MPI_Handler_function",
    "MPI_T_cvar_handle",
    "MPI_T_enum",
    "MPI_T_pvar_session",
    "MPI_User_function",
    "MPI_User_function_c",
];

/// Objects of the library.
const DATA: &[&str] = &[
    "MPI_F08_STATUS_IGNORE",
    "MPI_F08_STATUSES_IGNORE",
    "MPI_F_STATUSES_IGNORE",
    "MPI_F_STATUS_IGNORE",
    "MPI_T_PVAR_ALL_HANDLES",
    "MPI_UNWEIGHTED",
    "MPI_WEIGHTS_EMPTY",
];

/// A function of which MPICH 4 says that it may change its array, unlike MPI 4.1.
const WITHOUT_CONST: &[&str] = &["MPI_Pready_list"];

/// A program of C++ that prints the type of each function, type and object that `has` names, as a
/// linker sees it.
fn naming(include: &str, has: impl Fn(&str) -> bool) -> String {
    let mut source = format!("{include}#include <stdio.h>\n#include <typeinfo>\nint main() {{\n");
    let functions: Vec<String> = jumps::functions().into_iter().map(|row| row.0).collect();
    let functions = functions.iter().map(String::as_str);
    for name in functions
        .chain(["MPIR_Dup_fn"])
        .chain(TYPES.iter().chain(DATA).copied())
    {
        // Conversions of handles are macros there, but for those of files.
        let is_handles = name.ends_with("_c2f") || name.ends_with("_f2c");
        let is_macro = is_handles && !name.contains("File") && !name.contains("Status");
        if has(name) && !is_macro {
            writeln!(source, "printf(\"{name} %s\\n\", typeid({name}).name());").expect("a string");
        }
    }
    source.push_str("}\n");
    source
}

#[test]
fn every_function_and_type_is_that_of_mpich() {
    let found = run(&compile("mpich_types", CXX11, &naming(OURS, |_| true)));
    let found = rows(&found);
    assert!(found.len() > 700, "{}", found.len());
    assert_eq!(found["MPI_Send"], "FiPKviiiiiE");
    assert_eq!(found["MPI_File_close"], "FiPP11ADIOI_FileDE");
    assert_eq!(found["MPI_UNWEIGHTED"], "Pi");

    let words = words_of_theirs();
    let source = naming(THEIRS, |name| words.contains(name));
    let Some(theirs) = said_with_theirs("mpicxx.mpich", "mpich_types_of_theirs", &source) else {
        return;
    };
    let theirs = rows(&theirs);
    let others: Vec<_> = theirs
        .iter()
        .filter(|(name, ty)| found[*name] != **ty && !WITHOUT_CONST.contains(*name))
        .map(|(name, ty)| format!("{name}: {ty} there, {} here", found[name]))
        .collect();
    assert!(others.is_empty(), "{others:#?}");
    assert!(theirs.len() > 600, "{} of {}", theirs.len(), found.len());
}
