//! The settings of the launcher and of the compiler wrappers: the second part of
//! `docs/settings.md`.

use std::ffi::OsString;
use std::fmt::Write as _;

use crate::cli::nearest::nearest;
use crate::failure::printable;

/// One environment variable.
struct Setting {
    variable: &'static str,
    default: &'static str,
    meaning: &'static str,
}

/// What a user may set.
const SETTINGS: &[Setting] = &[
    Setting {
        variable: "MPILITE_SSH",
        default: "ssh",
        meaning: "The program that reaches other hosts, with its first arguments, separated by \
                  blanks.",
    },
    Setting {
        variable: "MPILITE_LAUNCH_TIMEOUT",
        default: "30",
        meaning: "Seconds that another host has to answer after `mpirun` has started ssh or srun; \
                  60 if the hosts come from an allocation. `--launch-timeout` wins.",
    },
    Setting {
        variable: "MPILITE_SILENT_S",
        default: "12",
        meaning: "Seconds without a sign of life after which `mpirun` and its agent on another \
                  host count each other as lost. Each then ends its ranks. Both send a sign in \
                  every quarter of this time. 0: never.",
    },
    Setting {
        variable: "MPILITE_INTERFACE",
        default: "chosen by the launcher",
        meaning: "Interface, network (`10.1.0.0/16`) or address for the ranks' traffic, as \
                  `--interface`.",
    },
    Setting {
        variable: "MPILITE_TRANSPORT",
        default: "auto",
        meaning: "How messages travel, as `--transport`: `auto`, `shm`, `rmpp`, `gobackn`, `unet`, \
                  `sctp`, `tcp`, `tcp-trc` or `loopback`. A library has `gobackn`, `unet`, `sctp` \
                  and `tcp-trc` if it was built with the feature `laboratory`, as `make install` \
                  does.",
    },
    Setting {
        variable: "MPIEXEC_TIMEOUT",
        default: "none",
        meaning: "Seconds after which the job is ended, as `--timeout`.",
    },
    Setting {
        variable: "MPILITE_GRACE",
        default: "10, in an allocation 60",
        meaning: "Seconds that the ranks have to save and end after a signal to `mpirun` or \
                  `--timeout`, before they are killed, as `--grace`.",
    },
    Setting {
        variable: "MPILITE_STALL",
        default: "report",
        meaning: "What `mpirun` does when no rank goes on, as `--stall`: `report`, `abort` or \
                  `off`.",
    },
    Setting {
        variable: "MPILITE_STALL_AFTER",
        default: "10",
        meaning: "Seconds for which no rank has gone on then, as `--stall-after`.",
    },
    Setting {
        variable: "MPILITE_ABI",
        default: "standard",
        meaning: "The binary interface that `mpicc` and `mpicxx` build for: `standard` or `mpich`, \
                  as `--abi`.",
    },
    Setting {
        variable: "MPILITE_CC",
        default: "cc",
        meaning: "The compiler behind `mpicc`; `MPICH_CC`, `I_MPI_CC` and `OMPI_CC` are read as \
                  well.",
    },
    Setting {
        variable: "MPILITE_CXX",
        default: "c++",
        meaning: "The compiler behind `mpicxx`; `MPICH_CXX`, `I_MPI_CXX` and `OMPI_CXX` are read \
                  as well.",
    },
];

/// What `mpirun` sets for each rank.
const GIVEN: &[(&str, &str)] = &[
    ("MPILITE_RANK", "Rank in `MPI_COMM_WORLD`."),
    ("MPILITE_SIZE", "Number of ranks."),
    ("MPILITE_LOCAL_RANK", "Rank among those on the same host."),
    ("MPILITE_LOCAL_SIZE", "Number of ranks on the same host."),
    ("MPILITE_NODE", "Number of the host, from 0."),
    (
        "MPI_LOCALRANKID",
        "As `MPILITE_LOCAL_RANK`, under the name that scripts know.",
    ),
    ("MPI_LOCALNRANKS", "As `MPILITE_LOCAL_SIZE`."),
    (
        "MPILITE_BOOT_FD",
        "Descriptor of the channel to the launcher; for the library alone.",
    ),
];

