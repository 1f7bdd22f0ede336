//! The words by which the processes of a window that share memory agree: locks and counts.
//!
//! For each rank there are four lines, and behind those of all ranks a word for each pair:
//!
//! | line | word | |
//! |---|---|---|
//! | 0 | 0 | who combines with its memory now: 0, or its rank + 1 |
//! | 1 | 0 | its lock: 0, how many share it, or [`EXCLUSIVE`] and who has it |
//! | 1 | 1 | ranks that wait for an exclusive lock |
//! | 2 | 0 | ranks that wait for anything of this rank |
//! | 3 | 0 | how often others have completed their accesses |
//! | pairs | rank × all + other | how often the rank has posted to the other |
//!
//! Source: MPI 5.0, 12.5.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Instant;
use crate::comm::{Communicator, Group};
use crate::engine::{Engine, Lane, Subject, look_again as look_again_at};
use crate::error::Result;
use crate::ids::PeerId;
use crate::node::{Arena, Node};
use crate::rma::epochs::LockKind;
use crate::rma::title::Title;
use crate::sync::{compiler_fence, fence, yield_now};

/// Words of a line.
const LINE: usize = 8;
const LINES: usize = 4;

const COMBINES: usize = 0;
const LOCK: usize = LINE;
const WRITERS: usize = LINE + 1;
const WAITERS: usize = 2 * LINE;
const COMPLETED: usize = 3 * LINE;

/// Bit of a lock: it is exclusive. Below it is the rank that has it.
const EXCLUSIVE: u64 = 1 << 63;

/// A rank that waits for a shared lock lets those go first that want an exclusive one, but not for
/// longer: who shares it may wait for this rank.
const COURTESY: Duration = Duration::from_millis(5);

/// Looks at a word that is about to change, before others get the core.
const LOOKS: u32 = 200;

/// Bytes of the words of `size` ranks.
pub(in crate::rma) fn bytes_of(size: usize) -> u64 {
    (size * (LINES * LINE + size) * size_of::<u64>()) as u64
}

/// Whether a call waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiter {
    Waits,
    Tests,
}

/// The words of a window.
#[derive(Debug)]
pub(super) struct Control {
    arena: Arc<Arena>,
    engine: Arc<Engine>,
    node: Arc<Node>,
    group: Group,
    title: Title,
    me: u32,
    /// Who changes a word must fence before it looks for sleepers.
    must_fence: bool,
    /// How often each rank's posts were taken, and what was completed here.
    posts_taken: Box<[AtomicU64]>,
    completes_taken: AtomicU64,
}

/// The right to combine with the memory of a rank; nobody else does meanwhile.
pub(in crate::rma) struct Held<'a>(&'a AtomicU64);

impl Drop for Held<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.store(0, Release);
    }
}

impl Control {
    pub(super) fn new(
        communicator: &Communicator,
        node: &Arc<Node>,
        arena: Arc<Arena>,
        title: &Title,
    ) -> Self {
        let size = communicator.size() as usize;
        Self {
            arena,
            engine: Arc::clone(communicator.engine()),
            node: Arc::clone(node),
            group: communicator.group().clone(),
            title: title.clone(),
            me: communicator.rank(),
            must_fence: node.must_fence(),
            posts_taken: (0..size).map(|_| AtomicU64::new(0)).collect(),
            completes_taken: AtomicU64::new(0),
        }
    }

    fn size(&self) -> usize {
        self.posts_taken.len()
    }

    #[inline]
    fn word(&self, rank: u32, word: usize) -> &AtomicU64 {
        &self.arena.words()[rank as usize * LINES * LINE + word]
    }

    /// How often `rank` has posted to `other`.
    fn posts(&self, rank: u32, other: u32) -> &AtomicU64 {
        let first = self.size() * LINES * LINE;
        &self.arena.words()[first + rank as usize * self.size() + other as usize]
    }

    fn peer(&self, rank: u32) -> PeerId {
        let peer = self.group.peer(rank);
        peer.expect("a rank of the window")
    }

    /// Wakes who waits for something of `rank`, once that was written.
    #[inline]
    fn wake(&self, rank: u32) {
        match self.must_fence {
            true => fence(SeqCst),
            false => compiler_fence(SeqCst),
        }
        if self.word(rank, WAITERS).load(Relaxed) > 0 {
            self.wake_all();
        }
    }

