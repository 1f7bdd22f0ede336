//! What the ranks of `tests/c/managed/who` say of themselves, under any launcher.

use crate::job::Outcome;

/// The host of each rank, from the lines `rank R of N on HOST`.
///
/// # Panics
/// If these are not the ranks from 0 to `size` - 1, each once and each of `size`.
#[must_use]
pub fn hosts_of_ranks(outcome: &Outcome, size: usize) -> Vec<String> {
    let parse = |line: &str| {
        let (rank, rest) = line.strip_prefix("rank ")?.split_once(" of ")?;
        let (of, host) = rest.split_once(" on ")?;
        Some((rank.parse().ok()?, of.parse().ok()?, host.to_owned()))
    };
    let mut ranks: Vec<(usize, usize, String)> = outcome.stdout.lines().filter_map(parse).collect();
    ranks.sort();
    let is_right = ranks.len() == size
        && ranks
            .iter()
            .enumerate()
            .all(|(rank, (number, of, _))| rank == *number && *of == size);
    assert!(
        is_right,
        "one line each of ranks 0 to {} of {size} expected: {}",
        size - 1,
        outcome.report()
    );
    ranks.into_iter().map(|(_, _, host)| host).collect()
}
