//! Who waits for whom: what the ranks do, put together when a job hangs. Decision 0051.
//!
//! `mpirun` asks every rank what it does, and makes a [`Snapshot`] of the answers. From it come the
//! lines for the user and the JSON for programs.

pub mod gather;
pub mod limits;
pub mod record;
pub mod settings;

use mpi_lite::boot::state::RankState;
use serde::{Deserialize, Serialize};

// Replaced on merge.
/// The lines of the report for the user.
pub fn report(snapshot: &Snapshot) -> Vec<String> {
    let head = match snapshot.occasion {
        Occasion::Stall { seconds } => {
            format!("the job hangs: no rank has gone on for {seconds} s")
        }
        Occasion::Asked => "what the ranks do".to_string(),
        Occasion::Timeout => "what the ranks do at the end of --timeout".to_string(),
    };
    let words = |doing: &Doing| match doing {
        Doing::BeforeInit => "has not called MPI_Init".to_string(),
        Doing::Silent(ProcessSeen {
            state,
            stopped_ms: Some(stopped_ms),
            ..
        }) => format!("is stopped (state {state}) for {} s", stopped_ms / 1000),
        Doing::Silent(process) => format!("does not answer (state {}, ", process.state),
        other => format!("{other:?}"),
    };
    let ranks = snapshot.ranks.iter().enumerate();
    let lines = ranks.map(|(rank, seen)| format!("rank {rank}: {}", words(&seen.doing)));
    std::iter::once(head).chain(lines).collect()
}

// Replaced on merge.
/// The report for programs, in one line.
pub fn json(snapshot: &Snapshot) -> String {
    format!("{{\"ranks\":{}}}", snapshot.ranks.len())
}

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
