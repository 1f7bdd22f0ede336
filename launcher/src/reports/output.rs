//! Where the ranks' output goes: our own standard output and error, or files.
//!
//! Nothing here blocks for long: a queue per stream, and a write only when there is room. The
//! nodes hear what has been written and send no more than a window ahead of it.

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::{SFlag, fstat};
use nix::unistd::write;

use crate::poll::{Interests, Token};
use crate::reports::rank_files::RankFiles;
use crate::reports::stamp;
use crate::wire::Stream;

/// A pipe with room has room for this much, in bytes (PIPE_BUF).
const PIPE_ROOM: usize = 4096;

/// A file takes anything; this much at a time.
const FILE_PIECE: usize = 256 << 10;

/// Why a stream takes no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// Its reader is gone.
    Closed,
    /// The system's reason, for instance a full disk.
    Failed(String),
}

/// The origin of a piece: its node and its rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Origin {
    /// The node, for its window.
    pub node: usize,
    /// The rank.
    pub rank: u32,
}

/// Bytes that a node may send again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// The node.
    pub node: usize,
    /// How many.
    pub bytes: u64,
}

/// One of our own two streams.
#[derive(Debug)]
struct Sink {
    stream: Stream,
    descriptor: OwnedFd,
    queue: VecDeque<u8>,
    /// The origins of the bytes in the queue, each with the count of all bytes ever queued at its
    /// end.
    owners: VecDeque<(u64, Taken)>,
    queued: u64,
    written: u64,
    piece: usize,
    /// The rank and stream that have begun a line and not ended it.
    begun_by: Option<(u32, Stream)>,
    is_broken: bool,
}

/// Both streams.
#[derive(Debug)]
pub struct Output {
    /// Standard output, then standard error, unless it is the same file or pipe: one queue for both
    /// keeps their lines whole.
    sinks: Vec<Sink>,
    style: Style,
    /// Of the ranks, instead of our streams.
    files: Option<RankFiles>,
    /// Bytes that are in files.
    filed: Vec<Taken>,
    /// The first trouble with a file.
    file_trouble: Option<Trouble>,
    /// The ranks and streams that have begun a line in their file and not ended it.
    begun: HashSet<(u32, Stream)>,
}

/// How the lines of ranks look.
#[derive(Debug, Clone, Copy, Default)]
pub struct Style {
    /// `[rank] ` in front of each.
    pub has_tags: bool,
    /// The time in front of each.
    pub has_stamps: bool,
    /// Standard error of the ranks goes to standard output.
    pub merges_errors: bool,
}

impl Output {
    /// Finds out where our streams go.
    ///
    /// # Errors
    ///
    /// The system's reason (no descriptors are left).
    pub fn new(style: Style, files: Option<RankFiles>) -> io::Result<Output> {
        let is_shared = match (fstat(io::stdout()), fstat(io::stderr())) {
            (Ok(output), Ok(error)) => {
                (output.st_dev, output.st_ino) == (error.st_dev, error.st_ino)
            }
            _ => false,
        };
        let mut sinks = vec![Sink::new(Stream::Output, io::stdout().as_fd())?];
        if !is_shared {
            sinks.push(Sink::new(Stream::Error, io::stderr().as_fd())?);
        }
        Ok(Output {
            sinks,
            style,
            files,
            filed: Vec::new(),
            file_trouble: None,
            begun: HashSet::new(),
        })
    }

    /// Queues what a rank wrote.
    pub fn push(&mut self, origin: Origin, stream: Stream, bytes: &[u8]) {
        let by = (origin.rank, stream);
        let taken = Taken {
            node: origin.node,
            bytes: bytes.len() as u64,
        };
        let target = match self.style.merges_errors {
            true => Stream::Output,
            false => stream,
        };
        let style = Style {
            // The name of a file says which rank it is.
            has_tags: self.style.has_tags && self.files.is_none(),
            ..self.style
        };
        let prefix = style.prefix(origin.rank);
        let Some(files) = &mut self.files else {
            let sink = self.sink(target);
            sink.push(by, &prefix, bytes);
            sink.owners.push_back((sink.queued, taken));
            return;
        };
        let key = (origin.rank, target);
        let lines = with_prefix(&prefix, self.begun.remove(&key), bytes);
        if !bytes.ends_with(b"\n") {
            self.begun.insert(key);
        }
        if let Err(reason) = files.append(origin.rank, target, &lines) {
            self.file_trouble.get_or_insert(Trouble::Failed(reason));
        }
        self.filed.push(taken);
    }

    /// Queues a line of the launcher's own for standard error. The line of a rank's error handler
    /// needs no prefix: it names its rank.
    pub fn say(&mut self, line: &str) {
        let sink = self.sink(Stream::Error);
        sink.end_begun_line();
        for line in line.lines() {
            if !line.starts_with("MPI error ") {
                sink.append(b"mpirun: ");
            }
            sink.append(line.as_bytes());
            sink.append(b"\n");
        }
    }

