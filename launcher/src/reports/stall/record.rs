//! The file of `--stall-json`.

use std::path::Path;

use crate::failure::Failure;
use crate::reports::result_file::{self, Opener, ResultFile};

/// A file that gets one line for each report.
#[derive(Debug)]
pub(crate) struct Record(ResultFile);

impl Record {
    /// Opens the file.
    ///
    /// # Errors
    ///
    /// A failure that names the file.
    pub(crate) fn open(path: &Path, opener: &mut Opener) -> Result<Record, Failure> {
        let file = opener.open("--stall-json ", path, result_file::behind())?;
        Ok(Record(file))
    }

    /// Appends a line.
    ///
    /// # Errors
    ///
    /// A line for the user.
    pub(crate) fn write(&mut self, line: &str) -> Result<(), String> {
        self.0.write_whole(format!("{line}\n").as_bytes())
    }
}
