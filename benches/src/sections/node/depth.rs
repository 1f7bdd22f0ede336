//! Matching while many receives are posted, or many messages wait for theirs.

use super::{AUTO, gather, program, rows};
use crate::bench::Bench;
use crate::contender::Contender;
use crate::goal::{Goal, Limit};
use crate::measurements::{Measurements, Round};
use crate::report::Report;
use crate::sections::{in_rounds, medians};

const PATTERNS: [&str; 4] = [
    "posted_exact",
    "posted_any",
    "unexpected_exact",
    "unexpected_any",
];
/// Those that have a goal are behind the first.
const DEPTHS: [u32; 3] = [1000, 20_000, 200_000];

fn what(pattern: &str, depth: u32) -> String {
    format!("{pattern} {depth}")
}

/// Lines `pattern depth nanoseconds`.
fn figures_of(output: &str) -> Vec<(&'static str, f64)> {
    let figure = |line: &str| {
        let mut words = line.split_whitespace();
        let first = words.next()?;
        let pattern = PATTERNS.into_iter().find(|pattern| *pattern == first)?;
        let nanoseconds = words.rev().find_map(|word| word.parse().ok())?;
        Some((pattern, nanoseconds))
    };
    output.lines().filter_map(figure).collect()
}

/// The others walk a list: their time grows with the square of the depth.
fn depths(bench: &Bench, who: &Contender) -> &'static [u32] {
    match who.is_ours() {
        true => &DEPTHS,
        false => &DEPTHS[..bench.options.choose(2, 1)],
    }
}

fn measure(bench: &Bench, who: &Contender, all: &mut Measurements) {
    for depth in depths(bench, who) {
        let limit_s = bench.options.choose(60, 20);
        let program = program("depth", 2, &[&depth.to_string()], limit_s);
        let output = match bench.run(who, &program) {
            Ok(output) => output,
            Err(why) => {
                for pattern in PATTERNS {
                    all.lack(&who.name, &what(pattern, *depth), &why);
                }
                continue;
            }
        };
        for (pattern, nanoseconds) in figures_of(&output) {
            all.note(&who.name, &what(pattern, *depth), nanoseconds);
        }
    }
}

pub(in crate::sections) fn run(bench: &Bench, report: &mut Report) -> Result<(), String> {
    let contenders = gather(bench, report);
    let rounds = bench.options.rounds(1, 1);
    let how = bench.how(rounds);
    let all = in_rounds(rounds, &contenders, |who, all| measure(bench, who, all));
    for depth in DEPTHS {
        let names = PATTERNS.map(|pattern| what(pattern, depth));
        let rows = rows(&names.each_ref().map(String::as_str));
        let is_asked = |who: &&Contender| depths(bench, who).contains(&depth);
        let shown: Vec<_> = contenders.iter().filter(is_asked).cloned().collect();
        let title = format!("matching at depth {depth}, ns per message, {how}");
        report.table(&medians(&title, "", (&rows, &shown), &all));
    }
    for depth in &DEPTHS[1..] {
        let slowest = all.spread(|round| slowest(round, *depth));
        let name = format!("matching at depth {depth}, slowest of 4 patterns, ns");
        report.goal(Goal::new(name, Limit::Most(400.0), slowest));
    }
    Ok(())
}

/// Of all four patterns; none if one is missing.
fn slowest(round: &Round, depth: u32) -> Option<f64> {
    let figures = PATTERNS.map(|pattern| round.get(AUTO, &what(pattern, depth)));
    let figures: Vec<f64> = figures.into_iter().collect::<Option<_>>()?;
    figures.into_iter().reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pattern_has_its_figure_behind_the_depth() {
        let output = "posted_exact 20000 55.5\nnoise 1 2\nunexpected_any 20000 70 ns\n";
        let expected = [("posted_exact", 55.5), ("unexpected_any", 70.0)];
        assert_eq!(figures_of(output), expected);
    }

    #[test]
    fn a_pattern_that_is_missing_is_not_the_fastest() {
        let mut all = Measurements::default();
        all.begin_round();
        for pattern in &PATTERNS[1..] {
            all.note(AUTO, &what(pattern, 1000), 5.0);
        }
        assert_eq!(all.spread(|round| slowest(round, 1000)), None);
        all.note(AUTO, &what(PATTERNS[0], 1000), 7.0);
        let slowest = all.spread(|round| slowest(round, 1000));
        assert_eq!(slowest.map(|spread| spread.median), Some(7.0));
    }
}
