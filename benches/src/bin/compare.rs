//! `make compare`: mpi-lite beside the MPIs of this machine and beside the kernel alone.
//!
//! Two parts: `network`, where everybody goes over UDP or TCP, and `node`, where everybody takes
//! the road that it chooses on one machine.
//!
//! Rounds, everybody back to back in each of them; the figures are medians over the rounds, the
//! ratios are taken within a round. `COMPARE=quick` makes fewer and shorter rounds,
//! `ONLY=loss,node` runs these sections or parts alone (also to go on where an interruption came),
//! and `MPILITE_BENCH_ROUNDS` sets the number of rounds. Pictures go to `docs/plots`, texts to
//! `target/compare`. At the end stand the goals, those of sections that did not run as they were
//! when they last did.

use std::process::ExitCode;
use std::time::Instant;

use mpi_lite_benches::sections::{SECTIONS, Section};
use mpi_lite_benches::{Bench, Options, Report, goals_of, machine, plots_folder};

/// Whether the section could be measured and kept.
fn run(section: &Section, bench: &Bench) -> bool {
    println!("== {}: {}\n", section.name, section.about);
    let start = Instant::now();
    let mut report = Report::default();
    report.line(&format!("{}\n", machine::describe()));
    let done = (section.run)(bench, &mut report)
        .and_then(|()| report.keep(section.name).map_err(|error| error.to_string()));
    if let Err(why) = &done {
        println!("{}: not measured: {why}\n", section.name);
    }
    eprintln!(
        "compare: {} took {:.0} s",
        section.name,
        start.elapsed().as_secs_f64()
    );
    done.is_ok()
}

fn main() -> ExitCode {
    let options = Options::from_environment();
    let names: Vec<_> = SECTIONS.iter().map(|section| section.name).collect();
    let parts = SECTIONS.iter().map(|section| section.part);
    let unknown = options.unknown(&[&names[..], &parts.collect::<Vec<_>>()].concat());
    if !unknown.is_empty() {
        eprintln!(
            "compare: ONLY={}: the sections are {}; network and node are parts of them",
            unknown.join(","),
            names.join(", ")
        );
        return ExitCode::from(2);
    }
    let bench = Bench::new(options);
    for peer in &bench.peers {
        println!("{}", machine::version(peer));
    }
    println!();
    let mut done = Vec::new();
    let mut is_complete = true;
    for section in SECTIONS
        .iter()
        .filter(|it| bench.options.wants(it.name) || bench.options.wants(it.part))
    {
        if run(section, &bench) {
            done.push(section.name);
        } else {
            is_complete = false;
        }
    }
    println!("== goals: median (least to most of the rounds)\n");
    for section in SECTIONS {
        let earlier = if done.contains(&section.name) {
            ""
        } else {
            ", from an earlier run"
        };
        match goals_of(section.name) {
            Some(goals) if goals.is_empty() => {}
            Some(goals) => println!("{}{earlier}\n{goals}", section.name),
            None => println!("{}\n  never measured", section.name),
        }
    }
    let failures = bench.failures();
    for failure in &failures {
        println!("FAILED {failure}");
    }
    println!("\npictures: {}", plots_folder().display());
    if is_complete && failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
