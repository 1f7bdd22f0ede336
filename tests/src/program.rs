//! The C programs of `tests/c`: one program is one test, its first line says how it is run.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::compile::compile;
use crate::install::source_root;
use crate::job::Job;
use crate::scratch::Scratch;

/// The exit code a program is to end with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// This one.
    Code(i32),
    /// Any but zero.
    NonZero,
}

/// A C program and what its first line asks for.
#[derive(Debug)]
pub struct Program {
    /// Chapter and subject, such as `point_to_point/order`.
    pub name: String,
    /// The C file.
    pub source: PathBuf,
    /// The numbers of ranks to run it with.
    pub ranks: Vec<usize>,
    /// What it ends with.
    pub exit: Exit,
    /// Whether it is started without mpirun.
    pub is_direct: bool,
    /// Words of its command line.
    pub arguments: Vec<String>,
    /// Whether a single transport is enough, as it makes no difference to what the program checks.
    needs_one_transport: bool,
    /// Transports that are too slow for it.
    without: Vec<String>,
    binary: OnceLock<Result<PathBuf, String>>,
}

/// The transports beside those that programs use unless they ask.
const OTHERS: [&str; 5] = ["gobackn", "unet", "sctp", "tcp", "tcp-trc"];

/// If set, each program runs over each transport, or over two: `make test-transports`.
const ALL: &str = "TEST_ALL_TRANSPORTS";

impl Program {
    /// Reads `/* ranks: 1, 2; exit: 5; ...; MPI 5.0 3.5 */`.
    ///
    /// # Errors
    /// What is wrong with the line.
    pub fn parse(name: &str, source: PathBuf, line: &str) -> Result<Self, String> {
        let wrong = |what: &str| format!("{name}: {what} in the first line `{line}`");
        let inner = line
            .strip_prefix("/* ")
            .and_then(|rest| rest.strip_suffix(" */"));
        let mut program = Self {
            name: name.to_owned(),
            source,
            ranks: Vec::new(),
            exit: Exit::Code(0),
            is_direct: false,
            arguments: Vec::new(),
            needs_one_transport: false,
            without: Vec::new(),
            binary: OnceLock::new(),
        };
        let mut has_section = false;
        for part in inner.ok_or_else(|| wrong("no comment"))?.split("; ") {
            match part.split_once(": ") {
                Some(("ranks", list)) => program.ranks = numbers(list).ok_or(wrong("bad ranks"))?,
                Some(("exit", "nonzero")) => program.exit = Exit::NonZero,
                Some(("exit", code)) => {
                    program.exit = Exit::Code(code.parse().map_err(|_| wrong("bad exit"))?);
                }
                Some(("launch", "direct")) => program.is_direct = true,
                Some(("arguments", words)) => program.arguments = split_words(words),
                Some(("transports", "one")) => program.needs_one_transport = true,
                Some(("transports", "all") | ("table", _)) => {}
                Some(("without", list)) => {
                    program.without = split_words(list);
                    let is_other = |name: &String| OTHERS.contains(&name.as_str());
                    if !program.without.iter().all(is_other) {
                        return Err(wrong("no such transport"));
                    }
                }
                None if part.starts_with("MPI 5.0 ") => has_section = true,
                _ => return Err(wrong(&format!("`{part}`"))),
            }
        }
        if program.ranks.is_empty() || !has_section {
            return Err(wrong("no ranks or no section of MPI 5.0"));
        }
        Ok(program)
    }

    /// The transports that carry job number `number` of the suite, of this many ranks. `rmpp`,
    /// `shm` and `loopback` carry each, the others take turns; where one is enough, it is the one
    /// that is used most.
    #[must_use]
    pub fn transports(&self, ranks: usize, number: usize) -> Vec<&'static str> {
        let all = std::env::var_os(ALL).is_some();
        let near = if ranks == 1 { "loopback" } else { "shm" };
        if self.needs_one_transport && !all {
            return vec![near];
        }
        let mut transports = vec!["rmpp", near];
        if ranks > 1 && !self.needs_one_transport {
            let is_meant = |other: &&str| !self.without.iter().any(|name| name == other);
            let others: Vec<_> = OTHERS.into_iter().filter(is_meant).collect();
            match all {
                true => transports.extend(others),
                false => transports.push(others[number % others.len()]),
            }
        }
        transports
    }

    /// The compiled program; the compiler runs at most once.
    ///
    /// # Errors
    /// What the compiler said.
    pub fn binary(&self, scratch: &Scratch) -> Result<&Path, String> {
        let compiled = self.binary.get_or_init(|| compile(&self.source, scratch));
        compiled.as_deref().map_err(Clone::clone)
    }

    /// A job of this program, not yet started.
    ///
    /// # Errors
    /// What the compiler said.
    pub fn job(&self, scratch: &Scratch, ranks: usize, transport: &str) -> Result<Job, String> {
        let binary = self.binary(scratch)?;
        let job = if self.is_direct {
            Job::new(binary).env("MPILITE_TRANSPORT", transport)
        } else {
            Job::mpirun(ranks)
                .args(["--transport", transport])
                .arg(binary)
        };
        Ok(job.args(&self.arguments))
    }
}

