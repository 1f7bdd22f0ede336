//! The epochs of a window at one process: which calls are allowed now.
//!
//! Every operation looks here, so what it reads are two words and no lock. Calls that open and
//! close epochs write them; a program whose threads do so at once for one target is wrong.
//!
//! Source: MPI 5.0, 12.5.

use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicU8};

use parking_lot::Mutex;

use super::errors::out_of_turn;
use crate::error::Result;

/// What a lock allows to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LockKind {
    /// Others may lock the same memory, shared too.
    Shared = 1,
    /// Nobody else locks it.
    Exclusive = 2,
}

impl LockKind {
    /// MPI's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Shared => "MPI_LOCK_SHARED",
            Self::Exclusive => "MPI_LOCK_EXCLUSIVE",
        }
    }

    pub(super) fn of(word: u8) -> Option<Self> {
        match word {
            1 => Some(Self::Shared),
            2 => Some(Self::Exclusive),
            _ => None,
        }
    }
}

/// What is open for one target. 1 and 2 are the kinds of locks.
const CLOSED: u8 = 0;
/// `MPI_Win_start` has named it; it may not have posted.
const STARTED: u8 = 3;
/// It has posted.
const POSTED: u8 = 4;

/// What is open for all targets.
const NOTHING: u8 = 0;
/// A fence: an epoch begins with the first operation.
const FENCED: u8 = 1;
const LOCKED_ALL: u8 = 2;
/// An access epoch for a group.
const STARTED_SOME: u8 = 3;

/// What a target is ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// Operations may begin.
    Open,
    /// The target has to post first.
    AwaitsPost,
}

/// The epochs of a window at this process.
#[derive(Debug)]
pub(super) struct Epochs {
    for_all: AtomicU8,
    /// By rank.
    targets: Box<[AtomicU8]>,
    /// An operation has begun since the last fence.
    has_begun: AtomicBool,
    groups: Mutex<Groups>,
    /// Held by the thread that waits for a post.
    awaits: Mutex<()>,
}

/// The groups of the epochs of general active target synchronisation: ranks of the window.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// That of `MPI_Win_start`.
    pub(super) started: Option<Vec<u32>>,
    /// That of `MPI_Win_post`.
    pub(super) posted: Option<Vec<u32>>,
}

impl Epochs {
    pub(super) fn new(size: usize) -> Self {
        Self {
            for_all: AtomicU8::new(NOTHING),
            targets: (0..size).map(|_| AtomicU8::new(CLOSED)).collect(),
            has_begun: AtomicBool::new(false),
            groups: Mutex::default(),
            awaits: Mutex::default(),
        }
    }

    fn all(&self) -> u8 {
        self.for_all.load(Relaxed)
    }

    fn at(&self, rank: u32) -> u8 {
        self.targets[rank as usize].load(Relaxed)
    }

    /// Admits an operation on a target.
    ///
    /// # Errors
    /// `RmaSync`: no epoch is open for it.
    #[inline]
    pub(super) fn admit(&self, rank: u32) -> Result<Admission> {
        match (self.at(rank), self.all()) {
            (STARTED, _) => Ok(Admission::AwaitsPost),
            (1 | 2 | POSTED, _) | (_, LOCKED_ALL) => Ok(Admission::Open),
            (_, FENCED) => {
                self.has_begun.store(true, Relaxed);
                Ok(Admission::Open)
            }
            _ => Err(closed(rank)),
        }
    }

    /// Returns the kind of lock that is held at a target.
    ///
    /// # Errors
    /// `RmaSync`: none is.
    #[inline]
    pub(super) fn locked(&self, rank: u32) -> Result<LockKind> {
        match LockKind::of(self.at(rank)) {
            Some(kind) => Ok(kind),
            None if self.all() == LOCKED_ALL => Ok(LockKind::Shared),
            None => Err(out_of_turn(format!(
                "rank {rank} of the window is not locked: call MPI_Win_lock or MPI_Win_lock_all \
                 before"
            ))),
        }
    }

    /// The ranks that are locked one by one.
    pub(super) fn locks(&self) -> impl Iterator<Item = u32> {
        let targets = self.targets.iter().zip(0..);
        let locked = targets.filter(|(target, _)| LockKind::of(target.load(Relaxed)).is_some());
        locked.map(|(_, rank)| rank)
    }

    /// Returns true if `MPI_Win_lock_all` has locked all.
    pub(super) fn has_locked_all(&self) -> bool {
        self.all() == LOCKED_ALL
    }

