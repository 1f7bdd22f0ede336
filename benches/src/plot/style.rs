//! How each contender looks, the same in every picture.

use plotters::style::RGBColor;

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
            "raw UDP" | "raw cache line" => ((110, 119, 129), Marker::Circle),
            "raw TCP" => ((160, 168, 176), Marker::Triangle),
            peer if peer.starts_with("Open MPI 5") => ((204, 121, 167), Marker::Square),
            peer if peer.starts_with("Open MPI") => ((213, 94, 0), Marker::Square),
            peer if peer.starts_with("MPICH 5") => ((0, 158, 115), Marker::Cross),
            peer if peer.starts_with("MPICH") => ((230, 159, 0), Marker::Cross),
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
    fn contenders_of_one_picture_look_different() {
        let pictures: [&[&str]; 3] = [
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
                "MPICH 4.0",
                "raw cache line",
            ],
            &[
                "mpi-lite auto",
                "Open MPI 4.1",
                "Open MPI 5.0",
                "MPICH 4.0",
                "MPICH 5.0",
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
