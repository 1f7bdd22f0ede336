//! `make tune`: up to which size the first of two ways of a collective is faster.

use std::fmt::Write as _;

use super::program;
use crate::bench::{Bench, Missing};
use crate::contender::{Contender, rmpp};
use crate::measurements::{Measurements, number_after};
use crate::origin::Origin;
use crate::report::Report;
use crate::sections::{in_rounds_of, medians};

/// A limit of a collective (`mpi_boot::config::Limits`).
struct Limit {
    name: &'static str,
    operation: &'static str,
    /// What it counts where each of so many ranks gives so many bytes.
    count: fn(u64, u64) -> u64,
}

const fn limit(name: &'static str, operation: &'static str, count: fn(u64, u64) -> u64) -> Limit {
    Limit {
        name,
        operation,
        count,
    }
}

const LIMITS: [Limit; 6] = [
    limit("gather-tree", "gather", |bytes, _| bytes),
    limit("allgather-doubling", "allgather", |bytes, ranks| {
        bytes * ranks
    }),
    limit("allreduce-whole", "allreduce", |bytes, _| bytes),
    limit("bcast-tree", "bcast", |bytes, _| bytes),
    limit("reduce-tree", "reduce", |bytes, _| bytes),
    limit("alltoall-hops", "alltoall", |bytes, _| bytes),
];

const RANKS: [usize; 2] = [4, 8];
const BYTES: [u64; 7] = [256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576];

/// The longest that a run may take.
const LIMIT_S: u64 = 20;

/// The names of the two ways: each is taken for all sizes.
const FIRST: &str = "first way";
const SECOND: &str = "second way";

/// What two ways take for a size, in microseconds; what the limit counts there.
type Pair = (u64, [f64; 2]);

/// Measures all limits. Returns the lines of the new table.
pub fn tune(bench: &Bench, report: &mut Report) -> String {
    let rounds = bench.options.rounds(3, 1);
    let how = bench.how(rounds);
    let mut rows = String::new();
    for limit in &LIMITS {
        let contenders =
            [(FIRST, u64::MAX), (SECOND, 0)].map(|(name, bytes)| way(limit, name, bytes));
        let sizes = RANKS
            .iter()
            .flat_map(|&ranks| BYTES.map(|bytes| (ranks, bytes)));
        let sizes: Vec<_> = sizes.collect();
        let all = in_rounds_of(rounds, (&sizes, &contenders), |size, who, all| {
            measure(bench, (limit, *size), who, all);
        });
        let names = sizes.iter().map(|size| (what(*size), what(*size)));
        let shown: Vec<_> = names.collect();
        let title = format!("{}: {}, us, {how}", limit.name, limit.operation);
        report.table(&medians(&title, "", (&shown, &contenders), &all));
        let pairs = sizes.iter().filter_map(|&size| pair(limit, size, &all));
        let bytes = best(&pairs.collect::<Vec<_>>());
        _ = writeln!(rows, "{} {bytes}", limit.name);
    }
    let origin = Origin::now(&bench.options, rounds, &[]);
    format!(
        "# Up to how many bytes collectives by messages take the first of two ways.\n\
         # Written by make tune: {}, {}, {rounds} rounds.\n{rows}",
        origin.machine, origin.date
    )
}

/// Ours over RMPP, with one way for all sizes.
fn way(limit: &Limit, name: &str, bytes: u64) -> Contender {
    let mut who = rmpp();
    who.name = name.to_owned();
    let value = format!("{}={bytes}", limit.name);
    who.variables.push(("MPILITE_LIMITS", value));
    who
}

fn what((ranks, bytes): (usize, u64)) -> String {
    format!("{ranks} ranks, {bytes} B")
}

fn measure(
    bench: &Bench,
    (limit, size): (&Limit, (usize, u64)),
    who: &Contender,
    all: &mut Measurements,
) {
    let run = program(
        "collective",
        size.0,
        &[&size.1.to_string(), limit.operation],
        LIMIT_S,
    );
    let output = bench.run(who, &run);
    let words = format!("{}: ", limit.operation);
    let us = output.and_then(|it| number_after(&it, &words).ok_or_else(Missing::figure));
    all.enter(&who.name, &what(size), us);
}

fn pair(limit: &Limit, size: (usize, u64), all: &Measurements) -> Option<Pair> {
    let us = |who| all.median(who, &what(size));
    let count = (limit.count)(size.1, size.0 as u64);
    Some((count, [us(FIRST)?, us(SECOND)?]))
}

/// The limit that loses least beside the faster way at each size: in sums of logarithms, so that
/// sizes count alike.
fn best(pairs: &[Pair]) -> u64 {
    let loss = |limit: u64| -> f64 {
        let lost = |(count, us): &Pair| {
            let taken = us[usize::from(*count > limit)];
            (taken / us[0].min(us[1])).ln()
        };
        pairs.iter().map(lost).sum()
    };
    // Shorter data always have the first way: the least one is a limit too.
    let limits = pairs.iter().map(|pair| pair.0);
    limits
        .min_by(|a, b| loss(*a).total_cmp(&loss(*b)))
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_lies_where_the_second_way_becomes_faster() {
        let pairs = [(8, [1.0, 2.0]), (64, [2.0, 2.5]), (512, [9.0, 3.0])];
        assert_eq!(best(&pairs), 64);
        assert_eq!(best(&pairs[1..]), 64);
        assert_eq!(best(&pairs[..2]), 64);
    }

    #[test]
    fn one_size_that_disagrees_counts_no_more_than_the_others() {
        let pairs = [(8, [1.0, 0.9]), (64, [1.0, 2.0]), (512, [2.0, 1.0])];
        assert_eq!(best(&pairs), 64);
    }

    #[test]
    fn the_limits_are_those_of_the_library() {
        let table = include_str!("../../../../mpi-lite/boot/src/config/limits.table");
        let rows = table.lines().filter(|line| !line.starts_with('#'));
        let names: Vec<_> = rows.filter_map(|row| row.split(' ').next()).collect();
        assert_eq!(names, LIMITS.map(|limit| limit.name));
    }
}
