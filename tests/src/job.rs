//! One run of a program under a deadline, with its output in files.
//!
//! Files, not pipes: a process that outlives the job and keeps its output open cannot block the
//! test that is there to notice it.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::install::tool;
use crate::process::Process;
use crate::scratch::Scratch;

/// How long a job may take unless it says otherwise: long, for machines that are busy.
const DEADLINE: Duration = Duration::from_secs(150);
/// How often a running job is looked at.
const GLANCE: Duration = Duration::from_millis(5);

/// A job to be run.
#[derive(Debug)]
pub struct Job {
    command: Command,
    deadline: Duration,
}

/// A job under way.
#[derive(Debug)]
pub struct Running {
    child: Child,
    output: Scratch,
    started: Instant,
    deadline: Duration,
    line: String,
}

/// How a job ended and what it said.
#[derive(Debug)]
pub struct Outcome {
    /// Exit code; 128 + n for an end by signal n; `None` if the deadline came first.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// From start to end.
    pub took: Duration,
    /// The command line, for messages.
    pub line: String,
}

impl Job {
    /// Any program.
    #[must_use]
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        let mut command = Command::new(program);
        command.process_group(0).stdin(Stdio::null());
        Self {
            command,
            deadline: DEADLINE,
        }
    }

    /// The installed `mpirun` with this many ranks.
    #[must_use]
    pub fn mpirun(ranks: usize) -> Self {
        Self::new(tool("mpirun")).args(["-n", &ranks.to_string()])
    }

    /// More words on the command line.
    #[must_use]
    pub fn args(mut self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(words);
        self
    }

    /// One more word on the command line.
    #[must_use]
    pub fn arg(self, word: impl AsRef<OsStr>) -> Self {
        self.args([word])
    }

    /// Sets a variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Standard input comes from this file, and not from nowhere.
    ///
    /// # Panics
    /// If it cannot be opened.
    #[must_use]
    pub fn stdin(mut self, path: &Path) -> Self {
        let file = File::open(path);
        let file = file.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self.command.stdin(file);
        self
    }

    /// The directory to run in.
    #[must_use]
    pub fn directory(mut self, path: &Path) -> Self {
        self.command.current_dir(path);
        self
    }

    /// Another deadline.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }

    /// Starts it.
    ///
    /// # Panics
    /// If the program cannot be started.
    #[must_use]
    pub fn start(mut self) -> Running {
        let output = Scratch::new("job");
        let file = |name| File::create(output.path().join(name)).expect("a fresh directory");
        self.command.stdout(file("out")).stderr(file("err"));
        let line = format!("{:?}", self.command);
        let child = self
            .command
            .spawn()
            .unwrap_or_else(|error| panic!("{line}: {error}"));
        Running {
            child,
            output,
            started: Instant::now(),
            deadline: self.deadline,
            line,
        }
    }

    /// Runs it to its end.
    #[must_use]
    pub fn run(self) -> Outcome {
        self.start().finish()
    }
}

impl Running {
    /// The process that was started.
    #[must_use]
    pub fn process(&self) -> Process {
        Process::new(self.child.id())
    }

