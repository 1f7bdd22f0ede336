//! The page and its pictures: the template, with the figures of a run in it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::experiments;
use super::kept::{Kept, Outcome, Panel};
use super::words;
use crate::measurements::Measurements;
use crate::origin::Origin;
use crate::plot::{Bar, BarPlot, LinePlot, Plot, Series};
use crate::table::short;

const TEMPLATE: &str = include_str!("page.template");
/// Letters of a reason in a table.
const REASON: usize = 70;
/// A table with more contenders than this has them as rows.
const MOST_COLUMNS: usize = 8;

/// The text of the page, and its pictures by file name.
#[derive(Debug)]
pub struct Page {
    /// Markdown.
    pub text: String,
    /// SVG.
    pub pictures: Vec<(String, String)>,
}

impl Page {
    /// Fills the template with this run.
    ///
    /// # Errors
    /// The template has a place that nobody fills, or lacks one that is filled.
    pub fn of(kept: &Kept) -> Result<Self, String> {
        let mut values = of_run(kept);
        for experiment in experiments::all(false, &[]) {
            let outcome = kept
                .experiments
                .iter()
                .find(|it| it.name == experiment.name);
            for (part, text) in parts(outcome) {
                values.insert(format!("{}.{part}", experiment.name), text);
            }
        }
        let text = fill(TEMPLATE, &values)?;
        let pictures = kept
            .experiments
            .iter()
            .flat_map(|it| pictures(kept, it))
            .collect();
        Ok(Self { text, pictures })
    }
}

/// What is said of the run as a whole.
fn of_run(kept: &Kept) -> BTreeMap<String, String> {
    let origin = &kept.origin;
    let missing = match &*kept.missing {
        [] => "All transports that the laboratory knows were measured.".to_owned(),
        names => format!(
            "This `mpirun` does not have: {}. They are left out.",
            names.join(", ")
        ),
    };
    let quick = if kept.is_quick {
        "**This was a quick run: its figures show that the experiments work, and little more.**"
    } else {
        "It was a full run."
    };
    [
        ("machine", origin.machine.clone()),
        ("date", origin.date.clone()),
        ("commit", origin.commit.clone()),
        ("took", format!("{:.0}", kept.took_s / 60.0)),
        ("transports", kept.transports.join(", ")),
        ("missing", missing),
        ("quick", quick.to_owned()),
    ]
    .map(|(name, text)| (name.to_owned(), text))
    .into()
}

