//! Latency, bandwidth, message rate and farm, where nothing is lost.

use std::time::Duration;

use super::{Rows, in_rounds, medians, ratios};
use crate::bench::{Bench, Program};
use crate::contender::{Contender, kernel, ours};
use crate::goal::{Goal, Limit};
use crate::measurements::{Better, Measurements, Spread, lines_of, number_after};
use crate::plot::{Bar, BarPlot, LinePlot, Plot, Series, Ticks};
use crate::report::Report;

/// A C program, and what its figures mean.
#[derive(Debug)]
struct Subject {
    program: &'static str,
    unit: &'static str,
    better: Better,
    sizes: &'static [u32],
    /// The programs that measure the same without MPI, over UDP and over TCP.
    probes: Option<(&'static str, &'static str)>,
}

const LATENCY: Subject = Subject {
    program: "latency",
    unit: "half round trip, us",
    better: Better::Smaller,
    sizes: &[0, 8, 64, 1024, 8192, 65_536, 262_144, 1_048_576, 4_194_304],
    probes: Some(("udp_probe", "tcp_probe")),
};
const BANDWIDTH: Subject = Subject {
    program: "bandwidth",
    unit: "16 in flight, MB/s",
    better: Better::Larger,
    sizes: &[1024, 8192, 65_536, 262_144, 1_048_576, 4_194_304],
    probes: Some(("udp_blast", "tcp_blast")),
};
const RATE: Subject = Subject {
    program: "rate",
    unit: "64 in flight, messages/s",
    better: Better::Larger,
    sizes: &[8, 1024],
    probes: None,
};
const FARM: Subject = Subject {
    program: "farm",
    unit: "1 master, 1 worker, 30 KiB tasks, tasks/s",
    better: Better::Larger,
    sizes: &[],
    probes: None,
};
const SUBJECTS: [Subject; 4] = [LATENCY, BANDWIDTH, RATE, FARM];

/// Bytes of a segment, of which the best stands for what UDP can carry.
const SEGMENTS: [u32; 3] = [1400, 8192, 65_000];
fn segment_name(segment: impl std::fmt::Display) -> String {
    format!("segments of {segment} B")
}

const RAW: [(&str, &str); 2] = [("raw UDP", "udp"), ("raw TCP", "tcp")];

impl Subject {
    /// The name of a figure among the measurements.
    fn what(&self, size: impl ToString) -> String {
        format!("{} {}", self.program, size.to_string())
    }

    fn rows(&self) -> Vec<(String, String)> {
        if self.sizes.is_empty() {
            return vec![("-".to_owned(), self.what(0))];
        }
        let row = |size: &u32| (size.to_string(), self.what(size));
        self.sizes.iter().map(row).collect()
    }

    /// The program with which this contender is measured, and the words behind it.
    fn program(&self, who: &Contender) -> Option<Program> {
        let name = match (!who.is_kernel(), self.probes) {
            (true, _) => self.program,
            (false, Some((udp, tcp))) => {
                if who.protocol == "udp" {
                    udp
                } else {
                    tcp
                }
            }
            (false, None) => return None,
        };
        let words: Vec<String> = match name {
            "farm" => ["20000", "30720", "1024", "2"].map(str::to_owned).to_vec(),
            "udp_blast" => SEGMENTS.map(|segment| segment.to_string()).to_vec(),
            _ => self.sizes.iter().map(ToString::to_string).collect(),
        };
        Some(Program::new(name, &words))
    }

    fn measure(&self, bench: &Bench, who: &Contender, all: &mut Measurements) {
        let Some(program) = self.program(who) else {
            return;
        };
        let program = Program {
            limit: Duration::from_secs(bench.options.choose(40, 15)),
            ..program
        };
        let Some(output) = bench.run(who, &program) else {
            return;
        };
        let lines = lines_of(&output);
        match program.name {
            "farm" => {
                if let Some(rate) = number_after(&output, " s: ") {
                    all.note(&who.name, &self.what(0), rate);
                }
            }
            // What UDP carries does not depend on the size of anybody's messages.
            "udp_blast" => {
                for (segment, figures) in &lines {
                    all.note(&who.name, &segment_name(segment), figures[0]);
                }
                let best = lines.iter().map(|line| line.1[0]).fold(0.0, f64::max);
                for size in self.sizes {
                    all.note(&who.name, &self.what(size), best);
                }
            }
            _ => {
                for (size, figures) in lines {
                    all.note(&who.name, &self.what(size), figures[0]);
                }
            }
        }
    }

    fn contenders<'a>(&self, all: &'a [Contender]) -> Vec<Contender> {
        let takes_part = |who: &&'a Contender| self.program(who).is_some();
        all.iter().filter(takes_part).cloned().collect()
    }
}

fn raw() -> impl Iterator<Item = Contender> {
    RAW.iter().map(|(name, protocol)| kernel(name, protocol))
}

