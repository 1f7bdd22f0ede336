//! How each contender looks, the same in every picture.

use std::fmt::Write as _;

use plotters::style::RGBColor;

/// What is written, in two weights, and what is drawn around the lines.
pub(super) const INK: RGBColor = RGBColor(31, 35, 40);
pub(super) const QUIET: RGBColor = RGBColor(89, 99, 110);
pub(super) const GRID: RGBColor = RGBColor(228, 232, 236);
pub(super) const AXIS: RGBColor = RGBColor(129, 139, 152);
pub(super) const FRAME: RGBColor = RGBColor(209, 217, 224);

/// Each colour as `plotters` writes it, and what stands in its place on a dark card.
const DARK: [(&str, &str); 15] = [
    ("#FFFFFF", "#0d1117"),
    ("#1F2328", "#f0f6fc"),
    ("#59636E", "#9198a1"),
    ("#E4E8EC", "#262c36"),
    ("#818B98", "#656c76"),
    ("#D1D9E0", "#3d444d"),
    ("#0072B2", "#3aa0e0"),
    ("#56B4E9", "#9ad3f5"),
    ("#D55E00", "#f0803c"),
    ("#E69F00", "#f2c14e"),
    ("#6E7781", "#9198a1"),
    ("#A0A8B0", "#6e7681"),
    ("#CC79A7", "#dd9ac0"),
    ("#009E73", "#2fc79b"),
    ("#8C5A2B", "#c9955f"),
];

/// The style sheet for dark pages: a rule of it counts more than the attribute that it looks at.
pub(super) fn dark_sheet() -> String {
    let mut sheet = "<style>@media (prefers-color-scheme: dark) {\n".to_owned();
    for (light, dark) in DARK {
        let _ = writeln!(sheet, "[fill=\"{light}\"] {{ fill: {dark} }}");
        let _ = writeln!(sheet, "[stroke=\"{light}\"] {{ stroke: {dark} }}");
    }
    sheet + "}</style>\n"
}

/// How a contender looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    /// Its colour.
    pub(super) colour: RGBColor,
    /// Its marker.
    pub(super) marker: Marker,
    /// Whether its line is dashed: what the kernel alone costs is no contender.
    pub(super) is_dashed: bool,
}

/// The shape of the points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Marker {
    Circle,
    Triangle,
    Square,
    Cross,
}

impl Style {
    /// The look of a contender, by its name.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let (colour, marker) = match name {
            "mpi-lite classic" | "mpi-lite rmpp" => ((86, 180, 233), Marker::Triangle),
            "rmpp classic" => ((86, 180, 233), Marker::Triangle),
            "gobackn" => ((0, 158, 115), Marker::Cross),
            "unet" => ((204, 121, 167), Marker::Square),
            "sctp" => ((230, 159, 0), Marker::Triangle),
            "tcp" => ((213, 94, 0), Marker::Square),
            "tcp-trc" => ((213, 94, 0), Marker::Cross),
            "raw UDP" | "raw cache line" => ((110, 119, 129), Marker::Circle),
            "raw TCP" => ((160, 168, 176), Marker::Triangle),
            peer if peer.starts_with("Open MPI 5") => ((204, 121, 167), Marker::Square),
            peer if peer.starts_with("Open MPI") => ((213, 94, 0), Marker::Square),
            peer if peer.starts_with("MPICH 5") => ((0, 158, 115), Marker::Cross),
            peer if peer.starts_with("MPICH") => ((230, 159, 0), Marker::Cross),
            peer if peer.starts_with("Intel MPI") => ((140, 90, 43), Marker::Triangle),
            _ => ((0, 114, 178), Marker::Circle),
        };
        let (red, green, blue) = colour;
        Self {
            colour: RGBColor(red, green, blue),
            marker,
            is_dashed: name.starts_with("raw "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_has_another_on_a_dark_card() {
        let names = [
            "mpi-lite fast",
            "mpi-lite classic",
            "raw UDP",
            "raw TCP",
            "Open MPI 4.1",
            "Open MPI 5.0",
            "MPICH 4.0",
            "MPICH 5.0",
            "Intel MPI 2021.19",
        ];
        let of_contenders = names.map(|name| Style::of(name).colour);
        let others = [INK, QUIET, GRID, AXIS, FRAME, RGBColor(255, 255, 255)];
        let sheet = dark_sheet();
        for RGBColor(red, green, blue) in of_contenders.into_iter().chain(others) {
            let light = format!("[fill=\"#{red:02X}{green:02X}{blue:02X}\"]");
            assert!(sheet.contains(&light), "{light}");
        }
    }

    #[test]
    fn contenders_of_one_picture_look_different() {
        let pictures: [&[&str]; 3] = [
            &[
                "rmpp",
                "rmpp classic",
                "gobackn",
                "unet",
                "sctp",
                "tcp",
                "tcp-trc",
            ],
            &[
                "mpi-lite fast",
                "mpi-lite classic",
                "Open MPI tcp",
                "MPICH tcp",
                "raw UDP",
            ],
            &[
                "mpi-lite auto",
                "mpi-lite rmpp",
                "Open MPI 4.1",
                "Open MPI 5.0",
                "MPICH 4.0",
                "MPICH 5.0",
                "Intel MPI 2021.19",
                "raw cache line",
            ],
        ];
        for names in pictures {
            for (i, name) in names.iter().enumerate() {
                for other in &names[..i] {
                    assert_ne!(Style::of(name), Style::of(other), "{name}, {other}");
                }
            }
        }
    }
}
