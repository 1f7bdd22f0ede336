//! Figures by round, and the arithmetic of comparisons.
//!
//! Absolute figures move with the machine from minute to minute. What counts is a ratio taken
//! within one round, in which everybody runs back to back, and the median of it over the rounds.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Which way a figure improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Better {
    /// Latencies.
    Smaller,
    /// Rates and bandwidths.
    Larger,
}

/// The figures of one round, by contender and subject.
#[derive(Debug, Default, Clone)]
pub struct Round(BTreeMap<(String, String), f64>);

impl Round {
    /// The figure of `who` for `what`, unless it was not measured.
    #[must_use]
    pub fn get(&self, who: &str, what: &str) -> Option<f64> {
        self.0.get(&(who.to_owned(), what.to_owned())).copied()
    }

    /// The best figure that any of these reached.
    #[must_use]
    pub fn best(&self, of: &[&str], what: &str, better: Better) -> Option<f64> {
        let figures = of.iter().filter_map(|who| self.get(who, what));
        match better {
            Better::Smaller => figures.min_by(f64::total_cmp),
            Better::Larger => figures.max_by(f64::total_cmp),
        }
    }
}

/// What was measured, round by round.
#[derive(Debug, Default)]
pub struct Measurements {
    rounds: Vec<Round>,
    /// Why a figure is missing, by contender and subject; each reason once.
    reasons: BTreeMap<(String, String), Vec<String>>,
}

/// The middle of some figures, and between which bounds they lay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The middle.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The most.
    pub most: f64,
}

impl Spread {
    /// The spread of some figures; none has none.
    #[must_use]
    pub fn of(mut figures: Vec<f64>) -> Option<Self> {
        figures.sort_by(f64::total_cmp);
        let (least, most) = (*figures.first()?, *figures.last()?);
        let half = figures.len() / 2;
        let median = if figures.len() % 2 == 1 {
            figures[half]
        } else {
            f64::midpoint(figures[half - 1], figures[half])
        };
        Some(Self {
            median,
            least,
            most,
        })
    }
}

impl Measurements {
    /// Begins a round; what is noted from now on belongs to it.
    pub fn begin_round(&mut self) {
        self.rounds.push(Round::default());
    }

    /// Notes a figure of the present round.
    ///
    /// # Panics
    /// Before the first round.
    pub fn note(&mut self, who: &str, what: &str, figure: f64) {
        let round = self.rounds.last_mut().expect("a round has begun");
        round.0.insert((who.to_owned(), what.to_owned()), figure);
    }

    /// Says why a figure of the present round is missing.
    pub fn lack(&mut self, who: &str, what: &str, why: impl ToString) {
        let key = (who.to_owned(), what.to_owned());
        let reasons = self.reasons.entry(key).or_default();
        let why = why.to_string();
        if !reasons.contains(&why) {
            reasons.push(why);
        }
    }

    /// Notes a figure, or why it is missing.
    pub fn enter(&mut self, who: &str, what: &str, figure: Result<f64, impl ToString>) {
        match figure {
            Ok(figure) => self.note(who, what, figure),
            Err(why) => self.lack(who, what, why),
        }
    }

    /// Why the figure is missing in some of the rounds, as far as that was said.
    #[must_use]
    pub fn reason(&self, who: &str, what: &str) -> Option<String> {
        let reasons = self.reasons.get(&(who.to_owned(), what.to_owned()))?;
        Some(reasons.join(", "))
    }

    /// How many rounds have the figure, and how many rounds there were.
    #[must_use]
    pub fn count(&self, who: &str, what: &str) -> (usize, usize) {
        let has_figure = |round: &&Round| round.get(who, what).is_some();
        let count = self.rounds.iter().filter(has_figure).count();
        (count, self.rounds())
    }

    /// How many rounds there were.
    #[must_use]
    pub fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// The median over the rounds and between which bounds they lay.
    #[must_use]
    pub fn spread_of(&self, who: &str, what: &str) -> Option<Spread> {
        self.spread(|round| round.get(who, what))
    }

    /// The median over the rounds.
    #[must_use]
    pub fn median(&self, who: &str, what: &str) -> Option<f64> {
        self.spread_of(who, what).map(|spread| spread.median)
    }

    /// Something computed within each round, and its spread over those rounds that have it.
    pub fn spread(&self, of_round: impl Fn(&Round) -> Option<f64>) -> Option<Spread> {
        Spread::of(self.rounds.iter().filter_map(of_round).collect())
    }

    /// Those rounds alone for which `keeps` is true.
    #[must_use]
    pub fn only(&self, keeps: impl Fn(&Round) -> bool) -> Self {
        let rounds = self.rounds.iter().filter(|round| keeps(round));
        Self {
            rounds: rounds.cloned().collect(),
            reasons: self.reasons.clone(),
        }
    }

    /// `who` divided by the best of `others`, within each round.
    #[must_use]
    pub fn ratio(&self, who: &str, others: &[&str], what: &str, better: Better) -> Option<Spread> {
        self.spread(|round| Some(round.get(who, what)? / round.best(others, what, better)?))
    }

