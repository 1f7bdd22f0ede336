//! What can be wrong with a call, in words for humans and in MPI's classes.
//!
//! Source: MPI 5.0, 9.4 (error codes and classes).

use std::borrow::Cow;
use std::net::SocketAddr;

/// The result of everything that a program may ask for.
pub type Result<T> = core::result::Result<T, Error>;

/// ` at ADDRESS`, for messages.
fn at(address: Option<SocketAddr>) -> String {
    address.map_or_else(String::new, |address| format!(" at {address}"))
}

/// What is wrong with a call or with the job. One word, so that what goes well pays nothing for it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<Cause>);

impl Error {
    /// What exactly.
    #[must_use]
    pub fn cause(&self) -> &Cause {
        &self.0
    }

    /// The error class that MPI gives to it.
    #[must_use]
    pub fn class(&self) -> Class {
        self.0.class()
    }
}

impl From<Cause> for Error {
    #[cold]
    fn from(cause: Cause) -> Self {
        Self(Box::new(cause))
    }
}

/// What can be wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// A destination, source or root outside of the communicator.
    #[error("{what} {rank} is not a rank of the communicator (0..{})", size.saturating_sub(1))]
    Rank {
        /// `dest`, `source`.
        what: &'static str,
        /// The rank given.
        rank: i32,
        /// Ranks in the communicator.
        size: u32,
    },
    /// A root outside of the communicator.
    #[error("root {root} is not a rank of the communicator (0..{})", size.saturating_sub(1))]
    Root {
        /// The root given.
        root: i32,
        /// Ranks in the communicator.
        size: u32,
    },
    /// A negative tag, or a wildcard where none is allowed.
    #[error("tag {0} is not between 0 and MPI_TAG_UB")]
    Tag(i32),
    /// More bytes than memory can hold.
    #[error("count {count} of a datatype of {size} bytes is more than memory can hold")]
    Count {
        /// Elements.
        count: u64,
        /// Bytes of one element.
        size: u64,
    },
    /// The system has not as much memory as an operation needs.
    #[error("out of memory: the elements span {bytes} bytes")]
    NoMemory {
        /// Bytes asked for.
        bytes: u64,
    },
    /// A null address with something to send or receive.
    #[error("the buffer is NULL but the message is not empty")]
    NullBuffer,

    /// Memory was given twice; in the words of the C arguments.
    #[error("{0}")]
    Overlap(&'static str),
    /// A message longer than the buffer of the receive.
    #[error("a message of {len} bytes does not fit the receive buffer of {room} bytes")]
    Truncate {
        /// Bytes sent.
        len: u64,
        /// Bytes of the receive buffer.
        room: u64,
    },
    /// A request that does not exist (any more).
    #[error("the request is not active: it was already completed or freed")]
    Request,
    /// `MPI_Start` of a request that is not an inactive persistent one.
    #[error("the request is not an inactive persistent request")]
    NotStartable,
    /// A request of another kind, or not active.
    #[error("{0}")]
    Unsuited(&'static str),
    /// A partition that the request does not have.
    #[error(
        "partition {number} is not one of the request's partitions (0..{})",
        partitions.saturating_sub(1)
    )]
    Partition {
        /// The partition given.
        number: u32,
        /// Partitions of the request.
        partitions: u32,
    },
    /// The partitions of sender and receiver are not of the same length in all.
    #[error(
        "the partitions of the sender have {len} bytes in all, those of the receiver {room}: both \
         must describe the same amount of data"
    )]
    Partitions {
        /// Bytes of the sender.
        len: u64,
        /// Bytes of the receiver.
        room: u64,
    },
    /// `MPI_Cancel` or `MPI_Request_free` of an active collective operation.
    #[error("a collective operation can be neither cancelled nor freed: wait for its request")]
    Irrevocable,
    /// A second `MPI_Mrecv` or `MPI_Imrecv` of the message of a matched probe.
    #[error("the message was already received")]
    Message,
    /// The attached buffer has no room.
    #[error(
        "the message needs {need} bytes of the attached buffer, which has {room} of {most} free"
    )]
    BufferFull {
        /// Bytes needed, overhead included.
        need: u64,
        /// Bytes free.
        room: u64,
        /// Bytes of the buffer.
        most: u64,
    },
    /// Attach while one is attached, or detach while none is.
    #[error("{0}")]
    BufferAttach(&'static str),
    /// An operator that is not defined for the datatype.
    #[error("{op} is not defined for {datatype}")]
    Op {
        /// The operator's name.
        op: &'static str,
        /// The datatype's name.
        datatype: &'static str,
    },
    /// An operator that no accumulate takes.
    #[error("{0}")]
    Accumulate(&'static str),
    /// A group that is no part of the communicator's.
    #[error("rank {rank} of MPI_COMM_WORLD is in the group but not in the communicator")]
    Group {
        /// Its rank in `MPI_COMM_WORLD`.
        rank: u32,
    },
    /// A communicator that the call does not take.
    #[error("{0}")]
    Communicator(&'static str),
    /// An argument outside of what the call takes.
    #[error("{0}")]
    Argument(&'static str),
    /// A size, number or index of dimensions is wrong.
    #[error("{0}")]
    Dims(Box<str>),
    /// The communicator has no topology, or one of another kind.
    #[error("the communicator has no {wanted}: MPI_Topo_test returns which topology it has")]
    Topology {
        /// The kind that the call needs.
        wanted: &'static str,
    },
    /// A datatype constructor's argument is out of range.
    #[error("{0}")]
    Datatype(&'static str),
    /// The other side of the message is gone.
    #[error("rank {rank} of MPI_COMM_WORLD on host {host}{} is lost: {reason}", at(*address))]
    Lost {
        /// Its rank in `MPI_COMM_WORLD`.
        rank: u32,
        /// The host it ran on.
        host: Box<str>,
        /// Where its socket listens, if it has one.
        address: Option<SocketAddr>,
        /// How we know.
        reason: Cow<'static, str>,
    },
    /// Processes of a communicator are in different collective operations.
    #[error(
        "rank {me} of the communicator called {mine} but rank {other} called {theirs}: all its \
         processes must call the same collective operations in the same order, with the same root"
    )]
    Mismatch {
        /// This process's rank in the communicator.
        me: u32,
        /// Its call.
        mine: Box<str>,
        /// The rank of the other process.
        other: u32,
        /// What that one called.
        theirs: Box<str>,
    },
    /// A message of a collective operation came from a process that should have come to an
    /// epoch. What this process came for is a word of the memory that they share.
    #[error("a message of another collective operation came from rank {source_rank}")]
    Stray {
        /// Its rank in the communicator.
        source_rank: u32,
        /// The tag, which contains the operation.
        tag: i32,
        /// What this process came for.
        mine: u64,
    },
    /// A process came to an epoch of the communicator for another collective operation. What
    /// the two came for are words of the memory that they share.
    #[error("a process of the communicator is in another collective operation")]
    MismatchAtSite {
        /// Its rank in the communicator, if that is known.
        rank: Option<u32>,
        /// What this process came for.
        mine: u64,
        /// What that one came for; 0 if it did not say.
        theirs: u64,
    },
    /// Processes of a communicator are in different collective operations, in words.
    #[error("{0}")]
    Collective(Box<str>),
    /// Another process of a communicator has left a collective operation, for this reason.
    #[error("{why}")]
    GivenUp {
        /// A message was longer than its place there.
        is_truncated: bool,
        /// Its rank, call and error.
        why: Box<str>,
    },
    /// A message that the transport cannot carry.
    #[error("a message of {len} bytes is longer than this transport carries ({limit} bytes)")]
    TooLong {
        /// Bytes of the message.
        len: u64,
        /// The most it carries.
        limit: u64,
    },
    /// The processes of a group have used up their contexts.
    #[error(
        "no context is left for a new communicator: the job has made about 2^29 communicators and \
         persistent collectives; make fewer and use them again"
    )]
    NoContext,
    /// A file, or what was asked of it; the class says of which kind it is.
    #[error("{1}")]
    File(Class, Box<str>),
    /// A window, or what was asked of it; the class says of which kind it is.
    #[error("{1}")]
    Window(Class, Box<str>),
    /// Starting up failed.
    #[error("{0}")]
    Start(Box<str>),
    /// The launcher or the system failed us.
    #[error("{0}")]
    System(Box<str>),
}

