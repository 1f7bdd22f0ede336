//! What is measured.

/// Which way a figure improves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Latencies.
    Smaller,
    /// Rates and bandwidths.
    Larger,
}

/// A C program and the sizes it is run with.
#[derive(Debug)]
pub struct Subject {
    /// The C file in `benches/c`, without its ending.
    pub program: &'static str,
    /// What a figure means.
    pub unit: &'static str,
    /// Which way it improves.
    pub better: Better,
    /// Sizes in bytes: one figure each.
    pub sizes: &'static [u32],
    /// The number of ranks.
    pub ranks: usize,
}

/// Everything that is measured, in the order of the tables.
pub const SUITE: &[Subject] = &[
    Subject {
        program: "latency",
        unit: "half round trip, us",
        better: Better::Smaller,
        sizes: &[0, 8, 64, 1024, 8192, 65_536, 262_144, 1_048_576, 4_194_304],
        ranks: 2,
    },
    Subject {
        program: "bandwidth",
        unit: "16 in flight, MB/s",
        better: Better::Larger,
        sizes: &[8192, 65_536, 1_048_576, 4_194_304],
        ranks: 2,
    },
    Subject {
        program: "rate",
        unit: "64 in flight, messages/s",
        better: Better::Larger,
        sizes: &[8, 1024],
        ranks: 2,
    },
    Subject {
        program: "farm",
        unit: "1 master, 1 worker, 30 KiB tasks, tasks/s",
        better: Better::Larger,
        sizes: &[],
        ranks: 2,
    },
];

impl Subject {
    /// The words of the program's command line.
    #[must_use]
    pub fn arguments(&self) -> Vec<String> {
        if self.program == "farm" {
            return vec!["1000".to_owned()];
        }
        self.sizes.iter().map(ToString::to_string).collect()
    }
}
