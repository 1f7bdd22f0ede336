//! The functions, in files named as the standard's chapters.

use crate::declaration::Entry;

pub mod abi;
pub mod caching;
pub mod collective;
pub mod communicators;
pub mod completion;
pub mod datatypes;
pub mod deprecated;
pub mod environment;
pub mod error_handling;
pub mod external;
pub mod files;
pub mod groups;
pub mod info;
pub mod languages;
pub mod neighborhood;
pub mod one_sided;
pub mod partitioned;
pub mod point_to_point;
pub mod process;
pub mod tools;
pub mod topologies;

/// A file of functions.
pub struct Chapter {
    /// The chapter's number in MPI 5.0.
    pub number: u8,
    /// What the file is about.
    pub title: &'static str,
    /// Each function, then its large-count twin if there is one.
    pub functions: &'static [&'static [Entry]],
}

impl Chapter {
    const fn new(number: u8, title: &'static str, functions: &'static [&'static [Entry]]) -> Self {
        Self {
            number,
            title,
            functions,
        }
    }

    /// The functions one by one.
    pub fn entries(&self) -> impl Iterator<Item = &'static Entry> {
        self.functions.iter().flat_map(|twins| twins.iter())
    }
}

/// The function of this name.
pub fn entry(name: &str) -> Option<&'static Entry> {
    let mut all = CHAPTERS.iter().flat_map(Chapter::entries);
    all.find(|entry| entry.name == name)
}

/// All chapters in the standard's order.
pub const CHAPTERS: &[Chapter] = &[
    Chapter::new(3, "Point-to-point communication", point_to_point::TABLE),
    Chapter::new(3, "Completion and statuses", completion::TABLE),
    Chapter::new(4, "Partitioned communication", partitioned::TABLE),
    Chapter::new(5, "Datatypes", datatypes::TABLE),
    Chapter::new(
        5,
        "Datatypes: functions that return a value",
        datatypes::VALUES,
    ),
    Chapter::new(6, "Collective communication", collective::blocking::TABLE),
    Chapter::new(6, "Nonblocking collectives", collective::nonblocking::TABLE),
    Chapter::new(6, "Persistent collectives", collective::persistent::TABLE),
    Chapter::new(6, "Reduction operators", collective::TABLE),
    Chapter::new(7, "Groups", groups::TABLE),
    Chapter::new(7, "Communicators", communicators::TABLE),
    Chapter::new(7, "Caching", caching::TABLE),
    Chapter::new(8, "Process topologies", topologies::TABLE),
    Chapter::new(8, "Neighborhood collectives", neighborhood::blocking::TABLE),
    Chapter::new(
        8,
        "Nonblocking neighborhood collectives",
        neighborhood::nonblocking::TABLE,
    ),
    Chapter::new(
        8,
        "Persistent neighborhood collectives",
        neighborhood::persistent::TABLE,
    ),
    Chapter::new(9, "Environment", environment::TABLE),
    Chapter::new(
        9,
        "Environment: functions that return a value",
        environment::VALUES,
    ),
    Chapter::new(9, "Error handling", error_handling::TABLE),
    Chapter::new(10, "The info object", info::TABLE),
    Chapter::new(11, "Process creation and management", process::TABLE),
    Chapter::new(12, "One-sided communication", one_sided::TABLE),
    Chapter::new(13, "External interfaces", external::TABLE),
    Chapter::new(14, "Files", files::TABLE),
    Chapter::new(15, "Tool support", tools::TABLE),
    Chapter::new(16, "Deprecated interfaces", deprecated::TABLE),
    Chapter::new(19, "Language bindings", languages::TABLE),
    Chapter::new(20, "Application binary interface", abi::TABLE),
    Chapter::new(
        20,
        "Application binary interface: functions that return a value",
        abi::VALUES,
    ),
];
