//! Figures over a scale: a line for each contender, its name at its end.

use super::scale::{LogScale, brief};
use super::svg::{Canvas, Style, WIDTH};

const HEIGHT: f64 = 430.0;
const LEFT: f64 = 66.0;
const RIGHT: f64 = WIDTH - 148.0;
const TOP: f64 = 92.0;
const BOTTOM: f64 = HEIGHT - 58.0;
/// The least distance of two names below each other.
const NAME_HEIGHT: f64 = 17.0;
/// About the width of a letter.
const LETTER: f64 = 7.0;

/// The horizontal axis: where the figures stand, and what is written below them.
#[derive(Debug, Clone)]
pub struct Ticks {
    /// What the axis shows, with its unit.
    pub label: String,
    /// Each figure that is measured, with its name.
    pub values: Vec<(f64, String)>,
    /// Whether the figures stand at their logarithms (0 before all others), or side by side.
    pub is_logarithmic: bool,
}

/// The figures of one contender.
#[derive(Debug, Clone)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Horizontal and vertical figure of each point.
    pub points: Vec<(f64, f64)>,
}

/// A picture of lines.
#[derive(Debug, Clone)]
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

    fn places(&self) -> impl Fn(f64) -> Option<f64> + '_ {
        // A logarithm knows no 0: it stands at 1's place, or before it if 1 stands there.
        let has_one = self.values.iter().any(|value| value.0 == 1.0);
        let least = if has_one { 0.5 } else { 1.0 };
        let figures: Vec<f64> = self.values.iter().map(|value| value.0.max(least)).collect();
        let scale = LogScale::covering(&figures, (LEFT, RIGHT));
        move |figure| {
            let index = self.values.iter().position(|value| value.0 == figure)?;
            if self.is_logarithmic {
                return Some(scale.place(figure.max(least)));
            }
            let (index, count) = (index as f64, self.values.len() as f64);
            Some(LEFT + (index + 0.5) / count * (RIGHT - LEFT))
        }
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

impl LinePlot {
    pub(super) fn to_svg(&self) -> String {
        let mut canvas = Canvas::new(HEIGHT, &self.title, &self.subtitle);
        let figures = self.series.iter().flat_map(|series| &series.points);
        let figures: Vec<f64> = figures.map(|point| point.1).collect();
        let y = LogScale::covering(&figures, (BOTTOM, TOP));
        self.draw_frame(&mut canvas, &y);
        let x = self.x.places();
        let placed: Vec<(Vec<(f64, f64)>, &Series)> = self
            .series
            .iter()
            .map(|series| {
                let place = |point: &(f64, f64)| Some((x(point.0)?, y.place(point.1)));
                (series.points.iter().filter_map(place).collect(), series)
            })
            .filter(|(points, _): &(Vec<_>, _)| !points.is_empty())
            .collect();
        // The first is drawn last: it stands in front.
        for (points, series) in placed.iter().rev() {
            let style = Style::of(&series.name);
            canvas.path(points, style);
            for point in points {
                canvas.mark(*point, style);
            }
        }
        draw_names(&mut canvas, &placed);
        canvas.finish()
    }

    fn draw_frame(&self, canvas: &mut Canvas, y: &LogScale) {
        canvas.text((LEFT - 46.0, TOP - 14.0), "quiet", &self.y);
        for tick in y.ticks() {
            let height = y.place(tick);
            canvas.line((LEFT, height), (RIGHT, height), "grid");
            canvas.text((LEFT - 8.0, height + 4.5), "tick", &brief(tick));
        }
        canvas.line((LEFT, BOTTOM), (RIGHT, BOTTOM), "axis");
        let place = self.x.places();
        let mut free = 0.0;
        for (value, name) in &self.x.values {
            let at = place(*value).expect("a tick is on its own axis");
            canvas.line((at, BOTTOM), (at, BOTTOM + 5.0), "axis");
            let half = name.chars().count() as f64 * LETTER / 2.0;
            // Where names would cover each other, one stands for its neighbours.
            if at - half >= free {
                canvas.text((at, BOTTOM + 20.0), "below", name);
                free = at + half + LETTER;
            }
        }
        canvas.text(
            (f64::midpoint(LEFT, RIGHT), BOTTOM + 42.0),
            "below",
            &self.x.label,
        );
    }
}

