//! Runs the test programs in two queues at once: beside those that wait for processes and timers,
//! at low priority, those that compute.
//!
//! ```text
//! queue [--table FILE] [--logs FOLDER] [--silence SECONDS] [--only WORD]... -- ARGUMENTS
//! ```
//!
//! `cargo test` builds the programs with ARGUMENTS. Each runs whole, even if another one has
//! failed; its output is shown when it ends. `--only` runs the programs whose names contain WORD.

mod programs;
mod report;
mod run;
mod table;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::programs::Program;
use crate::report::Report;
use crate::run::Runner;
use crate::table::{Queue, Table};

/// This many of the programs that wait run at once. Each runs as many tests at once as there are
/// cores.
const WAITING_AT_ONCE: usize = 3;

/// The longest test computes for a minute; it may get a twentieth of a core.
const SILENCE: Duration = Duration::from_secs(1800);

struct Options {
    table: PathBuf,
    logs: PathBuf,
    silence: Duration,
    only: Vec<String>,
    cargo: Vec<String>,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut options = Options {
            table: "tests/queue/programs.table".into(),
            logs: std::env::var_os("CARGO_TARGET_DIR")
                .map_or("target".into(), PathBuf::from)
                .join("queue"),
            silence: SILENCE,
            only: Vec::new(),
            cargo: Vec::new(),
        };
        while let Some(word) = words.next() {
            if word == "--" {
                options.cargo = words.collect();
                return Ok(options);
            }
            let value = words
                .next()
                .ok_or_else(|| format!("{word} needs a value"))?;
            match word.as_str() {
                "--table" => options.table = value.into(),
                "--logs" => options.logs = value.into(),
                "--only" => options.only.push(value),
                "--silence" => {
                    let seconds = value.parse().map_err(|_| format!("{value}: no number"))?;
                    options.silence = Duration::from_secs(seconds);
                }
                _ => return Err(format!("{word}: no such option")),
            }
        }
        Err("the arguments of `cargo test` are missing: -- ARGUMENTS".into())
    }
}

/// The programs that have not begun, the longest first.
struct Queues {
    waiting: VecDeque<Program>,
    computing: VecDeque<Program>,
}

impl Queues {
    fn new(mut programs: Vec<Program>, table: &Table) -> Queues {
        programs.sort_by_key(|program| std::cmp::Reverse(table.seconds(&program.name)));
        let is_waiting = |program: &Program| table.queue(&program.name) == Queue::Waiting;
        let (waiting, computing): (Vec<_>, Vec<_>) = programs.into_iter().partition(is_waiting);
        Queues {
            waiting: waiting.into(),
            computing: computing.into(),
        }
    }

    /// The next program for a worker of this queue. Who has no more that wait helps to compute.
    fn next(&mut self, queue: Queue) -> Option<(Program, Queue)> {
        let waiting = match queue {
            Queue::Waiting => self.waiting.pop_front(),
            Queue::Computing => None,
        };
        waiting
            .map(|program| (program, Queue::Waiting))
            .or_else(|| Some((self.computing.pop_front()?, Queue::Computing)))
    }
}

fn work(queue: Queue, queues: &Mutex<Queues>, runner: &Runner<'_>, report: &Report) {
    loop {
        // A worker panics only if it cannot print; the others go on.
        let next = queues
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .next(queue);
        let Some((program, queue)) = next else {
            return;
        };
        report.begin(&program.name);
        let ended = runner.run(&program, queue);
        report.end(&program.name, ended);
    }
}

fn run_all(options: &Options) -> Result<bool, String> {
    let table = Table::read(&options.table)?;
    let mut programs = programs::build(&options.cargo)?;
    programs.push(programs::documentation(&options.cargo));
    if options.cargo.iter().any(|word| word == "--workspace") {
        table.check(&programs)?;
    }
    if !options.only.is_empty() {
        let is_chosen = |name: &str| options.only.iter().any(|word| name.contains(word.as_str()));
        programs.retain(|program| is_chosen(&program.name));
    }
    if programs.is_empty() {
        return Err("there is no such program".into());
    }
    std::fs::create_dir_all(&options.logs)
        .map_err(|error| format!("{}: {error}", options.logs.display()))?;
    let begin = Instant::now();
    let report = Report::new(programs.len());
    let queues = Mutex::new(Queues::new(programs, &table));
    let runner = Runner {
        table: &table,
        logs: &options.logs,
        silence: options.silence,
    };
    std::thread::scope(|scope| {
        let workers = [Queue::Waiting; WAITING_AT_ONCE];
        for queue in workers.into_iter().chain([Queue::Computing]) {
            let (queues, runner, report) = (&queues, &runner, &report);
            scope.spawn(move || work(queue, queues, runner, report));
        }
    });
    Ok(report.finish(begin.elapsed()))
}

fn main() -> ExitCode {
    let all_passed = Options::read(std::env::args().skip(1)).and_then(|options| run_all(&options));
    match all_passed {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("queue: {message}");
            ExitCode::from(2)
        }
    }
}