fn numbers(list: &str) -> Option<Vec<usize>> {
    list.split(", ").map(|number| number.parse().ok()).collect()
}

/// Words separated by blanks; double quotes keep blanks together.
fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (i, piece) in text.split('"').enumerate() {
        if i % 2 == 1 {
            words.push(piece.to_owned());
        } else {
            words.extend(piece.split_whitespace().map(str::to_owned));
        }
    }
    words
}

/// Every program of these chapters of `tests/c`, in alphabetical order.
///
/// # Panics
/// If a chapter is missing or empty, or a first line is wrong.
#[must_use]
pub fn programs(chapters: &[&str]) -> Vec<Program> {
    let mut found = Vec::new();
    for chapter in chapters {
        let folder = source_root().join("tests/c").join(chapter);
        let entries = std::fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("cannot read {}: {error}", folder.display()));
        let mut files: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
        files.sort();
        assert!(!files.is_empty(), "{} holds no C program", folder.display());
        found.extend(files.into_iter().map(|path| read(chapter, path)));
    }
    found
}

fn read(chapter: &str, path: PathBuf) -> Program {
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    let subject = path
        .file_stem()
        .expect("a C file has a name")
        .to_string_lossy()
        .into_owned();
    let line = text.lines().next().unwrap_or_default();
    Program::parse(&format!("{chapter}/{subject}"), path, line)
        .unwrap_or_else(|why| panic!("{why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Program, String> {
        Program::parse("chapter/subject", PathBuf::new(), line)
    }

    #[test]
    fn the_first_line_says_how_a_program_is_run() {
        let line =
            "/* ranks: 1, 8; transports: all; exit: 42; arguments: a \"b c\"; MPI 5.0 9.5 */";
        let program = parse(line).expect("a good line");
        assert_eq!(program.ranks, [1, 8]);
        assert_eq!(program.exit, Exit::Code(42));
        assert_eq!(program.arguments, ["a", "b c"]);
        assert_eq!(program.transports(8, 0)[..2], ["rmpp", "shm"]);
    }

    #[test]
    fn a_program_that_no_transport_changes_runs_over_one_or_two() {
        let line = "/* ranks: 1, 2; transports: one; MPI 5.0 9.6 */";
        let program = parse(line).expect("a good line");
        let expected: [&[_]; 2] = match std::env::var_os(ALL) {
            None => [&["loopback"], &["shm"]],
            Some(_) => [&["rmpp", "loopback"], &["rmpp", "shm"]],
        };
        assert_eq!([1, 2].map(|ranks| program.transports(ranks, 3)), expected);
    }

    #[test]
    fn transports_that_are_too_slow_for_a_program_are_left_out() {
        let line = "/* ranks: 2; without: gobackn sctp; MPI 5.0 3.5 */";
        let program = parse(line).expect("a good line");
        let used: Vec<_> = (0..9)
            .flat_map(|number| program.transports(2, number))
            .collect();
        assert!(used.contains(&"tcp") && used.contains(&"unet"), "{used:?}");
        assert!(
            !used.contains(&"gobackn") && !used.contains(&"sctp"),
            "{used:?}"
        );
    }

    #[test]
    fn a_first_line_with_anything_wrong_is_refused() {
        for line in [
            "",
            "// ranks: 1; MPI 5.0 3.5",
            "/* ranks: 1 */",
            "/* MPI 5.0 3.5 */",
            "/* ranks: x; MPI 5.0 3.5 */",
            "/* ranks: 1; exit: maybe; MPI 5.0 3.5 */",
            "/* ranks: 1; colour: red; MPI 5.0 3.5 */",
            "/* ranks: 1; without: rmpp; MPI 5.0 3.5 */",
        ] {
            assert!(parse(line).is_err(), "`{line}` is no good first line");
        }
    }
}
