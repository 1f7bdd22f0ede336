//! The source of `libmpi.so.12`: a jump for each name of C, and the data of MPICH's interface.

use core::fmt::Write as _;

use crate::chapters::CHAPTERS;

/// Names of MPICH beyond those of the standard, and functions that differ; with their symbols here.
const OTHERS: &[(&str, &str)] = &[
    // Removed from the standard: each has the arguments of a function of another name.
    ("MPI_Address", "mpilite_mpich_MPI_Get_address"),
    (
        "MPI_Errhandler_create",
        "mpilite_mpich_MPI_Comm_create_errhandler",
    ),
    (
        "MPI_Errhandler_get",
        "mpilite_mpich_MPI_Comm_get_errhandler",
    ),
    (
        "MPI_Errhandler_set",
        "mpilite_mpich_MPI_Comm_set_errhandler",
    ),
    (
        "MPI_Type_hindexed",
        "mpilite_mpich_MPI_Type_create_hindexed",
    ),
    ("MPI_Type_hvector", "mpilite_mpich_MPI_Type_create_hvector"),
    ("MPI_Type_struct", "mpilite_mpich_structure"),
    ("MPI_Type_extent", "mpilite_mpich_MPI_Type_extent"),
    ("MPI_Type_lb", "mpilite_mpich_MPI_Type_lb"),
    ("MPI_Type_ub", "mpilite_mpich_MPI_Type_ub"),
    // A status of C is one of Fortran, of both kinds.
    ("MPI_Status_c2f", "mpilite_mpich_copy_status"),
    ("MPI_Status_c2f08", "mpilite_mpich_copy_status"),
    ("MPI_Status_f2c", "mpilite_mpich_copy_status"),
    ("MPI_Status_f2f08", "mpilite_mpich_copy_status"),
    ("MPI_Status_f082c", "mpilite_mpich_copy_status"),
    ("MPI_Status_f082f", "mpilite_mpich_copy_status"),
    ("MPI_File_c2f", "mpilite_mpich_file_to_int"),
    ("MPI_File_f2c", "mpilite_mpich_file_from_int"),
    (
        "MPIX_GPU_query_support",
        "mpilite_mpich_MPIX_GPU_query_support",
    ),
    ("MPIX_Query_cuda_support", "mpilite_mpich_no"),
    ("MPIX_Query_hip_support", "mpilite_mpich_no"),
    ("MPIX_Query_ze_support", "mpilite_mpich_no"),
];

/// What MPICH's libraries of Fortran and C++ call, and programs do not.
const OF_LIBRARIES: &[(&str, &str)] = &[
    // What that of Fortran calls.
    ("MPII_Comm_get_attr", "mpilite_mpich_MPII_Comm_get_attr"),
    ("MPII_Comm_set_attr", "mpilite_mpich_MPII_Comm_set_attr"),
    ("MPII_Type_get_attr", "mpilite_mpich_MPII_Type_get_attr"),
    ("MPII_Type_set_attr", "mpilite_mpich_MPII_Type_set_attr"),
    ("MPII_Win_get_attr", "mpilite_mpich_MPII_Win_get_attr"),
    ("MPII_Win_set_attr", "mpilite_mpich_MPII_Win_set_attr"),
    (
        "MPII_Keyval_set_proxy",
        "mpilite_mpich_MPII_Keyval_set_proxy",
    ),
    (
        "MPII_Grequest_set_lang_f77",
        "mpilite_mpich_MPII_Grequest_set_lang_f77",
    ),
    // What that of C++ calls, beyond the above.
    ("MPII_Errhandler_set_cxx", "mpilite_mpich_no_cxx"),
    ("MPII_Op_set_cxx", "mpilite_mpich_no_cxx"),
    // Names that both ask for.
    ("MPIX_Comm_agree", "mpilite_mpich_unsupported"),
    ("MPIX_Comm_failure_ack", "mpilite_mpich_unsupported"),
    ("MPIX_Comm_failure_get_acked", "mpilite_mpich_unsupported"),
    ("MPIX_Comm_revoke", "mpilite_mpich_unsupported"),
    ("MPIX_Comm_shrink", "mpilite_mpich_unsupported"),
    (
        "MPIX_Delete_error_class",
        "mpilite_mpich_MPI_Remove_error_class",
    ),
    (
        "MPIX_Delete_error_code",
        "mpilite_mpich_MPI_Remove_error_code",
    ),
    (
        "MPIX_Delete_error_string",
        "mpilite_mpich_MPI_Remove_error_string",
    ),
];

