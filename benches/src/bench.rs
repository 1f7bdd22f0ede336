//! Compiles the C programs, each once per compiler, and runs them.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mpi_lite_tests::{Job, Outcome, c_source};

use crate::contender::{Contender, auto, before, ours, peers, peers_on_one_machine, rmpp};
use crate::machine;
use crate::options::Options;
use crate::origin::Origin;
use crate::place::Place;

/// A C program of `benches/c` with everything that its run needs but the contender.
#[derive(Debug, Clone)]
pub struct Program {
    /// The C file without its ending.
    pub name: &'static str,
    /// The number of ranks.
    pub ranks: usize,
    /// The threads of each rank that compute or call MPI.
    pub threads: usize,
    /// The words of its command line.
    pub arguments: Vec<String>,
    /// Words in front of the launcher: a program that starts it.
    pub wrapper: Vec<OsString>,
    /// The network that it sees.
    pub place: Place,
    /// The longest that it may take.
    pub limit: Duration,
}

impl Program {
    /// Two ranks on this machine's loopback with a minute's time.
    #[must_use]
    pub fn new(name: &'static str, arguments: &[String]) -> Self {
        Self {
            name,
            ranks: 2,
            threads: 1,
            arguments: arguments.to_vec(),
            wrapper: Vec::new(),
            place: Place::Machine,
            limit: Duration::from_secs(60),
        }
    }
}

/// Why a run gave nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// The contender is not on this machine.
    NotInstalled,
    /// It took longer than this.
    TooSlow(Duration),
    /// It ended with this exit code and these first words on standard error.
    Failed(i32, String),
    /// It ended well, but said why it has no figure, or printed none.
    NoFigure(String),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::NotInstalled => f.write_str("not installed"),
            Missing::TooSlow(limit) => write!(f, "timed out after {} s", limit.as_secs_f64()),
            Missing::Failed(code, _) => write!(f, "ended with exit code {code}"),
            Missing::NoFigure(why) => f.write_str(why),
        }
    }
}

impl Missing {
    /// The program ended well, but printed no such figure.
    #[must_use]
    pub fn figure() -> Self {
        Self::NoFigure("no figure was printed".to_owned())
    }
}

/// What all sections share.
#[derive(Debug)]
pub struct Bench {
    /// What was asked for.
    pub options: Options,
    /// The other MPIs over TCP, installed or not; with `BEFORE` the other mpi-lite instead.
    pub peers: Vec<Contender>,
    peers_on_one_machine: OnceCell<Vec<Contender>>,
    folder: PathBuf,
    failures: RefCell<Vec<String>>,
    too_slow: RefCell<BTreeSet<String>>,
    binaries: RefCell<BTreeMap<(PathBuf, &'static str), PathBuf>>,
}

impl Bench {
    /// Looks which contenders are installed.
    ///
    /// # Panics
    /// If there is no place for the compiled programs.
    #[must_use]
    pub fn new(options: Options) -> Self {
        // Not among the system's temporary files: an interrupted comparison leaves it behind.
        let folder = c_source("target/compare/programs");
        std::fs::create_dir_all(&folder)
            .unwrap_or_else(|error| panic!("cannot make {}: {error}", folder.display()));
        let other = options.before.as_ref();
        Self {
            peers: other.map_or_else(peers, |prefix| vec![before(prefix, rmpp())]),
            options,
            peers_on_one_machine: OnceCell::new(),
            folder,
            failures: RefCell::default(),
            too_slow: RefCell::default(),
            binaries: RefCell::default(),
        }
    }

    /// mpi-lite with these profiles, then the other MPIs.
    #[must_use]
    pub fn contenders(&self, profiles: &[&str]) -> Vec<Contender> {
        let own = profiles.iter().map(|profile| ours(profile));
        own.chain(self.peers.iter().cloned()).collect()
    }

    /// The other MPIs on the transport that they choose on one machine, installed or not; with
    /// `BEFORE` the other mpi-lite instead. The first call installs those that come from PyPI.
    #[must_use]
    pub fn peers_on_one_machine(&self) -> &[Contender] {
        let other = self.options.before.as_ref();
        self.peers_on_one_machine
            .get_or_init(|| other.map_or_else(peers_on_one_machine, |it| vec![before(it, auto())]))
    }

    /// How figures came about, for titles: a reader must know if the machine was busy.
    #[must_use]
    pub fn how(&self, rounds: usize) -> String {
        let busy = if machine::is_busy() {
            " on a busy machine"
        } else {
            ""
        };
        match rounds {
            1 => format!("one round{busy}"),
            _ => format!("medians of {rounds} rounds{busy}"),
        }
    }

    /// Where figures come from that are measured now, in this many rounds, of these contenders.
    #[must_use]
    pub fn origin(&self, rounds: usize, contenders: &[Contender]) -> Origin {
        Origin::now(&self.options, rounds, contenders)
    }

    /// The names of the other MPIs.
    #[must_use]
    pub fn peer_names(&self) -> Vec<&str> {
        self.peers.iter().map(|peer| peer.name.as_str()).collect()
    }

    /// The path of a file of this comparison's own; there is none yet.
    #[must_use]
    pub fn fresh_file(&self, name: &str) -> PathBuf {
        let path = self.folder.join(name);
        // It is there if an earlier comparison made it.
        let _ = std::fs::remove_file(&path);
        path
    }

