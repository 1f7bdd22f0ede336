//! Pictures of measurements as SVG: lines over a logarithmic axis, and bars.
//!
//! They stand on a card of their own, light or dark as the reader's system is, so that they can be
//! read on any page. Colours are those of Okabe and Ito (2008), which the colour-blind can tell
//! apart; dashes and markers say the same once more.

mod bars;
mod lines;
mod scale;
mod svg;

pub use bars::{Bar, BarPlot};
pub use lines::{LinePlot, Series, Ticks};
pub use scale::brief;
pub use svg::Style;

/// A picture.
#[derive(Debug, Clone)]
pub enum Plot {
    /// Figures over a scale, a line for each contender.
    Lines(LinePlot),
    /// A figure for each contender.
    Bars(BarPlot),
}

impl Plot {
    /// The text of an SVG file.
    #[must_use]
    pub fn to_svg(&self) -> String {
        match self {
            Plot::Lines(plot) => plot.to_svg(),
            Plot::Bars(plot) => plot.to_svg(),
        }
    }
}
