//! Jobs over a real `sshd` on the loopback, with throw-away keys and two host names. Needs
//! `sshd`, `ssh` and `ssh-keygen`.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use mpi_lite_tests::{Job, Process, Running, Scratch, c_source, compile, tool};
use rustix::process::Signal;

const HOSTS: &str = "n1:2,n2:2";
const RANKS: usize = 4;
const SOON: Duration = Duration::from_secs(10);
const SSHD: &str = "/usr/sbin/sshd";

/// An sshd of the test's own, gone with it.
struct Server {
    scratch: Scratch,
    port: u16,
    child: Child,
}

fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.local_addr().expect("a bound socket").port()
}

fn make_key(path: &Path) {
    let result = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(path)
        .status();
    let status = result.unwrap_or_else(|error| panic!("ssh-keygen is needed: {error}"));
    assert!(status.success(), "ssh-keygen makes no key");
}

fn server_config(scratch: &Scratch, port: u16) -> String {
    let folder = scratch.path().display();
    format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host_key\n\
         AuthorizedKeysFile {folder}/user_key.pub\nPidFile {folder}/sshd.pid\nStrictModes no\n\
         UsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n\
         PermitRootLogin prohibit-password\nMaxStartups 100:30:200\nLogLevel ERROR\n"
    )
}

fn client_config(scratch: &Scratch, port: u16) -> String {
    let folder = scratch.path().display();
    format!(
        "Host n1 n2 n3\n  HostName 127.0.0.1\n  Port {port}\n\
         Host *\n  IdentityFile {folder}/user_key\n  \
         IdentitiesOnly yes\n  StrictHostKeyChecking accept-new\n  \
         UserKnownHostsFile {folder}/known_hosts\n  LogLevel ERROR\n"
    )
}

/// A program `ssh` that reads our configuration and writes down what it was asked to do.
fn write_client(scratch: &Scratch) -> PathBuf {
    let folder = scratch.path().display();
    let text = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$*\" >> {folder}/calls\n\
         exec ssh -F {folder}/ssh_config \"$@\"\n"
    );
    let path = scratch.write("ssh", &text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("our own file");
    path
}

impl Server {
    fn start() -> Self {
        assert!(
            Path::new(SSHD).exists(),
            "{SSHD} is needed (package openssh-server)"
        );
        fs::create_dir_all("/run/sshd").expect("sshd wants an empty /run/sshd");
        let scratch = Scratch::new("ssh");
        let port = free_port();
        make_key(&scratch.path().join("host_key"));
        make_key(&scratch.path().join("user_key"));
        scratch.write("ssh_config", &client_config(&scratch, port));
        write_client(&scratch);
        let config = scratch.write("sshd_config", &server_config(&scratch, port));
        let log = fs::File::create(scratch.path().join("sshd.log")).expect("a fresh directory");
        let mut command = Command::new(SSHD);
        command
            .args(["-D", "-e", "-f"])
            .arg(config)
            .stdin(Stdio::null())
            .stderr(log);
        let child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{SSHD}: {error}"));
        let server = Self {
            scratch,
            port,
            child,
        };
        server.wait_until_it_listens();
        server
    }

