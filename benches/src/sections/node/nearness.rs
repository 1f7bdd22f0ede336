//! How near the two cores are to each other: the virtual cores of some machines move about their
//! host from minute to minute, and a cache line takes four times as long if they are far apart.

use super::{AUTO, peers};
use crate::bench::{Bench, Program};
use crate::contender::{Contender, kernel};
use crate::measurements::{Measurements, Round, lines_of};
use crate::report::Report;
use crate::sections::subject::Subject;
use crate::table::short;

/// One cache line between the two cores, without MPI.
pub(super) const LINE: &str = "raw cache line";
/// The line's way in nanoseconds, before and after a contender's latency.
const LOOKS: [&str; 2] = ["line before, ns", "line after, ns"];
/// Cores are far apart if a line takes so many times what it took at its fastest.
const FAR: f64 = 2.0;

/// How the cores stood throughout a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nearness {
    Near,
    Far,
}

pub(super) fn line() -> Contender {
    kernel(LINE, "udp")
}

/// Nanoseconds of a cache line's way, now.
fn probe(bench: &Bench) -> Option<f64> {
    let output = bench.run(&line(), &Program::new("line_probe", &[])).ok()?;
    Some(lines_of(&output).first()?.1[0])
}

/// Measures this contender between two looks at the line. Returns the middle of both looks.
pub(super) fn between_looks(
    bench: &Bench,
    who: &Contender,
    all: &mut Measurements,
    measure: impl FnOnce(&mut Measurements),
) -> Option<f64> {
    let before = probe(bench);
    measure(all);
    let looks = [before?, probe(bench)?];
    for (what, ns) in LOOKS.iter().zip(looks) {
        all.note(&who.name, what, ns);
    }
    Some(f64::midpoint(looks[0], looks[1]))
}

/// All looks of a round, in nanoseconds.
fn looks(round: &Round, contenders: &[Contender]) -> Vec<f64> {
    let of = |who: &Contender| LOOKS.map(|what| round.get(&who.name, what));
    contenders.iter().flat_map(of).flatten().collect()
}

/// The fastest look of all rounds.
fn fastest(contenders: &[Contender], all: &Measurements) -> Option<f64> {
    let of = |round: &Round| looks(round, contenders).into_iter().reduce(f64::min);
    all.spread(of).map(|spread| spread.least)
}

/// How the cores stood in a round with these looks; nothing if they moved, or nobody looked.
fn nearness(looks: &[f64], fastest: f64) -> Option<Nearness> {
    let of = |ns: &f64| match *ns < FAR * fastest {
        true => Nearness::Near,
        false => Nearness::Far,
    };
    let first = of(looks.first()?);
    looks.iter().all(|ns| of(ns) == first).then_some(first)
}

/// The rounds in which the cores stood so from the first look to the last.
fn rounds(stood: Nearness, contenders: &[Contender], all: &Measurements) -> Measurements {
    let fastest = fastest(contenders, all).unwrap_or_default();
    all.only(|round| nearness(&looks(round, contenders), fastest) == Some(stood))
}

/// Ours beside the best peer in all rounds; and if the cores stood near in some rounds and far in
/// others, in those of each kind alone.
pub(super) fn tell_apart(
    report: &mut Report,
    (subject, contenders, how): (&Subject, &[Contender], &str),
    all: &Measurements,
) {
    let beside = (AUTO, &peers(contenders)[..]);
    let title = format!(
        "{} ({}), {AUTO} beside the best",
        subject.program, subject.unit
    );
    report.table(&subject.beside_best(format!("{title}, {how}"), beside, all));
    let parts = [("near", Nearness::Near), ("far", Nearness::Far)];
    let parts = parts.map(|(name, stood)| (name, rounds(stood, contenders, all)));
    let fastest = fastest(contenders, all);
    report.line(&summary(&parts, all.rounds(), fastest));
    if parts.iter().all(|(_, part)| part.rounds() > 0) {
        for (name, part) in &parts {
            let title = format!("{title}, cores {name}, rounds: {}", part.rounds());
            report.table(&subject.beside_best(title, beside, part));
        }
    }
}

/// How many of these rounds are of each kind, in a line.
fn summary(parts: &[(&str, Measurements)], rounds: usize, fastest: Option<f64>) -> String {
    let told = parts.iter().map(|(_, part)| part.rounds()).sum::<usize>();
    let part = |(name, part): &(&str, Measurements)| format!("{name} in {}", part.rounds());
    let parts: Vec<String> = parts.iter().map(part).collect();
    format!(
        "of {rounds} rounds the cores stood {}, and moved in {}; near: all lines of a round below \
         {FAR} times the fastest, {} ns\n",
        parts.join(", "),
        rounds - told,
        short(fastest)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_near_or_far_if_all_its_looks_agree() {
        let of = |looks: &[f64]| nearness(looks, 30.0);
        assert_eq!(of(&[30.0, 59.0, 45.0]), Some(Nearness::Near));
        assert_eq!(of(&[60.0, 150.0]), Some(Nearness::Far));
        assert_eq!(of(&[30.0, 150.0]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn the_fastest_line_of_the_whole_run_is_the_measure_of_each_round() {
        let contenders = ["auto", "peer"].map(|name| kernel(name, "udp"));
        let mut all = Measurements::default();
        for ns in [
            [40.0, 45.0, 42.0, 41.0],
            [160.0, 150.0, 150.0, 155.0],
            [41.0, 40.0, 40.0, 150.0],
        ] {
            all.begin_round();
            for (who, looks) in contenders.iter().zip(ns.chunks(2)) {
                all.note(&who.name, LOOKS[0], looks[0]);
                all.note(&who.name, LOOKS[1], looks[1]);
            }
        }
        let parts = [("near", Nearness::Near), ("far", Nearness::Far)];
        let parts = parts.map(|(name, stood)| (name, rounds(stood, &contenders, &all)));
        let far = &parts[1].1;
        assert_eq!(far.median("peer", LOOKS[1]), Some(155.0));
        let fastest = fastest(&contenders, &all);
        let line = summary(&parts, all.rounds(), fastest);
        assert!(
            line.contains("3 rounds the cores stood near in 1, far in 1, and moved in 1"),
            "{line}"
        );
        assert!(line.contains("40.0 ns"), "{line}");
    }
}
