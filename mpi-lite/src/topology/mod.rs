//! Virtual topologies: how the processes of a communicator are arranged. All functions are pure:
//! they send nothing. `comm` makes the communicators.
//!
//! Source: MPI 5.0, chapter 8.

mod cartesian;
mod dims;
mod distributed;
mod graph;

pub use cartesian::Cartesian;
pub use dims::dims_create;
pub use distributed::{Distributed, Edge, EdgeList, Neighbour};
pub use graph::Graph;

/// The topology of a communicator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Topology {
    /// A grid. Each process has the whole of it.
    Cartesian(Cartesian),
    /// A graph. Each process has the whole of it.
    Graph(Graph),
    /// A graph of which each process has only its own edges.
    Distributed(Distributed),
}

/// The neighbours of a process. A neighbour that appears twice has two edges.
///
/// Sends in the order of `destinations` fit receives in the order of `receive_order`: the k-th send
/// of a process to another one belongs to the k-th receive there from that process.
///
/// Source: MPI 5.0, 8.6.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbours {
    /// The processes that it receives from, in the order of the blocks of the receive buffer.
    /// `None` is `MPI_PROC_NULL`.
    pub sources: Vec<Option<u32>>,
    /// The processes that it sends to, in the order of the blocks of the send buffer. `None` is
    /// `MPI_PROC_NULL`.
    pub destinations: Vec<Option<u32>>,
    /// In which order the sources are received from: indexes of `sources`. In a grid this differs
    /// from the order of the blocks: what a process sends in the negative direction comes from the
    /// positive one. It matters where both neighbours of a dimension are one process.
    pub receive_order: Vec<usize>,
}

impl Topology {
    /// The number of processes in it. The processes of lower ranks are in it. `None` if all are.
    #[must_use]
    pub fn size(&self) -> Option<u32> {
        match self {
            Self::Cartesian(grid) => Some(grid.size()),
            Self::Graph(graph) => Some(graph.size()),
            Self::Distributed(_) => None,
        }
    }

    /// The neighbours of `rank`, which is a rank of the topology, for neighbourhood collectives. Of
    /// a distributed graph only the process's own neighbours are known: `rank` is its own.
    ///
    /// Source: MPI 5.0, 8.6.
    #[must_use]
    pub fn neighbours(&self, rank: u32) -> Neighbours {
        match self {
            Self::Cartesian(grid) => grid.neighbours(rank),
            Self::Graph(graph) => graph.neighbours(rank),
            Self::Distributed(own) => own.neighbours(),
        }
    }

    /// Two words that are the same for all processes if all gave the same arguments. The first one
    /// names the kind and is not zero.
    pub(crate) fn words(&self) -> [u32; 2] {
        match self {
            Self::Cartesian(grid) => [1, grid.checksum()],
            Self::Graph(graph) => [2, graph.checksum()],
            Self::Distributed(own) => [3, own.is_weighted().into()],
        }
    }
}

/// What the processes of a grid tell each other of the dimensions to `keep`: see `Topology::words`.
pub(crate) fn words_of_parts(keep: &[bool]) -> [u32; 2] {
    [5, checksum(keep.iter().map(|&it| it.into()))]
}

/// A checksum of numbers (FNV-1a with 32 bits).
fn checksum(numbers: impl Iterator<Item = u32>) -> u32 {
    let bytes = numbers.flat_map(u32::to_be_bytes);
    bytes.fold(0x811c_9dc5, |sum, byte| {
        (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}
