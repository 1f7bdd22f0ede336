//! Five packets in a hundred are lost, by the kernel, in a network of the test's own: everything
//! still arrives, in order and unchanged. Needs root, `unshare`, `ip` and `iptables`.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use mpi_lite_tests::{
    Job, Outcome, Process, Program, Running, Scratch, SshFiles, build, programs, tool,
};

/// Brings the loopback up, loses packets, runs the job, tells how many were lost.
const SCRIPT: &str = "\
set -e
mount -t sysfs sysfs /sys
ip link set lo up mtu ${MTU:-65536}
iptables -A INPUT -i lo -p udp -m statistic --mode random --probability 0.05 -j DROP
if [ -n \"$SSHD\" ]; then
    $SSHD & server=$!
    trap 'kill $server' EXIT
    while ! [ -s \"$SSHD_PID\" ]; do kill -0 $server; done
fi
set +e
\"$@\"
code=$?
echo \"dropped: $(iptables -L INPUT -v -x -n | awk '/DROP/ { print $1 }')\"
exit $code
";

/// Fails with the name of what this machine lacks.
fn check_machine() {
    for (program, words) in [
        ("unshare", &["-n", "true"][..]),
        ("unshare", &["-n", "ip", "link", "set", "lo", "up"]),
        (
            "unshare",
            &[
                "-n",
                "iptables",
                "-A",
                "INPUT",
                "-p",
                "udp",
                "-m",
                "statistic",
                "--mode",
                "random",
                "--probability",
                "0.05",
                "-j",
                "DROP",
            ],
        ),
    ] {
        let line = format!("`{program} {}`", words.join(" "));
        let output = Command::new(program).args(words).output();
        let output = output.unwrap_or_else(|error| panic!("{line} is needed: {error}"));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{line} is needed to lose packets (root, packages iproute2 and iptables): {stderr}"
        );
    }
}

fn namespace() -> Job {
    check_machine();
    Job::new("unshare").args(["-n", "-m", "sh", "-c", SCRIPT, "loss"])
}

/// Runs words under loss and returns the outcome.
fn under_loss(words: &[String]) -> Outcome {
    finish(namespace().args(words))
}

/// A run that lost nothing proves nothing.
fn finish(job: Job) -> Outcome {
    let (outcome, dropped) = run(job);
    assert!(
        dropped > 20,
        "only {dropped} packets were lost: {}",
        outcome.report()
    );
    outcome
}

/// The outcome, and how many packets were lost.
fn run(job: Job) -> (Outcome, u64) {
    let outcome = job.deadline(Duration::from_secs(180)).run().expect_code(0);
    let dropped = outcome
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("dropped: "));
    let dropped: u64 = dropped
        .and_then(|n| n.trim().parse().ok())
        .expect("the kernel's count");
    (outcome, dropped)
}

fn mpirun(ranks: usize, binary: PathBuf, arguments: &[&str]) -> Vec<String> {
    mpirun_over("rmpp", ranks, (binary, arguments))
}

fn mpirun_over(
    transport: &str,
    ranks: usize,
    (binary, arguments): (PathBuf, &[&str]),
) -> Vec<String> {
    let ranks = ranks.to_string();
    let mut words = vec![tool("mpirun").display().to_string()];
    words.extend(["-n", &ranks, "--transport", transport].map(str::to_owned));
    words.push(binary.display().to_string());
    words.extend(arguments.iter().map(|&word| word.to_owned()));
    words
}

fn program(name: &str) -> Program {
    let (chapter, _) = name.split_once('/').expect("chapter/subject");
    let found = programs(&[chapter])
        .into_iter()
        .find(|program| program.name == name);
    found.unwrap_or_else(|| panic!("no program {name}"))
}

#[test]
fn the_farm_has_the_right_sum_at_5_percent_loss() {
    let scratch = Scratch::new("loss-farm");
    let farm = build("benches/c/farm.c", &scratch);
    drop(under_loss(&mpirun(5, farm, &["1500"])).expect_stdout("(right)"));
}

#[test]
fn the_farm_has_the_right_sum_with_the_packets_of_an_ethernet_at_5_percent_loss() {
    let scratch = Scratch::new("loss-mtu");
    let farm = build("benches/c/farm.c", &scratch);
    let job = namespace()
        .env("MTU", "1500")
        .args(mpirun(3, farm, &["1500"]));
    drop(finish(job).expect_stdout("(right)"));
}

/// The interface claims 65536 bytes (the outer /sys is what a rank sees), the network takes 1500.
#[test]
fn a_network_narrower_than_it_says_is_survived() {
    check_machine();
    let scratch = Scratch::new("narrow");
    let farm = build("benches/c/farm.c", &scratch);
    let script = "ip link set lo up mtu 1500 && exec \"$@\"";
    let job = Job::new("unshare").args(["-n", "sh", "-c", script, "narrow"]);
    let outcome = job.args(mpirun(3, farm, &["200"])).run().expect_code(0);
    drop(outcome.expect_stdout("(right)"));
}

