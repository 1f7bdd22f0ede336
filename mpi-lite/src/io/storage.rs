//! What the library asks of a file system.
//!
//! Everything above calls a [`Storage`], so that tests can put one in its place that fails, is
//! short, is interrupted or is full.

use core::ops::Range;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;

use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, FcntlArg, fallocate, fcntl};
use parking_lot::{Mutex, MutexGuard};
use rustix::fs::fstatfs;

use crate::memory::{Bytes, Room};

/// An open file.
pub trait Storage: fmt::Debug + Send + Sync {
    /// Reads bytes from `at` on; returns how many, 0 at the end of the file.
    ///
    /// # Errors
    /// What the system says.
    fn read_some(&self, at: u64, room: Room<'_>) -> io::Result<usize>;

    /// Writes bytes at `at`; returns how many.
    ///
    /// # Errors
    /// What the system says.
    fn write_some(&self, at: u64, bytes: Bytes<'_>) -> io::Result<usize>;

    /// Bytes in the file.
    ///
    /// # Errors
    /// What the system says.
    fn size(&self) -> io::Result<u64>;

    /// Makes the file longer or shorter.
    ///
    /// # Errors
    /// What the system says.
    fn set_size(&self, size: u64) -> io::Result<()>;

    /// Gives the first `size` bytes a place on the device.
    ///
    /// # Errors
    /// What the system says.
    fn allocate(&self, size: u64) -> io::Result<()>;

    /// Returns when what was written is on the device.
    ///
    /// # Errors
    /// What the system says.
    fn sync(&self) -> io::Result<()>;

    /// Waits until no other process has a lock that excludes this one, and takes it. Whoever calls
    /// keeps the threads of this process apart.
    ///
    /// # Errors
    /// What the system says; a file system without locks refuses.
    fn lock(&self, range: &Range<u64>, kind: LockKind) -> io::Result<()>;

    /// Gives a lock up.
    fn unlock(&self, range: &Range<u64>);

    /// Returns true if other hosts see only what is written and read under locks.
    fn is_remote(&self) -> bool;

    /// The threads of this process that want a lock: one at a time.
    fn threads(&self) -> &Mutex<()>;
}

/// Whom a lock excludes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// Everybody else.
    Exclusive,
    /// Those that want the bytes for themselves.
    Shared,
}

/// How far a transfer has come, and why it ended there if it is short.
#[derive(Debug)]
pub(super) struct Moved {
    /// Bytes.
    pub(super) bytes: u64,
    /// Why they are not all; nothing at the end of the file.
    pub(super) error: Option<io::Error>,
}

impl Moved {
    /// All went well.
    #[must_use]
    pub(super) fn whole(bytes: u64) -> Self {
        Self { bytes, error: None }
    }

    /// It ended with an error.
    #[must_use]
    pub(super) fn until(bytes: u64, error: io::Error) -> Self {
        let error = Some(error);
        Self { bytes, error }
    }
}

/// Reads until `room` is full or the file ends.
pub(super) fn read(storage: &dyn Storage, at: u64, mut room: Room<'_>) -> Moved {
    let len = room.len();
    repeat(len, |done| {
        storage.read_some(at + done as u64, room.part(done, len))
    })
}

/// Writes all of `bytes`.
pub(super) fn write(storage: &dyn Storage, at: u64, bytes: Bytes<'_>) -> Moved {
    let len = bytes.len();
    repeat(len, |done| {
        let written = storage.write_some(at + done as u64, bytes.part(done, len))?;
        match written {
            0 => Err(ErrorKind::WriteZero.into()),
            written => Ok(written),
        }
    })
}

/// Calls `some` with the bytes done until all are, it does none, or it fails.
fn repeat(len: usize, mut some: impl FnMut(usize) -> io::Result<usize>) -> Moved {
    let mut done = 0;
    while done < len {
        match some(done) {
            Ok(0) => break,
            Ok(more) => done += more.min(len - done),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Moved::until(done as u64, error),
        }
    }
    Moved::whole(done as u64)
}

/// What the caches of remote file systems hold and locks protect.
const PAGE: u64 = 4096;

/// A lock that is given up when this is dropped.
#[derive(Debug)]
pub(super) struct Held<'a> {
    storage: &'a dyn Storage,
    range: Range<u64>,
    /// The system knows processes, or open files, but no threads.
    _thread: MutexGuard<'a, ()>,
}

