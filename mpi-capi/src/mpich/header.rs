//! The text of `include/mpich/mpi.h`: `include/mpi.h` with the types and values of MPICH's
//! interface. Prototypes, functions of the program and comments are the standard's in both.

use core::fmt::Write as _;

use super::statuses::FIELDS;

/// Constants of the standard's header and their values here.
///
/// # Panics
/// If `constants.tsv` has another form.
pub fn constants() -> Vec<(&'static str, i64)> {
    let lines = include_str!("constants.tsv").lines();
    let rows = lines.filter(|line| !line.starts_with('#'));
    rows.map(|row| row.split_once('\t').expect("two columns"))
        .map(|(name, value)| (name, value.parse().expect("a number")))
        .collect()
}

/// Constants that are no values here: what the header has instead.
const OTHERS: &[(&str, &str)] = &[
    // The library's own versions of the standard.
    ("MPI_VERSION", "#define MPI_VERSION 5"),
    ("MPI_SUBVERSION", "#define MPI_SUBVERSION 0"),
    // This interface is not the standard's.
    ("MPI_ABI_VERSION", ""),
    ("MPI_ABI_SUBVERSION", ""),
    // It has no number for this class.
    ("MPIX_TYPECLASS_LOGICAL", ""),
    ("MPI_UNWEIGHTED", "extern int *const MPI_UNWEIGHTED;"),
    ("MPI_WEIGHTS_EMPTY", "extern int *const MPI_WEIGHTS_EMPTY;"),
    (
        "MPI_T_PVAR_ALL_HANDLES",
        "extern MPI_T_pvar_handle const MPI_T_PVAR_ALL_HANDLES;",
    ),
    (
        "MPI_F_STATUS_IGNORE",
        "extern MPI_Fint *MPI_F_STATUS_IGNORE;",
    ),
    (
        "MPI_F_STATUSES_IGNORE",
        "extern MPI_Fint *MPI_F_STATUSES_IGNORE;",
    ),
    ("MPI_COMM_DUP_FN", DUP_FN),
    ("MPI_WIN_DUP_FN", DUP_FN),
    ("MPI_TYPE_DUP_FN", DUP_FN),
    ("MPI_DUP_FN", DUP_FN),
];

/// The value of a constant that is this function.
const DUP_FN: &str = "MPIR_Dup_fn";

/// Comments of the standard's header that are not true here.
const COMMENTS: &[(&str, &str)] = &[
    (
        "/* Handles: pointers to structures that are never defined. */",
        "/* Handles: integers, and for files pointers to a structure that is never defined. */",
    ),
    (
        "/* Versions of the standard and of its binary interface. */",
        "/* Version of the standard. */",
    ),
    ("/* A type class that MPI 5.1 adds. */", ""),
    (
        " * Conversions for programs that mix C and Fortran. They are not part of the binary \
         interface: they",
        " * Conversions for programs that mix C and Fortran. A handle is its own integer, but for \
         files. They",
    ),
    (
        " * are made here from the functions that turn handles into integers.",
        " * are made here, since not each library of this interface has them.",
    ),
];

const HEAD: &str = "\
/*
 * mpi.h - the C interface of MPI 5.0 in the binary interface of MPICH, as mpi-lite provides it.
 *
 * A program compiled with this header asks for libmpi.so.12; `mpicc --abi=mpich` does so. Generated
 * from include/mpi.h and the tables in mpi-capi/src/mpich: names, values and layouts are MPICH's.
 * UPDATE=1 cargo test -p mpi-capi --test generated
 */
";

