//! What a rank does at a moment, as it tells its launcher: which calls its threads wait in, what
//! they wait for, and which messages nobody has received. Decision 0051.
//!
//! The launcher puts the states of all ranks together and finds out who waits for whom. Words are
//! made there alone.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The longest state in bytes, encoded. A rank leaves out what does not fit and says how much.
pub const STATE_MAX: usize = 64 << 10;

/// The most threads of a state.
pub const THREADS_MAX: usize = 32;

/// The most unfinished operations of a thread, and the most unexpected messages, that a state
/// lists.
pub const LISTED_MAX: usize = 8;

/// The most communicators of a state.
pub const COMMUNICATORS_MAX: usize = 64;

/// The most return addresses of a thread.
pub const FRAMES_MAX: usize = 24;

/// The most runs of the members of a communicator.
pub const RUNS_MAX: usize = 128;

/// What a rank does now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankState {
    /// Its threads that wait in an MPI call, the longest wait first.
    pub threads: Vec<ThreadState>,
    /// How many more wait.
    pub threads_left_out: u32,
    /// Another thread may call MPI without anything from outside: it computes, or sleeps for a set
    /// time.
    pub may_go_on: bool,
    /// The MPI function that the program entered last; empty if it is not known.
    pub last_call: String,
    /// The MPI call that has returned an error last.
    pub failed_call: FailedCall,
    /// Messages that came and that nobody has received, in the order of their arrival.
    pub unexpected: Vec<HeldMessage>,
    /// How many more of them there are.
    pub unexpected_left_out: u64,
    /// Receives of collectives that go on beside the program, whose messages have not come.
    pub awaited: Vec<Wanted>,
    /// The communicators that the rest names, then others.
    pub communicators: Vec<CommunicatorState>,
}

impl RankState {
    /// The state of a rank that waits for all others in `call`.
    #[must_use]
    pub fn waiting_for_all(call: &str, blocked: Duration) -> Self {
        let thread = ThreadState {
            call: call.into(),
            blocked_ms: u64::try_from(blocked.as_millis()).unwrap_or(u64::MAX),
            operations: vec![Operation::Job],
            ..ThreadState::default()
        };
        Self {
            threads: vec![thread],
            ..Self::default()
        }
    }

    /// The state without what makes it longer than [`STATE_MAX`].
    #[must_use]
    pub fn cut(mut self) -> Self {
        let is_long = |state: &Self| {
            let bytes = postcard::to_allocvec(state).map_or(0, |bytes| bytes.len());
            bytes > STATE_MAX
        };
        if is_long(&self) {
            self.communicators.truncate(COMMUNICATORS_MAX / 8);
        }
        while is_long(&self) && self.threads.pop().is_some() {
            self.threads_left_out += 1;
        }
        self
    }
}

/// An MPI call that has returned an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedCall {
    /// The MPI function; empty if no call has failed.
    pub name: String,
    /// The error.
    pub why: String,
    /// Of the communicator that it was made on.
    pub context: Option<u32>,
    /// How many blocking collectives the rank had begun there when it failed.
    pub begun: u32,
    /// How many nonblocking ones.
    pub begun_nonblocking: u32,
}

/// A thread that waits in an MPI call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadState {
    /// The MPI function as the program called it, `MPI_Recv`; empty if the program called none.
    pub call: String,
    /// Its arguments in words, `count=1` or `MPI_INT`: those that are not addresses.
    pub arguments: Vec<String>,
    /// For how long nothing has come for it, in milliseconds.
    pub blocked_ms: u64,
    /// Whether the call ends with the first of `operations`, or with all of them.
    pub ends_with: EndsWith,
    /// What it waits for, the unfinished ones.
    pub operations: Vec<Operation>,
    /// How many more of them there are.
    pub left_out: u64,
    /// Where the program called, the innermost frame first; frames of this library are left out.
    pub frames: Vec<Address>,
    /// The first frames are those of this library: it is a part of the program's file, and only
    /// the functions' names show where it ends.
    pub begins_inside: bool,
    /// `file.py:12 in function`, if the thread runs a program in Python.
    pub python: String,
}

