//! The `ssh` program: its command line, and what its words mean.

use std::io;
use std::process::Command;

use super::settings::Settings;
use super::streams::Streams;
use crate::node::Inherited;

/// What may pass: another attempt is worth it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// sshd drops connections when too many arrive at a time (its `MaxStartups`).
    Crowd,
    /// No sshd answers, for this reason: the host or its sshd may be starting.
    NoServer(&'static str),
}

/// What ssh says when sshd drops its connection.
const CROWDED_OUT: [&str; 3] = [
    "kex_exchange_identification",
    "Connection reset by",
    "Connection closed by",
];

/// How ssh begins the line about a connection that it cannot make.
const NO_CONNECTION: &str = "ssh: connect to host ";

/// How that line ends for a host that may be starting.
const UNREACHED: [&str; 3] = [
    "Connection refused",
    "No route to host",
    "Connection timed out",
];

/// How ssh begins the line about a name without an address.
const NO_NAME: &str = "ssh: Could not resolve hostname ";

/// The command line of an ssh to this host.
pub(super) fn command_line(settings: &Settings, host: &str) -> Vec<String> {
    // ssh takes the first value of each of its options: the user's.
    let mut words = settings.program.clone();
    words.extend_from_slice(&settings.arguments);
    let own = [
        "-T",
        "-x",
        "-oBatchMode=yes",
        "-oConnectTimeout=10",
        "--",
        host,
        &settings.agent,
    ];
    words.extend(own.map(String::from));
    words
}

/// Starts an ssh by its command line. Returns the system's reason if it cannot be executed.
pub(super) fn connect(words: &[String], inherited: Inherited) -> io::Result<Streams> {
    let Some((program, arguments)) = words.split_first() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut command = Command::new(program);
    command.args(arguments);
    Streams::spawn(command, inherited)
}

/// Returns what ssh has met, if it may pass. A name without an address may be that of a host which
/// does not exist yet, if `waits_for_names`.
pub(super) fn obstacle(complaints: &str, waits_for_names: bool) -> Option<Obstacle> {
    let own = complaints.lines();
    let own = own.filter(|line| line.starts_with(NO_CONNECTION));
    let mut reasons = own.flat_map(|line| UNREACHED.iter().filter(|it| line.contains(*it)));
    if let Some(reason) = reasons.next() {
        return Some(Obstacle::NoServer(reason));
    }
    let mut lines = complaints.lines();
    if waits_for_names && lines.any(|line| line.starts_with(NO_NAME)) {
        return Some(Obstacle::NoServer("cannot be resolved"));
    }
    let is_crowd = CROWDED_OUT.iter().any(|sign| complaints.contains(sign));
    is_crowd.then_some(Obstacle::Crowd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_cannot_be_resolved_may_pass_where_hosts_come_late() {
        let words = "ssh: Could not resolve hostname n4: Name or service not known\r\n";
        let late = Some(Obstacle::NoServer("cannot be resolved"));
        assert_eq!(obstacle(words, true), late);
        assert_eq!(obstacle(words, false), None);
    }
}
