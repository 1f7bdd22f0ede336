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

const fn of(names: &'static [&'static str], words: usize, treatment: Treatment) -> Foreign {
    Foreign {
        names,
        words,
        treatment,
    }
}

const fn is_ours(names: &'static [&'static str], words: usize, ours: &'static str) -> Foreign {
    of(names, words, Treatment::Ours(ours, None))
}

const fn has_value(
    names: &'static [&'static str],
    ours: &'static str,
    value: &'static str,
) -> Foreign {
    of(names, 0, Treatment::Ours(ours, Some(value)))
}

const fn ignored(names: &'static [&'static str], words: usize) -> Foreign {
    of(names, words, Treatment::Ignored)
}

const fn noted(names: &'static [&'static str], words: usize, reason: &'static str) -> Foreign {
    of(names, words, Treatment::Noted(reason))
}

const fn refused(names: &'static [&'static str], words: usize, instead: &'static str) -> Foreign {
    of(names, words, Treatment::Refused(instead))
}

const OF_OPEN_MPI: &[Foreign] = &[
    is_ours(&["default-hostfile"], 1, "hostfile"),
    has_value(&["pernode"], "ppn", "1"),
    has_value(&["bycore"], "map-by", "core"),
    has_value(&["bysocket"], "map-by", "socket"),
    has_value(&["bind-to-none"], "bind-to", "none"),
    has_value(&["bind-to-core"], "bind-to", "core"),
    has_value(&["bind-to-socket"], "bind-to", "socket"),
    has_value(&["use-hwthread-cpus"], "map-by", ":hwtcpus"),
    is_ours(&["display-allocation"], 0, "display-map"),
    is_ours(&["display-devel-map"], 0, "display-map"),
    is_ours(&["output-directory"], 1, "output"),
    ignored(&["get-stack-traces", "report-state-on-timeout"], 0),
    ignored(&["show-progress", "leave-session-attached"], 0),
    ignored(&["debug-daemons", "noprefix", "novm"], 0),
    noted(
        &["enable-recovery"],
        0,
        "a rank that is killed ends the job",
    ),
    ignored(&["disable-recovery"], 0),
    noted(
        &["tune", "am"],
        1,
        "parameters of Open MPI have no effect on mpi-lite",
    ),
    noted(
        &["personality"],
        1,
        "mpirun starts programs of mpi-lite and of MPICH alike",
    ),
    noted(
        &["forward-signals"],
        1,
        "mpirun forwards USR1, USR2, TSTP and CONT",
    ),
    refused(&["npersocket"], 1, "use --map-by ppr:N:socket"),
    refused(&["ppr"], 1, "use --map-by ppr:N:WHAT"),
    refused(
        &["cpus-per-proc", "cpus-per-rank"],
        1,
        "use --map-by slot:pe=N",
    ),
    refused(
        &["rankfile", "rf"],
        1,
        "use --hostfile FILE with --map-by seq",
    ),
    refused(
        &["cpu-set", "cpu-list", "slot-list"],
        1,
        "use --bind-to core, or taskset",
    ),
    refused(&["nolocal"], 0, "use --host with the other hosts alone"),
    refused(&["add-host"], 1, "use --host"),
    refused(&["add-hostfile"], 1, "use --hostfile"),
    refused(
        &["do-not-launch"],
        0,
        "use --display-map, with 'true' as the program",
    ),
    refused(&["display-topo"], 0, "use --report-bindings"),
    refused(
        &["preload-files"],
        1,
        "use --preload, which sends programs alone",
    ),
    refused(&["launch-agent"], 1, "use --prefix DIR"),
    refused(&["xml", "index-argv-by-rank"], 0, "use --tag-output"),
    refused(&["xterm"], 1, "use --tag-output"),
    refused(
        &["continuous"],
        0,
        "a job that ends is started again by its script",
    ),
    refused(
        &["max-restarts"],
        1,
        "a job that ends is started again by its script",
    ),
    refused(
        &["debug", "d", "debug-devel", "tv"],
        0,
        "use --stall report, which names the line of each rank",
    ),
    refused(
        &["ompi-server", "report-uri"],
        1,
        "jobs of mpi-lite do not connect to each other",
    ),
    refused(&["report-pid"], 1, "use $! of the shell"),
    refused(&["dvm"], 0, "it needs no daemon"),
    refused(&["hnp"], 1, "it needs no daemon"),
];

