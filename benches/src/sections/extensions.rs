//! What each extension of the fast profile is worth: everything measured without it.

use std::time::Duration;

use super::{in_rounds, incast, packets};
use crate::bench::{Bench, Program};
use crate::contender::{Contender, ours};
use crate::measurements::{Better, Measurements, lines_of, number_after};
use crate::place::{LOOPBACK, Network, Place, check_networks};
use crate::profile::{extensions, without};
use crate::report::Report;
use crate::table::{Table, short};

/// Names of columns: a figure each, `-` where less is better, `+` where more is.
const LATENCIES: [(&str, &str); 3] = [
    ("8", "8 B us -"),
    ("65536", "64 KiB us -"),
    ("1048576", "1 MiB us -"),
];
const BANDWIDTH: &str = "1 MiB MB/s +";
const RATE: &str = "8 B msg/s +";
const PACKETS: &str = "packets/8 B -";
const FARM: &str = "farm 1 % +";
const LONG: &str = "1 MiB 1 % us -";
const INCAST: &str = "incast MB/s +";

fn columns() -> Vec<&'static str> {
    let latencies = LATENCIES.iter().map(|(_, name)| *name);
    latencies
        .chain([BANDWIDTH, RATE, PACKETS, FARM, LONG, INCAST])
        .collect()
}

fn program(network: Network, name: &'static str, words: &[&str]) -> Program {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    let place = match network {
        LOOPBACK => Place::Machine,
        network => Place::Own(network),
    };
    Program {
        place,
        limit: Duration::from_secs(15),
        ..Program::new(name, &words)
    }
}

fn measure(bench: &Bench, network: Network, (who, all): (&Contender, &mut Measurements)) {
    let program = |name, words: &[&str]| program(network, name, words);
    let sizes = LATENCIES.map(|(size, _)| size);
    for (size, figures) in lines_of(
        &bench
            .run(who, &program("latency", &sizes))
            .unwrap_or_default(),
    ) {
        let (_, name) = LATENCIES
            .iter()
            .find(|known| known.0 == size)
            .expect("asked for");
        all.note(&who.name, name, figures[0]);
    }
    let first = |program: &Program| {
        let output = bench.run(who, program).ok()?;
        Some(lines_of(&output).first()?.1[0])
    };
    let lossy = |name, words: &[&str]| Program {
        place: Place::Own(network.like_a_wire().losing(1.0)),
        limit: Duration::from_secs(8),
        ..program(name, words)
    };
    let budget = bench.options.choose("2", "0.5");
    let farm = lossy("farm", &["2000", "30720", "1024", budget]);
    let figures = [
        (BANDWIDTH, first(&program("bandwidth", &["1048576"]))),
        (RATE, first(&program("rate", &["8"]))),
        (PACKETS, packets::count_stream(bench, network, who)),
        (
            FARM,
            bench
                .run(who, &farm)
                .ok()
                .and_then(|output| number_after(&output, " s: ")),
        ),
        (LONG, first(&lossy("roundtrips", &["1048576", budget]))),
        (
            INCAST,
            incast::goodput(bench, who, (8, network)).map(|figures| figures[0]),
        ),
    ];
    for (what, figure) in figures {
        if let Some(figure) = figure {
            all.note(&who.name, what, figure);
        }
    }
}

pub(super) fn run(bench: &Bench, report: &mut Report, network: Network) -> Result<(), String> {
    check_networks()?;
    let mut contenders = vec![ours("fast"), ours("classic")];
    contenders.extend(extensions().map(|(name, _)| ours(&without(name))));
    let rounds = bench.options.rounds(3, 1);
    let how = bench.how(rounds);
    let all = in_rounds(rounds, &contenders, |who, all| {
        measure(bench, network, (who, all));
    });
    let title = format!(
        "each extension off: first line figures of fast, then figures divided by those of fast, \
         {network}, {how}\n(- less is better, + more is better)"
    );
    let names = std::iter::once("profile").chain(columns());
    let mut table = Table::new(title, names.map(str::to_owned).collect());
    let figures = columns()
        .into_iter()
        .map(|what| short(all.median("fast", what)));
    table.row("fast", figures.collect());
    for who in &contenders[1..] {
        let ratio = |what: &str| {
            let spread = all.ratio(&who.name, &["fast"], what, Better::Larger);
            short(spread.map(|spread| spread.median))
        };
        table.row(
            who.name.as_str(),
            columns().into_iter().map(ratio).collect(),
        );
    }
    report.table(&table);
    for (name, what) in extensions() {
        report.line(&format!("  {name:<10} {what}"));
    }
    report.line("");
    Ok(())
}
