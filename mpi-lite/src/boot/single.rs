//! A program started without a launcher: rank 0 of 1.

use super::protocol::Assignment;

/// The launcher's part for a program that runs alone.
#[derive(Debug)]
pub struct Single {
    assignment: Assignment,
}

impl Single {
    /// Makes the assignment of rank 0 of 1. It asks nobody: no name is looked up.
    pub(super) fn new() -> Single {
        Single {
            assignment: Assignment::alone(),
        }
    }

    pub(super) fn assignment(&self) -> &Assignment {
        &self.assignment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_means_rank_0_of_1() {
        let single = Single::new();
        let assignment = single.assignment();
        assert_eq!((assignment.rank, assignment.size), (0, 1));
        assert_eq!((assignment.local_rank, assignment.local_size), (0, 1));
        assert_eq!(assignment.hosts.count(), 1);
        assert!(assignment.is_possible() && !assignment.shares_memory);
    }
}
