//! What memory a flood takes that nobody receives for a while.

use super::{AUTO, RMPP, gather, program};
use crate::bench::Bench;
use crate::contender::Contender;
use crate::goal::{Goal, Limit};
use crate::measurements::{Measurements, Round};
use crate::report::Report;
use crate::sections::{figure_after, in_rounds_of, medians};

/// Messages, bytes of each, seconds without a receive.
const WORDS: [&str; 3] = ["200000", "1024", "3"];
/// What the receiver does meanwhile: the last word of the program.
const WAYS: [(&str, &str); 2] = [
    ("sleep", "sleeps"),
    ("probe", "probes for something else for"),
];
const SENDER: &str = "growth of the sender, MiB";
const RECEIVER: &str = "growth of the receiver, MiB";
/// What is noted, and behind which words it is printed.
const FIGURES: [(&str, &str); 3] = [
    (SENDER, "sender: "),
    (RECEIVER, "receiver: "),
    ("all received in, s", "drained: "),
];

fn noted(way: &str, what: &str) -> String {
    format!("{way}: {what}")
}

fn measure(bench: &Bench, (way, who): (&str, &Contender), all: &mut Measurements) {
    let words = [&WORDS[..], &[way]].concat();
    let output = bench.run(who, &program("flood", 2, &words, 40));
    for (what, words) in FIGURES {
        all.enter(&who.name, &noted(way, what), figure_after(&output, words));
    }
}

pub(in crate::sections) fn run(bench: &Bench, report: &mut Report) -> Result<(), String> {
    let contenders = gather(bench, report);
    let rounds = bench.options.rounds(3, 1);
    let how = bench.how(rounds);
    let all = in_rounds_of(rounds, (&WAYS, &contenders), |(way, _), who, all| {
        measure(bench, (way, who), all);
    });
    let [messages, bytes, seconds] = WORDS;
    for (way, does) in WAYS {
        let title = format!(
            "{messages} messages of {bytes} B, each checked, to a rank that {does} {seconds} s, \
             {how}"
        );
        let row = |(what, _): (&str, &str)| (what.to_owned(), noted(way, what));
        let rows = FIGURES.map(row);
        report.table(&medians(&title, "", (&rows, &contenders), &all));
    }
    for who in [AUTO, RMPP] {
        for what in [SENDER, RECEIVER] {
            let growth = all.spread(|round| most(round, (who, what)));
            let what = format!("{who}: flood, {what}");
            report.goal(Goal::new(what, Limit::Most(32.0), growth));
        }
    }
    Ok(())
}

/// The most of both ways; none if one is missing.
fn most(round: &Round, (who, what): (&str, &str)) -> Option<f64> {
    let figures = WAYS.map(|(way, _)| round.get(who, &noted(way, what)));
    let figures: Vec<f64> = figures.into_iter().collect::<Option<_>>()?;
    figures.into_iter().reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_counts_by_the_way_that_takes_most() {
        let mut all = Measurements::default();
        all.begin_round();
        all.note(AUTO, &noted("sleep", SENDER), 3.0);
        let of = |all: &Measurements| all.spread(|round| most(round, (AUTO, SENDER)));
        assert_eq!(of(&all), None);
        all.note(AUTO, &noted("probe", SENDER), 2.0);
        assert_eq!(of(&all).map(|spread| spread.median), Some(3.0));
    }
}
