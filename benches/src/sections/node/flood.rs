//! What memory a flood takes that nobody receives for a while.

use super::{AUTO, RMPP, gather, program, rows};
use crate::bench::Bench;
use crate::goal::{Goal, Limit};
use crate::measurements::number_after;
use crate::report::Report;
use crate::sections::{in_rounds, medians};

/// Messages, bytes of each, seconds without a receive.
const WORDS: [&str; 3] = ["200000", "1024", "3"];
/// What is noted, and behind which words it is printed.
const FIGURES: [(&str, &str); 3] = [
    ("growth of the sender, MiB", "sender: "),
    ("growth of the receiver, MiB", "receiver: "),
    ("all received in, s", "drained: "),
];

pub(in crate::sections) fn run(bench: &Bench, report: &mut Report) -> Result<(), String> {
    let contenders = gather(bench, report);
    let rounds = bench.options.rounds(3, 1);
    let how = bench.how(rounds);
    let all = in_rounds(rounds, &contenders, |who, all| {
        let output = bench.run(who, &program("flood", 2, &WORDS, 40));
        let output = output.unwrap_or_default();
        for (what, words) in FIGURES {
            if let Some(figure) = number_after(&output, words) {
                all.note(&who.name, what, figure);
            }
        }
    });
    let [messages, bytes, seconds] = WORDS;
    let title = format!(
        "{messages} messages of {bytes} B to a rank that sleeps {seconds} s, each checked, {how}"
    );
    let rows = rows(&FIGURES.map(|(what, _)| what));
    report.table(&medians(&title, "", (&rows, &contenders), &all));
    for who in [AUTO, RMPP] {
        for (what, _) in &FIGURES[..2] {
            let growth = all.spread(|round| round.get(who, what));
            let what = format!("{who}: flood, {what}");
            report.goal(Goal::new(what, Limit::Most(32.0), growth));
        }
    }
    Ok(())
}
