//! Figures over an axis: a line for each contender, and the spread of each point around it.

use std::ops::Range;

use plotters::coord::combinators::WithKeyPoints;
use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use serde::{Deserialize, Serialize};

use super::brief;
use super::canvas::{
    Area, Failure, HEADING, NOTE, WIDTH, broken, card, letters, marker, notes_height, write,
    write_notes,
};
use super::style::{AXIS, GRID, INK, QUIET, Style as Look};
use crate::measurements::Spread;

/// The height of the part with the lines.
const BODY: i32 = 396;
/// The width of the part with the names.
const NAMES: i32 = 160;
/// Room for the figures of the vertical axis and the names of the horizontal one.
const LEFT: i32 = 68;
const BELOW: i32 = 52;
/// The distance of two names below each other.
const NAME: i32 = 24;
/// How much a band covers of what is behind it.
const BAND: f64 = 0.12;
/// About the width of a letter.
const LETTER: f64 = 7.0;

/// The horizontal axis: where the figures stand, and what is written below them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ticks {
    /// What the axis shows, with its unit.
    pub label: String,
    /// Each figure that is measured, with its name.
    pub values: Vec<(f64, String)>,
    /// Whether the figures stand at their logarithms (0 before all others), or side by side.
    pub is_logarithmic: bool,
}

/// The figures of one contender.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Horizontal figure, and median and spread of the vertical one, in the order of the axis.
    pub points: Vec<(f64, Spread)>,
}

/// A picture of lines.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinePlot {
    /// What is shown.
    pub title: String,
    /// How it was measured.
    pub subtitle: String,
    /// The horizontal axis.
    pub x: Ticks,
    /// What the vertical axis shows, with its unit; it is logarithmic.
    pub y: String,
    /// A line each.
    pub series: Vec<Series>,
    /// Which points are missing, and why: a line each, below the picture.
    pub notes: Vec<String>,
}

/// Both axes are logarithmic, and their ticks are ours.
type Axis = WithKeyPoints<LogCoord<f64>>;
type Axes = Cartesian2d<Axis, Axis>;

/// A point of a line: its number on the axis, its place there, its figure.
#[derive(Debug, Clone, Copy)]
struct Point {
    number: usize,
    x: f64,
    y: Spread,
}

impl Ticks {
    /// Message sizes in bytes.
    #[must_use]
    pub fn sizes(sizes: &[u32]) -> Self {
        Self {
            label: "message size, bytes".to_owned(),
            values: sizes
                .iter()
                .map(|size| (f64::from(*size), size_name(*size)))
                .collect(),
            is_logarithmic: true,
        }
    }

    /// Figures side by side, with a unit behind each.
    #[must_use]
    pub fn steps(label: &str, values: &[f64], unit: &str) -> Self {
        Self {
            label: label.to_owned(),
            values: values
                .iter()
                .map(|value| (*value, format!("{value} {unit}")))
                .collect(),
            is_logarithmic: false,
        }
    }

    /// Where each figure stands on the axis, which is always logarithmic: what stands side by side
    /// has the same factor between any two.
    fn places(&self) -> Vec<f64> {
        // A logarithm knows no 0: it stands at 1's place, or before it if 1 stands there.
        let has_one = self.values.iter().any(|value| value.0 == 1.0);
        let least = if has_one { 0.5 } else { 1.0 };
        let place = |(number, value): (usize, &(f64, String))| match self.is_logarithmic {
            true => value.0.max(least),
            false => (number as f64).exp(),
        };
        self.values.iter().enumerate().map(place).collect()
    }

    /// The axis, with some room before the first and behind the last place.
    fn range(&self, places: &[f64]) -> Range<f64> {
        let (first, last) = (
            places.first().unwrap_or(&1.0),
            places.last().unwrap_or(&1.0),
        );
        let room = match self.is_logarithmic {
            true => (last / first).powf(0.03).max(1.1),
            false => 1.7,
        };
        first / room..last * room
    }

    /// The names of the figures; where they would cover each other, one stands for its neighbours.
    fn names(&self, range: &Range<f64>) -> Vec<&str> {
        let pixels = f64::from(WIDTH - NAMES - LEFT) / (range.end / range.start).ln();
        let mut free = f64::NEG_INFINITY;
        let mut names = Vec::new();
        for ((_, name), place) in self.values.iter().zip(self.places()) {
            let half = name.chars().count() as f64 * LETTER / 2.0;
            let middle = place.ln() * pixels;
            let is_shown = middle - half >= free;
            if is_shown {
                free = middle + half + LETTER;
            }
            names.push(if is_shown { name.as_str() } else { "" });
        }
        names
    }
}

/// 8, 64 Ki, 4 Mi.
fn size_name(bytes: u32) -> String {
    match bytes {
        b if b >= 1 << 20 && b % (1 << 20) == 0 => format!("{} Mi", b >> 20),
        b if b >= 1 << 10 && b % (1 << 10) == 0 => format!("{} Ki", b >> 10),
        b => b.to_string(),
    }
}

