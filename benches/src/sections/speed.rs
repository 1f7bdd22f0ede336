//! Latency, bandwidth, message rate and farm, where nothing is lost.

use std::time::Duration;

use super::picture::bar;
use super::subject::{Subject, WAYS, Worst};
use super::{figure_after, in_rounds, medians, plot_name};
use crate::bench::{Bench, Program};
use crate::contender::{Contender, auto, kernel, ours};
use crate::goal::{Goal, Limit};
use crate::measurements::{Better, Measurements, lines_of};
use crate::place::{LOOPBACK, Network, Place, check_networks};
use crate::plot::{BarPlot, LinePlot, Plot};
use crate::report::Report;

const LATENCY: Subject = Subject {
    program: "latency",
    unit: "half round trip, us",
    better: Better::Smaller,
    sizes: &[
        0, 8, 64, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288,
        1_048_576, 4_194_304,
    ],
    ways: WAYS,
};
/// The sizes of the goals beside TCP on packets smaller than those of the loopback.
const FROM_8_B_TO_1_MIB: [u32; 14] = [
    8, 64, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072, 262_144, 524_288,
    1_048_576,
];
const BANDWIDTH: Subject = Subject {
    program: "bandwidth",
    unit: "16 in flight, MB/s",
    better: Better::Larger,
    sizes: &[1024, 8192, 65_536, 262_144, 1_048_576, 4_194_304],
    ways: &[],
};
const RATE: Subject = Subject {
    program: "rate",
    unit: "64 in flight, messages/s",
    better: Better::Larger,
    sizes: &[8, 1024],
    ways: &[],
};
const FARM: Subject = Subject {
    program: "farm",
    unit: "1 master, 1 worker, 30 KiB tasks, tasks/s",
    better: Better::Larger,
    sizes: &[],
    ways: &[],
};
const SUBJECTS: [Subject; 4] = [LATENCY, BANDWIDTH, RATE, FARM];

/// Bytes of a segment, of which the best stands for what UDP can carry.
const SEGMENTS: [u32; 3] = [1400, 8192, LONGEST_SEGMENT];
const LONGEST_SEGMENT: u32 = 65_000;
/// Of an IPv4 and a UDP header.
const HEADERS_BYTES: u32 = 28;

/// The segments that a packet of this network can carry.
fn segments(network: Network) -> impl Iterator<Item = u32> {
    let fits = move |segment: &u32| segment + HEADERS_BYTES <= network.mtu_bytes;
    SEGMENTS.into_iter().filter(fits)
}

fn segment_name(segment: impl std::fmt::Display) -> String {
    format!("segments of {segment} B")
}

const RAW: [(&str, &str); 2] = [("raw UDP", "udp"), ("raw TCP", "tcp")];

/// The program that measures the same without MPI.
fn probe(subject: &Subject, protocol: &str) -> Option<&'static str> {
    match (subject.program, protocol) {
        ("latency", "udp") => Some("udp_probe"),
        ("latency", _) => Some("tcp_probe"),
        ("bandwidth", "udp") => Some("udp_blast"),
        ("bandwidth", _) => Some("tcp_blast"),
        _ => None,
    }
}

/// The program with which this contender is measured, and the words behind it.
fn program(subject: &Subject, network: Network, who: &Contender) -> Option<Program> {
    let name = if who.is_kernel() {
        probe(subject, who.protocol)?
    } else {
        subject.program
    };
    let words: Vec<String> = match name {
        "farm" => ["20000", "30720", "1024", "2"].map(str::to_owned).to_vec(),
        "udp_blast" => segments(network).map(|it| it.to_string()).collect(),
        "udp_probe" => {
            let segment = (network.mtu_bytes - HEADERS_BYTES).min(LONGEST_SEGMENT);
            let segment = std::iter::once(segment.to_string());
            segment.chain(subject.words()).collect()
        }
        _ => subject.words(),
    };
    // The loopback as it comes is there without root.
    let place = match network {
        LOOPBACK => Place::Machine,
        network => Place::Own(network),
    };
    Some(Program {
        place,
        ..Program::new(name, &words)
    })
}

