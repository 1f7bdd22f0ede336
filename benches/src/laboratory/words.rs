//! Sentences that state results. Each is computed from the figures.

use super::kept::{Outcome, Panel};
use super::transport::OURS;
use crate::measurements::{Better, Measurements, Round};
use crate::table::short;

/// Two figures that differ by less are level: figures of one machine move by as much.
const LEVEL: f64 = 1.05;
/// How many places a sentence lists.
const MOST_PLACES: usize = 6;
/// A factor above this only says that nothing compares.
const BY_FAR: f64 = 1000.0;

/// Fast RMPP beside the best other at one figure.
#[derive(Debug, Clone, PartialEq)]
enum Standing {
    /// How many times as good fast RMPP is, and the name of the best other.
    Beside(f64, String),
    /// No other has this figure.
    Alone,
    /// Fast RMPP has no figure.
    Missing(String),
}

/// How many times as good `ours` is as `other`: above 1 is better.
fn lead(ours: f64, other: f64, better: Better) -> f64 {
    let (upper, lower) = match better {
        Better::Smaller => (other, ours),
        Better::Larger => (ours, other),
    };
    if (upper - lower).abs() < f64::EPSILON {
        1.0
    } else if lower <= 0.0 {
        f64::INFINITY
    } else if upper <= 0.0 {
        0.0
    } else {
        upper / lower
    }
}

/// How many times as good `who` is as `other`, by the medians that the tables show. It is 1 if the
/// rounds, in each of which both ran back to back, turn the other way in the median.
fn lead_of(all: &Measurements, (who, other): (&str, &str), at: (&str, Better)) -> Option<f64> {
    let (what, better) = at;
    let shown = lead(all.median(who, what)?, all.median(other, what)?, better);
    let of_round =
        |round: &Round| Some(lead(round.get(who, what)?, round.get(other, what)?, better));
    let is_doubtful = all.spread(of_round).is_some_and(|rounds| {
        (shown > 1.0 && rounds.median < 1.0) || (shown < 1.0 && rounds.median > 1.0)
    });
    Some(if is_doubtful { 1.0 } else { shown })
}

fn standing(all: &Measurements, others: &[&str], at: (&str, Better)) -> Standing {
    let (what, better) = at;
    if all.median(OURS, what).is_none() {
        let why = all.reason(OURS, what);
        return Standing::Missing(why.unwrap_or_else(|| "not measured".to_owned()));
    }
    let medians = others
        .iter()
        .filter_map(|who| Some((all.median(who, what)?, *who)));
    let best = match better {
        Better::Smaller => medians.min_by(|a, b| a.0.total_cmp(&b.0)),
        Better::Larger => medians.max_by(|a, b| a.0.total_cmp(&b.0)),
    };
    let beside = best.and_then(|(_, who)| {
        let lead = lead_of(all, (OURS, who), at)?;
        Some(Standing::Beside(lead, who.to_owned()))
    });
    beside.unwrap_or(Standing::Alone)
}

/// `1.3 times`, or that nothing compares.
fn times(factor: f64) -> String {
    if factor > BY_FAR {
        "more than 1,000 times".to_owned()
    } else {
        format!("{} times", short(Some(factor)))
    }
}

/// The least and the most of some sorted factors, in brackets.
fn range(factors: &[f64]) -> String {
    match (factors.first(), factors.last()) {
        (Some(least), Some(most)) if least < most => {
            format!(" (by {} to {})", short(Some(*least)), times(*most))
        }
        (Some(factor), _) => format!(" (by {})", times(*factor)),
        _ => String::new(),
    }
}

fn place(panel: &Panel, subject: &str) -> String {
    format!("{}, {subject}", panel.title)
}

/// A list in which the last few may be counted only.
fn listed(places: &[String]) -> String {
    let shown = places.len().min(MOST_PLACES);
    let rest = match places.len() - shown {
        0 => String::new(),
        rest => format!("; and {rest} more in the tables"),
    };
    places[..shown].join("; ") + &rest
}

