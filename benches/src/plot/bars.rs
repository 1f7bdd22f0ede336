//! A figure for each contender, as bars with the figure at their ends.

use super::scale::brief;
use super::svg::{Canvas, Style, WIDTH};

const LEFT: f64 = 186.0;
const RIGHT: f64 = WIDTH - 120.0;
const TOP: f64 = 76.0;
const BAR: f64 = 20.0;
const STEP: f64 = 28.0;
const HEADING: f64 = 30.0;
/// Between the groups.
const GAP: f64 = 14.0;

/// One bar.
#[derive(Debug, Clone)]
pub struct Bar {
    /// Who.
    pub name: String,
    /// How much, or in words why not.
    pub figure: Result<f64, String>,
}

/// A picture of bars.
#[derive(Debug, Clone)]
pub struct BarPlot {
    /// What is shown.
    pub title: String,
    /// How it was measured.
    pub subtitle: String,
    /// Stands behind each figure.
    pub unit: String,
    /// Bars that belong together, each group under a heading.
    pub groups: Vec<(String, Vec<Bar>)>,
}

impl BarPlot {
    pub(super) fn to_svg(&self) -> String {
        let bars = || self.groups.iter().flat_map(|group| &group.1);
        let heights = bars().count() as f64 * STEP + self.groups.len() as f64 * (HEADING + GAP);
        let mut canvas = Canvas::new(TOP + heights, &self.title, &self.subtitle);
        let most = bars().filter_map(|bar| bar.figure.as_ref().ok());
        let most = most.copied().fold(f64::MIN_POSITIVE, f64::max);
        let mut y = TOP;
        for (heading, bars) in &self.groups {
            canvas.text((20.0, y + 12.0), "quiet", heading);
            y += HEADING;
            let start = y;
            for bar in bars {
                self.draw(&mut canvas, bar, y, (RIGHT - LEFT) / most);
                y += STEP;
            }
            canvas.line((LEFT, start - 4.0), (LEFT, y - STEP + BAR + 4.0), "axis");
            y += GAP;
        }
        canvas.finish()
    }

    fn draw(&self, canvas: &mut Canvas, bar: &Bar, y: f64, pixels: f64) {
        let base = y + BAR / 2.0 + 4.5;
        canvas.text((LEFT - 10.0, base), "name", &bar.name);
        match &bar.figure {
            Ok(figure) => {
                let width = figure * pixels;
                canvas.bar((LEFT, y), (width, BAR), Style::of(&bar.name));
                let text = format!("{}{}", brief(*figure), self.unit);
                canvas.text((LEFT + width + 8.0, base), "figure", &text);
            }
            Err(why) => canvas.text((LEFT + 8.0, base), "quiet", why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_of_bars_is_valid_xml_and_tells_who_is_missing() {
        let bar = |name: &str, figure| Bar {
            name: name.to_owned(),
            figure,
        };
        let plot = BarPlot {
            title: "Rate".to_owned(),
            subtitle: "8 B, 64 in flight".to_owned(),
            unit: "/s".to_owned(),
            groups: vec![(
                "one way".to_owned(),
                vec![
                    bar("fast", Ok(3.2e6)),
                    bar("MPICH tcp", Err("not installed".to_owned())),
                ],
            )],
        };
        let svg = plot.to_svg();
        let document = roxmltree::Document::parse(&svg).expect("valid XML");
        let texts: Vec<_> = document
            .descendants()
            .filter_map(|node| node.text())
            .collect();
        for text in ["fast", "3.2 M/s", "not installed"] {
            assert!(texts.contains(&text), "{text}: {texts:?}");
        }
    }
}