/// When a call ends that waits for several operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndsWith {
    /// With the last one.
    #[default]
    All,
    /// With the first one.
    Any,
}

/// An address in a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Address {
    /// The file that holds the code: the program, or a shared library.
    pub module: String,
    /// The place in it, as its symbol table counts.
    pub offset: u64,
    /// The function, if the module exports its name; otherwise empty.
    pub function: String,
    /// How far behind the start of the function.
    pub into_function: u64,
    /// `solver.c:41`, if the module has debug information. The rank leaves it empty; the launcher
    /// of its host fills it in.
    pub line: String,
}

/// Something that a call waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operation {
    /// A receive that no message has matched.
    Receive(Wanted),
    /// A probe, or a matched probe.
    Probe(Wanted),
    /// A message that has matched a receive, and of which a part is still to come.
    Incoming(HeldMessage),
    /// A message that is not with its receiver yet.
    Send {
        /// Of the communicator.
        context: u32,
        /// The receiver.
        dest: Peer,
        /// The tag.
        tag: i32,
        /// Bytes of the body.
        bytes: u64,
        /// The send waits for a matching receive whatever its length.
        is_synchronous: bool,
        /// What it sends.
        kind: MessageKind,
    },
    /// A collective.
    Collective {
        /// Of the communicator.
        context: u32,
        /// `MPI_Bcast`, or as the program began it, `MPI_Ibcast`; empty if it is not known.
        name: String,
        /// The root, if it has one.
        root: Option<u32>,
        /// Its number among the collectives of this form that the communicator has begun; the first
        /// one is 1. A persistent one has 0.
        number: u32,
        /// The program waits in the collective itself, not for its request.
        is_blocking: bool,
    },
    /// The other ranks, in `MPI_Init` or `MPI_Finalize`.
    Job,
    /// Something else, in words: "the buffered messages to be sent".
    Other(String),
}

/// Which messages a receive or a probe takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wanted {
    /// Of the communicator.
    pub context: u32,
    /// The sender; any without one.
    pub source: Option<Peer>,
    /// The tag; any without one.
    pub tag: Option<i32>,
    /// Bytes that there is room for; a probe has none.
    pub room: Option<u64>,
    /// What it is.
    pub kind: MessageKind,
}

/// A message that is here, or of which the beginning is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldMessage {
    /// Of the communicator.
    pub context: u32,
    /// The sender.
    pub source: Peer,
    /// The tag; `None` for partitions whose receive was freed.
    pub tag: Option<i32>,
    /// Bytes of the body; of a partitioned message those of all partitions.
    pub bytes: u64,
    /// The sender has the body, and waits until a receive matches.
    pub is_with_sender: bool,
    /// The collective that it belongs to, `MPI_Bcast(root 0)`; empty if the program sent it.
    pub collective: String,
    /// What it is.
    pub kind: MessageKind,
}

/// Which sends and receives can meet: those of one kind never meet those of another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MessageKind {
    /// `MPI_Send`, `MPI_Recv` and their kin.
    #[default]
    Ordinary,
    /// `MPI_Psend_init` and `MPI_Precv_init`.
    Partitioned(Partitions),
    /// Of some processes that make a communicator, `MPI_Comm_create_group` for example.
    Creation,
}

impl MessageKind {
    /// Returns true unless it is a partitioned send with partitions that are not ready.
    #[must_use]
    pub fn is_ready(self) -> bool {
        match self {
            Self::Partitioned(partitions) => partitions.ready == partitions.all,
            Self::Ordinary | Self::Creation => true,
        }
    }
}

/// How far a partitioned message is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partitions {
    /// Of a send, those that the program has marked ready; otherwise those that have come.
    pub ready: u32,
    /// All of the sender. 0 if the sender has not said it yet.
    pub all: u32,
}

