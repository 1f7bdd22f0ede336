//! `make bench`: the figures of the installed mpi-lite, as tables.

use mpi_lite_benches::{Bench, Options, Report, sections};

fn main() {
    let bench = Bench::new(Options::from_environment());
    sections::alone(&bench, &mut Report::default());
    sections::ways(&bench, &mut Report::default());
}
