//! Ordered sets of processes. Source: MPI 5.0, 7.2.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Comparison;
use crate::transport::PeerId;

/// The processes of a communicator by rank, named by their ranks in `MPI_COMM_WORLD`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    members: Arc<[u32]>,
}

impl Group {
    /// All processes of a job of `size`.
    #[must_use]
    pub fn of_all(size: u32) -> Self {
        Self {
            members: (0..size).collect(),
        }
    }

    /// These processes in this order; no one twice.
    #[must_use]
    pub fn from_members(members: Arc<[u32]>) -> Self {
        Self { members }
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
        self.members.get(rank as usize).copied().map(PeerId)
    }

    /// The rank of a process in this group.
    #[must_use]
    pub fn rank_of(&self, peer: PeerId) -> Option<u32> {
        let at = self.members.iter().position(|&member| member == peer.0)?;
        u32::try_from(at).ok()
    }

    /// The ranks in `MPI_COMM_WORLD`, by rank in this group.
    #[must_use]
    pub fn members(&self) -> &[u32] {
        &self.members
    }

    /// The first process of this group that is none of `other`'s: its rank in `MPI_COMM_WORLD`.
    #[must_use]
    pub fn first_beyond(&self, other: &Self) -> Option<u32> {
        let known: BTreeSet<u32> = other.members.iter().copied().collect();
        let mut members = self.members.iter().copied();
        members.find(|member| !known.contains(member))
    }

    /// How this group relates to `other`; never `Congruent`. Source: MPI 5.0, 7.3.1.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Comparison {
        if self.members == other.members {
            return Comparison::Identical;
        }
        let sorted = |group: &Self| {
            let mut members = group.members.to_vec();
            members.sort_unstable();
            members
        };
        if sorted(self) == sorted(other) {
            Comparison::Similar
        } else {
            Comparison::Unequal
        }
    }
}
