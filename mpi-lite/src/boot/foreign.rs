//! Other launchers, by what they leave in the environment of what they start.
//!
//! This is looked at where none of them offers PMI or PMIx, which we speak.
//!
//! A program that one of them started in several copies must not run: each copy would be rank 0 of
//! 1. A program that runs alone inside a batch job goes on.

use std::ffi::OsString;

use mpi_boot::launchers::{LAUNCHERS, Launcher};

use super::BootError;

/// Checks that no other launcher started several copies of this program. One whose marks are all
/// inherited from a rank started that rank.
///
/// # Errors
///
/// [`BootError::Foreign`] with the launcher and the variable by which it was recognised.
pub(super) fn check(
    variable: impl Fn(&str) -> Option<OsString>,
    is_inherited: impl Fn(&str) -> bool,
) -> Result<(), BootError> {
    let started = |it: &&Launcher| {
        it.started_several(&variable) && !it.marks.iter().all(|mark| is_inherited(mark))
    };
    let mut several = LAUNCHERS.iter().filter(started);
    let Some(first) = several.next() else {
        return Ok(());
    };
    let mark = first.marks[0];
    let value = variable(mark).unwrap_or_default();
    let others = several.map(|it| format!(" {}", it.marks[0]));
    Err(BootError::Foreign {
        launcher: first.name,
        advice: first.advice,
        variable: mark,
        value: value.to_string_lossy().escape_debug().to_string(),
        others: others.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(set: &[(&str, &str)]) -> Result<(), BootError> {
        let value = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| v.into());
        check(value, |_| false)
    }

    fn marks(launcher: &Launcher) -> Vec<(&'static str, &'static str)> {
        launcher.marks.iter().map(|mark| (*mark, "3")).collect()
    }

    #[test]
    fn another_launcher_is_an_error_in_one_line_that_names_what_to_unset() {
        for launcher in LAUNCHERS {
            let marks = marks(launcher);
            let error = checked(&marks).unwrap_err().to_string();
            assert!(error.contains(launcher.name), "{error}");
            assert!(error.contains(&format!("unset {}", marks[0].0)), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn another_launcher_with_several_processes_is_an_error_and_with_one_is_alone() {
        for launcher in LAUNCHERS {
            for size in launcher
                .sizes
                .iter()
                .filter(|it| !launcher.marks.contains(it))
            {
                let with = |number| [marks(launcher), vec![(*size, number)]].concat();
                assert!(checked(&with("2")).is_err(), "{size}");
                assert!(checked(&with("1")).is_ok(), "{size}");
            }
        }
    }

    #[test]
    fn a_program_alone_in_a_batch_job_goes_on() {
        let slurm = [
            ("SLURM_JOB_ID", "7"),
            ("SLURM_PROCID", "0"),
            ("SLURM_NTASKS", "4"),
            ("SLURM_JOB_NODELIST", "n[1-2]"),
        ];
        let batch_step = [&slurm[..], &[("SLURM_STEP_ID", "4294967291")]].concat();
        let lsf = [("LSB_JOBID", "7"), ("LSB_HOSTS", "a a b b")];
        let pbs = [
            ("PBS_JOBID", "7"),
            ("PBS_NODEFILE", "/x"),
            ("PBS_TASKNUM", "1"),
        ];
        for set in [&slurm[..], &batch_step, &lsf, &pbs, &[]] {
            assert!(checked(set).is_ok(), "{set:?}");
        }
        assert!(checked(&[("SLURM_STEP_NUM_TASKS", "4")]).is_ok());
    }

    #[test]
    fn all_that_must_be_unset_is_named_at_once() {
        let set = [
            ("PMIX_RANK", "0"),
            ("PMIX_NAMESPACE", "s.1"),
            ("SLURM_STEP_ID", "0"),
            ("SLURM_NTASKS", "2"),
        ];
        let error = checked(&set).unwrap_err().to_string();
        assert!(error.contains("unset SLURM_STEP_ID PMIX_RANK)"), "{error}");
    }
}
