//! What a section has to tell, and where its text and pictures are kept.

use std::fs;
use std::path::PathBuf;

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

    /// Adds a picture, which becomes `docs/plots/NAME.svg`.
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
    pub fn keep(&self, section: &str) -> std::io::Result<()> {
        fs::create_dir_all(texts_folder())?;
        fs::write(texts_folder().join(format!("{section}.txt")), &self.text)
    }

    /// Draws the pictures.
    ///
    /// # Errors
    /// What could not be written.
    pub fn draw(&self) -> std::io::Result<()> {
        fs::create_dir_all(plots_folder())?;
        for (name, plot) in &self.plots {
            fs::write(plots_folder().join(format!("{name}.svg")), plot.to_svg())?;
        }
        Ok(())
    }
}
