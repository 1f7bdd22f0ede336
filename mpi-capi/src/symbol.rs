//! The exported functions by name: when each may be called, and which keep their arguments.

/// What is known about a symbol while it runs. One static per symbol.
#[derive(Debug)]
pub struct Symbol {
    /// The name in the program.
    pub name: &'static str,
    /// True if MPI allows the call before `MPI_Init` and after `MPI_Finalize`.
    pub any_time: bool,
    /// True if it belongs to the tool interface, which returns codes of its own.
    pub is_of_tools: bool,
}

impl Symbol {
    /// The symbol called `name`.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            any_time: is_in(CALLABLE_AT_ANY_TIME, name) || is_of_tools(name),
            is_of_tools: is_of_tools(name),
        }
    }
}

/// Functions that may be called before initialization and after finalization. Source: MPI 5.0,
/// 11.4.1, table 11.1, and the standard ABI's conversions of handles to integers. `MPI_Init` and
/// its like are here because they check themselves when they may be called.
const CALLABLE_AT_ANY_TIME: &[&str] = &[
    "MPI_Initialized",
    "MPI_Finalized",
    "MPI_Init",
    "MPI_Init_thread",
    "MPI_Finalize",
    "MPI_Session_init",
    "MPI_Get_version",
    "MPI_Get_library_version",
    "MPI_Abi_get_version",
    "MPI_Abi_get_info",
    "MPI_Abi_get_fortran_info",
    "MPI_Abi_get_fortran_booleans",
    "MPI_Abi_set_fortran_info",
    "MPI_Abi_set_fortran_booleans",
    "MPI_Info_create",
    "MPI_Info_create_env",
    "MPI_Info_set",
    "MPI_Info_delete",
    "MPI_Info_get",
    "MPI_Info_get_valuelen",
    "MPI_Info_get_string",
    "MPI_Info_get_nkeys",
    "MPI_Info_get_nthkey",
    "MPI_Info_dup",
    "MPI_Info_free",
    "MPI_Session_create_errhandler",
    "MPI_Session_call_errhandler",
    "MPI_Errhandler_free",
    "MPI_Error_string",
    "MPI_Error_class",
    "MPI_Add_error_class",
    "MPI_Add_error_code",
    "MPI_Add_error_string",
    "MPI_Remove_error_class",
    "MPI_Remove_error_code",
    "MPI_Remove_error_string",
    "MPI_Pcontrol",
    // Getters and setters of a status touch only the caller's memory.
    "MPI_Status_get_error",
    "MPI_Status_get_source",
    "MPI_Status_get_tag",
    "MPI_Status_set_error",
    "MPI_Status_set_source",
    "MPI_Status_set_tag",
];

/// Returns true if the list has the name.
pub const fn is_in(list: &[&str], name: &str) -> bool {
    let name = name.as_bytes();
    let mut row = 0;
    while row < list.len() {
        let listed = list[row].as_bytes();
        if listed.len() == name.len() && starts_with(name, listed) {
            return true;
        }
        row += 1;
    }
    false
}

const fn is_of_tools(name: &str) -> bool {
    starts_with(name.as_bytes(), b"MPI_T_")
}

const fn starts_with(name: &[u8], start: &[u8]) -> bool {
    if name.len() < start.len() {
        return false;
    }
    let mut at = 0;
    while at < start.len() {
        if name[at] != start[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// The functions that keep a record from their beginning: those that may wait, and that have more
/// arguments than addresses and a communicator. Sends keep a `Transfer`.
const RECORDED: &[&str] = &[
    "MPI_Recv",
    "MPI_Mrecv",
    "MPI_Sendrecv",
    "MPI_Sendrecv_replace",
    "MPI_Probe",
    "MPI_Mprobe",
    "MPI_Bcast",
    "MPI_Reduce",
    "MPI_Allreduce",
    "MPI_Gather",
    "MPI_Gatherv",
    "MPI_Scatter",
    "MPI_Scatterv",
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Alltoall",
    "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block",
    "MPI_Scan",
    "MPI_Exscan",
    "MPI_Win_lock",
    "MPI_Win_unlock",
    "MPI_Win_flush",
    "MPI_Win_flush_local",
];

/// The blocking sends, which keep a `Transfer`.
const TRANSFERS: &[&str] = &["MPI_Send", "MPI_Ssend", "MPI_Bsend", "MPI_Rsend"];

/// Returns true if calls of this function, or of its large-count twin, show their arguments.
pub fn shows_arguments(name: &str) -> bool {
    is_recorded(name) || TRANSFERS.contains(&plain(name))
}

/// Returns true if calls of this function, or of its large-count twin, keep a record from their
/// beginning.
pub const fn is_recorded(name: &str) -> bool {
    is_in(RECORDED, plain(name))
}

/// The functions that keep a record and call operators of the program.
const REDUCTIONS: &[&str] = &[
    "MPI_Reduce",
    "MPI_Allreduce",
    "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block",
    "MPI_Scan",
    "MPI_Exscan",
];

/// Returns true if calls of this function, or of its large-count twin, call operators.
pub const fn is_reduction(name: &str) -> bool {
    is_in(REDUCTIONS, plain(name))
}

/// The name without the end of a large-count twin.
const fn plain(name: &str) -> &str {
    if let [plain @ .., b'_', b'c'] = name.as_bytes()
        && let Ok(plain) = core::str::from_utf8(plain)
    {
        return plain;
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(name: &'static str) -> Symbol {
        Symbol::new(name)
    }

    #[test]
    fn only_the_listed_functions_run_without_init() {
        assert!(symbol("MPI_Initialized").any_time);
        assert!(symbol("MPI_T_init_thread").any_time);
        assert!(!symbol("MPI_Send").any_time);
        assert!(!symbol("MPI_Info_get_foo").any_time);
        assert!(!symbol("MPI_Type_size").any_time);
    }

    #[test]
    fn twins_with_large_counts_keep_records_as_well() {
        assert!(is_recorded("MPI_Recv") && is_recorded("MPI_Recv_c"));
        assert!(shows_arguments("MPI_Send") && shows_arguments("MPI_Send_c"));
        for name in ["MPI_Irecv", "MPI_Wait", "MPI_c"] {
            assert!(!shows_arguments(name), "{name}");
        }
        assert!(
            !is_recorded("MPI_Send"),
            "it keeps a transfer when it may wait"
        );
    }
}