/// Kinds of object whose handles are integers.
const INTEGERS: &[&str] = &[
    "Comm",
    "Errhandler",
    "Group",
    "Info",
    "Message",
    "Op",
    "Request",
    "Session",
    "Type",
    "Win",
];

const HEAD: &str = r#"/* libmpi.so.12: the names of MPICH's binary interface, each a jump.
   Generated; UPDATE=1 cargo test -p mpi-capi --test generated */

#if defined(__x86_64__)
    .macro leads_to symbol
    jmp *\symbol@GOTPCREL(%rip)
    .endm
#elif defined(__aarch64__)
    .macro leads_to symbol
    adrp x16, :got:\symbol
    ldr x16, [x16, :got_lo12:\symbol]
    br x16
    .endm
#else
#error "libmpi.so.12 is made for x86-64 and AArch64"
#endif

    .macro function name, symbol
    .globl P\name
    .type P\name, %function
    .weak \name
    .type \name, %function
P\name:
\name:
    leads_to \symbol
    .size P\name, . - P\name
    .size \name, . - \name
    .endm

    .macro data name, value
    .globl \name
    .type \name, %object
    .size \name, 8
\name:
    .quad \value
    .endm

    .section .note.GNU-stack, "", %progbits

    .data
    .balign 8
    data MPI_UNWEIGHTED, mpilite_mpich_weights
    data MPI_WEIGHTS_EMPTY, mpilite_mpich_weights + 4
    data MPI_T_PVAR_ALL_HANDLES, 1
    data MPI_F_STATUS_IGNORE, status
    data MPI_F_STATUSES_IGNORE, status
    data MPI_F08_STATUS_IGNORE, status
    data MPI_F08_STATUSES_IGNORE, status

    .local status
    .comm status, 20, 8

    .text
    .globl MPIR_Dup_fn
    .type MPIR_Dup_fn, %function
MPIR_Dup_fn:
    leads_to mpilite_mpich_MPIR_Dup_fn
    .size MPIR_Dup_fn, . - MPIR_Dup_fn

"#;

/// The names of the functions that programs call, each with its symbol.
pub fn functions() -> Vec<(String, String)> {
    let entries = CHAPTERS.iter().flat_map(|chapter| chapter.entries());
    let mut functions: Vec<(String, String)> = entries
        .map(|entry| (entry.name.to_owned(), symbol_of(entry.name)))
        .collect();
    let itself = || "mpilite_mpich_itself".to_owned();
    for kind in INTEGERS {
        functions.push((format!("MPI_{kind}_c2f"), itself()));
        functions.push((format!("MPI_{kind}_f2c"), itself()));
    }
    functions.extend(owned(OTHERS));
    functions.sort();
    functions
}

fn owned(names: &[(&str, &str)]) -> impl Iterator<Item = (String, String)> {
    let names = names.iter();
    names.map(|(name, symbol)| ((*name).to_owned(), (*symbol).to_owned()))
}

/// The symbol that a function of the standard has here.
fn symbol_of(name: &str) -> String {
    let is_conversion = name.ends_with("_toint") || name.ends_with("_fromint");
    match name {
        "MPI_Abi_get_version" => "mpilite_mpich_no_abi".to_owned(),
        "MPI_Type_create_struct" => "mpilite_mpich_structure".to_owned(),
        "MPI_File_toint" => "mpilite_mpich_file_to_int".to_owned(),
        "MPI_File_fromint" => "mpilite_mpich_file_from_int".to_owned(),
        _ if is_conversion => "mpilite_mpich_itself".to_owned(),
        _ => format!("mpilite_mpich_{name}"),
    }
}

/// The text of `libmpi.S`.
pub fn source() -> String {
    let mut text = HEAD.to_owned();
    let mut all = functions();
    all.extend(owned(OF_LIBRARIES));
    all.sort();
    for (name, symbol) in all {
        writeln!(text, "    function {name}, {symbol}").expect("writing to a string cannot fail");
    }
    text
}
