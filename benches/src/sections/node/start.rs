//! How long a job takes that starts, meets in a barrier and ends.

use super::{AUTO, gather, peers, program, rows};
use crate::bench::{Bench, Missing, Program};
use crate::contender::kernel;
use crate::goal::{Goal, Limit};
use crate::measurements::Better;
use crate::report::Report;
use crate::sections::{figure_after, in_rounds_of, medians, ratios};

const RANKS: [usize; 2] = [2, 64];

fn what(ranks: usize) -> String {
    format!("{ranks} ranks")
}

pub(in crate::sections) fn run(bench: &Bench, report: &mut Report) -> Result<(), String> {
    let contenders = gather(bench, report);
    // It measures from before the launcher's start to after its end.
    let took = bench.binary(&kernel("took", "udp"), "took");
    let rounds = bench.options.rounds(5, 1);
    let how = bench.how(rounds);
    let all = in_rounds_of(rounds, (&RANKS, &contenders), |ranks, who, all| {
        let program = Program {
            wrapper: vec![took.clone().into()],
            ..program("start", *ranks, &[], 40)
        };
        let output = bench.run(who, &program);
        let met = figure_after(&output, "ranks: ").and_then(|met| match met == *ranks as f64 {
            true => Ok(()),
            false => Err(Missing::NoFigure(format!("only {met} ranks met"))),
        });
        let seconds = met.and_then(|()| figure_after(&output, "took: "));
        all.enter(&who.name, &what(*ranks), seconds);
    });
    let names = RANKS.map(what);
    let rows = rows(&names.each_ref().map(String::as_str));
    let shown = (&rows[..], &contenders[..]);
    let title = format!("start, barrier and stop, seconds, {how}");
    report.table(&medians(&title, "", shown, &all));
    report.table(&ratios(
        "start, barrier and stop (below 1 is better)",
        "",
        shown,
        &all,
    ));
    let ratio = all.ratio(AUTO, &peers(&contenders), &what(64), Better::Smaller);
    let name = "64 ranks start, barrier, stop / best peer";
    report.goal(Goal::new(name, Limit::Most(0.15), ratio));
    Ok(())
}
