//! An access by one process: runs of memory against runs of the file.
//!
//! Long runs go straight between the file and the memory of the program. Short runs that lie close
//! together are sieved: a stretch of the file is read whole, and the runs are copied out of it. To
//! write them, they are copied into the stretch, which is then written back whole, under a lock,
//! since what lies between the runs belongs to others. (Thakur, Gropp, Lusk: Data Sieving and
//! Collective I/O in ROMIO, 1999.)

use nix::errno::Errno;

use super::storage::{self, Held, LockKind, Moved, Storage};
use super::view::{Order, Region, View};
use crate::data::Buffer;
use crate::error::Result;
use crate::memory::Span;

/// The bytes of a file that are in memory at a time.
const SIEVED: u64 = 512 << 10;

/// Runs are sieved if at least one byte in so many is theirs.
const SPARSE: u64 = 8;

/// Runs of so many bytes go alone.
const LONG: u64 = 1 << 16;

/// Data of a datatype with gaps is packed in pieces of this many bytes.
const STAGE: u64 = 1 << 18;

/// How a process uses a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner<'a> {
    /// The open file.
    pub(super) storage: &'a dyn Storage,
    /// What is seen of it.
    pub(super) view: &'a View,
    /// An access is one whole for all others: atomic mode.
    pub(super) is_atomic: bool,
    /// What lies between the runs may be read, to be written back.
    pub(super) can_sieve: bool,
}

/// An end of an access that is not as it should be.
#[derive(Debug)]
pub(super) struct Broken {
    /// Bytes of data that were moved.
    pub(super) moved: u64,
    /// Where in the file it stopped.
    pub(super) at: u64,
    /// Why.
    pub(super) error: std::io::Error,
}

/// How an access ended: the bytes moved, or why not all.
pub(super) type Ended = core::result::Result<u64, Broken>;

