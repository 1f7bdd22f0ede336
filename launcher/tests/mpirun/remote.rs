//! Other hosts, through a program that behaves like ssh, and everything that goes wrong there.

use std::time::{Duration, Instant};

use crate::common::{Scratch, boot_rank, mpirun};
use launcher::wire::{Known, MAGIC, Report};
use mpi_boot::protocol::encode;

const TOGETHER: &[&str] = &["-n", "4", "--host", "n1:2,n2:2"];

#[test]
fn ranks_on_two_hosts_exchange_their_cards() {
    let program = boot_rank();
    let line = [TOGETHER, &[&program, "exchange"]].concat();
    mpirun(&line).over_fake_ssh().run().succeeds();
}

#[test]
fn this_machine_and_another_host_work_together() {
    let program = boot_rank();
    mpirun(&[
        "-n",
        "4",
        "--host",
        "localhost:2,n2:2",
        &program,
        "exchange",
    ])
    .over_fake_ssh()
    .run()
    .succeeds();
}

#[test]
fn every_rank_knows_its_place() {
    let program = boot_rank();
    let line = [
        TOGETHER,
        &[
            "--transport",
            "rmpp",
            "--interface",
            "127.0.0.1",
            &program,
            "print",
        ],
    ];
    let outcome = mpirun(&line.concat()).over_fake_ssh().run().succeeds();
    let lines = outcome.sorted();
    let keys: Vec<&str> = lines
        .iter()
        .map(|line| line.split(" key ").nth(1).unwrap())
        .collect();
    let expected = |rank: usize| {
        let (node, local) = (rank / 2, rank % 2);
        format!(
            "rank {rank} of 4 local {local} of 2 node {node} host n{} bind 127.0.0.1 transport \
             rmpp hosts n1,n1,n2,n2 key {}",
            node + 1,
            keys[0]
        )
    };
    for (rank, line) in lines.iter().enumerate() {
        assert_eq!(*line, expected(rank));
    }
    assert!(keys[0].len() == 64 && keys[0] != "0".repeat(64));
}

#[test]
fn the_address_that_ssh_has_proven_is_used() {
    let program = boot_rank();
    let outcome = mpirun(&["-n", "2", "--host", "localhost,n2", &program, "print"])
        .over_fake_ssh()
        .env("SSH_CONNECTION", "127.0.0.1 4000 127.0.0.1 22")
        .run();
    assert_eq!(outcome.code, 0, "{outcome:?}");
    assert!(
        outcome
            .sorted()
            .iter()
            .all(|line| line.contains(" bind 127.0.0.1 ")),
        "{outcome:?}"
    );
}

#[test]
fn two_names_of_one_machine_are_noted() {
    let words = "hosts n1 and n2 are the same machine: give one name, as --host n1:4,";
    mpirun(&[TOGETHER, &["true"]].concat())
        .over_fake_ssh()
        .env("SSH_CONNECTION", "127.0.0.1 4000 127.0.0.1 22")
        .run()
        .fails_with(0, &[words]);
}

#[test]
fn two_jobs_have_different_keys() {
    let program = boot_rank();
    let key = || {
        let outcome = mpirun(&["-n", "1", &program, "print"]).run().succeeds();
        outcome.out().split(" key ").nth(1).unwrap().to_string()
    };
    assert_ne!(key(), key());
}

#[test]
fn a_failure_is_named_with_the_host_as_the_user_called_it() {
    let program = boot_rank();
    let line = [TOGETHER, &[&program, "die", "3"]].concat();
    let expected = [
        "rank 3 (pid ",
        " on host n2) was killed by signal 9 (Killed); ending the job",
    ];
    mpirun(&line)
        .over_fake_ssh()
        .run()
        .fails_with(137, &expected);
}

