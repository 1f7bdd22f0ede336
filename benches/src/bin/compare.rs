//! `make compare`: mpi-lite beside the MPIs of this machine and beside the kernel alone.
//!
//! Rounds, everybody back to back in each of them; the figures are medians over the rounds, the
//! ratios are taken within a round. `MPILITE_BENCH_ROUNDS` sets the number of rounds (default 5).

use std::path::PathBuf;

use mpi_lite_benches::{
    Contender, Figures, SUITE, Subject, Table, installed_peers, kernel, median, ours, ratios,
};
use mpi_lite_tests::Scratch;

const ROUNDS: usize = 5;

/// A contender with its program and the figures of each round.
struct Entry<'a> {
    contender: &'a Contender,
    binary: PathBuf,
    rounds: Vec<Figures>,
}

impl Entry<'_> {
    /// One more round. A peer that fails has no figures in it; that we fail ends the comparison.
    fn measure(&mut self, subject: &Subject) {
        let measured = self.contender.measure(subject, &self.binary);
        let figures = measured.unwrap_or_else(|why| {
            assert!(!self.contender.is_ours(), "{why}");
            let name = self.contender.name;
            let line = why.lines().next().unwrap_or_default().to_owned();
            eprintln!("compare: {name} fails in {}: {line}", subject.program);
            Figures::new()
        });
        self.rounds.push(figures);
    }
}

fn rounds() -> usize {
    let from_outside = std::env::var("MPILITE_BENCH_ROUNDS")
        .ok()
        .and_then(|n| n.parse().ok());
    from_outside.unwrap_or(ROUNDS).max(1)
}

fn run<'a>(subject: &Subject, contenders: &'a [Contender], scratch: &Scratch) -> Vec<Entry<'a>> {
    let able = contenders.iter().filter(|contender| contender.can(subject));
    let mut entries: Vec<_> = able
        .map(|contender| Entry {
            contender,
            binary: contender.compile(subject, scratch),
            rounds: Vec::new(),
        })
        .collect();
    for _ in 0..rounds() {
        for entry in &mut entries {
            entry.measure(subject);
        }
        // The next round begins with another, so that nobody always runs after the same one.
        entries.rotate_left(1);
    }
    entries.sort_by_key(|entry| {
        contenders
            .iter()
            .position(|c| c.name == entry.contender.name)
    });
    entries
}

fn middle(rounds: &[Figures], size: u32) -> Option<f64> {
    let figures: Vec<_> = rounds
        .iter()
        .filter_map(|round| round.get(&size).copied())
        .collect();
    (!figures.is_empty()).then(|| median(&figures))
}

fn table_of_figures(subject: &Subject, entries: &[Entry<'_>]) -> Table {
    let columns = entries
        .iter()
        .map(|entry| entry.contender.name.to_owned())
        .collect();
    let title = format!(
        "{} ({}), medians of {} rounds",
        subject.program,
        subject.unit,
        rounds()
    );
    let mut table = Table::new(title, columns);
    for size in entries[0].rounds[0].keys() {
        let row = entries
            .iter()
            .map(|entry| middle(&entry.rounds, *size))
            .collect();
        table.row(size.to_string(), row);
    }
    table
}

/// The first entry against each of the others.
fn table_of_ratios(subject: &Subject, entries: &[Entry<'_>]) -> Table {
    let (ours, others) = entries.split_first().expect("we are always there");
    let of = |other: &Entry<'_>| ratios(&ours.rounds, &other.rounds, subject.better);
    let columns = others
        .iter()
        .map(|other| other.contender.name.to_owned())
        .collect();
    let title = format!(
        "{}: times as good as (above 1: we are better)",
        subject.program
    );
    let mut table = Table::new(title, columns);
    let ratios: Vec<Figures> = others.iter().map(of).collect();
    for size in ours.rounds[0].keys() {
        let row = ratios
            .iter()
            .map(|of_one| of_one.get(size).copied())
            .collect();
        table.row(size.to_string(), row);
    }
    table
}

fn main() {
    let scratch = Scratch::new("compare");
    let mut contenders = vec![ours()];
    contenders.extend(installed_peers());
    contenders.push(kernel());
    if contenders.len() == 2 {
        println!(
            "no other MPI is installed (Debian: openmpi-bin libopenmpi-dev mpich libmpich-dev)"
        );
    }
    for subject in SUITE {
        let entries = run(subject, &contenders, &scratch);
        println!("{}", table_of_figures(subject, &entries));
        println!("{}", table_of_ratios(subject, &entries));
    }
}
