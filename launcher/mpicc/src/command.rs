//! What the arguments of a wrapper ask for.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Compile,
    CommandLine,
    CompileFlags,
    LinkFlags,
    IncludeDirectories,
    LibraryDirectories,
    Libraries,
    Compiler,
    Version,
    Help,
}

/// The questions, without their one or two dashes.
const QUESTIONS: &[(&str, Asked)] = &[
    ("show", Asked::CommandLine),
    ("showme", Asked::CommandLine),
    ("showme:compile", Asked::CompileFlags),
    ("show-compile-info", Asked::CompileFlags),
    ("showme:link", Asked::LinkFlags),
    ("show-link-info", Asked::LinkFlags),
    ("compile_info", Asked::CommandLine),
    ("compile-info", Asked::CommandLine),
    ("link_info", Asked::CommandLine),
    ("link-info", Asked::CommandLine),
    ("showme:incdirs", Asked::IncludeDirectories),
    ("showme:libdirs", Asked::LibraryDirectories),
    ("showme:libs", Asked::Libraries),
    ("showme:command", Asked::Compiler),
    ("showme:version", Asked::Version),
    ("showme:help", Asked::Help),
];

/// Options of the compiler that stop before linking.
const WITHOUT_LINKING: [&str; 6] = ["-c", "-S", "-E", "-M", "-MM", "-fsyntax-only"];

/// Options of the compiler whose value is the next word: that word is no file to compile.
const WITH_VALUE: [&str; 26] = [
    "-o",
    "-x",
    "-MF",
    "-MT",
    "-MQ",
    "-I",
    "-L",
    "-D",
    "-U",
    "-include",
    "-imacros",
    "-isystem",
    "-idirafter",
    "-iquote",
    "-isysroot",
    "-T",
    "-u",
    "-z",
    "-e",
    "-Xlinker",
    "-Xpreprocessor",
    "-Xassembler",
    "-Xclang",
    "--param",
    "-B",
    "-aux-info",
];

/// A command line of a wrapper, taken apart.
#[derive(Debug)]
pub(super) struct Invocation {
    pub(super) asked: Asked,
    /// What is for the compiler, in order.
    pub(super) arguments: Vec<OsString>,
    /// From `-cc=` or `-cxx=`.
    pub(super) compiler: Option<OsString>,
    /// From `--abi=`.
    pub(super) abi: Option<OsString>,
    pub(super) echoes: bool,
    pub(super) is_static: bool,
    pub(super) warnings: Vec<String>,
}

impl Invocation {
    pub(super) fn parse(words: impl Iterator<Item = OsString>) -> Invocation {
        let mut invocation = Invocation {
            asked: Asked::Compile,
            arguments: Vec::new(),
            compiler: None,
            abi: None,
            echoes: false,
            is_static: false,
            warnings: Vec::new(),
        };
        for word in words {
            if !invocation.take(&word) {
                invocation.arguments.push(word);
            }
        }
        invocation
    }

    /// Takes a word that is for the wrapper. Returns true if it was one.
    fn take(&mut self, word: &OsStr) -> bool {
        let Some(text) = word.to_str() else {
            return false;
        };
        let Some(option) = text.strip_prefix("--").or_else(|| text.strip_prefix('-')) else {
            return false;
        };
        if let Some((_, asked)) = QUESTIONS.iter().find(|(question, _)| *question == option) {
            self.asked = *asked;
            return true;
        }
        match option.split_once('=') {
            Some(("cc" | "cxx" | "CC", value)) => self.compiler = Some(value.into()),
            Some(("abi", value)) => self.abi = Some(value.into()),
            Some(("fc" | "f77" | "f90" | "config", _)) => {}
            Some(("profile", name)) => {
                self.warnings.push(format!("-profile={name} is ignored"));
            }
            None if option == "echo" => self.echoes = true,
            None if option == "static-mpi" => self.is_static = true,
            _ => return false,
        }
        true
    }

