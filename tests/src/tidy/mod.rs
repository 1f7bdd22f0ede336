//! The numbers of the house style (CONTRIBUTING.md), as functions from text to violations.

mod file;
mod tree;

use std::fmt;

pub use file::violations_of_file;
pub use tree::{files, violations_of_tree};

/// One text file of the source tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path from the root, with `/`.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// One place where the style is not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// File.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

impl SourceFile {
    /// A file with this content.
    #[must_use]
    pub fn new(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    fn violation(&self, line: usize, what: impl Into<String>) -> Violation {
        Violation {
            path: self.path.clone(),
            line,
            what: what.into(),
        }
    }

    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    fn is_c(&self) -> bool {
        self.path.ends_with(".c") || self.path.ends_with(".h")
    }

    /// The public header: written by a generator, in the order and the words of the standard.
    fn is_generated(&self) -> bool {
        self.path == "include/mpi.h"
    }

    /// The lines in front of the file's own unit tests.
    fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().map(|(i, line)| (i + 1, line));
        lines.take_while(|(_, line)| *line != "#[cfg(test)]")
    }
}
