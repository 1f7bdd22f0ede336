//! Ten thousand packets a second that are nobody's, onto the ports of the ranks.
//!
//! Their sender needs a processor too, so it is also measured with its packets going elsewhere.

use std::time::Duration;

use super::in_rounds;
use crate::bench::{Bench, Program};
use crate::contender::{Contender, kernel};
use crate::goal::{Goal, Limit};
use crate::measurements::{Measurements, Spread, lines_of, number_after};
use crate::place::{Network, Place, check_networks, disturbed};
use crate::report::Report;
use crate::table::{Table, short};

const PER_SECOND: u32 = 10_000;
const BACK: &str = "answers";
const SENT: &str = "sent";

/// Where the stray packets go.
const AIMS: [&str; 3] = ["nowhere", "aside", "onto"];
/// What is measured: a name, a program, its first words.
const SUBJECTS: [(&str, &str, &[&str]); 3] = [
    ("8 B round trips", "roundtrips", &["8"]),
    ("1 MiB round trips", "roundtrips", &["1048576"]),
    ("farm", "farm", &["10000000", "30720", "1024"]),
];

fn noted(subject: &str, aim: &str) -> String {
    format!("{subject} {aim}")
}

fn measure(
    bench: &Bench,
    network: Network,
    (who, strays): (&Contender, &str),
    all: &mut Measurements,
) {
    let budget = bench.options.choose("2", "0.7");
    for (subject, name, words) in SUBJECTS {
        for aim in AIMS {
            let words: Vec<String> = words
                .iter()
                .chain([&budget])
                .map(ToString::to_string)
                .collect();
            let program = Program {
                place: Place::Own(network),
                limit: Duration::from_secs(20),
                ..Program::new(name, &words)
            };
            let mut job = bench.job(who, &program);
            if aim != "nowhere" {
                job = disturbed(job, &format!("{strays} {PER_SECOND} {aim}"));
            }
            let Ok(output) = bench.judge(who, &program, job.run()) else {
                continue;
            };
            // Round trips are told in time, the farm in tasks: more is better in both.
            let figure = match name {
                "farm" => number_after(&output, " s: "),
                _ => lines_of(&output).first().map(|line| 1e6 / line.1[0]),
            };
            if let Some(figure) = figure {
                all.note(&who.name, &noted(subject, aim), figure);
            }
            if let (Some(sent), Some(back)) = (
                number_after(&output, "strays: "),
                number_after(&output, " sent, "),
            ) {
                all.note(&who.name, &noted(SENT, &noted(subject, aim)), sent);
                all.note(&who.name, &noted(BACK, &noted(subject, aim)), back);
            }
        }
    }
}

pub(super) fn run(bench: &Bench, report: &mut Report, network: Network) -> Result<(), String> {
    check_networks()?;
    let contenders = bench.contenders(&["fast"]);
    let strays = bench.binary(&kernel("strays", "udp"), "strays");
    let strays = strays.display().to_string();
    let rounds = bench.options.rounds(5, 1);
    let how = bench.how(rounds);
    let all = in_rounds(rounds, &contenders[..1], |who, all| {
        measure(bench, network, (who, &strays), all);
    });
    let title = format!(
        "{PER_SECOND} stray packets a second, throughput divided by that without, {network}, {how}"
    );
    let columns = ["", "sent elsewhere", "onto the ranks", "onto / elsewhere"].map(str::to_owned);
    let mut table = Table::new(title, columns.to_vec());
    for (subject, ..) in SUBJECTS {
        let over = |aim, base| {
            all.spread(|round| {
                let of = |aim| round.get("fast", &noted(subject, aim));
                Some(of(aim)? / of(base)?)
            })
        };
        let cell = |spread: Option<Spread>| short(spread.map(|spread| spread.median));
        let kept = over("onto", "aside");
        let cells = [over("aside", "nowhere"), over("onto", "nowhere"), kept].map(cell);
        table.row(subject, cells.to_vec());
        let what = format!("{subject} under stray packets / sent elsewhere");
        report.goal(Goal::new(what, Limit::Least(0.95), kept));
    }
    report.table(&table);
    count_answers(report, &all);
    Ok(())
}

/// Not one stray packet may be answered.
fn count_answers(report: &mut Report, all: &Measurements) {
    let sum = |what: &str| {
        let onto = |subject: &str| noted(what, &noted(subject, "onto"));
        all.spread(|round| {
            let figures = SUBJECTS
                .iter()
                .map(|(subject, ..)| round.get("fast", &onto(subject)));
            figures.sum::<Option<f64>>()
        })
    };
    if let Some(sent) = sum(SENT) {
        report.line(&format!(
            "{:.0} stray packets onto the ranks in a round\n",
            sent.median
        ));
    }
    let most = sum(BACK).and_then(|spread| Spread::of(vec![spread.most]));
    report.goal(Goal::new(
        "stray packets that were answered",
        Limit::Most(0.0),
        most,
    ));
}
