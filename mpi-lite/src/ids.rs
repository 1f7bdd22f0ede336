//! The words by which messages are addressed: ranks, tags, contexts.
//!
//! Source: MPI 5.0, 3.2.3 (envelope) and 3.2.4 (wildcards).

/// The greatest tag, `MPI_TAG_UB`.
pub const TAG_MAX: i32 = i32::MAX;

/// The root of a collective on an inter-communicator, as the root itself names it: `MPI_ROOT`.
pub const ROOT: i32 = -4;

/// The root of such a collective, as the others on the side of the root name it: `MPI_PROC_NULL`.
pub const NOT_THE_ROOT: i32 = -3;

/// A process, as engine and links know it: its place in the table of peers (`peers`), which also
/// knows its rank in `MPI_COMM_WORLD`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub u32);

impl PeerId {
    /// The process with this rank in the `MPI_COMM_WORLD` in which this one began: the table of
    /// peers begins with these processes, in the order of their ranks.
    #[must_use]
    pub const fn of_world_rank(rank: u32) -> Self {
        Self(rank)
    }
}

/// Where a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dest {
    /// `MPI_PROC_NULL`: nowhere, at once.
    Null,
    /// A rank of the communicator; checked when it is used.
    Rank(i32),
}

/// Where a message may come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// `MPI_PROC_NULL`: nowhere; the receive completes at once and empty.
    Null,
    /// `MPI_ANY_SOURCE`.
    Any,
    /// A rank of the communicator; checked when it is used.
    Rank(i32),
}

/// Which tags a receive takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagSelector {
    /// `MPI_ANY_TAG`.
    Any,
    /// This tag only; checked when it is used.
    Tag(i32),
}

/// The mode of a send. Source: MPI 5.0, 3.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Completes when the buffer may be reused.
    Standard,
    /// Completes when a matching receive has begun.
    Synchronous,
    /// Completes at once; the message waits in the attached buffer.
    Buffered,
    /// Like standard; the program promises that the receive is posted.
    Ready,
}

/// A set of messages that match only each other. Each communicator owns eight: a multiple of eight
/// for point-to-point messages, and those after it for its blocking collectives, for its other
/// collectives, for partitioned messages, for groups of its processes that make a communicator
/// among themselves, for a window, and for a service. The last one is for nothing yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Context(pub u32);

/// What the messages of a context are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextKind {
    /// Receives match them.
    Matching,
    /// They are operations on a window.
    Window,
    /// They are for a service: locks, file pointers, what engines report to each other.
    Service,
}

impl Context {
    /// `MPI_COMM_WORLD`.
    pub const WORLD: Self = Self(0);
    /// `MPI_COMM_SELF`.
    pub const OWN: Self = Self(8);
    /// Of all processes, for those that make a communicator without another one.
    pub const ALL: Self = Self(16);
    /// What the engines of a job report to each other and ask each other: the service among all
    /// processes.
    pub const SERVICE: Self = Self(22);
    /// The first one for communicators that the program makes.
    pub const FIRST_FREE: Self = Self(24);
    /// How many contexts belong to a communicator.
    pub const EACH: u32 = 8;

    /// The context of the same communicator's blocking collectives.
    #[must_use]
    pub fn collective(self) -> Self {
        Self(self.0 | 1)
    }

    /// The context of the same communicator's collectives that go on beside the program.
    #[must_use]
    pub fn nonblocking(self) -> Self {
        Self(self.0 | 2)
    }

    /// The context of the same communicator's partitioned messages.
    #[must_use]
    pub fn partitioned(self) -> Self {
        Self(self.0 | 3)
    }

    /// Returns true if its messages are partitioned ones.
    #[must_use]
    pub fn is_partitioned(self) -> bool {
        self.0 % Self::EACH == 3
    }

    /// The context of groups of the same communicator's processes that make a new one.
    #[must_use]
    pub fn of_groups(self) -> Self {
        Self(self.0 | 4)
    }

    /// Returns true if its messages are those of groups that make a communicator.
    #[must_use]
    pub fn is_of_groups(self) -> bool {
        self.0 % Self::EACH == 4
    }

    /// The context of the one-sided operations on a window of the same communicator.
    #[must_use]
    pub const fn window(self) -> Self {
        Self(self.0 | 5)
    }

    /// The context of a service among the same communicator's processes.
    #[must_use]
    pub const fn service(self) -> Self {
        Self(self.0 | 6)
    }

    /// What the messages of this context are for.
    #[must_use]
    pub const fn kind(self) -> ContextKind {
        match self.0 % Self::EACH {
            5 => ContextKind::Window,
            6 | 7 => ContextKind::Service,
            _ => ContextKind::Matching,
        }
    }

    /// The context of the same communicator's point-to-point messages.
    #[must_use]
    pub const fn point_to_point(self) -> Self {
        Self(self.0 - self.0 % Self::EACH)
    }

    /// Returns true if it is one of [`Context::ALL`]'s.
    #[must_use]
    pub fn is_of_all(self) -> bool {
        self.point_to_point() == Self::ALL
    }

    /// Returns true if its messages are those of collectives of all processes of a communicator.
    #[must_use]
    pub fn is_collective(self) -> bool {
        matches!(self.0 % Self::EACH, 1 | 2)
    }
}
