//! Pictures of measurements as SVG: lines over an axis, and bars. Each figure is the median of the
//! rounds, and its spread is drawn with it, from the least to the most of the rounds.
//!
//! `plotters` draws. Its SVG backend asks for no font of the system: the reader's program chooses
//! one. Colours are those of Okabe and Ito (2008), which the colour-blind can tell apart; dashes
//! and markers say the same once more. Pictures stand on a card of their own, light or dark as the
//! reader's system is, so that they can be read on any page.

mod bars;
mod canvas;
mod lines;
mod style;

pub use bars::{Bar, BarPlot};
pub use lines::{LinePlot, Series, Ticks};
pub use style::Style;

use serde::{Deserialize, Serialize};

/// What a picture shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Plot {
    /// Figures over a scale, a line for each contender.
    Lines(LinePlot),
    /// A figure for each contender.
    Bars(BarPlot),
}

impl Plot {
    /// The text of an SVG file, with this small print at its bottom.
    ///
    /// # Panics
    /// If `plotters` fails, which it does if a file cannot be written; this one is a string.
    #[must_use]
    pub fn to_svg(&self, print: &[String]) -> String {
        let mut text = String::new();
        let drawn = match self {
            Plot::Lines(plot) => plot.draw(&mut text, print),
            Plot::Bars(plot) => plot.draw(&mut text, print),
        };
        drawn.unwrap_or_else(|error| panic!("{error}"));
        // The style sheet stands behind the root's line.
        let (root, rest) = text.split_once('\n').expect("a picture has lines");
        format!("{root}\n{}{rest}", style::dark_sheet())
    }
}

/// A round figure in few letters: 0.5, 20, 3 k, 1.5 M.
#[must_use]
pub fn brief(figure: f64) -> String {
    let (figure, unit) = match figure {
        f if f >= 1e6 => (f / 1e6, " M"),
        f if f >= 1e3 => (f / 1e3, " k"),
        f => (f, ""),
    };
    let digits = match figure {
        f if f >= 100.0 => 0,
        f if f >= 10.0 => 1,
        f if f >= 0.1 => 2,
        _ => 3,
    };
    let text = format!("{figure:.digits$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of a picture, which must be valid XML.
    pub(super) fn texts_of(svg: &str) -> Vec<String> {
        let document = roxmltree::Document::parse(svg).expect("valid XML");
        let texts = document.descendants().filter_map(|node| node.text());
        texts.map(|text| text.trim().to_owned()).collect()
    }

    /// Everything stands on the card: each corner, centre and point of each element.
    pub(super) fn assert_on_the_card(svg: &str) {
        let document = roxmltree::Document::parse(svg).expect("valid XML");
        let number = |text: &str| text.parse::<f64>().expect("a number");
        let size = |name| number(document.root_element().attribute(name).expect("a size"));
        let (width, height) = (size("width"), size("height"));
        for node in document.descendants() {
            let at = |name| node.attribute(name).map(number);
            let mut places: Vec<(f64, f64)> =
                [("x", "y"), ("cx", "cy"), ("x1", "y1"), ("x2", "y2")]
                    .into_iter()
                    .filter_map(|(x, y)| Some((at(x)?, at(y)?)))
                    .collect();
            for pair in node.attribute("points").unwrap_or("").split_whitespace() {
                let (x, y) = pair.split_once(',').expect("a pair");
                places.push((number(x), number(y)));
            }
            for (x, y) in places {
                let is_inside = (0.0..=width).contains(&x) && (0.0..=height).contains(&y);
                assert!(is_inside, "{x}, {y} of {node:?}");
            }
        }
    }

    #[test]
    fn figures_are_brief() {
        let texts = [0.035, 0.5, 1.0, 20.0, 3000.0, 1_500_000.0, 158_200.0].map(brief);
        assert_eq!(texts, ["0.035", "0.5", "1", "20", "3 k", "1.5 M", "158 k"]);
    }
}
