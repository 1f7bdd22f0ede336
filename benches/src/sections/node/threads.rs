//! The rate of short messages between two ranks whose threads all call MPI at once.

use super::{AUTO, gather, peers, program, rows};
use crate::bench::{Bench, Missing, Program};
use crate::contender::Contender;
use crate::goal::{Goal, Limit};
use crate::measurements::{Better, Measurements};
use crate::report::Report;
use crate::sections::{figure_after, in_rounds, medians, ratios};

const THREADS: usize = 2;
const BYTES: &str = "8";

/// What is noted, and behind which words it is printed.
const FIGURES: [(&str, &str); 3] = [
    ("one thread each", "one pair: "),
    ("two threads each, a tag for each pair", "tags: "),
    (
        "two threads each, a communicator for each pair",
        "communicators: ",
    ),
];

/// Why the program has measured nothing, in its own words.
fn refusal(output: &str) -> Option<Missing> {
    let why = output
        .lines()
        .find_map(|line| line.strip_prefix("refused: "))?;
    Some(Missing::NoFigure(format!(
        "MPI_THREAD_MULTIPLE is refused: {why}"
    )))
}

/// The figure behind these words, or why there is none.
fn figure(output: &Result<String, Missing>, words: &str) -> Result<f64, Missing> {
    match output.as_deref().ok().and_then(refusal) {
        Some(why) => Err(why),
        None => figure_after(output, words),
    }
}

fn measure(bench: &Bench, who: &Contender, all: &mut Measurements) {
    let program = Program {
        threads: THREADS,
        ..program("threads", 2, &[BYTES, &THREADS.to_string()], 60)
    };
    let output = bench.run(who, &program);
    for (what, words) in FIGURES {
        all.enter(&who.name, what, figure(&output, words));
    }
}

pub(in crate::sections) fn run(bench: &Bench, report: &mut Report) -> Result<(), String> {
    let contenders = gather(bench, report);
    let rounds = bench.options.rounds(5, 1);
    let how = bench.how(rounds);
    let all = in_rounds(rounds, &contenders, |who, all| measure(bench, who, all));
    let rows = rows(&FIGURES.map(|(what, _)| what));
    let shown = (&rows[..], &contenders[..]);
    let title = format!("two ranks, messages of {BYTES} B per second, 64 in flight, {how}");
    report.table(&medians(&title, "MPI_THREAD_MULTIPLE", shown, &all));
    let title = "messages per second (above 1 is better)";
    report.table(&ratios(title, "MPI_THREAD_MULTIPLE", shown, &all));
    for (what, _) in FIGURES {
        let ratio = all.ratio(AUTO, &peers(&contenders), what, Better::Larger);
        let name = format!("rate of {BYTES} B messages, {what} / best peer");
        report.goal(Goal::new(name, Limit::Least(1.0), ratio));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_refuses_threads_is_missing_with_that_reason() {
        let output = Ok("refused: MPI_THREAD_SERIALIZED is all that is given\n".to_owned());
        let why = figure(&output, "tags: ").expect_err("no figure");
        let expected = "MPI_THREAD_MULTIPLE is refused: MPI_THREAD_SERIALIZED is all that is given";
        assert_eq!(why.to_string(), expected);
    }

    #[test]
    fn each_figure_stands_behind_its_name() {
        let output = Ok("one pair: 100\ntags: 200\ncommunicators: 300\n".to_owned());
        let figures = FIGURES.map(|(_, words)| figure(&output, words).ok());
        assert_eq!(figures, [Some(100.0), Some(200.0), Some(300.0)]);
        let none = figure(&Ok(String::new()), "tags: ");
        assert_eq!(none, Err(Missing::figure()));
        let late = figure(&Err(Missing::NotInstalled), "tags: ");
        assert_eq!(late, Err(Missing::NotInstalled));
    }
}
