//! The variables that lead a process to its launcher, and what becomes of them.
//!
//! A process takes up its place in the job once. The programs that it starts inherit its
//! environment, but not its place: each of them is a job of its own (MPI 5.0, 11.10.2). So a
//! process that has its place marks these variables as used. A launcher inside the job sets them
//! anew.
#![expect(unsafe_code, reason = "changes variables of the environment")]

use std::ffi::OsString;

use super::protocol::BOOT_FD;

/// Each of these alone leads to a launcher or to the server of a process manager.
const LEADING: [&str; 4] = [BOOT_FD, "PMI_FD", "PMI_PORT", "PMIX_NAMESPACE"];

/// The value of a variable that has led a process to its place.
const USED: &str = "used";

/// Returns the value of a variable; `None` if it is not set, or used.
pub(super) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| value != USED)
}

/// Returns true if a process above this one has its place in a job by one of the variables.
pub(super) fn is_used() -> bool {
    let is_used = |name| std::env::var_os(name).is_some_and(|value| value == USED);
    LEADING.into_iter().any(is_used)
}

/// Marks the variables that have led this process to its place.
pub(super) fn mark_used() {
    for name in LEADING {
        if std::env::var_os(name).is_some() {
            // SAFETY: the variable is there, so its pointer is replaced where it stands; a thread
            // that reads the environment meanwhile finds the old text, which stays, or the new one.
            unsafe { std::env::set_var(name, USED) };
        }
    }
}
