//! What the ranks wait for, as a graph.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use mpi_boot::state::{
    LISTED_MAX, MessageKind, Operation, Peer, RankState, THREADS_MAX, ThreadState,
};

use super::collectives::{Form, Meeting};
use super::communicators::{Communicators, Id, states};
use super::graph::{Graph, Meaning};
use super::near::Messages;
use super::{Doing, Occasion, RankSeen, Snapshot};

/// The most members of all the sets of ranks that are waited for together.
const MEMBERS_MAX: usize = 2_000_000;

/// A thread of a rank that waits for an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait<'a> {
    pub(super) rank: u32,
    pub(super) thread: &'a ThreadState,
    pub(super) operation: &'a Operation,
}

/// All waits, by rank.
pub(super) fn all(snapshot: &Snapshot) -> impl Iterator<Item = Wait<'_>> {
    states(snapshot).flat_map(|(rank, state)| {
        threads(state).iter().flat_map(move |thread| {
            let operations = operations(thread).iter();
            operations.map(move |operation| Wait {
                rank,
                thread,
                operation,
            })
        })
    })
}

/// The threads of a rank that are looked at.
pub(super) fn threads(state: &RankState) -> &[ThreadState] {
    &state.threads[..state.threads.len().min(THREADS_MAX)]
}

/// The operations of a thread that are looked at.
pub(super) fn operations(thread: &ThreadState) -> &[Operation] {
    &thread.operations[..thread.operations.len().min(LISTED_MAX)]
}

/// How many more operations a thread waits for.
pub(super) fn left_out(thread: &ThreadState) -> u64 {
    let beyond = thread.operations.len() - operations(thread).len();
    thread.left_out.saturating_add(beyond as u64)
}

/// What a rank does, as far as others that wait for it are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Nature {
    /// All its threads that could do something wait in MPI.
    Waits,
    InFinalize,
    Finalized,
    Ended,
    BeforeInit,
    OtherMpi,
    Computes,
    /// Some of its threads wait.
    ComputesBeside,
    /// The state of its process.
    Stopped(char),
    /// It runs, and does not answer.
    Runs,
    Silent,
    Unknown,
}

impl Nature {
    pub(super) fn of(seen: &RankSeen) -> Nature {
        match &seen.doing {
            Doing::Answered(state) if state.threads.is_empty() => Nature::Computes,
            Doing::Answered(state) if state.threads.iter().any(is_in_finalize) => {
                Nature::InFinalize
            }
            Doing::Answered(state) if state.may_go_on => Nature::ComputesBeside,
            Doing::Answered(_) => Nature::Waits,
            Doing::BeforeInit => Nature::BeforeInit,
            Doing::Finalized => Nature::Finalized,
            Doing::OtherMpi => Nature::OtherMpi,
            Doing::Ended => Nature::Ended,
            Doing::Silent(seen) if seen.stopped_ms.is_some() || matches!(seen.state, 'T' | 't') => {
                Nature::Stopped(seen.state)
            }
            Doing::Silent(seen) if seen.state == 'R' || seen.used_ms > 0 => Nature::Runs,
            Doing::Silent(_) => Nature::Silent,
            Doing::Unknown => Nature::Unknown,
        }
    }

    /// Returns true if the rank calls MPI no more.
    pub(super) fn is_over(self) -> bool {
        matches!(self, Nature::InFinalize | Nature::Finalized | Nature::Ended)
    }
}

/// Returns true if the thread waits in `MPI_Finalize` for the other ranks.
pub(super) fn is_in_finalize(thread: &ThreadState) -> bool {
    thread.call == "MPI_Finalize" && thread.operations.contains(&Operation::Job)
}

/// Makes the graph of a snapshot.
pub(super) struct Builder<'s, 'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) communicators: &'s Communicators<'a>,
    pub(super) messages: &'s Messages<'a>,
    pub(super) natures: &'s [Nature],
    /// The collectives that the ranks call differently.
    pub(super) mixed: &'s BTreeSet<Meeting>,
}

