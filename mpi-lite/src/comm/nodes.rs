//! Which processes of a communicator share a node.

use std::collections::BTreeMap;

/// The nodes of a communicator, of whose processes some share one and some do not.
///
/// Processes share a node if their hosts have the same name in the job, as for
/// `MPI_COMM_TYPE_SHARED`. All processes know these names since Init, so all have the same nodes.
#[derive(Debug)]
pub struct Nodes {
    /// The number of the node of each process, by rank.
    numbers: Vec<usize>,
    /// The ranks on each node, in ascending order.
    members: Vec<Vec<usize>>,
}

impl Nodes {
    /// Those of processes on these hosts, by rank. Nodes have numbers in the order of their first
    /// ranks. `None`: all processes share a node, or no two do, so there is nothing to tell apart.
    pub fn of<H: Ord>(hosts: impl Iterator<Item = H>) -> Option<Self> {
        let mut known = BTreeMap::new();
        let (mut numbers, mut members) = (Vec::new(), Vec::<Vec<usize>>::new());
        for (rank, host) in hosts.enumerate() {
            let number = *known.entry(host).or_insert(members.len());
            match members.get_mut(number) {
                Some(beside) => beside.push(rank),
                None => members.push(vec![rank]),
            }
            numbers.push(number);
        }
        let tells_apart = members.len() > 1 && members.len() < numbers.len();
        tells_apart.then_some(Self { numbers, members })
    }

    /// How many there are: 2 or more.
    pub fn count(&self) -> usize {
        self.members.len()
    }

    /// The number of the node of `rank`.
    pub fn number(&self, rank: usize) -> usize {
        self.numbers[rank]
    }

    /// The ranks on the node of this number, in ascending order.
    pub fn members(&self, number: usize) -> &[usize] {
        &self.members[number]
    }

    /// The ranks on each node, by its number.
    pub fn all(&self) -> &[Vec<usize>] {
        &self.members
    }

    /// How many processes each node has, if it is the same number on all.
    pub fn each(&self) -> Option<usize> {
        let first = self.members[0].len();
        let mut lens = self.members.iter().map(Vec::len);
        lens.all(|len| len == first).then_some(first)
    }

    /// How many processes the fullest node has.
    pub fn most(&self) -> usize {
        let lens = self.members.iter().map(Vec::len);
        lens.max().expect("there is a node")
    }

    /// Returns true if the ranks on each node follow one another.
    pub fn are_in_order(&self) -> bool {
        self.numbers.is_sorted()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_numbers_in_the_order_of_their_first_ranks() {
        let nodes = Nodes::of(["b", "a", "b", "c", "a"].into_iter()).unwrap();
        assert_eq!(nodes.all(), [vec![0, 2], vec![1, 4], vec![3]]);
        assert_eq!((nodes.count(), nodes.most(), nodes.each()), (3, 2, None));
        assert_eq!((nodes.number(4), nodes.members(1)), (1, &[1, 4][..]));
        assert!(!nodes.are_in_order());
        let nodes = Nodes::of(["b", "b", "a", "a"].into_iter()).unwrap();
        assert!(nodes.are_in_order() && nodes.each() == Some(2));
    }

    #[test]
    fn there_are_none_where_all_processes_are_equally_near() {
        assert!(Nodes::of(["a"; 4].into_iter()).is_none());
        assert!(Nodes::of(["a", "b", "c"].into_iter()).is_none());
        assert!(Nodes::of([""; 0].into_iter()).is_none());
    }
}
