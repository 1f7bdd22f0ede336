//! Runs one program, with its output in a file, and ends it if it hangs.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::programs::Program;
use crate::table::{Queue, Table};

/// How a program has ended.
pub(crate) struct Ended {
    pub(crate) output: String,
    /// Why it counts as failed.
    pub(crate) failure: Option<String>,
    pub(crate) time: Duration,
}

/// What it needs to run any program.
pub(crate) struct Runner<'a> {
    pub(crate) table: &'a Table,
    /// The folder of the outputs.
    pub(crate) logs: &'a Path,
    /// A program that prints nothing for so long is killed.
    pub(crate) silence: Duration,
}

impl Runner<'_> {
    pub(crate) fn run(&self, program: &Program, queue: Queue) -> Ended {
        let log = self.logs.join(program.name.replace('/', "-"));
        let begin = Instant::now();
        let failure = match self.start(program, queue, &log) {
            Ok(child) => wait(child, &log, self.silence),
            Err(error) => Some(format!("it cannot be started: {error}")),
        };
        let output = fs::read(&log).unwrap_or_default();
        let output = String::from_utf8_lossy(&output).into_owned();
        // A test that ends the whole program with status 0 leaves no result.
        let has_result = output.lines().any(|line| line.starts_with("test result:"));
        let failure = failure.or_else(|| (!has_result).then(|| "it has no result".into()));
        Ended {
            output,
            failure,
            time: begin.elapsed(),
        }
    }

    fn start(&self, program: &Program, queue: Queue, log: &Path) -> io::Result<Child> {
        let log = File::create(log)?;
        let mut command = Command::new("nice");
        // A third of the processor time of a program that waits, if both want it.
        let nice = match queue {
            Queue::Waiting => "0",
            Queue::Computing => "5",
        };
        command.args(["-n", nice]).args(&program.command);
        if let Some(threads) = self.table.threads(&program.name) {
            // Those with a harness of their own know the option alone; all others know it, too.
            command.arg(format!("--test-threads={threads}"));
        }
        command
            .current_dir(&program.folder)
            .env("CARGO_MANIFEST_DIR", &program.folder)
            .stdin(Stdio::null())
            .stderr(log.try_clone()?)
            .stdout(log)
            .spawn()
    }
}

/// Waits until the program ends. If it prints nothing for the time of `silence`, it is killed with
/// all that it has started.
fn wait(mut child: Child, log: &Path, silence: Duration) -> Option<String> {
    let mut printed = 0;
    let mut last = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return failure(status),
            Ok(None) => {}
            Err(error) => return Some(error.to_string()),
        }
        let length = fs::metadata(log).map_or(0, |log| log.len());
        if length != printed {
            (printed, last) = (length, Instant::now());
        }
        if last.elapsed() > silence {
            let killed = kill(&mut child);
            return Some(format!(
                "killed: it printed nothing for {} s; its processes were:\n{killed}",
                silence.as_secs()
            ));
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn failure(status: ExitStatus) -> Option<String> {
    (!status.success()).then(|| status.to_string())
}

/// Kills the program and its descendants; returns their command lines.
fn kill(child: &mut Child) -> String {
    let mut processes = vec![child.id()];
    let parents = parents();
    let mut next = 0;
    while let Some(&process) = processes.get(next) {
        let children = parents.iter().filter(|(_, parent)| *parent == process);
        processes.extend(children.map(|(child, _)| child));
        next += 1;
    }
    let lines: Vec<String> = processes.iter().map(|&it| command_line(it)).collect();
    let numbers = processes.iter().map(u32::to_string);
    // A process that has ended meanwhile is no failure.
    let _ = Command::new("sh")
        .args(["-c", "kill -KILL \"$@\" 2>/dev/null", "kill"])
        .args(numbers)
        .status();
    let _ = child.wait();
    lines.join("\n")
}

/// Each process of the machine with its parent.
fn parents() -> Vec<(u32, u32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let process = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name of a process is in brackets, and may have some.
            let (_, rest) = stat.rsplit_once(')')?;
            Some((process, rest.split_whitespace().nth(1)?.parse().ok()?))
        })
        .collect()
}

fn command_line(process: u32) -> String {
    let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let words = String::from_utf8_lossy(&words).replace('\0', " ");
    format!("  {process} {}", words.trim_end())
}
