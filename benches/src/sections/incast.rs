//! Eight ranks send to one, beside one that sends as much.

use std::time::Duration;

use super::{in_rounds, medians};
use crate::bench::{Bench, Program};
use crate::contender::Contender;
use crate::goal::{Goal, Limit};
use crate::measurements::{Measurements, Round, lines_of};
use crate::place::{ETHERNET, LOOPBACK, Network, Place, check_networks};
use crate::report::Report;

const MANY: &str = "8 to 1, MB/s";
const ONE: &str = "1 to 1, MB/s";
const FIRST: &str = "8 to 1, datagrams dropped by sockets in the first round";
const LATER: &str = "8 to 1, datagrams dropped in all later rounds";

/// Packets of 64 KiB in bursts; and an Ethernet's, which fill a socket's buffer with less data.
const NETWORKS: [(&str, Network); 2] = [("loopback", LOOPBACK), ("MTU 1500", ETHERNET)];

fn noted(what: &str, network: &str) -> String {
    format!("{network}: {what}")
}

/// Goodput of messages of 1 MiB in MB/s, and datagrams dropped in the first and in later rounds.
pub(super) fn goodput(
    bench: &Bench,
    who: &Contender,
    (senders, network): (usize, Network),
) -> Option<[f64; 3]> {
    let rounds = bench.options.choose("12", "5").to_owned();
    let program = Program {
        ranks: senders + 1,
        place: Place::Own(network),
        limit: Duration::from_secs(20),
        ..Program::new("incast", &["1048576".to_owned(), rounds])
    };
    let output = bench.run(who, &program)?;
    let (_, figures) = lines_of(&output).into_iter().next()?;
    figures.try_into().ok()
}

fn measure(bench: &Bench, who: &Contender, all: &mut Measurements) {
    for (name, network) in NETWORKS {
        if let Some([one, ..]) = goodput(bench, who, (1, network)) {
            all.note(&who.name, &noted(ONE, name), one);
        }
        let Some([many, first, later]) = goodput(bench, who, (8, network)) else {
            continue;
        };
        all.note(&who.name, &noted(MANY, name), many);
        // TCP has no datagrams.
        if who.protocol == "udp" {
            all.note(&who.name, &noted(FIRST, name), first);
            all.note(&who.name, &noted(LATER, name), later);
        }
    }
}

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<(), String> {
    check_networks()?;
    let contenders = bench.contenders(&["fast", "fast,-budget", "classic"]);
    let rounds = bench.options.rounds(3, 1);
    let how = bench.how(rounds);
    let all = in_rounds(rounds, &contenders, |who, all| measure(bench, who, all));
    let row = |network: &str, what: &str| (noted(what, network), noted(what, network));
    let rows: Vec<_> = NETWORKS
        .iter()
        .flat_map(|(name, _)| [ONE, MANY, FIRST, LATER].map(|what| row(name, what)))
        .collect();
    let title = format!("incast, messages of 1 MiB, 8 in flight in all, {how}");
    report.table(&medians(&title, "", (&rows, &contenders), &all));
    for (name, _) in NETWORKS {
        let of = |round: &Round, what| round.get("fast", &noted(what, name));
        let kept = all.spread(|round| Some(of(round, MANY)? / of(round, ONE)?));
        let what = format!("{name}: 8-to-1 incast of 1 MiB / one to one");
        report.goal(Goal::new(what, Limit::Least(0.9), kept));
        let drops = all.spread(|round| of(round, LATER));
        let what = format!("{name}: incast, socket drops after the first round");
        report.goal(Goal::new(what, Limit::Most(0.0), drops));
    }
    Ok(())
}