#[test]
fn a_host_that_cannot_be_reached_is_named_with_the_words_of_ssh() {
    let cases = [
        (
            "unknown",
            "fake_ssh' (MPILITE_SSH) exited with status 255: ssh: Could not resolve hostname \
             unknown",
        ),
        (
            "chatty",
            "its shell prints more than 64 KiB before our agent starts",
        ),
        (
            "empty",
            "fake_ssh' (MPILITE_SSH) ended with status 0 before mpi-lite started there: does it \
             run the command that it is given on the host?",
        ),
        (
            "bare",
            "cannot be executed there (install mpi-lite at the same path on every host)",
        ),
    ];
    for (host, words) in cases {
        let mark = crate::common::unique_sleep();
        let hosts = format!("n1,{host}");
        let outcome = mpirun(&["-n", "2", "--host", &hosts, "sleep", &mark])
            .over_fake_ssh()
            .run();
        outcome.fails_with(125, &[&format!("host {host}"), words]);
        crate::common::wait_for_sleepers(&mark, 0);
    }
}

#[test]
fn a_host_that_does_not_answer_is_given_up() {
    mpirun(&["-n", "2", "--host", "localhost,silent", "true"])
        .over_fake_ssh()
        .env("MPILITE_LAUNCH_TIMEOUT", "0.3")
        .run()
        .fails_with(125, &["host silent did not answer within 0.3 s"]);
}

#[test]
fn a_crowded_sshd_is_asked_again() {
    let scratch = Scratch::new();
    mpirun(&["-n", "1", "--host", "crowded", "true"])
        .over_fake_ssh()
        .env("MPILITE_TEST_ONCE", scratch.path().join("once"))
        .run()
        .succeeds();
    assert!(scratch.path().join("once").exists());
}

#[test]
fn a_host_that_refuses_at_first_is_asked_again_with_one_line() {
    let scratch = Scratch::new();
    let refusal = "echo 'ssh: connect to host n1 port 22: Connection refused' >&2; exit 255";
    let attempt = format!("mkdir {}/$attempt 2>/dev/null", scratch.path().display());
    let script = format!(
        "#!/bin/sh\nfor attempt in 1 2; do\n    if {attempt}; then {refusal}; fi\ndone\n\
         exec {} \"$@\"\n",
        crate::common::fake_ssh().display()
    );
    let outcome = mpirun(&["-n", "1", "--host", "n1", "echo", "yes"])
        .env("MPILITE_SSH", scratch.write("ssh", script, 0o755))
        .run();
    assert!(scratch.path().join("2").exists(), "{outcome:?}");
    assert_eq!(outcome.out(), "yes\n", "{outcome:?}");
    let words = "host n1 accepts no ssh connection yet (Connection refused); trying again for 10 s";
    outcome.fails_with(0, &[words]);
}

/// Two lines: the user knows at once what `mpirun` waits for, and at the end why the job failed.
#[test]
fn a_host_that_goes_on_to_refuse_is_given_up_after_the_time_that_the_user_sets() {
    let start = Instant::now();
    let outcome = mpirun(&["-n", "1", "--host", "refused", "true"])
        .over_fake_ssh()
        .env("MPILITE_LAUNCH_TIMEOUT", "1.5")
        .run();
    assert!(start.elapsed() >= Duration::from_millis(1500));
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    let [first, last] = lines[..] else {
        panic!("two lines are expected: {outcome:?}");
    };
    let words = "host refused accepts no ssh connection yet (Connection refused); trying again \
                 for 1.5 s";
    assert!(first.contains(words), "{outcome:?}");
    let words = "cannot start on host refused: ";
    assert!(last.contains(words), "{outcome:?}");
    let words = "exited with status 255: ssh: connect to host refused port 22: Connection refused";
    assert!(last.contains(words), "{outcome:?}");
    assert_eq!(outcome.code, 125);
}

