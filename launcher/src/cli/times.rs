//! How long the job may take, and how long its ranks have when it is to end.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use crate::cli::request::Options;
use crate::cli::words::{self, needs};
use crate::failure::Failure;

/// How long the ranks have after a signal that ends the job, before they are killed.
const GRACE: Duration = Duration::from_secs(10);

/// The same in an allocation. The scheduler has sent that signal, and kills what is left after a
/// time of its own (Slurm: `KillWait`, 30 s). That time shall hold, and it is shorter than this.
const GRACE_IN_ALLOCATION: Duration = Duration::from_secs(60);

/// The variable that sets it.
const GRACE_VARIABLE: &str = "MPILITE_GRACE";

/// What both functions ask for a variable.
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// `--timeout`, else the variable that MPICH and Open MPI read; and which of them it is.
///
/// # Errors
///
/// A usage failure that shows the value of the variable if it makes no sense.
pub(crate) fn timeout(options: &Options) -> Result<Option<(Duration, &'static str)>, Failure> {
    if let Some(timeout) = options.timeout {
        return Ok(Some((timeout, "--timeout")));
    }
    match variable("MPIEXEC_TIMEOUT") {
        Some(value) => {
            let timeout = words::time(&value, "MPIEXEC_TIMEOUT")?;
            Ok(Some((timeout, "MPIEXEC_TIMEOUT")))
        }
        None => Ok(None),
    }
}

/// `--grace`, else its variable, else a default.
///
/// # Errors
///
/// A usage failure that shows the value of the variable if it makes no sense.
pub(crate) fn grace(
    asked: Option<Duration>,
    has_allocation: bool,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Duration, Failure> {
    match (asked, variable(GRACE_VARIABLE)) {
        (Some(asked), _) => Ok(asked),
        (None, Some(value)) => parse_grace(&value, GRACE_VARIABLE),
        (None, None) if has_allocation => Ok(GRACE_IN_ALLOCATION),
        (None, None) => Ok(GRACE),
    }
}

/// The value of `--grace` or of its variable: a time in seconds, and 0 for none.
///
/// # Errors
///
/// A usage failure that shows the value.
pub(crate) fn parse_grace(value: &OsStr, name: &str) -> Result<Duration, Failure> {
    let is_none = value.to_str().and_then(|text| text.parse::<f64>().ok()) == Some(0.0);
    if is_none {
        return Ok(Duration::ZERO);
    }
    words::seconds(value).ok_or_else(|| needs(name, "a number of seconds, or 0", value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheduler_may_give_more_time_than_mpirun_does_by_itself() {
        let nothing = |_: &str| None;
        assert_eq!(grace(None, false, nothing), Ok(GRACE));
        assert_eq!(grace(None, true, nothing), Ok(GRACE_IN_ALLOCATION));
        let seconds = Duration::from_secs_f64;
        let variable = |_: &str| Some("2.5".into());
        assert_eq!(grace(None, true, variable), Ok(seconds(2.5)));
        let asked = Some(Duration::ZERO);
        assert_eq!(grace(asked, true, variable), Ok(Duration::ZERO));
    }

    #[test]
    fn a_grace_is_a_time_or_nothing() {
        let parsed = |text: &str| parse_grace(OsStr::new(text), "--grace");
        assert_eq!(parsed("0"), Ok(Duration::ZERO));
        assert_eq!(parsed("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["", "-1", "soon", "nan", "1e9"] {
            let line = format!("--grace needs a number of seconds, or 0, not '{wrong}'");
            assert_eq!(parsed(wrong), Err(Failure::usage(line)));
        }
    }
}
