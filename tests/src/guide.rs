//! The pages of `docs/guide` as scripts: their files, their commands, and what these print.
//!
//! * A line that ends in a name and a colon, as `` `sum.c`: ``, comes before that file's block.
//!   So does a line that ends in `` here `hosts`: ``.
//! * A block `sh` has commands. A block `console` has commands behind `$ `, each with its output.
//! * `...` in a line of output stands for any text; alone in a line it stands for any lines. The
//!   order of the lines does not count, since that of the ranks does not.
//! * A command succeeds, unless the next one is `echo $?` or the page shows lines of `mpirun` that
//!   are no map ([`Page::run`]).

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::install::source_root;
use crate::job::{Job, Outcome};

/// Where the pages are.
pub const GUIDE: &str = "docs/guide";
/// Any text, or any lines.
const ANYTHING: &str = "...";

/// A command of a page.
#[derive(Debug)]
struct Step {
    command: String,
    /// The lines that the page shows, if it shows what the command prints.
    shown: Option<Vec<String>>,
}

/// A page of the guide.
#[derive(Debug)]
pub struct Page {
    name: String,
    files: Vec<(String, String)>,
    steps: Vec<Step>,
}

/// The names of all pages.
///
/// # Panics
/// If the folder cannot be read.
#[must_use]
pub fn pages() -> BTreeSet<String> {
    let entries = fs::read_dir(source_root().join(GUIDE)).expect("the guide");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    names
        .map(|name| name.into_string().expect("plain"))
        .collect()
}

impl Page {
    /// Reads a page.
    ///
    /// # Panics
    /// If there is none of this name.
    #[must_use]
    pub fn read(name: &str) -> Self {
        let path = source_root().join(GUIDE).join(name);
        let text =
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut page = Self {
            name: name.to_owned(),
            files: Vec::new(),
            steps: Vec::new(),
        };
        let mut before = "";
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(language) = line.strip_prefix("```") {
                let block: Vec<_> = lines.by_ref().take_while(|line| *line != "```").collect();
                page.add(language, before, &block);
            } else if !line.is_empty() {
                before = line;
            }
        }
        page
    }

    /// The number of commands.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns true if the page has no command.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The commands.
    pub fn commands(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().map(|step| &*step.command)
    }

    /// Leaves out the commands that begin with this word, which another test runs.
    #[must_use]
    pub fn without(mut self, word: &str) -> Self {
        self.steps.retain(|step| !step.command.starts_with(word));
        self
    }

    fn add(&mut self, language: &str, before: &str, block: &[&str]) {
        match language {
            "sh" => self.steps.extend(block.iter().map(|line| Step {
                command: (*line).to_owned(),
                shown: None,
            })),
            "console" => {
                for line in block {
                    match (line.strip_prefix("$ "), self.steps.last_mut()) {
                        (Some(command), _) => self.steps.push(Step {
                            command: command.to_owned(),
                            shown: Some(Vec::new()),
                        }),
                        (None, Some(step)) => {
                            step.shown.get_or_insert_default().push((*line).to_owned());
                        }
                        (None, None) => panic!("{}: output without a command", self.name),
                    }
                }
            }
            _ => {
                let name = name_in(before);
                let name = name
                    .unwrap_or_else(|| panic!("{}: a block {language} without a name", self.name));
                self.files.push((name.to_owned(), block.join("\n") + "\n"));
            }
        }
    }

    /// Writes the files of the page into this folder and runs its commands there, one after the
    /// other in one shell, which `shell` starts. Lines that begin with `noise` do not count.
    ///
    /// # Panics
    /// If a command fails that the page shows as one that succeeds, or prints something else.
    pub fn run(&self, folder: &Path, shell: impl FnOnce(&Path) -> Job, noise: &str) {
        for (name, text) in &self.files {
            fs::write(folder.join(name), text).expect("a file of the page");
        }
        let script = folder.join("page.sh");
        fs::write(&script, self.script(folder)).expect("a script");
        let outcome = shell(&script).run().expect_code(0);
        for number in 0..self.steps.len() {
            self.check(number, folder, noise, &outcome);
        }
    }

    /// A script that keeps what each command prints, and its status.
    fn script(&self, folder: &Path) -> String {
        let folder = folder.display();
        let mut text = format!("cd '{folder}'\nlast=0\n");
        for (number, step) in self.steps.iter().enumerate() {
            let command = &step.command;
            // The status of the command before is what `$?` means in this one.
            writeln!(
                text,
                "(exit $last); {{ {command}\n}} >'{folder}/page.{number}' 2>&1; last=$?\n\
                 echo $last >'{folder}/page.{number}.status'"
            )
            .expect("a string");
        }
        text + "exit 0\n"
    }

    fn check(&self, number: usize, folder: &Path, noise: &str, outcome: &Outcome) {
        let step = &self.steps[number];
        let read = |name: String| {
            let text = fs::read_to_string(folder.join(&name));
            text.unwrap_or_else(|error| panic!("{name}: {error}; {}", outcome.report()))
        };
        let printed = read(format!("page.{number}"));
        let status = read(format!("page.{number}.status"));
        let place = format!("{}: {}", self.name, step.command);
        let next = self.steps.get(number + 1).map(|step| &*step.command);
        let may_fail = next == Some("echo $?") || step.shows_a_failure();
        assert!(
            may_fail == (status.trim() != "0"),
            "{place}: status {status}{printed}"
        );
        if let Some(shown) = &step.shown {
            let printed: Vec<_> = printed
                .lines()
                .filter(|line| noise.is_empty() || !line.starts_with(noise))
                .collect();
            assert!(
                is_as_shown(shown, &printed),
                "{place}\nthe page shows\n{}\nbut it prints\n{}",
                shown.join("\n"),
                printed.join("\n")
            );
        }
    }
}

