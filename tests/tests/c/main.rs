//! Every program of `tests/c` with every number of ranks it names, over every transport; and the
//! wrong calls.

mod bad_arguments;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};
use mpi_lite_tests::{Exit, Program, Scratch, prefix, programs};

const CHAPTERS: &[&str] = &[
    "collective",
    "communicator",
    "datatype",
    "environment",
    "files",
    "partitioned",
    "point_to_point",
    "session",
    "tool_support",
    "topology",
    "windows",
];

fn run(program: &Program, scratch: &Scratch, ranks: usize, transport: &str) -> Result<(), Failed> {
    let outcome = program.job(scratch, ranks, transport)?.run();
    let right = match (program.exit, outcome.code) {
        (Exit::Code(wanted), Some(code)) => code == wanted,
        (Exit::NonZero, Some(code)) => code != 0,
        (_, None) => false,
    };
    if right {
        Ok(())
    } else {
        Err(outcome.report().into())
    }
}

fn trials(scratch: &Arc<Scratch>) -> Vec<Trial> {
    let mut trials = Vec::new();
    let mut jobs = 0..;
    for program in programs(CHAPTERS).into_iter().map(Arc::new) {
        for ranks in program.ranks.clone() {
            for transport in program.transports(ranks, jobs.next().expect("no end")) {
                let (program, scratch) = (Arc::clone(&program), Arc::clone(scratch));
                let name = format!("{} ranks={ranks} transport={transport}", program.name);
                let test = move || run(&program, &scratch, ranks, transport);
                trials.push(Trial::test(name, test));
            }
        }
    }
    trials
}

fn main() -> ExitCode {
    drop(prefix());
    let scratch = Arc::new(Scratch::new("c"));
    let arguments = Arguments::from_args();
    let mut trials = trials(&scratch);
    trials.extend(bad_arguments::trials(&scratch));
    libtest_mimic::run(&arguments, trials).exit_code()
}