/// Functions that return an `int`, which the standard's interface does not have: what they are,
/// then name and arguments of each. Each has a twin with the prefix `P`.
const FUNCTIONS: &[(&str, &[(&str, &str)])] = &[
    (
        "Statuses of mpi_f08 lie as those of C do.",
        &[
            (
                "MPI_Status_c2f08",
                "const MPI_Status *c_status, MPI_F08_status *f08_status",
            ),
            (
                "MPI_Status_f082c",
                "const MPI_F08_status *f08_status, MPI_Status *c_status",
            ),
            (
                "MPI_Status_f082f",
                "const MPI_F08_status *f08_status, MPI_Fint *f_status",
            ),
            (
                "MPI_Status_f2f08",
                "const MPI_Fint *f_status, MPI_F08_status *f08_status",
            ),
        ],
    ),
    (
        "Removed from the standard with MPI 3.0.",
        &[
            ("MPI_Address", "void *location, MPI_Aint *address"),
            (
                "MPI_Errhandler_create",
                "MPI_Handler_function *function, MPI_Errhandler *errhandler",
            ),
            (
                "MPI_Errhandler_get",
                "MPI_Comm comm, MPI_Errhandler *errhandler",
            ),
            (
                "MPI_Errhandler_set",
                "MPI_Comm comm, MPI_Errhandler errhandler",
            ),
            ("MPI_Type_extent", "MPI_Datatype datatype, MPI_Aint *extent"),
            (
                "MPI_Type_hindexed",
                "int count, int array_of_blocklengths[], MPI_Aint array_of_displacements[], \
                 MPI_Datatype oldtype, MPI_Datatype *newtype",
            ),
            (
                "MPI_Type_hvector",
                "int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, \
                 MPI_Datatype *newtype",
            ),
            (
                "MPI_Type_lb",
                "MPI_Datatype datatype, MPI_Aint *displacement",
            ),
            (
                "MPI_Type_struct",
                "int count, int array_of_blocklengths[], MPI_Aint array_of_displacements[], \
                 MPI_Datatype array_of_types[], MPI_Datatype *newtype",
            ),
            (
                "MPI_Type_ub",
                "MPI_Datatype datatype, MPI_Aint *displacement",
            ),
        ],
    ),
    (
        "Whether memory of a device can be passed: no.",
        &[
            ("MPIX_GPU_query_support", "int gpu_type, int *is_supported"),
            ("MPIX_Query_cuda_support", "void"),
            ("MPIX_Query_hip_support", "void"),
            ("MPIX_Query_ze_support", "void"),
        ],
    ),
];

const BEFORE_FUNCTIONS: &str = "\
/* What MPI_COMM_DUP_FN and its like are. */
int MPIR_Dup_fn(MPI_Comm oldcomm, int keyval, void *extra_state, void *attribute_val_in,
    void *attribute_val_out, int *flag);

#define MPIX_GPU_SUPPORT_CUDA 0
#define MPIX_GPU_SUPPORT_ZE 1
#define MPIX_GPU_SUPPORT_HIP 2

typedef MPI_Comm_errhandler_function MPI_Handler_function;

";

const AFTER_STATUS: &str = "
extern MPI_F08_status *MPI_F08_STATUS_IGNORE;
extern MPI_F08_status *MPI_F08_STATUSES_IGNORE;
";

/// What the end of the standard's header begins with.
const END: &str = "#undef MPI_ABI_INLINE\n";

/// The header, made of the standard's.
///
/// # Panics
/// If the standard's header has a constant that nothing here names, or another form.
pub fn of(standard: &str) -> String {
    let (_, rest) = standard
        .split_once("#ifndef MPI_H_ABI\n")
        .expect("a guard comes first");
    let (body, end) = rest
        .split_once(END)
        .expect("the last line but for the guard's");
    let constants = constants();
    let mut text = format!("{HEAD}#ifndef MPI_H_MPICH\n");
    let mut lines = body.lines();
    while let Some(line) = lines.next() {
        let made = if line.starts_with("typedef struct MPI_Status {") {
            lines.find(|line| *line == "} MPI_Status;");
            structure("MPI_Status")
        } else if let Some(prototype) = prototype_of(line) {
            lines.find(|line| *line == "}");
            prototype
        } else {
            line_of(line, &constants)
        };
        // What is left out leaves no second blank line behind.
        if !made.is_empty() || line.is_empty() && !text.ends_with("\n\n") {
            writeln!(text, "{made}").expect(INFALLIBLE);
        }
    }
    text.push_str(BEFORE_FUNCTIONS);
    writeln!(text, "{}", structure("MPI_F08_status")).expect(INFALLIBLE);
    text.push_str(AFTER_STATUS);
    for (comment, functions) in FUNCTIONS {
        writeln!(text, "\n/* {comment} */").expect(INFALLIBLE);
        for prefix in ["", "P"] {
            for (name, parameters) in *functions {
                crate::header::declare("int", &format!("{prefix}{name}"), parameters, &mut text);
            }
        }
    }
    write!(text, "\n{END}{}", end.replace("MPI_H_ABI", "MPI_H_MPICH")).expect(INFALLIBLE);
    text
}