/// A host of a host file that an operator has written, whose name comes with its pod.
#[test]
fn a_name_that_cannot_be_resolved_at_first_is_asked_again_where_hosts_come_late() {
    let scratch = Scratch::new();
    let refusal = "echo 'ssh: Could not resolve hostname n1: Name or service not known' >&2";
    let script = format!(
        "#!/bin/sh\nif mkdir {}/once 2>/dev/null; then {refusal}; exit 255; fi\nexec {} \"$@\"\n",
        scratch.path().display(),
        crate::common::fake_ssh().display()
    );
    let ssh = scratch.write("ssh", script, 0o755);
    let hosts = scratch.write("hosts", "n1 slots=2\n", 0o644);
    let outcome = mpirun(&["echo", "yes"])
        .env("MPILITE_SSH", ssh)
        .env("OMPI_MCA_orte_default_hostfile", hosts)
        .run();
    assert!(scratch.path().join("once").exists());
    assert_eq!(outcome.succeeds().out(), "yes\nyes\n");
}

#[test]
fn the_launch_timeout_ends_the_wait_for_a_name_with_host_and_reason() {
    let start = Instant::now();
    let outcome = mpirun(&["--launch-timeout", "1.5", "--host", "unknown", "true"])
        .over_fake_ssh()
        .run();
    let last = outcome.stderr.lines().last().expect("a line");
    let words = "cannot start on host unknown: ";
    assert!(
        last.contains(words) && last.contains("resolve"),
        "{outcome:?}"
    );
    assert_eq!(outcome.code, 125);
    assert!(start.elapsed() >= Duration::from_millis(1500));
}

#[test]
fn hosts_that_start_slowly_are_shown_before_their_time_is_over() {
    let outcome = mpirun(&[
        "--launch-timeout",
        "1.5",
        "--host",
        "localhost,unknown",
        "true",
    ])
    .over_fake_ssh()
    .run();
    let words = "1 of 2 hosts is ready; waiting for unknown (cannot be resolved)";
    let lines: Vec<&str> = outcome.stderr.lines().collect();
    let Some((last, progress)) = lines.split_last() else {
        panic!("lines are expected: {outcome:?}");
    };
    // One, or one more while a last attempt is made.
    let is_progress = |line: &&str| line.contains(words);
    let count = progress.len();
    assert!((1..=2).contains(&count), "{outcome:?}");
    assert!(progress.iter().all(is_progress), "{outcome:?}");
    assert!(
        last.contains("cannot start on host unknown: "),
        "{outcome:?}"
    );
    assert_eq!(outcome.code, 125);
}

#[test]
fn arguments_for_ssh_come_from_the_option_and_from_variables_of_other_launchers() {
    let scratch = Scratch::new();
    let log = scratch.path().join("log");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > {}\nexec {} \"$@\"\n",
        log.display(),
        crate::common::fake_ssh().display()
    );
    let ssh = scratch.write("ssh", script, 0o755);
    mpirun(&[
        "--ssh-args",
        "-p 22022 -q",
        "-n",
        "1",
        "--host",
        "n1",
        "true",
    ])
    .env(
        "OMPI_MCA_plm_rsh_agent",
        format!("{} -4 : rsh", ssh.display()),
    )
    .env("OMPI_MCA_plm_rsh_args", "-o ConnectionAttempts=10")
    .env("HYDRA_LAUNCHER_EXTRA_ARGS", "-v")
    .run()
    .succeeds();
    let words = std::fs::read_to_string(log).unwrap();
    let words: Vec<&str> = words.lines().collect();
    let first = [
        "-4",
        "-p",
        "22022",
        "-q",
        "-o",
        "ConnectionAttempts=10",
        "-v",
        "-T",
    ];
    assert_eq!(words[..8], first);
}

#[test]
fn a_missing_ssh_program_is_named() {
    mpirun(&["-n", "1", "--host", "n1", "true"])
        .env("MPILITE_SSH", "/nowhere/ssh -v")
        .run()
        .fails_with(
            125,
            &["cannot start on host n1: '/nowhere/ssh' cannot be executed"],
        );
}

/// `MPILITE_SSH=true` ends well and does nothing.
#[test]
fn a_program_that_is_no_ssh_is_named_with_the_variable() {
    mpirun(&["-n", "1", "--host", "n1", "true"])
        .env("MPILITE_SSH", "true")
        .run()
        .fails_with(
            125,
            &["cannot start on host n1: 'true' (MPILITE_SSH) ended with status 0 before"],
        );
}

