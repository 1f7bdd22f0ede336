//! What all ranks of a job did at a moment.

use super::{Doing, limits};

/// What all ranks of the job did at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Why it was made.
    pub occasion: Occasion,
    /// By rank.
    pub ranks: Vec<RankSeen>,
}

/// Why a snapshot was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Occasion {
    /// No rank has gone on for so many seconds.
    Stall {
        /// As long as the rank that stopped last.
        seconds: u64,
    },
    /// The user sent SIGQUIT.
    Asked,
    /// The time of `--timeout` is over.
    Timeout,
}

/// A rank of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankSeen {
    /// Its host, printable.
    pub host: String,
    /// Its process, if it has been started.
    pub pid: Option<i32>,
    /// What it does.
    pub doing: Doing,
}

impl Snapshot {
    /// Without what no rank of ours reports.
    pub(super) fn within_limits(&self) -> Snapshot {
        let mut snapshot = self.clone();
        for seen in &mut snapshot.ranks {
            if let Doing::State(state) = &mut seen.doing {
                limits::cut(state);
            }
        }
        snapshot
    }
}
