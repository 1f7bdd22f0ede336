//! Programs of ours under process managers that most machines do not have: a Slurm of three nodes
//! (`srun`, and our mpirun inside `salloc` and `sbatch`) and the mpirun of Open MPI.
//! `make test-schedulers` installs what they need and runs these tests.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use mpi_lite_tests::guide::Page;
use mpi_lite_tests::{
    Job, NODES, Outcome, Running, Scratch, Slurm, build, c_source, hosts_of_ranks, tool,
    wait_until_gone,
};

/// The job of a rank that is gone is over within this time, whoever started it.
const SOON: Duration = Duration::from_secs(20);
const PMI2: &str = "--mpi=pmi2";
const PMIX: &str = "--mpi=pmix";

struct Cluster {
    slurm: Slurm,
    who: PathBuf,
}

impl Cluster {
    fn new() -> Self {
        let slurm = Slurm::start();
        let who = build("tests/c/managed/who.c", slurm.scratch());
        Self { slurm, who }
    }

    fn build(&self, path: &str) -> PathBuf {
        build(path, self.slurm.scratch())
    }

    fn srun(&self, words: &[&str], program: &Path) -> Job {
        self.slurm.job(["srun"]).args(words).arg(program)
    }

    /// Waits until no process of the cluster runs this program.
    fn expect_nobody(&self, program: &Path) {
        let deadline = Instant::now() + SOON;
        while !self.slurm.running(program).is_empty() {
            let left = self.slurm.running(program).len();
            assert!(
                Instant::now() < deadline,
                "{left} processes are left of their job"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// All names in `/tmp` and in the `/dev/shm` of each host.
    fn names(&self) -> String {
        let list = ["find", "/tmp", "/dev/shm", "-xdev", "-mindepth", "1"];
        let mut names = self.slurm.job(list).run().expect_code(0).stdout;
        for node in NODES {
            let job = self
                .slurm
                .job_on(node, ["find", "/dev/shm", "-mindepth", "1"]);
            names.push_str(&job.run().expect_code(0).stdout);
        }
        names
    }

    fn kill(&self, process: u32) {
        let words = ["sh", "-c", "kill -9 \"$0\"", &process.to_string()];
        drop(self.slurm.job(words).run().expect_code(0));
    }

    fn start_victim(&self, words: &[&str], victim: &Path) -> Running {
        let mut job = self.srun(words, victim).arg("receive").start();
        job.wait_for("ready", 6);
        job
    }
}

/// All went well, and these are the hosts of the ranks.
fn expect_on(outcome: Outcome, size: usize, nodes: &[&str]) {
    let outcome = outcome.expect_code(0);
    let mut hosts = hosts_of_ranks(&outcome, size);
    hosts.sort();
    hosts.dedup();
    assert_eq!(hosts, nodes, "{}", outcome.report());
}

#[test]
fn the_nodes_of_the_cluster_are_three_hosts() {
    let slurm = Slurm::start();
    let outcome = slurm.job(["srun", "-N3", "hostname"]).run().expect_code(0);
    let mut hosts: Vec<_> = outcome.stdout.lines().collect();
    hosts.sort_unstable();
    assert_eq!(hosts, NODES);
    let words = [
        "salloc",
        "-N3",
        "sh",
        "-c",
        "hostname; echo \"$SLURM_NODELIST\"",
    ];
    let outcome = slurm.job(words).run().expect_code(0);
    drop(outcome.expect_stdout("login\nn[1-3]\n"));
    for (mpi, variable) in [(PMI2, "PMI_RANK"), (PMIX, "PMIX_RANK")] {
        let outcome = slurm
            .job(["srun", mpi, "-N3", "-n6", "printenv", variable])
            .run();
        let outcome = outcome.expect_code(0);
        let mut ranks: Vec<_> = outcome.stdout.lines().collect();
        ranks.sort_unstable();
        assert_eq!(ranks, ["0", "1", "2", "3", "4", "5"], "{mpi}");
    }
}

#[test]
fn two_clusters_at_once_do_not_meet_and_leave_no_process() {
    let clusters = [Slurm::start(), Slurm::start()];
    for slurm in &clusters {
        std::fs::write(slurm.path("number"), format!("{:?}", slurm.path(""))).expect("a file");
    }
    let mut processes = Vec::new();
    for slurm in clusters {
        let outcome = slurm.job(["srun", "-N3", "cat", "number"]).run();
        let text = format!("{:?}", slurm.path(""));
        assert_eq!(outcome.expect_code(0).stdout, text.repeat(3));
        let daemons = ["slurmctld", "slurmd"].map(|name| slurm.running(Path::new(name)));
        assert_eq!(daemons.each_ref().map(Vec::len), [1, 3]);
        processes.extend(daemons.concat());
    }
    wait_until_gone(&processes);
}

#[test]
fn a_program_of_mpich_runs_on_the_cluster() {
    let slurm = Slurm::start();
    let binary = slurm.path("who.mpich");
    let mut compiler = Command::new("mpicc.mpich");
    compiler.arg("-o").arg(&binary);
    let status = compiler.arg(c_source("tests/c/managed/who.c")).status();
    let status = status.expect("mpicc.mpich is needed (package libmpich-dev)");
    assert!(status.success(), "mpicc.mpich compiles who.c");
    let job = slurm.job(["srun", PMI2, "-N1", "-n2"]).arg(&binary);
    expect_on(job.run(), 2, &NODES[..1]);
}

fn run_by_srun(mpi: &str) {
    let cluster = Cluster::new();
    let outcome = cluster.srun(&[mpi, "-N3", "-n6"], &cluster.who).run();
    expect_on(outcome, 6, &NODES);
    for nodes in ["-N1", "-N2"] {
        let pingpong = cluster.build("benches/c/pingpong.c");
        let job = cluster.srun(&[mpi, nodes, "-n2"], &pingpong).arg("65536");
        drop(job.run().expect_code(0).expect_stdout("65536"));
    }
    let farm = cluster.build("benches/c/farm.c");
    let outcome = cluster.srun(&[mpi, "-N3", "-n6"], &farm).run();
    drop(outcome.expect_code(0).expect_stdout("(right)"));
}

#[test]
fn srun_with_pmi2_starts_a_job_on_three_nodes() {
    run_by_srun(PMI2);
}

#[test]
fn srun_with_pmix_starts_a_job_on_three_nodes() {
    run_by_srun(PMIX);
}

/// The variable that names a Python with an mpi4py that was built with our mpicc.
const PYTHON: &str = "TEST_PYTHON";

#[test]
fn srun_starts_a_program_of_mpi4py() {
    let python = std::env::var(PYTHON)
        .unwrap_or_else(|_| panic!("{PYTHON} is not set: `make test-schedulers` sets it"));
    let folder = Path::new(&python).ancestors().nth(2);
    let slurm = Slurm::start_with(&[folder.expect("FOLDER/bin/python")]);
    for mpi in [PMI2, PMIX] {
        let job = slurm.job(["srun", mpi, "-N3", "-n6", &python, "-m", "mpi4py"]);
        let script = c_source("tests/c/managed/who.py");
        expect_on(job.arg(script).run(), 6, &NODES);
    }
    let words = ["salloc", "-N3", &tool("mpirun").display().to_string()];
    let job = slurm.job(words).args([&python, "-m", "mpi4py"]);
    let job = job.arg(c_source("tests/c/managed/who.py"));
    expect_on(job.run(), 3, &NODES);
}

#[test]
fn srun_without_pmi_is_an_error_that_names_slurm_and_what_to_add() {
    let cluster = Cluster::new();
    for words in [&["-N3", "-n6"][..], &["--mpi=none", "-n2"]] {
        let outcome = cluster.srun(words, &cluster.who).run().expect_failure();
        outcome.expect_line(&["Slurm", "srun", PMI2]);
        assert!(!outcome.stdout.contains("rank"), "{}", outcome.report());
    }
    let alone = cluster.srun(&["-n1"], &cluster.who).run();
    expect_on(alone, 1, &NODES[..1]);
}

fn check_end(cluster: &Cluster, program: &Path, outcome: &Outcome, moment: Instant) {
    let took = moment.elapsed();
    assert!(took < SOON, "{took:?}: {}", outcome.report());
    cluster.expect_nobody(program);
}

#[test]
fn a_rank_under_srun_that_exits_with_9_does_not_hang_the_others() {
    let cluster = Cluster::new();
    let victim = cluster.build("tests/c/faults/victim.c");
    for mpi in [PMI2, PMIX] {
        let moment = Instant::now();
        let job = cluster.srun(&[mpi, "-N3", "-n6"], &victim);
        let outcome = job.args(["exit", "9"]).run().expect_failure();
        let outcome = outcome.expect_stdout("ready 1 ");
        check_end(&cluster, &victim, &outcome, moment);
    }
}

#[test]
fn an_abort_under_srun_ends_all_ranks() {
    let cluster = Cluster::new();
    for mpi in [PMI2, PMIX] {
        let moment = Instant::now();
        let job = cluster.srun(&[mpi, "-N3", "-n6"], &cluster.who);
        let outcome = job.args(["abort", "7"]).run().expect_failure();
        outcome.expect_line(&["rank 1", "MPI_Abort", "7"]);
        check_end(&cluster, &cluster.who, &outcome, moment);
    }
}

#[test]
fn a_killed_rank_under_srun_ends_all_and_leaves_no_name() {
    let cluster = Cluster::new();
    let victim = cluster.build("tests/c/faults/victim.c");
    for mpi in [PMI2, PMIX] {
        let before = cluster.names();
        let job = cluster.start_victim(&[mpi, "-N3", "-n6"], &victim);
        let moment = Instant::now();
        cluster.kill(job.process_of("1").id());
        let outcome = job.finish().expect_failure();
        check_end(&cluster, &victim, &outcome, moment);
        assert_eq!(cluster.names(), before, "{mpi}");
    }
}

#[test]
fn all_ranks_killed_under_srun_leave_no_name() {
    let cluster = Cluster::new();
    let victim = cluster.build("tests/c/faults/victim.c");
    let before = cluster.names();
    let job = cluster.start_victim(&[PMI2, "-N3", "-n6"], &victim);
    for rank in 0..6 {
        cluster.kill(job.process_of(&rank.to_string()).id());
    }
    drop(job.finish().expect_failure());
    cluster.expect_nobody(&victim);
    assert_eq!(cluster.names(), before);
}

#[test]
fn our_mpirun_in_an_allocation_starts_a_rank_for_each_task() {
    let cluster = Cluster::new();
    let mpirun = tool("mpirun");
    let in_allocation = |words: &[&str]| {
        let job = cluster.slurm.job(["salloc"]).args(words);
        job.arg(&mpirun).arg(&cluster.who).run()
    };
    expect_on(in_allocation(&["-N3"]), 3, &NODES);
    let two_each = in_allocation(&["-N2", "--ntasks-per-node=2"]);
    expect_on(two_each, 4, &NODES[..2]);
}

#[test]
fn our_mpirun_in_an_allocation_runs_the_farm_and_gives_its_exit_code() {
    let cluster = Cluster::new();
    let farm = cluster.build("benches/c/farm.c");
    let salloc = || cluster.slurm.job(["salloc", "-N3"]).arg(tool("mpirun"));
    let outcome = salloc().args(["-n", "6"]).arg(&farm).run();
    drop(outcome.expect_code(0).expect_stdout("(right)"));
    let outcome = salloc().arg(&cluster.who).args(["abort", "7"]).run();
    drop(outcome.expect_code(7).expect_stderr("MPI_Abort"));
    cluster.expect_nobody(&cluster.who);
}

#[test]
fn our_mpirun_in_a_batch_script_starts_a_rank_on_each_node() {
    let cluster = Cluster::new();
    let text = format!(
        "#!/bin/sh\n'{}' '{}'\necho \"code $?\"\n",
        tool("mpirun").display(),
        cluster.who.display()
    );
    let script = cluster.slurm.scratch().write("script", &text);
    let words = ["sbatch", "-N2", "-o", "output"];
    let outcome = cluster.slurm.job(words).arg(script).run().expect_code(0);
    let outcome = Outcome {
        stdout: wait_for_output(&cluster.slurm.path("output"), "code "),
        ..outcome
    };
    expect_on(outcome.expect_stdout("code 0"), 2, &NODES[..2]);
}

/// What a batch job prints, as soon as it has printed this.
fn wait_for_output(path: &Path, text: &str) -> String {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        // The file is there when the job begins.
        let output = std::fs::read_to_string(path).unwrap_or_default();
        if output.contains(text) && output.ends_with('\n') {
            return output;
        }
        assert!(Instant::now() < deadline, "`{text}` expected: {output}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The mpirun of Open MPI on this machine.
fn openmpi(ranks: usize) -> Job {
    Job::new("mpirun.openmpi")
        .args(["--allow-run-as-root", "--oversubscribe", "-n"])
        .arg(ranks.to_string())
}

#[test]
fn the_mpirun_of_open_mpi_starts_our_programs() {
    let scratch = Scratch::new("openmpi");
    let who = build("tests/c/managed/who.c", &scratch);
    let outcome = openmpi(4).arg(&who).run().expect_code(0);
    assert_eq!(hosts_of_ranks(&outcome, 4).len(), 4);
    let pingpong = build("benches/c/pingpong.c", &scratch);
    let outcome = openmpi(2).arg(&pingpong).arg("65536").run();
    drop(outcome.expect_code(0).expect_stdout("65536"));
    let farm = build("benches/c/farm.c", &scratch);
    let outcome = openmpi(4).arg(&farm).run();
    drop(outcome.expect_code(0).expect_stdout("(right)"));
}

#[test]
fn an_abort_under_open_mpi_ends_all_ranks_with_its_code() {
    let scratch = Scratch::new("openmpi");
    let who = build("tests/c/managed/who.c", &scratch);
    let outcome = openmpi(4).arg(&who).args(["abort", "7"]).run();
    drop(outcome.expect_code(7).expect_stderr("MPI_Abort"));
}

#[test]
fn a_killed_rank_under_open_mpi_ends_all() {
    let scratch = Scratch::new("openmpi");
    let victim = build("tests/c/faults/victim.c", &scratch);
    let mut job = openmpi(4).arg(&victim).arg("receive").start();
    job.wait_for("ready", 4);
    let ranks = job.process().running(&victim);
    let moment = Instant::now();
    job.process_of("1").kill();
    let outcome = job.finish().expect_failure();
    let took = moment.elapsed();
    assert!(took < SOON, "{took:?}: {}", outcome.report());
    wait_until_gone(&ranks);
}

/// The folders that a page takes for granted: the installation, then those of the test itself.
fn path() -> String {
    let tools = tool("mpirun");
    let own = std::env::var("PATH").expect("text");
    format!("{}:{own}", tools.parent().expect("bin").display())
}

#[test]
fn the_page_of_the_guide_about_slurm_is_right() {
    let slurm = Slurm::start();
    let shell = |script: &Path| slurm.job(["sh"]).arg(script).env("PATH", path());
    // The program of the first page.
    let first = Page::read("first-program.md");
    first.run(slurm.scratch().path(), shell, "");
    Page::read("slurm.md").run(slurm.scratch().path(), shell, "");
}

/// `tests/mpi4py.sh` has run the first commands of the page, with other folders.
#[test]
fn the_page_of_the_guide_about_python_is_right() {
    let python = std::env::var(PYTHON)
        .unwrap_or_else(|_| panic!("{PYTHON} is not set: `make test-schedulers` sets it"));
    let page = Page::read("python.md");
    let script = std::fs::read_to_string(c_source("tests/mpi4py.sh")).expect("a script");
    let version = script
        .lines()
        .find_map(|line| line.strip_prefix("version="));
    let version = version.expect("the script names its version");
    let commands: Vec<_> = page.commands().take(2).collect();
    let install = format!("pip install --no-binary=mpi4py mpi4py=={version}");
    assert_eq!(commands[0], "python3 -m venv venv");
    assert_eq!(commands[1], format!("MPICC=mpicc venv/bin/{install}"));
    for part in [
        "python3 -m venv",
        "MPICC=\"$prefix/bin/mpicc\"",
        "--no-binary=mpi4py",
    ] {
        assert!(script.contains(part), "{part}");
    }
    let scratch = Scratch::new("guide");
    let folder = Path::new(&python)
        .ancestors()
        .nth(2)
        .expect("FOLDER/bin/python");
    std::os::unix::fs::symlink(folder, scratch.path().join("venv")).expect("a link");
    let page = page.without("python3 -m venv").without("MPICC=");
    let shell = |script: &Path| Job::new("sh").arg(script).env("PATH", path());
    page.run(scratch.path(), shell, "");
}