    /// The process of a rank, on whichever host, from the line `ready RANK PID` that it printed.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn process_of(&self, rank: &str) -> Process {
        let stdout = self.stdout();
        let start = format!("ready {rank} ");
        let id = stdout
            .lines()
            .find_map(|line| line.strip_prefix(&start)?.trim().parse().ok());
        Process::new(id.unwrap_or_else(|| panic!("rank {rank} is to be ready: {stdout}")))
    }

    /// What came out so far.
    #[must_use]
    pub fn stdout(&self) -> String {
        self.read("out")
    }

    /// What was complained about so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.read("err")
    }

    fn read(&self, name: &str) -> String {
        let bytes = std::fs::read(self.output.path().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until `text` was printed `times` times.
    ///
    /// # Panics
    /// If the job ends or the deadline comes first.
    pub fn wait_for(&mut self, text: &str, times: usize) {
        while self.stdout().matches(text).count() < times {
            if self.child.try_wait().expect("our own child").is_some() || self.is_late() {
                self.give_up();
                panic!(
                    "{}: `{text}` was to be printed {times} times\nstdout: {}\nstderr: {}",
                    self.line,
                    self.stdout(),
                    self.stderr()
                );
            }
            std::thread::sleep(GLANCE);
        }
    }

    fn is_late(&self) -> bool {
        self.started.elapsed() > self.deadline
    }

    /// Sends a signal to the process that was started, not to its children.
    pub fn signal(&self, signal: Signal) {
        // It may have ended by itself just now; then there is nothing to signal.
        let _ = kill_process(self.pid(), signal);
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    fn give_up(&mut self) {
        // Either may be gone already; then the purpose is reached.
        let _ = kill_process(self.pid(), Signal::TERM);
        let grace = Instant::now();
        while grace.elapsed() < Duration::from_secs(3) {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                break;
            }
            std::thread::sleep(GLANCE);
        }
        let _ = kill_process_group(self.pid(), Signal::KILL);
        let _ = self.child.wait();
    }

    /// Waits for the end; at the deadline, ends it.
    #[must_use]
    pub fn finish(mut self) -> Outcome {
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("our own child") {
                break Some(status);
            }
            if self.is_late() {
                self.give_up();
                break None;
            }
            std::thread::sleep(GLANCE);
        };
        Outcome {
            code: status.map(code_of),
            stdout: self.stdout(),
            stderr: self.stderr(),
            took: self.started.elapsed(),
            line: std::mem::take(&mut self.line),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.give_up();
        }
    }
}

fn code_of(status: ExitStatus) -> i32 {
    let by_signal = || 128 + status.signal().expect("neither code nor signal");
    status.code().unwrap_or_else(by_signal)
}

impl Outcome {
    /// Everything a reader of a failed test wants to see.
    #[must_use]
    pub fn report(&self) -> String {
        let code = self
            .code
            .map_or("the deadline".to_owned(), |code| format!("code {code}"));
        format!(
            "{} ended with {code} after {:.2} s\n--- stdout\n{}--- stderr\n{}",
            self.line,
            self.took.as_secs_f64(),
            self.stdout,
            self.stderr
        )
    }

    /// Passes on what was printed.
    ///
    /// # Panics
    /// If the exit code is another.
    #[must_use]
    pub fn expect_code(self, code: i32) -> Self {
        assert!(
            self.code == Some(code),
            "exit code {code} expected: {}",
            self.report()
        );
        self
    }

    /// # Panics
    /// If the job succeeded, or did not end before its deadline.
    #[must_use]
    pub fn expect_failure(self) -> Self {
        let failed = self.code.is_some_and(|code| code != 0);
        assert!(failed, "a non-zero exit code expected: {}", self.report());
        self
    }

    /// # Panics
    /// If standard output does not contain the text.
    #[must_use]
    pub fn expect_stdout(self, text: &str) -> Self {
        assert!(
            self.stdout.contains(text),
            "`{text}` expected on stdout: {}",
            self.report()
        );
        self
    }

    /// Checks that one line of standard error has all of these words.
    ///
    /// # Panics
    /// If none has.
    pub fn expect_line(&self, words: &[&str]) {
        let has_all = |line: &str| words.iter().all(|word| line.contains(word));
        assert!(
            self.stderr.lines().any(has_all),
            "{words:?} in one line: {}",
            self.report()
        );
    }

    /// # Panics
    /// If standard error does not contain the text.
    #[must_use]
    pub fn expect_stderr(self, text: &str) -> Self {
        assert!(
            self.stderr.contains(text),
            "`{text}` expected on stderr: {}",
            self.report()
        );
        self
    }
}
