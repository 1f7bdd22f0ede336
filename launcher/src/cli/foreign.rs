//! The options of other launchers that have no place among our own ([`crate::cli::options`]).
//!
//! * [`FOREIGN`]: the table;
//! * [`Treatment`]: what becomes of an option;
//! * `find`: the entry of a word of the command line.
//!
//! The tables of `docs/mpirun.md` are made from these; a test compares them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use crate::cli::args::Identified;
use crate::cli::options::{self, dashed};
use crate::cli::request::Options;
use crate::failure::Failure;

/// What becomes of an option of another launcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Treatment {
    /// It is this option of ours. A second word is its value; without one it keeps its own.
    Ours(&'static str, Option<&'static str>),
    /// Nothing: it asks for what is the case.
    Ignored,
    /// Nothing, and the user reads this reason.
    Noted(&'static str),
    /// The job does not start. The text says what to use instead, or why there is nothing.
    Refused(&'static str),
}

/// An option of another launcher.
#[derive(Debug)]
pub struct Foreign {
    /// Its spellings without dashes.
    pub names: &'static [&'static str],
    /// How many words stand behind it.
    pub words: usize,
    /// What becomes of it.
    pub treatment: Treatment,
}

/// An option of another launcher, as it stands on the command line.
pub(crate) struct Found {
    /// Its name without dashes.
    pub(crate) name: &'static str,
    pub(crate) entry: &'static Foreign,
    /// What stands behind `=`.
    pub(crate) attached: Option<OsString>,
}

impl Found {
    /// Returns true if the option says by its name what an option of ours says by a value.
    pub(crate) fn has_fixed_value(&self) -> bool {
        matches!(self.entry.treatment, Treatment::Ours(_, Some(_)))
    }
}

impl Options {
    /// Returns the option of ours that this one stands for, or nothing if it has no effect.
    pub(crate) fn read_foreign(
        &mut self,
        found: Found,
        words: &mut impl Iterator<Item = OsString>,
    ) -> Result<Option<Identified>, Failure> {
        let shown = dashed(found.name);
        if found.entry.words == 0 && found.attached.is_some() {
            return Err(Failure::usage(format!("option {shown} takes no value")));
        }
        match found.entry.treatment {
            Treatment::Refused(instead) => {
                return Err(Failure::usage(format!(
                    "there is no {shown} here; {instead}"
                )));
            }
            Treatment::Ours(ours, value) => {
                let entry = options::find(ours).expect("a test finds each of them");
                let value = value.map(OsString::from).or(found.attached);
                return Ok(Some((shown, entry, value)));
            }
            Treatment::Noted(reason) => self.notes.push(format!("{shown} is ignored: {reason}")),
            Treatment::Ignored => {}
        }
        if found.attached.is_none() && words.take(found.entry.words).count() < found.entry.words {
            return Err(Failure::usage(format!("option {shown} needs a value")));
        }
        Ok(None)
    }
}

/// Makes [`FOREIGN`] of rows: the spellings of an option without dashes, how many words stand
/// behind it, and what becomes of it.
macro_rules! foreign {
    ($( $launcher:literal {
        $( $($name:literal)+, $words:literal: $treatment:ident $(($($text:expr),+ $(,)?))?; )*
    } )*) => {
        /// Every option of other launchers that is understood, ignored or refused by its name, by
        /// launcher.
        pub const FOREIGN: &[(&str, &[Foreign])] = &[$( ($launcher, &[$( Foreign {
            names: &[$($name),+],
            words: $words,
            treatment: Treatment::$treatment $(($($text),+))?,
        }, )*]), )*];
    };
}