/// What is said of an experiment, by the name of its place.
fn parts(outcome: Option<&Outcome>) -> [(&'static str, String); 3] {
    let Some(it) = outcome else {
        let absent = || "*Not part of this run.*".to_owned();
        return [
            ("command", absent()),
            ("figures", absent()),
            ("sees", absent()),
        ];
    };
    let command = format!("```sh\n{}\n```", it.commands.join("\n"));
    [
        ("command", command),
        ("figures", figures(it)),
        ("sees", sees(it)),
    ]
}

/// Tables, each with its picture below it.
fn figures(outcome: &Outcome) -> String {
    let all = outcome.measurements();
    let (rounds, seconds) = (outcome.rounds, outcome.took_s);
    let plural = if rounds == 1 { "" } else { "s" };
    let mut text = format!("Medians of {rounds} round{plural}, {seconds:.0} s in all.\n");
    for panel in &outcome.panels {
        let (title, unit, name) = (&panel.title, &panel.unit, &panel.name);
        let _ = write!(
            text,
            "\n{title}, in {unit}:\n\n{}",
            table(panel, outcome, &all)
        );
        let _ = write!(text, "\n![{title}](laboratory/{name}.svg)\n");
    }
    for note in &outcome.notes {
        let _ = write!(text, "\n{note}\n");
    }
    text.trim_end().to_owned()
}

/// The sentences of an experiment, as a list.
fn sees(outcome: &Outcome) -> String {
    let mut items = Vec::new();
    if outcome.name == "extensions" {
        items.extend(words::worth(outcome));
    } else {
        items.push(words::distance(outcome));
    }
    items.extend(words::goal(outcome));
    items.extend(words::trends(outcome));
    let items: Vec<String> = items.iter().map(|item| format!("* {item}")).collect();
    items.join("\n")
}

fn table(panel: &Panel, outcome: &Outcome, all: &Measurements) -> String {
    let whom = &outcome.contenders;
    let is_turned = whom.len() > MOST_COLUMNS;
    let (rows, columns) = match is_turned {
        true => (whom, &panel.subjects),
        false => (&panel.subjects, whom),
    };
    let mut text = format!(
        "| | {} |\n|---|{}\n",
        columns.join(" | "),
        "--:|".repeat(columns.len())
    );
    for row in rows {
        let cells = columns.iter().map(|column| match is_turned {
            true => cell(all, row, &panel.what(column)),
            false => cell(all, column, &panel.what(row)),
        });
        let cells: Vec<String> = cells.collect();
        let _ = writeln!(text, "| {row} | {} |", cells.join(" | "));
    }
    text
}

/// A median, or why there is none; and in how many rounds there is one, if not in all.
fn cell(all: &Measurements, who: &str, what: &str) -> String {
    match (all.median(who, what), all.count(who, what)) {
        (None, _) => reason(all, who, what).replace('|', "\\|"),
        (Some(figure), (count, rounds)) if count == rounds => short(Some(figure)),
        (Some(figure), (count, rounds)) => {
            format!("{} ({count} of {rounds} rounds)", short(Some(figure)))
        }
    }
}

fn reason(all: &Measurements, who: &str, what: &str) -> String {
    let why = all
        .reason(who, what)
        .unwrap_or_else(|| "not measured".to_owned());
    match why.char_indices().nth(REASON) {
        Some((end, _)) => format!("{}...", &why[..end]),
        None => why,
    }
}

fn pictures(kept: &Kept, outcome: &Outcome) -> Vec<(String, String)> {
    let all = outcome.measurements();
    let origin = Origin {
        rounds: outcome.rounds,
        is_quick: kept.is_quick,
        ..kept.origin.clone()
    };
    let print = Origin::small_print(Some(&origin));
    let picture = |panel: &Panel| {
        let plot = match &panel.ticks {
            Some(_) => Plot::Lines(lines(panel, outcome, &all)),
            None => Plot::Bars(bars(panel, outcome, &all)),
        };
        (format!("{}.svg", panel.name), plot.to_svg(&print))
    };
    outcome.panels.iter().map(picture).collect()
}

fn subtitle(panel: &Panel) -> String {
    use crate::measurements::Better;
    let way = match panel.better {
        Better::Smaller => "lower is better",
        Better::Larger => "higher is better",
    };
    format!("in {}; {way}", panel.unit)
}

fn lines(panel: &Panel, outcome: &Outcome, all: &Measurements) -> LinePlot {
    let ticks = panel.ticks.clone().expect("a panel of lines has an axis");
    let at = |who: &String| {
        let places = ticks.values.iter().zip(&panel.subjects);
        let point = places.filter_map(|(tick, subject)| {
            Some((tick.0, all.spread_of(who, &panel.what(subject))?))
        });
        Series {
            name: who.clone(),
            points: point.collect(),
        }
    };
    let series = outcome.contenders.iter().map(at).collect();
    LinePlot {
        title: panel.title.clone(),
        subtitle: subtitle(panel),
        y: panel.unit.clone(),
        series,
        notes: missing(panel, outcome, all),
        x: ticks,
    }
}

/// Which figures of a panel are missing, and why: a line for all contenders that lack the same ones
/// for the same reason.
fn missing(panel: &Panel, outcome: &Outcome, all: &Measurements) -> Vec<String> {
    let mut gaps: Vec<(Vec<&str>, Vec<&str>, String)> = Vec::new();
    for who in &outcome.contenders {
        let lacks = |it: &&String| all.median(who, &panel.what(it)).is_none();
        let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
        for subject in panel.subjects.iter().filter(lacks) {
            let why = reason(all, who, &panel.what(subject));
            match reasons.iter_mut().find(|known| known.0 == why) {
                Some((_, subjects)) => subjects.push(subject),
                None => reasons.push((why, vec![subject])),
            }
        }
        for (why, subjects) in reasons {
            match gaps
                .iter_mut()
                .find(|gap| (&gap.1, &gap.2) == (&subjects, &why))
            {
                Some((contenders, ..)) => contenders.push(who),
                None => gaps.push((vec![who], subjects, why)),
            }
        }
    }
    let line = |(contenders, subjects, why): &(Vec<&str>, Vec<&str>, String)| {
        format!("{}, {}: {why}", contenders.join(", "), subjects.join(", "))
    };
    gaps.iter().map(line).collect()
}

fn bars(panel: &Panel, outcome: &Outcome, all: &Measurements) -> BarPlot {
    let bar = |who: &String, subject: &String| {
        let what = panel.what(subject);
        Bar {
            name: who.clone(),
            figure: all
                .spread_of(who, &what)
                .ok_or_else(|| reason(all, who, &what)),
        }
    };
    let group = |subject: &String| {
        let bars = outcome.contenders.iter().map(|who| bar(who, subject));
        (subject.clone(), bars.collect())
    };
    BarPlot {
        title: panel.title.clone(),
        subtitle: subtitle(panel),
        unit: format!(" {}", panel.unit),
        groups: panel.subjects.iter().map(group).collect(),
    }
}

/// The template with a value in the place of each `{{name}}`.
///
/// # Errors
/// A name has no value, or a value has no place.
fn fill(template: &str, values: &BTreeMap<String, String>) -> Result<String, String> {
    let mut used = Vec::new();
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, from)) = rest.split_once("{{") {
        let (name, after) = from
            .split_once("}}")
            .ok_or("the template has a {{ without }}")?;
        let value = values
            .get(name)
            .ok_or(format!("nothing fills {{{{{name}}}}}"))?;
        text += before;
        text += value;
        used.push(name);
        rest = after;
    }
    match values.keys().find(|name| !used.contains(&name.as_str())) {
        Some(name) => Err(format!("the template has no place for {{{{{name}}}}}")),
        None => Ok(text + rest),
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::tests::outcome;
    use super::*;
    use crate::measurements::Better;
    use crate::origin::tests::origin;

    fn kept(experiments: Vec<Outcome>) -> Kept {
        Kept {
            origin: origin(3, false),
            is_quick: true,
            took_s: 90.0,
            transports: vec!["rmpp".to_owned()],
            missing: vec!["sctp".to_owned()],
            experiments,
        }
    }

    fn values(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        let own = pairs
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        own.collect()
    }

    #[test]
    fn each_place_of_a_template_is_filled() {
        let filled = fill("a {{x}}, {{y}}.\n", &values(&[("x", "1"), ("y", "{2}")]));
        assert_eq!(filled, Ok("a 1, {2}.\n".to_owned()));
    }

    #[test]
    fn a_place_without_value_and_a_value_without_place_are_errors() {
        assert!(fill("{{x}} {{z}}", &values(&[("x", "1")])).is_err());
        assert!(fill("{{x}}", &values(&[("x", "1"), ("y", "2")])).is_err());
        assert!(fill("{{x", &values(&[("x", "1")])).is_err());
    }

    #[test]
    fn the_template_has_a_place_for_everything_even_if_nothing_was_measured() {
        let page = Page::of(&kept(Vec::new())).expect("the template fits");
        assert!(page.text.contains("Not part of this run") && page.text.contains("sctp"));
        assert!(!page.text.contains("{{") && page.pictures.is_empty());
    }

    #[test]
    fn a_failed_figure_stands_in_table_and_picture() {
        let slow = "did not end in 4 s";
        let figures = [
            ("rmpp", [Ok(90.0), Ok(80.0)]),
            ("tcp", [Ok(70.0), Err(slow)]),
        ];
        let page = Page::of(&kept(vec![outcome(Better::Larger, &figures)]));
        let page = page.expect("the template fits");
        assert!(
            page.text.contains("| 2 % | 80.0 | did not end in 4 s |"),
            "{}",
            page.text
        );
        let [(name, svg)] = &page.pictures[..] else {
            panic!("one picture: {:?}", page.pictures);
        };
        assert_eq!(name, "farm.svg");
        assert!(svg.contains("tcp, 2 %: did not end in 4 s"));
    }

    #[test]
    fn contenders_that_lack_the_same_figures_for_the_same_reason_share_a_line() {
        let (many, slow) = ("more than 512 nodes", "did not end in 4 s");
        let figures = [
            ("rmpp", [Ok(90.0), Err(slow)]),
            ("unet", [Err(many), Err(many)]),
            ("sctp", [Err(many), Err(many)]),
            ("tcp", [Err(many), Err(slow)]),
        ];
        let outcome = outcome(Better::Larger, &figures);
        let notes = missing(&outcome.panels[0], &outcome, &outcome.measurements());
        let expected = [
            "rmpp, tcp, 2 %: did not end in 4 s",
            "unet, sctp, 0 %, 2 %: more than 512 nodes",
            "tcp, 0 %: more than 512 nodes",
        ];
        assert_eq!(notes, expected);
    }

    #[test]
    fn figures_survive_the_file_in_which_they_are_kept() {
        let figures = [("rmpp", [Ok(90.0), Err("failed: no")])];
        let kept = kept(vec![outcome(Better::Larger, &figures)]);
        let text = serde_json::to_string(&kept).expect("plain figures");
        assert_eq!(serde_json::from_str::<Kept>(&text).expect("the same"), kept);
    }
}
