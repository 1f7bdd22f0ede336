//! What all ranks report together: their waits and their communicators.

use std::collections::HashMap;

use mpi_boot::state::{CommunicatorState, RankState, ThreadState};

use super::waits::{Id, Nature, Wait, context, sorted};
use super::{Doing, Occasion, Snapshot};

/// How long a wait must be that is no accident of the moment.
const LONG_MS: u64 = 2000;

/// What a snapshot shows.
pub(super) struct Facts<'a> {
    pub(super) snapshot: &'a Snapshot,
    /// By rank.
    pub(super) natures: Vec<Nature>,
    /// All waits: by rank, then by thread, then in their order.
    pub(super) waits: Vec<Wait<'a>>,
    /// By rank and context.
    communicators: HashMap<(u32, u32), &'a CommunicatorState>,
    /// The ranks that describe it, in their order.
    ranks: HashMap<Id, Vec<u32>>,
    /// The number of ranks of the job.
    job: u32,
}

impl<'a> Facts<'a> {
    pub(super) fn new(snapshot: &'a Snapshot) -> Facts<'a> {
        let mut facts = Facts {
            snapshot,
            natures: snapshot.ranks.iter().map(Nature::of).collect(),
            waits: Vec::new(),
            communicators: HashMap::new(),
            ranks: HashMap::new(),
            job: u32::try_from(snapshot.ranks.len()).unwrap_or(u32::MAX),
        };
        for (rank, state) in states(snapshot) {
            for described in &state.communicators {
                let key = (rank, described.context);
                if facts.communicators.insert(key, described).is_none() {
                    let id = facts.id(rank, described.context);
                    facts.ranks.entry(id).or_default().push(rank);
                }
            }
            for thread in &state.threads {
                let waits: Vec<Wait<'_>> = facts.of_thread(rank, thread).collect();
                facts.waits.extend(waits);
            }
        }
        facts
    }

    /// What a rank has answered.
    pub(super) fn state(&self, rank: u32) -> Option<&'a RankState> {
        match &self.snapshot.ranks.get(rank as usize)?.doing {
            Doing::State(state) => Some(state),
            _ => None,
        }
    }

    /// The waits of a thread.
    pub(super) fn of_thread(
        &self,
        rank: u32,
        thread: &'a ThreadState,
    ) -> impl Iterator<Item = Wait<'a>> {
        thread.operations.iter().map(move |operation| Wait {
            rank,
            thread,
            operation,
            id: context(operation).map(|context| self.id(rank, context)),
        })
    }

    /// The waits of a rank.
    pub(super) fn of_rank(&self, rank: u32) -> &[Wait<'a>] {
        let first = self.waits.partition_point(|wait| wait.rank < rank);
        let waits = &self.waits[first..];
        &waits[..waits.partition_point(|wait| wait.rank == rank)]
    }

    pub(super) fn is_stall(&self) -> bool {
        matches!(self.snapshot.occasion, Occasion::Stall { .. })
    }

    /// Returns true if a wait is no accident of the moment.
    pub(super) fn is_long(&self, wait: Wait<'_>) -> bool {
        self.is_stall() || wait.thread.blocked_ms >= LONG_MS
    }

    /// The communicator that a rank names by a context.
    pub(super) fn id(&self, rank: u32, context: u32) -> Id {
        let described = self.communicators.get(&(rank, context));
        Id {
            context,
            first: described.map(|described| described.first),
        }
    }

    /// What a rank reports about a communicator.
    pub(super) fn described_by(&self, rank: u32, id: Id) -> Option<&'a CommunicatorState> {
        let described = self.communicators.get(&(rank, id.context)).copied();
        described.filter(|described| Some(described.first) == id.first)
    }

    /// What its lowest rank reports about a communicator.
    pub(super) fn described(&self, id: Id) -> Option<&'a CommunicatorState> {
        let ranks = self.ranks.get(&id)?;
        ranks.iter().find_map(|rank| self.described_by(*rank, id))
    }

    /// Its members in the order of their ranks in it, as far as the job has them.
    pub(super) fn in_order(&self, id: Id) -> impl Iterator<Item = u32> {
        let described = self.described(id);
        let runs = described.map_or(&[][..], |described| &described.members);
        let size = described.map_or(0, |described| described.size.min(self.job));
        let job = self.job;
        let ranks = runs.iter().flat_map(move |run| run.ranks(job));
        ranks.take(size as usize).filter(move |rank| *rank < job)
    }

    /// Its members, sorted. Without a list they are those that describe it.
    pub(super) fn members(&self, id: Id) -> Vec<u32> {
        let members = sorted(self.in_order(id));
        match members.is_empty() {
            true => self.ranks.get(&id).cloned().unwrap_or_default(),
            false => members,
        }
    }
}

/// The ranks that answered, and what.
pub(super) fn states(snapshot: &Snapshot) -> impl Iterator<Item = (u32, &RankState)> {
    let ranks = (0..).zip(&snapshot.ranks);
    ranks.filter_map(|(rank, seen)| match &seen.doing {
        Doing::State(state) => Some((rank, &**state)),
        _ => None,
    })
}
