//! From measurements to pictures, and what is said of figures that are missing.

use std::collections::BTreeMap;

use super::{Rows, cell};
use crate::contender::Contender;
use crate::measurements::Measurements;
use crate::plot::{Bar, LinePlot, Series, Ticks};

/// A line for each contender, without title: at each tick the figure that was noted under the name
/// in the same place of `what`.
pub(super) fn line_plot(
    contenders: &[Contender],
    (x, what): (Ticks, &[String]),
    all: &Measurements,
) -> LinePlot {
    let series = |who: &Contender| {
        let figures = x.values.iter().zip(what);
        let point =
            |(at, what): (&(f64, String), &String)| Some((at.0, all.spread_of(&who.name, what)?));
        Series {
            name: who.title(),
            points: figures.filter_map(point).collect(),
        }
    };
    let series = contenders.iter().map(series).collect();
    let ticks = x.values.iter().map(|(_, name)| name.clone());
    let rows: Vec<(String, String)> = ticks.zip(what.iter().cloned()).collect();
    let notes = |who: &Contender| {
        let notes = notes(who, &rows, all).into_iter();
        let title = who.title();
        notes.map(move |note| format!("{title}: {note}"))
    };
    LinePlot {
        title: String::new(),
        subtitle: String::new(),
        series,
        notes: contenders.iter().flat_map(notes).collect(),
        x,
        y: String::new(),
    }
}

/// A bar, or in words why there is none.
pub(super) fn bar(who: &Contender, what: &str, all: &Measurements) -> Bar {
    let reason = || all.reason(&who.name, what);
    let spread = all.spread_of(&who.name, what);
    Bar {
        name: who.title(),
        figure: spread.ok_or_else(|| reason().unwrap_or_else(|| cell(who, None))),
    }
}

/// Which figures of a contender are missing and why: a line for each reason, with the places that
/// it is about. A round without a figure counts, too.
pub(super) fn notes(who: &Contender, rows: Rows<'_>, all: &Measurements) -> Vec<String> {
    if !who.is_installed {
        return vec!["not installed".to_owned()];
    }
    let mut places: BTreeMap<(usize, String), Vec<&str>> = BTreeMap::new();
    let mut rounds = 0;
    for (name, what) in rows {
        let (count, of) = all.count(&who.name, what);
        rounds = of;
        // A probe of the kernel has figures of some sizes only, and nothing went wrong.
        if let Some(why) = all.reason(&who.name, what).filter(|_| count < of) {
            places.entry((count, why)).or_default().push(name);
        }
    }
    let note = |((count, why), names): ((usize, String), Vec<&str>)| {
        let is_everywhere = names.len() == rows.len();
        let names = names.join(", ");
        match count {
            0 if is_everywhere => format!("no value: {why}"),
            0 => format!("no value at {names}: {why}"),
            _ => format!("a value in {count} of {rounds} rounds at {names}: {why}"),
        }
    };
    places.into_iter().map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::kernel;

    fn measurements() -> Measurements {
        let mut all = Measurements::default();
        for round in 0..3 {
            all.begin_round();
            all.note("peer", "at 0 %", 7.0);
            match round {
                0 => all.note("peer", "at 1 %", 5.0),
                _ => all.lack("peer", "at 1 %", "timed out after 11 s"),
            }
            for what in ["at 2 %", "at 5 %"] {
                all.lack("peer", what, "timed out after 11 s");
            }
        }
        all
    }

    const PERCENT: [f64; 4] = [0.0, 1.0, 2.0, 5.0];

    #[test]
    fn who_is_missing_at_a_point_is_named_with_the_reason() {
        let mut absent = kernel("absent", "udp");
        absent.is_installed = false;
        let contenders = [kernel("peer", "udp"), absent];
        let what = PERCENT.map(|loss| format!("at {loss} %"));
        let ticks = Ticks::steps("lost", &PERCENT, "%");
        let plot = line_plot(&contenders, (ticks, &what), &measurements());
        let expected = [
            "peer: no value at 2 %, 5 %: timed out after 11 s",
            "peer: a value in 1 of 3 rounds at 1 %: timed out after 11 s",
            "absent: not installed",
        ];
        assert_eq!(plot.notes, expected);
        let points: Vec<f64> = plot.series[0].points.iter().map(|it| it.0).collect();
        assert_eq!(points, [0.0, 1.0]);
    }

    #[test]
    fn who_has_no_value_anywhere_is_named_without_the_places() {
        let rows = ["at 2 %", "at 5 %"].map(|what| (what.to_owned(), what.to_owned()));
        let notes = notes(&kernel("peer", "udp"), &rows, &measurements());
        assert_eq!(notes, ["no value: timed out after 11 s"]);
    }

    #[test]
    fn a_bar_that_is_missing_tells_why() {
        let who = kernel("peer", "udp");
        let figure = |what| bar(&who, what, &measurements()).figure;
        assert_eq!(figure("at 5 %"), Err("timed out after 11 s".to_owned()));
        assert_eq!(figure("at 0 %").map(|it| it.median), Ok(7.0));
    }
}
