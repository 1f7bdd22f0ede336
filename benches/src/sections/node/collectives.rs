//! Collectives, from two ranks up to many more than there are cores.

use std::collections::BTreeSet;

use super::{AUTO, gather, peers, program, rows};
use crate::bench::{Bench, Program};
use crate::contender::Contender;
use crate::goal::{Goal, Limit};
use crate::machine;
use crate::measurements::{Better, Measurements, number_after};
use crate::origin::LEAST_ROUNDS;
use crate::place::{Network, Place, check_networks};
use crate::plot::{Bar, BarPlot, Plot};
use crate::report::Report;
use crate::sections::{in_rounds_of, medians, plot_name, ratios};

const OPERATIONS: [&str; 11] = [
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "allgather",
    "alltoall",
    "scan",
    "gather",
    "scatter",
    "reduce_scatter",
    "split",
];

/// Operations whose buffers are also written before and read after each call.
const TOUCHED: [&str; 4] = ["bcast", "reduce", "allreduce", "alltoall"];

/// Ranks, and bytes that a rank gives. Buffers are touched after the second word.
const CASES: [(usize, &str); 21] = [
    (2, "8"),
    (2, "1024"),
    (2, "16384"),
    (2, "65536"),
    (2, "1048576"),
    (2, "1048576 touched"),
    (4, "8"),
    (4, "1024"),
    (4, "16384"),
    (4, "65536"),
    (4, "65536 touched"),
    (4, "1048576"),
    (4, "1048576 touched"),
    (8, "8"),
    (8, "1024"),
    (8, "16384"),
    (8, "65536"),
    (8, "1048576"),
    (8, "1048576 touched"),
    (64, "8"),
    (64, "1024"),
];

/// Those that are measured over a network.
const FAR_CASES: [(usize, &str); 12] = [
    (2, "8"),
    (2, "1024"),
    (2, "65536"),
    (2, "1048576"),
    (4, "8"),
    (4, "1024"),
    (4, "65536"),
    (4, "1048576"),
    (8, "8"),
    (8, "1024"),
    (8, "65536"),
    (8, "1048576"),
];

/// Beyond so many ranks the goals of a mean do not hold.
const MANY_RANKS: usize = 8;

/// What one run may take: to start, a quarter of a second for each rank, and its operations a tenth
/// of a second each as a rule. If it takes longer, the one that was under way is too slow; the
/// others get a run of their own.
const fn limit_s(ranks: usize) -> u64 {
    5 + ranks as u64 / 4
}

/// Contenders that were too slow, and at what, by names: they are not measured at the same again.
type TooSlow = BTreeSet<(String, String)>;

fn what(operation: &str, (ranks, bytes): (usize, &str)) -> String {
    match bytes.split_once(' ') {
        Some((bytes, touched)) => format!("{operation}, {ranks} ranks, {bytes} B, {touched}"),
        None => format!("{operation}, {ranks} ranks, {bytes} B"),
    }
}

