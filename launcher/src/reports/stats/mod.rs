//! What the ranks counted, for the end of the job: `mpirun --stats`.
//!
//! Each rank reports its counters in Finalize or Abort; one that dies reports nothing.

mod json;
mod table;

use std::cmp::Reverse;

use mpi_boot::protocol::{Counted, Measure};

use crate::cli::values;
use crate::failure::{Failure, printable};
use crate::reports::result_file::{self, Opener, ResultFile};

/// Above this share of packets sent again, in per cent of all, there is a note (a few are normal).
const NOTED_PERCENT: f64 = 1.0;

/// The most counters that are kept. Ranks have some 80; one that invents names is given no memory
/// for more.
const COLUMNS_MAX: usize = 512;

/// The arrays that the derived figures are made of, and the counters.
const SENT: &str = "rmpp_sent";
/// Counters of the packets of protocols that carry streams.
const PACKETS: [&str; 3] = [
    "gobackn_packets_sent",
    "unet_packets_sent",
    "sctp_packets_sent",
];
const MESSAGES: [&str; 2] = ["rmpp_messages_sent", "streams_messages_sent"];
const DATAGRAMS: &str = "udp_datagrams_sent";
const OVERFLOWED: &str = "udp_overflowed";

/// A counter of the job: its values by rank.
#[derive(Debug)]
struct Column {
    name: String,
    array: String,
    measure: Measure,
    /// What programs of the same rank that have ended counted, and what the present one counts.
    by_rank: Vec<Option<Value>>,
}

/// A script may run several programs, one after the other, on one channel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Value {
    before: u64,
    now: u64,
}

/// The least, the greatest and the sum over the ranks that reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    sum: u64,
    /// The number, and the first rank that has it.
    least: (u64, usize),
    greatest: (u64, usize),
}

impl Column {
    fn join(&self, a: u64, b: u64) -> u64 {
        match self.measure {
            Measure::Peak => a.max(b),
            _ => a.saturating_add(b),
        }
    }

    /// `None` if no rank reported.
    fn extent(&self) -> Option<Extent> {
        let values = self.by_rank.iter().zip(0..);
        let values = values.filter_map(|(value, rank)| Some(((*value)?, rank)));
        let values = values.map(|(value, rank)| (self.join(value.before, value.now), rank));
        Some(Extent {
            sum: values
                .clone()
                .map(|it| it.0)
                .reduce(|a, b| self.join(a, b))?,
            least: values.clone().min()?,
            greatest: values.max_by_key(|(value, rank)| (*value, Reverse(*rank)))?,
        })
    }
}

/// What follows from the counters.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Derived {
    packets: u64,
    datagrams: u64,
    repeated: u64,
    overflowed: u64,
    packets_per_message: Option<f64>,
    repeated_percent: Option<f64>,
}

impl Derived {
    fn is_lossy(&self) -> bool {
        self.repeated_percent.is_some_and(|it| it > NOTED_PERCENT)
    }
}

/// The counters of all ranks.
#[derive(Debug)]
pub struct Statistics {
    ranks: usize,
    columns: Vec<Column>,
}

impl Statistics {
    /// Of a job of `ranks` ranks; nobody has reported.
    pub fn new(ranks: usize) -> Statistics {
        Statistics {
            ranks,
            columns: Vec::new(),
        }
    }

    /// A program of this rank is in Init: it begins to count.
    pub fn begin(&mut self, rank: u32) {
        for column in &mut self.columns {
            if let Some(value) = column.by_rank[rank as usize] {
                let before = column.join(value.before, value.now);
                column.by_rank[rank as usize] = Some(Value { before, now: 0 });
            }
        }
    }

    /// What a rank has counted since it began.
    pub fn hear(&mut self, rank: u32, counters: &[Counted]) {
        for (place, counted) in counters.iter().enumerate() {
            let Some(place) = self.place_of(counted, place) else {
                continue;
            };
            let value = &mut self.columns[place].by_rank[rank as usize];
            value.get_or_insert_default().now = counted.value;
        }
    }

    /// Which column has this name; all ranks report in the same order, so it is likely `guess`.
    /// `None` if there is no room for another one.
    fn place_of(&mut self, counted: &Counted, guess: usize) -> Option<usize> {
        let is_it = |column: &Column| column.name == counted.name;
        if self.columns.get(guess).is_some_and(is_it) {
            return Some(guess);
        }
        let place = self.columns.iter().position(is_it);
        place.or_else(|| {
            (self.columns.len() < COLUMNS_MAX).then(|| {
                self.columns.push(Column {
                    name: printable(&counted.name),
                    array: printable(&counted.array),
                    measure: counted.measure,
                    by_rank: vec![None; self.ranks],
                });
                self.columns.len() - 1
            })
        })
    }

    /// How many ranks have reported.
    fn reported(&self) -> usize {
        let has_reported = |rank: &usize| self.columns.iter().any(|it| it.by_rank[*rank].is_some());
        (0..self.ranks).filter(has_reported).count()
    }

    fn are_zero(&self) -> bool {
        let mut extents = self.columns.iter().filter_map(Column::extent);
        extents.all(|extent| extent.greatest.0 == 0)
    }

    fn sum(&self, is_meant: impl Fn(&Column) -> bool) -> u64 {
        let meant = self.columns.iter().filter(|column| is_meant(column));
        meant.filter_map(Column::extent).map(|it| it.sum).sum()
    }

