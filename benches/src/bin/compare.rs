//! `make compare`: mpi-lite beside the MPIs of this machine and beside the kernel alone.
//!
//! Two parts: `network`, where everybody goes over UDP or TCP, each section at several packet
//! sizes, and `node`, where everybody takes the transport that it chooses on one machine.
//!
//! Rounds, everybody back to back in each of them; the figures are medians over the rounds, the
//! ratios are taken within a round. `COMPARE=quick` makes fewer and shorter rounds,
//! `ONLY=loss,network-1500,node` runs these sections or parts alone (also to go on where an
//! interruption came), and `MPILITE_BENCH_ROUNDS` sets the number of rounds. Pictures go to
//! `docs/plots`, those of a quick comparison or of fewer than five rounds to `target/compare`,
//! where the texts are. At the end stand the goals of what was measured.
//!
//! `BEFORE=prefix` measures the mpi-lite that is installed there in the place of the other MPIs, to
//! see what a change does; there are no goals and no pictures then.

use std::io;
use std::process::ExitCode;
use std::time::Instant;

use mpi_lite_benches::sections::{Variant, variants};
use mpi_lite_benches::{Bench, Options, Report, machine};

/// The goals of a variant, a line each; none if it could not be measured and kept.
fn run(variant: &Variant, bench: &Bench) -> Option<String> {
    let name = variant.name();
    println!("== {name}: {}\n", variant.about());
    let start = Instant::now();
    let mut report = Report::default();
    report.line(&format!("{}\n", machine::describe()));
    let done = variant
        .run(bench, &mut report)
        .and_then(|()| keep(&report, &name, bench).map_err(|error| error.to_string()));
    println!("{name} took {:.0} s\n", start.elapsed().as_secs_f64());
    if let Err(why) = done {
        println!("{name}: not measured: {why}\n");
        return None;
    }
    Some(
        report
            .goals()
            .iter()
            .map(|goal| format!("{goal}\n"))
            .collect(),
    )
}

/// Writes what was measured, and draws it unless another mpi-lite was in the others' place.
fn keep(report: &Report, name: &str, bench: &Bench) -> io::Result<()> {
    report.keep(name)?;
    if bench.options.before.is_none() {
        for picture in report.draw()? {
            println!("picture: {}", picture.display());
        }
    }
    Ok(())
}

/// The goals of what was measured. Goals speak of other MPIs: there are none with another mpi-lite
/// in their place.
fn tell_goals(done: &[(String, Option<String>)], bench: &Bench) {
    if bench.options.before.is_some() {
        return;
    }
    println!("== goals: median (least to most of the rounds)\n");
    for (name, goals) in done {
        match goals {
            Some(goals) if goals.is_empty() => {}
            Some(goals) => println!("{name}\n{goals}"),
            None => println!("{name}\n  not measured\n"),
        }
    }
}

/// Complains of names that nothing has.
fn check_names(options: &Options) -> Result<(), ExitCode> {
    let known: Vec<String> = variants().flat_map(|variant| variant.names()).collect();
    let unknown = options.unknown(&known);
    if unknown.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = variants().map(|variant| variant.name()).collect();
    eprintln!(
        "compare: ONLY={}: there are {}; without the number all of that name, and the parts \
         node, network, network-65536 ...",
        unknown.join(","),
        names.join(", ")
    );
    Err(ExitCode::from(2))
}

fn main() -> ExitCode {
    let options = Options::from_environment();
    if let Err(code) = check_names(&options) {
        return code;
    }
    let bench = Bench::new(options);
    for peer in &bench.peers {
        println!("{}", machine::version(peer));
    }
    println!();
    let wanted = variants().filter(|variant| bench.options.wants(&variant.names()));
    let done: Vec<_> = wanted
        .map(|variant| (variant.name(), run(&variant, &bench)))
        .collect();
    tell_goals(&done, &bench);
    let failures = bench.failures();
    for failure in &failures {
        println!("FAILED {failure}");
    }
    let is_complete = done.iter().all(|(_, goals)| goals.is_some());
    if is_complete && failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