    fn wait_until_it_listens(&self) {
        let deadline = Instant::now() + SOON;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            let log = fs::read_to_string(self.scratch.path().join("sshd.log"));
            assert!(
                Instant::now() < deadline,
                "sshd does not listen: {}",
                log.unwrap_or_default()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn build(&self, source: &str) -> PathBuf {
        compile(&c_source(source), &self.scratch).unwrap_or_else(|why| panic!("{why}"))
    }

    fn job(&self, hosts: &str) -> Job {
        Job::new(tool("mpirun"))
            .env("MPILITE_SSH", self.scratch.path().join("ssh"))
            .args(["--host", hosts])
    }

    fn victim(&self, words: &[&str]) -> Running {
        let binary = self.build("tests/c/faults/victim.c");
        self.job(HOSTS)
            .args(["-n", &RANKS.to_string()])
            .arg(binary)
            .args(words)
            .start()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Already gone is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The process of a rank, from its line `ready RANK PID`: both hosts are this machine.
fn process_of(job: &Running, rank: usize) -> Process {
    let stdout = job.stdout();
    let start = format!("ready {rank} ");
    let id = stdout
        .lines()
        .find_map(|line| line.strip_prefix(&start)?.trim().parse().ok());
    Process::new(id.unwrap_or_else(|| panic!("rank {rank} is to be ready: {stdout}")))
}

fn all_ranks(job: &Running) -> Vec<Process> {
    (0..RANKS).map(|rank| process_of(job, rank)).collect()
}

fn check_all_gone(processes: &[Process]) {
    let deadline = Instant::now() + SOON;
    while let Some(left) = processes.iter().find(|process| process.is_alive()) {
        assert!(
            Instant::now() < deadline,
            "process {} outlives its job",
            left.id()
        );
        std::thread::sleep(Duration::from_millis(5));
    }
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
fn a_host_file_names_hosts_and_slots_in_both_forms() {
    let server = Server::start();
    let hello = server.build("tests/c/tools/hello.c");
    for text in ["n1 slots=2\nn2 slots=1\n", "# two forms\nn1:2\r\n\nn2:1"] {
        let file = server.scratch.write("hosts", text);
        let job = Job::new(tool("mpirun")).env("MPILITE_SSH", server.scratch.path().join("ssh"));
        let outcome = job
            .arg("--hostfile")
            .arg(file)
            .args(["-n", "3"])
            .arg(&hello)
            .run();
        drop(outcome.expect_code(0).expect_stdout("hello from 2 of 3"));
    }
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
    check_all_gone(&ranks);
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
    check_all_gone(&ranks);
}

#[test]
fn when_mpirun_is_killed_no_remote_rank_is_left() {
    let server = Server::start();
    let mut job = server.victim(&["receive"]);
    job.wait_for("ready", RANKS);
    let ranks = all_ranks(&job);
    job.signal(Signal::KILL);
    drop(job.finish());
    check_all_gone(&ranks);
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
    let closed = client_config(&server.scratch, free_port());
    server.scratch.write("ssh_config", &closed);
    let outcome = server.job("n1:2").args(["-n", "2"]).arg(hello).run();
    drop(outcome.expect_code(125).expect_stderr("n1"));
}

#[test]
fn words_and_variables_arrive_byte_for_byte() {
    let server = Server::start();
    let nasty = "a b;$(touch Z)`id`'\"\\\t*?";
    let export = format!("MPILITE_TEST_WORDS={nasty}");
    let script = "printf '%s|%s\\n' \"$1\" \"$MPILITE_TEST_WORDS\"";
    let job = server.job("n1:1").args(["-n", "1", "-x", &export]);
    let outcome = job
        .args(["sh", "-c", script, "sh", nasty])
        .run()
        .expect_code(0);
    drop(outcome.expect_stdout(&format!("{nasty}|{nasty}\n")));
}

/// The job's key and its addresses travel inside the connection, never on a command line.
#[test]
fn the_command_line_of_ssh_holds_no_secret_and_no_address() {
    let server = Server::start();
    let hello = server.build("tests/c/tools/hello.c");
    drop(
        server
            .job(HOSTS)
            .args(["-n", "4"])
            .arg(hello)
            .run()
            .expect_code(0),
    );
    let calls = fs::read_to_string(server.scratch.path().join("calls")).expect("ssh was called");
    assert_eq!(
        calls.lines().count(),
        2,
        "one connection to each host: {calls}"
    );
    for call in calls.lines() {
        assert!(
            call.contains(" -- n"),
            "the host stands behind `--`: {call}"
        );
        assert!(
            !call.contains("127.0.0.1"),
            "an address on the command line: {call}"
        );
        let is_key = |word: &str| word.len() >= 32 && word.chars().all(|c| c.is_ascii_hexdigit());
        assert!(
            !call.split_whitespace().any(is_key),
            "a key on the command line: {call}"
        );
    }
}

#[test]
fn a_host_name_that_is_an_option_is_refused_before_ssh_sees_it() {
    let server = Server::start();
    let evil = format!(
        "-oProxyCommand=touch {}/evil",
        server.scratch.path().display()
    );
    let outcome = server
        .job(&evil)
        .args(["-n", "1", "true"])
        .run()
        .expect_code(2);
    assert!(
        !server.scratch.path().join("calls").exists(),
        "ssh was called: {}",
        outcome.report()
    );
}