/// A process, as a communicator numbers it. Of a communicator that the rank does not have (it is
/// not made yet, or freed) only one of the two is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Peer {
    /// The rank in the communicator.
    pub rank: Option<u32>,
    /// The rank in `MPI_COMM_WORLD`.
    pub world: Option<u32>,
}

/// A communicator of a rank.
///
/// The same context in two ranks is the same communicator if both have the same first member:
/// groups without a common member may use the same context.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommunicatorState {
    /// By which the rest of the state names it.
    pub context: u32,
    /// `MPI_COMM_WORLD`, or the name that the program gave it; empty if it has none.
    pub name: String,
    /// How it was made: `MPI_Comm_split on MPI_COMM_WORLD`; empty if that is not known.
    pub made: String,
    /// How many members it has.
    pub size: u32,
    /// The rank in `MPI_COMM_WORLD` of its first member.
    pub first: u32,
    /// The ranks of its members in `MPI_COMM_WORLD`, in the order of their ranks in it; empty if
    /// they do not fit.
    pub members: Vec<Run>,
    /// How many blocking collectives it has begun.
    pub begun: u32,
    /// How many nonblocking collectives it has begun.
    pub begun_nonblocking: u32,
}

/// Some ranks: `first`, `first + step`, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The first one.
    pub first: u32,
    /// From each to the next.
    pub step: i32,
    /// How many.
    pub count: u32,
}

impl Run {
    /// The runs of `ranks`, or none if there are more than [`RUNS_MAX`].
    #[must_use]
    pub fn of(ranks: impl IntoIterator<Item = u32>) -> Vec<Self> {
        let mut runs: Vec<Self> = Vec::new();
        for rank in ranks {
            match runs.last_mut() {
                Some(last) if last.takes(rank) => {
                    if last.count == 1 {
                        last.step = rank.wrapping_sub(last.first).cast_signed();
                    }
                    last.count += 1;
                }
                _ => runs.push(Self {
                    first: rank,
                    step: 1,
                    count: 1,
                }),
            }
            if runs.len() > RUNS_MAX {
                return Vec::new();
            }
        }
        runs
    }

    fn takes(&self, rank: u32) -> bool {
        self.count == 1 || self.at(self.count) == Some(rank)
    }

    /// The rank at this place of the run; `None` if there can be no such rank.
    fn at(&self, place: u32) -> Option<u32> {
        let offset = i64::from(self.step) * i64::from(place);
        u32::try_from(i64::from(self.first) + offset).ok()
    }

    /// Its ranks. A run from elsewhere may hold ranks that do not exist, and many of them: at most
    /// `most` are returned.
    pub fn ranks(self, most: u32) -> impl Iterator<Item = u32> {
        (0..self.count.min(most)).map_while(move |place| self.at(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(runs: &[Run]) -> Vec<u32> {
        runs.iter().flat_map(|run| run.ranks(u32::MAX)).collect()
    }

    #[test]
    fn runs_hold_the_ranks_in_their_order() {
        for (wanted, runs) in [
            (vec![], 0),
            (vec![7], 1),
            (vec![0, 1, 2, 3], 1),
            (vec![9, 6, 3, 0], 1),
            (vec![1, 3, 5, 6, 7, 8], 2),
            (vec![5, 5], 1),
        ] {
            let made = Run::of(wanted.iter().copied());
            assert_eq!(ranks(&made), wanted);
            assert_eq!(made.len(), runs, "{wanted:?}");
        }
    }

    #[test]
    fn ranks_without_an_order_are_left_out() {
        let shuffled = (0..2000_u32).map(|rank| rank * rank % 1999);
        assert!(Run::of(shuffled).is_empty());
    }

    #[test]
    fn a_run_from_elsewhere_has_no_impossible_ranks() {
        let run = Run {
            first: 2,
            step: -2,
            count: u32::MAX,
        };
        assert_eq!(run.ranks(u32::MAX).collect::<Vec<_>>(), [2, 0]);
        let long = Run {
            first: 0,
            step: 0,
            count: u32::MAX,
        };
        assert_eq!(long.ranks(4).count(), 4);
    }
}