    fn derived(&self) -> Derived {
        let packets = self.sum(|column| column.array == SENT || PACKETS.contains(&&*column.name));
        let repeated = self.sum(|column| column.measure == Measure::Repeats);
        let messages = self.sum(|column| MESSAGES.contains(&&*column.name));
        let ratio = |a: u64, b: u64| (b > 0).then(|| a as f64 / b as f64);
        Derived {
            packets,
            datagrams: self.sum(|column| column.name == DATAGRAMS),
            repeated,
            overflowed: self.sum(|column| column.name == OVERFLOWED),
            packets_per_message: ratio(packets, messages).filter(|_| packets > 0),
            repeated_percent: ratio(repeated, packets).map(|it| 100.0 * it),
        }
    }
}

/// The statistics, and where they go.
#[derive(Debug)]
pub struct Recorder {
    pub(crate) statistics: Statistics,
    is_json: bool,
    file: Option<ResultFile>,
}

impl Recorder {
    /// Opens the file, if there is to be one: better now than when the job has run for hours.
    ///
    /// # Errors
    ///
    /// A failure that names the file.
    pub(crate) fn new(
        wish: &values::Stats,
        ranks: usize,
        opener: &mut Opener,
    ) -> Result<Recorder, Failure> {
        let file = wish.file.as_ref();
        let file = file.map(|path| opener.open("--stats=", path, result_file::anew()));
        Ok(Recorder {
            statistics: Statistics::new(ranks),
            is_json: wish.is_json,
            file: file.transpose()?,
        })
    }

    /// The end of the job: returns what remains to be shown on standard error.
    ///
    /// # Errors
    ///
    /// A line for the user if the file cannot be written.
    pub(crate) fn finish(self) -> Result<String, String> {
        let text = match self.is_json {
            true => json::text(&self.statistics),
            false => table::text(&self.statistics),
        };
        match self.file {
            None => Ok(text),
            Some(mut file) => file.write_whole(text.as_bytes()).map(|()| String::new()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn counted(name: &str, array: &str, measure: Measure, value: u64) -> Counted {
        Counted {
            name: name.into(),
            array: array.into(),
            measure,
            value,
        }
    }

    fn count(name: &str, value: u64) -> Counted {
        counted(name, "", Measure::Count, value)
    }

    /// Two of three ranks report: ten messages and twelve packets each, some of them again.
    pub(super) fn two_of_three(repeated: u64) -> Statistics {
        let mut statistics = Statistics::new(3);
        for rank in [0, 2] {
            statistics.hear(
                rank,
                &[
                    count(MESSAGES[0], 10),
                    count(DATAGRAMS, 11),
                    counted("rmpp_sent_rts", SENT, Measure::Count, 8 + u64::from(rank)),
                    counted("rmpp_sent_gch", SENT, Measure::Count, 3),
                    counted("rmpp_repeated", "", Measure::Repeats, repeated),
                    counted("mpi_peak", "", Measure::Peak, 5 * u64::from(rank)),
                    counted("mpi_nothing", "", Measure::Count, 0),
                ],
            );
        }
        statistics
    }

    fn extent(statistics: &Statistics, name: &str) -> Extent {
        let column = statistics.columns.iter().find(|column| column.name == name);
        column.unwrap().extent().unwrap()
    }

    #[test]
    fn sum_least_and_greatest_are_those_of_the_ranks_that_reported() {
        let statistics = two_of_three(0);
        assert_eq!(statistics.reported(), 2);
        let rts = extent(&statistics, "rmpp_sent_rts");
        assert_eq!((rts.sum, rts.least, rts.greatest), (18, (8, 0), (10, 2)));
        let peak = extent(&statistics, "mpi_peak");
        assert_eq!((peak.sum, peak.least, peak.greatest), (10, (0, 0), (10, 2)));
    }

    #[test]
    fn a_later_report_replaces_an_earlier_and_a_second_program_adds() {
        let mut statistics = Statistics::new(1);
        let peak = |value| counted("p", "", Measure::Peak, value);
        statistics.hear(0, &[count("a", 3), peak(9)]);
        statistics.hear(0, &[count("a", 5), peak(9)]);
        assert_eq!(extent(&statistics, "a").sum, 5);
        statistics.begin(0);
        assert_eq!(extent(&statistics, "a").sum, 5);
        statistics.hear(0, &[count("a", 7), peak(4)]);
        assert_eq!(extent(&statistics, "a").sum, 12);
        assert_eq!(extent(&statistics, "p").sum, 9);
    }

    #[test]
    fn invented_names_take_no_memory_without_end() {
        let mut statistics = Statistics::new(1);
        for number in 0..10 * COLUMNS_MAX {
            statistics.hear(0, &[count(&format!("n{number}\x1b"), 1)]);
        }
        assert_eq!(statistics.columns.len(), COLUMNS_MAX);
    }

    #[test]
    fn ranks_of_different_builds_are_told_apart_by_the_names() {
        let mut statistics = Statistics::new(2);
        statistics.hear(0, &[count("a", 1), count("b", 2)]);
        statistics.hear(1, &[count("b", 4), count("c", 8)]);
        for (name, sum) in [("a", 1), ("b", 6), ("c", 8)] {
            assert_eq!(extent(&statistics, name).sum, sum, "{name}");
        }
    }

    #[test]
    fn packets_per_message_and_repeats_are_over_all_ranks() {
        let derived = two_of_three(6).derived();
        assert_eq!((derived.packets, derived.repeated), (24, 12));
        assert_eq!(derived.packets_per_message, Some(1.2));
        assert_eq!(derived.repeated_percent, Some(50.0));
        assert!(derived.is_lossy());
        let nothing = Statistics::new(1).derived();
        assert_eq!(
            (nothing.packets_per_message, nothing.is_lossy()),
            (None, false)
        );
    }
}