impl Manner<'_> {
    /// Reads the data bytes from `from` on into `memory`. Returns how many there were before the
    /// end of the file.
    ///
    /// # Errors
    /// `Argument`: the view does not reach so far.
    pub(super) fn read(&self, from: u64, memory: &Buffer) -> Result<Ended> {
        let len = memory.bytes()?;
        let needs_lock = self.is_atomic || self.storage.is_remote();
        let _held = match self.guard(from, len, needs_lock.then_some(LockKind::Shared))? {
            Ok(held) => held,
            Err(broken) => return Ok(Err(broken)),
        };
        let mut scratch = Scratch::default();
        self.walk((from, len), (true, true), |part| match part {
            Stretch::Single(run, done) => self.read_run(run, done, memory),
            Stretch::Sieve(hull, data, done) => {
                let span = scratch.of(hull.len)?;
                let got = storage::read(self.storage, hull.at, span.into());
                let there = self.view.data_before(hull.at + got.bytes) - data.at;
                let there = there.min(data.len);
                let source = self.view.in_memory(span, hull.at, data.at + there);
                between(&source, data.at, (memory, done), there)?;
                Ok(Moved {
                    bytes: there,
                    error: got.error,
                })
            }
        })
    }

    /// Writes `memory` to the data bytes from `from` on.
    ///
    /// # Errors
    /// `Argument`: the view does not reach so far.
    pub(super) fn write(&self, from: u64, memory: &Buffer) -> Result<Ended> {
        let len = memory.bytes()?;
        let needs_lock = self.is_atomic || self.storage.is_remote();
        let whole = needs_lock.then_some(LockKind::Exclusive);
        let _held = match self.guard(from, len, whole)? {
            Ok(held) => held,
            Err(broken) => return Ok(Err(broken)),
        };
        let guarded = |run: Region, kind| match needs_lock || run.len == 0 {
            true => Ok(None),
            false => Held::take(self.storage, run.at..run.end(), kind).map(Some),
        };
        let mut scratch = Scratch::default();
        self.walk((from, len), (false, self.can_sieve), |part| match part {
            Stretch::Single(run, done) => {
                // Another process, with another handle of the file perhaps, may sieve: it must not
                // write old bytes back. Where there are no locks, nobody sieves.
                match guarded(run, LockKind::Shared) {
                    Err(error) if !has_no_locks(&error) => Ok(Moved::until(0, error)),
                    _held => self.write_run(run, done, memory),
                }
            }
            Stretch::Sieve(hull, data, done) => {
                let span = scratch.of(hull.len)?;
                let _held = match guarded(hull, LockKind::Exclusive) {
                    Ok(held) => held,
                    Err(error) if has_no_locks(&error) => {
                        return self.write_each(data, done, memory);
                    }
                    Err(error) => return Ok(Moved::until(0, error)),
                };
                let got = storage::read(self.storage, hull.at, span.into());
                if let Some(error) = got.error {
                    return Ok(Moved::until(0, error));
                }
                span.part(got.bytes as usize, span.len())
                    .update(|beyond| beyond.fill(0));
                let place = self.view.in_memory(span, hull.at, data.at + data.len);
                into(&place, data.at, (memory, done), data.len)?;
                let put = storage::write(self.storage, hull.at, span.into());
                let bytes = self.view.data_before(hull.at + put.bytes) - data.at;
                Ok(Moved {
                    bytes: bytes.min(data.len),
                    error: put.error,
                })
            }
        })
    }

    /// Takes the lock of a whole access, if it needs one.
    fn guard(
        &self,
        from: u64,
        len: u64,
        kind: Option<LockKind>,
    ) -> Result<core::result::Result<Option<Held<'_>>, Broken>> {
        let Some(kind) = kind.filter(|_| len > 0) else {
            return Ok(Ok(None));
        };
        let whole = Region {
            at: 0,
            len: i64::MAX as u64,
        };
        let hull = match (kind, self.view.hull(from, len)) {
            (LockKind::Shared, Err(_)) => whole,
            (_, hull) => hull?,
        };
        let held = Held::take(self.storage, hull.at..hull.end(), kind);
        Ok(held.map(Some).map_err(|error| Broken {
            moved: 0,
            at: hull.at,
            error,
        }))
    }

    /// Cuts the data bytes into runs and sieved stretches, and calls `step` for each until one is
    /// short.
    fn walk(
        &self,
        (from, len): (u64, u64),
        (is_read, may_sieve): (bool, bool),
        mut step: impl FnMut(Stretch) -> Result<Moved>,
    ) -> Result<Ended> {
        let mut done = 0;
        while done < len {
            let part = match self.next((from, len), done, may_sieve) {
                // What lies beyond any file lies behind the end of this one.
                Err(_) if is_read => break,
                part => part?,
            };
            let (at, wanted) = match part {
                Stretch::Single(run, _) => (run.at, run.len),
                Stretch::Sieve(hull, data, _) => (hull.at, data.len),
            };
            let moved = step(part)?;
            done += moved.bytes;
            if let Some(error) = moved.error {
                let at = match part {
                    Stretch::Single(..) => at + moved.bytes,
                    Stretch::Sieve(..) => at,
                };
                return Ok(Err(Broken {
                    moved: done,
                    at,
                    error,
                }));
            }
            if moved.bytes < wanted {
                break;
            }
        }
        Ok(Ok(done))
    }

    /// What is next of an access of which `done` bytes are done.
    fn next(&self, (from, len): (u64, u64), done: u64, may_sieve: bool) -> Result<Stretch> {
        let (data, left) = (from + done, len - done);
        let mut first = self.view.locate(data)?;
        first.len = first.len.min(left);
        let alone = Stretch::Single(first, done);
        if !may_sieve
            || self.view.order() != Order::Ascending
            || first.len == left
            || first.len >= LONG
        {
            return Ok(alone);
        }
        let inside = self.view.data_before(first.at + SIEVED).min(data + left) - data;
        if inside <= first.len {
            return Ok(alone);
        }
        let hull = self.view.hull(data, inside)?;
        if hull.len > SPARSE * inside {
            return Ok(alone);
        }
        let data = Region {
            at: data,
            len: inside,
        };
        Ok(Stretch::Sieve(hull, data, done))
    }

    fn read_run(&self, run: Region, done: u64, memory: &Buffer) -> Result<Moved> {
        if let Some(span) = memory.contiguous() {
            let room = span.part(done as usize, run.len as usize);
            return Ok(storage::read(self.storage, run.at, room.into()));
        }
        staged(run, |stage, piece, before| {
            let moved = storage::read(self.storage, piece.at, stage.into());
            memory.copy_in(done + before, stage.part(0, moved.bytes as usize));
            moved
        })
    }

    /// Writes one run after the other.
    fn write_each(&self, data: Region, done: u64, memory: &Buffer) -> Result<Moved> {
        let mut moved = Moved::whole(0);
        let mut outcome = Ok(());
        self.view.runs(data.at, data.len, |run| {
            match self.write_run(run, done + moved.bytes, memory) {
                Ok(more) => {
                    moved.bytes += more.bytes;
                    moved.error = more.error;
                }
                Err(error) => outcome = Err(error),
            }
            moved.error.is_none() && outcome.is_ok()
        })?;
        outcome.map(|()| moved)
    }

    fn write_run(&self, run: Region, done: u64, memory: &Buffer) -> Result<Moved> {
        if let Some(span) = memory.contiguous() {
            let bytes = span.part(done as usize, run.len as usize);
            return Ok(storage::write(self.storage, run.at, bytes.into()));
        }
        staged(run, |stage, piece, before| {
            memory.copy_out(done + before, stage);
            storage::write(self.storage, piece.at, stage.into())
        })
    }
}