/// The graph, and the nodes that several threads share.
#[derive(Default)]
struct Shared<'a> {
    graph: Graph<'a>,
    meetings: HashMap<Meeting, usize>,
    /// Those that wait in a persistent collective.
    persistent: BTreeMap<Meeting, BTreeSet<u32>>,
    anybody: HashMap<Id, usize>,
    init: Option<usize>,
    finalize: Option<usize>,
    settled: usize,
    never: usize,
    members: usize,
}

impl<'a> Builder<'_, 'a> {
    /// The graph, and the ranks that have not come to each collective.
    pub(super) fn graph(&self) -> (Graph<'a>, HashMap<Meeting, Vec<u32>>) {
        let mut shared = Shared::default();
        for nature in self.natures {
            let rank = shared.graph.add(Meaning::Rank, Vec::new());
            shared.graph.nodes[rank].fixed = match nature {
                Nature::Waits => None,
                nature => Some(!nature.is_over()),
            };
        }
        shared.settled = shared.graph.add(Meaning::Settled, Vec::new());
        shared.never = shared.graph.add(Meaning::Never, Vec::new());
        for wait in all(self.snapshot) {
            if let Some(meeting) = Meeting::of(wait, self.communicators)
                && let Form::Persistent(..) = meeting.form
            {
                let waiting = shared.persistent.entry(meeting).or_default();
                waiting.insert(wait.rank);
            }
        }
        for (rank, state) in states(self.snapshot) {
            for thread in threads(state) {
                let node = self.thread(&mut shared, rank, thread);
                shared.graph.nodes[rank as usize].children.push(node);
            }
            let listed = threads(state).len();
            // In a stall those that are not listed do not go on either.
            let is_stall = matches!(self.snapshot.occasion, Occasion::Stall { .. });
            let has_more = state.threads_left_out > 0 || listed < state.threads.len();
            if has_more && !is_stall {
                let settled = shared.settled;
                shared.graph.nodes[rank as usize].children.push(settled);
            }
        }
        shared.graph.close();
        let graph = shared.graph;
        let missing = shared.meetings.into_iter().map(|(meeting, node)| {
            let ranks = graph.nodes[node].children.iter();
            let ranks = ranks.filter_map(|rank| u32::try_from(*rank).ok());
            (meeting, ranks.collect())
        });
        let missing = missing.collect();
        (graph, missing)
    }

    fn thread(&self, shared: &mut Shared<'a>, rank: u32, thread: &'a ThreadState) -> usize {
        use mpi_boot::state::EndsWith;
        let waits = operations(thread).iter().map(|operation| Wait {
            rank,
            thread,
            operation,
        });
        let mut children: Vec<usize> = waits.map(|wait| self.operation(shared, wait)).collect();
        let is_any = thread.ends_with == EndsWith::Any && !children.is_empty();
        if is_any && left_out(thread) > 0 {
            children.push(shared.settled);
        }
        let node = shared.graph.add(Meaning::Thread(rank, thread), children);
        shared.graph.nodes[node].is_any = is_any;
        node
    }

    /// The node that an operation waits for.
    fn operation(&self, shared: &mut Shared<'a>, wait: Wait<'a>) -> usize {
        if self.messages.have_met(wait, self.communicators) {
            return self.mover(shared, wait);
        }
        match wait.operation {
            Operation::Receive(wanted) | Operation::Probe(wanted) => match wanted.source {
                Some(source) => self.peer(shared, source),
                None => self.anybody(shared, self.communicators.id(wait.rank, wanted.context)),
            },
            // It must mark its own partitions ready.
            Operation::Send { kind, .. } if !kind.is_ready() => self.rank(shared, wait.rank),
            Operation::Send { dest, .. } => self.peer(shared, *dest),
            Operation::Incoming(held) if matches!(held.kind, MessageKind::Partitioned(_)) => {
                self.peer(shared, held.source)
            }
            Operation::Collective { .. } => match Meeting::of(wait, self.communicators) {
                Some(meeting) => {
                    let is_mixed = self.mixed.contains(&meeting);
                    let node = self.meeting(shared, meeting);
                    if is_mixed { shared.never } else { node }
                }
                None => shared.settled,
            },
            Operation::Job => self.job(shared, wait.thread),
            Operation::Incoming(_) | Operation::Other(_) => shared.settled,
        }
    }

    /// The node for a message whose receive is there: a rank that waits in MPI moves messages.
    fn mover(&self, shared: &Shared<'a>, wait: Wait<'_>) -> usize {
        let other = match wait.operation {
            Operation::Incoming(held) => held.source.world,
            Operation::Send { dest, .. } => dest.world,
            _ => None,
        };
        let nature = other.and_then(|other| self.natures.get(other as usize));
        match (other, nature) {
            (None, _) | (_, Some(Nature::Waits | Nature::InFinalize)) => shared.settled,
            (Some(other), _) => self.rank(shared, other),
        }
    }

    fn peer(&self, shared: &Shared<'a>, peer: Peer) -> usize {
        peer.world
            .map_or(shared.settled, |rank| self.rank(shared, rank))
    }

    fn rank(&self, shared: &Shared<'a>, rank: u32) -> usize {
        let rank = rank as usize;
        if rank < self.natures.len() {
            rank
        } else {
            shared.settled
        }
    }

    fn anybody(&self, shared: &mut Shared<'a>, id: Id) -> usize {
        if let Some(node) = shared.anybody.get(&id) {
            return *node;
        }
        let members = self.members(shared, id).unwrap_or_default();
        let node = if members.is_empty() {
            shared.settled
        } else {
            shared.set(Meaning::Anybody, members)
        };
        shared.anybody.insert(id, node);
        node
    }

    fn meeting(&self, shared: &mut Shared<'a>, meeting: Meeting) -> usize {
        if let Some(node) = shared.meetings.get(&meeting) {
            return *node;
        }
        let members = self.members(shared, meeting.communicator);
        let mut missing = members.unwrap_or_default();
        if missing.is_empty() {
            return shared.settled;
        }
        match shared.persistent.get(&meeting) {
            Some(waiting) => missing.retain(|member| !waiting.contains(member)),
            None => missing.retain(|member| !meeting.has(*member, self.communicators)),
        }
        let node = shared.set(Meaning::Missing, missing);
        shared.meetings.insert(meeting, node);
        node
    }

    /// The members of a communicator, unless too many have been looked at.
    fn members(&self, shared: &mut Shared<'a>, id: Id) -> Option<Vec<u32>> {
        if shared.members > MEMBERS_MAX {
            return None;
        }
        let members = self.communicators.members(id);
        shared.members += members.len().max(1);
        Some(members)
    }

    /// The node for Init or Finalize.
    fn job(&self, shared: &mut Shared<'a>, thread: &ThreadState) -> usize {
        let is_finalize = thread.call == "MPI_Finalize";
        let known = if is_finalize {
            shared.finalize
        } else {
            shared.init
        };
        if let Some(node) = known {
            return node;
        }
        let is_missing = |nature: Nature| match nature {
            Nature::InFinalize | Nature::Finalized => false,
            Nature::Waits | Nature::Computes | Nature::ComputesBeside => is_finalize,
            _ => true,
        };
        let natures = (0..).zip(self.natures);
        let missing = natures.filter(|(_, nature)| is_missing(**nature));
        let node = shared.set(Meaning::Missing, missing.map(|(rank, _)| rank).collect());
        let place = if is_finalize {
            &mut shared.finalize
        } else {
            &mut shared.init
        };
        *place = Some(node);
        node
    }
}

impl<'a> Shared<'a> {
    /// A node for several ranks.
    fn set(&mut self, meaning: Meaning<'a>, ranks: Vec<u32>) -> usize {
        let ranks = ranks.into_iter().map(|rank| rank as usize).collect();
        self.graph.add(meaning, ranks)
    }
}
