//! Collectives, from two ranks up to many more than there are cores.

use super::{AUTO, gather, peers, program, rows};
use crate::bench::Bench;
use crate::contender::Contender;
use crate::goal::{Goal, Limit};
use crate::machine;
use crate::measurements::{Better, Measurements, number_after};
use crate::report::Report;
use crate::sections::{in_rounds_of, medians, ratios};

const OPERATIONS: [&str; 8] = [
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "allgather",
    "alltoall",
    "scan",
    "split",
];

/// Ranks, and bytes that a rank gives.
const CASES: [(usize, &str); 11] = [
    (2, "8"),
    (2, "1024"),
    (2, "65536"),
    (4, "8"),
    (4, "1024"),
    (4, "65536"),
    (8, "8"),
    (8, "1024"),
    (8, "65536"),
    (64, "8"),
    (64, "1024"),
];

/// A collective of a hundred times a peer's duration is still measured in this.
const LIMIT_S: u64 = 60;

fn what(operation: &str, (ranks, bytes): (usize, &str)) -> String {
    format!("{operation}, {ranks} ranks, {bytes} B")
}

/// The operations that are measured for these bytes: some have no bytes at all.
fn operations(bytes: &'static str) -> impl Iterator<Item = &'static str> {
    let has_none = |name: &&str| ["barrier", "split"].contains(name);
    let is_first = bytes == CASES[0].1;
    OPERATIONS
        .into_iter()
        .filter(move |name| is_first || !has_none(name))
}

fn measure(bench: &Bench, case: (usize, &'static str), who: &Contender, all: &mut Measurements) {
    let words: Vec<&str> = core::iter::once(case.1).chain(operations(case.1)).collect();
    let output = bench.run(who, &program("collective", case.0, &words, LIMIT_S));
    let output = output.unwrap_or_default();
    for operation in operations(case.1) {
        // The name of one is the end of another's.
        let line = output.lines().find_map(|line| {
            line.starts_with(operation)
                .then(|| number_after(line, &format!("{operation}: ")))?
        });
        if let Some(us) = line {
            all.note(&who.name, &what(operation, case), us);
        }
    }
}

pub(in crate::sections) fn run(bench: &Bench, report: &mut Report) -> Result<(), String> {
    let contenders = gather(bench, report);
    let rounds = bench.options.rounds(3, 1);
    let how = bench.how(rounds);
    let all = in_rounds_of(rounds, (&CASES, &contenders), |case, who, all| {
        measure(bench, *case, who, all);
    });
    let cores = machine::cores();
    for operation in OPERATIONS {
        let cases = CASES
            .iter()
            .filter(|case| operations(case.1).any(|it| it == operation));
        let names: Vec<String> = cases.map(|&case| what(operation, case)).collect();
        let rows = rows(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let shown = (&rows[..], &contenders[..]);
        let title = format!("{operation} on {cores} cores, us, {how}");
        report.table(&medians(&title, "", shown, &all));
        let title = format!("{operation} (below 1 is better)");
        report.table(&ratios(&title, "", shown, &all));
    }
    let peers = peers(&contenders);
    for case in CASES {
        for operation in operations(case.1) {
            let name = what(operation, case);
            let ratio = all.ratio(AUTO, &peers, &name, Better::Smaller);
            report.goal(Goal::new(
                format!("{name} / best peer"),
                Limit::Most(1.1),
                ratio,
            ));
        }
    }
    Ok(())
}