/// What `mpirun` sets for its agents.
const OF_AGENTS: &[(&str, &str)] = &[(
    "MPILITE_AGENT_HOME",
    "Where the agents that `srun` has started find `mpirun`, and how they prove themselves; ranks \
     do not get it.",
)];

/// The library's most useful settings.
const OF_LIBRARY: [&str; 5] = [
    "MPILITE_CHECK",
    "MPILITE_LOST_S",
    "MPILITE_WAIT",
    "MPILITE_SECURE",
    "MPILITE_EAGER_COPY_BYTES",
];

/// The settings that `mpirun --help` lists: those that `mpirun` reads, and some of the library.
pub fn main() -> impl Iterator<Item = (&'static str, String)> {
    const OF_WRAPPERS: [&str; 3] = ["MPILITE_ABI", "MPILITE_CC", "MPILITE_CXX"];
    let of_wrappers = |it: &&Setting| !OF_WRAPPERS.contains(&it.variable);
    let ours = SETTINGS.iter().filter(of_wrappers);
    let ours = ours.map(|it| {
        let meaning = it.meaning.trim_end_matches('.');
        (it.variable, it.default.to_owned(), meaning)
    });
    let of_library = OF_LIBRARY.into_iter().filter_map(|variable| {
        let (default, meaning) = mpi_boot::config::summary(variable)?;
        Some((variable, default, meaning))
    });
    ours.chain(of_library).map(|(variable, default, meaning)| {
        let text = format!("{meaning}. Default: {default}.");
        (variable, text.replace('`', ""))
    })
}

/// The settings of the launcher and of the wrappers, with their present values.
pub fn present() -> impl Iterator<Item = (&'static str, String)> {
    SETTINGS.iter().map(|setting| {
        let set = std::env::var_os(setting.variable);
        let value = set.map(|value| value.to_string_lossy().into_owned());
        let value = value.unwrap_or_else(|| setting.default.into());
        (setting.variable, value)
    })
}

/// How the names of all our variables begin.
const PREFIX: &str = "MPILITE_";

/// What the tests and benchmarks of mpi-lite read: their programs inherit these.
const OF_TESTS: &[&str] = &["PREFIX", "SEED", "PROGRAMS", "BENCH_*", "TEST_*"];

/// A note for each variable of ours that nobody reads: it is misspelt, or of another version.
pub fn unknown_variables(all: impl Iterator<Item = (OsString, OsString)>) -> Vec<String> {
    let mut notes: Vec<String> = all
        .filter_map(|(name, _)| note_of(&name.to_string_lossy()))
        .collect();
    notes.sort();
    notes
}

fn note_of(name: &str) -> Option<String> {
    let own = name.strip_prefix(PREFIX)?;
    let is_of_tests = |entry: &&str| match entry.strip_suffix('*') {
        Some(start) => own.starts_with(start),
        None => own == *entry,
    };
    let settings = || {
        let ours = SETTINGS.iter().map(|setting| setting.variable);
        let known = mpi_boot::config::variables().chain(ours);
        known.filter_map(|variable| variable.strip_prefix(PREFIX))
    };
    let given = || GIVEN.iter().chain(OF_AGENTS).map(|(variable, _)| *variable);
    if OF_TESTS.iter().any(is_of_tests)
        || given().any(|known| known == name)
        || settings().any(|known| known == own)
    {
        return None;
    }
    let meant = nearest(own, settings());
    let meant = meant.map(|meant| format!("; did you mean {PREFIX}{meant}?"));
    Some(format!(
        "note: {} is not a setting of mpi-lite{}",
        printable(name),
        meant.unwrap_or_default()
    ))
}

