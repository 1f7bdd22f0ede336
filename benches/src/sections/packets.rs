//! How many packets a message needs, counted by the network interface.

use std::time::Duration;

use super::picture::bar;
use super::{in_rounds, medians, plot_name};
use crate::bench::{Bench, Missing, Program};
use crate::contender::{Contender, counting};
use crate::goal::{Goal, Limit};
use crate::measurements::{Measurements, lines_of};
use crate::origin::LEAST_ROUNDS;
use crate::place::{Network, Place, check_networks};
use crate::plot::{BarPlot, Plot};
use crate::report::Report;

/// Bytes of the messages.
const SIZES: [u32; 4] = [8, 1024, 2048, 32_768];
const PING_PONG: &str = "ping-pong, per direction";
const STREAM: &str = "stream, 64 in flight";

fn what(size: u32, subject: &str) -> String {
    format!("{size} B, {subject}")
}

fn program(network: Network, sizes: &[u32]) -> Program {
    let words: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    Program {
        place: Place::Own(network.like_a_wire()),
        limit: Duration::from_secs(30),
        ..Program::new("packets", &words)
    }
}

/// What the ranks themselves counted with messages of 8 bytes, in the words of `mpirun --stats`:
/// the interface does not know what was sent again.
fn own_count(bench: &Bench, network: Network, profile: &str) -> Option<String> {
    let program = program(network, &[8]);
    let outcome = bench.job(&counting(profile), &program).run();
    let mut lines = outcome.stderr.lines().map(str::trim);
    lines
        .find(|line| line.starts_with("packets:"))
        .map(str::to_owned)
}

/// Packets per message of each size: in a ping-pong, in a stream.
fn count_sizes(
    bench: &Bench,
    network: Network,
    (who, sizes): (&Contender, &[u32]),
) -> Result<Vec<(u32, f64, f64)>, Missing> {
    let output = bench.run(who, &program(network, sizes))?;
    let line = |(size, figures): (String, Vec<f64>)| {
        Some((size.parse().ok()?, *figures.first()?, *figures.get(1)?))
    };
    Ok(lines_of(&output).into_iter().filter_map(line).collect())
}

/// Packets per message of 8 bytes in a stream.
pub(super) fn count_stream(bench: &Bench, network: Network, who: &Contender) -> Option<f64> {
    let counted = count_sizes(bench, network, (who, &[8])).ok()?;
    Some(counted.first()?.2)
}

pub(super) fn run(bench: &Bench, report: &mut Report, network: Network) -> Result<(), String> {
    check_networks()?;
    let contenders = bench.contenders(&["fast", "fast,-coalesce", "classic"]);
    let rounds = bench.options.rounds(LEAST_ROUNDS, 1);
    report.set_origin(bench.origin(rounds, &contenders));
    let how = bench.how(rounds);
    let all = in_rounds(rounds, &contenders, |who, all| {
        match count_sizes(bench, network, (who, &SIZES)) {
            Ok(counted) => {
                for (size, ping_pong, stream) in counted {
                    all.note(&who.name, &what(size, PING_PONG), ping_pong);
                    all.note(&who.name, &what(size, STREAM), stream);
                }
            }
            Err(why) => {
                for size in SIZES {
                    all.lack(&who.name, &what(size, PING_PONG), &why);
                    all.lack(&who.name, &what(size, STREAM), &why);
                }
            }
        }
    });
    let row = |size: u32, subject| (what(size, subject), what(size, subject));
    let rows = SIZES.map(|size| [PING_PONG, STREAM].map(|subject| row(size, subject)));
    let wire = network.like_a_wire();
    let title = format!("packets per message, counted by the interface ({wire}), {how}");
    report.table(&medians(
        &title,
        "",
        (rows.as_flattened(), &contenders),
        &all,
    ));
    for profile in ["fast", "classic"] {
        let counted = own_count(bench, network, profile).unwrap_or_else(|| "nothing".to_owned());
        report.line(&format!("mpirun --stats, {profile}: {counted}"));
    }
    report.line("");
    set_goals(report, &all);
    let plot = Plot::Bars(draw(network, &contenders, &all));
    report.plot(plot_name("packets", network), plot);
    Ok(())
}

fn set_goals(report: &mut Report, all: &Measurements) {
    let spread = |who, subject: &str| all.spread(|round| round.get(who, &what(8, subject)));
    let ping_pong = spread("fast", PING_PONG);
    report.goal(Goal::new(
        "packets per 8 B message, ping-pong",
        Limit::Most(1.05),
        ping_pong,
    ));
    let stream = spread("fast,-coalesce", STREAM);
    let name = "packets per 8 B message, stream, uncoalesced";
    report.goal(Goal::new(name, Limit::Most(1.15), stream));
}

fn draw(network: Network, contenders: &[Contender], all: &Measurements) -> BarPlot {
    let group = |subject: &str| {
        let bar = |who: &Contender| bar(who, &what(8, subject), all);
        (subject.to_owned(), contenders.iter().map(bar).collect())
    };
    BarPlot {
        title: "Packets per message of 8 bytes".to_owned(),
        subtitle: format!(
            "{}; everything that crosses the interface, acknowledgements too; lower is better",
            network.like_a_wire()
        ),
        unit: String::new(),
        groups: vec![group(PING_PONG), group(STREAM)],
    }
}
