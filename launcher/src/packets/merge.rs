//! The records of all ranks in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Seek as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::rc::Rc;

use mpi_boot::packets::{Preamble, Record, Way};

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

/// The files of all records, open.
#[derive(Debug, Default)]
pub(super) struct Records {
    files: Vec<File>,
}

impl Records {
    /// Opens all files of a folder. Whatever else somebody has put there is left out, and opening
    /// it neither waits nor has an effect.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn open(folder: &Path) -> io::Result<Records> {
        let mut paths: Vec<_> = fs::read_dir(folder)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<_>>()?;
        paths.sort();
        let mut files = Vec::new();
        for path in paths {
            if !fs::symlink_metadata(&path)?.is_file() {
                continue;
            }
            let flags = libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW;
            let file = OpenOptions::new()
                .read(true)
                .custom_flags(flags)
                .open(path)?;
            if file.metadata()?.is_file() {
                files.push(file);
            }
        }
        Ok(Records { files })
    }

    /// The records from the beginning. One merge is read at a time.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn merge(&self) -> io::Result<Merge> {
        let mut merge = Merge {
            sources: Vec::new(),
            turns: BinaryHeap::new(),
        };
        for file in &self.files {
            let mut file = file.try_clone()?;
            file.rewind()?;
            merge.add(BufReader::new(file));
        }
        Ok(merge)
    }
}

/// Reads the records of all files.
pub(super) struct Merge {
    sources: Vec<Source>,
    turns: BinaryHeap<Turn>,
}

impl Merge {
    /// A file that is cut off in its preamble has no records.
    fn add(&mut self, mut file: BufReader<File>) {
        let Ok(preamble) = Preamble::read(&mut file) else {
            return;
        };
        let mut source = Source {
            file,
            preamble: Rc::new(preamble),
            next: None,
        };
        source.read();
        self.sources.push(source);
        self.queue(self.sources.len() - 1);
    }

    /// The ranks that recorded.
    pub(super) fn ranks(&self) -> Vec<u32> {
        self.ranks_with(|_| true)
    }

    /// The ranks that could not write all their records.
    pub(super) fn ranks_with_loss(&self) -> Vec<u32> {
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
