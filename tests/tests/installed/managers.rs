//! Programs of ours under the process managers that every machine may have: MPICH's mpiexec
//! (Hydra), and a server that speaks as Flux does. A launcher that is recognised but cannot be
//! used is an error with its name.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use mpi_lite_tests::{Job, Outcome, Scratch, build, hosts_of_ranks, source_root, wait_until_gone};

/// How often a test repeats what a race may spoil.
const REPEATS: usize = 10;
/// The job of a rank that is gone is over within this time, whoever started it.
const SOON: Duration = Duration::from_secs(20);
const HYDRA: [&[&str]; 2] = [&["-n"], &["-pmi-port", "-n"]];

struct Programs {
    scratch: Scratch,
    who: PathBuf,
}

impl Programs {
    fn new() -> Self {
        let scratch = Scratch::new("managers");
        let who = build("tests/c/managed/who.c", &scratch);
        Self { scratch, who }
    }

    fn build(&self, path: &str) -> PathBuf {
        build(path, &self.scratch)
    }
}

fn hydra(words: &[&str], ranks: usize) -> Job {
    let job = Job::new("mpiexec.hydra").args(words);
    job.arg(ranks.to_string())
}

fn flux(ranks: usize) -> Job {
    let server = source_root().join("tests/src/flux.py");
    Job::new("python3").arg(server).arg(ranks.to_string())
}

/// Every way to start this many ranks.
fn managers(ranks: usize) -> Vec<(&'static str, Job)> {
    vec![
        ("Hydra", hydra(HYDRA[0], ranks)),
        ("Hydra with a port", hydra(HYDRA[1], ranks)),
        ("Flux", flux(ranks)),
    ]
}

#[test]
fn hydra_and_flux_start_a_job_of_our_programs() {
    let programs = Programs::new();
    for ranks in [1, 3, 4] {
        for (_, job) in managers(ranks) {
            let outcome = job.arg(&programs.who).run().expect_code(0);
            drop(hosts_of_ranks(&outcome, ranks));
        }
    }
    let pingpong = programs.build("benches/c/pingpong.c");
    for (_, job) in managers(2) {
        let outcome = job.arg(&pingpong).arg("65536").run();
        drop(outcome.expect_code(0).expect_stdout("65536"));
    }
    let farm = programs.build("benches/c/farm.c");
    for (_, job) in managers(4) {
        drop(job.arg(&farm).run().expect_code(0).expect_stdout("(right)"));
    }
}

/// Longer than what fits into one value, and into one line, of any manager.
#[test]
fn a_job_of_twenty_ranks_starts_under_hydra_and_flux() {
    let programs = Programs::new();
    for (_, job) in managers(20) {
        let outcome = job.arg(&programs.who).run().expect_code(0);
        drop(hosts_of_ranks(&outcome, 20));
    }
}

/// Runs a script in a network of its own, where Unix sockets without a file have their names, too.
/// `"$@"` is what follows.
fn namespace(script: &str) -> Job {
    const TRIED: [&str; 6] = ["-n", "ip", "link", "set", "lo", "up"];
    let tried = Command::new("unshare").args(TRIED).output();
    let is_possible = tried.is_ok_and(|output| output.status.success());
    assert!(
        is_possible,
        "`unshare -n ip link set lo up` must work (root, package iproute2)"
    );
    let script = format!("set -e; ip link set lo up; {script}");
    Job::new("unshare").args(["-n", "sh", "-c", &script, "sh"])
}

/// The system lets a socket wait with as few connections, and messages, as can be.
#[test]
fn no_queue_of_the_system_is_too_short_for_the_ranks_of_a_node() {
    let programs = Programs::new();
    let shortest = "echo 1 > /proc/sys/net/core/somaxconn; \
                    echo 0 > /proc/sys/net/unix/max_dgram_qlen; exec mpiexec.hydra -n 24 \"$@\"";
    let outcome = namespace(shortest).arg(&programs.who).run();
    drop(hosts_of_ranks(&outcome.expect_code(0), 24));
}

/// Rank 1 starts when the stranger has attacked a socket that another rank has opened.
#[test]
fn a_stranger_who_fills_every_socket_of_a_job_neither_ends_nor_hangs_it() {
    let programs = Programs::new();
    let stranger = source_root().join("tests/src/stranger.py");
    let script = "stranger=$1; shift; \
                  PATH=/usr/bin:$PATH $USER_OF_STRANGER python3 - \
                  < \"$stranger\" > knocked & trap \"kill $!\" EXIT; \
                  mpiexec.hydra -n 3 sh -c 'if [ $PMI_RANK = 1 ]; then \
                  until [ -s knocked ]; do sleep 0.01; done; fi; exec \"$0\"' \"$@\"";
    let nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    for user in ["", nobody] {
        let folder = programs.scratch.path();
        let job = namespace(script).env("USER_OF_STRANGER", user);
        let job = job.directory(folder).arg(&stranger).arg(&programs.who);
        drop(hosts_of_ranks(&job.run().expect_code(0), 3));
    }
}

#[test]
fn ranks_of_hydra_and_flux_work_over_the_network_too() {
    let programs = Programs::new();
    for (_, job) in managers(3) {
        let job = job.env("MPILITE_TRANSPORT", "rmpp");
        let outcome = job.arg(&programs.who).run().expect_code(0);
        drop(hosts_of_ranks(&outcome, 3));
    }
}

