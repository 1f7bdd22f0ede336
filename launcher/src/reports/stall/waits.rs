//! What threads wait for, and what ranks do as far as others that wait for them are concerned.

use mpi_boot::state::{HeldMessage, MessageKind, Operation, Peer, ThreadState, Wanted};

use super::{Doing, RankSeen};

/// A communicator of the job. Groups without a common member may use the same context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Id {
    /// By which the ranks name it.
    pub(super) context: u32,
    /// Its first member; `None` if the rank that names it does not describe it.
    pub(super) first: Option<u32>,
}

/// A thread of a rank that waits for an operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait<'a> {
    pub(super) rank: u32,
    pub(super) thread: &'a ThreadState,
    pub(super) operation: &'a Operation,
    /// The communicator, if it is on one.
    pub(super) id: Option<Id>,
}

/// A message as its receiver or its sender sees it, or what a receive takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mail {
    pub(super) id: Id,
    /// The other side; any without one.
    pub(super) peer: Option<Peer>,
    /// Any without one.
    pub(super) tag: Option<i32>,
    /// Of the message, or the room for it.
    pub(super) bytes: Option<u64>,
    pub(super) kind: MessageKind,
}

impl Mail {
    pub(super) fn wanted(id: Id, wanted: &Wanted) -> Mail {
        Mail {
            id,
            peer: wanted.source,
            tag: wanted.tag,
            bytes: wanted.room,
            kind: wanted.kind,
        }
    }

    pub(super) fn held(id: Id, held: &HeldMessage) -> Mail {
        Mail {
            id,
            peer: Some(held.source),
            tag: held.tag,
            bytes: Some(held.bytes),
            kind: held.kind,
        }
    }

    /// The rank of the other side in the job, if it is known.
    pub(super) fn world(&self) -> Option<u32> {
        self.peer?.world
    }
}

impl Wait<'_> {
    pub(super) fn mail(self) -> Option<Mail> {
        let id = self.id?;
        match self.operation {
            Operation::Receive(wanted) | Operation::Probe(wanted) => Some(Mail::wanted(id, wanted)),
            Operation::Incoming(held) => Some(Mail::held(id, held)),
            Operation::Send {
                dest,
                tag,
                bytes,
                kind,
                ..
            } => Some(Mail {
                id,
                peer: Some(*dest),
                tag: Some(*tag),
                bytes: Some(*bytes),
                kind: *kind,
            }),
            Operation::Collective { .. } | Operation::Job | Operation::Other(_) => None,
        }
    }

    /// Returns true if it waits for a message to come of which nothing is there.
    pub(super) fn is_for_message(&self) -> bool {
        matches!(self.operation, Operation::Receive(_) | Operation::Probe(_))
    }

    pub(super) fn is_send(&self) -> bool {
        matches!(self.operation, Operation::Send { .. })
    }
}

/// By which a rank names the communicator of an operation.
pub(super) fn context(operation: &Operation) -> Option<u32> {
    match operation {
        Operation::Receive(wanted) | Operation::Probe(wanted) => Some(wanted.context),
        Operation::Incoming(held) => Some(held.context),
        Operation::Send { context, .. } | Operation::Collective { context, .. } => Some(*context),
        Operation::Job | Operation::Other(_) => None,
    }
}

/// The ranks of some waits, sorted, each once.
pub(super) fn ranks_of<'a>(waits: impl IntoIterator<Item = Wait<'a>>) -> Vec<u32> {
    sorted(waits.into_iter().map(|wait| wait.rank))
}

/// Ranks sorted, each once.
pub(super) fn sorted(ranks: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut ranks = Vec::from_iter(ranks);
    ranks.sort_unstable();
    ranks.dedup();
    ranks
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
            Doing::State(state) if state.threads.is_empty() => Nature::Computes,
            Doing::State(state) if state.threads.iter().any(is_in_finalize) => Nature::InFinalize,
            Doing::State(state) if state.may_go_on => Nature::ComputesBeside,
            Doing::State(_) => Nature::Waits,
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

    /// Its name for programs, and what a rank does in words.
    pub(super) fn words(self) -> (&'static str, &'static str) {
        match self {
            Nature::Waits => ("waits", "waits"),
            Nature::InFinalize => ("in_finalize", "is in MPI_Finalize"),
            Nature::Finalized => ("finalized", "has finalized"),
            Nature::Ended => ("ended", "has ended"),
            Nature::BeforeInit => ("before_init", "has not called MPI_Init"),
            Nature::OtherMpi => ("other_mpi", "runs a program of another MPI"),
            Nature::Computes => ("computes", "computes"),
            Nature::ComputesBeside => ("computes_beside", "computes in another thread"),
            Nature::Stopped(_) => ("stopped", "is stopped"),
            Nature::Runs => ("runs", "does not wait in MPI"),
            Nature::Silent => ("silent", "does not answer"),
            Nature::Unknown => ("unknown", "is on a host that did not answer"),
        }
    }

    /// Returns true if the rank calls MPI no more.
    pub(super) fn is_over(self) -> bool {
        matches!(self, Nature::InFinalize | Nature::Finalized | Nature::Ended)
    }

    /// Returns true if the rank did not answer.
    pub(super) fn is_unheard(self) -> bool {
        use Nature::{Runs, Silent, Stopped, Unknown};
        matches!(self, Stopped(_) | Runs | Silent | Unknown)
    }

    /// Returns true if all its threads are in calls of MPI, and so it moves messages.
    pub(super) fn is_in_mpi(self) -> bool {
        matches!(self, Nature::Waits | Nature::InFinalize)
    }
}

/// Returns true if the thread waits in `MPI_Finalize` for the other ranks.
pub(super) fn is_in_finalize(thread: &ThreadState) -> bool {
    thread.call == "MPI_Finalize" && thread.operations.contains(&Operation::Job)
}