fn measure(
    (subject, network): (&Subject, Network),
    bench: &Bench,
    who: &Contender,
    all: &mut Measurements,
) {
    let Some(program) = program(subject, network, who) else {
        return;
    };
    let program = Program {
        limit: Duration::from_secs(bench.options.choose(60, 30)),
        ..program
    };
    match program.name {
        "farm" => {
            let output = bench.run(who, &program);
            all.enter(&who.name, &subject.what(0), figure_after(&output, " s: "));
        }
        // What UDP carries does not depend on the size of anybody's messages.
        "udp_blast" => {
            let output = bench.run(who, &program).unwrap_or_default();
            let lines = lines_of(&output);
            for (segment, figures) in &lines {
                all.note(&who.name, &segment_name(segment), figures[0]);
            }
            if let Some(best) = lines.iter().map(|line| line.1[0]).reduce(f64::max) {
                for size in subject.sizes {
                    all.note(&who.name, &subject.what(size), best);
                }
            }
        }
        _ => subject.run(bench, (who, &program), all),
    }
}

fn measure_all(bench: &Bench, network: Network, (who, all): (&Contender, &mut Measurements)) {
    for subject in &SUBJECTS {
        measure((subject, network), bench, who, all);
    }
}

fn takers(subject: &Subject, all: &[Contender]) -> Vec<Contender> {
    let takes_part = |who: &&Contender| program(subject, LOOPBACK, who).is_some();
    all.iter().filter(takes_part).cloned().collect()
}

fn raw() -> impl Iterator<Item = Contender> {
    RAW.iter().map(|(name, protocol)| kernel(name, protocol))
}

pub(super) fn run(bench: &Bench, report: &mut Report, network: Network) -> Result<(), String> {
    if network != LOOPBACK {
        check_networks()?;
    }
    let mut contenders = bench.contenders(&["fast", "classic"]);
    contenders.extend(raw());
    let rounds = bench.options.rounds(7, 2);
    report.set_origin(bench.origin(rounds, &contenders));
    let all = in_rounds(rounds, &contenders, |who, all| {
        measure_all(bench, network, (who, all));
    });
    let how = format!("{network}, {}", bench.how(rounds));
    for subject in &SUBJECTS {
        subject.tell(report, (&takers(subject, &contenders), &how), &all);
    }
    let row = |segment| (segment_name(segment), segment_name(segment));
    let rows: Vec<_> = segments(network).map(row).collect();
    let blast = [kernel(RAW[0].0, RAW[0].1)];
    let title = format!("what UDP carries, MB/s received, {how}; the best stands for raw UDP");
    report.table(&medians(&title, "", (&rows, &blast), &all));
    if network == LOOPBACK {
        set_goals(report, &all, &bench.peer_names());
    } else {
        set_goals_beside_tcp(report, &all);
    }
    draw(report, network, (&contenders, &how), &all);
    Ok(())
}

/// The figures of mpi-lite and of the kernel, without peers and without ratios.
pub fn alone(bench: &Bench, report: &mut Report) {
    let contenders: Vec<_> = [auto(), ours("fast"), ours("classic")]
        .into_iter()
        .chain(raw())
        .collect();
    let all = in_rounds(1, &contenders, |who, all| {
        measure_all(bench, LOOPBACK, (who, all));
    });
    for subject in &SUBJECTS {
        subject.tell_figures(report, (&takers(subject, &contenders), ""), &all);
    }
}

