//! A file in memory that is short, interrupts, and fails when it is told to.

use core::fmt;
use core::ops::Range;
use std::io;

use nix::errno::Errno;
use parking_lot::Mutex;

use crate::coll::tests::Dice;
use crate::io::storage::{LockKind, Storage};
use crate::memory::{Bytes, Room};

/// What goes wrong.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "faults are independent of each other"
)]
pub(super) struct Faults {
    pub(super) seed: u64,
    /// A call moves less than it was asked for.
    pub(super) is_short: bool,
    /// A call is interrupted now and then.
    pub(super) interrupts: bool,
    /// It has no locks.
    pub(super) has_no_locks: bool,
    /// Other hosts see only what is moved under locks.
    pub(super) is_remote: bool,
    /// This call and all later ones fail.
    pub(super) fails_at: Option<u64>,
}

struct State {
    bytes: Vec<u8>,
    dice: Dice,
    calls: u64,
    has_failed: bool,
    locks: usize,
}

/// The file.
pub(super) struct MemoryFile {
    state: Mutex<State>,
    faults: Faults,
    errno: Errno,
    threads: Mutex<()>,
    /// Locks of all processes, whatever their range.
    lock: Mutex<Vec<(Range<u64>, LockKind, std::thread::ThreadId)>>,
}

impl fmt::Debug for MemoryFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryFile")
    }
}

impl MemoryFile {
    pub(super) fn new(faults: Faults) -> Self {
        let errno = match faults.seed % 2 {
            0 => Errno::ENOSPC,
            _ => Errno::EIO,
        };
        let state = State {
            bytes: Vec::new(),
            dice: Dice(faults.seed),
            calls: 0,
            has_failed: false,
            locks: 0,
        };
        Self {
            state: Mutex::new(state),
            faults,
            errno,
            threads: Mutex::new(()),
            lock: Mutex::default(),
        }
    }

    /// One that fails always.
    pub(super) fn failing(errno: Errno) -> Self {
        let faults = Faults {
            seed: 0,
            is_short: false,
            interrupts: false,
            has_no_locks: false,
            is_remote: false,
            fails_at: Some(0),
        };
        Self {
            errno,
            ..Self::new(faults)
        }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.state.lock().bytes.clone()
    }

    pub(super) fn has_failed(&self) -> bool {
        self.state.lock().has_failed
    }

    pub(super) fn locks(&self) -> usize {
        self.state.lock().locks
    }

    /// Checks that the bytes are moved under a lock, if they must be.
    fn check_lock(&self, range: Range<u64>, wanted: LockKind) {
        let me = std::thread::current().id();
        let covers = |(theirs, kind, owner): &(Range<u64>, LockKind, _)| {
            let is_strong = wanted == LockKind::Shared || *kind == LockKind::Exclusive;
            theirs.start <= range.start && range.end <= theirs.end && *owner == me && is_strong
        };
        let is_covered = !self.faults.is_remote || self.lock.lock().iter().any(covers);
        assert!(is_covered, "bytes {range:?} without a lock");
    }

    /// How many of `len` bytes a call moves.
    fn grant(&self, state: &mut State, len: usize) -> io::Result<usize> {
        state.calls += 1;
        if self.faults.fails_at.is_some_and(|at| state.calls >= at) {
            state.has_failed = true;
            return Err(self.errno.into());
        }
        if self.faults.interrupts && state.dice.roll(4) == 0 {
            return Err(Errno::EINTR.into());
        }
        match self.faults.is_short && len > 1 {
            true => Ok(1 + state.dice.roll(len as u64) as usize),
            false => Ok(len),
        }
    }
}

impl Storage for MemoryFile {
    fn read_some(&self, at: u64, mut room: Room<'_>) -> io::Result<usize> {
        let state = &mut *self.state.lock();
        let there = state.bytes.len().saturating_sub(at as usize);
        let len = room.len().min(there);
        self.check_lock(at..at + room.len() as u64, LockKind::Shared);
        if len == 0 {
            return Ok(0);
        }
        let len = self.grant(state, len)?;
        room.update(|to| to[..len].copy_from_slice(&state.bytes[at as usize..][..len]));
        Ok(len)
    }

    fn write_some(&self, at: u64, bytes: Bytes<'_>) -> io::Result<usize> {
        let state = &mut *self.state.lock();
        self.check_lock(at..at + bytes.len() as u64, LockKind::Exclusive);
        let len = self.grant(state, bytes.len())?;
        let end = at as usize + len;
        if state.bytes.len() < end {
            state.bytes.resize(end, 0);
        }
        bytes.view(|from| state.bytes[at as usize..end].copy_from_slice(&from[..len]));
        Ok(len)
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.state.lock().bytes.len() as u64)
    }

    fn set_size(&self, size: u64) -> io::Result<()> {
        self.state.lock().bytes.resize(size as usize, 0);
        Ok(())
    }

    fn allocate(&self, size: u64) -> io::Result<()> {
        match self.size()? < size {
            true => self.set_size(size),
            false => Ok(()),
        }
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn lock(&self, range: &Range<u64>, kind: LockKind) -> io::Result<()> {
        if self.faults.has_no_locks {
            return Err(Errno::ENOLCK.into());
        }
        let me = std::thread::current().id();
        loop {
            let mut held = self.lock.lock();
            let excludes = |(theirs, other, owner): &(Range<u64>, LockKind, _)| {
                let meets = theirs.start < range.end && range.start < theirs.end;
                let is_alone = kind == LockKind::Exclusive || *other == LockKind::Exclusive;
                meets && is_alone && *owner != me
            };
            if !held.iter().any(excludes) {
                held.push((range.clone(), kind, me));
                self.state.lock().locks += 1;
                return Ok(());
            }
            drop(held);
            std::thread::yield_now();
        }
    }

    fn unlock(&self, range: &Range<u64>) {
        let me = std::thread::current().id();
        let held = &mut *self.lock.lock();
        let mine = held
            .iter()
            .position(|(theirs, _, owner)| theirs == range && *owner == me);
        held.remove(mine.expect("it was locked"));
        self.state.lock().locks -= 1;
    }

    fn is_remote(&self) -> bool {
        self.faults.is_remote
    }

    fn threads(&self) -> &Mutex<()> {
        &self.threads
    }
}
