//! A Slurm of a test's own: a controller and three nodes in private namespaces of this machine.
//!
//! * [`Slurm`]: the running cluster; [`Slurm::job`] runs a command on its host `login`, where
//!   `srun`, `salloc` and `sbatch` work; [`Slurm::job_on`] runs one on a node.
//!
//! The nodes `n1`, `n2` and `n3` have four CPUs each and differ in network, mounts and host name,
//! so that nothing but the network joins their ranks: a rank that announces its loopback address
//! or a name in `/dev/shm` is not found. Needs root and the programs of Slurm:
//! `make test-schedulers` installs them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::install::{prefix, source_root};
use crate::job::Job;
use crate::process::Process;
use crate::scratch::Scratch;

/// Makes the namespaces' networks and starts the daemons.
const SCRIPT: &str = include_str!("slurm.sh");
/// The folder of the daemons below the user's.
const DAEMONS: &str = "daemons";
/// The nodes' names.
pub const NODES: [&str; 3] = ["n1", "n2", "n3"];
/// How long the nodes may take until they are idle.
const START: Duration = Duration::from_secs(60);
/// How long the namespaces may take to end after their first process was asked to.
const END: Duration = Duration::from_secs(10);
/// How often a state is asked for.
const GLANCE: Duration = Duration::from_millis(20);
/// Lines of each log in a report.
const LOG_LINES: usize = 40;

/// A running cluster, gone with the value.
#[derive(Debug)]
pub struct Slurm {
    scratch: Scratch,
    unshare: Child,
    first: u32,
}

impl Slurm {
    /// Starts it and waits until all nodes are idle.
    ///
    /// # Panics
    /// If something is missing, or a node is not idle within a minute; prints the daemons' logs.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// As [`Self::start`]; these folders are seen inside even if they lie in `/tmp`.
    ///
    /// # Panics
    /// As [`Self::start`].
    #[must_use]
    pub fn start_with(folders: &[&Path]) -> Self {
        check_machine();
        let scratch = Scratch::new("slurm");
        write_configuration(&scratch);
        let mut command = Command::new("unshare");
        command
            .args(["--net", "--pid", "--mount", "--uts", "--fork"])
            .args(["--mount-proc", "--kill-child", "sh", "-c", SCRIPT, "slurm"])
            .arg(scratch.path().join(DAEMONS))
            .args(folders_in_tmp(&[&[scratch.path()], folders].concat()));
        let log = scratch.path().join(DAEMONS).join("start.out");
        let log = fs::File::create(log).expect("a fresh directory");
        command.stdout(log.try_clone().expect("a file")).stderr(log);
        let unshare = command
            .stdin(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("unshare is needed: {error}"));
        let mut slurm = Self {
            scratch,
            unshare,
            first: 0,
        };
        let deadline = Instant::now() + START;
        slurm.wait_until("its daemons start", deadline, |slurm| {
            slurm.daemons("up").exists()
        });
        slurm.first = slurm.first_process();
        slurm.wait_until("its nodes are idle", deadline, Self::is_idle);
        slurm
    }

    /// A file or folder of the user's folder, which all hosts see.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// A file or folder of the daemons.
    fn daemons(&self, name: &str) -> PathBuf {
        self.path(DAEMONS).join(name)
    }

