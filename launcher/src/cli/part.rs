//! The programs of a job: what the command line says about each of them.
//!
//! * [`Part`]: one program with its own options, as it stands between two `:` or on a line of an
//!   application file;
//! * `Reader`: the words of a command line, up to the next `:`;
//! * `lines`: the words of each line of an application file.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::cli::options::Entry;
use crate::cli::request::Options;
use crate::failure::{Failure, printable};
use crate::job::environment::{Base, Export};
use crate::job::hosts::{Host, RANKS_MAX, without_mark};

/// The longest application file in bytes.
const FILE_MAX: u64 = 16 << 20;

/// The word between two programs.
const SEPARATOR: &str = ":";

/// One program of the job with its own options.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Part {
    /// Its number of ranks, if given.
    pub ranks: Option<u32>,
    /// Its own hosts; none: those of the job.
    pub hosts: Vec<Host>,
    /// `--wdir`.
    pub directory: Option<PathBuf>,
    /// `--path`.
    pub path: Option<OsString>,
    /// Which variables it inherits, if it differs from the job.
    pub base: Option<Base>,
    /// `-x` and `-env`, later ones win.
    pub exports: Vec<Export>,
    /// The program as it was named.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

impl Part {
    /// Takes what `general` says where this part says nothing.
    pub(crate) fn inherit(&mut self, general: &Part) {
        self.directory = self.directory.take().or_else(|| general.directory.clone());
        self.path = self.path.take().or_else(|| general.path.clone());
        self.base = self.base.take().or_else(|| general.base.clone());
        let own = std::mem::take(&mut self.exports);
        self.exports = general.exports.iter().cloned().chain(own).collect();
    }
}

/// The words of a command line, of which a `:` ends a part.
pub(crate) struct Reader<I> {
    words: I,
    /// Another part follows.
    pub(crate) has_more: bool,
}

impl<I: Iterator<Item = OsString>> Reader<I> {
    pub(crate) fn new(words: I) -> Reader<I> {
        Reader {
            words,
            has_more: false,
        }
    }

    /// Takes the words up to the end of the part: the arguments of its program.
    pub(crate) fn rest_of_part(&mut self) -> Vec<OsString> {
        let mut rest = Vec::new();
        for word in self.words.by_ref() {
            if word == SEPARATOR {
                self.has_more = true;
                return rest;
            }
            rest.push(word);
        }
        self.has_more = false;
        rest
    }
}

impl<I: Iterator<Item = OsString>> Iterator for Reader<I> {
    type Item = OsString;

    fn next(&mut self) -> Option<OsString> {
        self.words.next()
    }
}

impl Options {
    /// Reads the parts behind the first one.
    pub(crate) fn read_programs(
        &mut self,
        mut words: Reader<impl Iterator<Item = OsString>>,
        mut first: Part,
    ) -> Result<(), Failure> {
        first.ranks = self.ranks;
        if first.program == ":" {
            return Err(Failure::usage(
                "part 1 of the command line: no program is named",
            ));
        }
        if first.program.is_empty() {
            return Err(Failure::usage("no program is named; see mpirun --help"));
        }
        self.programs.push(first);
        while words.has_more {
            let number = self.programs.len() + 1;
            let place = format!("part {number} of the command line");
            let read = read_part(&mut words).map_err(|failure| at(&place, failure));
            let (part, notes) = read?;
            self.notes.extend(notes);
            self.programs.push(part);
        }
        self.count_ranks(|number| format!("part {number} of the command line"))
    }

    /// Reads the programs of `--app`. What stands on the command line holds for each of them.
    pub(crate) fn read_app_file(&mut self, file: &Path, general: &Part) -> Result<(), Failure> {
        if !general.program.is_empty() {
            let shown = printable(&general.program.to_string_lossy());
            return Err(Failure::usage(format!(
                "--app names the programs of the job: leave out '{shown}'"
            )));
        }
        if self.ranks.is_some() {
            return Err(Failure::usage(
                "-n does not go with --app: give it on the lines of the file",
            ));
        }
        let mut places = Vec::new();
        for (place, words) in lines(file)? {
            let mut words = Reader::new(words.into_iter());
            let read = read_part(&mut words).map_err(|failure| at(&place, failure));
            let (part, notes) = read?;
            self.notes.extend(notes);
            self.programs.push(part);
            places.push(place);
        }
        for part in &mut self.programs {
            part.inherit(general);
        }
        self.count_ranks(|number| places[number - 1].clone())
    }

    /// Adds up the ranks of all programs. `place` is that of a program by its number from 1.
    fn count_ranks(&mut self, place: impl Fn(usize) -> String) -> Result<(), Failure> {
        let mut sum: u32 = 0;
        for (index, part) in self.programs.iter().enumerate() {
            match part.ranks {
                Some(ranks) => sum = sum.saturating_add(ranks),
                None if self.programs.len() == 1 => return Ok(()),
                None => {
                    let shown = printable(&part.program.to_string_lossy());
                    return Err(Failure::usage(format!(
                        "{}: '{shown}' needs -n N: each of several programs has its own number of \
                         ranks",
                        place(index + 1)
                    )));
                }
            }
        }
        if sum > RANKS_MAX {
            return Err(Failure::usage(format!(
                "the programs have {sum} ranks together; {RANKS_MAX} are possible"
            )));
        }
        self.ranks = Some(sum);
        Ok(())
    }