/// Round figures between two others: decades, and figures between them where there are few.
fn round_figures(low: f64, high: f64) -> Vec<f64> {
    const STEPS: [&[f64]; 3] = [
        &[1.0],
        &[1.0, 2.0, 5.0],
        &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
    ];
    let mut found = Vec::new();
    for steps in STEPS {
        found = (-9..12)
            .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)))
            .filter(|figure| (low..=high).contains(figure))
            .collect();
        if found.len() > 2 {
            break;
        }
    }
    found
}

impl LinePlot {
    pub(super) fn draw(&self, text: &mut String, print: &[String]) -> Result<(), Failure> {
        let notes = broken(&self.notes, NOTE);
        let height = HEADING + BODY + notes_height(&notes);
        let card = card(text, height, (&self.title, &self.subtitle), print)?;
        let (plot, names) = card
            .margin(HEADING, notes_height(&notes) + 10, 12, 4)
            .split_horizontally(WIDTH - NAMES - 16);
        self.draw_lines(&plot)?;
        self.write_names(&names)?;
        write_notes(&card, HEADING + BODY, &notes)?;
        card.present()
    }

    /// The points of a contender, in runs without a missing one between.
    fn runs(&self, series: &Series) -> Vec<Vec<Point>> {
        let places = self.x.places();
        let point = |(x, y): &(f64, Spread)| {
            let number = self.x.values.iter().position(|value| value.0 == *x)?;
            let x = places[number];
            // A figure of 0 has no place on a logarithmic axis.
            (y.least > 0.0).then_some(Point { number, x, y: *y })
        };
        let points: Vec<Point> = series.points.iter().filter_map(point).collect();
        let runs = points.chunk_by(|a, b| a.number + 1 == b.number);
        runs.map(<[Point]>::to_vec).collect()
    }

    /// From the least to the most of all figures, with some room.
    fn range(&self) -> Range<f64> {
        let all = || {
            let points = self.series.iter().flat_map(|series| self.runs(series));
            points.flatten().map(|point| point.y)
        };
        let low = all().map(|y| y.least).fold(f64::INFINITY, f64::min);
        let high = all().map(|y| y.most).fold(0.0, f64::max);
        if low > high {
            return 1.0..10.0;
        }
        low / 1.25..high * 1.25
    }

    fn draw_lines(&self, area: &Area<'_>) -> Result<(), Failure> {
        let places = self.x.places();
        let x = self.x.range(&places);
        let names = self.x.names(&x);
        let name_of = |at: &f64| {
            let number = places.iter().position(|place| place == at);
            number.map_or_else(String::new, |number| names[number].to_owned())
        };
        let y = self.range();
        let ticks = round_figures(y.start, y.end);
        let mut chart = ChartBuilder::on(area)
            .set_label_area_size(LabelAreaPosition::Left, LEFT)
            .set_label_area_size(LabelAreaPosition::Bottom, BELOW)
            .build_cartesian_2d(
                x.log_scale().with_key_points(places.clone()),
                y.log_scale().with_key_points(ticks),
            )?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .bold_line_style(GRID)
            .axis_style(AXIS)
            .label_style(("sans-serif", 13).into_font().color(&QUIET))
            .x_desc(&self.x.label)
            .y_desc(&self.y)
            .x_label_formatter(&name_of)
            .y_label_formatter(&|figure| brief(*figure))
            .draw()?;
        // The first is drawn last: it stands in front.
        for series in self.series.iter().rev() {
            let look = Look::of(&series.name);
            for run in self.runs(series) {
                draw_run(&mut chart, &run, look)?;
            }
        }
        Ok(())
    }

    /// The names stand in the order in which the lines end.
    fn write_names(&self, area: &Area<'_>) -> Result<(), Failure> {
        let ends = |series: &&Series| series.points.last().map(|point| point.1.median);
        let mut shown: Vec<_> = self.series.iter().filter(|it| ends(it).is_some()).collect();
        shown.sort_by(|a, b| ends(b).unwrap_or(0.0).total_cmp(&ends(a).unwrap_or(0.0)));
        let mut y = NAME;
        for series in shown {
            area.draw(&marker((16, y), Look::of(&series.name)))?;
            write(area, (28, y), (&series.name, HPos::Left), &INK)?;
            y += NAME;
        }
        area.draw(&Text::new(
            "line: median",
            (8, y + 4),
            letters(&QUIET, HPos::Left),
        ))?;
        let spread = "band: least to most";
        write(area, (8, y + 22), (spread, HPos::Left), &QUIET)
    }
}

