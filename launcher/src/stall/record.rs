//! The file of `--stall-json`.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use crate::failure::{Failure, printable};

/// A file that gets one line for each report.
#[derive(Debug)]
pub struct Record {
    name: String,
    file: File,
}

impl Record {
    /// Opens the file: better now than when the job has run for hours.
    ///
    /// # Errors
    ///
    /// A failure that names the file.
    pub fn open(path: &Path) -> Result<Record, Failure> {
        let name = printable(&path.to_string_lossy());
        match OpenOptions::new().append(true).create(true).open(path) {
            Ok(file) => Ok(Record { name, file }),
            Err(error) => Err(Failure::usage(format!("--stall-json {name}: {error}"))),
        }
    }

    /// Appends a line.
    ///
    /// # Errors
    ///
    /// A line for the user.
    pub fn write(&mut self, line: &str) -> Result<(), String> {
        let written = self.file.write_all(format!("{line}\n").as_bytes());
        written.map_err(|error| format!("--stall-json {}: {error}", self.name))
    }
}
