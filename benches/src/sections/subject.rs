//! A C program that prints a figure for each message size, and what its figures mean.

use crate::bench::{Bench, Missing, Program};
use crate::contender::Contender;
use crate::measurements::{Better, Measurements, Round, Spread, lines_of};
use crate::plot::{LinePlot, Ticks};
use crate::report::Report;
use crate::table::{Table, short};

use super::picture::line_plot;
use super::{medians, ratios};

/// The ways of `latency.c` to measure, in the order of its figures. A goal counts for the worst of
/// those that its subject has.
pub(super) const WAYS: &[&str] = &[
    "one buffer",
    "separate buffers",
    "one buffer, touched",
    "separate buffers, touched",
];
/// The way that pictures show: what most programs do.
const SHOWN: &str = "separate buffers";

#[derive(Debug)]
pub(super) struct Subject {
    /// The C program; the sizes are its words.
    pub(super) program: &'static str,
    /// What its figures are.
    pub(super) unit: &'static str,
    pub(super) better: Better,
    /// Bytes of the messages; none if the program does not ask for them.
    pub(super) sizes: &'static [u32],
    /// The names of the figures in a line; none if there is one, which needs no name.
    pub(super) ways: &'static [&'static str],
}

/// Where somebody is furthest behind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Worst {
    /// Bytes.
    pub(super) size: u32,
    /// How it was measured; empty if there is one way.
    pub(super) way: &'static str,
    /// The ratio.
    pub(super) ratio: Spread,
}