#[test]
fn the_ssh_setting_may_contain_arguments() {
    let scratch = Scratch::new();
    let wrapper = format!(
        "#!/bin/sh\n[ \"$1\" = --mine ] && shift && exec {} \"$@\"\n",
        crate::common::fake_ssh().display()
    );
    let wrapper = scratch.write("wrapper", wrapper, 0o755);
    let setting = format!("{} --mine", wrapper.display());
    let outcome = mpirun(&["-n", "1", "--host", "n1", "echo", "yes"])
        .env("MPILITE_SSH", setting)
        .run();
    assert_eq!(outcome.succeeds().out(), "yes\n");
}

#[test]
fn only_the_fixed_command_and_the_host_are_on_the_command_line_of_ssh() {
    let scratch = Scratch::new();
    let log = scratch.path().join("log");
    let wrapper = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > {}\nexec {} \"$@\"\n",
        log.display(),
        crate::common::fake_ssh().display()
    );
    let wrapper = scratch.write("wrapper", wrapper, 0o755);
    mpirun(&[
        "-n",
        "1",
        "-x",
        "SECRET=abc",
        "--host",
        "me@n1.x",
        "echo",
        "argument",
    ])
    .env("MPILITE_SSH", wrapper)
    .run()
    .succeeds();
    let agent = format!("{} --agent", env!("CARGO_BIN_EXE_mpirun"));
    let expected = [
        "-T",
        "-x",
        "-oBatchMode=yes",
        "-oConnectTimeout=10",
        "--",
        "me@n1.x",
        &agent,
    ];
    let words = std::fs::read_to_string(log).unwrap();
    assert_eq!(words.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_program_that_is_missing_there_is_127_once() {
    mpirun(&[TOGETHER, &["no-such-program"]].concat())
        .over_fake_ssh()
        .run()
        .fails_with(
            127,
            &[
                "cannot start the job on host n",
                "'no-such-program' is not in PATH",
            ],
        );
}

#[test]
fn a_directory_that_is_missing_there_is_named() {
    mpirun(&[TOGETHER, &["--wdir", "/no/such/place", "true"]].concat())
        .over_fake_ssh()
        .run()
        .fails_with(125, &["directory '/no/such/place' does not exist"]);
}

#[test]
fn an_interface_that_is_missing_there_is_named() {
    for wish in ["no-such-if", "198.51.100.0/24", "198.51.100.1"] {
        mpirun(&[TOGETHER, &["--interface", wish, "true"]].concat())
            .over_fake_ssh()
            .run()
            .fails_with(
                125,
                &["host n", &format!("--interface {wish} is not an address")],
            );
    }
}

#[test]
fn the_interface_of_open_mpi_counts_unless_there_is_an_option_of_ours() {
    let program = boot_rank();
    let bound_to = |options: &[&str]| {
        let options = [&["--transport", "rmpp"], options].concat();
        let line = [TOGETHER, &options, &[&program, "print"]].concat();
        mpirun(&line)
            .over_fake_ssh()
            .env("MPILITE_INTERFACE", "no-such-if")
            .run()
    };
    let mca = |value| ["--mca", "btl_tcp_if_include", value];
    let of_ours = [&["--interface", "127.0.0.1"][..], &mca("no-such-if")].concat();
    for options in [&mca("127.0.0.0/8")[..], &of_ours] {
        let lines = bound_to(options).succeeds().sorted();
        let is_bound = |line: &String| line.contains(" bind 127.0.0.1 ");
        assert!(lines.iter().all(is_bound), "{lines:?}");
    }
    let words = "--mca btl_tcp_if_include no-such-if is not an address";
    bound_to(&mca("no-such-if")).fails_with(125, &["host n", words]);
}

#[test]
fn an_agent_that_sends_rubbish_ends_the_job() {
    let scratch = Scratch::new();
    let unused = |version: &str| Report::Ready {
        version: version.into(),
        known: Known::default(),
    };
    let ready = encode(&unused(env!("CARGO_PKG_VERSION"))).expect("it is short");
    let foreign = encode(&unused("9.9.9")).expect("it is short");
    let strange = encode(&Report::Init { rank: 7 }).expect("it is short");
    let rubbish = [
        vec![0xff; 4],
        vec![0; 4],
        vec![1, 0, 0, 0, 0xff],
        foreign,
        [ready, strange].concat(),
    ];
    for bytes in rubbish {
        let sent = scratch.write("sent", [MAGIC, &bytes].concat(), 0o644);
        let script = format!("#!/bin/sh\ncat {}\nexec sleep 1000\n", sent.display());
        let ssh = scratch.write("ssh", script, 0o755);
        mpirun(&["-n", "1", "--host", "n1", "true"])
            .env("MPILITE_SSH", ssh)
            .run()
            .fails_with(125, &["host n1"]);
    }
}

#[test]
fn an_agent_without_a_server_ends() {
    for input in [
        &b""[..],
        b"\xff\xff\xff\xff",
        b"\x01\x00\x00\x00\xff",
        b"\x05",
    ] {
        let outcome = mpirun(&["--agent"]).input(input).run();
        assert_eq!(outcome.code, 0, "{outcome:?}");
        assert!(outcome.stdout.starts_with(MAGIC));
    }
}

/// Does what ssh does, through two processes that pass the bytes on. When these are stopped nothing
/// passes any more, but nothing is closed: a network that was cut. It ends once the agent has
/// closed its output.
const RELAY: &str = r#"#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift 2
cd "$(dirname "$0")"
mkfifo in out
exec 3<&0
setsid cat <&3 >in & echo $! >inward
( eval "exec $*" ) <in >out 3<&- & echo $! >agent
setsid cat <out & echo $! >outward
wait $!
"#;

/// Two ranks behind the relay, and after how much silence the ends give each other up.
struct Relayed {
    scratch: Scratch,
    mark: String,
    job: crate::common::Running,
}

/// Longer than a busy machine keeps a process from running.
const SILENT_S: &str = "2";

impl Relayed {
    fn start() -> Relayed {
        let mark = crate::common::unique_sleep();
        Relayed::start_with(&["sleep", &mark], &mark, SILENT_S)
    }

    /// The program must begin with `sleep MARK` somewhere.
    fn start_with(program: &[&str], mark: &str, silent_s: &str) -> Relayed {
        let scratch = Scratch::new();
        let ssh = scratch.write("ssh", RELAY, 0o755);
        let line = [&["-n", "2", "--host", "n1:2"], program].concat();
        let job = mpirun(&line)
            .env("MPILITE_SSH", ssh)
            .env("MPILITE_SILENT_S", silent_s)
            .start();
        crate::common::wait_for_sleepers(mark, 2);
        Relayed {
            scratch,
            mark: mark.to_string(),
            job,
        }
    }

    fn pid(&self, who: &str) -> u32 {
        let text = std::fs::read_to_string(self.scratch.path().join(who));
        text.expect("the relay runs").trim().parse().expect("a pid")
    }

    /// The ranks end, whichever process tells them to.
    fn ranks_end(&self) {
        crate::common::wait_for_sleepers(&self.mark, 0);
    }

    fn finish(self) -> crate::common::Outcome {
        self.job.finish()
    }
}

fn is_gone(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty() || stat.contains(") Z ")
}

fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.contains(") T ")
}

