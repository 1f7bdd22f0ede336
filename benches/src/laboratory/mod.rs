//! `make laboratory`: the experiments of the papers, drawn anew for all transports of mpi-lite.
//!
//! One run measures, keeps its figures in one file, and writes a page and pictures from that file
//! alone. The words of the page are a template; each sentence that states a result is computed
//! from the figures, so that a new run never leaves a false one.

mod experiments;
mod kept;
mod measure;
mod page;
mod panels;
mod pipes;
mod simulated;
mod transport;
mod words;

pub use kept::{Kept, Outcome, Panel, Record};
pub use page::Page;
pub use transport::Transport;

use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use mpi_lite_tests::c_source;

use crate::options::Options;
use crate::origin::Origin;
use crate::place::check_networks;

/// The file that keeps the figures, in the folder of the pictures.
const FIGURES: &str = "figures.json";

/// What is asked for, and where it goes.
#[derive(Debug)]
pub struct Laboratory {
    /// Whether five minutes must do.
    pub is_quick: bool,
    /// The experiments that are asked for; all if there is none.
    pub only: Vec<String>,
}

impl Laboratory {
    /// `QUICK=1`, `ONLY=ping-pong,path`.
    #[must_use]
    pub fn from_environment() -> Self {
        let read = |name| std::env::var(name).unwrap_or_default();
        let only = read("ONLY");
        let names = only.split([',', ' ']).filter(|name| !name.is_empty());
        Self {
            is_quick: !matches!(&*read("QUICK"), "" | "0"),
            only: names.map(str::to_owned).collect(),
        }
    }

    /// The folder of the page. Only a full run of all experiments changes the documentation.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        if self.is_quick || !self.only.is_empty() {
            c_source("target/laboratory")
        } else {
            c_source("docs")
        }
    }

    /// Measures everything and keeps the figures. Progress goes to standard error.
    ///
    /// # Errors
    /// The machine lacks a network that loses packets, or an experiment is asked for that is none.
    pub fn measure(&self) -> Result<Kept, String> {
        check_networks()?;
        let start = Instant::now();
        let found = transport::found()?;
        let mut experiments = experiments::all(self.is_quick, &found.present);
        let names: Vec<&str> = experiments.iter().map(|it| it.name).collect();
        if let Some(wrong) = self.only.iter().find(|name| !names.contains(&&***name)) {
            let names = names.join(", ");
            return Err(format!("ONLY={wrong}: the experiments are {names}"));
        }
        experiments
            .retain(|it| self.only.is_empty() || self.only.iter().any(|name| name == it.name));
        let count = experiments.len();
        // What comes later keeps its share, however long the first ones would like to take.
        let mut later: Duration = experiments.iter().map(|it| it.share).sum();
        let mut outcomes = Vec::new();
        for (number, experiment) in experiments.iter().enumerate() {
            let name = experiment.name;
            eprintln!("laboratory: {} of {count}: {name}", number + 1);
            later -= experiment.share;
            let end = start + experiments::most_time(self.is_quick).saturating_sub(later);
            outcomes.push(measure::measure(experiment, (&found, end)));
        }
        Ok(Kept {
            origin: Origin::now(&Options::from_environment(), 1, &[]),
            is_quick: self.is_quick,
            took_s: start.elapsed().as_secs_f64(),
            transports: found.present.iter().map(|it| it.name.clone()).collect(),
            missing: found.missing.clone(),
            experiments: outcomes,
        })
    }

    /// Writes figures, page and pictures. Returns the path of the page.
    ///
    /// # Errors
    /// What could not be written, or what is wrong with the template.
    pub fn write(&self, kept: &Kept) -> io::Result<PathBuf> {
        let page = self.folder().join("laboratory.md");
        let pictures = self.folder().join("laboratory");
        fs::create_dir_all(&pictures)?;
        fs::write(pictures.join(FIGURES), serde_json::to_string(kept)? + "\n")?;
        let drawn = Page::of(kept).map_err(io::Error::other)?;
        for (name, svg) in &drawn.pictures {
            fs::write(pictures.join(name), svg)?;
        }
        fs::write(&page, drawn.text)?;
        Ok(page)
    }

    /// Reads the figures of an earlier run, to write its page anew.
    ///
    /// # Errors
    /// There are none, or they are of another version.
    pub fn kept(&self) -> io::Result<Kept> {
        let path = self.folder().join("laboratory").join(FIGURES);
        Ok(serde_json::from_slice(&fs::read(path)?)?)
    }
}