/// The places of fast RMPP, sorted by how it stands there.
#[derive(Debug, Default)]
struct Standings {
    /// By how many times it is ahead.
    ahead: Vec<f64>,
    level: usize,
    /// By how many times another is ahead, which one, and where.
    behind: Vec<(f64, String)>,
    alone: Vec<String>,
    missing: Vec<String>,
}

impl Standings {
    fn of(outcome: &Outcome, others: &[&str]) -> Self {
        let all = outcome.measurements();
        let mut it = Self::default();
        for panel in &outcome.panels {
            for subject in &panel.subjects {
                let at = place(panel, subject);
                match standing(&all, others, (&panel.what(subject), panel.better)) {
                    Standing::Beside(lead, _) if lead > LEVEL => it.ahead.push(lead),
                    Standing::Beside(lead, _) if lead * LEVEL >= 1.0 => it.level += 1,
                    Standing::Beside(lead, who) => {
                        let factor = 1.0 / lead;
                        let words = format!("{who} at \"{at}\" by {}", times(factor));
                        it.behind.push((factor, words));
                    }
                    Standing::Alone => it.alone.push(at),
                    Standing::Missing(why) => it.missing.push(format!("\"{at}\" ({why})")),
                }
            }
        }
        it.ahead.sort_by(f64::total_cmp);
        it.behind.sort_by(|a, b| b.0.total_cmp(&a.0));
        it
    }

    fn compared(&self) -> usize {
        self.ahead.len() + self.level + self.behind.len()
    }
}

/// How fast RMPP stands beside the best of the others, wherever both have a figure.
pub(super) fn distance(outcome: &Outcome) -> String {
    let others = outcome.contenders.iter().filter(|who| *who != OURS);
    let others: Vec<&str> = others.map(String::as_str).collect();
    if others.is_empty() {
        return "Nothing was measured beside fast RMPP: there is no distance to state.".to_owned();
    }
    let it = Standings::of(outcome, &others);
    let mut text = Vec::new();
    let count = it.compared();
    if count > 0 {
        text.push(format!(
            "Fast RMPP is ahead of the best of {} in {} of {count} figures{}, and not apart from \
             it in {}.",
            others.join(", "),
            it.ahead.len(),
            range(&it.ahead),
            it.level,
        ));
    }
    if !it.behind.is_empty() {
        let places: Vec<String> = it.behind.iter().map(|it| it.1.clone()).collect();
        text.push(format!(
            "Another is ahead in {}: {}.",
            places.len(),
            listed(&places)
        ));
    }
    if !it.alone.is_empty() {
        let places: Vec<String> = it.alone.iter().map(|at| format!("\"{at}\"")).collect();
        text.push(format!(
            "Only fast RMPP has a figure at {}.",
            listed(&places)
        ));
    }
    if !it.missing.is_empty() {
        text.push(format!(
            "Fast RMPP has no figure at {}.",
            listed(&it.missing)
        ));
    }
    text.join(" ")
}

/// By what each figure is multiplied from the first to the last tick of each axis, an item each.
pub(super) fn trends(outcome: &Outcome) -> Vec<String> {
    let all = outcome.measurements();
    let trend = |panel: &Panel| {
        panel.ticks.as_ref()?;
        let (first, last) = (panel.subjects.first()?, panel.subjects.last()?);
        let of = |who: &String| {
            let figure = |subject| all.median(who, &panel.what(subject));
            let factor = figure(first)
                .filter(|before| *before > 0.0)
                .and_then(|before| Some(figure(last)? / before));
            match factor {
                Some(factor) => format!("{who} {}", short(Some(factor))),
                None => format!("{who} has none"),
            }
        };
        let factors: Vec<String> = outcome.contenders.iter().map(of).collect();
        let (title, factors) = (&panel.title, factors.join(", "));
        Some(format!(
            "{title}: from {first} to {last} the factors are: {factors}."
        ))
    };
    outcome.panels.iter().filter_map(trend).collect()
}

