//! The records of all ranks in order of time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, ErrorKind};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use mpi_boot::packets::{Preamble, Record, Way};

use crate::named;

/// Reads the records of all files.
#[derive(Debug, Default)]
pub(crate) struct Merge {
    sources: Vec<(BufReader<File>, Rc<Preamble>)>,
    /// The next record of each source. What is sent comes before what is received at that time.
    next: BTreeMap<(u64, Way, u32, usize), Record>,
    /// The ranks that recorded.
    pub(crate) ranks: BTreeSet<u32>,
    /// Those that could not write all their records.
    pub(crate) lacking: BTreeSet<u32>,
}

impl Merge {
    /// Opens these files, and those in folders among them.
    ///
    /// # Errors
    /// A line that names the path.
    pub(crate) fn open(paths: &[PathBuf]) -> Result<Merge, String> {
        let mut merge = Merge::default();
        for path in paths {
            let added = match path.is_dir() {
                true => merge.add_folder(path),
                false => File::open(path).and_then(|file| merge.add(file)),
            };
            added.map_err(named(path))?;
        }
        Ok(merge)
    }

    /// Adds the files of a folder. Whatever else somebody has put there is left out, and opening
    /// it neither waits nor has an effect.
    fn add_folder(&mut self, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if !fs::symlink_metadata(&path)?.is_file() {
                continue;
            }
            let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW;
            let mut options = OpenOptions::new();
            let file = options.read(true).custom_flags(flags).open(path)?;
            if file.metadata()?.is_file() {
                let _ = self.add(file);
            }
        }
        Ok(())
    }

    /// A file that is cut off in its preamble has no records.
    fn add(&mut self, file: File) -> io::Result<()> {
        let mut file = BufReader::new(file);
        let preamble = match Preamble::read(&mut file) {
            Ok(preamble) => Rc::new(preamble),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return Err(io::Error::other("this is no record of packets"));
            }
            Err(error) => return Err(error),
        };
        self.ranks.insert(preamble.rank);
        if preamble.has_loss {
            self.lacking.insert(preamble.rank);
        }
        self.sources.push((file, preamble));
        self.read(self.sources.len() - 1);
        Ok(())
    }

    /// Reads the next record of a source.
    fn read(&mut self, source: usize) {
        let (file, preamble) = &mut self.sources[source];
        if let Some(record) = Record::read(file, preamble.addresses.len()) {
            let turn = (record.time, record.way, preamble.rank, source);
            self.next.insert(turn, record);
        }
    }
}

impl Iterator for Merge {
    type Item = (Rc<Preamble>, Record);

    fn next(&mut self) -> Option<Self::Item> {
        let ((.., source), record) = self.next.pop_first()?;
        self.read(source);
        Some((Rc::clone(&self.sources[source].1), record))
    }
}

/// Sender and receiver of a record.
pub(crate) fn ends(rank: u32, record: &Record) -> (u32, u32) {
    match record.way {
        Way::Received => (record.peer, rank),
        Way::Sent | Way::Limit => (rank, record.peer),
    }
}