/// Returns true if the file system has no locks at all.
pub(super) fn has_no_locks(error: &std::io::Error) -> bool {
    let numbers = [Errno::ENOLCK, Errno::ENOSYS, Errno::EOPNOTSUPP].map(|errno| errno as i32);
    error
        .raw_os_error()
        .is_some_and(|number| numbers.contains(&number))
}

/// Memory of our own for one stretch after the other.
#[derive(Default)]
pub(super) struct Scratch(Option<Buffer>);

impl Scratch {
    /// `len` bytes, at most as many as a stretch has. They hold anything.
    pub(super) fn of(&mut self, len: u64) -> Result<Span> {
        let room = match self.0.take() {
            Some(room) if room.count() >= len => room,
            _ => Buffer::zeroed(len as usize)?,
        };
        let span = self.0.insert(room).contiguous();
        Ok(span.expect("bytes have no gaps").part(0, len as usize))
    }
}

/// A step of an access, of which so many bytes are done.
#[derive(Clone, Copy)]
enum Stretch {
    /// One run, which goes alone.
    Single(Region, u64),
    /// Runs that are sieved: from the first byte to the last one, and which data bytes they are.
    Sieve(Region, Region, u64),
}

/// Cuts a run into pieces that fit the stage. Calls `step` with the stage, the piece and the bytes
/// of the run before it, until one is short.
fn staged(run: Region, mut step: impl FnMut(Span, Region, u64) -> Moved) -> Result<Moved> {
    let stage = Buffer::zeroed(run.len.min(STAGE) as usize)?;
    let span = stage.contiguous().expect("bytes have no gaps");
    let mut done = 0;
    while done < run.len {
        let len = STAGE.min(run.len - done);
        let piece = Region {
            at: run.at + done,
            len,
        };
        let moved = step(span.part(0, len as usize), piece, done);
        done += moved.bytes;
        if moved.error.is_some() || moved.bytes < len {
            return Ok(Moved {
                bytes: done,
                error: moved.error,
            });
        }
    }
    Ok(Moved::whole(done))
}

/// Copies `len` data bytes of `source`, from `from` on, to those of the memory behind `done`.
pub(super) fn between(
    source: &Buffer,
    from: u64,
    (memory, done): (&Buffer, u64),
    len: u64,
) -> Result<()> {
    if let Some(span) = memory.contiguous() {
        source.copy_out(from, span.part(done as usize, len as usize));
        return Ok(());
    }
    through(len, |stage, at| {
        source.copy_out(from + at, stage);
        memory.copy_in(done + at, stage);
    })
}

/// The other way: into `place` from the memory.
pub(super) fn into(
    place: &Buffer,
    from: u64,
    (memory, done): (&Buffer, u64),
    len: u64,
) -> Result<()> {
    if let Some(span) = memory.contiguous() {
        place.copy_in(from, span.part(done as usize, len as usize));
        return Ok(());
    }
    through(len, |stage, at| {
        memory.copy_out(done + at, stage);
        place.copy_in(from + at, stage);
    })
}

/// Calls `step` with a stage for each piece of `len` bytes, and where it begins.
fn through(len: u64, mut step: impl FnMut(Span, u64)) -> Result<()> {
    let stage = Buffer::zeroed(len.min(STAGE) as usize)?;
    let span = stage.contiguous().expect("bytes have no gaps");
    for at in (0..len).step_by(STAGE as usize) {
        step(span.part(0, STAGE.min(len - at) as usize), at);
    }
    Ok(())
}
