//! The variables that lead a process to its launcher, and what becomes of them.
//!
//! A process takes up its place in the job once. The programs that it starts inherit its
//! environment, but not its place: each of them is a job of its own (MPI 5.0, 11.10.2). So a
//! process that has its place marks these variables as used, and notes there by which marks of
//! other launchers it was surrounded. A launcher inside the job sets them anew.
#![expect(unsafe_code, reason = "changes variables of the environment")]

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};

use super::SIZE;
use super::protocol::BOOT_FD;
use mpi_boot::launchers::foreign_marks;

/// Each of these alone leads to a launcher or to the server of a process manager.
const LEADING: [&str; 4] = [BOOT_FD, "PMI_FD", "PMI_PORT", "PMIX_NAMESPACE"];

/// The first words of a variable that has led a process to its place. A program of MPICH reads the
/// number from `PMI_FD`, and takes itself for a job of one process, too.
const USED: &str = "-1 used ";

/// Returns the value of a variable; `None` if it is not set, or used.
pub(super) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !is_used(value))
}

/// Returns true if a process above this one that has its place in a job had this variable with the
/// same value. So no launcher has set it since, except to the same value: of several ranks that
/// such a launcher starts one at most has the number of the rank above.
pub(super) fn is_inherited(name: &str) -> bool {
    let Some(value) = std::env::var_os(name) else {
        return false;
    };
    let notes = LEADING.into_iter().filter_map(std::env::var_os);
    notes.filter(|text| is_used(text)).any(|text| {
        let text = text.to_string_lossy();
        text.contains(&format!(" {}", note(name, &value)))
    })
}

/// Marks the variables that have led this process to its place.
pub(super) fn mark_used() {
    let text = used_by(|name| std::env::var_os(name));
    for name in LEADING {
        if std::env::var_os(name).is_some() {
            // SAFETY: the variable is there, so its pointer is replaced where it stands; a thread
            // that reads the environment meanwhile finds the old text, which stays, or the new one.
            unsafe { std::env::set_var(name, &text) };
        }
    }
}

fn is_used(value: &OsStr) -> bool {
    value.as_encoded_bytes().starts_with(USED.as_bytes())
}

/// The value of a used variable where the others are these.
fn used_by(variable: impl Fn(&str) -> Option<OsString>) -> String {
    let mut names = BTreeSet::new();
    names.extend(foreign_marks().chain([SIZE]));
    let names = names.into_iter().filter(|name| !LEADING.contains(name));
    let notes = names.filter_map(|name| Some(note(name, &variable(name)?)));
    notes.fold(USED.to_string(), |text, note| text + &note)
}

fn note(name: &str, value: &OsStr) -> String {
    format!("{name}={} ", value.to_string_lossy().escape_debug())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_used_variable_notes_the_marks_that_were_there_and_no_others() {
        let set = [("SLURM_STEP_ID", "0"), ("PMI_RANK", "a b\n"), ("HOME", "/")];
        let value = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| v.into());
        let text = used_by(value);
        assert_eq!(text, "-1 used PMI_RANK=a b\\n SLURM_STEP_ID=0 ");
        assert!(is_used(OsStr::new(&text)));
        assert!(!is_used(OsStr::new("7")));
    }
}
