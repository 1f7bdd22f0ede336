//! What the user wants done about a job that is stalled.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use mpi_boot::protocol::BLOCKED_AFTER_MS;

use crate::cli::request::Options;
use crate::cli::values::Policy;
use crate::cli::words::{needs, one_of, seconds};
use crate::failure::Failure;

/// After how long a stall is reported, unless the user sets another time.
const AFTER: Duration = Duration::from_secs(10);

/// The least time. A report needs the answers of all ranks, and a thread without a core gives none;
/// but a message that a network has lost is sent again only after some tenths of a second.
const AFTER_MIN: Duration = Duration::from_millis(500);

/// The longest time after which a rank reports that it is blocked.
const BLOCKED_MAX: Duration = Duration::from_millis(BLOCKED_AFTER_MS as u64);

/// The policy, and the option or the variable that has set it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// What happens when the job is stalled.
    pub policy: Policy,
    /// After how long.
    pub after: Duration,
    /// `--stall abort` or `MPILITE_STALL=abort`, for messages.
    pub asked: String,
}

impl Settings {
    /// The options, else the variables.
    ///
    /// # Errors
    ///
    /// A usage failure that shows the value of a variable that makes no sense.
    pub fn new(options: &Options) -> Result<Settings, Failure> {
        Settings::with(options, |name| std::env::var_os(name))
    }

    fn with(
        options: &Options,
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Settings, Failure> {
        let variable = |name| variable(name).filter(|value| !value.is_empty());
        let (policy, by) = match (options.stall, variable("MPILITE_STALL")) {
            (None, Some(value)) => (policy("MPILITE_STALL=", &value)?, "MPILITE_STALL="),
            (option, _) => (option.unwrap_or(Policy::Report), "--stall "),
        };
        let after = match (options.stall_after, variable("MPILITE_STALL_AFTER")) {
            (None, Some(value)) => after(&value, "MPILITE_STALL_AFTER")?,
            (option, _) => option.unwrap_or(AFTER),
        };
        Ok(Settings {
            policy,
            after,
            asked: format!("{by}{}", policy.name()),
        })
    }

    /// After how long a rank reports that it is blocked, in milliseconds.
    pub fn blocked_after_ms(&self) -> u32 {
        u32::try_from(blocked_after(self.after).as_millis()).unwrap_or(BLOCKED_AFTER_MS)
    }

    /// After how long a stall is reported; `None`: never.
    pub fn report_after(&self) -> Option<Duration> {
        (self.policy != Policy::Off).then_some(self.after)
    }
}

/// After how long a rank reports that it is blocked, if a stall is reported after `stall_after`:
/// early enough that all have done so by then.
pub fn blocked_after(stall_after: Duration) -> Duration {
    (stall_after * 2 / 3).min(BLOCKED_MAX)
}

/// The policy that `asked` gave: `--stall ` or `MPILITE_STALL=`.
///
/// # Errors
///
/// A usage failure that lists the possible values.
pub fn policy(asked: &str, value: &OsStr) -> Result<Policy, Failure> {
    one_of(asked, value, &Policy::ALL.map(|it| (it.name(), it)))
}

/// The time of `--stall-after` or its variable.
///
/// # Errors
///
/// A usage failure that shows the value if it is no number of seconds, or too small.
pub fn after(value: &OsStr, name: &str) -> Result<Duration, Failure> {
    let found = seconds(value).filter(|after| *after >= AFTER_MIN);
    let what = format!("a number of seconds, {} or more", AFTER_MIN.as_secs_f64());
    found.ok_or_else(|| needs(name, &what, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(
        options: &Options,
        variables: &[(&str, &str)],
    ) -> Result<(Policy, Option<f64>, String), String> {
        let found = |name: &str| {
            let of_name = variables.iter().find(|(variable, _)| *variable == name);
            of_name.map(|(_, value)| OsString::from(value))
        };
        let settings = Settings::with(options, found).map_err(|failure| failure.text)?;
        let after = settings.report_after().map(|after| after.as_secs_f64());
        Ok((settings.policy, after, settings.asked))
    }

    #[test]
    fn a_stall_is_reported_after_10_s_unless_an_option_or_else_a_variable_sets_more() {
        let none = Options::default();
        let some = Options {
            stall: Some(Policy::Off),
            stall_after: Some(Duration::from_secs(7)),
            ..Options::default()
        };
        let abort = ("MPILITE_STALL", "abort");
        let after = ("MPILITE_STALL_AFTER", "3.5");
        let empty = [("MPILITE_STALL", ""), ("MPILITE_STALL_AFTER", "")];
        let report = (Policy::Report, Some(10.0), "--stall report".to_string());
        assert_eq!(settings(&none, &[]), Ok(report.clone()));
        assert_eq!(settings(&none, &empty), Ok(report));
        let by_variables = (Policy::Abort, Some(3.5), "MPILITE_STALL=abort".to_string());
        assert_eq!(settings(&none, &[abort, after]), Ok(by_variables));
        let by_options = (Policy::Off, None, "--stall off".to_string());
        assert_eq!(settings(&some, &[abort, after]), Ok(by_options));
    }

    #[test]
    fn a_rank_reports_that_it_is_blocked_after_2_s_or_two_thirds_of_a_shorter_time() {
        for (after, blocked) in [
            (86_400.0, 2.0),
            (10.0, 2.0),
            (3.0, 2.0),
            (1.5, 1.0),
            (0.6, 0.4),
        ] {
            let after = Duration::from_secs_f64(after);
            assert_eq!(blocked_after(after), Duration::from_secs_f64(blocked));
        }
    }

    #[test]
    fn a_wrong_value_is_shown_with_its_variable() {
        for (name, value, words) in [
            (
                "MPILITE_STALL",
                "yes",
                "MPILITE_STALL=yes: expected report, abort or off",
            ),
            (
                "MPILITE_STALL_AFTER",
                "0.4",
                "MPILITE_STALL_AFTER needs a number of seconds, 0.5 or more, not '0.4'",
            ),
            (
                "MPILITE_STALL_AFTER",
                "nan",
                "MPILITE_STALL_AFTER needs a number of seconds, 0.5 or more, not 'nan'",
            ),
        ] {
            let refusal = settings(&Options::default(), &[(name, value)]);
            assert_eq!(refusal, Err(words.to_string()));
        }
    }
}
