//! The records of all ranks in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, ErrorKind};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use mpi_boot::packets::{Preamble, Record, Way};

use crate::named;

#[derive(Debug)]
struct Source {
    file: BufReader<File>,
    preamble: Rc<Preamble>,
    next: Option<Record>,
}

impl Source {
    fn read(&mut self) {
        self.next = Record::read(&mut self.file, self.preamble.addresses.len());
    }
}

/// What is next: its time, its way (what is sent comes before what is received), its source.
type Turn = Reverse<(u64, Way, usize)>;

/// Reads the records of all files.
#[derive(Debug, Default)]
pub(crate) struct Merge {
    sources: Vec<Source>,
    turns: BinaryHeap<Turn>,
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
        let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
        let mut paths: Vec<_> = entries.collect::<io::Result<_>>()?;
        paths.sort();
        for path in paths {
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
        let mut source = Source {
            file,
            preamble,
            next: None,
        };
        source.read();
        self.sources.push(source);
        self.queue(self.sources.len() - 1);
        Ok(())
    }

    /// The ranks that recorded.
    pub(crate) fn ranks(&self) -> Vec<u32> {
        self.ranks_with(|_| true)
    }

    /// The ranks that could not write all their records.
    pub(crate) fn ranks_with_loss(&self) -> Vec<u32> {
        self.ranks_with(|preamble| preamble.has_loss)
    }

    fn ranks_with(&self, is_meant: impl Fn(&Preamble) -> bool) -> Vec<u32> {
        let preambles = self.sources.iter().map(|it| &it.preamble);
        let meant = preambles.filter(|preamble| is_meant(preamble));
        let mut ranks: Vec<u32> = meant.map(|preamble| preamble.rank).collect();
        ranks.sort_unstable();
        ranks.dedup();
        ranks
    }

    fn queue(&mut self, number: usize) {
        if let Some(next) = &self.sources[number].next {
            self.turns.push(Reverse((next.time, next.way, number)));
        }
    }
}

impl Iterator for Merge {
    type Item = (Rc<Preamble>, Record);

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse((_, _, number)) = self.turns.pop()?;
        let source = &mut self.sources[number];
        let record = source.next.take()?;
        let preamble = Rc::clone(&source.preamble);
        source.read();
        self.queue(number);
        Some((preamble, record))
    }
}

/// Sender and receiver of a record.
pub(crate) fn ends(rank: u32, record: &Record) -> (u32, u32) {
    match record.way {
        Way::Received => (record.peer, rank),
        Way::Sent | Way::Limit => (rank, record.peer),
    }
}
