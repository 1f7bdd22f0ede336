//! Ordered sets of processes. Source: MPI 5.0, 7.2.

use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

use super::Comparison;
use crate::transport::PeerId;

/// The processes of a communicator by rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    members: Arc<[PeerId]>,
    /// The session that it derives from; 0: the world.
    session: u64,
}

impl Group {
    /// A group of the world, of these processes in this order. None may be in it twice.
    #[must_use]
    pub fn from_members(members: Arc<[PeerId]>) -> Self {
        let session = 0;
        Self { members, session }
    }

    /// A group of these processes in this order that derives from the same session as this one.
    /// None may be in it twice.
    #[must_use]
    pub fn with_members(&self, members: Arc<[PeerId]>) -> Self {
        let session = self.session;
        Self { members, session }
    }

    /// The same processes in a group of the session of this number; 0: of the world.
    #[must_use]
    pub fn in_session(self, session: u64) -> Self {
        Self { session, ..self }
    }

    /// The number of the session that it derives from; 0: the world.
    #[must_use]
    pub fn session(&self) -> u64 {
        self.session
    }

    /// How many there are.
    #[inline]
    #[must_use]
    pub fn size(&self) -> u32 {
        u32::try_from(self.members.len()).expect("ranks have 32 bits")
    }

    /// The process of `rank`.
    #[inline]
    #[must_use]
    pub fn peer(&self, rank: u32) -> Option<PeerId> {
        self.members.get(rank as usize).copied()
    }

    /// The rank of a process in this group.
    #[must_use]
    pub fn rank_of(&self, peer: PeerId) -> Option<u32> {
        let at = self.members.iter().position(|&member| member == peer)?;
        u32::try_from(at).ok()
    }

    /// Its processes, by rank in this group.
    #[must_use]
    pub fn members(&self) -> &[PeerId] {
        &self.members
    }

    /// Its processes by rank, as a shared slice.
    pub(super) fn shared_members(&self) -> Arc<[PeerId]> {
        Arc::clone(&self.members)
    }

    /// The first process of this group that is not in `other`.
    #[must_use]
    pub fn first_beyond(&self, other: &Self) -> Option<PeerId> {
        let known = other.set();
        let mut members = self.members.iter().copied();
        members.find(|member| !known.contains(member))
    }

    /// Its processes. One after the other: a set that is built at once is sorted, which is worth
    /// less than the code for it.
    fn set(&self) -> BTreeSet<PeerId> {
        let mut set = BTreeSet::new();
        set.extend(&*self.members);
        set
    }

    /// Returns true if no process is in both groups.
    #[must_use]
    pub(super) fn is_apart_from(&self, other: &Self) -> bool {
        let known = other.set();
        !self.members.iter().any(|member| known.contains(member))
    }

    /// Returns the processes with this color, in the order of their keys, then as they are here.
    /// `words` are the color and the key of each.
    pub(super) fn of_color(&self, words: impl Iterator<Item = [u32; 2]>, color: u32) -> Self {
        let all = self.members.iter().zip(0_u32..).zip(words);
        let part: BinaryHeap<(i32, u32, PeerId)> = all
            .filter(|(_, [theirs, _])| *theirs == color)
            .map(|((&member, rank), [_, key])| (key.cast_signed(), rank, member))
            .collect();
        let part = part.into_sorted_vec().into_iter();
        self.with_members(part.map(|(_, _, member)| member).collect())
    }

    /// Returns how this group relates to `other`. Never `Congruent`. Source: MPI 5.0, 7.3.1.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Comparison {
        if self.members == other.members {
            return Comparison::Identical;
        }
        let sorted = |group: &Self| BinaryHeap::from(group.members.to_vec()).into_sorted_vec();
        if sorted(self) == sorted(other) {
            Comparison::Similar
        } else {
            Comparison::Unequal
        }
    }
}