pub(super) fn run(bench: &Bench, report: &mut Report) -> Result<(), String> {
    let mut contenders = bench.contenders(&["fast", "classic"]);
    contenders.extend(raw());
    let rounds = bench.options.rounds(7, 2);
    let how = bench.how(rounds);
    let all = in_rounds(rounds, &contenders, |who, all| {
        for subject in &SUBJECTS {
            subject.measure(bench, who, all);
        }
    });
    for subject in &SUBJECTS {
        let contenders = subject.contenders(&contenders);
        let rows = subject.rows();
        let shown = (&rows[..], &contenders[..]);
        let title = format!("{} ({}), {how}", subject.program, subject.unit);
        report.table(&medians(&title, "bytes", shown, &all));
        let sense = match subject.better {
            Better::Smaller => "below 1 is better",
            Better::Larger => "above 1 is better",
        };
        let title = format!("{} ({sense})", subject.program);
        report.table(&ratios(&title, "bytes", shown, &all));
    }
    let rows = SEGMENTS.map(|segment| (segment_name(segment), segment_name(segment)));
    let blast = [kernel(RAW[0].0, RAW[0].1)];
    let title = format!("what UDP carries, MB/s received, {how}; the best stands for raw UDP");
    report.table(&medians(&title, "", (&rows, &blast), &all));
    set_goals(report, &all, &bench.peer_names());
    draw(report, &contenders, &all, &how);
    Ok(())
}

/// The figures of mpi-lite and of the kernel, without peers and without ratios.
pub fn alone(bench: &Bench, report: &mut Report) {
    let contenders: Vec<_> = [ours("fast"), ours("classic")]
        .into_iter()
        .chain(raw())
        .collect();
    let all = in_rounds(1, &contenders, |who, all| {
        for subject in &SUBJECTS {
            subject.measure(bench, who, all);
        }
    });
    for subject in &SUBJECTS {
        let contenders = subject.contenders(&contenders);
        let rows: Rows<'_> = &subject.rows();
        let title = format!("{} ({})", subject.program, subject.unit);
        report.table(&medians(&title, "bytes", (rows, &contenders), &all));
    }
}

/// The size at which we are furthest behind, and by how much.
fn worst_size(all: &Measurements, peers: &[&str]) -> Option<(u32, Spread)> {
    let ratio = |size: &u32| {
        let spread = all.ratio("fast", peers, &LATENCY.what(size), LATENCY.better)?;
        Some((*size, spread))
    };
    let ratios = LATENCY.sizes.iter().filter_map(ratio);
    ratios.max_by(|a, b| a.1.median.total_cmp(&b.1.median))
}

fn set_goals(report: &mut Report, all: &Measurements, peers: &[&str]) {
    let against = |subject: &Subject, size: u32, others: &[&str]| {
        all.ratio("fast", others, &subject.what(size), subject.better)
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
    let worst = worst_size(all, peers);
    let at = worst.map_or_else(|| "any size".to_owned(), |(size, _)| format!("{size} B"));
    let what = format!("half round trip at the worst size ({at}) / best TCP peer");
    goal(&what, Limit::Most(0.9), worst.map(|(_, spread)| spread));
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

fn line_plot(subject: &Subject, contenders: &[Contender], all: &Measurements) -> LinePlot {
    let series = |who: &Contender| {
        let point = |size: &u32| {
            Some((
                f64::from(*size),
                all.median(&who.name, &subject.what(size))?,
            ))
        };
        Series {
            name: who.title(),
            points: subject.sizes.iter().filter_map(point).collect(),
        }
    };
    LinePlot {
        title: String::new(),
        subtitle: String::new(),
        x: Ticks::sizes(subject.sizes),
        y: subject.unit.to_owned(),
        series: contenders.iter().map(series).collect(),
    }
}

fn draw(report: &mut Report, contenders: &[Contender], all: &Measurements, how: &str) {
    let how = format!("two ranks, UDP and TCP over loopback, {how}");
    let latency = LinePlot {
        title: "Latency over message size".to_owned(),
        subtitle: format!("{how}; lower is better"),
        y: "half round trip, µs".to_owned(),
        ..line_plot(&LATENCY, contenders, all)
    };
    report.plot("latency", Plot::Lines(latency));
    let bandwidth = LinePlot {
        title: "Bandwidth over message size".to_owned(),
        subtitle: format!("{how}; higher is better"),
        y: "MB/s with 16 messages in flight".to_owned(),
        ..line_plot(&BANDWIDTH, contenders, all)
    };
    report.plot("bandwidth", Plot::Lines(bandwidth));
    let bar = |who: &Contender| Bar {
        name: who.title(),
        figure: all
            .median(&who.name, &RATE.what(8))
            .ok_or_else(|| super::cell(who, None)),
    };
    let rate = BarPlot {
        title: "Messages of 8 bytes per second".to_owned(),
        subtitle: format!("{how}; higher is better"),
        unit: "/s".to_owned(),
        groups: vec![(
            "one way, 64 in flight".to_owned(),
            RATE.contenders(contenders).iter().map(bar).collect(),
        )],
    };
    report.plot("rate", Plot::Bars(rate));
}
