//! `make tune`: measures the limits of collectives, and writes their table.

use std::path::Path;

use mpi_lite_benches::{Bench, Options, Report, sections};

fn main() -> std::io::Result<()> {
    let bench = Bench::new(Options::from_environment());
    let table = sections::tune(&bench, &mut Report::default());
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let path = root.join("mpi-lite/boot/src/config/limits.table");
    print!("{table}");
    std::fs::write(path, table)
}
