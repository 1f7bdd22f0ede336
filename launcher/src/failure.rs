//! Why the launcher gives up, and with which exit status.

use std::fmt;

/// Exit status when output cannot be written, but for a closed pipe.
pub const OUTPUT_LOST: u8 = 1;
/// Exit status of a usage error: nothing has been started.
pub const USAGE: u8 = 2;
/// Exit status when `--timeout` ended the job.
pub const TIMEOUT: u8 = 124;
/// Exit status when the job could not be started, or a node was lost.
pub const LAUNCH: u8 = 125;
/// Exit status for a program that exists but cannot be executed.
pub const NOT_EXECUTABLE: u8 = 126;
/// Exit status for a program that does not exist.
pub const NOT_FOUND: u8 = 127;
/// What a shell reports for a program that a signal ended is this plus the signal's number.
pub const SIGNAL_BASE: u8 = 128;

/// One line for the user and the exit status that goes with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Exit status of `mpirun`.
    pub code: u8,
    /// The line, without the leading `mpirun: `.
    pub text: String,
}

impl Failure {
    /// The command line or a host file is wrong.
    pub fn usage(text: impl Into<String>) -> Failure {
        Failure {
            code: USAGE,
            text: text.into(),
        }
    }

    /// The job cannot be started.
    pub fn launch(text: impl Into<String>) -> Failure {
        Failure {
            code: LAUNCH,
            text: text.into(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

/// A name or a word of others made safe for a line on a terminal: control characters are escaped,
/// and what is too long is cut.
pub fn printable(text: &str) -> String {
    const LONGEST: usize = 300;
    escaped(text, LONGEST)
}

/// The same for a whole line of a rank, of another host or of ours that may hold several names: it
/// ends with what to do, so it may be much longer.
pub fn printable_line(text: &str) -> String {
    const LONGEST: usize = 4096;
    escaped(text, LONGEST)
}

fn escaped(text: &str, longest: usize) -> String {
    let mut line = String::new();
    for character in text.chars() {
        if line.len() >= longest {
            line.push_str("...");
            break;
        }
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(printable("a\x1b[2Jb\nc"), "a\\u{1b}[2Jb\\nc");
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(printable(&"x".repeat(400)).len(), 303);
        assert_eq!(printable_line(&"x".repeat(5000)).len(), 4099);
    }
}