impl Subject {
    /// The ways to measure; one without a name if there is only one.
    fn ways(&self) -> &'static [&'static str] {
        if self.ways.is_empty() {
            &[""]
        } else {
            self.ways
        }
    }

    /// The name of a figure among the measurements, for subjects measured in one way.
    pub(super) fn what(&self, size: impl ToString) -> String {
        self.what_in(size, self.ways()[0])
    }

    /// The name of a figure that was measured in this way.
    pub(super) fn what_in(&self, size: impl ToString, way: &str) -> String {
        let name = format!("{} {} {way}", self.program, size.to_string());
        name.trim_end().to_owned()
    }

    fn rows(&self, way: &str) -> Vec<(String, String)> {
        if self.sizes.is_empty() {
            return vec![("-".to_owned(), self.what_in(0, way))];
        }
        let row = |size: &u32| (size.to_string(), self.what_in(size, way));
        self.sizes.iter().map(row).collect()
    }

    /// The words of the program.
    pub(super) fn words(&self) -> Vec<String> {
        self.sizes.iter().map(ToString::to_string).collect()
    }

    /// Runs the program and notes the figures of each size. A program that prints one figure, a
    /// probe of the kernel, has measured what stands for all ways.
    pub(super) fn run(
        &self,
        bench: &Bench,
        (who, program): (&Contender, &Program),
        all: &mut Measurements,
    ) {
        let output = match bench.run(who, program) {
            Ok(output) => output,
            Err(why) => return self.lack(who, &why, all),
        };
        for (size, figures) in lines_of(&output) {
            let alone = figures.len() == 1;
            for (index, way) in self.ways().iter().enumerate() {
                if let Some(figure) = figures.get(if alone { 0 } else { index }) {
                    all.note(&who.name, &self.what_in(&size, way), *figure);
                }
            }
        }
    }

    /// Says of each figure why it is missing.
    pub(super) fn lack(&self, who: &Contender, why: &Missing, all: &mut Measurements) {
        let sizes = if self.sizes.is_empty() {
            &[0]
        } else {
            self.sizes
        };
        for size in sizes {
            for way in self.ways() {
                all.lack(&who.name, &self.what_in(size, way), why);
            }
        }
    }

    /// The figures of all, a table for each way.
    pub(super) fn tell_figures(
        &self,
        report: &mut Report,
        (contenders, how): (&[Contender], &str),
        all: &Measurements,
    ) {
        for way in self.ways() {
            let title = format!("{} ({}){how}", self.title(way), self.unit);
            let rows = self.rows(way);
            report.table(&medians(&title, "bytes", (&rows, contenders), all));
        }
    }

    /// The figures of all, and ours beside each of theirs.
    pub(super) fn tell(
        &self,
        report: &mut Report,
        (contenders, how): (&[Contender], &str),
        all: &Measurements,
    ) {
        self.tell_figures(report, (contenders, &format!(", {how}")), all);
        let sense = match self.better {
            Better::Smaller => "below 1 is better",
            Better::Larger => "above 1 is better",
        };
        for way in self.ways() {
            let title = format!("{} ({sense})", self.title(way));
            let rows = self.rows(way);
            report.table(&ratios(&title, "bytes", (&rows, contenders), all));
        }
    }

    fn title(&self, way: &str) -> String {
        let comma = if way.is_empty() { "" } else { ", " };
        format!("{}{comma}{way}", self.program)
    }

    /// The size among these, and the way, at which `who` is furthest behind the best of `others`.
    pub(super) fn worst(
        &self,
        (who, others): (&str, &[&str]),
        sizes: &[u32],
        all: &Measurements,
    ) -> Option<Worst> {
        let ratio = |size: u32, way: &'static str| {
            let ratio = all.ratio(who, others, &self.what_in(size, way), self.better)?;
            Some(Worst { size, way, ratio })
        };
        let each = sizes
            .iter()
            .flat_map(|size| self.ways().iter().filter_map(|way| ratio(*size, way)));
        let by_median = |a: &Worst, b: &Worst| a.ratio.median.total_cmp(&b.ratio.median);
        match self.better {
            Better::Smaller => each.max_by(by_median),
            Better::Larger => each.min_by(by_median),
        }
    }

    /// The geometric mean over these sizes of `who` divided by the best of `others`, within each
    /// round, measured in the worst way; none in a round that lacks a size.
    pub(super) fn mean(
        &self,
        (who, others): (&str, &[&str]),
        sizes: &[u32],
        all: &Measurements,
    ) -> Option<Spread> {
        let of = |round: &Round, way: &str| {
            let log = |size: &u32| {
                let what = self.what_in(size, way);
                let best = round.best(others, &what, self.better)?;
                Some((round.get(who, &what)? / best).ln())
            };
            let logs: Vec<f64> = sizes.iter().map(log).collect::<Option<_>>()?;
            Some((logs.iter().sum::<f64>() / logs.len() as f64).exp())
        };
        let means = self
            .ways()
            .iter()
            .map(|way| all.spread(|round| of(round, way)));
        let by_median = |a: &Spread, b: &Spread| a.median.total_cmp(&b.median);
        match self.better {
            Better::Smaller => means.flatten().max_by(by_median),
            Better::Larger => means.flatten().min_by(by_median),
        }
    }

    /// What `who` reaches in each way, beside the best of `others`: medians over the rounds of
    /// figures, of the best figures, and of the ratios.
    pub(super) fn beside_best(
        &self,
        title: String,
        (who, others): (&str, &[&str]),
        all: &Measurements,
    ) -> Table {
        let columns = self
            .ways()
            .iter()
            .flat_map(|way| [*way, "best peer", "ratio"]);
        let columns = std::iter::once("bytes").chain(columns);
        let mut table = Table::new(title, columns.map(str::to_owned).collect());
        for size in self.sizes {
            let cells = |way: &&str| {
                let what = self.what_in(size, way);
                let best = all.spread(|round| round.best(others, &what, self.better));
                let ratio = all.ratio(who, others, &what, self.better);
                let spreads = [all.spread_of(who, &what), best, ratio];
                spreads.map(|spread| short(spread.map(|spread| spread.median)))
            };
            table.row(
                size.to_string(),
                self.ways().iter().flat_map(cells).collect(),
            );
        }
        table
    }

    /// The size that takes longest beside the next greater one, and the way: a ratio above 1 is a
    /// message that takes longer than a greater one.
    pub(super) fn least_monotone(&self, who: &str, all: &Measurements) -> Option<Worst> {
        let ratio = |pair: &[u32], way: &'static str| {
            let [less, more] = [pair[0], pair[1]].map(|size| self.what_in(size, way));
            let ratio =
                all.spread(|round| Some(round.get(who, &less)? / round.get(who, &more)?))?;
            Some(Worst {
                size: pair[0],
                way,
                ratio,
            })
        };
        let pairs = self.sizes.windows(2);
        pairs
            .flat_map(|pair| self.ways().iter().filter_map(move |way| ratio(pair, way)))
            .max_by(|a, b| a.ratio.median.total_cmp(&b.ratio.median))
    }

    /// A line for each contender, without title.
    pub(super) fn line_plot(&self, contenders: &[Contender], all: &Measurements) -> LinePlot {
        let ways = self.ways();
        let way = ways.iter().find(|way| **way == SHOWN).unwrap_or(&ways[0]);
        let what: Vec<String> = self.sizes.iter().map(|it| self.what_in(it, way)).collect();
        LinePlot {
            y: self.unit.to_owned(),
            ..line_plot(contenders, (Ticks::sizes(self.sizes), &what), all)
        }
    }
}