    /// How mpi-lite failed, where it did; being too slow is no failure.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        self.failures.borrow().clone()
    }

    /// The program compiled by this contender's compiler.
    ///
    /// # Panics
    /// If the compiler refuses.
    #[must_use]
    pub fn binary(&self, who: &Contender, name: &'static str) -> PathBuf {
        let key = (who.compiler.clone(), name);
        let mut binaries = self.binaries.borrow_mut();
        let number = binaries.len();
        let binary = binaries.entry(key).or_insert_with(|| {
            let binary = self.fresh_file(&format!("{name}.{number}"));
            compile(who, name, &binary);
            binary
        });
        binary.clone()
    }

    /// The job of this contender and program, not yet started.
    #[must_use]
    pub fn job(&self, who: &Contender, program: &Program) -> Job {
        let binary = self.binary(who, program.name);
        // Cargo names its own folders there: a library of ours would stand in for another MPI's.
        let job = program.place.job(who.protocol, program.limit);
        let mut job = job.env("LD_LIBRARY_PATH", "");
        for (name, value) in &who.variables {
            job = job.env(name, value);
        }
        job = job.args(&program.wrapper);
        if let Some(launcher) = &who.launcher {
            job = job
                .arg(launcher)
                .args(["-n", &program.ranks.to_string()])
                .args(who.words_for(program.ranks * program.threads, machine::cores()));
        }
        job.arg(binary).args(&program.arguments)
    }

    /// What the program printed. A contender that was too slow is not measured with the same
    /// program again: a comparison must end.
    ///
    /// # Errors
    /// Why it printed nothing; a line on standard error says so, too.
    pub fn run(&self, who: &Contender, program: &Program) -> Result<String, Missing> {
        self.check(who, program)?;
        let outcome = self.job(who, program).run();
        self.judge(who, program, outcome)
    }

    /// What the program printed, however it ended, and how it ended. As with [`Bench::run`], who
    /// was too slow is not measured again.
    ///
    /// # Errors
    /// Beside what was printed: why that may not be all.
    pub fn run_and_keep(
        &self,
        who: &Contender,
        program: &Program,
    ) -> (String, Result<(), Missing>) {
        if let Err(why) = self.check(who, program) {
            return (String::new(), Err(why));
        }
        let outcome = self.job(who, program).run();
        let printed = outcome.stdout.clone();
        (printed, self.judge(who, program, outcome).map(drop))
    }

    /// Whether it can be measured at all.
    fn check(&self, who: &Contender, program: &Program) -> Result<(), Missing> {
        if !who.is_installed {
            return Err(Missing::NotInstalled);
        }
        if self.too_slow.borrow().contains(&key(who, program)) {
            return Err(Missing::TooSlow(program.limit));
        }
        Ok(())
    }

    /// What the program printed, and whether it was stopped because it was too slow. Nothing if it
    /// failed otherwise, or if `who` is not installed.
    #[must_use]
    pub fn run_to_limit(&self, who: &Contender, program: &Program) -> (String, bool) {
        if !who.is_installed {
            return (String::new(), false);
        }
        let outcome = self.job(who, program).run();
        if is_stopped(&outcome) {
            return (outcome.stdout, true);
        }
        let output = self.judge(who, program, outcome);
        (output.unwrap_or_default(), false)
    }

    /// The output of a run that ended well.
    ///
    /// # Errors
    /// It was too slow, or failed.
    pub fn judge(
        &self,
        who: &Contender,
        program: &Program,
        outcome: Outcome,
    ) -> Result<String, Missing> {
        if outcome.code == Some(0) {
            return Ok(outcome.stdout);
        }
        let (who_name, name, words) = (&who.name, program.name, program.arguments.join(" "));
        if is_stopped(&outcome) {
            eprintln!(
                "compare: {who_name}: {name} {words}: took longer than {:?}",
                program.limit
            );
            self.too_slow.borrow_mut().insert(key(who, program));
            return Err(Missing::TooSlow(program.limit));
        }
        let mut lines = outcome
            .stderr
            .lines()
            .filter(|line| !line.trim().is_empty());
        let code = outcome.code.unwrap_or_default();
        let said = lines.next().unwrap_or_default().to_owned();
        let failure = format!("{who_name}: {name} {words}: exit code {code}: {said}");
        eprintln!("compare: {failure}");
        if who.is_ours() {
            self.failures.borrow_mut().push(failure);
        }
        Err(Missing::Failed(code, said))
    }
}

/// Whether its time was over: 124 is how `timeout` ends, 137 how it ends what would not end.
fn is_stopped(outcome: &Outcome) -> bool {
    matches!(outcome.code, None | Some(124 | 137))
}

/// What a run is, in all its particulars.
fn key(who: &Contender, program: &Program) -> String {
    format!("{} {program:?}", who.name)
}

fn compile(who: &Contender, name: &str, binary: &Path) {
    let compiler = &who.compiler;
    let output = who
        .command(compiler)
        .args(["-O2", "-w", "-pthread", "-o"])
        .arg(binary)
        .arg(c_source(&format!("benches/c/{name}.c")))
        .output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", compiler.display()));
    let stderr = String::from_utf8_lossy(&output.stderr);
    let compiler = compiler.display();
    assert!(output.status.success(), "{compiler} {name}.c: {stderr}");
}
