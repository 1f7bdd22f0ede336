//! What all ranks of a job did at a moment.

use mpi_boot::state::RankState;
use serde::{Deserialize, Serialize};

use super::limits;

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

/// What a rank does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doing {
    /// It answered. It computes if none of its threads waits.
    Answered(Box<RankState>),
    /// It has not called `MPI_Init`.
    BeforeInit,
    /// It has finalized, and its process runs on.
    Finalized,
    /// Its program is of another MPI.
    OtherMpi,
    /// Its process has ended.
    Ended,
    /// It did not answer in time.
    Silent(ProcessSeen),
    /// Its host did not answer in time, or sent an answer that makes no sense.
    Unknown,
}

/// What the system says about the process of a rank that does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessSeen {
    /// The state as in `/proc/PID/stat`: `R`, `S`, `D`, `T`, `t`, `Z`; a blank if it is not known.
    pub state: char,
    /// For how long it has been stopped, if it is, in milliseconds.
    pub stopped_ms: Option<u64>,
    /// Processor time that it used while it was waited for, in milliseconds.
    pub used_ms: u64,
    /// How long it was waited for, in milliseconds.
    pub waited_ms: u64,
}

impl Snapshot {
    /// Without what no rank of ours reports.
    pub(super) fn within_limits(&self) -> Snapshot {
        let mut snapshot = self.clone();
        for seen in &mut snapshot.ranks {
            if let Doing::Answered(state) = &mut seen.doing {
                limits::cut(state);
            }
        }
        snapshot
    }
}
