//! Who is measured: mpi-lite, the MPIs of this machine, the kernel alone.

use std::path::PathBuf;
use std::process::Command;

use mpi_lite_tests::tool;

use crate::profile;

/// One way to run a C program.
#[derive(Debug, Clone)]
pub struct Contender {
    /// Heading of its column.
    pub name: String,
    /// What loss befalls: `udp` or `tcp`.
    pub protocol: &'static str,
    /// Whether it is on this machine; if not, the tables say so.
    pub is_installed: bool,
    pub(crate) compiler: PathBuf,
    pub(crate) launcher: Option<PathBuf>,
    pub(crate) words: &'static [&'static str],
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
        compiler: tool("mpicc"),
        launcher: Some(tool("mpirun")),
        words: &["--transport", "rmpp"],
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
        compiler: "cc".into(),
        launcher: None,
        words: &[],
        variables: Vec::new(),
    }
}

/// Whether a program with `mpi.h` can be compiled and something is there to start it.
fn is_installed(compiler: &str, launcher: &str) -> bool {
    let compile = ["-fsyntax-only", "-include", "mpi.h", "-x", "c", "/dev/null"];
    let succeeds = |program: &str, words: &[&str]| {
        let output = Command::new(program).args(words).output();
        output.is_ok_and(|output| output.status.success())
    };
    succeeds(compiler, &compile) && succeeds(launcher, &["--version"])
}

/// The other MPIs over TCP, whether they are installed or not.
#[must_use]
pub fn peers() -> Vec<Contender> {
    vec![open_mpi(), mpich()]
}

fn open_mpi() -> Contender {
    Contender {
        name: "Open MPI tcp".to_owned(),
        protocol: "tcp",
        is_installed: is_installed("mpicc.openmpi", "mpirun.openmpi"),
        compiler: "mpicc.openmpi".into(),
        launcher: Some("mpirun.openmpi".into()),
        // Without `lo` it finds no road in a network that has nothing else.
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
        variables: vec![
            ("OMPI_ALLOW_RUN_AS_ROOT", "1".to_owned()),
            ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1".to_owned()),
        ],
    }
}

fn mpich() -> Contender {
    Contender {
        name: "MPICH tcp".to_owned(),
        protocol: "tcp",
        is_installed: is_installed("mpicc.mpich", "mpirun.mpich"),
        compiler: "mpicc.mpich".into(),
        launcher: Some("mpirun.mpich".into()),
        words: &[],
        // Without shared memory UCX falls back to TCP; `self` stays for a rank's own messages.
        variables: vec![
            ("UCX_TLS", "tcp,self".to_owned()),
            ("MPIR_CVAR_NOLOCAL", "1".to_owned()),
        ],
    }
}
