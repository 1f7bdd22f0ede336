//! What became of a program that reaches another host, and what it has said about it.

use crate::failure::printable;
use crate::wire::Ended;

/// How much of what it says on standard error is kept: the end, in bytes.
const COMPLAINTS_KEPT: usize = 4096;

/// The end of a program.
#[derive(Debug, Default)]
pub(super) struct Fate {
    ended: Option<Ended>,
    complaints: Vec<u8>,
}

impl Fate {
    /// Sets the exit status.
    pub(super) fn set_ended(&mut self, ended: Ended) {
        self.ended = Some(ended);
    }

    /// Adds what it has said on standard error.
    pub(super) fn complain(&mut self, bytes: &[u8]) {
        self.complaints.extend_from_slice(bytes);
        let excess = self.complaints.len().saturating_sub(COMPLAINTS_KEPT);
        self.complaints.drain(..excess);
    }

    /// What it has said on standard error.
    pub(super) fn complaints(&self) -> String {
        String::from_utf8_lossy(&self.complaints).into_owned()
    }

    /// Returns true if it has ended, though its streams may go on.
    pub(super) fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// The remote shell did not find or could not execute the agent.
    pub(super) fn has_no_agent(&self) -> bool {
        matches!(self.ended, Some(Ended::Exited(126 | 127)))
    }

    /// Returns true if it ended as if all were well.
    pub(super) fn has_succeeded(&self) -> bool {
        matches!(self.ended, Some(Ended::Exited(0)))
    }

    /// What became of it, in words.
    pub(super) fn how_it_ended(&self, program: &str) -> String {
        match (self.ended, self.ended.and_then(Ended::signal)) {
            (_, Some(signal)) => format!("{program} was killed by signal {signal}"),
            (Some(Ended::Exited(code)), _) => format!("{program} exited with status {code}"),
            _ => "the connection was closed".to_string(),
        }
    }

    /// Its last line on standard error, as the end of a line of ours, and what helps.
    pub(super) fn complaint(&self) -> String {
        let text = self.complaints();
        let last = text.lines().map(str::trim).rfind(|line| !line.is_empty());
        last.map_or(String::new(), |line| {
            format!(": {}{}", printable(line), remedy(line))
        })
    }
}

/// What ssh says, and what helps.
const REMEDIES: [(&str, &str); 3] = [
    (
        "Host key verification failed",
        "log in once by hand to accept its key, or give --ssh-args \
         -oStrictHostKeyChecking=accept-new",
    ),
    (
        "Permission denied",
        "ssh must log in without a password: ssh-keygen once, then ssh-copy-id to the host",
    ),
    (
        "Could not resolve hostname",
        "check the name; --launch-timeout SECONDS waits for a host that gets its name later",
    ),
];

fn remedy(line: &str) -> String {
    let known = REMEDIES.iter().find(|(words, _)| line.contains(words));
    known.map_or(String::new(), |(_, remedy)| format!(" ({remedy})"))
}
