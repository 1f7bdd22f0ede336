//! What a run keeps: everything that the page says comes from here.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::measurements::{Better, Measurements};
use crate::origin::Origin;
use crate::plot::Ticks;

/// A whole run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Machine, date and commit.
    pub origin: Origin,
    /// Whether it was a quick run, whose figures show little.
    pub is_quick: bool,
    /// How long it took, in seconds.
    pub took_s: f64,
    /// The transports that were measured.
    pub transports: Vec<String>,
    /// The transports that this mpirun does not have.
    pub missing: Vec<String>,
    /// The experiments, in the order in which they ran.
    pub experiments: Vec<Outcome>,
}

/// What an experiment gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Its name in the template.
    pub name: String,
    /// A command line of each program that ran, as a reader would type it.
    pub commands: Vec<String>,
    /// Whom it measured; the first is fast RMPP.
    pub contenders: Vec<String>,
    /// How many rounds were begun.
    pub rounds: usize,
    /// How long it took, in seconds.
    pub took_s: f64,
    /// What is shown of it: a table and a picture each.
    pub panels: Vec<Panel>,
    /// What a reader must know beside the figures.
    pub notes: Vec<String>,
    /// A figure that it should reach.
    pub goal: Option<Aim>,
    /// All figures, and the reasons for those that are missing.
    pub records: Vec<Record>,
}

/// A least figure of fast RMPP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Aim {
    /// The figure, as records name it.
    pub what: String,
    /// What it should reach.
    pub least: f64,
}

/// Figures of one kind: a table and a picture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// The name of its picture, without ending; unique among all experiments.
    pub name: String,
    /// What is shown.
    pub title: String,
    /// The unit of its figures.
    pub unit: String,
    /// Which way the figures improve.
    pub better: Better,
    /// The axis of lines; bars have none.
    pub ticks: Option<Ticks>,
    /// The names of its figures, one for each tick or group of bars.
    pub subjects: Vec<String>,
}

impl Panel {
    /// How records name a figure of this panel.
    #[must_use]
    pub fn what(&self, subject: &str) -> String {
        format!("{}: {subject}", self.name)
    }
}

/// A figure of one round, or why it is missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The number of the round, from 0.
    pub round: usize,
    /// The contender.
    pub who: String,
    /// The panel and the subject.
    pub what: String,
    /// The figure in the unit of the panel.
    pub figure: Result<f64, String>,
}

impl Outcome {
    /// The figures, round by round.
    #[must_use]
    pub fn measurements(&self) -> Measurements {
        let mut all = Measurements::default();
        let rounds: BTreeSet<usize> = self.records.iter().map(|it| it.round).collect();
        for round in rounds {
            all.begin_round();
            for record in self.records.iter().filter(|it| it.round == round) {
                all.enter(&record.who, &record.what, record.figure.clone());
            }
        }
        all
    }
}