impl Step {
    /// Returns true if all that it prints are lines of `mpirun`.
    fn shows_a_failure(&self) -> bool {
        let shown = self.shown.as_deref().unwrap_or_default();
        !shown.is_empty() && shown.iter().all(|line| line.starts_with("mpirun: "))
    }
}

/// `sum.c` in a line that ends with `` `sum.c`: ``.
fn name_in(line: &str) -> Option<&str> {
    let (_, name) = line.strip_suffix("`:")?.rsplit_once('`')?;
    Some(name)
}

fn is_as_shown(shown: &[String], printed: &[&str]) -> bool {
    let mut left = printed.to_vec();
    for pattern in shown.iter().filter(|line| *line != ANYTHING) {
        let Some(at) = left.iter().position(|line| fits(pattern, line)) else {
            return false;
        };
        left.remove(at);
    }
    left.is_empty() || shown.iter().any(|line| line == ANYTHING)
}

/// Returns true if the line is the pattern, in which `...` stands for any text.
fn fits(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split(ANYTHING);
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    let mut is_open = false;
    for part in parts {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
        is_open = part.is_empty();
    }
    rest.is_empty() || is_open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_a_page_fit_in_any_order_and_none_is_missing() {
        let shown = |lines: &[&str]| {
            lines
                .iter()
                .map(|&line| line.to_owned())
                .collect::<Vec<_>>()
        };
        for (lines, printed, is_right) in [
            (&["a", "b"][..], &["b", "a"][..], true),
            (&["a"], &["a", "b"], false),
            (&["a", "b"], &["a"], false),
            (&["a", "..."], &["a", "b"], true),
            (&["pid ..., host ...: x"], &["pid 7, host vm: x"], true),
            (&["pid ..., host ...: x"], &["pid 7, host vm: xy"], false),
            (&["end ..."], &["end of all"], true),
            (&["a", "a"], &["a"], false),
        ] {
            assert_eq!(is_as_shown(&shown(lines), printed), is_right, "{lines:?}");
        }
    }

    #[test]
    fn a_block_has_the_name_that_the_line_before_it_ends_with() {
        assert_eq!(name_in("`sum.c`:"), Some("sum.c"));
        assert_eq!(name_in("a file, here `hosts`:"), Some("hosts"));
        assert_eq!(name_in("It is `sum.c`."), None);
    }
}
