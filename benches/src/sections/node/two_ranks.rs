//! Latency, bandwidth and message rate of two ranks, beside what a cache line's way costs alone.

use super::nearness::{LINE, between_looks, line, tell_apart};
use super::{AUTO, gather, peers, program};
use crate::bench::Bench;
use crate::contender::Contender;
use crate::goal::{Goal, Limit};
use crate::measurements::{Better, Measurements, Spread};
use crate::plot::{BarPlot, LinePlot, Plot};
use crate::report::Report;
use crate::sections::in_rounds_of;
use crate::sections::picture::bar;
use crate::sections::subject::{Subject, WAYS, Worst, bytes};

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
/// The ways that goals are about: a buffer for sending and one for receiving, as in most programs.
const UNTOUCHED: Subject = Subject {
    ways: &[WAYS[1]],
    ..LATENCY
};
const TOUCHED: Subject = Subject {
    ways: &[WAYS[3]],
    ..LATENCY
};
const BOTH: Subject = Subject {
    ways: &[WAYS[1], WAYS[3]],
    ..LATENCY
};
/// A size may take so many times what the next greater one takes: figures of equal sizes differ.
const MONOTONE: f64 = 1.03;

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
    sizes: &[8, 1024, 65_536],
    ways: &[],
};

/// A latency stands between two looks at the raw line; those about ours make the line's figure.
fn measure(bench: &Bench, (subject, who): (&Subject, &Contender), all: &mut Measurements) {
    let words = subject.words();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // Ranks that spin on one core, because somebody else has the other, are slow but not absent.
    let program = program(subject.program, 2, &words, 120);
    if subject.program != LATENCY.program {
        return subject.run(bench, (who, &program), all);
    }
    let line_ns = between_looks(bench, who, all, |all| {
        subject.run(bench, (who, &program), all);
    });
    if let (AUTO, Some(ns)) = (who.name.as_str(), line_ns) {
        for way in WAYS {
            all.note(LINE, &LATENCY.what_in(8, way), ns / 1e3);
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
    tell_apart(report, (&BOTH, &contenders, &how), &all);
    BANDWIDTH.tell(report, (&contenders, &how), &all);
    RATE.tell(report, (&contenders, &how), &all);
    set_goals(report, &all, &peers(&contenders));
    draw(report, (&contenders, &with_line), &all, &how);
    Ok(())
}

fn set_goals(report: &mut Report, all: &Measurements, peers: &[&str]) {
    let mut goal = |what: &str, limit, measured| report.goal(Goal::new(what, limit, measured));
    let eight = BOTH.worst((AUTO, peers), &[8], all);
    let what = format!("half round trip ({}) / best peer", place(eight));
    goal(&what, Limit::Most(0.75), ratio(eight));
    let above = |way: &str| {
        let eight = LATENCY.what_in(8, way);
        all.spread(|round| Some((round.get(AUTO, &eight)? - round.get(LINE, &eight)?) * 1e3))
    };
    // The touching of 8 bytes is no more than a nanosecond or two of it.
    goal(
        "8 B half round trip, ns above a raw cache line",
        Limit::Most(60.0),
        WAYS.iter()
            .filter_map(|way| above(way))
            .max_by(|a, b| a.median.total_cmp(&b.median)),
    );
    for subject in [UNTOUCHED, TOUCHED] {
        let beside = (AUTO, peers);
        for (sizes, most) in [(&SHORT[..], 0.9), (&LONG[..], 1.0)] {
            let worst = subject.worst(beside, sizes, all);
            let what = format!("{}, worst ({}) / best peer", range(sizes), place(worst));
            goal(&what, Limit::Most(most), ratio(worst));
        }
        let (sizes, way) = (subject.sizes, subject.ways[0]);
        let what = format!("{}, {way}, geometric mean / best peer", range(sizes));
        let mean = subject.mean(beside, sizes, all);
        goal(&what, Limit::Most(0.7), mean);
        let longer = subject.least_monotone(AUTO, all);
        let what = format!("{} / the next greater size", place(longer));
        goal(&what, Limit::Most(MONOTONE), ratio(longer));
    }
    for (size, least) in [(8, 1.15), (65_536, 1.1)] {
        let rate = all.ratio(AUTO, peers, &RATE.what(size), Better::Larger);
        let what = format!("rate of {} messages / best peer", bytes(size));
        goal(&what, Limit::Least(least), rate);
    }
}

fn ratio(worst: Option<Worst>) -> Option<Spread> {
    worst.map(|worst| worst.ratio)
}

fn place(worst: Option<Worst>) -> String {
    worst.map_or_else(|| "any size".to_owned(), |worst| worst.to_string())
}

fn range(sizes: &[u32]) -> String {
    let ends = [sizes.first(), sizes.last()].map(|end| end.copied().unwrap_or_default());
    format!("{} to {}", bytes(ends[0]), bytes(ends[1]))
}

fn draw(
    report: &mut Report,
    (contenders, with_line): (&[Contender], &[Contender]),
    all: &Measurements,
    how: &str,
) {
    let how = format!("two ranks on one machine, {how}");
    for (name, subject) in [("", UNTOUCHED), ("-touched", TOUCHED)] {
        let latency = LinePlot {
            title: "Latency over message size, one machine".to_owned(),
            subtitle: format!("{how}, {}; lower is better", subject.ways[0]),
            y: "half round trip, µs".to_owned(),
            ..subject.line_plot(with_line, all)
        };
        report.plot(format!("node-latency{name}"), Plot::Lines(latency));
    }
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
        assert!([8, 65_536].iter().all(|size| RATE.sizes.contains(size)));
    }
}