    pub(super) fn is_empty(&self) -> bool {
        self.arguments.is_empty()
    }

    /// `mpicc -v` and nothing else.
    pub(super) fn asks_version_only(&self) -> bool {
        matches!(&self.arguments[..], [word] if word == "-v")
    }

    /// Returns true if the flags for compiling belong on the command line.
    pub(super) fn compiles(&self) -> bool {
        self.asked != Asked::Compile || self.has_input()
    }

    /// Returns true if the flags for linking belong on the command line.
    pub(super) fn links(&self) -> bool {
        let stops = |word: &OsString| WITHOUT_LINKING.iter().any(|option| word == option);
        let is_in_file = self.arguments.iter().any(|word| response_file_stops(word));
        !is_in_file && !self.arguments.iter().any(stops) && self.compiles()
    }

    /// Returns true if there is something to compile or to link. Otherwise the compiler is only
    /// asked something (`--version`, `-print-search-dirs`, ...), and our flags would disturb.
    fn has_input(&self) -> bool {
        let mut is_value = false;
        for word in &self.arguments {
            let is_input = word == "-" || !word.as_bytes().starts_with(b"-");
            if is_input && !is_value {
                return true;
            }
            is_value = WITH_VALUE.iter().any(|option| word == option);
        }
        false
    }
}

/// Returns true if `@file` contains an option that stops before linking.
fn response_file_stops(word: &OsStr) -> bool {
    let Some(path) = word.as_bytes().strip_prefix(b"@") else {
        return false;
    };
    let Ok(text) = std::fs::read(OsStr::from_bytes(path)) else {
        return false;
    };
    let text = String::from_utf8_lossy(&text);
    text.split_ascii_whitespace()
        .any(|option| WITHOUT_LINKING.contains(&option))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Invocation {
        let words = line.split(' ').filter(|word| !word.is_empty());
        Invocation::parse(words.map(OsString::from))
    }

    #[test]
    fn linking_is_left_out_where_the_compiler_stops_before() {
        for line in [
            "-c a.c",
            "a.c -S",
            "-E a.c",
            "-M a.c",
            "-MM a.c",
            "-x c -fsyntax-only -",
        ] {
            let invocation = parsed(line);
            assert!(invocation.compiles() && !invocation.links(), "{line}");
        }
        for line in [
            "a.c",
            "a.o -o a",
            "-MD a.c",
            "-MMD -MF d a.c",
            "-x c -",
            "-shared a.o",
        ] {
            assert!(parsed(line).links(), "{line}");
        }
    }

    #[test]
    fn a_question_to_the_compiler_is_passed_on_alone() {
        for line in [
            "--version",
            "-dumpversion",
            "-v",
            "-print-search-dirs",
            "-o x",
            "-dM -x c",
        ] {
            let invocation = parsed(line);
            assert!(!invocation.compiles() && !invocation.links(), "{line}");
        }
    }

    #[test]
    fn every_question_is_understood_with_one_dash_and_two() {
        for (question, asked) in QUESTIONS {
            for dashes in ["-", "--"] {
                let invocation = parsed(&format!("{dashes}{question}"));
                assert_eq!(invocation.asked, *asked, "{dashes}{question}");
                assert!(invocation.is_empty());
            }
        }
    }

    #[test]
    fn options_of_the_wrapper_do_not_reach_the_compiler() {
        let line = "-cc=clang -echo -static-mpi -config=x -profile=y --abi=mpich a.c -DX=1";
        let invocation = parsed(line);
        assert_eq!(invocation.arguments, ["a.c", "-DX=1"]);
        assert_eq!(invocation.abi, Some("mpich".into()));
        assert_eq!(invocation.compiler, Some("clang".into()));
        assert!(invocation.echoes && invocation.is_static);
        assert_eq!(invocation.warnings.len(), 1);
    }
}