/// MPI's error classes, as far as this crate raises them; the numbers belong to the C surface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are MPI's: MPI_ERR_…")]
pub enum Class {
    Buffer,
    Count,
    Type,
    Tag,
    Rank,
    Request,
    Root,
    Group,
    Op,
    Topology,
    Dims,
    Arg,
    Comm,
    Truncate,
    ProcAborted,
    NoMem,
    File,
    NotSame,
    Amode,
    UnsupportedDatarep,
    UnsupportedOperation,
    NoSuchFile,
    FileExists,
    BadFile,
    Access,
    NoSpace,
    Quota,
    ReadOnly,
    FileInUse,
    Conversion,
    Io,
    Win,
    Base,
    Size,
    Disp,
    Assert,
    LockType,
    RmaSync,
    RmaRange,
    RmaConflict,
    RmaShared,
    RmaAttach,
    RmaFlavor,
    Other,
}

impl Cause {
    fn class(&self) -> Class {
        match self {
            Self::Rank { .. } => Class::Rank,
            Self::Root { .. } => Class::Root,
            Self::Tag(_) => Class::Tag,
            Self::Count { .. } => Class::Count,
            Self::NoMemory { .. } => Class::NoMem,
            Self::File(class, _) | Self::Window(class, _) => *class,
            Self::NullBuffer
            | Self::Overlap(_)
            | Self::BufferFull { .. }
            | Self::BufferAttach(_) => Class::Buffer,
            Self::Truncate { .. }
            | Self::Partitions { .. }
            | Self::GivenUp {
                is_truncated: true, ..
            } => Class::Truncate,
            Self::Request
            | Self::Unsuited(_)
            | Self::NotStartable
            | Self::Irrevocable
            | Self::Message => Class::Request,
            Self::Group { .. } => Class::Group,
            Self::Op { .. } | Self::Accumulate(_) => Class::Op,
            Self::Topology { .. } => Class::Topology,
            Self::Communicator(_) => Class::Comm,
            Self::Dims(_) => Class::Dims,
            Self::Argument(_)
            | Self::Partition { .. }
            | Self::Mismatch { .. }
            | Self::Collective(_)
            | Self::GivenUp { .. }
            | Self::Stray { .. }
            | Self::MismatchAtSite { .. } => Class::Arg,
            Self::Datatype(_) => Class::Type,
            Self::Lost { .. } => Class::ProcAborted,
            Self::TooLong { .. } | Self::NoContext | Self::Start(_) | Self::System(_) => {
                Class::Other
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_costs_one_word_where_there_is_none() {
        assert_eq!(size_of::<Result<()>>(), size_of::<usize>());
    }

    #[test]
    fn a_message_names_the_values() {
        let error = Error::from(Cause::Rank {
            what: "dest",
            rank: 99,
            size: 2,
        });
        let text = error.to_string();
        assert_eq!(text, "dest 99 is not a rank of the communicator (0..1)");
    }
}
