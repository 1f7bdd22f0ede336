//! What the values of options are, word by word: numbers, times, paths, names. A failure names the
//! option or variable, shows the value, and says what is possible.

use std::borrow::Borrow;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use mpi_boot::config::PortRange;
use mpi_boot::protocol::Secure;
use mpi_boot::transports;

use crate::failure::{Failure, printable};
use crate::job::hosts::RANKS_MAX;

/// What a number must be.
pub(crate) const WHOLE_NUMBER: &str = "a whole number from 1 to 1000000";

/// The failure for a value: `name needs WHAT, not 'value'`.
pub(crate) fn needs(name: &str, what: &str, value: &OsStr) -> Failure {
    let shown = printable(&value.to_string_lossy());
    Failure::usage(format!("{name} needs {what}, not '{shown}'"))
}

/// The one of these that has the name `value`. `asked` is the option or variable, as it stands in
/// front of the value.
///
/// # Errors
///
/// A usage failure that lists the names.
pub(crate) fn one_of<S: Borrow<str>, T: Copy>(
    asked: &str,
    value: &OsStr,
    all: &[(S, T)],
) -> Result<T, Failure> {
    let found = all.iter().find(|(name, _)| value == name.borrow());
    found.map(|(_, it)| *it).ok_or_else(|| {
        let shown = printable(&value.to_string_lossy());
        let names: Vec<_> = all.iter().map(|(name, _)| name.borrow()).collect();
        Failure::usage(format!("{asked}{shown}: expected {}", listed(&names)))
    })
}

/// `a, b or c`.
pub(crate) fn listed(words: &[&str]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        _ => words.concat(),
    }
}

/// A directory of other hosts, which have no current directory of ours.
pub(crate) fn absolute(value: &OsStr, name: &str) -> Result<PathBuf, Failure> {
    let path = PathBuf::from(value);
    match path.is_absolute() {
        true => Ok(path),
        false => Err(needs(name, "a path from the root, as /opt/mpilite", value)),
    }
}

pub(crate) fn text<'a>(value: &'a OsStr, name: &str) -> Result<&'a str, Failure> {
    value.to_str().ok_or_else(|| {
        let shown = printable(&value.to_string_lossy());
        Failure::usage(format!("{name}: '{shown}' is not text"))
    })
}

pub(crate) fn number(value: &OsStr, name: &str) -> Result<u32, Failure> {
    let number = value.to_str().and_then(|text| text.parse::<u32>().ok());
    let number = number.filter(|number| (1..=RANKS_MAX).contains(number));
    number.ok_or_else(|| needs(name, WHOLE_NUMBER, value))
}

pub(crate) fn time(value: &OsStr, name: &str) -> Result<Duration, Failure> {
    seconds(value).ok_or_else(|| needs(name, "a number of seconds", value))
}

/// A time in seconds. A year is longer than any job and short enough for every clock.
pub(crate) fn seconds(value: &OsStr) -> Option<Duration> {
    let seconds = value.to_str()?.parse::<f64>().ok()?;
    let is_possible = seconds > 0.0 && seconds <= 31_536_000.0;
    is_possible.then(|| Duration::from_secs_f64(seconds))
}

/// Checks the name of a transport that `asked` gave: `--transport ` or `MPILITE_TRANSPORT=`.
///
/// # Errors
///
/// A usage failure that lists the possible names.
pub fn transport(asked: &str, value: &OsStr) -> Result<String, Failure> {
    let shown = value.to_string_lossy();
    if transports::named(&shown).is_some() {
        return Ok(shown.into_owned());
    }
    let shown = printable(&shown);
    Err(Failure::usage(format!(
        "{asked}{shown}: {}",
        transports::possible()
    )))
}

/// Plain `--secure` has an empty value.
pub(crate) fn secure_of_option(value: &OsStr) -> Result<Secure, Failure> {
    if value.is_empty() {
        return Ok(Secure::Encrypt);
    }
    secure("--secure=", value)
}

/// The seal that `asked` gave: `--secure=` or `MPILITE_SECURE=`.
///
/// # Errors
///
/// A usage failure that lists the possible values.
pub fn secure(asked: &str, value: &OsStr) -> Result<Secure, Failure> {
    let all = [Secure::Cookie, Secure::Tag, Secure::Encrypt];
    one_of(asked, value, &all.map(|it| (it.to_string(), it)))
}

/// Reads a range of ports that the option or variable `name` gave.
///
/// # Errors
///
/// A usage failure that says what is possible.
pub fn port_range(value: &OsStr, name: &str) -> Result<PortRange, Failure> {
    let range = PortRange::parse(&value.to_string_lossy());
    let what = "LOW-HIGH with ports from 1 to 65535, as 40000-40100";
    range.ok_or_else(|| needs(name, what, value))
}

/// The value of `--launch-fanout`.
///
/// # Errors
///
/// A usage failure that shows the value.
pub(crate) fn fanout(value: &OsStr, name: &str) -> Result<usize, Failure> {
    let number = value.to_str().and_then(|text| text.parse::<u16>().ok());
    number.map(usize::from).ok_or_else(|| {
        let shown = printable(&value.to_string_lossy());
        Failure::usage(format!(
            "{name} {shown}: a number from 0 to 65535 is needed"
        ))
    })
}