    /// Checks that `call` may begin: no other epoch of this process is open.
    ///
    /// # Errors
    /// `RmaSync`, with the epoch that is open.
    pub(super) fn check_closed(&self, call: &str) -> Result<()> {
        if let Some(rank) = self.locks().next() {
            return Err(out_of_turn(format!(
                "rank {rank} of the window is locked: call MPI_Win_unlock before {call}"
            )));
        }
        self.check_others(call)
    }

    /// The same, but for locks of single ranks.
    fn check_others(&self, call: &str) -> Result<()> {
        let open = match self.all() {
            LOCKED_ALL => "all ranks of the window are locked: call MPI_Win_unlock_all",
            FENCED if self.has_begun.load(Relaxed) && call != "MPI_Win_fence" => {
                "operations have begun since MPI_Win_fence: call it again"
            }
            _ if self.groups.lock().started.is_some() => {
                "an epoch of MPI_Win_start is open: call MPI_Win_complete"
            }
            _ => return Ok(()),
        };
        Err(out_of_turn(format!("{open} before {call}")))
    }

    /// A fence: begins an epoch unless nothing follows.
    pub(super) fn fence(&self, has_successor: bool) {
        let open = if has_successor { FENCED } else { NOTHING };
        self.for_all.store(open, Relaxed);
        self.has_begun.store(false, Relaxed);
    }

    /// Checks that a target may be locked.
    ///
    /// # Errors
    /// `RmaSync`.
    #[inline]
    pub(super) fn check_unlocked(&self, rank: u32) -> Result<()> {
        if self.at(rank) == CLOSED && self.all() == NOTHING {
            return Ok(());
        }
        if LockKind::of(self.at(rank)).is_some() {
            return Err(out_of_turn(format!(
                "rank {rank} of the window is locked by this process already: call \
                 MPI_Win_unlock first"
            )));
        }
        self.check_others("MPI_Win_lock")
    }

    #[inline]
    pub(super) fn note_lock(&self, rank: u32, kind: LockKind) {
        if self.all() == FENCED {
            // A fence after which nothing was done has begun no epoch.
            self.fence(false);
        }
        self.targets[rank as usize].store(kind as u8, Relaxed);
    }

    #[inline]
    pub(super) fn note_unlock(&self, rank: u32) {
        self.targets[rank as usize].store(CLOSED, Relaxed);
    }

    pub(super) fn note_lock_all(&self, is_locked: bool) {
        let open = if is_locked { LOCKED_ALL } else { NOTHING };
        self.for_all.store(open, Relaxed);
    }

    /// Waits by `wait` until a target has posted, unless it has: one thread for all.
    ///
    /// # Errors
    /// Those of `wait`.
    pub(super) fn await_post(&self, rank: u32, wait: impl FnOnce() -> Result<()>) -> Result<()> {
        let _one = self.awaits.lock();
        if self.awaits_post(rank) {
            wait()?;
            self.targets[rank as usize].store(POSTED, Relaxed);
        }
        Ok(())
    }

    /// Begins an access epoch for these ranks.
    pub(super) fn begin_access(&self, ranks: Vec<u32>) {
        self.for_all.store(STARTED_SOME, Relaxed);
        for rank in &ranks {
            self.targets[*rank as usize].store(STARTED, Relaxed);
        }
        self.groups.lock().started = Some(ranks);
    }

    /// The ranks of the access epoch.
    ///
    /// # Errors
    /// `RmaSync`: there is none.
    pub(super) fn started(&self) -> Result<Vec<u32>> {
        let started = self.groups.lock().started.clone();
        let none = "no epoch of MPI_Win_start is open";
        started.ok_or_else(|| out_of_turn(none))
    }

    /// Ends the access epoch.
    pub(super) fn end_access(&self) {
        self.for_all.store(NOTHING, Relaxed);
        for rank in self.groups.lock().started.take().unwrap_or_default() {
            self.targets[rank as usize].store(CLOSED, Relaxed);
        }
    }

    /// Returns true if the target of an access epoch has to post.
    fn awaits_post(&self, rank: u32) -> bool {
        self.at(rank) == STARTED
    }

    /// The groups of the epochs that are open.
    pub(super) fn groups(&self) -> parking_lot::MutexGuard<'_, Groups> {
        self.groups.lock()
    }
}

#[cold]
fn closed(rank: u32) -> crate::error::Error {
    out_of_turn(format!(
        "no epoch is open for rank {rank} of the window: call MPI_Win_fence, MPI_Win_start, \
         MPI_Win_lock or MPI_Win_lock_all before"
    ))
}
