//! What a section has to tell, and where its text and pictures are kept.

use std::path::{Path, PathBuf};
use std::{fs, io};

use mpi_lite_tests::c_source;

use crate::goal::Goal;
use crate::plot::Plot;
use crate::table::Table;

/// The tables, goals and pictures of a section.
#[derive(Debug, Default)]
pub struct Report {
    text: String,
    goals: Vec<Goal>,
    plots: Vec<(String, Plot)>,
}

/// Where the pictures are shown from.
#[must_use]
pub fn plots_folder() -> PathBuf {
    c_source("docs/plots")
}

/// Where the texts of the sections are kept.
fn texts_folder() -> PathBuf {
    c_source("target/compare")
}

impl Report {
    /// Adds a table, and prints it, since the next may take its time.
    pub fn table(&mut self, table: &Table) {
        self.line(&table.to_string());
    }

    /// Adds a line of words and prints it.
    pub fn line(&mut self, line: &str) {
        println!("{line}");
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Adds a goal.
    pub fn goal(&mut self, goal: Goal) {
        self.goals.push(goal);
    }

    /// Adds a picture, which becomes `docs/plots/NAME.svg` with its figures in `NAME.json`.
    pub fn plot(&mut self, name: impl Into<String>, plot: Plot) {
        self.plots.push((name.into(), plot));
    }

    /// The goals so far.
    #[must_use]
    pub fn goals(&self) -> &[Goal] {
        &self.goals
    }

    /// Writes the text.
    ///
    /// # Errors
    /// What could not be written.
    pub fn keep(&self, section: &str) -> io::Result<()> {
        fs::create_dir_all(texts_folder())?;
        fs::write(texts_folder().join(format!("{section}.txt")), &self.text)
    }

    /// Draws the pictures into [`plots_folder`], each with its figures beside it.
    ///
    /// # Errors
    /// What could not be written.
    pub fn draw(&self) -> io::Result<()> {
        self.draw_into(&plots_folder())
    }

    fn draw_into(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        for (name, plot) in &self.plots {
            let path = folder.join(name);
            fs::write(path.with_extension("json"), serde_json::to_string(plot)?)?;
            fs::write(path.with_extension("svg"), plot.to_svg())?;
        }
        Ok(())
    }
}

/// Draws the pictures of this folder again from the figures beside them; the number of pictures.
///
/// # Errors
/// What could not be read or written.
pub fn redraw(folder: &Path) -> io::Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "json") {
            let plot: Plot = serde_json::from_slice(&fs::read(&path)?)?;
            fs::write(path.with_extension("svg"), plot.to_svg())?;
            count += 1;
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use mpi_lite_tests::Scratch;

    use super::*;
    use crate::measurements::Spread;
    use crate::plot::{Bar, BarPlot};

    #[test]
    fn a_picture_is_drawn_again_from_what_was_kept_of_it() {
        let plot = BarPlot {
            title: "Rate".to_owned(),
            subtitle: "one round".to_owned(),
            unit: "/s".to_owned(),
            groups: vec![(
                "one way".to_owned(),
                vec![Bar {
                    name: "fast".to_owned(),
                    figure: Ok(Spread::of(vec![1.1, 2.7, 3.3]).expect("three figures")),
                }],
            )],
        };
        let mut report = Report::default();
        report.plot("rate", Plot::Bars(plot));
        let scratch = Scratch::new("redraw");
        report.draw_into(scratch.path()).expect("a folder");
        let svg = scratch.path().join("rate.svg");
        let first = fs::read_to_string(&svg).expect("a picture");
        fs::remove_file(&svg).expect("it is there");
        assert_eq!(redraw(scratch.path()).ok(), Some(1));
        assert_eq!(fs::read_to_string(&svg).ok(), Some(first));
    }
}