    #[cold]
    fn wake_all(&self) {
        fence(SeqCst);
        self.node.wake(self.group.members());
    }

    /// Waits for something of `rank`; it is over if one of the ranks that it `needs` is lost.
    #[cold]
    fn wait_for<T>(
        &self,
        rank: u32,
        says: impl Fn() -> String,
        needs: impl Fn(PeerId) -> bool,
        (mut ready, look_again): (impl FnMut() -> Option<T>, Option<Instant>),
    ) -> Result<T> {
        self.word(rank, WAITERS).fetch_add(1, SeqCst);
        let subject = |_: &Lane| Subject::Words(says().into());
        let done = self.engine.wait_until(subject, |lane| {
            if let Some(done) = ready() {
                return Some(Ok(done));
            }
            // Nobody wakes this rank then.
            let is_ahead = look_again.filter(|at| self.engine.now() < *at);
            look_again_at(lane, is_ahead);
            let peers = lane.peers();
            let mut lost = peers.lost().iter();
            let needed = lost.find(|peer| needs(**peer))?;
            Some(Err(peers.error(*needed)))
        });
        self.word(rank, WAITERS).fetch_sub(1, SeqCst);
        if look_again.is_some() {
            self.engine.with(|lane| look_again_at(lane, None));
        }
        done
    }

    fn is_member(&self, peer: PeerId) -> bool {
        self.group.rank_of(peer).is_some()
    }
}

/// Locks.
impl Control {
    /// Takes the lock of a rank if it is free. A shared one is not if others want it alone.
    #[inline]
    pub(super) fn try_lock(&self, rank: u32, kind: LockKind) -> bool {
        let lock = self.word(rank, LOCK);
        match kind {
            LockKind::Exclusive => {
                let mine = EXCLUSIVE | u64::from(self.me);
                lock.compare_exchange(0, mine, Acquire, Relaxed).is_ok()
            }
            LockKind::Shared => self.word(rank, WRITERS).load(Relaxed) == 0 && self.share(rank),
        }
    }

    #[inline]
    fn share(&self, rank: u32) -> bool {
        let lock = self.word(rank, LOCK);
        let one_more = |seen: u64| (seen & EXCLUSIVE == 0).then_some(seen + 1);
        lock.fetch_update(Acquire, Relaxed, one_more).is_ok()
    }

    /// Waits for the lock of a rank.
    #[cold]
    pub(super) fn await_lock(&self, rank: u32, kind: LockKind) -> Result<()> {
        for _ in 0..LOOKS {
            core::hint::spin_loop();
            if self.try_lock(rank, kind) {
                return Ok(());
            }
        }
        let patience = self.engine.now().plus(COURTESY);
        let writers = self.word(rank, WRITERS);
        let is_exclusive = kind == LockKind::Exclusive;
        if is_exclusive {
            writers.fetch_add(1, SeqCst);
        }
        let ready = || {
            let is_mine = match kind {
                LockKind::Exclusive => self.try_lock(rank, kind),
                LockKind::Shared if self.engine.now() >= patience => self.share(rank),
                LockKind::Shared => self.try_lock(rank, kind),
            };
            is_mine.then_some(())
        };
        let says = || {
            let who = match self.holder(rank) {
                Some(holder) => format!("rank {holder} has it alone"),
                None => "others share it, or are about to take it".into(),
            };
            format!(
                "the lock ({}) of rank {rank} of {}: {who}",
                kind.name(),
                self.title
            )
        };
        let needs = |peer| match self.holder(rank) {
            Some(holder) => self.peer(holder) == peer,
            None => self.is_member(peer),
        };
        let look_again = (!is_exclusive).then_some(patience);
        let locked = self.wait_for(rank, says, needs, (ready, look_again));
        if is_exclusive {
            writers.fetch_sub(1, SeqCst);
            self.wake(rank);
        }
        locked
    }

    /// The rank that has the lock alone.
    fn holder(&self, rank: u32) -> Option<u32> {
        let lock = self.word(rank, LOCK).load(Relaxed);
        (lock & EXCLUSIVE != 0).then_some(lock as u32)
    }

