//! Jobs over a real `sshd` on the loopback, with throw-away keys and two host names. Needs
//! `sshd`, `ssh` and `ssh-keygen`.

use std::path::PathBuf;
use std::time::Instant;

use mpi_lite_tests::{
    Job, Process, Running, SOON, SshFiles, SshServer, build, tool, wait_until_gone,
};
use rustix::process::Signal;

const HOSTS: &str = "n1:2,n2:2";
const RANKS: usize = 4;

/// A server and the jobs that go through it.
struct Server(SshServer);

impl Server {
    fn start() -> Self {
        Self(SshServer::start())
    }

    fn files(&self) -> &SshFiles {
        &self.0.files
    }

    fn build(&self, source: &str) -> PathBuf {
        build(source, self.files().scratch())
    }

    fn mpirun(&self) -> Job {
        Job::new(tool("mpirun")).env("MPILITE_SSH", self.files().client())
    }

    fn job(&self, hosts: &str) -> Job {
        self.mpirun().args(["--host", hosts])
    }

    fn victim(&self, words: &[&str]) -> Running {
        self.victim_with(&[], words)
    }

    /// Runs it with more options of `mpirun`.
    fn victim_with(&self, options: &[&str], words: &[&str]) -> Running {
        let binary = self.build("tests/c/faults/victim.c");
        let job = self.job(HOSTS).args(["-n", &RANKS.to_string()]);
        job.args(options).arg(binary).args(words).start()
    }
}

fn all_ranks(job: &Running) -> Vec<Process> {
    let ranks = 0..RANKS;
    ranks
        .map(|rank| job.process_of(&rank.to_string()))
        .collect()
}

#[test]
fn a_farm_on_two_hosts_has_the_right_sum() {
    let server = Server::start();
    let farm = server.build("benches/c/farm.c");
    let outcome = server
        .job(HOSTS)
        .args(["-n", "4"])
        .arg(farm)
        .arg("500")
        .run();
    drop(outcome.expect_code(0).expect_stdout("(right)"));
}

#[test]
fn the_counters_of_all_hosts_come_home() {
    let server = Server::start();
    let farm = server.build("benches/c/farm.c");
    let job = server.job(HOSTS).args(["--stats", "-n", "4"]).arg(farm);
    let outcome = job.arg("200").run().expect_code(0);
    let outcome = outcome.expect_stderr("mpirun: counters of 4 ranks\n");
    drop(outcome.expect_stderr("\n  packets: "));
}

#[test]
fn collectives_and_large_messages_cross_the_hosts() {
    let server = Server::start();
    for source in [
        "tests/c/collective/mixed.c",
        "tests/c/point_to_point/large.c",
    ] {
        let binary = server.build(source);
        drop(
            server
                .job(HOSTS)
                .args(["-n", "4"])
                .arg(binary)
                .run()
                .expect_code(0),
        );
    }
}

#[test]
fn the_ranks_of_all_hosts_take_their_ports_from_the_range() {
    let server = Server::start();
    let mut job = server.victim_with(&["--port-range", "21300-21339"], &["receive"]);
    job.wait_for("ready", RANKS);
    for rank in all_ranks(&job) {
        let ports = rank.udp_ports();
        let is_in_range = matches!(ports[..], [21300..=21339]);
        assert!(is_in_range, "{ports:?}");
    }
    job.signal(Signal::TERM);
    drop(job.finish().expect_failure());
}

#[test]
fn the_exit_code_of_a_remote_rank_is_that_of_the_job() {
    let server = Server::start();
    let outcome = server.victim(&["exit", "3"]).finish().expect_code(3);
    drop(outcome.expect_stderr("rank 1"));
}

#[test]
fn a_remote_rank_that_is_killed_ends_the_job_and_is_named_with_its_host() {
    let server = Server::start();
    let mut job = server.victim(&["receive"]);
    job.wait_for("ready", RANKS);
    let ranks = all_ranks(&job);
    let moment = Instant::now();
    ranks[3].signal(Signal::KILL);
    let outcome = job.finish().expect_code(137);
    assert!(moment.elapsed() < SOON, "too late: {}", outcome.report());
    drop(
        outcome
            .expect_stderr("rank 3")
            .expect_stderr("n2")
            .expect_stderr("signal 9"),
    );
    wait_until_gone(&ranks);
}

#[test]
fn when_an_ssh_connection_is_lost_the_job_ends_and_the_host_is_named() {
    let server = Server::start();
    let mut job = server.victim(&["receive"]);
    job.wait_for("ready", RANKS);
    let ranks = all_ranks(&job);
    let below = job.process().descendants();
    let is_to_n2 = |process: &&Process| {
        let words = process.words();
        let is_ssh = words.first().is_some_and(|word| word.ends_with("ssh"));
        is_ssh && words.iter().any(|word| word == "n2")
    };
    let connection = *below.iter().find(is_to_n2).expect("an ssh process to n2");
    let moment = Instant::now();
    connection.signal(Signal::KILL);
    let outcome = job.finish().expect_failure();
    assert!(moment.elapsed() < SOON, "too late: {}", outcome.report());
    drop(outcome.expect_stderr("n2"));
    wait_until_gone(&ranks);
}

#[test]
fn when_mpirun_is_killed_no_remote_rank_is_left() {
    let server = Server::start();
    let mut job = server.victim(&["receive"]);
    job.wait_for("ready", RANKS);
    let ranks = all_ranks(&job);
    job.signal(Signal::KILL);
    drop(job.finish());
    wait_until_gone(&ranks);
}

#[test]
fn a_host_that_nobody_knows_is_named_and_nothing_hangs() {
    let server = Server::start();
    let hello = server.build("tests/c/tools/hello.c");
    let outcome = server
        .job("n1:1,no-such-host.invalid:1")
        .args(["-n", "2"])
        .arg(hello)
        .run();
    drop(
        outcome
            .expect_code(125)
            .expect_stderr("no-such-host.invalid"),
    );
}

#[test]
fn a_refused_connection_is_reported_with_the_host() {
    let server = Server::start();
    let hello = server.build("tests/c/tools/hello.c");
    server.files().point_client_at_nobody();
    let job = server.job("n1:2").env("MPILITE_LAUNCH_TIMEOUT", "2");
    let outcome = job.args(["-n", "2"]).arg(hello).run();
    drop(outcome.expect_code(125).expect_stderr("n1"));
}
