//! How many packets a short message needs, counted by the network interface.

use std::time::Duration;

use super::{cell, in_rounds, medians};
use crate::bench::{Bench, Program};
use crate::contender::{Contender, counting};
use crate::goal::{Goal, Limit};
use crate::measurements::{Measurements, lines_of};
use crate::place::{ETHERNET, Place, check_networks};
use crate::plot::{Bar, BarPlot, Plot};
use crate::report::Report;

const PING_PONG: &str = "ping-pong, per direction";
const STREAM: &str = "stream, 64 in flight";

fn program() -> Program {
    Program {
        place: Place::Own(ETHERNET),
        limit: Duration::from_secs(20),
        ..Program::new("packets", &["8".to_owned()])
    }
}

/// What the ranks themselves counted, in the words of `mpirun --stats`: the interface does not
/// know what was sent again.
fn own_count(bench: &Bench, profile: &str) -> Option<String> {
    let outcome = bench.job(&counting(profile), &program()).run();
    let mut lines = outcome.stderr.lines().map(str::trim);
    lines
        .find(|line| line.starts_with("packets:"))
        .map(str::to_owned)
}

/// Packets per message of 8 bytes: in a ping-pong, in a stream.
pub(super) fn count(bench: &Bench, who: &Contender) -> Option<(f64, f64)> {
    let program = program();
    let output = bench.run(who, &program)?;
    let (_, figures) = lines_of(&output).into_iter().next()?;
    Some((*figures.first()?, *figures.get(1)?))
}

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<(), String> {
    check_networks()?;
    let contenders = bench.contenders(&["fast", "fast,-coalesce", "classic"]);
    let rounds = bench.options.rounds(3, 1);
    let how = bench.how(rounds);
    let all = in_rounds(rounds, &contenders, |who, all| {
        if let Some((ping_pong, stream)) = count(bench, who) {
            all.note(&who.name, PING_PONG, ping_pong);
            all.note(&who.name, STREAM, stream);
        }
    });
    let rows = [PING_PONG, STREAM].map(|name| (name.to_owned(), name.to_owned()));
    let title =
        format!("packets per 8 B message, counted by the interface (MTU 1500, no offloads), {how}");
    report.table(&medians(&title, "", (&rows, &contenders), &all));
    for profile in ["fast", "classic"] {
        let counted = own_count(bench, profile).unwrap_or_else(|| "nothing".to_owned());
        report.line(&format!("mpirun --stats, {profile}: {counted}"));
    }
    report.line("");
    let spread = |who, what: &str| all.spread(|round| round.get(who, what));
    let ping_pong = spread("fast", PING_PONG);
    report.goal(Goal::new(
        "packets per 8 B message, ping-pong",
        Limit::Most(1.05),
        ping_pong,
    ));
    let stream = spread("fast,-coalesce", STREAM);
    let what = "packets per 8 B message, stream, uncoalesced";
    report.goal(Goal::new(what, Limit::Most(1.15), stream));
    report.plot("packets", Plot::Bars(draw(&contenders, &all)));
    Ok(())
}

fn draw(contenders: &[Contender], all: &Measurements) -> BarPlot {
    let group = |what: &str| {
        let bar = |who: &Contender| Bar {
            name: who.title(),
            figure: all.median(&who.name, what).ok_or_else(|| cell(who, None)),
        };
        (what.to_owned(), contenders.iter().map(bar).collect())
    };
    BarPlot {
        title: "Packets per message of 8 bytes".to_owned(),
        subtitle: "everything that crosses the interface, acknowledgements too; lower is better"
            .to_owned(),
        unit: String::new(),
        groups: vec![group(PING_PONG), group(STREAM)],
    }
}