/// A structure of a status.
fn structure(name: &str) -> String {
    let fields = FIELDS.map(|field| format!("    int {field};\n"));
    format!("typedef struct {name} {{\n{}}} {name};", fields.concat())
}

/// The prototypes of a conversion that libraries of this interface have, if the line begins one
/// that the standard's header defines.
fn prototype_of(line: &str) -> Option<String> {
    let declaration = line.strip_prefix("MPI_ABI_INLINE ")?;
    let (result, function) = declaration.split_once(' ')?;
    if !function.starts_with("MPI_File_") && !function.starts_with("MPI_Status_") {
        return None;
    }
    Some(format!("{result} {function};\n{result} P{function};"))
}

/// Any other line of the header.
fn line_of(line: &str, constants: &[(&str, i64)]) -> String {
    if let Some((_, other)) = COMMENTS.iter().find(|(comment, _)| *comment == line) {
        return (*other).to_owned();
    }
    if let Some(handle) = line.strip_prefix("typedef struct MPI_ABI_") {
        return handle_of(handle);
    }
    if line.starts_with("    return MPI_") && line.ends_with("int(handle);") {
        return "    return handle;".to_owned();
    }
    if let Some(rest) = line.strip_prefix("#define MPI")
        && let Some((name, value)) = rest.split_once(' ')
        && !name.starts_with("_ABI_INLINE")
    {
        return constant_of(&format!("MPI{name}"), value, constants);
    }
    if let Some((name, value)) = line.split_once(" = ") {
        let end = if value.ends_with(',') { "," } else { "" };
        return format!("{name} = {}{end}", value_of(name.trim_start(), constants));
    }
    line.replace("MPI_H_ABI", "MPI_H_MPICH")
}

/// The definition of a kind of handle; the names of structures are part of what C++ calls its
/// functions.
fn handle_of(rest: &str) -> String {
    match rest.split_once(' ').expect("the structure and the type") {
        ("File", name) => format!("typedef struct ADIOI_FileD {name}"),
        (kind, name) if kind.starts_with("T_") => format!("typedef struct MPIR_{kind}_s {name}"),
        (_, name) => format!("typedef int {}", name.trim_start_matches('*')),
    }
}

/// The definition of a constant, whose value is `value` in the standard's header.
fn constant_of(name: &str, value: &str, constants: &[(&str, i64)]) -> String {
    let ty = value.strip_prefix("((");
    let ty = ty.and_then(|it| it.split_once(')')).map(|(ty, _)| ty);
    match (OTHERS.iter().find(|(other, _)| *other == name), ty) {
        (Some((_, DUP_FN)), Some(ty)) => format!("#define {name} (({ty}){DUP_FN})"),
        (Some((_, line)), _) => (*line).to_owned(),
        (None, Some(ty)) => format!("#define {name} (({ty}){})", value_of(name, constants)),
        (None, None) => match value_of(name, constants) {
            negative if negative.starts_with('-') => format!("#define {name} ({negative})"),
            number => format!("#define {name} {number}"),
        },
    }
}

/// The number of a constant as C writes it.
fn value_of(name: &str, constants: &[(&str, i64)]) -> String {
    let row = constants.iter().find(|(other, _)| *other == name);
    let (_, value) = row.unwrap_or_else(|| panic!("constants.tsv has no {name}"));
    match *value {
        // Bits that mean something.
        0x100_0000.. => format!("0x{value:08x}"),
        _ => value.to_string(),
    }
}

const INFALLIBLE: &str = "writing to a string cannot fail";
