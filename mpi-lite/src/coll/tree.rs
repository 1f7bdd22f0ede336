//! The ways of messages from a root to all processes, or from all to a root.

/// The lowest set bit of a distance from the root; for the root the first power of two that is at
/// least the number of processes: a binomial tree over the distances.
pub(super) fn lowest_bit(distance: usize, size: usize) -> usize {
    match distance {
        0 => size.next_power_of_two(),
        _ => distance & distance.wrapping_neg(),
    }
}

/// Between which processes a process passes on a message that comes in pieces, all by their rank:
/// in a chain, each link of which carries it once; in a tree with two branches, if that is over
/// sooner, because there are more processes than pieces.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Relay {
    /// The one nearer to the root; none for the root.
    pub(super) above: Option<usize>,
    /// Those farther from it.
    pub(super) below: Vec<usize>,
}

impl Relay {
    /// Of the process `here` of so many. A reduction that keeps the order of the ranks may not
    /// branch.
    pub(super) fn of(
        (here, size): (usize, usize),
        root: usize,
        pieces: u64,
        may_branch: bool,
    ) -> Self {
        let ways = 1 + usize::from(may_branch && pieces < size as u64);
        let distance = (here + size - root) % size;
        let rank = |distance: usize| (distance + root) % size;
        let first = distance * ways + 1;
        Self {
            above: distance.checked_sub(1).map(|it| rank(it / ways)),
            below: (first..(first + ways).min(size)).map(rank).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_one_process_has_it_above() {
        for (size, pieces) in [(1, 1), (2, 9), (5, 5), (5, 4), (16, 2), (17, 100)] {
            for root in [0, size / 2] {
                let relay = |here| Relay::of((here, size), root, pieces, true);
                let mut reached = vec![root];
                for at in 0..size {
                    let here = reached[at];
                    for below in relay(here).below {
                        assert_eq!(relay(below).above, Some(here));
                        reached.push(below);
                    }
                }
                assert_eq!(relay(root).above, None);
                reached.sort_unstable();
                assert!(reached.into_iter().eq(0..size), "{size} processes");
            }
        }
    }
}