    /// The geometric mean of these ratios over several figures; of a round, those that it has.
    #[must_use]
    pub fn mean_ratio(
        &self,
        who: &str,
        others: &[&str],
        what: &[String],
        better: Better,
    ) -> Option<Spread> {
        self.spread(|round| {
            let ratio = |it: &String| Some(round.get(who, it)? / round.best(others, it, better)?);
            let logarithms: Vec<f64> = what.iter().filter_map(ratio).map(f64::ln).collect();
            let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
            (!logarithms.is_empty()).then(|| mean.exp())
        })
    }
}

/// The figures of lines `key figure...`; every other line is words.
#[must_use]
pub fn lines_of(output: &str) -> Vec<(String, Vec<f64>)> {
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let key = words.next()?;
        key.parse::<u64>().ok()?;
        let figures: Option<Vec<f64>> = words.map(|word| word.parse().ok()).collect();
        Some((key.to_owned(), figures.filter(|all| !all.is_empty())?))
    };
    output.lines().filter_map(row).collect()
}

/// The number behind these words, wherever they stand.
#[must_use]
pub fn number_after(output: &str, words: &str) -> Option<f64> {
    let rest = output.split_once(words)?.1;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(figures: &[(f64, f64)]) -> Measurements {
        let mut all = Measurements::default();
        for (ours, theirs) in figures {
            all.begin_round();
            all.note("ours", "8", *ours);
            all.note("theirs", "8", *theirs);
        }
        all
    }

    #[test]
    fn a_ratio_is_taken_within_a_round_and_the_median_over_rounds() {
        let all = rounds(&[(1.0, 2.0), (10.0, 20.0), (100.0, 100.0)]);
        let ratio = all.ratio("ours", &["theirs"], "8", Better::Smaller);
        assert_eq!(
            ratio,
            Some(Spread {
                median: 0.5,
                least: 0.5,
                most: 1.0
            })
        );
        assert_eq!(all.median("ours", "8"), Some(10.0));
    }

    #[test]
    fn the_best_of_several_depends_on_which_way_is_better() {
        let mut all = rounds(&[(6.0, 2.0)]);
        all.note("third", "8", 3.0);
        let median = |better| all.ratio("ours", &["theirs", "third", "absent"], "8", better);
        assert_eq!(median(Better::Smaller).map(|s| s.median), Some(3.0));
        assert_eq!(median(Better::Larger).map(|s| s.median), Some(2.0));
    }

    #[test]
    fn what_was_not_measured_has_no_figure_and_no_ratio() {
        let all = rounds(&[(1.0, 2.0)]);
        assert_eq!(all.median("ours", "1024"), None);
        assert_eq!(all.ratio("ours", &["absent"], "8", Better::Smaller), None);
        assert_eq!(Spread::of(Vec::new()), None);
    }

    #[test]
    fn a_reason_is_kept_once_beside_the_rounds_that_have_the_figure() {
        let mut all = rounds(&[(1.0, 2.0), (1.0, 2.0)]);
        all.begin_round();
        for _ in 0..2 {
            all.enter("ours", "8", Err::<f64, _>("too slow"));
        }
        all.enter("ours", "8", Err::<f64, _>("exit code 1"));
        all.enter("theirs", "8", Ok::<_, String>(2.0));
        assert_eq!(all.count("ours", "8"), (2, 3));
        assert_eq!(all.count("theirs", "8"), (3, 3));
        let reason = all.reason("ours", "8");
        assert_eq!(reason.as_deref(), Some("too slow, exit code 1"));
        assert_eq!(all.reason("theirs", "8"), None);
    }

    #[test]
    fn some_of_the_rounds_can_stand_alone() {
        let all = rounds(&[(1.0, 2.0), (10.0, 20.0), (100.0, 100.0)]);
        let late = all.only(|round| round.get("ours", "8").is_some_and(|it| it > 5.0));
        assert_eq!((late.rounds(), all.rounds()), (2, 3));
        assert_eq!(late.median("theirs", "8"), Some(60.0));
    }

    #[test]
    fn an_even_number_of_rounds_has_its_median_between_the_middle_two() {
        let spread = Spread::of(vec![4.0, 1.0, 2.0, 9.0]).expect("four figures");
        assert_eq!((spread.median, spread.least, spread.most), (3.0, 1.0, 9.0));
    }

    #[test]
    fn figures_are_read_from_lines_that_begin_with_a_number() {
        let output = "8 1.5\nnoise 7\n1024 2 3\n9\nfarm: 10 tasks in 0.1 s: 100 tasks/s\n";
        let expected = vec![
            ("8".to_owned(), vec![1.5]),
            ("1024".to_owned(), vec![2.0, 3.0]),
        ];
        assert_eq!(lines_of(output), expected);
        assert_eq!(number_after(output, " s: "), Some(100.0));
        assert_eq!(number_after(output, "absent"), None);
    }
}