foreign! {
    "Open MPI's `mpirun` (4.1, and `prterun` of 5.0)" {
        "default-hostfile", 1: Ours("hostfile", None);
        "pernode", 0: Ours("ppn", Some("1"));
        "bycore", 0: Ours("map-by", Some("core"));
        "bysocket", 0: Ours("map-by", Some("socket"));
        "bind-to-none", 0: Ours("bind-to", Some("none"));
        "bind-to-core", 0: Ours("bind-to", Some("core"));
        "bind-to-socket", 0: Ours("bind-to", Some("socket"));
        "use-hwthread-cpus", 0: Ours("map-by", Some(":hwtcpus"));
        "display-allocation", 0: Ours("display-map", None);
        "display-devel-map", 0: Ours("display-map", None);
        "output-directory", 1: Ours("output", None);
        "get-stack-traces" "report-state-on-timeout", 0: Ignored;
        "show-progress" "leave-session-attached", 0: Ignored;
        "debug-daemons" "noprefix" "novm", 0: Ignored;
        "enable-recovery", 0: Noted("a rank that is killed ends the job");
        "disable-recovery", 0: Ignored;
        "tune" "am", 1: Noted("parameters of Open MPI have no effect on mpi-lite");
        "personality", 1: Noted("mpirun starts programs of mpi-lite and of MPICH alike");
        "forward-signals", 1: Noted("mpirun forwards USR1, USR2, TSTP and CONT");
        "npersocket", 1: Refused("use --map-by ppr:N:socket");
        "ppr", 1: Refused("use --map-by ppr:N:WHAT");
        "cpus-per-proc" "cpus-per-rank", 1: Refused("use --map-by slot:pe=N");
        "rankfile" "rf", 1: Refused("use --hostfile FILE with --map-by seq");
        "cpu-set" "cpu-list" "slot-list", 1: Refused("use --bind-to core, or taskset");
        "nolocal", 0: Refused("use --host with the other hosts alone");
        "add-host", 1: Refused("use --host");
        "add-hostfile", 1: Refused("use --hostfile");
        "do-not-launch", 0: Refused("use --display-map, with 'true' as the program");
        "display-topo", 0: Refused("use --report-bindings");
        "preload-files", 1: Refused("use --preload, which sends programs alone");
        "launch-agent", 1: Refused("use --prefix DIR");
        "xml" "index-argv-by-rank", 0: Refused("use --tag-output");
        "xterm", 1: Refused("use --tag-output");
        "continuous", 0: Refused("a job that ends is started again by its script");
        "max-restarts", 1: Refused("a job that ends is started again by its script");
        "debug" "d" "debug-devel" "tv", 0: Refused(
            "use --stall report, which names the line of each rank"
        );
        "ompi-server" "report-uri", 1: Refused("jobs of mpi-lite do not connect to each other");
        "report-pid", 1: Refused("use $! of the shell");
        "dvm", 0: Refused("it needs no daemon");
        "hnp", 1: Refused("it needs no daemon");
    }
    "MPICH's and Intel MPI's `mpiexec` (Hydra)" {
        "rr", 0: Ours("map-by", Some("node"));
        "grr", 1: Ours("ppn", None);
        "s", 1: Refused("use --stdin RANK (Hydra), or --preload (Open MPI)");
        "disable-x", 0: Ignored;
        "topolib" "demux" "localhost", 1: Ignored;
        "pmi-port", 0: Ignored;
        "enable-x", 0: Noted("ssh forwards X11 if --ssh-args says so: --ssh-args -X");
        "rmk", 1: Noted("mpirun finds the allocation by its variables");
        "print-all-exitcodes", 0: Noted("mpirun names the first rank that failed, with its status");
        "ordered-output", 0: Noted("lines are whole; --output DIR keeps the ranks apart");
        "usize", 1: Noted("no process joins a running job");
        "membind", 1: Noted("memory comes from the node of the rank's CPU: --bind-to numa");
        "gpus-per-proc", 1: Noted("mpirun gives no GPUs to ranks");
        "order-nodes", 1: Noted("hosts keep the order in which they are named");
        "disable-auto-cleanup", 0: Noted("mpirun always ends a job whose rank fails");
        "launcher-exec" "bootstrap-exec", 1: Refused("use MPILITE_SSH=PROGRAM");
        "prepend-pattern", 1: Refused("use --tag-output");
        "outfile-pattern" "errfile-pattern", 1: Refused("use --output DIR");
        "gpath", 1: Refused("use --path DIR, for each program");
        "gwdir", 1: Refused("use --wdir DIR, for each program");
        "skip-launch-node", 0: Refused("use --host with the other hosts alone");
        "profile", 0: Refused("use --stats");
        "nameserver", 1: Refused("jobs of mpi-lite do not connect to each other");
    }
    "MPI 5.0, 11.5: options that a launcher should have" {
        "soft", 1: Noted("the number of ranks is that of -n");
        "arch", 1: Noted("hosts are chosen by --host");
        "file", 1: Noted("mpirun reads no such file; hosts are those of --hostfile");
        "initial-errhandler" "memory-alloc-kinds", 1: Noted("the program asks for it itself");
    }
    "Slurm's `srun`" {
        "ntasks", 1: Ours("n", None);
        "ntasks-per-node", 1: Ours("ppn", None);
        "label", 0: Ours("tag-output", None);
        "chdir" "D", 1: Ours("wdir", None);
        "unbuffered" "u" "overlap" "exclusive", 0: Ignored;
        "mpi", 1: Refused("srun alone needs it");
        "nodes", 1: Refused("use --host A:2,B:2, or -N N for the ranks of each host");
        "nodelist" "w", 1: Refused("use --host A:2,B:2");
        "cpu-bind", 1: Refused("use --bind-to core");
        "cpus-per-task", 1: Refused("use --map-by slot:pe=N");
        "distribution" "m", 1: Refused("use --map-by slot or --map-by node");
        "export", 1: Refused("use -x NAME=VALUE, --envnone or --envlist A,B");
        "input" "i", 1: Refused("use --stdin, and < FILE");
        "error" "e" "o", 1: Refused("use --output DIR");
        "time" "t", 1: Refused("use --timeout SECONDS");
        "multi-prog", 0: Refused("use --app FILE");
        "kill-on-bad-exit" "K", 0: Refused("it always ends a job whose rank fails");
    }
}