/// The server lives in the lossy network too; only UDP is lost, so its own connections hold.
#[test]
fn the_farm_on_two_hosts_over_ssh_has_the_right_sum_at_5_percent_loss() {
    let files = SshFiles::new();
    let farm = build("benches/c/farm.c", files.scratch());
    let job = namespace()
        .env("MPILITE_SSH", files.client())
        .env("SSHD", files.server_words().join(" "))
        .env("SSHD_PID", files.path("sshd.pid"))
        .arg(tool("mpirun"))
        .args(["-n", "4", "--host", "n1:2,n2:2", "--transport", "rmpp"])
        .arg(farm)
        .arg("1500");
    drop(finish(job).expect_stdout("(right)"));
}

#[test]
fn the_ping_pong_brings_back_every_byte_at_5_percent_loss() {
    let scratch = Scratch::new("loss-pingpong");
    let pingpong = build("benches/c/pingpong.c", &scratch);
    drop(under_loss(&mpirun(2, pingpong, &["16384"])).expect_stdout("16384"));
}

#[test]
fn the_table_of_counters_notes_a_network_that_loses_5_percent() {
    let scratch = Scratch::new("loss-stats");
    let farm = build("benches/c/farm.c", &scratch);
    let mut words = mpirun(3, farm, &["1500"]);
    words.insert(1, "--stats".into());
    let outcome = under_loss(&words).expect_stderr("mpirun: counters of 3 ranks");
    drop(outcome.expect_stderr("note: more than 1 % of the packets were sent again"));
}

#[test]
fn order_wildcards_and_collectives_hold_at_5_percent_loss() {
    let scratch = Scratch::new("loss-programs");
    for (name, ranks) in [
        ("point_to_point/order", 2),
        ("point_to_point/wildcards", 3),
        ("point_to_point/large", 2),
        ("collective/mixed", 3),
    ] {
        let program = program(name);
        let binary = program
            .binary(&scratch)
            .unwrap_or_else(|why| panic!("{why}"))
            .to_path_buf();
        for profile in ["fast", "fast,-coalesce", "classic"] {
            lose_20(name, || {
                let job = namespace().env("MPILITE_RMPP", profile);
                job.args(mpirun(ranks, binary.clone(), &[]))
            });
        }
    }
}

/// Runs a job until more than 20 packets have been lost: where messages share datagrams there are
/// few of them.
fn lose_20(name: &str, job: impl Fn() -> Job) {
    const MOST_RUNS: usize = 30;
    let mut lost = 0;
    for _ in 0..MOST_RUNS {
        lost += run(job()).1;
        if lost > 20 {
            return;
        }
    }
    panic!("{name}: only {lost} packets were lost in {MOST_RUNS} runs");
}

/// Runs iptables in the network of this process.
fn iptables_beside(process: Process, words: &[&str]) {
    let id = process.id().to_string();
    let mut command = Command::new("nsenter");
    command.args(["-t", &id, "-n", "iptables"]).args(words);
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("nsenter is needed: {error}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stderr}");
}

const EVERYTHING: [&str; 4] = ["INPUT", "-i", "lo", "-j"];

/// The transports whose network can be cut.
const TRANSPORTS: [&str; 6] = ["rmpp", "gobackn", "unet", "sctp", "tcp", "tcp-trc"];

/// Runs `faults/NAME FILE` over each transport in a network of its own, and cuts these networks. The
/// jobs wait then, so they run side by side.
fn cut_each(lost_s: Option<&str>, (name, ranks, ready): (&str, usize, usize)) -> Vec<Cut> {
    check_machine();
    let scratch = Arc::new(Scratch::new(name));
    let binary = build(&format!("tests/c/faults/{name}.c"), &scratch);
    let cut = |&transport| {
        let job = Job::new("unshare");
        let job = match lost_s {
            Some(lost_s) => job.env("MPILITE_LOST_S", lost_s),
            None => job,
        };
        run_and_cut(transport, job, (binary.clone(), ranks, ready), &scratch)
    };
    TRANSPORTS.iter().map(cut).collect()
}

/// Runs it over `transport` until `ready` was printed that many times, and cuts the network.
fn run_and_cut(
    transport: &'static str,
    job: Job,
    (binary, ranks, ready): (PathBuf, usize, usize),
    scratch: &Arc<Scratch>,
) -> Cut {
    let stop = scratch.path().join(transport);
    let script = "ip link set lo up && exec \"$@\"";
    let job = job.args(["-n", "sh", "-c", script, "cut"]);
    let words = mpirun_over(transport, ranks, (binary, &[&stop.display().to_string()]));
    let mut job = job.args(words).start();
    job.wait_for("ready", ready);
    let inside = *job
        .process()
        .descendants()
        .last()
        .expect("the ranks are there");
    iptables_beside(inside, &[&["-I"], &EVERYTHING[..], &["DROP"]].concat());
    Cut {
        transport,
        job,
        inside,
        stop,
        _program: Arc::clone(scratch),
    }
}

/// A job whose network is cut.
struct Cut {
    transport: &'static str,
    job: Running,
    /// One in that network.
    inside: Process,
    /// The file that lets the ranks end.
    stop: PathBuf,
    _program: Arc<Scratch>,
}

