//! What the user wants done about a job that is stalled.

use std::ffi::{OsStr, OsString};
use std::time::Duration;

use crate::args::{Options, seconds};
use crate::failure::{Failure, printable};

/// After how long a stall is reported, unless the user sets another time.
const AFTER: Duration = Duration::from_secs(10);

/// The least time: a rank reports only after 2 s that it is blocked.
const AFTER_MIN: Duration = Duration::from_secs(3);

/// What happens when the job is stalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// It is reported.
    Report,
    /// It is reported, and the job is ended.
    Abort,
    /// Nothing.
    Off,
}

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
            (Some(policy), _) => (policy, "--stall "),
            (None, Some(value)) => (policy("MPILITE_STALL=", &value)?, "MPILITE_STALL="),
            (None, None) => (Policy::Report, "--stall "),
        };
        let after = match (options.stall_after, variable("MPILITE_STALL_AFTER")) {
            (Some(after), _) => after,
            (None, Some(value)) => after(&value, "MPILITE_STALL_AFTER")?,
            (None, None) => AFTER,
        };
        let asked = format!("{by}{}", name(policy));
        Ok(Settings {
            policy,
            after,
            asked,
        })
    }

    /// After how long a stall is reported; `None`: never.
    pub fn report_after(&self) -> Option<Duration> {
        (self.policy != Policy::Off).then_some(self.after)
    }
}

fn name(policy: Policy) -> &'static str {
    match policy {
        Policy::Report => "report",
        Policy::Abort => "abort",
        Policy::Off => "off",
    }
}

/// The policy that `asked` gave: `--stall ` or `MPILITE_STALL=`.
///
/// # Errors
///
/// A usage failure that lists the possible values.
pub fn policy(asked: &str, value: &OsStr) -> Result<Policy, Failure> {
    let all = [Policy::Report, Policy::Abort, Policy::Off];
    let found = all.into_iter().find(|it| value == name(*it));
    found.ok_or_else(|| {
        let shown = printable(&value.to_string_lossy());
        Failure::usage(format!("{asked}{shown}: expected report, abort or off"))
    })
}

/// The time of `--stall-after` or its variable.
///
/// # Errors
///
/// A usage failure that shows the value if it is no number of seconds, or too small.
pub fn after(value: &OsStr, name: &str) -> Result<Duration, Failure> {
    let found = seconds(value).filter(|after| *after >= AFTER_MIN);
    found.ok_or_else(|| {
        let shown = printable(&value.to_string_lossy());
        let least = AFTER_MIN.as_secs();
        Failure::usage(format!(
            "{name} needs a number of seconds, {least} or more, not '{shown}'"
        ))
    })
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
    fn a_wrong_value_is_shown_with_its_variable() {
        for (name, value, words) in [
            (
                "MPILITE_STALL",
                "yes",
                "MPILITE_STALL=yes: expected report, abort or off",
            ),
            (
                "MPILITE_STALL_AFTER",
                "2.9",
                "MPILITE_STALL_AFTER needs a number of seconds, 3 or more, not '2.9'",
            ),
            (
                "MPILITE_STALL_AFTER",
                "nan",
                "MPILITE_STALL_AFTER needs a number of seconds, 3 or more, not 'nan'",
            ),
        ] {
            let refusal = settings(&Options::default(), &[(name, value)]);
            assert_eq!(refusal, Err(words.to_string()));
        }
    }
}