/// The option of another launcher that these bytes name, without dashes, perhaps with `=VALUE`.
pub(crate) fn find(option: &[u8]) -> Option<Found> {
    let end = option.iter().position(|byte| *byte == b'=');
    let name = std::str::from_utf8(&option[..end.unwrap_or(option.len())]).ok()?;
    let attached = end.map(|at| OsString::from_vec(option[at + 1..].to_vec()));
    let mut all = FOREIGN.iter().flat_map(|(_, entries)| *entries);
    all.find_map(|entry| {
        let known = entry.names.iter().find(|known| **known == name)?;
        Some(Found {
            name: known,
            entry,
            attached: attached.clone(),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::parse;
    use crate::cli::request::Request;

    fn entries() -> impl Iterator<Item = &'static Foreign> {
        FOREIGN.iter().flat_map(|(_, entries)| *entries)
    }

    /// The words of a command line with this option.
    fn line(name: &str, words: usize, value: &str) -> Vec<OsString> {
        let option = std::iter::once(dashed(name));
        let values = std::iter::repeat_n(value.to_string(), words);
        let rest = ["-n", "2", "p"].map(String::from);
        let all = option.chain(values).chain(rest);
        all.map(OsString::from).collect()
    }

    #[test]
    fn each_option_is_treated_as_the_table_says() {
        for entry in entries() {
            for name in entry.names {
                // Words that the options of ours take: a number, a host and a file are all names.
                let parsed = parse(line(name, entry.words, "1"));
                match entry.treatment {
                    Treatment::Refused(instead) => {
                        let failure = parsed.unwrap_err();
                        assert_eq!(failure.code, 2, "{name}");
                        assert!(failure.text.ends_with(instead), "{name}: {failure}");
                    }
                    Treatment::Ours("version", _) => {
                        assert!(matches!(parsed, Ok(Request::Version)), "{name}");
                    }
                    Treatment::Ours("n", _) => {
                        assert!(parsed.unwrap_err().text.contains("given twice"), "{name}");
                    }
                    treatment => {
                        let Ok(Request::Run(options)) = parsed else {
                            panic!("{name}: {parsed:?}");
                        };
                        let is_noted = matches!(treatment, Treatment::Noted(_));
                        assert_eq!(options.notes.len(), usize::from(is_noted), "{name}");
                        assert_eq!(options.programs[0].program, "p", "{name}");
                    }
                }
            }
        }
    }

    #[test]
    fn no_spelling_is_also_one_of_ours_or_comes_twice() {
        let mut known = std::collections::BTreeSet::new();
        for name in entries().flat_map(|entry| entry.names) {
            assert!(options::find(name).is_none(), "{name}");
            assert!(known.insert(name), "{name}");
        }
    }

    #[test]
    fn what_stands_for_an_option_of_ours_names_one() {
        for entry in entries() {
            if let Treatment::Ours(ours, _) = entry.treatment {
                assert!(options::find(ours).is_some(), "{ours}");
            }
        }
    }
}