impl<'a> Held<'a> {
    /// Takes a lock.
    ///
    /// # Errors
    /// Those of [`Storage::lock`].
    pub(super) fn take(
        storage: &'a dyn Storage,
        mut range: Range<u64>,
        kind: LockKind,
    ) -> io::Result<Self> {
        if storage.is_remote() {
            // A client writes back whole pages.
            range = range.start / PAGE * PAGE..range.end.next_multiple_of(PAGE);
        }
        let thread = storage.threads().lock();
        storage.lock(&range, kind)?;
        Ok(Self {
            storage,
            range,
            _thread: thread,
        })
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.storage.unlock(&self.range);
    }
}

/// A file of the system.
#[derive(Debug)]
pub(super) struct Disk {
    file: File,
    is_remote: bool,
    /// A lock that others may share needs a file that may be read.
    can_read: bool,
    threads: Mutex<()>,
}

impl Disk {
    /// An open file.
    #[must_use]
    pub(super) fn new(file: File, can_read: bool) -> Self {
        let kind = fstatfs(&file).map(|about| about.f_type);
        Self {
            is_remote: kind.is_ok_and(|kind| REMOTE.contains(&(kind as u32))),
            threads: Mutex::new(()),
            can_read,
            file,
        }
    }
}

/// The file systems whose clients cache what they read and write, until a lock is taken or given
/// up: NFS, SMB in its three kinds, AFS and 9P. See statfs(2).
const REMOTE: [u32; 6] = [
    0x6969,
    0x517b,
    0xff53_4d42,
    0xfe53_4d42,
    0x5346_414f,
    0x0102_1997,
];

impl Storage for Disk {
    fn read_some(&self, at: u64, mut room: Room<'_>) -> io::Result<usize> {
        room.update(|bytes| self.file.read_at(bytes, at))
    }

    fn write_some(&self, at: u64, bytes: Bytes<'_>) -> io::Result<usize> {
        bytes.view(|bytes| self.file.write_at(bytes, at))
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.file.set_len(size)
    }

    fn allocate(&self, size: u64) -> io::Result<()> {
        let len = i64::try_from(size).map_err(|_| Errno::EFBIG)?;
        if len == 0 {
            return Ok(());
        }
        loop {
            match fallocate(&self.file, FallocateFlags::empty(), 0, len) {
                Ok(()) => return Ok(()),
                Err(Errno::EINTR) => {}
                // A file system that cannot reserve: the size is what is left of the promise.
                Err(Errno::EOPNOTSUPP) => {
                    let is_short = self.size()? < size;
                    return if is_short {
                        self.set_size(size)
                    } else {
                        Ok(())
                    };
                }
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn lock(&self, range: &Range<u64>, kind: LockKind) -> io::Result<()> {
        let kind = match kind {
            LockKind::Shared if self.can_read => libc::F_RDLCK,
            _ => libc::F_WRLCK,
        };
        let wanted = record(range, kind);
        loop {
            match fcntl(&self.file, FcntlArg::F_OFD_SETLKW(&wanted)) {
                Ok(_) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    fn unlock(&self, range: &Range<u64>) {
        // What was locked can be unlocked; else the end of the process does it.
        let _ = fcntl(
            &self.file,
            FcntlArg::F_OFD_SETLK(&record(range, libc::F_UNLCK)),
        );
    }

    fn is_remote(&self) -> bool {
        self.is_remote
    }

    fn threads(&self) -> &Mutex<()> {
        &self.threads
    }
}

/// What the system is told of a lock.
fn record(range: &Range<u64>, kind: libc::c_int) -> libc::flock {
    let [start, end] = [range.start, range.end].map(|at| at.min(i64::MAX as u64).cast_signed());
    libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: start,
        l_len: (end - start).max(1),
        l_pid: 0,
    }
}