impl Cut {
    fn let_end(&self) {
        std::fs::write(&self.stop, "").expect("the file that lets the ranks end");
    }
}

/// Runs two ranks, of which rank 1 sends, in a new network, in which nothing is up until `harm` has
/// changed it. Peers count as lost after `lost_s` seconds.
fn run_harmed(harm: &str, lost_s: &str) -> Outcome {
    check_machine();
    let scratch = Scratch::new("harmed");
    let binary = build("tests/c/point_to_point/order.c", &scratch);
    let script = format!("{harm} && exec \"$@\"");
    let job = Job::new("unshare").env("MPILITE_LOST_S", lost_s);
    let job = job.args(["-n", "sh", "-c", &script, "harmed"]);
    job.args(mpirun(2, binary, &[])).run().expect_failure()
}

#[test]
fn a_network_that_the_system_refuses_is_named_with_its_error_long_before_the_peer_is_lost() {
    let outcome = run_harmed(
        "ip link set lo up && iptables -A OUTPUT -p udp -j DROP",
        "3",
    );
    let error = "Operation not permitted";
    outcome.expect_line(&["cannot send to rank 0 on host ", " at 127.0.0.1:", error]);
    outcome.expect_line(&["is lost", error, "firewall of this host"]);
    let warnings = outcome.stderr.matches("cannot send to rank 0 ").count();
    assert_eq!(warnings, 1, "{}", outcome.report());
}

#[test]
fn an_interface_that_is_down_and_a_route_that_is_missing_are_named_before_the_peer_is_lost() {
    let no_route = "ip link set lo up && ip rule add pref 1 unreachable && \
                    ip rule add pref 2 lookup local && ip rule del pref 0";
    for harm in ["true", no_route] {
        let outcome = run_harmed(harm, "3");
        let error = "Network is unreachable";
        let peer = "cannot send to rank 0 on host ";
        outcome.expect_line(&[peer, " at 127.0.0.1:", error, "ip link"]);
        outcome.expect_line(&["is lost", error, "ip route get 127.0.0.1"]);
        let (warned, lost) = (outcome.stderr.find(peer), outcome.stderr.find("is lost"));
        assert!(warned < lost, "{harm}: {}", outcome.report());
        let warnings = outcome.stderr.matches(peer).count();
        assert_eq!(warnings, 1, "{harm}: {}", outcome.report());
    }
}

/// The answer of the network to an earlier packet is an error of a later call.
#[test]
fn a_firewall_that_rejects_what_goes_to_a_peer_is_named_with_its_error() {
    let harm = "ip link set lo up && iptables -A INPUT -p udp -j REJECT --reject-with \
                icmp-port-unreachable";
    let outcome = run_harmed(harm, "3");
    outcome.expect_line(&["cannot send to rank 0 ", "Connection refused"]);
}

#[test]
fn a_firewall_that_swallows_every_packet_is_suspected_before_the_peer_is_lost() {
    let outcome = run_harmed("ip link set lo up && iptables -A INPUT -p udp -j DROP", "3");
    let words = [
        "no answer yet from rank 0 on host ",
        " at 127.0.0.1:",
        "only ssh",
        "--port-range",
    ];
    outcome.expect_line(&words);
    let warnings = outcome.stderr.matches("no answer yet from rank 0 ").count();
    assert_eq!(warnings, 1, "{}", outcome.report());
}

#[test]
fn a_network_that_is_cut_for_a_second_is_waited_for() {
    let cuts = cut_each(None, ("steady", 3, 3));
    // The cut itself: what is tested is that a second without a packet does no harm.
    std::thread::sleep(Duration::from_secs(1));
    for cut in cuts {
        iptables_beside(cut.inside, &[&["-D"], &EVERYTHING[..], &["DROP"]].concat());
        cut.let_end();
        let outcome = cut.job.finish().expect_code(0).expect_stdout("all right");
        assert!(
            outcome.stderr.is_empty(),
            "{}: nothing to complain about: {}",
            cut.transport,
            outcome.report()
        );
    }
}

#[test]
fn a_network_that_stays_cut_ends_the_job_with_a_line_over_each_transport() {
    for cut in cut_each(Some("2"), ("steady", 3, 3)) {
        let outcome = cut.job.finish().expect_failure();
        outcome.expect_line(&[
            "is lost: it has given no answer for too long (MPILITE_LOST_S)",
            "rank ",
            "host ",
            " at 127.0.0.1:",
            "firewall",
        ]);
    }
}

/// What was sent completed long ago: only Finalize is left to tell that it never arrived.
#[test]
fn finalize_notices_that_sent_messages_do_not_arrive() {
    let cuts = cut_each(Some("2"), ("oneway", 2, 1));
    cuts.iter().for_each(Cut::let_end);
    for cut in cuts {
        let outcome = cut.job.finish().expect_failure();
        outcome.expect_line(&[
            "is lost",
            "MPI_Finalize",
            "rank 1 ",
            "host ",
            " at 127.0.0.1:",
        ]);
    }
}
