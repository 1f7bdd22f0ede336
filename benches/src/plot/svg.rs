//! What all pictures share: the card, its texts, how each contender looks.

use std::fmt::Write as _;

/// Width of every picture, in pixels at its natural size.
pub(super) const WIDTH: f64 = 760.0;
/// The left edge of title and subtitle.
const INSET: f64 = 20.0;

/// How a contender looks, the same in every picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Which of the colours.
    pub(super) colour: usize,
    /// Whether its line is dashed: what the kernel alone costs is no contender.
    pub(super) is_dashed: bool,
}

/// Light and dark: fast or auto, classic or rmpp, Open MPI, MPICH, the kernel's UDP or the bare
/// machine, the kernel's TCP, the newest Open MPI, the newest MPICH.
const COLOURS: [(&str, &str); 8] = [
    ("#0072b2", "#3aa0e0"),
    ("#56b4e9", "#9ad3f5"),
    ("#d55e00", "#f0803c"),
    ("#e69f00", "#f2c14e"),
    ("#6e7781", "#9198a1"),
    ("#a0a8b0", "#6e7681"),
    ("#cc79a7", "#dd9ac0"),
    ("#009e73", "#2fc79b"),
];

impl Style {
    /// The look of a contender, by its name.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let colour = match name {
            "mpi-lite classic" | "mpi-lite rmpp" => 1,
            "raw UDP" | "raw cache line" => 4,
            "raw TCP" => 5,
            peer if peer.starts_with("Open MPI 5") => 6,
            peer if peer.starts_with("Open MPI") => 2,
            peer if peer.starts_with("MPICH 5") => 7,
            peer if peer.starts_with("MPICH") => 3,
            _ => 0,
        };
        Self {
            colour,
            is_dashed: name.starts_with("raw "),
        }
    }
}

/// A text for people as XML writes it.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// An SVG file under construction.
#[derive(Debug)]
pub(super) struct Canvas(String);

impl Canvas {
    /// An empty card of this height with a title and a line below it.
    pub(super) fn new(height: f64, title: &str, subtitle: &str) -> Self {
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n<title>{}</title>\n",
            escape(title)
        );
        text.push_str(&style_sheet());
        let (width, inner) = (WIDTH - 1.0, height - 1.0);
        let _ = writeln!(
            text,
            "<rect class=\"card\" x=\"0.5\" y=\"0.5\" \
             width=\"{width}\" height=\"{inner}\" rx=\"8\"/>"
        );
        let mut canvas = Self(text);
        canvas.text((INSET, 30.0), "title", title);
        canvas.text((INSET, 50.0), "quiet", subtitle);
        canvas
    }

    /// Adds a text; the class says how it looks and which point of it stands there.
    pub(super) fn text(&mut self, (x, y): (f64, f64), class: &str, text: &str) {
        let text = escape(text);
        let _ = writeln!(
            self.0,
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>"
        );
    }

    /// Adds a straight line.
    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64), class: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        let _ = writeln!(
            self.0,
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        );
    }

    /// Adds a contender's line through these points.
    pub(super) fn path(&mut self, points: &[(f64, f64)], style: Style) {
        let mut data = String::new();
        for (i, (x, y)) in points.iter().enumerate() {
            let _ = write!(data, "{}{x:.1} {y:.1}", if i == 0 { "M" } else { " L" });
        }
        let dash = if style.is_dashed { " dash" } else { "" };
        let colour = style.colour;
        let _ = writeln!(
            self.0,
            "<path class=\"curve s{colour}{dash}\" d=\"{data}\"/>"
        );
    }

    /// Adds a contender's mark.
    pub(super) fn mark(&mut self, (x, y): (f64, f64), style: Style) {
        let shape = match style.colour % 4 {
            0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\""),
            1 => format!("<path d=\"M{x:.1} {:.1} l4.6 8 h-9.2 z\"", y - 4.6),
            2 => format!("<path d=\"M{:.1} {:.1} h7 v7 h-7 z\"", x - 3.5, y - 3.5),
            _ => format!("<path d=\"M{x:.1} {:.1} l5 5 l-5 5 l-5 -5 z\"", y - 5.0),
        };
        let _ = writeln!(self.0, "{shape} class=\"f{}\"/>", style.colour);
    }

    /// Adds a contender's bar from its upper left corner.
    pub(super) fn bar(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), style: Style) {
        let _ = writeln!(
            self.0,
            "<rect class=\"f{}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
             height=\"{height:.1}\" rx=\"2\"/>",
            style.colour
        );
    }

    /// The finished file.
    pub(super) fn finish(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }
}

fn style_sheet() -> String {
    let colours = |pick: fn(&(&'static str, &'static str)) -> &'static str| {
        let mut rules = String::new();
        for (i, pair) in COLOURS.iter().enumerate() {
            let colour = pick(pair);
            let _ = writeln!(
                rules,
                ".s{i} {{ stroke: {colour} }} .f{i} {{ fill: {colour} }}"
            );
        }
        rules
    };
    format!(
        "<style>\n\
         text {{ font: 13px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #1f2328 }}\n\
         .title {{ font-size: 17px; font-weight: 600 }}\n\
         .quiet, .tick, .below {{ fill: #59636e }}\n\
         .tick, .figure {{ font-variant-numeric: tabular-nums }}\n\
         .tick, .name {{ text-anchor: end }} .below {{ text-anchor: middle }}\n\
         .card {{ fill: #ffffff; stroke: #d1d9e0 }} .grid {{ stroke: #e4e8ec }}\n\
         .axis {{ stroke: #818b98 }}\n\
         .curve {{ fill: none; stroke-width: 2.2; stroke-linejoin: round }}\n\
         .dash {{ stroke-dasharray: 6 4 }} .leader {{ stroke: #afb8c1 }}\n{}\
         @media (prefers-color-scheme: dark) {{\n\
         text {{ fill: #f0f6fc }} .quiet, .tick, .below {{ fill: #9198a1 }}\n\
         .card {{ fill: #0d1117; stroke: #3d444d }} .grid {{ stroke: #262c36 }}\n\
         .axis {{ stroke: #656c76 }} .leader {{ stroke: #4d555f }}\n{}}}\n</style>\n",
        colours(|pair| pair.0),
        colours(|pair| pair.1)
    )
}