const OF_HYDRA: &[Foreign] = &[
    has_value(&["rr"], "map-by", "node"),
    is_ours(&["grr"], 1, "ppn"),
    refused(
        &["s"],
        1,
        "use --stdin RANK (Hydra), or --preload (Open MPI)",
    ),
    ignored(&["disable-x"], 0),
    ignored(&["topolib", "demux", "localhost"], 1),
    ignored(&["pmi-port"], 0),
    noted(
        &["enable-x"],
        0,
        "ssh forwards X11 if --ssh-args says so: --ssh-args -X",
    ),
    noted(&["rmk"], 1, "mpirun finds the allocation by its variables"),
    noted(
        &["print-all-exitcodes"],
        0,
        "mpirun names the first rank that failed, with its status",
    ),
    noted(
        &["ordered-output"],
        0,
        "lines are whole; --output DIR keeps the ranks apart",
    ),
    noted(&["usize"], 1, "no process joins a running job"),
    noted(
        &["membind"],
        1,
        "memory comes from the node of the rank's CPU: --bind-to numa",
    ),
    noted(&["gpus-per-proc"], 1, "mpirun gives no GPUs to ranks"),
    noted(
        &["order-nodes"],
        1,
        "hosts keep the order in which they are named",
    ),
    noted(
        &["disable-auto-cleanup"],
        0,
        "mpirun always ends a job whose rank fails",
    ),
    refused(
        &["launcher-exec", "bootstrap-exec"],
        1,
        "use MPILITE_SSH=PROGRAM",
    ),
    refused(&["prepend-pattern"], 1, "use --tag-output"),
    refused(
        &["outfile-pattern", "errfile-pattern"],
        1,
        "use --output DIR",
    ),
    refused(&["gpath"], 1, "use --path DIR, for each program"),
    refused(&["gwdir"], 1, "use --wdir DIR, for each program"),
    refused(
        &["skip-launch-node"],
        0,
        "use --host with the other hosts alone",
    ),
    refused(&["profile"], 0, "use --stats"),
    refused(
        &["nameserver"],
        1,
        "jobs of mpi-lite do not connect to each other",
    ),
];

const OF_THE_STANDARD: &[Foreign] = &[
    noted(&["soft"], 1, "the number of ranks is that of -n"),
    noted(&["arch"], 1, "hosts are chosen by --host"),
    noted(
        &["file"],
        1,
        "mpirun reads no such file; hosts are those of --hostfile",
    ),
    noted(
        &["initial-errhandler", "memory-alloc-kinds"],
        1,
        "the program asks for it itself",
    ),
];

const OF_SRUN: &[Foreign] = &[
    is_ours(&["ntasks"], 1, "n"),
    is_ours(&["ntasks-per-node"], 1, "ppn"),
    is_ours(&["label"], 0, "tag-output"),
    is_ours(&["chdir", "D"], 1, "wdir"),
    ignored(&["unbuffered", "u", "overlap", "exclusive"], 0),
    refused(&["mpi"], 1, "srun alone needs it"),
    refused(
        &["nodes"],
        1,
        "use --host A:2,B:2, or -N N for the ranks of each host",
    ),
    refused(&["nodelist", "w"], 1, "use --host A:2,B:2"),
    refused(&["cpu-bind"], 1, "use --bind-to core"),
    refused(&["cpus-per-task"], 1, "use --map-by slot:pe=N"),
    refused(
        &["distribution", "m"],
        1,
        "use --map-by slot or --map-by node",
    ),
    refused(
        &["export"],
        1,
        "use -x NAME=VALUE, --envnone or --envlist A,B",
    ),
    refused(&["input", "i"], 1, "use --stdin, and < FILE"),
    refused(&["error", "e", "o"], 1, "use --output DIR"),
    refused(&["time", "t"], 1, "use --timeout SECONDS"),
    refused(&["multi-prog"], 0, "use --app FILE"),
    refused(
        &["kill-on-bad-exit", "K"],
        0,
        "it always ends a job whose rank fails",
    ),
];

/// Every option of other launchers that is understood, ignored or refused by its name, by
/// launcher.
pub const FOREIGN: &[(&str, &[Foreign])] = &[
    (
        "Open MPI's `mpirun` (4.1, and `prterun` of 5.0)",
        OF_OPEN_MPI,
    ),
    ("MPICH's and Intel MPI's `mpiexec` (Hydra)", OF_HYDRA),
    (
        "MPI 5.0, 11.5: options that a launcher should have",
        OF_THE_STANDARD,
    ),
    ("Slurm's `srun`", OF_SRUN),
];

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