/// Names stand at the ends of their lines, moved apart where they would cover each other.
fn draw_names(canvas: &mut Canvas, placed: &[(Vec<(f64, f64)>, &Series)]) {
    let last = |points: &[(f64, f64)]| *points.last().expect("empty lines are left out");
    let edge = placed
        .iter()
        .map(|(points, _)| last(points).0)
        .fold(LEFT, f64::max);
    let (at_edge, earlier): (Vec<_>, Vec<_>) = placed
        .iter()
        .partition(|(points, _)| last(points).0 >= edge - 1.0);
    for (points, series) in earlier {
        let (x, y) = last(points);
        canvas.text(
            (x + 9.0, (y + 15.0).min(BOTTOM - 5.0)),
            "label",
            &series.name,
        );
    }
    let wanted: Vec<f64> = at_edge.iter().map(|(points, _)| last(points).1).collect();
    for ((points, series), height) in at_edge.iter().zip(spread(&wanted)) {
        let (x, y) = last(points);
        let start = RIGHT + 22.0;
        canvas.line((x + 6.0, y), (start - 8.0, height), "leader");
        canvas.mark((start, height), Style::of(&series.name));
        canvas.text((start + 10.0, height + 4.5), "label", &series.name);
    }
}

/// Heights near the wanted ones, in the same order, at least [`NAME_HEIGHT`] apart.
fn spread(wanted: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut heights = wanted.to_vec();
    let mut least = TOP;
    for index in &order {
        heights[*index] = heights[*index].max(least);
        least = heights[*index] + NAME_HEIGHT;
    }
    // What was pushed below the picture pushes the others up again.
    let mut most = BOTTOM;
    for index in order.iter().rev() {
        heights[*index] = heights[*index].min(most);
        most = heights[*index] - NAME_HEIGHT;
    }
    heights
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plot() -> LinePlot {
        let series = |name: &str, points: &[(f64, f64)]| Series {
            name: name.to_owned(),
            points: points.to_vec(),
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
        }
    }

    #[test]
    fn a_picture_of_lines_is_valid_xml_with_every_name_in_it() {
        let svg = plot().to_svg();
        let document = roxmltree::Document::parse(&svg).expect("valid XML");
        let texts: Vec<_> = document
            .descendants()
            .filter_map(|node| node.text())
            .collect();
        for name in ["fast", "raw UDP", "4 Mi", "Latency <&> \"more\""] {
            assert!(texts.contains(&name), "{name}: {texts:?}");
        }
        assert!(!texts.contains(&"absent"), "who has no figures has no line");
    }

    #[test]
    fn everything_is_on_the_card() {
        let svg = plot().to_svg();
        let document = roxmltree::Document::parse(&svg).expect("valid XML");
        for node in document.descendants() {
            for (name, limit) in [("x", WIDTH), ("y", HEIGHT), ("cx", WIDTH), ("cy", HEIGHT)] {
                let Some(value) = node.attribute(name) else {
                    continue;
                };
                let value: f64 = value.parse().expect("a number");
                assert!((0.0..=limit).contains(&value), "{name}={value}");
            }
        }
    }

    #[test]
    fn a_picture_without_figures_is_still_a_picture() {
        let empty = LinePlot {
            series: Vec::new(),
            ..plot()
        };
        assert!(roxmltree::Document::parse(&empty.to_svg()).is_ok());
    }

    #[test]
    fn a_size_of_zero_has_a_place_of_its_own_and_crowded_ticks_share_a_name() {
        let ticks = Ticks::sizes(&[0, 1, 2, 128, 256, 4_194_304]);
        let place = ticks.places();
        assert!(place(0.0) < place(1.0) && place(1.0) < place(2.0));
        drop(place);
        let crowded = LinePlot { x: ticks, ..plot() };
        let svg = crowded.to_svg();
        assert!(svg.contains(">1<") && svg.contains(">128<") && !svg.contains(">256<"));
    }

    #[test]
    fn names_do_not_cover_each_other() {
        let wanted = [200.0, 201.0, 202.0, BOTTOM, BOTTOM - 1.0];
        let mut heights = spread(&wanted);
        assert!(
            heights[0] < heights[1] && heights[4] < heights[3],
            "in their order"
        );
        heights.sort_by(f64::total_cmp);
        assert!(
            heights
                .windows(2)
                .all(|pair| pair[1] - pair[0] >= NAME_HEIGHT - 1e-9)
        );
        assert!(heights.iter().all(|height| (TOP..=BOTTOM).contains(height)));
    }
}
