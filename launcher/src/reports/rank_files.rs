//! A file for each rank and stream: `rank.3.out` and `rank.3.err` in the directory of `--output`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
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
            Failure::launch(format!(
                "--output: {} cannot be created: {error}",
                shown(path)
            ))
        };
        let refuse =
            |path: &Path, why: &str| Failure::usage(format!("--output: {} is {why}", shown(path)));
        fs::create_dir_all(directory).map_err(|error| fail(directory, &error))?;
        let files = RankFiles {
            directory: directory.to_path_buf(),
            open: HashMap::new(),
        };
        let streams = [Stream::Output, Stream::Error];
        let streams = &streams[..1 + usize::from(has_errors)];
        let all = (0..ranks).flat_map(|rank| streams.iter().map(move |stream| (rank, *stream)));
        for path in all.map(|(rank, stream)| files.path(rank, stream)) {
            // Files are closed and opened again, which would be the end for the reader of a fifo.
            if path.metadata().is_ok_and(|it| it.file_type().is_fifo()) {
                return Err(refuse(
                    &path,
                    "a fifo; remove it, or name another directory",
                ));
            }
            let made = result_file::open(&path, &mut result_file::anew());
            let metadata = made.and_then(|file| file.metadata());
            let metadata = metadata.map_err(|error| fail(&path, &error))?;
            if let Some(other) = opener.enter("--output", &metadata) {
                let why = format!("also the file of {other}; give each its own");
                return Err(refuse(&path, &why));
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
        written.map_err(|error| format!("{}: {error}", shown(&path)))
    }

    fn file(&mut self, rank: u32, stream: Stream, path: &Path) -> io::Result<&mut File> {
        if self.open.len() >= OPEN_MAX && !self.open.contains_key(&(rank, stream)) {
            self.open.clear();
        }
        Ok(match self.open.entry((rank, stream)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(result_file::open(
                path,
                result_file::behind().create(false),
            )?),
        })
    }

    fn path(&self, rank: u32, stream: Stream) -> PathBuf {
        let end = match stream {
            Stream::Output => "out",
            Stream::Error => "err",
        };
        self.directory.join(format!("rank.{rank}.{end}"))
    }
}

fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy())
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
