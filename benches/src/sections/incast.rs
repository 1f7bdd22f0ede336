//! Eight ranks send to one, beside one that sends as much.

use std::time::Duration;

use super::{in_rounds, medians};
use crate::bench::{Bench, Program};
use crate::contender::Contender;
use crate::goal::{Goal, Limit};
use crate::measurements::{Measurements, lines_of};
use crate::place::{LOOPBACK, Network, Place, check_networks};
use crate::report::Report;

const MANY: &str = "8 to 1, MB/s";
const ONE: &str = "1 to 1, MB/s";
const FIRST: &str = "8 to 1, datagrams dropped by sockets in the first round";
const LATER: &str = "8 to 1, datagrams dropped in all later rounds";

/// The loopback as it comes has packets of 64 KiB in bursts; those of the others come one by one
/// and fill a socket's buffer with less data.
fn in_packets(network: Network) -> Network {
    match network {
        LOOPBACK => network,
        network => network.like_a_wire(),
    }
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
        place: Place::Own(in_packets(network)),
        limit: Duration::from_secs(20),
        ..Program::new("incast", &["1048576".to_owned(), rounds])
    };
    let output = bench.run(who, &program).ok()?;
    let (_, figures) = lines_of(&output).into_iter().next()?;
    figures.try_into().ok()
}

fn measure(bench: &Bench, network: Network, (who, all): (&Contender, &mut Measurements)) {
    if let Some([one, ..]) = goodput(bench, who, (1, network)) {
        all.note(&who.name, ONE, one);
    }
    let Some([many, first, later]) = goodput(bench, who, (8, network)) else {
        return;
    };
    all.note(&who.name, MANY, many);
    // TCP has no datagrams.
    if who.protocol == "udp" {
        all.note(&who.name, FIRST, first);
        all.note(&who.name, LATER, later);
    }
}

pub(super) fn run(bench: &Bench, report: &mut Report, network: Network) -> Result<(), String> {
    check_networks()?;
    let contenders = bench.contenders(&["fast", "fast,-budget", "classic"]);
    let rounds = bench.options.rounds(3, 1);
    let how = bench.how(rounds);
    let all = in_rounds(rounds, &contenders, |who, all| {
        measure(bench, network, (who, all));
    });
    let rows = [ONE, MANY, FIRST, LATER].map(|what| (what.to_owned(), what.to_owned()));
    let packets = in_packets(network);
    let title = format!("incast, messages of 1 MiB, 8 in flight in all, {packets}, {how}");
    report.table(&medians(&title, "", (&rows, &contenders), &all));
    let kept = all.spread(|round| Some(round.get("fast", MANY)? / round.get("fast", ONE)?));
    let what = "8-to-1 incast of 1 MiB / one to one";
    report.goal(Goal::new(what, Limit::Least(0.9), kept));
    let drops = all.spread(|round| round.get("fast", LATER));
    let what = "incast, socket drops after the first round";
    report.goal(Goal::new(what, Limit::Most(0.0), drops));
    Ok(())
}
