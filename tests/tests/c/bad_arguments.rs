//! Wrong calls: under `MPI_ERRORS_RETURN` the right class comes back and the job goes on; under
//! the default handler one clear line is printed and the job ends. No crash, no hang.

use std::process::Command;
use std::sync::Arc;

use libtest_mimic::{Failed, Trial};
use mpi_lite_tests::{Job, Outcome, Program, Scratch, programs};

/// `MPI_MAX_ERROR_STRING` of the standard ABI.
const ERROR_STRING_MAX: usize = 512;

/// What may go wrong at which stage, and the function that must be named.
const STAGES: &[(&str, &str)] = &[
    ("send_before_init", "MPI_Send"),
    ("rank_before_init", "MPI_Comm_rank"),
    ("finalize_before_init", "MPI_Finalize"),
    ("init_twice", "MPI_Init"),
    ("init_thread_after_init", "MPI_Init_thread"),
    ("barrier_after_finalize", "MPI_Barrier"),
    ("send_after_finalize", "MPI_Send"),
    ("finalize_twice", "MPI_Finalize"),
    ("init_after_finalize", "MPI_Init"),
];

/// The job ended with an error, and exactly one line tells which call of which rank was wrong.
fn check_one_clear_line(outcome: &Outcome, function: &str) -> Result<(), Failed> {
    let lines: Vec<_> = outcome
        .stderr
        .lines()
        .filter(|l| l.contains("MPI error"))
        .collect();
    let wrong = |what: &str| Err(Failed::from(format!("{what}: {}", outcome.report())));
    match outcome.code {
        None => return wrong("it hangs"),
        Some(0) => return wrong("it passes for good"),
        Some(code) if code > 128 => return wrong("it crashes"),
        Some(_) => {}
    }
    if outcome.stdout.contains("came back") {
        return wrong("the call came back under the default handler");
    }
    let [line] = lines[..] else {
        return wrong("one line was to tell of an `MPI error`");
    };
    // A rank that was in no job yet, or no longer, is reported by mpirun with a line of its own.
    if outcome.stderr.lines().count() > 2 {
        return wrong("one clear line was to be enough");
    }
    if !line.contains(&format!("in {function}(")) {
        return wrong(&format!("the line was to name {function}"));
    }
    if !line.ends_with(']') || !line.contains(" [MPI_") || line.len() >= ERROR_STRING_MAX {
        return wrong("the line was to end with the class, within MPI_MAX_ERROR_STRING");
    }
    Ok(())
}

fn job(program: &Program, scratch: &Scratch, words: &[&str]) -> Result<Outcome, Failed> {
    let binary = program.binary(scratch)?;
    let job = Job::mpirun(program.ranks[0]).arg(binary);
    Ok(job.args(words).run())
}

fn errors_return(program: &Program, scratch: &Scratch) -> Result<(), Failed> {
    let outcome = job(program, scratch, &["return"])?;
    if outcome.code == Some(0) {
        Ok(())
    } else {
        Err(outcome.report().into())
    }
}

/// The cases of a table and their functions, as the program itself lists them.
fn cases(program: &Program, scratch: &Scratch) -> Result<Vec<(String, String)>, String> {
    let output = Command::new(program.binary(scratch)?)
        .arg("list")
        .output()
        .map_err(|error| format!("{}: {error}", program.name))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let pair = |line: &str| {
        line.split_once(' ')
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
    };
    let cases: Vec<_> = text.lines().filter_map(pair).collect();
    if cases.is_empty() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} lists no case: {stderr}", program.name));
    }
    Ok(cases)
}

fn table(program: Program, scratch: &Arc<Scratch>) -> Vec<Trial> {
    let program = Arc::new(program);
    let listed = cases(&program, scratch);
    let mut trials = Vec::new();
    let (of_return, in_return) = (Arc::clone(&program), Arc::clone(scratch));
    let test = move || errors_return(&of_return, &in_return);
    trials.push(Trial::test(format!("{} return", program.name), test));
    let cases = match listed {
        Ok(cases) => cases,
        Err(why) => {
            trials.push(Trial::test(format!("{} list", program.name), || {
                Err(why.into())
            }));
            Vec::new()
        }
    };
    for (case, function) in cases {
        let (program, scratch) = (Arc::clone(&program), Arc::clone(scratch));
        let name = format!("{} fatal {case}", program.name);
        trials.push(Trial::test(name, move || {
            let outcome = job(&program, &scratch, &["fatal", &case])?;
            check_one_clear_line(&outcome, &function)
        }));
    }
    trials
}

fn stages(program: Program, scratch: &Arc<Scratch>) -> Vec<Trial> {
    let program = Arc::new(program);
    let stage = |(case, function): &(&'static str, &'static str)| {
        let (program, scratch, case, function) =
            (Arc::clone(&program), Arc::clone(scratch), *case, *function);
        Trial::test(format!("{} {case}", program.name), move || {
            check_one_clear_line(&job(&program, &scratch, &[case])?, function)
        })
    };
    STAGES.iter().map(stage).collect()
}

/// A trial for each table that goes on, and one for each wrong call that ends the job.
pub(crate) fn trials(scratch: &Arc<Scratch>) -> Vec<Trial> {
    let mut trials = Vec::new();
    for program in programs(&["bad_arguments"]) {
        let is_table = !program.name.ends_with("/stages");
        trials.extend(if is_table {
            table(program, scratch)
        } else {
            stages(program, scratch)
        });
    }
    trials
}