#[test]
fn both_ends_of_a_network_that_is_cut_end_their_part_of_the_job() {
    let relayed = Relayed::start();
    let cables = ["inward", "outward"].map(|name| relayed.pid(name));
    let agent = relayed.pid("agent");
    for cable in cables {
        crate::common::signal_process(cable, "STOP");
    }
    relayed.ranks_end();
    crate::common::wait_until("the agent ends", || is_gone(agent).then_some(()));
    // It adopts what its ssh leaves, and ends it.
    let outcome = relayed.finish();
    assert_eq!(outcome.code, 125, "{outcome:?}");
    let words = format!("host n1 has given no sign of life for {SILENT_S} s (MPILITE_SILENT_S)");
    assert!(outcome.stderr.contains(&words), "{outcome:?}");
}

/// No process is left that could tell them to end.
#[test]
fn the_ranks_of_a_host_that_is_cut_off_from_a_dead_mpirun_end() {
    let relayed = Relayed::start();
    let cables = ["inward", "outward"].map(|name| relayed.pid(name));
    for cable in cables {
        crate::common::signal_process(cable, "STOP");
    }
    relayed.job.signal("KILL");
    relayed.ranks_end();
    let agent = relayed.pid("agent");
    crate::common::wait_until("the agent ends", || is_gone(agent).then_some(()));
    assert!(cables.into_iter().all(is_stopped), "nothing was closed");
    for cable in cables {
        crate::common::signal_process(cable, "KILL");
    }
    relayed.finish();
}

