//! Graphs of which each process has only its own edges. Source: MPI 5.0, 8.5.4.

use super::Neighbours;
use crate::error::{Cause, Error, Result};

/// The edges of one process in a distributed graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distributed {
    sources: Vec<Neighbour>,
    destinations: Vec<Neighbour>,
    is_weighted: bool,
}

/// The other end of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The rank there.
    pub rank: u32,
    /// The weight of the edge; of no meaning if the graph has no weights.
    pub weight: u32,
}

/// An edge of a distributed graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The rank from which it comes.
    pub source: u32,
    /// The rank to which it leads.
    pub destination: u32,
    /// Its weight; of no meaning if the graph has no weights.
    pub weight: u32,
}

/// Edges that one process gives to a distributed graph, between any processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeList {
    /// The edges, in the order in which they were given.
    pub edges: Vec<Edge>,
    /// True if the weights count.
    pub is_weighted: bool,
}

impl Neighbour {
    /// A neighbour of a process in a communicator of `processes`. `what` names the argument.
    ///
    /// # Errors
    /// `Cause::Rank`; `Cause::Argument` if the weight is negative.
    pub fn new(what: &'static str, rank: i32, weight: i32, processes: u32) -> Result<Self> {
        let rank = member(what, rank, processes)?;
        let weight = checked_weight(weight)?;
        Ok(Self { rank, weight })
    }
}

impl Edge {
    /// An edge in a communicator of `processes`, from one rank to another one.
    ///
    /// # Errors
    /// `Cause::Rank`; `Cause::Argument` if the weight is negative.
    pub fn new((source, destination): (i32, i32), weight: i32, processes: u32) -> Result<Self> {
        Ok(Self {
            source: member("source", source, processes)?,
            destination: member("destination", destination, processes)?,
            weight: checked_weight(weight)?,
        })
    }
}

fn member(what: &'static str, rank: i32, size: u32) -> Result<u32> {
    let inside = u32::try_from(rank).ok().filter(|it| *it < size);
    inside.ok_or_else(|| Cause::Rank { what, rank, size }.into())
}

fn checked_weight(weight: i32) -> Result<u32> {
    let negative = |_| Error::from(Cause::Argument("the weight of an edge is negative"));
    u32::try_from(weight).map_err(negative)
}

impl Distributed {
    /// The edges of one process, in the order in which `MPI_Dist_graph_neighbors` returns them.
    #[must_use]
    pub fn new(sources: Vec<Neighbour>, destinations: Vec<Neighbour>, is_weighted: bool) -> Self {
        Self {
            sources,
            destinations,
            is_weighted,
        }
    }

    /// The processes from which edges lead to this one.
    #[must_use]
    pub fn sources(&self) -> &[Neighbour] {
        &self.sources
    }

    /// The processes to which edges lead from this one.
    #[must_use]
    pub fn destinations(&self) -> &[Neighbour] {
        &self.destinations
    }

    /// Returns true if the edges have weights.
    #[must_use]
    pub fn is_weighted(&self) -> bool {
        self.is_weighted
    }

    pub(super) fn neighbours(&self) -> Neighbours {
        let ranks = |ends: &[Neighbour]| ends.iter().map(|it| Some(it.rank)).collect();
        Neighbours {
            sources: ranks(&self.sources),
            destinations: ranks(&self.destinations),
            receive_order: (0..self.sources.len()).collect(),
        }
    }
}

/// Bytes of one end of an edge in a message.
const END_BYTES: usize = 12;

impl EdgeList {
    /// What the processes tell each other of a list: see `Topology::words`.
    pub(crate) fn words(&self) -> [u32; 2] {
        [4, self.is_weighted.into()]
    }

    /// The ends of the edges, for each of `processes` those that it has, in the order of the edges.
    pub(crate) fn by_process(&self, processes: usize) -> Vec<Vec<u8>> {
        let mut all = vec![Vec::new(); processes];
        for edge in &self.edges {
            let (source, destination) = (edge.source, edge.destination);
            for (at, is_source, rank) in [(source, 0, destination), (destination, 1, source)] {
                for word in [is_source, rank, edge.weight] {
                    all[at as usize].extend_from_slice(&word.to_be_bytes());
                }
            }
        }
        all
    }
}

impl Distributed {
    /// The edges of a process, from what each process sent to it of its own `EdgeList`.
    ///
    /// # Errors
    /// `Cause::System` if a list is none.
    pub(crate) fn from_lists(lists: &[Vec<u8>], is_weighted: bool) -> Result<Self> {
        let mut own = Self::new(Vec::new(), Vec::new(), is_weighted);
        for list in lists {
            let (ends, []) = list.as_chunks::<END_BYTES>() else {
                return Err(Cause::System("a list of edges is cut".into()).into());
            };
            for end in ends {
                let word = |at: usize| {
                    let bytes = end[at * 4..][..4].try_into();
                    u32::from_be_bytes(bytes.expect("four bytes of an end"))
                };
                let (rank, weight) = (word(1), word(2));
                let ends = match word(0) {
                    0 => &mut own.destinations,
                    _ => &mut own.sources,
                };
                ends.push(Neighbour { rank, weight });
            }
        }
        Ok(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The edges that a process has are those of all lists, by the rank that gave them.
    #[test]
    fn each_edge_comes_to_both_its_ends_in_the_order_of_the_lists() {
        let edge =
            |source, destination, weight| Edge::new((source, destination), weight, 3).unwrap();
        let lists = [
            vec![edge(0, 1, 5), edge(1, 1, 6)],
            vec![],
            vec![edge(0, 1, 7), edge(2, 0, 8), edge(1, 2, 9)],
        ];
        let sent = lists.map(|edges| {
            let list = EdgeList {
                edges,
                is_weighted: true,
            };
            list.by_process(3)
        });
        let of = |rank: usize| {
            let lists = sent.each_ref().map(|lists| lists[rank].clone());
            Distributed::from_lists(&lists, true).unwrap()
        };
        let pairs =
            |ends: &[Neighbour]| -> Vec<_> { ends.iter().map(|it| (it.rank, it.weight)).collect() };
        assert_eq!(pairs(of(0).sources()), [(2, 8)]);
        assert_eq!(pairs(of(0).destinations()), [(1, 5), (1, 7)]);
        assert_eq!(pairs(of(1).sources()), [(0, 5), (1, 6), (0, 7)]);
        assert_eq!(pairs(of(1).destinations()), [(1, 6), (2, 9)]);
        assert_eq!(pairs(of(2).sources()), [(1, 9)]);
        assert_eq!(pairs(of(2).destinations()), [(0, 8)]);
    }

    #[test]
    fn an_edge_outside_of_the_communicator_is_an_error() {
        for (ends, weight) in [
            ((3, 0), 1),
            ((0, 3), 1),
            ((-1, 0), 1),
            ((0, -1), 1),
            ((0, 0), -1),
        ] {
            assert!(Edge::new(ends, weight, 3).is_err());
        }
        assert!(Neighbour::new("source", 3, 0, 3).is_err());
        assert!(Neighbour::new("source", 2, -1, 3).is_err());
        assert!(Distributed::from_lists(&[vec![0; 13]], false).is_err());
    }
}
