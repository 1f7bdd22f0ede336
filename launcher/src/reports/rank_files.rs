//! A file for each rank and stream: `rank.3.out` and `rank.3.err` in the directory of `--output`.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use crate::failure::{Failure, printable};
use crate::reports::result_file::{self, Opener};
use crate::wire::Stream;

/// How many files are open at a time: a job may have more ranks than a process may open files.
const OPEN_MAX: usize = 64;

/// The files of a job.
#[derive(Debug)]
pub struct RankFiles {
    directory: PathBuf,
    open: HashMap<(u32, Stream), File>,
}

impl RankFiles {
    /// Creates the directory and the files, which are empty then. Without `has_errors` there are
    /// none for standard error.
    ///
    /// # Errors
    ///
    /// A failure that names what cannot be created and why.
    pub(crate) fn create(
        directory: &Path,
        ranks: u32,
        has_errors: bool,
        opener: &mut Opener,
    ) -> Result<RankFiles, Failure> {
        let fail = |path: &Path, error: &io::Error| {
            let shown = printable(&path.to_string_lossy());
            Failure::launch(format!("--output: {shown} cannot be created: {error}"))
        };
        fs::create_dir_all(directory).map_err(|error| fail(directory, &error))?;
        let files = RankFiles {
            directory: directory.to_path_buf(),
            open: HashMap::new(),
        };
        for rank in 0..ranks {
            for stream in [Stream::Output, Stream::Error] {
                if stream == Stream::Output || has_errors {
                    let path = files.path(rank, stream);
                    refuse_fifo(&path)?;
                    let made = result_file::open(&path, &mut result_file::anew());
                    let metadata = made.and_then(|file| file.metadata());
                    let metadata = metadata.map_err(|error| fail(&path, &error))?;
                    if let Some(other) = opener.enter("--output", &metadata) {
                        let shown = printable(&path.to_string_lossy());
                        return Err(Failure::usage(format!(
                            "--output: {shown} is also the file of {other}; give each its own"
                        )));
                    }
                }
            }
        }
        Ok(files)
    }

    /// Appends to the file of a rank.
    ///
    /// # Errors
    ///
    /// The file and the system's reason.
    pub fn append(&mut self, rank: u32, stream: Stream, bytes: &[u8]) -> Result<(), String> {
        let path = self.path(rank, stream);
        let written = self.file(rank, stream, &path);
        let written = written.and_then(|file| result_file::write_all(file, bytes));
        written.map_err(|error| format!("{}: {error}", printable(&path.to_string_lossy())))
    }

    fn file(&mut self, rank: u32, stream: Stream, path: &Path) -> io::Result<&mut File> {
        let key = (rank, stream);
        if !self.open.contains_key(&key) {
            if self.open.len() >= OPEN_MAX {
                self.open.clear();
            }
            let file = result_file::open(path, result_file::behind().create(false))?;
            self.open.insert(key, file);
        }
        Ok(self.open.get_mut(&key).expect("it has just been added"))
    }

    fn path(&self, rank: u32, stream: Stream) -> PathBuf {
        let end = match stream {
            Stream::Output => "out",
            Stream::Error => "err",
        };
        self.directory.join(format!("rank.{rank}.{end}"))
    }
}

/// Files are closed and opened again, which would be the end for the reader of a fifo.
fn refuse_fifo(path: &Path) -> Result<(), Failure> {
    match path.metadata() {
        Ok(metadata) if metadata.file_type().is_fifo() => {
            let shown = printable(&path.to_string_lossy());
            Err(Failure::usage(format!(
                "--output: {shown} is a fifo; remove it, or name another directory"
            )))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_ranks_than_open_files_append_in_turn() {
        let directory = tempfile();
        let mut files = RankFiles::create(&directory, 70, false, &mut Opener::default()).unwrap();
        for word in ["a", "b"] {
            for rank in 0..70 {
                let line = format!("{word}{rank}\n");
                files.append(rank, Stream::Output, line.as_bytes()).unwrap();
                assert!(files.open.len() <= OPEN_MAX);
            }
        }
        let text = fs::read_to_string(directory.join("rank.69.out")).unwrap();
        assert_eq!(text, "a69\nb69\n");
        assert!(!directory.join("rank.69.err").exists());
        fs::remove_dir_all(directory).unwrap();
    }

    /// A directory that no other test has.
    fn tempfile() -> PathBuf {
        let name = format!("mpilite-rank-files-{}", std::process::id());
        std::env::temp_dir().join(name)
    }
}
