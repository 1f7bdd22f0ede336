//! Who is measured: mpi-lite, the MPIs of this machine, the kernel alone.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use mpi_lite_tests::{Job, Scratch, c_source, tool};

use crate::figures::{Figures, parse};
use crate::suite::Subject;

/// Longest run of one program of one contender.
const DEADLINE: Duration = Duration::from_secs(60);

/// One way to run a C program.
#[derive(Debug)]
pub struct Contender {
    /// Heading of its column.
    pub name: &'static str,
    compiler: PathBuf,
    launcher: PathBuf,
    words: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
    is_kernel: bool,
}

impl Contender {
    fn new(name: &'static str, compiler: PathBuf, launcher: PathBuf) -> Self {
        Self {
            name,
            compiler,
            launcher,
            words: &[],
            variables: &[],
            is_kernel: false,
        }
    }

    /// Whether it is mpi-lite.
    #[must_use]
    pub fn is_ours(&self) -> bool {
        self.name.starts_with("mpi-lite")
    }

    /// Whether it can measure the subject at all.
    #[must_use]
    pub fn can(&self, subject: &Subject) -> bool {
        !self.is_kernel || subject.program == "latency"
    }

    fn source(&self, subject: &Subject) -> &'static str {
        if self.is_kernel {
            "udp_probe"
        } else {
            subject.program
        }
    }

    /// Compiles the subject's program.
    ///
    /// # Panics
    /// If the compiler refuses.
    #[must_use]
    pub fn compile(&self, subject: &Subject, scratch: &Scratch) -> PathBuf {
        let source = self.source(subject);
        let binary = scratch
            .path()
            .join(format!("{source}.{}", self.name.replace(' ', "-")));
        let output = Command::new(&self.compiler)
            .args(["-O2", "-o"])
            .arg(&binary)
            .arg(c_source(&format!("benches/c/{source}.c")))
            .output();
        let output = output.unwrap_or_else(|e| panic!("{}: {e}", self.compiler.display()));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{} {source}.c: {stderr}",
            self.compiler.display()
        );
        binary
    }

    /// Runs the compiled program once.
    ///
    /// # Errors
    /// How the program failed.
    pub fn measure(&self, subject: &Subject, binary: &Path) -> Result<Figures, String> {
        let mut job = Job::new(if self.is_kernel {
            binary
        } else {
            self.launcher.as_path()
        });
        for (name, value) in self.variables {
            job = job.env(name, value);
        }
        if !self.is_kernel {
            job = job
                .args(["-n", &subject.ranks.to_string()])
                .args(self.words)
                .arg(binary);
        }
        let outcome = job.args(subject.arguments()).deadline(DEADLINE).run();
        let figures = parse(&outcome.stdout);
        if outcome.code != Some(0) || figures.is_empty() {
            return Err(outcome.report());
        }
        Ok(figures)
    }
}

/// mpi-lite over this transport.
#[must_use]
pub fn ours() -> Contender {
    Contender {
        words: &["--transport", "rmpp"],
        ..Contender::new("mpi-lite rmpp", tool("mpicc"), tool("mpirun"))
    }
}

/// Two processes that spin on a UDP socket.
#[must_use]
pub fn kernel() -> Contender {
    Contender {
        is_kernel: true,
        ..Contender::new("raw udp", "cc".into(), PathBuf::new())
    }
}

fn is_installed(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

/// Open MPI over TCP; MPICH over TCP and as it comes.
#[must_use]
pub fn installed_peers() -> Vec<Contender> {
    let mut peers = Vec::new();
    if is_installed("mpicc.openmpi") {
        peers.push(Contender {
            words: &[
                "--oversubscribe",
                "--mca",
                "pml",
                "ob1",
                "--mca",
                "btl",
                "tcp,self",
            ],
            variables: &[
                ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
                ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
            ],
            ..Contender::new(
                "Open MPI tcp",
                "mpicc.openmpi".into(),
                "mpirun.openmpi".into(),
            )
        });
    }
    if is_installed("mpicc.mpich") {
        let mpich = |name| Contender::new(name, "mpicc.mpich".into(), "mpirun.mpich".into());
        peers.push(Contender {
            // Without shared memory UCX falls back to TCP; `self` stays for a rank's own messages.
            variables: &[("UCX_TLS", "tcp,self"), ("MPIR_CVAR_NOLOCAL", "1")],
            ..mpich("MPICH tcp")
        });
        peers.push(mpich("MPICH"));
    }
    peers
}
