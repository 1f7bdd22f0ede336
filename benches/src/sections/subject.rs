//! A C program that prints a figure for each message size, and what its figures mean.

use crate::bench::{Bench, Program};
use crate::contender::Contender;
use crate::measurements::{Better, Measurements, Spread, lines_of};
use crate::plot::{LinePlot, Series, Ticks};
use crate::report::Report;

use super::{medians, ratios};

#[derive(Debug)]
pub(super) struct Subject {
    /// The C program; the sizes are its words.
    pub(super) program: &'static str,
    /// What its figures are.
    pub(super) unit: &'static str,
    pub(super) better: Better,
    /// Bytes of the messages; none if the program does not ask for them.
    pub(super) sizes: &'static [u32],
}

impl Subject {
    /// The name of a figure among the measurements.
    pub(super) fn what(&self, size: impl ToString) -> String {
        format!("{} {}", self.program, size.to_string())
    }

    pub(super) fn rows(&self) -> Vec<(String, String)> {
        if self.sizes.is_empty() {
            return vec![("-".to_owned(), self.what(0))];
        }
        let row = |size: &u32| (size.to_string(), self.what(size));
        self.sizes.iter().map(row).collect()
    }

    /// The words of the program.
    pub(super) fn words(&self) -> Vec<String> {
        self.sizes.iter().map(ToString::to_string).collect()
    }

    /// Runs the program and notes the figure of each size.
    pub(super) fn run(
        &self,
        bench: &Bench,
        (who, program): (&Contender, &Program),
        all: &mut Measurements,
    ) {
        for (size, figures) in lines_of(&bench.run(who, program).unwrap_or_default()) {
            all.note(&who.name, &self.what(size), figures[0]);
        }
    }

    /// The figures of all, and ours beside each of theirs.
    pub(super) fn tell(
        &self,
        report: &mut Report,
        (contenders, how): (&[Contender], &str),
        all: &Measurements,
    ) {
        let rows = self.rows();
        let shown = (&rows[..], contenders);
        let title = format!("{} ({}), {how}", self.program, self.unit);
        report.table(&medians(&title, "bytes", shown, all));
        let sense = match self.better {
            Better::Smaller => "below 1 is better",
            Better::Larger => "above 1 is better",
        };
        let title = format!("{} ({sense})", self.program);
        report.table(&ratios(&title, "bytes", shown, all));
    }

    /// The size among these at which `who` is furthest behind the best of `others`, and its ratio.
    pub(super) fn worst_size(
        &self,
        (who, others): (&str, &[&str]),
        sizes: &[u32],
        all: &Measurements,
    ) -> Option<(u32, Spread)> {
        let ratio = |size: &u32| {
            let spread = all.ratio(who, others, &self.what(size), self.better)?;
            Some((*size, spread))
        };
        let by_median = |a: &(u32, Spread), b: &(u32, Spread)| a.1.median.total_cmp(&b.1.median);
        let ratios = sizes.iter().filter_map(ratio);
        match self.better {
            Better::Smaller => ratios.max_by(by_median),
            Better::Larger => ratios.min_by(by_median),
        }
    }

    /// A line for each contender, without title.
    pub(super) fn line_plot(&self, contenders: &[Contender], all: &Measurements) -> LinePlot {
        let series = |who: &Contender| {
            let figure = |size: &u32| all.median(&who.name, &self.what(size));
            let point = |size: &u32| Some((f64::from(*size), figure(size)?));
            Series {
                name: who.title(),
                points: self.sizes.iter().filter_map(point).collect(),
            }
        };
        LinePlot {
            title: String::new(),
            subtitle: String::new(),
            x: Ticks::sizes(self.sizes),
            y: self.unit.to_owned(),
            series: contenders.iter().map(series).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_size_is_where_we_are_furthest_behind() {
        let mut all = Measurements::default();
        all.begin_round();
        for (size, ours) in [(1, 5.0), (8, 20.0), (64, 10.0)] {
            all.note("ours", &format!("x {size}"), ours);
            all.note("theirs", &format!("x {size}"), 10.0);
        }
        let subject = |better| Subject {
            program: "x",
            unit: "",
            better,
            sizes: &[1, 8, 64],
        };
        let worst = |better| {
            let subject = subject(better);
            let worst = subject.worst_size(("ours", &["theirs"]), subject.sizes, &all);
            worst.map(|(size, spread)| (size, spread.median))
        };
        assert_eq!(worst(Better::Smaller), Some((8, 2.0)));
        assert_eq!(worst(Better::Larger), Some((1, 0.5)));
    }
}
