//! A figure for each contender, as bars with the figure at their ends and its spread across them.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;
use serde::{Deserialize, Serialize};

use super::brief;
use super::canvas::{Area, Failure, HEADING, WIDTH, card, write};
use super::style::{AXIS, INK, QUIET, Style as Look};
use crate::measurements::Spread;

const LEFT: i32 = 186;
const RIGHT: i32 = WIDTH - 120;
const BAR: i32 = 20;
const STEP: i32 = 28;
const GROUP: i32 = 30;
/// Between the groups.
const GAP: i32 = 14;

/// One bar.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// The contender.
    pub name: String,
    /// How much, or in words why not.
    pub figure: Result<Spread, String>,
}

/// A picture of bars.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    pub(super) fn draw(&self, text: &mut String, print: &[String]) -> Result<(), Failure> {
        let height = |group: &(String, Vec<Bar>)| {
            let bars = i32::try_from(group.1.len()).expect("a few bars");
            GROUP + bars * STEP + GAP
        };
        let heights: i32 = self.groups.iter().map(height).sum();
        let card = card(
            text,
            HEADING + heights,
            (&self.title, &self.subtitle),
            print,
        )?;
        let figures = self.groups.iter().flat_map(|group| &group.1);
        let most = figures.filter_map(|bar| bar.figure.as_ref().ok().map(|it| it.most));
        let most = most.fold(f64::MIN_POSITIVE, f64::max);
        let mut top = HEADING;
        for group in &self.groups {
            write(&card, (20, top + 12), (&group.0, HPos::Left), &QUIET)?;
            let mut y = top + GROUP;
            for bar in &group.1 {
                draw_bar(&card, (bar, most, &self.unit), y)?;
                y += STEP;
            }
            let axis = [(LEFT, top + GROUP - 4), (LEFT, y - STEP + BAR + 4)];
            card.draw(&PathElement::new(axis, AXIS))?;
            top += height(group);
        }
        card.present()
    }
}

fn draw_bar(card: &Area<'_>, (bar, most, unit): (&Bar, f64, &str), y: i32) -> Result<(), Failure> {
    let middle = y + BAR / 2;
    write(card, (LEFT - 10, middle), (&bar.name, HPos::Right), &INK)?;
    let figure = match &bar.figure {
        Ok(figure) => figure,
        Err(why) => return write(card, (LEFT + 8, middle), (why, HPos::Left), &QUIET),
    };
    #[expect(clippy::cast_possible_truncation, reason = "a pixel of the card")]
    let at = |figure: f64| LEFT + (figure / most * f64::from(RIGHT - LEFT)).round() as i32;
    let shape = [(LEFT, y), (at(figure.median), y + BAR)];
    card.draw(&Rectangle::new(shape, Look::of(&bar.name).colour.filled()))?;
    let (least, highest) = (at(figure.least), at(figure.most));
    let cap = |x: i32| [(x, middle - 4), (x, middle + 4)];
    for line in [
        [(least, middle), (highest, middle)],
        cap(least),
        cap(highest),
    ] {
        card.draw(&PathElement::new(line, INK))?;
    }
    let text = format!("{}{unit}", brief(figure.median));
    write(card, (highest + 8, middle), (&text, HPos::Left), &INK)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_on_the_card, texts_of};
    use super::*;

    #[test]
    fn a_picture_of_bars_is_valid_xml_and_tells_who_is_missing() {
        let bar = |name: &str, figure| Bar {
            name: name.to_owned(),
            figure,
        };
        let spread = Spread::of(vec![3.1e6, 3.2e6, 3.6e6]).expect("three figures");
        let plot = BarPlot {
            title: "Rate".to_owned(),
            subtitle: "8 B, 64 in flight".to_owned(),
            unit: "/s".to_owned(),
            groups: vec![(
                "one way".to_owned(),
                vec![
                    bar("fast", Ok(spread)),
                    bar("MPICH tcp", Err("not installed".to_owned())),
                ],
            )],
        };
        let mut svg = String::new();
        plot.draw(&mut svg, &["printed small".to_owned()])
            .expect("a string takes all");
        let texts = texts_of(&svg);
        for name in ["fast", "3.2 M/s", "not installed", "printed small"] {
            assert!(texts.iter().any(|text| text == name), "{name}: {texts:?}");
        }
        assert_on_the_card(&svg);
    }
}
