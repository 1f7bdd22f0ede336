//! The records of all ranks in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::Path;
use std::rc::Rc;

use mpi_lite::packets::{Preamble, Record, Way};

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

/// Reads the records of a folder.
pub(super) struct Merge {
    sources: Vec<Source>,
    turns: BinaryHeap<Turn>,
}

impl Merge {
    /// Opens all files of the folder. One that is cut off in its preamble has no records.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn open(folder: &Path) -> io::Result<Merge> {
        let mut paths: Vec<_> = fs::read_dir(folder)?
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<io::Result<_>>()?;
        paths.sort();
        let mut merge = Merge {
            sources: Vec::new(),
            turns: BinaryHeap::new(),
        };
        for path in paths {
            let mut file = BufReader::new(File::open(path)?);
            let Ok(preamble) = Preamble::read(&mut file) else {
                continue;
            };
            let mut source = Source {
                file,
                preamble: Rc::new(preamble),
                next: None,
            };
            source.read();
            merge.sources.push(source);
            merge.queue(merge.sources.len() - 1);
        }
        Ok(merge)
    }

    /// The ranks that recorded.
    pub(super) fn ranks(&self) -> Vec<u32> {
        let mut ranks: Vec<u32> = self.sources.iter().map(|it| it.preamble.rank).collect();
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