    /// What the user last set for this variable by an option, of all programs or of one.
    pub(crate) fn exported(&self, name: &str) -> Option<&Export> {
        let of_parts = self.programs.iter().flat_map(|part| &part.exports);
        let mut all: Vec<&Export> = self.exports.iter().chain(of_parts).collect();
        all.reverse();
        all.into_iter().find(|(known, _)| known == name)
    }
}

/// Reads a part with its own options only. Returns notes for the user as well.
fn read_part(
    words: &mut Reader<impl Iterator<Item = OsString>>,
) -> Result<(Part, Vec<String>), Failure> {
    let mut options = Options::default();
    options.read(words, &Entry::is_of_program)?;
    let mut part = options.part;
    if part.program == ":" || part.program.is_empty() {
        return Err(Failure::usage("no program is named"));
    }
    part.arguments = words.rest_of_part();
    part.ranks = options.ranks;
    part.hosts = options.hosts;
    Ok((part, options.notes))
}

/// A failure with the place of the part in front of it.
pub(crate) fn at(place: &str, failure: Failure) -> Failure {
    Failure {
        code: failure.code,
        text: format!("{place}: {}", failure.text),
    }
}

/// The lines of an application file that name a program: for each its place, for messages, and its
/// words.
///
/// # Errors
///
/// A usage failure if the file cannot be read, has a quote without an end, or names no program.
pub(crate) fn lines(path: &Path) -> Result<Vec<(String, Vec<OsString>)>, Failure> {
    let shown = printable(&path.to_string_lossy());
    let fail = |reason: String| Failure::usage(format!("application file {shown} {reason}"));
    let mut text = Vec::new();
    // A pipe or a device has no length.
    let read = File::open(path).and_then(|file| file.take(FILE_MAX + 1).read_to_end(&mut text));
    read.map_err(|error| fail(format!("cannot be read: {error}")))?;
    if text.len() as u64 > FILE_MAX {
        return Err(fail(format!("is longer than {} MiB", FILE_MAX >> 20)));
    }
    let found = split(&text, &shown)?;
    if found.is_empty() {
        return Err(fail("names no program".into()));
    }
    Ok(found)
}

/// The words of each line, as a shell splits them; a line that ends with `\` goes on.
fn split(text: &[u8], shown: &str) -> Result<Vec<(String, Vec<OsString>)>, Failure> {
    let mut found = Vec::new();
    let mut whole: Vec<u8> = Vec::new();
    // The number of the first line of `whole`, if it goes on.
    let mut begun = None;
    let lines = without_mark(text).split(|byte| *byte == b'\n');
    for (index, line) in lines.enumerate() {
        let first = begun.take().unwrap_or(index + 1);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let is_comment = whole.is_empty() && line.trim_ascii_start().starts_with(b"#");
        let slashes = line.iter().rev().take_while(|byte| **byte == b'\\');
        if slashes.count() % 2 == 1 && !is_comment {
            whole.extend_from_slice(&line[..line.len() - 1]);
            begun = Some(first);
            continue;
        }
        whole.extend_from_slice(line);
        found.extend(words(&std::mem::take(&mut whole), shown, first)?);
    }
    let first = begun.unwrap_or_default();
    // The last line ended with `\`.
    found.extend(words(&whole, shown, first)?);
    Ok(found)
}

/// The words of a line with its place, if it has any.
fn words(
    line: &[u8],
    shown: &str,
    number: usize,
) -> Result<Option<(String, Vec<OsString>)>, Failure> {
    let place = format!("{shown}:{number}");
    let words = shlex::bytes::split(line)
        .ok_or_else(|| Failure::usage(format!("{place}: a quote has no end")))?;
    let words: Vec<OsString> = words.into_iter().map(OsString::from_vec).collect();
    if words
        .iter()
        .any(|word| word.as_bytes() == SEPARATOR.as_bytes())
    {
        return Err(Failure::usage(format!(
            "{place}: a ':' separates programs on the command line; in a file each has its own line"
        )));
    }
    Ok((!words.is_empty()).then_some((place, words)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(String, Vec<OsString>)> {
        split(text.as_bytes(), "f").unwrap()
    }

    #[test]
    fn a_file_has_a_program_on_each_line() {
        let found = of("# first\n\n-n 2 a 'x y' \"$z\" # c\r\n  # \\\n-n 1 \\\n  b\\ c\n");
        let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(
            found,
            [
                ("f:3".into(), words(&["-n", "2", "a", "x y", "$z"])),
                ("f:5".into(), words(&["-n", "1", "b c"])),
            ]
        );
        assert_eq!(
            of("\u{feff}-n 1 a"),
            [("f:1".into(), words(&["-n", "1", "a"]))]
        );
        assert_eq!(of("a\\\nb"), [("f:1".into(), words(&["ab"]))]);
        assert_eq!(of("a \\"), [("f:1".into(), words(&["a"]))]);
    }

    #[test]
    fn what_is_wrong_in_a_file_is_named_with_its_line() {
        for (text, part) in [("a\nb 'c\n", "f:2: a quote"), ("a : b", "f:1: a ':'")] {
            let failure = split(text.as_bytes(), "f").unwrap_err();
            assert!(failure.text.starts_with(part), "{failure}");
            assert_eq!(failure.code, 2);
        }
        assert!(
            lines(Path::new("/nowhere/f"))
                .unwrap_err()
                .text
                .contains("/nowhere/f")
        );
    }
}
