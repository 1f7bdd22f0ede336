//! Latency, bandwidth and message rate of two ranks, beside what a cache line's way costs alone.

use super::{AUTO, gather, peers, program};
use crate::bench::{Bench, Program};
use crate::contender::{Contender, kernel};
use crate::goal::{Goal, Limit};
use crate::measurements::{Better, Measurements, lines_of};
use crate::plot::{BarPlot, LinePlot, Plot};
use crate::report::Report;
use crate::sections::in_rounds_of;
use crate::sections::picture::bar;
use crate::sections::subject::{Subject, WAYS, Worst};

/// What everybody sends through caches, and what is worth copying from both sides.
const SHORT: [u32; 18] = [
    0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536,
];
const LONG: [u32; 3] = [262_144, 1_048_576, 4_194_304];

const LATENCY: Subject = Subject {
    program: "latency",
    unit: "half round trip, us",
    better: Better::Smaller,
    sizes: &[
        0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768, 65_536,
        262_144, 1_048_576, 4_194_304,
    ],
    ways: WAYS,
};
const BANDWIDTH: Subject = Subject {
    program: "bandwidth",
    unit: "16 in flight, MB/s",
    better: Better::Larger,
    sizes: &[1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304],
    ways: &[],
};
const RATE: Subject = Subject {
    program: "rate",
    unit: "64 in flight, messages/s",
    better: Better::Larger,
    sizes: &[8],
    ways: &[],
};

/// One cache line between the two cores, without MPI.
const LINE: &str = "raw cache line";

fn line() -> Contender {
    kernel(LINE, "udp")
}

/// Nanoseconds of a cache line's way, now: it changes from minute to minute, since the virtual
/// cores move about their host.
fn probe(bench: &Bench) -> Option<f64> {
    let output = bench.run(&line(), &Program::new("line_probe", &[])).ok()?;
    Some(lines_of(&output).first()?.1[0])
}

/// The raw probe stands before and behind ours.
fn measure(bench: &Bench, (subject, who): (&Subject, &Contender), all: &mut Measurements) {
    let words = subject.words();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // Ranks that spin on one core, because somebody else has the other, are slow but not absent.
    let program = program(subject.program, 2, &words, 120);
    let is_probed = subject.program == LATENCY.program && who.name == AUTO;
    let look = || if is_probed { probe(bench) } else { None };
    let before = look();
    subject.run(bench, (who, &program), all);
    if let (Some(before), Some(after)) = (before, look()) {
        let middle_us = f64::midpoint(before, after) / 1e3;
        for way in WAYS {
            all.note(LINE, &LATENCY.what_in(8, way), middle_us);
        }
    }
}

pub(in crate::sections) fn run(bench: &Bench, report: &mut Report) -> Result<(), String> {
    let contenders = gather(bench, report);
    let rounds = bench.options.rounds(15, 4);
    report.set_origin(bench.origin(rounds, &contenders));
    let how = bench.how(rounds);
    let subjects = [LATENCY, BANDWIDTH, RATE];
    let all = in_rounds_of(rounds, (&subjects, &contenders), |subject, who, all| {
        measure(bench, (subject, who), all);
    });
    let with_line = [&contenders[..], &[line()]].concat();
    LATENCY.tell(report, (&with_line, &how), &all);
    BANDWIDTH.tell(report, (&contenders, &how), &all);
    RATE.tell(report, (&contenders, &how), &all);
    set_goals(report, &all, &peers(&contenders));
    draw(report, (&contenders, &with_line), &all, &how);
    Ok(())
}

/// Every goal of a latency counts for the worst way to measure it.
fn set_goals(report: &mut Report, all: &Measurements, peers: &[&str]) {
    let mut goal = |what: &str, limit, measured| report.goal(Goal::new(what, limit, measured));
    let worst = |sizes: &[u32]| LATENCY.worst((AUTO, peers), sizes, all);
    let ratio = |worst: Option<Worst>| worst.map(|worst| worst.ratio);
    let place = |worst: Option<Worst>| {
        worst.map_or_else(|| "any size".to_owned(), |worst| worst.to_string())
    };
    let eight = worst(&[8]);
    let what = format!("half round trip ({}) / best peer", place(eight));
    goal(&what, Limit::Most(0.75), ratio(eight));
    // The touching of 8 bytes is no more than a nanosecond or two of it.
    let above = |way: &str| {
        let eight = LATENCY.what_in(8, way);
        all.spread(|round| Some((round.get(AUTO, &eight)? - round.get(LINE, &eight)?) * 1e3))
    };
    goal(
        "8 B half round trip, ns above a raw cache line",
        Limit::Most(60.0),
        WAYS.iter()
            .filter_map(|way| above(way))
            .max_by(|a, b| a.median.total_cmp(&b.median)),
    );
    let short = worst(&SHORT);
    let what = format!("to 64 KiB, worst ({}) / best peer", place(short));
    goal(&what, Limit::Most(1.0), ratio(short));
    goal(
        "0 B to 64 KiB, geometric mean / best peer",
        Limit::Most(0.8),
        LATENCY.mean((AUTO, peers), &SHORT, all),
    );
    for size in LONG {
        let here = worst(&[size]);
        let what = format!("half round trip ({}) / best peer", place(here));
        goal(&what, Limit::Most(0.55), ratio(here));
    }
    let rate = all.ratio(AUTO, peers, &RATE.what(8), Better::Larger);
    goal("rate of 8 B messages / best peer", Limit::Least(1.15), rate);
}

fn draw(
    report: &mut Report,
    (contenders, with_line): (&[Contender], &[Contender]),
    all: &Measurements,
    how: &str,
) {
    let how = format!("two ranks on one machine, {how}");
    let latency = LinePlot {
        title: "Latency over message size, one machine".to_owned(),
        subtitle: format!("{how}, separate buffers; lower is better"),
        y: "half round trip, µs".to_owned(),
        ..LATENCY.line_plot(with_line, all)
    };
    report.plot("node-latency", Plot::Lines(latency));
    let bandwidth = LinePlot {
        title: "Bandwidth over message size, one machine".to_owned(),
        subtitle: format!("{how}; higher is better"),
        y: "MB/s with 16 messages in flight".to_owned(),
        ..BANDWIDTH.line_plot(contenders, all)
    };
    report.plot("node-bandwidth", Plot::Lines(bandwidth));
    let bar = |who: &Contender| bar(who, &RATE.what(8), all);
    let rate = BarPlot {
        title: "Messages of 8 bytes per second, one machine".to_owned(),
        subtitle: format!("{how}; higher is better"),
        unit: "/s".to_owned(),
        groups: vec![(
            "one way, 64 in flight".to_owned(),
            contenders.iter().map(bar).collect(),
        )],
    };
    report.plot("node-rate", Plot::Bars(rate));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_goal_is_about_a_size_that_is_measured() {
        let sizes: Vec<u32> = SHORT.iter().chain(&LONG).copied().collect();
        assert_eq!(sizes, LATENCY.sizes);
    }
}
