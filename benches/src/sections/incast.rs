//! Eight ranks send to one, beside one that sends as much.

use std::time::Duration;

use super::{in_rounds, medians, medians_of};
use crate::bench::{Bench, Program};
use crate::contender::Contender;
use crate::goal::{Goal, Limit};
use crate::measurements::{Measurements, lines_of};
use crate::place::{LOOPBACK, Place, check_networks};
use crate::report::Report;

const MANY: &str = "8 to 1, MB/s";
const ONE: &str = "1 to 1, MB/s";
const FIRST: &str = "8 to 1, datagrams dropped by sockets in the first round";
const LATER: &str = "8 to 1, datagrams dropped in all later rounds";

/// Goodput of messages of 1 MiB in MB/s, and datagrams dropped in the first and in later rounds.
pub(super) fn goodput(bench: &Bench, who: &Contender, senders: usize) -> Option<[f64; 3]> {
    let rounds = bench.options.choose("12", "5").to_owned();
    let program = Program {
        ranks: senders + 1,
        place: Place::Own(LOOPBACK),
        limit: Duration::from_secs(20),
        ..Program::new("incast", &["1048576".to_owned(), rounds])
    };
    let output = bench.run(who, &program)?;
    let (_, figures) = lines_of(&output).into_iter().next()?;
    figures.try_into().ok()
}

fn measure(bench: &Bench, who: &Contender, all: &mut Measurements) {
    if let Some([one, ..]) = goodput(bench, who, 1) {
        all.note(&who.name, ONE, one);
    }
    if let Some([many, first, later]) = goodput(bench, who, 8) {
        all.note(&who.name, MANY, many);
        // TCP has no datagrams.
        if who.protocol == "udp" {
            all.note(&who.name, FIRST, first);
            all.note(&who.name, LATER, later);
        }
    }
}

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<(), String> {
    check_networks()?;
    let contenders = bench.contenders(&["fast", "fast,-budget", "classic"]);
    let rounds = bench.options.rounds(3, 1);
    let how = medians_of(rounds);
    let all = in_rounds(rounds, &contenders, |who, all| measure(bench, who, all));
    let rows = [ONE, MANY, FIRST, LATER].map(|name| (name.to_owned(), name.to_owned()));
    let title = format!("incast, messages of 1 MiB, 8 in flight in all, {how}");
    report.table(&medians(&title, "", (&rows, &contenders), &all));
    let kept = all.spread(|round| Some(round.get("fast", MANY)? / round.get("fast", ONE)?));
    report.goal(Goal::new(
        "8-to-1 incast of 1 MiB / one to one",
        Limit::Least(0.9),
        kept,
    ));
    let drops = all.spread(|round| round.get("fast", LATER));
    let what = "incast, socket drops after the first round";
    report.goal(Goal::new(what, Limit::Most(0.0), drops));
    Ok(())
}
