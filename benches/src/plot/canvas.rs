//! What all pictures share: the card with its title, texts in pixels, the points.

use std::io;

use plotters::coord::Shift;
use plotters::element::{DynElement, IntoDynElement};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::style::{FRAME, INK, Marker, QUIET, Style as Look};

/// A part of a picture, in pixels from its upper left corner.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// What `plotters` says when it fails.
pub(super) type Failure = DrawingAreaErrorKind<io::Error>;

/// Width of every picture, in pixels at its natural size.
pub(super) const WIDTH: i32 = 760;
/// The left edge of title and subtitle.
const INSET: i32 = 20;
/// The height of title and subtitle.
pub(super) const HEADING: i32 = 62;

/// Letters in a line of notes and of the small print.
pub(super) const NOTE: usize = 96;
const PRINT: usize = 112;
/// How high a line of notes is, and one of the small print.
const LINE: i32 = 18;
const PRINT_LINE: i32 = 15;

/// An empty card of this height with a title and a line below it. The small print stands below the
/// card that is returned, and makes the picture higher.
pub(super) fn card<'a>(
    text: &'a mut String,
    height: i32,
    (title, subtitle): (&str, &str),
    print: &[String],
) -> Result<Area<'a>, Failure> {
    let print = broken(print, PRINT);
    let inner = height;
    let height = inner + height_of(&print, PRINT_LINE);
    let size = (WIDTH.unsigned_abs(), height.unsigned_abs());
    let card = SVGBackend::with_string(text, size).into_drawing_area();
    card.fill(&WHITE)?;
    let frame = [(0, 0), (WIDTH - 1, height - 1)];
    card.draw(&Rectangle::new(frame, FRAME))?;
    let heading = ("sans-serif", 17).into_font().style(FontStyle::Bold);
    let heading = heading.color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
    card.draw(&Text::new(title.to_owned(), (INSET, 24), heading))?;
    write(&card, (INSET, 46), (subtitle, HPos::Left), &QUIET)?;
    let (card, foot) = card.split_vertically(inner);
    for (line, y) in print.iter().zip(middles(0, PRINT_LINE)) {
        let small = sized(10, &QUIET, HPos::Left);
        foot.draw(&Text::new(line.as_str(), (INSET, y), small))?;
    }
    Ok(card)
}

/// The usual letters, which stand at this side of their place.
pub(super) fn letters(colour: &RGBColor, side: HPos) -> TextStyle<'static> {
    sized(13, colour, side)
}

fn sized(pixels: i32, colour: &RGBColor, side: HPos) -> TextStyle<'static> {
    let style = ("sans-serif", pixels).into_font().color(colour);
    style.pos(Pos::new(side, VPos::Center))
}

/// Writes a text, half above and half below its place.
pub(super) fn write(
    area: &Area<'_>,
    place: (i32, i32),
    (text, side): (&str, HPos),
    colour: &RGBColor,
) -> Result<(), Failure> {
    area.draw(&Text::new(text.to_owned(), place, letters(colour, side)))
}

/// The point of a contender.
pub(super) fn marker<'a, D: DrawingBackend + 'a, C: Clone + 'static>(
    place: C,
    look: Look,
) -> DynElement<'a, D, C> {
    let colour = look.colour;
    match look.marker {
        Marker::Circle => Circle::new(place, 4, colour.filled()).into_dyn(),
        Marker::Triangle => TriangleMarker::new(place, 5, colour.filled()).into_dyn(),
        Marker::Cross => Cross::new(place, 4, colour.stroke_width(2)).into_dyn(),
        Marker::Square => {
            let square = Rectangle::new([(-4, -4), (4, 4)], colour.filled());
            (EmptyElement::at(place) + square).into_dyn()
        }
    }
}

/// What stands below a picture, in lines of at most this many letters.
pub(super) fn broken(texts: &[String], columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for text in texts {
        lines.push(String::new());
        for word in text.split_whitespace() {
            let line = lines.last_mut().expect("one was begun");
            if line.is_empty() {
                line.push_str(word);
            } else if line.chars().count() + 1 + word.chars().count() <= columns {
                *line += " ";
                *line += word;
            } else {
                lines.push(format!("  {word}"));
            }
        }
    }
    lines
}

/// How high the lines of notes are, with some room below them.
pub(super) fn notes_height(lines: &[String]) -> i32 {
    height_of(lines, LINE)
}

fn height_of(lines: &[String], line: i32) -> i32 {
    let count = i32::try_from(lines.len()).expect("a few lines");
    if count == 0 { 0 } else { count * line + 12 }
}

/// The middle of each line below this height.
fn middles(top: i32, line: i32) -> impl Iterator<Item = i32> {
    (top + line / 2..).step_by(line.unsigned_abs() as usize)
}

/// Writes the notes from this height of the card on.
pub(super) fn write_notes(card: &Area<'_>, top: i32, lines: &[String]) -> Result<(), Failure> {
    for (line, y) in lines.iter().zip(middles(top, LINE)) {
        write(card, (INSET, y), (line, HPos::Left), &QUIET)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_note_goes_on_in_the_next_line() {
        let long = vec!["word"; 40].join(" ");
        let lines = broken(&[long.clone(), "short".to_owned()], NOTE);
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines.iter().all(|line| line.chars().count() <= NOTE));
        let words: Vec<&str> = lines[..3]
            .iter()
            .flat_map(|it| it.split_whitespace())
            .collect();
        assert_eq!(words.join(" "), long);
        assert_eq!(lines[3], "short");
    }
}