/// The operations that are measured for these bytes: some have no bytes at all.
fn operations(bytes: &'static str) -> impl Iterator<Item = &'static str> {
    let has_none = |name: &&str| ["barrier", "split"].contains(name);
    let (is_first, is_touched) = (bytes == CASES[0].1, bytes.contains(' '));
    let is_measured = move |name: &&str| match is_touched {
        true => TOUCHED.contains(name),
        false => is_first || !has_none(name),
    };
    OPERATIONS.into_iter().filter(is_measured)
}

/// What a run has printed for an operation.
fn figure(output: &str, operation: &str) -> Option<f64> {
    // The name of one is the end of another's.
    output.lines().find_map(|line| {
        line.starts_with(operation)
            .then(|| number_after(line, &format!("{operation}: ")))?
    })
}

/// Takes what a run has printed away from `left`. If the run was stopped, the first operation of
/// which nothing was printed is taken too, and answered with: it was too slow.
fn take(left: &mut Vec<&'static str>, output: &str, is_stopped: bool) -> Option<&'static str> {
    left.retain(|operation| figure(output, operation).is_none());
    (is_stopped && !left.is_empty()).then(|| left.remove(0))
}

fn measure(
    (bench, place): (&Bench, Place),
    case: (usize, &'static str),
    who: &Contender,
    (all, too_slow): (&mut Measurements, &mut TooSlow),
) {
    let name = |operation: &str| (who.name.clone(), what(operation, case));
    let mut left: Vec<&str> = operations(case.1)
        .filter(|operation| !too_slow.contains(&name(operation)))
        .collect();
    while !left.is_empty() {
        let words: Vec<&str> = case.1.split(' ').chain(left.clone()).collect();
        let run = Program {
            place,
            ..program("collective", case.0, &words, limit_s(case.0))
        };
        let (output, is_stopped) = bench.run_to_limit(who, &run);
        for operation in &left {
            if let Some(us) = figure(&output, operation) {
                all.note(&who.name, &what(operation, case), us);
            }
        }
        let Some(slow) = take(&mut left, &output, is_stopped) else {
            return;
        };
        eprintln!(
            "compare: {}: {} took longer than {} s",
            who.name,
            what(slow, case),
            limit_s(case.0)
        );
        too_slow.insert(name(slow));
    }
}

pub(in crate::sections) fn run(bench: &Bench, report: &mut Report) -> Result<(), String> {
    let contenders = gather(bench, report);
    let place = program("collective", 2, &[], 0).place;
    let picture = ("node-collectives".to_owned(), "one machine".to_owned());
    let ours = (AUTO, &contenders[..], Limit::Most(0.65));
    compare((bench, report), (&CASES, place), ours, picture);
    Ok(())
}

/// The same over a network, which everybody uses by UDP or TCP.
pub(in crate::sections) fn over_network(
    bench: &Bench,
    report: &mut Report,
    network: Network,
) -> Result<(), String> {
    check_networks()?;
    let contenders = bench.contenders(&["fast"]);
    let place = Place::Own(network);
    let picture = (plot_name("collectives", network), network.to_string());
    let ours = ("fast", &contenders[..], Limit::Most(0.6));
    compare((bench, report), (&FAR_CASES, place), ours, picture);
    Ok(())
}

/// Measures `cases` at a place; the goals are those of the contender that is called `ours`, the
/// limit that of the geometric mean. The picture has a name, and says where it was measured.
fn compare(
    (bench, report): (&Bench, &mut Report),
    (cases, place): (&[(usize, &'static str)], Place),
    (ours, contenders, limit): (&str, &[Contender], Limit),
    (picture, network): (String, String),
) {
    let rounds = bench.options.rounds(LEAST_ROUNDS, 1);
    report.set_origin(bench.origin(rounds, contenders));
    let how = bench.how(rounds);
    let mut too_slow = TooSlow::new();
    let all = in_rounds_of(rounds, (cases, contenders), |case, who, all| {
        measure((bench, place), *case, who, (all, &mut too_slow));
    });
    let cores = machine::cores();
    for operation in OPERATIONS {
        let cases = cases
            .iter()
            .filter(|case| operations(case.1).any(|it| it == operation));
        let names: Vec<String> = cases.map(|&case| what(operation, case)).collect();
        let rows = rows(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let shown = (&rows[..], contenders);
        let title = format!("{operation} on {cores} cores, us, {how}");
        report.table(&medians(&title, "", shown, &all));
        let title = format!("{operation} (below 1 is better)");
        report.table(&ratios(&title, "", shown, &all));
    }
    for (who, what) in &too_slow {
        report.line(&format!("{who}: {what}: too slow"));
    }
    let peers = peers(contenders);
    let few: Vec<String> = names(cases, |_, ranks| ranks <= MANY_RANKS);
    let mean = all.mean_ratio(ours, &peers, &few, Better::Smaller);
    let name = format!("geometric mean of {} points / best peer", few.len());
    report.goal(Goal::new(name, limit, mean));
    let plot = BarPlot {
        title: "Collectives beside the best other MPI".to_owned(),
        subtitle: format!("{network}, geometric mean over the lengths, {how}; lower is better"),
        unit: " of its time".to_owned(),
        groups: bars((ours, &peers), cases, &all),
    };
    report.plot(picture, Plot::Bars(plot));
    for &case in cases {
        for operation in operations(case.1) {
            let name = what(operation, case);
            let ratio = all.ratio(ours, &peers, &name, Better::Smaller);
            report.goal(Goal::new(
                format!("{name} / best peer"),
                Limit::Most(1.0),
                ratio,
            ));
        }
    }
}

/// What is measured of these operations and numbers of ranks.
fn names(cases: &[(usize, &'static str)], is_wanted: impl Fn(&str, usize) -> bool) -> Vec<String> {
    let each = cases
        .iter()
        .flat_map(|&case| operations(case.1).map(move |it| (it, case)));
    let wanted = each.filter(|(operation, case)| is_wanted(operation, case.0));
    wanted
        .map(|(operation, case)| what(operation, case))
        .collect()
}

/// A group of bars for each number of ranks: ours as a part of the best peer's time.
fn bars(
    (ours, peers): (&str, &[&str]),
    cases: &[(usize, &'static str)],
    all: &Measurements,
) -> Vec<(String, Vec<Bar>)> {
    let ranks: BTreeSet<usize> = cases.iter().map(|case| case.0).collect();
    let bar = |operation: &str, ranks: usize| {
        let names = names(cases, |it, of| it == operation && of == ranks);
        Bar {
            name: operation.to_owned(),
            figure: all
                .mean_ratio(ours, peers, &names, Better::Smaller)
                .ok_or_else(|| "not measured".to_owned()),
        }
    };
    let group = |ranks| {
        let bars = OPERATIONS.map(|operation| bar(operation, ranks));
        (format!("{ranks} ranks"), bars.to_vec())
    };
    ranks.into_iter().map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operation_under_way_was_too_slow_and_those_after_it_are_left() {
        let mut left = vec!["barrier", "reduce", "allreduce", "scan"];
        let output = "barrier: 0.1\nallreduce: 0.2\n";
        let ended = take(&mut left.clone(), output, false);
        assert_eq!(ended, None);
        assert_eq!(take(&mut left, "barrier: 0.1\n", true), Some("reduce"));
        assert_eq!(left, ["allreduce", "scan"]);
        assert_eq!(take(&mut left, "allreduce: 2\nscan: 3\n", true), None);
        assert!(left.is_empty());
    }
}