    /// The user's folder: a program that runs inside lies in it, in the installation, in the source
    /// tree or outside of `/tmp`.
    #[must_use]
    pub fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    /// A command on the host `login`, in the user's folder.
    #[must_use]
    pub fn job(&self, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Job {
        self.job_in(self.scratch.path(), words)
    }

    /// A command on the host `login`, in another folder.
    #[must_use]
    pub fn job_in(&self, folder: &Path, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Job {
        // Entering the mounts leaves the working directory behind.
        self.enter()
            .args(["sh", "-c", "cd \"$0\" && exec \"$@\""])
            .arg(folder)
            .args(words)
    }

    /// A command on a node, beside its daemon and not as a job of the scheduler.
    ///
    /// # Panics
    /// If there is no such node.
    #[must_use]
    pub fn job_on(&self, node: &str, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Job {
        let path = self.daemons(node).join("pid");
        let daemon = fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{node} is no running node: {error}"));
        self.enter()
            .args(["nsenter", "--target", daemon.trim()])
            .args(["--net", "--mount", "--uts"])
            .args(words)
    }

    fn enter(&self) -> Job {
        Job::new("nsenter")
            .args(["--target", &self.first.to_string()])
            .args(["--net", "--pid", "--mount", "--uts"])
            .env("SLURM_CONF", self.daemons("slurm.conf"))
    }

    /// The processes of the whole cluster that run this program, by its path on the command line
    /// or behind an interpreter's.
    #[must_use]
    pub fn running(&self, program: &Path) -> Vec<Process> {
        let is_it = |process: &Process| {
            let words = process.words();
            words.iter().take(2).any(|word| Path::new(word) == program)
        };
        let all = Process::new(self.first).descendants();
        all.into_iter().filter(is_it).collect()
    }

    /// The first process of the namespaces, as this machine counts.
    fn first_process(&self) -> u32 {
        let children = Process::new(self.unshare.id()).descendants();
        let first = children.into_iter().map(Process::id).min();
        first.expect("unshare has forked, since its child made a file")
    }

    fn is_idle(&self) -> bool {
        let answer = self.job(["sinfo", "-h", "-N", "-o", "%T"]);
        let answer = answer.deadline(Duration::from_secs(10)).run();
        let idle = answer.stdout.lines().filter(|state| *state == "idle");
        idle.count() == NODES.len()
    }

    fn wait_until(&mut self, event: &str, deadline: Instant, is_there: impl Fn(&Self) -> bool) {
        while !is_there(self) {
            let status = self.unshare.try_wait().expect("our own child");
            assert!(
                status.is_none() && Instant::now() < deadline,
                "the cluster did not come so far that {event} ({status:?})"
            );
            std::thread::sleep(GLANCE);
        }
    }

    /// The end of each daemon's log.
    #[must_use]
    pub fn logs(&self) -> String {
        let mut files = vec![self.daemons("start.out"), self.daemons("slurmctld.out")];
        for node in NODES {
            files.push(self.daemons(&format!("{node}.out")));
        }
        let mut text = String::new();
        for file in files {
            let log = fs::read(&file).unwrap_or_default();
            let log = String::from_utf8_lossy(&log);
            let lines: Vec<_> = log.lines().collect();
            let end = &lines[lines.len().saturating_sub(LOG_LINES)..];
            text.push_str(&format!("--- {}\n{}\n", file.display(), end.join("\n")));
        }
        text
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.logs());
        }
        // The end of its input ends the first process, and with it all others.
        drop(self.unshare.stdin.take());
        let deadline = Instant::now() + END;
        while matches!(self.unshare.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(GLANCE);
        }
        // Gone already is as good.
        let _ = self.unshare.kill();
        let _ = self.unshare.wait();
    }
}

/// Fails with the name of what this machine lacks.
fn check_machine() {
    assert!(
        rustix::process::geteuid().is_root(),
        "a Slurm in namespaces of its own needs root"
    );
    for (program, package) in [
        ("slurmctld", "slurmctld"),
        ("slurmd", "slurmd"),
        ("srun", "slurm-client"),
        ("nsenter", "util-linux"),
        ("ip", "iproute2"),
    ] {
        let is_there = |folder: &str| Path::new(folder).join(program).exists();
        assert!(
            ["/usr/sbin", "/usr/bin", "/sbin", "/bin", "/usr/local/bin"]
                .into_iter()
                .any(is_there),
            "{program} is needed (package {package}); `make test-schedulers` installs it"
        );
    }
}

/// What must be seen inside although it lies in `/tmp`: these folders, the installation, and the
/// source tree.
fn folders_in_tmp(folders: &[&Path]) -> Vec<PathBuf> {
    let mut folders: Vec<_> = folders.iter().map(|folder| folder.to_path_buf()).collect();
    folders.extend([prefix(), source_root()]);
    folders.retain(|folder| folder.starts_with("/tmp"));
    folders
}

fn write_configuration(scratch: &Scratch) {
    let folder = scratch.path().join(DAEMONS);
    let write = |name: &str, text: &str| {
        scratch.write(&format!("{DAEMONS}/{name}"), text);
    };
    for name in ["", "spool", "state"] {
        fs::create_dir(folder.join(name)).expect("a fresh directory");
    }
    let folder = folder.display();
    let mut hosts = "127.0.0.1 localhost\n10.99.0.254 login\n".to_owned();
    let mut nodes = String::new();
    for (number, node) in (1..).zip(NODES) {
        hosts.push_str(&format!("10.99.0.{number} {node}\n"));
        nodes.push_str(&format!(
            "NodeName={node} NodeAddr=10.99.0.{number} CPUs=4\n"
        ));
    }
    let configuration = format!(
        "ClusterName=lab\nSlurmctldHost=login(10.99.0.254)\nSlurmctldPort=6817\n\
         SlurmdPort=6818\nSlurmUser=root\nSlurmdUser=root\n\
         AuthType=auth/none\nCredType=cred/none\nMpiDefault=none\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nSwitchType=switch/none\n\
         SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n\
         SlurmdParameters=config_overrides\nReturnToService=2\nKillWait=2\n\
         AccountingStorageType=accounting_storage/none\n\
         JobAcctGatherType=jobacct_gather/none\n\
         StateSaveLocation={folder}/state\nSlurmctldPidFile={folder}/slurmctld.pid\n\
         SlurmdSpoolDir={folder}/spool\nSlurmdPidFile={folder}/spool/slurmd.pid\n\
         {nodes}PartitionName=all Nodes={} Default=YES State=UP OverSubscribe=YES\n",
        NODES.join(",")
    );
    write("slurm.conf", &configuration);
    write("mpi.conf", &format!("PMIxCliTmpDirBase={folder}/spool\n"));
    write("hosts", &hosts);
}