fn set_goals(report: &mut Report, all: &Measurements, peers: &[&str]) {
    let against = |subject: &Subject, size: u32, others: &[&str]| {
        let worst = subject.worst(("fast", others), &[size], all)?;
        Some(worst.ratio)
    };
    let mut goal = |what: &str, limit, measured| report.goal(Goal::new(what, limit, measured));
    let raw = ["raw UDP"];
    let short = "half round trip of 8 B / ";
    goal(
        &format!("{short}raw spinning UDP"),
        Limit::Most(1.15),
        against(&LATENCY, 8, &raw),
    );
    goal(
        &format!("{short}best TCP peer"),
        Limit::Most(0.75),
        against(&LATENCY, 8, peers),
    );
    let worst = LATENCY.worst(("fast", peers), LATENCY.sizes, all);
    let what = format!(
        "half round trip, worst ({}) / best TCP peer",
        place_of(worst)
    );
    goal(&what, Limit::Most(0.9), worst.map(|worst| worst.ratio));
    let what = "rate of 8 B messages / best TCP peer";
    goal(what, Limit::Least(15.0), against(&RATE, 8, peers));
    let million = all.spread(|round| Some(round.get("fast", &RATE.what(8))? / 1e6));
    goal("rate of 8 B messages, M/s", Limit::Least(3.0), million);
    for (size, name) in [(1_048_576, "1 MiB"), (4_194_304, "4 MiB")] {
        let what = format!("bandwidth at {name} / ");
        let over = against(&BANDWIDTH, size, &raw);
        goal(&format!("{what}raw UDP blast"), Limit::Least(0.85), over);
        let over = against(&BANDWIDTH, size, peers);
        goal(&format!("{what}best TCP peer"), Limit::Least(1.0), over);
    }
}

/// Where we are furthest behind, in words.
fn place_of(worst: Option<Worst>) -> String {
    worst.map_or_else(|| "any size".to_owned(), |worst| worst.to_string())
}

/// Beside Open MPI, whose way over TCP is the usual one on an Ethernet.
fn set_goals_beside_tcp(report: &mut Report, all: &Measurements) {
    let beside = ("fast", &["Open MPI tcp"][..]);
    let worst = LATENCY.worst(beside, &FROM_8_B_TO_1_MIB, all);
    report.goal(Goal::new(
        format!("8 B to 1 MiB, worst ({}) / Open MPI tcp", place_of(worst)),
        Limit::Most(0.95),
        worst.map(|worst| worst.ratio),
    ));
    report.goal(Goal::new(
        "8 B to 1 MiB, geometric mean / Open MPI tcp",
        Limit::Most(0.6),
        LATENCY.mean(beside, &FROM_8_B_TO_1_MIB, all),
    ));
}

fn draw(
    report: &mut Report,
    network: Network,
    (contenders, how): (&[Contender], &str),
    all: &Measurements,
) {
    let how = format!("two ranks, UDP and TCP over loopback, {how}");
    let latency = LinePlot {
        title: "Latency over message size".to_owned(),
        subtitle: format!("{how}, separate buffers; lower is better"),
        y: "half round trip, µs".to_owned(),
        ..LATENCY.line_plot(contenders, all)
    };
    report.plot(plot_name("latency", network), Plot::Lines(latency));
    let bandwidth = LinePlot {
        title: "Bandwidth over message size".to_owned(),
        subtitle: format!("{how}; higher is better"),
        y: "MB/s with 16 messages in flight".to_owned(),
        ..BANDWIDTH.line_plot(contenders, all)
    };
    report.plot(plot_name("bandwidth", network), Plot::Lines(bandwidth));
    let bar = |who: &Contender| bar(who, &RATE.what(8), all);
    let rate = BarPlot {
        title: "Messages of 8 bytes per second".to_owned(),
        subtitle: format!("{how}; higher is better"),
        unit: "/s".to_owned(),
        groups: vec![(
            "one way, 64 in flight".to_owned(),
            takers(&RATE, contenders).iter().map(bar).collect(),
        )],
    };
    report.plot(plot_name("rate", network), Plot::Bars(rate));
}