/// What each other contender makes of the figures of fast RMPP: an item for each panel.
pub(super) fn worth(outcome: &Outcome) -> Vec<String> {
    let all = outcome.measurements();
    let of_panel = |panel: &Panel| {
        let what = panel.what(panel.subjects.first()?);
        let mut factors = Vec::new();
        let mut level = 0;
        for who in outcome.contenders.iter().filter(|who| *who != OURS) {
            match lead_of(&all, (OURS, who), (&what, panel.better)) {
                None => factors.push((f64::INFINITY, format!("{who} has no figure"))),
                Some(lead) if lead > LEVEL => {
                    factors.push((lead, format!("{who} is {} worse", times(lead))));
                }
                Some(lead) if lead * LEVEL >= 1.0 => level += 1,
                Some(lead) => {
                    factors.push((lead, format!("{who} is {} better", times(1.0 / lead))));
                }
            }
        }
        factors.sort_by(|a, b| b.0.total_cmp(&a.0));
        factors.iter_mut().for_each(|it| it.1.push_str("; "));
        let listed: String = factors.into_iter().map(|it| it.1).collect();
        Some(format!(
            "{}: {listed}not apart from fast RMPP: {level}.",
            panel.title
        ))
    };
    outcome.panels.iter().filter_map(of_panel).collect()
}