#[test]
fn the_ranks_of_an_agent_that_was_stopped_end_and_so_does_the_job() {
    let relayed = Relayed::start();
    let agent = relayed.pid("agent");
    crate::common::signal_process(agent, "STOP");
    relayed.ranks_end();
    crate::common::wait_until("the agent is gone", || is_gone(agent).then_some(()));
    let outcome = relayed.finish();
    assert_eq!(outcome.code, 125, "{outcome:?}");
    assert!(outcome.stderr.contains("host n1"), "{outcome:?}");
}

#[test]
fn the_ranks_of_an_agent_that_was_killed_end_and_so_does_the_job() {
    // Only the end of the connection can tell.
    let mark = crate::common::unique_sleep();
    let relayed = Relayed::start_with(&["sleep", &mark], &mark, "0");
    crate::common::signal_process(relayed.pid("agent"), "KILL");
    relayed.ranks_end();
    let outcome = relayed.finish();
    assert_eq!(outcome.code, 125, "{outcome:?}");
    assert!(outcome.stderr.contains("lost host n1"), "{outcome:?}");
}

/// Longer than the silence that is allowed.
fn let_the_limit_pass() {
    let limit: u64 = SILENT_S.parse().expect("whole seconds");
    std::thread::sleep(Duration::from_secs(2 * limit));
}

#[test]
fn a_job_that_is_suspended_is_not_taken_for_lost() {
    let mark = crate::common::unique_sleep();
    let scratch = Scratch::new();
    let go_on = scratch.path().join("go_on");
    let script = format!(
        "sleep {mark} & child=$!; until [ -e {} ]; do sleep 0.05; done; kill $child",
        go_on.display()
    );
    let relayed = Relayed::start_with(&["sh", "-c", &script], &mark, SILENT_S);
    let pid = relayed.job.pid();
    relayed.job.signal("TSTP");
    crate::common::wait_until("mpirun has stopped", || is_stopped(pid).then_some(()));
    let_the_limit_pass();
    relayed.job.signal("CONT");
    std::fs::write(go_on, "").expect("the file that ends the job");
    relayed.finish().succeeds();
}

/// It could not tell, so its hosts take it for lost; when it goes on, the user reads why.
#[test]
fn the_ranks_elsewhere_of_an_mpirun_that_was_stopped_for_too_long_end() {
    let relayed = Relayed::start();
    relayed.job.signal("STOP");
    relayed.ranks_end();
    relayed.job.signal("CONT");
    let outcome = relayed.finish();
    let words = format!("mpirun has given no sign of life for {SILENT_S} s");
    outcome.fails_with(125, &["lost host n1", &words]);
}

#[test]
fn a_wrong_limit_for_silence_is_refused() {
    for wrong in ["", "x", "-1", "0.01"] {
        mpirun(&["-n", "1", "true"])
            .env("MPILITE_SILENT_S", wrong)
            .run()
            .fails_with(2, &["MPILITE_SILENT_S="]);
    }
}
