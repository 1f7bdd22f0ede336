//! Graphs that each process has in full. Source: MPI 5.0, 8.5.3 and 8.5.5.

use core::ops::Range;

use super::{Neighbours, checksum};
use crate::error::{Cause, Result};

/// A graph. Its nodes are the ranks from 0 on. A node may be its own neighbour, and the same
/// neighbour several times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// For each node where its edges end in `edges`.
    index: Vec<u32>,
    edges: Vec<u32>,
}

const DECREASES: Cause = Cause::Argument("index is negative somewhere, or decreases");

impl Graph {
    /// The graph of these nodes for a communicator of `processes`. `index` has for each node how
    /// many edges this node and those before it have; it is not empty where there are `edges`.
    ///
    /// # Errors
    /// `Cause::Argument` if there are more nodes than `processes`, if `index` decreases or does not
    /// end with the number of edges, or if an edge leads to no node.
    ///
    /// Source: MPI 5.0, 8.5.3.
    pub fn new(index: &[i32], edges: &[i32], processes: u32) -> Result<Self> {
        Self::check_nodes(index.len(), processes)?;
        let ends = numbers_below(index, edges.len() + 1);
        let ends = ends.filter(|_| Self::count_edges(index) == Ok(edges.len()));
        let edges = numbers_below(edges, index.len());
        let nowhere = Cause::Argument("an edge leads to no node of the graph");
        Ok(Self {
            index: ends.ok_or(DECREASES)?,
            edges: edges.ok_or(nowhere)?,
        })
    }

    /// Checks that a communicator of `processes` has a process for each of `nodes` nodes, before
    /// their index is read.
    ///
    /// # Errors
    /// `Cause::Argument` if it has not.
    pub fn check_nodes(nodes: usize, processes: u32) -> Result<()> {
        if nodes <= processes as usize {
            return Ok(());
        }
        let why = "the graph has more nodes than the communicator has processes";
        Err(Cause::Argument(why).into())
    }

    /// The number of edges that belong to `index`.
    ///
    /// # Errors
    /// `Cause::Argument` if `index` is negative somewhere, or decreases.
    pub fn count_edges(index: &[i32]) -> Result<usize> {
        let last = index.last().copied().unwrap_or(0);
        let is_rising = index.first().is_none_or(|first| *first >= 0) && index.is_sorted();
        let last = usize::try_from(last).ok().filter(|_| is_rising);
        Ok(last.ok_or(DECREASES)?)
    }

    /// The number of nodes.
    #[must_use]
    pub fn size(&self) -> u32 {
        u32::try_from(self.index.len()).expect("it has at most as many nodes as processes")
    }

    /// For each node how many edges this node and those before it have.
    #[must_use]
    pub fn index(&self) -> &[u32] {
        &self.index
    }

    /// All edges, by the node from which they come.
    #[must_use]
    pub fn edges(&self) -> &[u32] {
        &self.edges
    }

    /// The neighbours of a node, in the order of its edges.
    ///
    /// # Errors
    /// `Cause::Rank` if there is no such node.
    ///
    /// Source: MPI 5.0, 8.5.5.
    pub fn neighbours_of(&self, rank: i32) -> Result<&[u32]> {
        let size = self.size();
        let outside = || Cause::Rank {
            what: "rank",
            rank,
            size,
        };
        let inside = u32::try_from(rank).ok().filter(|it| *it < size);
        Ok(&self.edges[self.edges_of(inside.ok_or_else(outside)?)])
    }

    fn edges_of(&self, node: u32) -> Range<usize> {
        let node = node as usize;
        let start = node.checked_sub(1).map_or(0, |before| self.index[before]);
        start as usize..self.index[node] as usize
    }

    /// The neighbours of a node are both its sources and its destinations.
    pub(super) fn neighbours(&self, rank: u32) -> Neighbours {
        let edges = self.edges[self.edges_of(rank)].iter();
        let all: Vec<_> = edges.map(|&it| Some(it)).collect();
        Neighbours {
            receive_order: (0..all.len()).collect(),
            sources: all.clone(),
            destinations: all,
        }
    }

    pub(super) fn checksum(&self) -> u32 {
        let numbers = self.index.iter().chain(&self.edges);
        checksum(numbers.copied())
    }
}

/// The numbers, if all are in `0..limit`.
fn numbers_below(numbers: &[i32], limit: usize) -> Option<Vec<u32>> {
    let below = |&it: &i32| u32::try_from(it).ok().filter(|it| (*it as usize) < limit);
    numbers.iter().map(below).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_has_its_part_of_the_edges() {
        // The example of MPI 5.0, 8.5.3: four processes.
        let graph = Graph::new(&[2, 3, 4, 6], &[1, 3, 0, 3, 0, 2], 4).unwrap();
        assert_eq!(graph.neighbours_of(0).unwrap(), [1, 3]);
        assert_eq!(graph.neighbours_of(1).unwrap(), [0]);
        assert_eq!(graph.neighbours_of(2).unwrap(), [3]);
        assert_eq!(graph.neighbours_of(3).unwrap(), [0, 2]);
        assert!(graph.neighbours_of(4).is_err() && graph.neighbours_of(-1).is_err());
        let own = graph.neighbours(3);
        assert_eq!(own.sources, [Some(0), Some(2)]);
        assert_eq!(own.destinations, own.sources);
    }

    #[test]
    fn a_node_may_be_its_own_neighbour_several_times_or_have_none() {
        let graph = Graph::new(&[3, 3], &[0, 0, 1], 2).unwrap();
        assert_eq!(graph.neighbours_of(0).unwrap(), [0, 0, 1]);
        assert!(graph.neighbours_of(1).unwrap().is_empty());
        assert_eq!(Graph::new(&[], &[], 3).unwrap().size(), 0);
    }

    #[test]
    fn a_graph_that_does_not_fit_is_an_error() {
        for (index, edges) in [
            (&[1, 2, 3][..], &[0, 0, 0][..]),
            (&[1, 0], &[0]),
            (&[-1, 1], &[0]),
            (&[1, 2], &[0, 2]),
            (&[1, 2], &[0, -1]),
            (&[1], &[0, 0]),
            (&[2], &[0]),
        ] {
            assert!(Graph::new(index, edges, 2).is_err(), "{index:?} {edges:?}");
        }
    }
}
