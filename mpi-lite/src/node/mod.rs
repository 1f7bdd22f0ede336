//! The memory that the ranks of a node share: its layout, how ranks sleep and wake each other, and
//! small collectives in it.
//!
//! The link between two ranks (`transport::shm`) uses a part of it. Collectives need no link.

mod about;
mod arena;
mod cores;
pub(crate) mod datagrams;
mod doorbells;
mod exchange;
pub(crate) mod filter;
pub(crate) mod in_place;
mod line;
mod mismatch;
mod passage;
#[cfg(all(test, not(miri)))]
mod passage_tests;
pub(crate) mod peer_memory;
pub(crate) mod segment;
pub mod site;
#[cfg(test)]
mod site_tests;
pub(crate) mod wakeup;

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::{Acquire, Relaxed};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

pub use arena::{Arena, ArenaError, Joining};
pub use cores::{CORES_MAX, Cores};
use doorbells::Doorbells;
pub use in_place::{Fork, Lending};
pub use passage::{Ask, Offer, Passage, PassageError};
use peer_memory::PeerMemory;
pub use segment::RANKS_MAX;
use segment::Segment;
use wakeup::{Wakeup, Watch};

use crate::config::CopyAcross;
use crate::ids::PeerId;

/// What a rank needs to join the others of its node.
#[derive(Debug)]
pub struct Access {
    /// The node's memory.
    pub memory: OwnedFd,
    /// What wakes each rank of the node, by local rank.
    pub doorbells: Vec<OwnedFd>,
    /// The rank in `MPI_COMM_WORLD` of each rank of the node, by local rank.
    pub ranks: Vec<u32>,
    /// This rank's local rank.
    pub me: u32,
    /// What this rank may use of the node.
    pub cores: Cores,
    /// When long messages are copied straight from one process to the other.
    pub copy_across: CopyAcross,
}

/// The node of a rank.
#[derive(Debug)]
pub struct Node {
    me: u32,
    /// Local rank by `PeerId`, for ranks of this node.
    locals: Vec<u32>,
    /// The other way round.
    peers: Vec<PeerId>,
    segment: Segment,
    wakeup: Wakeup,
    passage: Passage,
    copy_across: CopyAcross,
    lending: Arc<Lending>,
    /// Collectives without messages so far.
    epochs: Arc<AtomicU64>,
    /// A word that local peers read to find out whether they can read our memory.
    _witness: Box<u64>,
}

/// A word that nobody guesses: two processes must not have the same at the same address.
fn witness_word() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id()) | 1
}

impl Node {
    /// Joins the node that `access` leads to, in a job of `size` ranks.
    ///
    /// # Errors
    /// The memory cannot be mapped.
    pub fn join(access: Access, size: u32) -> io::Result<Self> {
        let count = u32::try_from(access.ranks.len()).map_err(io::Error::other)?;
        let segment = Segment::map(&access.memory, count)?;
        Ok(Self::on(segment, access, size))
    }

    /// Joins the node once the memory is mapped.
    pub(crate) fn on(segment: Segment, access: Access, size: u32) -> Self {
        let Access {
            memory: _,
            doorbells,
            ranks,
            me,
            cores,
            copy_across,
        } = access;
        let area = segment.area(me);
        let wakeup = Wakeup::new(area, Doorbells::new(doorbells, me), false);
        let mut locals = vec![u32::MAX; size as usize];
        for (&rank, local) in ranks.iter().zip(0..) {
            locals[rank as usize] = local;
        }
        let witness = Box::new(witness_word());
        let witness_at = core::ptr::from_ref(&*witness).expose_provenance() as u64;
        if copy_across != CopyAcross::Off {
            area.present(std::process::id(), (witness_at, *witness));
        }
        area.cores.write(&cores);
        Self {
            me,
            locals,
            peers: ranks.into_iter().map(PeerId::of_world_rank).collect(),
            passage: Passage::new(segment, me),
            segment,
            wakeup,
            copy_across,
            lending: Arc::new(Lending::new(*witness)),
            epochs: Arc::default(),
            _witness: witness,
        }
    }

    /// Returns true if measurements decide how long messages travel. Where ranks share cores, a
    /// measurement is one of the system's scheduler.
    pub(crate) fn is_copy_measured(&self) -> bool {
        self.copy_across == CopyAcross::Measured && !self.wakeup.is_oversubscribed()
    }

    /// This rank's local rank.
    pub(crate) fn me(&self) -> u32 {
        self.me
    }

    /// How many ranks the node has.
    pub(crate) fn size(&self) -> usize {
        self.peers.len()
    }

    /// Its ranks, by local rank.
    #[must_use]
    pub fn peers(&self) -> &[PeerId] {
        &self.peers
    }

    /// The local rank of `peer`, if it is one of this node.
    pub(crate) fn local_of(&self, peer: PeerId) -> Option<u32> {
        let local = *self.locals.get(peer.0 as usize)?;
        (local != u32::MAX).then_some(local)
    }

    /// Returns true if a rank of this node must fence before it looks whether another one sleeps.
    pub(crate) fn must_fence(&self) -> bool {
        (0..self.peers.len() as u32).any(|local| self.wakeup.must_fence(self.segment.area(local)))
    }

    /// The word by which the memory of a rank of this node is known.
    pub(crate) fn witness_of(&self, local: u32) -> u64 {
        self.segment.area(local).witness.load(Acquire)
    }

    /// What the program has lent to windows.
    #[must_use]
    pub fn lending(&self) -> &Arc<Lending> {
        &self.lending
    }

    /// Returns true if processes may share the memory of programs.
    pub(crate) fn shares_memory_of_programs(&self) -> bool {
        self.copy_across != CopyAcross::Off && cfg!(not(miri))
    }

    /// The memory of a rank of this node, if the system allows copies from and to it.
    pub(crate) fn memory_of(&self, local: u32) -> Option<PeerMemory> {
        PeerMemory::of(self.segment.area(local)).ok()
    }

    /// The local rank of `peer`, which is one of this node.
    #[inline]
    pub(crate) fn local(&self, peer: PeerId) -> u32 {
        self.locals[peer.0 as usize]
    }

    pub(crate) fn segment(&self) -> Segment {
        self.segment
    }

    /// How its ranks sleep and are woken.
    #[inline]
    pub(crate) fn wakeup(&self) -> &Wakeup {
        &self.wakeup
    }

    /// The way by which its ranks give each other descriptors, at any time.
    #[must_use]
    pub fn passage(&self) -> &Passage {
        &self.passage
    }

    /// What the ticker of this rank needs to sleep.
    pub(crate) fn watch(&self) -> Watch<'static> {
        self.wakeup.watch()
    }

    /// Collectives without messages so far.
    pub(crate) fn epochs(&self) -> u64 {
        self.epochs.load(Relaxed)
    }
}