/// The part of `docs/settings.md` that is ours.
#[must_use]
pub fn documentation() -> String {
    let mut text = String::from(
        "\n## Of mpirun and mpicc\n\nGenerated from `launcher/src/cli/settings.rs`. Options of the \
         command line win over these.\n\n| variable | default | meaning |\n|---|---|---|\n",
    );
    for Setting {
        variable,
        default,
        meaning,
    } in SETTINGS
    {
        let _ = writeln!(text, "| `{variable}` | {default} | {meaning} |");
    }
    text.push_str(
        "\n## Given to each rank\n\nFor scripts that run before `MPI_Init`.\n\n\
         | variable | meaning |\n|---|---|\n",
    );
    for (variable, meaning) in GIVEN {
        let _ = writeln!(text, "| `{variable}` | {meaning} |");
    }
    text.push_str("\n## Given to agents of srun\n\n| variable | meaning |\n|---|---|\n");
    for (variable, meaning) in OF_AGENTS {
        let _ = writeln!(text, "| `{variable}` | {meaning} |");
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn only_what_nobody_reads_is_noted() {
        let documented =
            fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/settings.md"));
        let documented = documented.unwrap();
        let mut rows = 0;
        for row in documented
            .lines()
            .filter_map(|line| line.strip_prefix("| `"))
        {
            let (name, _) = row.split_once('`').unwrap();
            assert_eq!(note_of(name), None);
            rows += 1;
        }
        assert!(rows > 25, "{rows}");
        for name in ["MPILITE_PREFIX", "MPILITE_TEST_ONCE", "MPICH_CC", "PATH"] {
            assert_eq!(note_of(name), None);
        }
        let note = note_of("MPILITE_LOSTS").unwrap();
        assert!(note.ends_with("; did you mean MPILITE_LOST_S?"), "{note}");
    }

    #[test]
    fn the_help_lists_what_mpirun_reads_and_some_settings_of_the_library() {
        let listed: Vec<_> = main().map(|(variable, _)| variable).collect();
        for variable in OF_LIBRARY.into_iter().chain(["MPILITE_SSH"]) {
            assert!(listed.contains(&variable), "{variable}");
        }
        assert!(!listed.contains(&"MPILITE_CC"));
    }

    #[test]
    fn the_documentation_is_the_tables() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/settings.md");
        let read = || fs::read_to_string(path).unwrap_or_default();
        let split = |text: &str| text.find("\n## ").unwrap_or(text.len());
        if std::env::var_os("UPDATE").is_some() {
            let before = read()[..split(&read())].to_string();
            fs::write(path, before + &documentation()).unwrap();
        }
        let text = read();
        assert_eq!(
            text[split(&text)..],
            documentation(),
            "run this test with UPDATE=1"
        );
    }

    /// Every word that begins with our prefix in the sources below `directory`.
    fn variables_in(directory: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(directory).unwrap().flatten() {
            if entry.path().is_dir() {
                variables_in(&entry.path(), found);
                continue;
            }
            let text = fs::read_to_string(entry.path()).unwrap();
            let is_of_word = |c: char| c.is_ascii_uppercase() || c == '_';
            let words = text.split(|c| !is_of_word(c));
            let ours = words.filter(|word| word.starts_with("MPILITE_"));
            found.extend(ours.map(|word| word.trim_end_matches('_').to_string()));
        }
    }

    #[test]
    fn every_variable_in_the_sources_is_documented() {
        let mut found = Vec::new();
        variables_in(
            Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")),
            &mut found,
        );
        assert!(found.len() > 20, "{found:?}");
        // Messages to the user name settings of the library as well.
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/settings.md");
        let text = fs::read_to_string(path).unwrap();
        // A test of misspelt names, and what a build says.
        let misspelt = [
            "MPILITE",
            "MPILITE_BUILD_COMMIT",
            "MPILITE_BUILD_COMPILER",
            "MPILITE_LOSTS",
            "MPILITE_PREFIX",
            "MPILITE_TEST_ONCE",
        ];
        for variable in found.iter().filter(|it| !misspelt.contains(&it.as_str())) {
            assert!(
                text.contains(&format!("`{variable}`")),
                "{variable} is not documented"
            );
        }
    }
}
