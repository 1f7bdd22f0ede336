//! What options of `mpirun` choose between.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::cli::words::one_of;
use crate::failure::{Failure, printable};
use crate::node::cores::Object;

/// How ranks are dealt to the nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mapping {
    /// Fill the slots of one node, then go to the next.
    #[default]
    BySlot,
    /// One rank to each node in turn.
    ByNode,
    /// This many ranks to each node.
    PerNode(u32),
    /// This many ranks to each part of this kind that `mpirun`'s own machine has.
    PerPart(u32, Object),
    /// One rank to each line of the host file.
    Sequence,
}

/// Which ranks read the standard input of `mpirun`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// This rank.
    One(u32),
    /// All: each gets a copy.
    All,
    /// Nobody.
    None,
}

impl Default for Readers {
    fn default() -> Readers {
        Readers::One(0)
    }
}

impl Readers {
    /// The value of `--stdin`.
    ///
    /// # Errors
    ///
    /// A usage failure that lists what is possible.
    pub fn parse(value: &str) -> Result<Readers, Failure> {
        match value {
            "all" => Ok(Readers::All),
            "none" => Ok(Readers::None),
            _ => value.parse().map(Readers::One).map_err(|_| {
                let shown = printable(value);
                Failure::usage(format!("--stdin {shown}: expected a rank, `all` or `none`"))
            }),
        }
    }
}

/// What starts the agents on other hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Launcher {
    /// An ssh to each host.
    Ssh,
    /// One srun for all.
    Srun,
}

impl Launcher {
    /// The value of `--launcher`.
    ///
    /// # Errors
    ///
    /// A usage failure that lists the possible values.
    pub fn parse(name: &str, value: &str) -> Result<Launcher, Failure> {
        if value == "slurm" {
            return Ok(Launcher::Srun);
        }
        let all = [("ssh", Launcher::Ssh), ("srun", Launcher::Srun)];
        one_of(&format!("{name} "), OsStr::new(value), &all)
    }
}

/// What happens when the job is stalled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// It is reported.
    Report,
    /// It is reported, and the job is ended.
    Abort,
    /// Nothing.
    Off,
}

impl Policy {
    pub(crate) const ALL: [Policy; 3] = [Policy::Report, Policy::Abort, Policy::Off];

    /// As the user writes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Policy::Report => "report",
            Policy::Abort => "abort",
            Policy::Off => "off",
        }
    }
}

/// Where the counters go at the end, and how they look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    /// JSON instead of a table for humans.
    pub is_json: bool,
    /// This file instead of standard error.
    pub file: Option<PathBuf>,
}

impl Stats {
    /// `--stats`, `--stats=json`, `--stats=FILE`; a file gets JSON if its name says so.
    pub(crate) fn of(value: &OsStr) -> Stats {
        let file = PathBuf::from(value);
        match value.as_bytes() {
            b"" | b"table" => Stats {
                is_json: false,
                file: None,
            },
            b"json" => Stats {
                is_json: true,
                file: None,
            },
            _ => Stats {
                is_json: file.extension().is_some_and(|it| it == "json"),
                file: Some(file),
            },
        }
    }
}
