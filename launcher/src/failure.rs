//! Why the launcher gives up, and with which exit status.

use std::fmt;

/// Exit status when output cannot be written, but for a closed pipe.
pub const OUTPUT_LOST: u8 = 1;
/// Exit status of a usage error: nothing has been started.
pub const USAGE: u8 = 2;
/// Exit status when `--stall abort` ended the job.
pub const STALLED: u8 = 123;
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
    /// Any failure.
    pub fn new(code: u8, text: impl Into<String>) -> Failure {
        let text = text.into();
        Failure { code, text }
    }

    /// The command line or a host file is wrong.
    pub fn usage(text: impl Into<String>) -> Failure {
        Failure::new(USAGE, text)
    }

    /// The job cannot be started.
    pub fn launch(text: impl Into<String>) -> Failure {
        Failure::new(LAUNCH, text)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

/// A name or a word of others made safe for a line on a terminal: control and invisible characters
/// are escaped, and what is too long is cut.
pub fn printable(text: &str) -> String {
    const LONGEST: usize = 300;
    escaped(text, LONGEST)
}

/// A whole line of a rank, of another host or of ours that may hold several names, as
/// [`printable`] shows a name. It ends with what to do, so it may be much longer.
pub fn printable_line(text: &str) -> String {
    const LONGEST: usize = 4096;
    escaped(text, LONGEST)
}

/// Returns true if a character has no shape of its own and may change the order or the meaning of
/// others: Unicode's general category Cf, and its separators of lines and paragraphs.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}'
        | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}'
        | '\u{890}' | '\u{891}' | '\u{8e2}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0001}' | '\u{e0020}'..='\u{e007f}'
    )
}

fn escaped(text: &str, longest: usize) -> String {
    let mut line = String::new();
    for character in text.chars() {
        if line.len() >= longest {
            line.push_str("...");
            break;
        }
        if character.is_control() || is_invisible(character) {
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
    fn characters_that_turn_or_hide_text_are_escaped() {
        for hidden in [
            "202e", "202d", "2066", "2069", "200b", "200d", "feff", "61c", "ad", "2028",
        ] {
            let character = u32::from_str_radix(hidden, 16)
                .ok()
                .and_then(char::from_u32);
            let text = format!("a{}b", character.expect("a character"));
            assert_eq!(printable(&text), format!("a\\u{{{hidden}}}b"));
        }
        assert_eq!(
            printable("\u{fc}\u{4e2d}\u{1f600}"),
            "\u{fc}\u{4e2d}\u{1f600}"
        );
    }

    #[test]
    fn a_long_text_is_cut() {
        assert_eq!(printable(&"x".repeat(400)).len(), 303);
        assert_eq!(printable_line(&"x".repeat(5000)).len(), 4099);
    }
}
