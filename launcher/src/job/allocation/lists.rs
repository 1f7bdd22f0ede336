//! Lists of hosts as schedulers write them into files and variables.

use crate::failure::printable;
use crate::job::hosts::{Host, check_name, merged, parse_slots};

/// A line for each slot, the host as its first word.
pub(super) fn line_per_slot(text: &str) -> Result<Vec<Host>, String> {
    let words = text
        .lines()
        .filter_map(|line| line.split_ascii_whitespace().next());
    checked(words.map(|name| Ok((name, 1))))
}

/// A word for each slot.
pub(super) fn word_per_slot(text: &str) -> Result<Vec<Host>, String> {
    checked(text.split_ascii_whitespace().map(|name| Ok((name, 1))))
}

/// Words `host slots host slots`.
pub(super) fn pairs(text: &str) -> Result<Vec<Host>, String> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    checked(
        words
            .chunks(2)
            .map(|pair| with_slots(pair[0], pair.get(1).copied())),
    )
}

/// Lines `host slots` with more words behind.
pub(super) fn host_and_slots(text: &str) -> Result<Vec<Host>, String> {
    let lines = text.lines().map(|line| line.split_ascii_whitespace());
    checked(lines.filter_map(|mut words| Some(with_slots(words.next()?, words.next()))))
}

fn with_slots<'a>(name: &'a str, slots: Option<&str>) -> Result<(&'a str, u32), String> {
    let missing = || format!("'{}' has no number of slots", printable(name));
    Ok((name, parse_slots(slots.ok_or_else(missing)?)?))
}

fn checked<'a>(
    entries: impl Iterator<Item = Result<(&'a str, u32), String>>,
) -> Result<Vec<Host>, String> {
    let mut hosts = Vec::new();
    for entry in entries {
        let (name, slots) = entry?;
        check_name(name)?;
        hosts.push(Host {
            name: name.to_string(),
            slots: Some(slots),
        });
    }
    if hosts.is_empty() {
        return Err("it names no host".into());
    }
    Ok(merged(hosts))
}