/// Whether the goal is reached.
pub(super) fn goal(outcome: &Outcome) -> Option<String> {
    let aim = outcome.goal.as_ref()?;
    let all = outcome.measurements();
    let least = aim.least;
    Some(match all.median(OURS, &aim.what) {
        Some(figure) if figure >= least => {
            let figure = short(Some(figure));
            format!("Fast RMPP reaches the goal of {least}: it has {figure}.")
        }
        Some(figure) => {
            let figure = short(Some(figure));
            format!("Fast RMPP misses the goal of {least}: it has {figure}.")
        }
        None => {
            let why = all
                .reason(OURS, &aim.what)
                .unwrap_or_else(|| "not measured".to_owned());
            format!("Fast RMPP has no figure beside the goal of {least}: {why}.")
        }
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::laboratory::kept::{Aim, Record};
    use crate::plot::Ticks;

    /// One panel over loss, whose figures are those of each contender at 0 and 2 %.
    pub(in crate::laboratory) fn outcome(
        better: Better,
        figures: &[(&str, [Result<f64, &str>; 2])],
    ) -> Outcome {
        let ticks = Ticks::steps("packets lost", &[0.0, 2.0], "%");
        let panel = Panel {
            name: "farm".to_owned(),
            title: "Farm".to_owned(),
            unit: "tasks/s".to_owned(),
            better,
            subjects: ticks.values.iter().map(|it| it.1.clone()).collect(),
            ticks: Some(ticks),
        };
        let record = |who: &str, subject: &str, figure: &Result<f64, &str>| Record {
            round: 0,
            who: who.to_owned(),
            what: panel.what(subject),
            figure: figure.map_err(str::to_owned),
        };
        let records = figures
            .iter()
            .flat_map(|(who, both)| [record(who, "0 %", &both[0]), record(who, "2 %", &both[1])]);
        Outcome {
            name: "farm".to_owned(),
            commands: vec!["mpirun -n 3 ./farm".to_owned()],
            contenders: figures.iter().map(|it| it.0.to_owned()).collect(),
            rounds: 1,
            took_s: 1.0,
            notes: Vec::new(),
            goal: Some(Aim {
                what: panel.what("2 %"),
                least: 80.0,
            }),
            records: records.collect(),
            panels: vec![panel],
        }
    }

    #[test]
    fn a_sentence_counts_wins_and_names_who_wins_elsewhere() {
        let figures = [
            ("rmpp", [Ok(90.0), Ok(80.0)]),
            ("tcp", [Ok(180.0), Ok(8.0)]),
        ];
        let text = distance(&outcome(Better::Larger, &figures));
        let expected = "Fast RMPP is ahead of the best of tcp in 1 of 2 figures (by 10.0 times), \
             and not apart from it in 0. Another is ahead in 1: tcp at \"Farm, 0 %\" \
             by 2.00 times.";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_figure_whose_medians_and_rounds_disagree_counts_for_nobody() {
        let figures = [("rmpp", [Ok(2.0), Ok(1.0)]), ("tcp", [Ok(1.0), Ok(1.0)])];
        let mut outcome = outcome(Better::Larger, &figures);
        let mut later = outcome.records.clone();
        for (number, (ours, other)) in [(10.0, 11.0), (12.0, 13.0)].into_iter().enumerate() {
            for record in &mut later {
                let figure = if record.who == OURS { ours } else { other };
                (record.round, record.figure) = (number + 1, Ok(figure));
            }
            outcome.records.extend(later.clone());
        }
        let all = outcome.measurements();
        assert!(all.median(OURS, "farm: 0 %") < all.median("tcp", "farm: 0 %"));
        // Ours is ahead twice where the median of the figures is behind.
        for record in outcome
            .records
            .iter_mut()
            .filter(|it| it.round == 2 && it.who == OURS)
        {
            record.figure = Ok(14.0);
        }
        let text = distance(&outcome);
        assert!(text.contains("not apart from it in"), "{text}");
        assert!(!text.contains("tcp at \"Farm, 0 %\""), "{text}");
    }

    #[test]
    fn the_same_figures_turn_around_where_less_is_better() {
        let figures = [
            ("rmpp", [Ok(90.0), Ok(80.0)]),
            ("tcp", [Ok(180.0), Ok(8.0)]),
        ];
        let text = distance(&outcome(Better::Smaller, &figures));
        assert!(text.contains("in 1 of 2 figures (by 2.00"), "{text}");
        assert!(
            text.contains("tcp at \"Farm, 2 %\" by 10.0 times"),
            "{text}"
        );
    }

    #[test]
    fn a_missing_figure_is_neither_won_nor_lost() {
        let slow = "did not end in 4 s";
        let figures = [
            ("rmpp", [Err(slow), Ok(80.0)]),
            ("tcp", [Ok(1.0), Err(slow)]),
        ];
        let text = distance(&outcome(Better::Larger, &figures));
        let expected = "Only fast RMPP has a figure at \"Farm, 2 %\". Fast RMPP has no figure at \
             \"Farm, 0 %\" (did not end in 4 s).";
        assert_eq!(text, expected);
    }

    #[test]
    fn without_others_there_is_no_distance() {
        let text = distance(&outcome(Better::Larger, &[("rmpp", [Ok(1.0), Ok(1.0)])]));
        assert!(text.starts_with("Nothing was measured beside"), "{text}");
    }

    #[test]
    fn a_trend_is_the_factor_from_the_first_to_the_last_tick() {
        let figures = [
            ("rmpp", [Ok(90.0), Ok(45.0)]),
            ("tcp", [Ok(1.0), Err("no")]),
        ];
        let text = trends(&outcome(Better::Larger, &figures)).join("");
        let expected = "Farm: from 0 % to 2 % the factors are: rmpp 0.500, tcp has none.";
        assert_eq!(text, expected);
    }

    #[test]
    fn what_an_extension_is_worth_is_said_for_those_that_matter() {
        let figures = [
            ("rmpp", [Ok(10.0), Ok(1.0)]),
            ("without lazy", [Ok(20.0), Ok(1.0)]),
            ("without wide", [Ok(10.1), Ok(1.0)]),
            ("without snak", [Ok(5.0), Ok(1.0)]),
        ];
        let text = worth(&outcome(Better::Smaller, &figures)).join("");
        let expected = "Farm: without lazy is 2.00 times worse; without snak is 2.00 times better; \
             not apart from fast RMPP: 1.";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_goal_is_reached_missed_or_without_a_figure() {
        let say = |figure| goal(&outcome(Better::Larger, &[("rmpp", [Ok(1.0), figure])]));
        let starts = |figure, start: &str| say(figure).expect("a goal").starts_with(start);
        assert!(starts(Ok(80.0), "Fast RMPP reaches"));
        assert!(starts(Ok(79.9), "Fast RMPP misses"));
        assert!(starts(Err("slow"), "Fast RMPP has no figure"));
    }

    #[test]
    fn a_figure_of_zero_is_level_with_zero_and_by_far_ahead_of_all_others() {
        assert_eq!(lead(0.0, 0.0, Better::Smaller), 1.0);
        assert_eq!(lead(0.0, 5.0, Better::Smaller), f64::INFINITY);
        assert_eq!(lead(5.0, 0.0, Better::Smaller), 0.0);
        assert_eq!(times(f64::INFINITY), "more than 1,000 times");
    }
}
