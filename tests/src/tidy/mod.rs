//! The numbers of the house style (CONTRIBUTING.md), as functions from text to violations.

pub mod dependencies;
mod file;
mod tree;

use std::fmt;

pub use file::violations_of_file;
pub use tree::{files, readme_with_size, violations_of_tree};

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

    /// The public headers: written by a generator, in the order and the words of the standard.
    fn is_generated(&self) -> bool {
        self.path == "include/mpi.h" || self.path == "include/mpich/mpi.h"
    }

    /// The lines outside the file's own unit tests, wherever these stand: an item under
    /// `#[cfg(test)]` or `#[cfg(all(test, ...))]` ends with `;`, `,` or `}` at its indentation.
    fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().map(|(i, line)| (i + 1, line));
        let mut item = Item::Product;
        lines.filter(move |(_, line)| {
            item = item.at(line);
            item == Item::Product
        })
    }
}

/// Where a line of a file stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Item {
    /// Outside of unit tests.
    Product,
    /// Behind an attribute that says that the next item is for tests, at this indentation.
    Announced(usize),
    /// In such an item, which begins and ends at this indentation.
    Test(usize),
    /// The last line of such an item.
    LastOfTest,
}

impl Item {
    /// Where this line stands, if the line above it stands at `self`.
    fn at(self, line: &str) -> Self {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        match self {
            Self::Product | Self::LastOfTest if is_test_attribute(code) => Self::Announced(indent),
            Self::Product | Self::LastOfTest => Self::Product,
            // Further attributes and comments of the same item.
            Self::Announced(_) if code.starts_with('#') || code.starts_with("//") => self,
            Self::Announced(start) | Self::Test(start) if indent == start && ends_item(code) => {
                Self::LastOfTest
            }
            Self::Announced(start) | Self::Test(start) => Self::Test(start),
        }
    }
}

fn is_test_attribute(code: &str) -> bool {
    code.starts_with("#[cfg(test)]") || code.starts_with("#[cfg(all(test,")
}

/// Whether this line, at the indentation of its item, is the item's last one.
fn ends_item(code: &str) -> bool {
    code.ends_with(';') || code.ends_with('}') || code.ends_with(',')
}