/// Draws the points of a contender without a missing one between, and their spread.
fn draw_run(
    chart: &mut ChartContext<'_, SVGBackend<'_>, Axes>,
    run: &[Point],
    look: Look,
) -> Result<(), Failure> {
    let upper = run.iter().map(|it| (it.x, it.y.most));
    let lower = run.iter().rev().map(|it| (it.x, it.y.least));
    let band: Vec<(f64, f64)> = upper.chain(lower).collect();
    let band = Polygon::new(band, look.colour.mix(BAND));
    chart.plotting_area().draw(&band)?;
    let line = run.iter().map(|it| (it.x, it.y.median));
    let style = look.colour.stroke_width(2);
    if look.is_dashed {
        chart.draw_series(DashedLineSeries::new(line, 6, 4, style))?;
    } else {
        chart.draw_series(LineSeries::new(line, style))?;
    }
    for it in run {
        let spread = [(it.x, it.y.least), (it.x, it.y.most)];
        let area = chart.plotting_area();
        area.draw(&PathElement::new(spread, look.colour))?;
        area.draw(&marker((it.x, it.y.median), look))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_on_the_card, texts_of};
    use super::*;

    fn spread(median: f64) -> Spread {
        Spread::of(vec![median * 0.8, median, median * 1.5]).expect("three figures")
    }

    fn plot() -> LinePlot {
        let series = |name: &str, points: &[(f64, f64)]| Series {
            name: name.to_owned(),
            points: points.iter().map(|(x, y)| (*x, spread(*y))).collect(),
        };
        LinePlot {
            title: "Latency <&> \"more\"".to_owned(),
            subtitle: "two ranks".to_owned(),
            x: Ticks::sizes(&[0, 8, 1024, 4_194_304]),
            y: "us".to_owned(),
            series: vec![
                series("fast", &[(0.0, 3.0), (8.0, 3.1), (4_194_304.0, 900.0)]),
                series("raw UDP", &[(0.0, 2.0), (8.0, 2.1)]),
                series("absent", &[]),
            ],
            notes: vec!["absent: not <installed>".to_owned()],
        }
    }

    fn svg(plot: &LinePlot) -> String {
        let mut text = String::new();
        plot.draw(&mut text, &["printed small".to_owned()])
            .expect("a string takes all");
        text
    }

    #[test]
    fn a_picture_of_lines_is_valid_xml_with_every_name_and_note_in_it() {
        let texts = texts_of(&svg(&plot()));
        for name in [
            "fast",
            "raw UDP",
            "4 Mi",
            "Latency <&> \"more\"",
            "absent: not <installed>",
            "printed small",
        ] {
            assert!(texts.iter().any(|text| text == name), "{name}: {texts:?}");
        }
        let is_absent = !texts.iter().any(|text| text == "absent");
        assert!(is_absent, "who has no figures has no line");
    }

    #[test]
    fn everything_is_on_the_card() {
        assert_on_the_card(&svg(&plot()));
        let steps = Ticks::steps("ranks", &[2.0, 4.0], "ranks");
        assert_on_the_card(&svg(&LinePlot { x: steps, ..plot() }));
    }

    #[test]
    fn a_picture_without_figures_is_still_a_picture() {
        let empty = LinePlot {
            series: Vec::new(),
            ..plot()
        };
        assert!(texts_of(&svg(&empty)).contains(&"two ranks".to_owned()));
    }

    #[test]
    fn a_missing_point_parts_the_line() {
        let plot = plot();
        let lengths = |series: &Series| plot.runs(series).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(lengths(&plot.series[0]), [2, 1], "1024 is missing between");
        assert_eq!(lengths(&plot.series[1]), [2]);
    }

    #[test]
    fn the_spread_of_a_point_is_drawn() {
        let wide = svg(&plot());
        let mut narrow = plot();
        for series in &mut narrow.series {
            for (_, y) in &mut series.points {
                (y.least, y.most) = (y.median, y.median);
            }
        }
        let bands = |svg: &str| {
            let document = roxmltree::Document::parse(svg).expect("valid XML");
            let bands = document.descendants().filter(|node| {
                node.has_tag_name("polygon") && node.attribute("opacity") == Some("0.12")
            });
            let heights = bands.map(|band| {
                let points = band
                    .attribute("points")
                    .unwrap_or_default()
                    .split_whitespace();
                let ys = points.filter_map(|it| it.split_once(',')?.1.parse::<i32>().ok());
                let ys: Vec<i32> = ys.collect();
                ys.first()
                    .zip(ys.last())
                    .map_or(0, |(top, bottom)| bottom - top)
            });
            heights.collect::<Vec<_>>()
        };
        assert!(
            bands(&wide).iter().all(|height| *height > 5),
            "{:?}",
            bands(&wide)
        );
        assert!(bands(&svg(&narrow)).iter().all(|height| *height == 0));
    }

    #[test]
    fn a_size_of_zero_has_a_place_of_its_own_and_crowded_ticks_share_a_name() {
        let ticks = Ticks::sizes(&[0, 1, 2, 128, 256, 4_194_304]);
        let places = ticks.places();
        assert!(places[0] < places[1] && places[1] < places[2]);
        let names = ticks.names(&(places[0]..places[5]));
        assert!(
            names.contains(&"128") && !names.contains(&"256"),
            "{names:?}"
        );
    }

    #[test]
    fn ticks_are_round_and_within_the_scale() {
        assert_eq!(round_figures(3.0, 4000.0), [10.0, 100.0, 1000.0]);
        assert_eq!(round_figures(1.9, 30.0), [2.0, 5.0, 10.0, 20.0]);
        assert_eq!(round_figures(2.1, 4.9), [2.5, 3.0, 4.0]);
    }
}
