//! What a section has to tell, and where it is kept until the next comparison.

use std::fs;
use std::path::{Path, PathBuf};

use mpi_lite_tests::c_source;

use crate::goal::Goal;
use crate::plot::Plot;
use crate::table::Table;

/// The tables, goals and pictures of a section.
#[derive(Debug, Default)]
pub struct Report {
    text: String,
    goals: Vec<Goal>,
    plots: Vec<(&'static str, Plot)>,
}

/// Where the pictures are shown from.
#[must_use]
pub fn plots_folder() -> PathBuf {
    c_source("docs/plots")
}

/// Where the texts of the sections wait for the whole.
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
    pub fn plot(&mut self, name: &'static str, plot: Plot) {
        self.plots.push((name, plot));
    }

    /// Writes the pictures, and the texts to where [`goals_of`] finds them.
    ///
    /// # Errors
    /// What could not be written.
    pub fn keep(&self, section: &str) -> std::io::Result<()> {
        let goals: Vec<String> = self.goals.iter().map(ToString::to_string).collect();
        fs::create_dir_all(texts_folder())?;
        fs::write(text_file(section, "txt"), &self.text)?;
        fs::write(text_file(section, "goals"), goals.join("\n"))?;
        fs::create_dir_all(plots_folder())?;
        for (name, plot) in &self.plots {
            fs::write(plots_folder().join(format!("{name}.svg")), plot.to_svg())?;
        }
        Ok(())
    }
}

fn text_file(section: &str, ending: &str) -> PathBuf {
    texts_folder().join(Path::new(section).with_extension(ending))
}

/// The goals of a section as they were when it ran last, a line each; none if it never ran.
#[must_use]
pub fn goals_of(section: &str) -> Option<String> {
    fs::read_to_string(text_file(section, "goals")).ok()
}
