//! The kinds of event that a tool may watch. Source: MPI 5.0, 15.3.8.

use crate::abi::{self, Handle};

/// A kind of event.
#[derive(Debug)]
pub struct EventType {
    /// Its name.
    pub name: &'static str,
    /// When it happens.
    about: &'static str,
    /// Datatype and displacement in bytes of each element.
    pub elements: &'static [(Handle, usize)],
}

const MESSAGE: &[(Handle, usize)] = &[
    (abi::MPI_INT, 0),
    (abi::MPI_INT, 4),
    (abi::MPI_UNSIGNED_LONG_LONG, 8),
    (abi::MPI_UNSIGNED_LONG_LONG, 16),
];
const COLLECTIVE: &[(Handle, usize)] = &[(abi::MPI_INT, 0), (abi::MPI_UNSIGNED_LONG_LONG, 8)];

const fn event_type(
    name: &'static str,
    about: &'static str,
    elements: &'static [(Handle, usize)],
) -> EventType {
    EventType {
        name,
        about,
        elements,
    }
}

/// All kinds of event.
pub const TYPES: [EventType; 5] = [
    event_type("message_posted", "A receive starts.", MESSAGE),
    event_type(
        "message_matched",
        "A message has found its receive.",
        MESSAGE,
    ),
    event_type(
        "message_unexpected",
        "A message comes without a receive.",
        MESSAGE,
    ),
    event_type("collective_begin", "A collective begins.", COLLECTIVE),
    event_type("collective_end", "A collective ends.", COLLECTIVE),
];

/// The place of the begin of a collective.
pub const BEGIN: usize = 3;
/// The place of its end.
pub const END: usize = 4;

/// The most bytes of an event.
pub const ROOM: usize = 24;

/// What the source of events is called, and what it is.
pub const SOURCE: (&str, &str) = ("process", "This process, with its clock in nanoseconds.");

/// The collectives, by their blocking functions; the element `operation` is a place in this list. A
/// nonblocking or persistent `MPI_Alltoallw` has that of `MPI_Alltoallv`: their tasks are the same.
pub const OPERATIONS: [&str; 22] = [
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Allreduce",
    "MPI_Alltoall",
    "MPI_Alltoallv",
    "MPI_Alltoallw",
    "MPI_Barrier",
    "MPI_Bcast",
    "MPI_Exscan",
    "MPI_Gather",
    "MPI_Gatherv",
    "MPI_Reduce",
    "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block",
    "MPI_Scan",
    "MPI_Scatter",
    "MPI_Scatterv",
    "MPI_Neighbor_allgather",
    "MPI_Neighbor_allgatherv",
    "MPI_Neighbor_alltoall",
    "MPI_Neighbor_alltoallv",
    "MPI_Neighbor_alltoallw",
];

impl EventType {
    /// What it is and what its elements are.
    pub fn description(&self) -> String {
        if self.elements.len() == MESSAGE.len() {
            return format!(
                "{} Elements: source rank, tag, bytes, communicator.",
                self.about
            );
        }
        format!(
            "{} Elements: operation, communicator. Operations from 0: {}.",
            self.about,
            OPERATIONS.join(", ")
        )
    }
}

/// Bytes of an element.
pub fn size_of_element(datatype: Handle) -> usize {
    match datatype {
        abi::MPI_INT => 4,
        _ => 8,
    }
}