/// A size in words: `64 KiB`.
pub(super) fn bytes(size: u32) -> String {
    match size {
        size if size >= 1 << 20 => format!("{} MiB", size >> 20),
        size if size >= 1 << 10 => format!("{} KiB", size >> 10),
        size => format!("{size} B"),
    }
}

impl std::fmt::Display for Worst {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let comma = if self.way.is_empty() { "" } else { ", " };
        write!(f, "{}{comma}{}", bytes(self.size), self.way)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(better: Better, ways: &'static [&'static str]) -> Subject {
        Subject {
            program: "x",
            unit: "",
            better,
            sizes: &[1, 8, 64],
            ways,
        }
    }

    #[test]
    fn the_worst_size_is_where_we_are_furthest_behind() {
        let mut all = Measurements::default();
        all.begin_round();
        for (size, ours) in [(1, 5.0), (8, 20.0), (64, 10.0)] {
            all.note("ours", &format!("x {size}"), ours);
            all.note("theirs", &format!("x {size}"), 10.0);
        }
        let worst = |better| {
            let subject = subject(better, &[]);
            let worst = subject.worst(("ours", &["theirs"]), subject.sizes, &all);
            worst.map(|worst| (worst.to_string(), worst.ratio.median))
        };
        assert_eq!(worst(Better::Smaller), Some(("8 B".to_owned(), 2.0)));
        assert_eq!(worst(Better::Larger), Some(("1 B".to_owned(), 0.5)));
    }

    #[test]
    fn a_size_that_takes_longer_than_the_next_greater_one_is_found() {
        let subject = subject(Better::Smaller, &["a", "b"]);
        let mut all = Measurements::default();
        all.begin_round();
        for (size, a, b) in [(1, 1.0, 1.0), (8, 1.0, 3.0), (64, 4.0, 2.0)] {
            all.note("ours", &subject.what_in(size, "a"), a);
            all.note("ours", &subject.what_in(size, "b"), b);
        }
        let worst = subject.least_monotone("ours", &all).expect("measured");
        assert_eq!(
            (worst.to_string(), worst.ratio.median),
            ("8 B, b".to_owned(), 1.5)
        );
        assert_eq!(subject.least_monotone("theirs", &all), None);
    }

    #[test]
    fn ours_stands_beside_the_best_of_each_round() {
        let subject = subject(Better::Smaller, &["a", "b"]);
        let all = two_ways(&subject);
        let others: &[&str] = &["slow", "theirs"];
        let table = subject.beside_best("title".to_owned(), ("ours", others), &all);
        let text = table.to_string();
        let row = text.lines().nth(2).unwrap_or_default();
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(
            words,
            ["1", "4.00", "2.00", "2.00", "1.00", "2.00", "0.500"]
        );
    }

    /// Ours takes twice as long as the best in one way, half as long in the other.
    fn two_ways(subject: &Subject) -> Measurements {
        let mut all = Measurements::default();
        all.begin_round();
        for size in subject.sizes {
            for (way, ours) in [("a", 4.0), ("b", 1.0)] {
                let what = subject.what_in(size, way);
                all.note("ours", &what, ours);
                all.note("theirs", &what, 2.0);
                all.note("slow", &what, 90.0);
            }
        }
        all
    }

    #[test]
    fn the_worst_way_to_measure_counts() {
        let subject = subject(Better::Smaller, &["a", "b"]);
        let all = two_ways(&subject);
        let others: &[&str] = &["theirs", "slow"];
        let worst = subject
            .worst(("ours", others), &[8], &all)
            .expect("measured");
        assert_eq!(
            (worst.to_string(), worst.ratio.median),
            ("8 B, a".to_owned(), 2.0)
        );
        let mean = subject.mean(("ours", others), subject.sizes, &all);
        assert!(mean.is_some_and(|mean| (mean.median - 2.0).abs() < 1e-9));
    }

    #[test]
    fn the_mean_of_ratios_is_geometric_and_of_all_sizes_or_none() {
        let subject = subject(Better::Smaller, &["a", "b"]);
        let mut all = two_ways(&subject);
        all.note("ours", &subject.what_in(8, "a"), 0.5);
        let mean = |sizes: &[u32]| subject.mean(("ours", &["theirs"]), sizes, &all);
        // 2, 1/4 and 2 are 1 in the mean.
        assert!(mean(subject.sizes).is_some_and(|mean| (mean.median - 1.0).abs() < 1e-9));
        assert_eq!(mean(&[8, 9]), None);
    }
}
