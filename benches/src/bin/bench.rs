//! `make bench`: the figures of the installed mpi-lite, as tables.

use mpi_lite_benches::{SUITE, Subject, Table, kernel, ours};
use mpi_lite_tests::Scratch;

fn name_of(size: u32, subject: &Subject) -> String {
    if subject.sizes.is_empty() {
        "-".to_owned()
    } else {
        size.to_string()
    }
}

fn main() {
    let scratch = Scratch::new("bench");
    for subject in SUITE {
        let mut columns = Vec::new();
        let mut figures = Vec::new();
        for contender in [ours(), kernel()]
            .iter()
            .filter(|contender| contender.can(subject))
        {
            let binary = contender.compile(subject, &scratch);
            columns.push(contender.name.to_owned());
            let measured = contender.measure(subject, &binary);
            figures.push(measured.unwrap_or_else(|why| panic!("{why}")));
        }
        let mut table = Table::new(format!("{} ({})", subject.program, subject.unit), columns);
        for size in figures[0].keys() {
            let row = figures
                .iter()
                .map(|of_one| of_one.get(size).copied())
                .collect();
            table.row(name_of(*size, subject), row);
        }
        println!("{table}");
    }
}