    /// Gives the lock of a rank back. All that was done before is seen by who takes it next.
    #[inline]
    pub(super) fn unlock(&self, rank: u32, kind: LockKind) {
        let lock = self.word(rank, LOCK);
        match kind {
            LockKind::Exclusive => lock.store(0, Release),
            LockKind::Shared => _ = lock.fetch_sub(1, Release),
        }
        self.wake(rank);
    }

    /// The right to combine with the memory of `rank`, if nobody has it.
    #[inline(always)]
    pub(super) fn try_hold(&self, rank: u32) -> Option<Held<'_>> {
        let word = self.word(rank, COMBINES);
        let mine = u64::from(self.me) + 1;
        let taken = word.compare_exchange(0, mine, Acquire, Relaxed);
        // Not a `Held` before it is taken: its end would give back what another one has.
        taken.is_ok().then(|| Held(word))
    }

    /// Waits until nobody combines with the memory of `rank`: not for long.
    ///
    /// # Errors
    /// `Lost`: who does so is gone.
    #[inline]
    pub(super) fn hold(&self, rank: u32) -> Result<Held<'_>> {
        match self.try_hold(rank) {
            Some(held) => Ok(held),
            None => self.await_hold(self.word(rank, COMBINES), u64::from(self.me) + 1),
        }
    }

    #[cold]
    fn await_hold<'a>(&self, word: &'a AtomicU64, mine: u64) -> Result<Held<'a>> {
        let mut looks = 0_u32;
        loop {
            let holder = word.load(Relaxed);
            if holder == 0 && word.compare_exchange(0, mine, Acquire, Relaxed).is_ok() {
                return Ok(Held(word));
            }
            looks = looks.wrapping_add(1);
            match looks % LOOKS {
                0 => yield_now(),
                _ => core::hint::spin_loop(),
            }
            if looks.is_multiple_of(LOOKS << 10) && holder != 0 {
                let peer = self.group.peer(holder as u32 - 1);
                self.engine.look(|lane| match peer {
                    Some(peer) if lane.peers().is_lost(peer) => Err(lane.peers().error(peer)),
                    _ => Ok(()),
                })?;
            }
        }
    }
}

/// Posts and completions.
impl Control {
    pub(super) fn post(&self, ranks: &[u32]) {
        for &rank in ranks {
            self.posts(self.me, rank).fetch_add(1, SeqCst);
        }
        self.wake(self.me);
    }

    pub(super) fn await_post(&self, rank: u32) -> Result<()> {
        let taken = &self.posts_taken[rank as usize];
        let posts = self.posts(rank, self.me);
        let next = taken.load(Relaxed) + 1;
        let ready = || (posts.load(Acquire) >= next).then_some(());
        let says = || format!("the post (MPI_Win_post) of rank {rank} of {}", self.title);
        if ready().is_none() {
            self.wait_for(rank, says, |peer| self.peer(rank) == peer, (ready, None))?;
        }
        taken.store(next, Relaxed);
        Ok(())
    }

    /// Tells these ranks that the accesses of this one are complete.
    pub(super) fn complete(&self, ranks: &[u32]) {
        for &rank in ranks {
            self.word(rank, COMPLETED).fetch_add(1, SeqCst);
            self.wake(rank);
        }
    }

    /// Waits until each of these ranks has completed once more. Returns true if they have.
    pub(super) fn wait(&self, ranks: &[u32], waiter: Waiter) -> Result<bool> {
        let completed = self.word(self.me, COMPLETED);
        let all = self.completes_taken.load(Relaxed) + ranks.len() as u64;
        let ready = || (completed.load(Acquire) >= all).then_some(());
        if ready().is_none() {
            if waiter == Waiter::Tests {
                self.engine.look(|_| ());
                return Ok(false);
            }
            let says = || {
                let missing = all.saturating_sub(completed.load(Relaxed));
                format!(
                    "{missing} of ranks {ranks:?} of {} to complete their accesses \
                     (MPI_Win_complete)",
                    self.title
                )
            };
            let needs = |peer| ranks.iter().any(|&rank| self.peer(rank) == peer);
            self.wait_for(self.me, says, needs, (ready, None))?;
        }
        self.completes_taken.store(all, Relaxed);
        Ok(true)
    }
}