    /// Queues a text of several lines, as it is, for standard error.
    pub fn show(&mut self, text: &str) {
        let sink = self.sink(Stream::Error);
        sink.end_begun_line();
        sink.append(text.as_bytes());
    }

    /// Writes what there is room for. Returns the bytes that the nodes may send again, and what
    /// went wrong.
    pub fn flush(&mut self) -> (Vec<Taken>, Vec<(Stream, Trouble)>) {
        let mut taken = std::mem::take(&mut self.filed);
        let mut troubles = Vec::new();
        if let Some(trouble) = self.file_trouble.take() {
            troubles.push((Stream::Output, trouble));
        }
        for sink in &mut self.sinks {
            if let Err(trouble) = sink.flush() {
                troubles.push((sink.stream, trouble));
            }
            let done = sink.owners.partition_point(|(end, _)| *end <= sink.written);
            taken.extend(sink.owners.drain(..done).map(|(_, taken)| taken));
        }
        (taken, troubles)
    }

    /// Returns true if everything has been written.
    pub fn is_empty(&self) -> bool {
        self.sinks.iter().all(|sink| sink.queue.is_empty())
    }

    /// Names the streams to wait for.
    pub fn interests<'a>(&'a self, interests: &mut Interests<'a>) {
        for sink in self.sinks.iter().filter(|sink| !sink.queue.is_empty()) {
            interests.writable(sink.descriptor.as_fd(), Token::Sink(sink.stream));
        }
    }

    fn sink(&mut self, stream: Stream) -> &mut Sink {
        let place = match stream {
            Stream::Output => 0,
            Stream::Error => self.sinks.len() - 1,
        };
        &mut self.sinks[place]
    }
}

/// Lines with a prefix in front of each, but not of the first one if it has begun.
fn with_prefix<'a>(prefix: &str, has_begun: bool, bytes: &'a [u8]) -> Cow<'a, [u8]> {
    if prefix.is_empty() {
        return bytes.into();
    }
    let mut lines = Vec::with_capacity(bytes.len());
    for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        if number > 0 || !has_begun {
            lines.extend_from_slice(prefix.as_bytes());
        }
        lines.extend_from_slice(line);
    }
    lines.into()
}

impl Style {
    /// What stands in front of a line of this rank now.
    fn prefix(self, rank: u32) -> String {
        let mut prefix = String::new();
        if self.has_stamps {
            prefix += &stamp::now();
        }
        if self.has_tags {
            prefix += &format!("[{rank}] ");
        }
        prefix
    }
}

impl Sink {
    fn new(stream: Stream, descriptor: BorrowedFd<'_>) -> io::Result<Sink> {
        let is_file = fstat(descriptor)
            .is_ok_and(|status| SFlag::from_bits_truncate(status.st_mode).contains(SFlag::S_IFREG));
        Ok(Sink {
            stream,
            descriptor: descriptor.try_clone_to_owned()?,
            queue: VecDeque::new(),
            owners: VecDeque::new(),
            queued: 0,
            written: 0,
            piece: if is_file { FILE_PIECE } else { PIPE_ROOM },
            begun_by: None,
            is_broken: false,
        })
    }

    fn append(&mut self, bytes: &[u8]) {
        self.queue.extend(bytes);
        self.queued += bytes.len() as u64;
    }

    fn push(&mut self, by: (u32, Stream), prefix: &str, bytes: &[u8]) {
        if !prefix.is_empty() && self.begun_by != Some(by) {
            self.end_begun_line();
        }
        self.append(&with_prefix(prefix, self.begun_by.is_some(), bytes));
        self.begun_by = (!bytes.ends_with(b"\n")).then_some(by);
    }

    fn end_begun_line(&mut self) {
        if self.begun_by.take().is_some() {
            self.append(b"\n");
        }
    }

    fn flush(&mut self) -> Result<(), Trouble> {
        let mut trouble = Ok(());
        while !self.queue.is_empty() && trouble.is_ok() && !self.is_broken && self.has_room() {
            let (front, _) = self.queue.as_slices();
            match write(&self.descriptor, &front[..front.len().min(self.piece)]) {
                Ok(length) => self.consume(length),
                Err(Errno::EINTR) => {}
                // Somebody else has made our stream non-blocking.
                Err(Errno::EAGAIN) => break,
                Err(Errno::EPIPE) => trouble = Err(Trouble::Closed),
                Err(error) => trouble = Err(Trouble::Failed(error.desc().to_string())),
            }
        }
        self.is_broken |= trouble.is_err();
        if self.is_broken {
            self.consume(self.queue.len());
        }
        trouble
    }

    fn consume(&mut self, length: usize) {
        self.queue.drain(..length);
        self.written += length as u64;
    }

    fn has_room(&self) -> bool {
        let mut descriptors = [PollFd::new(self.descriptor.as_fd(), PollFlags::POLLOUT)];
        matches!(poll(&mut descriptors, PollTimeout::ZERO), Ok(ready) if ready > 0)
    }
}
