//! The communicators of all ranks, and which of them are the same.

use std::collections::HashMap;

use mpi_boot::state::{COMMUNICATORS_MAX, CommunicatorState, RUNS_MAX, RankState};

use super::{Doing, Snapshot};

/// A communicator of the job. Groups without a common member may use the same context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Id {
    /// By which the ranks name it.
    pub(super) context: u32,
    /// Its first member; `None` if the rank that names it does not describe it.
    first: Option<u32>,
}

/// What the ranks report about their communicators.
pub(super) struct Communicators<'a> {
    /// By rank and context.
    by_rank: HashMap<(u32, u32), &'a CommunicatorState>,
    /// The ranks that describe it, in their order.
    ranks: HashMap<Id, Vec<u32>>,
    /// The number of ranks of the job.
    job: u32,
}

impl<'a> Communicators<'a> {
    pub(super) fn new(snapshot: &'a Snapshot) -> Communicators<'a> {
        let mut all = Communicators {
            by_rank: HashMap::new(),
            ranks: HashMap::new(),
            job: u32::try_from(snapshot.ranks.len()).unwrap_or(u32::MAX),
        };
        for (rank, state) in states(snapshot) {
            for described in state.communicators.iter().take(COMMUNICATORS_MAX) {
                let key = (rank, described.context);
                if all.by_rank.insert(key, described).is_none() {
                    let id = all.id(rank, described.context);
                    all.ranks.entry(id).or_default().push(rank);
                }
            }
        }
        all
    }

    /// The communicator that a rank names by a context.
    pub(super) fn id(&self, rank: u32, context: u32) -> Id {
        let described = self.by_rank.get(&(rank, context));
        Id {
            context,
            first: described.map(|described| described.first),
        }
    }

    /// What a rank reports about a communicator.
    pub(super) fn of_rank(&self, rank: u32, id: Id) -> Option<&'a CommunicatorState> {
        let described = self.by_rank.get(&(rank, id.context)).copied();
        described.filter(|described| Some(described.first) == id.first)
    }

    /// What its lowest rank reports about a communicator.
    pub(super) fn described(&self, id: Id) -> Option<&'a CommunicatorState> {
        let ranks = self.ranks.get(&id)?;
        ranks.iter().find_map(|rank| self.of_rank(*rank, id))
    }

    /// Its members in the order of their ranks in it, as far as the job has them.
    pub(super) fn in_order(&self, id: Id) -> impl Iterator<Item = u32> {
        let described = self.described(id);
        let runs = described.map_or(&[][..], |described| &described.members);
        let size = described.map_or(0, |described| described.size.min(self.job));
        let job = self.job;
        let ranks = runs
            .iter()
            .take(RUNS_MAX)
            .flat_map(move |run| run.ranks(job));
        ranks.take(size as usize).filter(move |rank| *rank < job)
    }

    /// Its members, sorted. Without a list they are those that describe it.
    pub(super) fn members(&self, id: Id) -> Vec<u32> {
        let mut members: Vec<u32> = self.in_order(id).collect();
        if members.is_empty() {
            members = self.ranks.get(&id).cloned().unwrap_or_default();
        }
        members.sort_unstable();
        members.dedup();
        members
    }
}

/// The ranks that answered, and what.
pub(super) fn states(snapshot: &Snapshot) -> impl Iterator<Item = (u32, &RankState)> {
    let ranks = (0..).zip(&snapshot.ranks);
    ranks.filter_map(|(rank, seen)| match &seen.doing {
        Doing::Answered(state) => Some((rank, &**state)),
        _ => None,
    })
}