#[test]
fn standard_input_goes_to_rank_0_under_hydra() {
    let programs = Programs::new();
    let input = programs.scratch.write("input", &"x".repeat(10_000));
    for words in HYDRA {
        let job = hydra(words, 3).stdin(&input);
        let outcome = job.arg(&programs.who).arg("stdin").run();
        drop(outcome.expect_code(0).expect_stdout("standard input 10000"));
    }
}

#[test]
fn an_unset_attribute_of_a_manager_is_unset_in_mpi() {
    let programs = Programs::new();
    for (_, job) in managers(2) {
        let outcome = job.arg(&programs.who).arg("appnum").run().expect_code(0);
        drop(hosts_of_ranks(&outcome, 2));
        let is_negative = outcome.stdout.contains(" -1");
        assert!(!is_negative, "{}", outcome.report());
    }
}

/// Hydra drops what it has not read of a rank's output when that rank asks it to end the job.
#[test]
fn an_abort_under_hydra_and_flux_ends_all_with_its_code_and_its_reason() {
    let programs = Programs::new();
    for (manager, job) in (0..REPEATS).flat_map(|_| managers(4)) {
        let outcome = job.arg(&programs.who).args(["abort", "7"]).run();
        let outcome = outcome.expect_code(7);
        assert!(outcome.took < SOON, "{manager}: {}", outcome.report());
        outcome.expect_line(&["rank 1", "MPI_Abort", "7"]);
        drop(outcome.expect_stdout("rank 1 of 4"));
    }
}

fn check_end(outcome: &Outcome, moment: Instant) {
    let took = moment.elapsed();
    assert!(took < SOON, "{took:?}: {}", outcome.report());
}

#[test]
fn a_killed_rank_under_hydra_and_flux_ends_all() {
    let programs = Programs::new();
    let victim = programs.build("tests/c/faults/victim.c");
    for transport in ["shm", "rmpp"] {
        for (_, job) in managers(4) {
            let job = job.env("MPILITE_TRANSPORT", transport);
            let mut job = job.arg(&victim).arg("receive").start();
            job.wait_for("ready", 4);
            let ranks = job.process().running(&victim);
            assert_eq!(ranks.len(), 4);
            let moment = Instant::now();
            job.process_of("1").kill();
            check_end(&job.finish().expect_failure(), moment);
            wait_until_gone(&ranks);
        }
    }
}

#[test]
fn a_rank_under_hydra_and_flux_that_exits_with_9_does_not_hang_the_others() {
    let programs = Programs::new();
    let victim = programs.build("tests/c/faults/victim.c");
    for (_, job) in managers(4) {
        let moment = Instant::now();
        let outcome = job.arg(&victim).args(["exit", "9"]).run();
        let outcome = outcome.expect_failure().expect_stdout("ready 1 ");
        check_end(&outcome, moment);
    }
}

/// What launchers set that are recognised and cannot be used, and the name that the error has.
const UNUSABLE: &[(&str, &[(&str, &str)])] = &[
    (
        "PALS",
        &[
            ("PALS_RANKID", "0"),
            ("PALS_SIZE", "4"),
            ("PALS_APID", "a-1"),
        ],
    ),
    (
        "jsrun",
        &[("JSM_NAMESPACE_RANK", "0"), ("JSM_NAMESPACE_SIZE", "4")],
    ),
    (
        "MVAPICH",
        &[("MV2_COMM_WORLD_RANK", "0"), ("MV2_COMM_WORLD_SIZE", "4")],
    ),
    ("aprun", &[("ALPS_APP_PE", "1"), ("PMI_SIZE", "4")]),
    (
        "blaunch",
        &[("LSF_PM_TASKID", "1"), ("LSB_HOSTS", "a a b b")],
    ),
    ("Flux", &[("FLUX_TASK_RANK", "1"), ("FLUX_JOB_SIZE", "4")]),
    ("PMIx", &[("PMIX_NAMESPACE", "s.1"), ("PMIX_RANK", "1")]),
    ("PMIx", &[("PMIX_NAMESPACE", "s.1"), ("PMIX_RANK", "0")]),
    (
        "prterun",
        &[
            ("PMIX_NAMESPACE", "s.1"),
            ("PMIX_RANK", "0"),
            ("PRTE_LAUNCHED", "1"),
        ],
    ),
    (
        "mpi-lite's mpirun",
        &[("MPILITE_SIZE", "4"), ("MPILITE_RANK", "1")],
    ),
];

#[test]
fn a_launcher_that_cannot_be_used_is_an_error_with_its_name() {
    let programs = Programs::new();
    for (name, variables) in UNUSABLE {
        let set = |job: Job, (name, value): &(&str, &str)| job.env(name, value);
        let job = variables.iter().fold(Job::new(&programs.who), set);
        let outcome = job.run().expect_failure();
        outcome.expect_line(&[name, variables[0].0]);
        assert_eq!(outcome.stdout, "", "{}", outcome.report());
    }
}

/// As behind a wrapper that closes what it does not know, such as `sudo`.
#[test]
fn a_channel_that_a_wrapper_has_closed_is_an_error_that_names_it() {
    let programs = Programs::new();
    let job = Job::new(&programs.who).env("PMI_FD", "77");
    let job = job.env("PMI_RANK", "1").env("PMI_SIZE", "2");
    let outcome = job.run().expect_failure();
    outcome.expect_line(&["PMI_FD=77"]);
    assert_eq!(outcome.stdout, "", "{}", outcome.report());
}
