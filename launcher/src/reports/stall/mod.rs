//! Who waits for whom: what the ranks do, put together when a job hangs. Decision 0051.
//!
//! `mpirun` asks every rank what it does, and makes a [`Snapshot`] of the answers. From it come the
//! lines for the user and the JSON for programs.

mod analysis;
mod collectives;
mod debug_file;
mod facts;
pub mod gather;
mod graph;
mod json;
pub mod limits;
mod lines;
mod module;
mod near;
mod ranks;
mod sentences;
pub mod settings;
mod snapshot;
pub mod source;
#[cfg(test)]
mod tests;
mod waits;
mod words;

pub use snapshot::{Occasion, RankSeen, Snapshot};

pub use crate::wire::{Answer as Doing, ProcessSeen};

/// The most lines of a report.
const LINES_MAX: usize = 200;

/// The lines of a report for the user.
#[must_use]
pub fn report(snapshot: &Snapshot) -> Vec<String> {
    let snapshot = snapshot.within_limits();
    let finding = analysis::Finding::new(&snapshot);
    let reasons = finding.reasons.iter();
    let reasons: Vec<String> = reasons
        .map(|reason| format!("reason: {}", finding.sentence(reason)))
        .collect();
    let groups = lines::groups(&finding).into_iter();
    let mut lines: Vec<String> = groups.flat_map(|group| group.lines()).collect();
    let room = LINES_MAX - 1 - reasons.len();
    if lines.len() > room {
        let more = lines.len() - (room - 1);
        lines.truncate(room - 1);
        lines.push(format!("and {more} more lines"));
    }
    lines.insert(0, words::title(&snapshot.occasion));
    lines.extend(reasons);
    lines
}

/// The report for programs: one JSON object, on one line. `docs/stall-json.md` has its fields.
#[must_use]
pub fn json(snapshot: &Snapshot) -> String {
    json::text(&snapshot.within_limits())
}
