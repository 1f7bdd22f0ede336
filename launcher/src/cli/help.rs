//! What `mpirun --help` prints.

use std::fmt::Write as _;
use std::path::PathBuf;

use crate::cli::options::{Entry, OPTIONS};
use crate::cli::settings;

/// The column where the texts begin, and the width of a line.
const COLUMN: usize = 28;
const WIDTH: usize = 80;

/// Command lines, each with what it does.
pub const EXAMPLES: [(&str, &str); 3] = [
    ("mpirun -n 4 ./hello", "four ranks on this host"),
    (
        "mpirun --host n1:8,n2:8 --stats ./solver input",
        "eight ranks on each of two hosts, counters at the end",
    ),
    (
        "mpirun -n 1 ./server : -n 4 --wdir data ./worker",
        "two programs in one job, each with its own options",
    ),
];

/// What the exit status of `mpirun` means.
pub const EXIT_STATUS: &str = "that of the first rank that failed (128 + signal if one killed it), \
     1 if a rank ended without MPI_Finalize, 2 for a wrong command line, 123 after --stall abort, \
     124 after --timeout, 125 if the job could not be started or a host was lost, 126 if the \
     program cannot be executed, 127 if it is not found.";

/// What is true of all options, and how other hosts are reached.
pub const RULES: &str = "Long options may be written with one dash or two. The first word that is \
     no option is the program. A ':' ends its arguments, and the next program of the job follows: \
     -n, --host, --wdir, --path, -x and the options --env... are for one program, all others for \
     the job, and stand before the first program. A single host needs no ssh; other hosts are \
     reached with ssh or the program of MPILITE_SSH.";

/// The help text.
#[must_use]
pub fn text() -> String {
    let mut text = String::from("usage: mpirun [options] program [arguments]\n\n");
    for entry in OPTIONS.iter().filter(|entry| !entry.text.is_empty()) {
        row(&mut text, &entry.heading(), entry.text);
    }
    text.push('\n');
    paragraph(&mut text, RULES);
    paragraph(&mut text, &format!("Accepted and ignored: {}.", ignored()));
    text.push_str("Environment variables (options win over them; settings.md below has all):\n");
    for (variable, meaning) in settings::main() {
        row(&mut text, variable, &meaning);
    }
    text.push_str("\nExamples:\n");
    for (line, meaning) in EXAMPLES {
        let _ = writeln!(text, "  {line}\n      {meaning}");
    }
    text.push('\n');
    paragraph(&mut text, &format!("Exit status: {EXIT_STATUS}"));
    let folder = documentation();
    let _ = write!(
        text,
        "Documentation: man mpirun\n  {0}/settings.md  all environment variables\n  \
         {0}/counters.md  what --stats prints\n  {0}/coverage.md  the functions of MPI\n",
        folder.display()
    );
    text
}

/// The options that are accepted and ignored.
#[must_use]
pub fn ignored() -> String {
    let entries = OPTIONS.iter().filter(|entry| entry.is_ignored());
    let spellings = entries.flat_map(Entry::spellings);
    spellings.collect::<Vec<_>>().join(", ")
}

/// The folder of the installed documentation: beside the `bin` of this program.
fn documentation() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    let prefix = own.parent().and_then(|bin| bin.parent());
    prefix.unwrap_or(&own).join("share/doc/mpilite")
}

fn row(text: &mut String, head: &str, meaning: &str) {
    let head = format!("  {head}");
    let indent = " ".repeat(COLUMN);
    let mut lines = wrapped(meaning, WIDTH - COLUMN).into_iter();
    if head.len() + 2 > COLUMN {
        let _ = writeln!(text, "{head}");
    } else {
        let first = lines.next().unwrap_or_default();
        let _ = writeln!(text, "{head:COLUMN$}{first}");
    }
    for line in lines {
        let _ = writeln!(text, "{indent}{line}");
    }
}

fn paragraph(text: &mut String, words: &str) {
    for line in wrapped(words, WIDTH) {
        let _ = writeln!(text, "{line}");
    }
    text.push('\n');
}

fn wrapped(words: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in words.split_ascii_whitespace() {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_option_that_does_something_and_every_ignored_one() {
        let text = text();
        let words: Vec<&str> = text
            .split(|c: char| c.is_whitespace() || ",.=[".contains(c))
            .collect();
        for entry in OPTIONS {
            let is_shown = !entry.names.contains(&"agent");
            for spelling in entry.spellings() {
                assert_eq!(words.contains(&spelling.as_str()), is_shown, "{spelling}");
            }
        }
    }

    #[test]
    fn no_line_of_the_help_is_wider_than_a_terminal() {
        let text = text();
        let (text, _) = text.split_once("Documentation:").unwrap();
        for line in text.lines() {
            assert!(line.len() <= WIDTH, "{line}");
        }
    }

    #[test]
    fn the_examples_are_command_lines() {
        for (line, _) in EXAMPLES {
            let words = line.split(' ').skip(1).map(std::ffi::OsString::from);
            let _ = crate::cli::args::parse(words).expect(line);
        }
    }
}
