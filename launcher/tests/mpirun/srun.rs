//! Jobs in an allocation of Slurm, through a program that behaves like srun, and everything that
//! goes wrong there.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

use crate::common::{Mpirun, Outcome, Scratch, boot_rank, mpirun, wait_until};

/// What srun does, on this machine: its command once for each node, with the node's name in the
/// environment and no input. It ends as the first of them that fails, and ends the others soon
/// after that.
const FAKE_SRUN: &str = r#"#!/bin/bash
directory=$(dirname "$0")
printf '%s\n' "$@" > "$directory/words"
echo "$MPILITE_AGENT_HOME" > "$directory/home"
while [ "${1#--}" != "$1" ]; do
    case "$1" in
        --nodelist=*) nodes=${1#--nodelist=} ;;
        --overlap) [ -z "$OLD" ] || { echo "srun: unrecognized option '--overlap'" >&2; exit 1; } ;;
    esac
    shift
done
[ -z "$REFUSING" ] || {
    echo "srun: error: Unable to create step for job 7: $REFUSING" >&2
    exit 1
}
[ -z "$IDLE" ] || exec sleep "$IDLE"
rest=$(echo "$MPILITE_AGENT_HOME" | cut -d' ' -f2-)
[ -z "$FALSE_HOME" ] || MPILITE_AGENT_HOME="$FALSE_HOME $rest"
export MPILITE_AGENT_HOME SLURM_STEP_ID=0 SLURM_STEP_NODELIST=$nodes
export SLURM_LAUNCH_NODE_IPADDR=127.0.0.1
number=0
trap 'kill $(jobs -p) 2>/dev/null' TERM
for node in ${nodes//,/ }; do
    SLURM_NODEID=$number SLURM_PROCID=$number SLURMD_NODENAME=$node "$@" </dev/null &
    echo $! > "$directory/agent.$node"
    number=$((number + 1))
done
status=0
for job in $(jobs -p); do
    wait -n || {
        failed=$?
        [ $status -ne 0 ] || { status=$failed; sleep 0.5; }
        kill $(jobs -p) 2>/dev/null
    }
done
exit $status
"#;

/// A directory with the stand-in, for PATH.
fn slurm() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("srun", FAKE_SRUN, 0o755);
    scratch
}

/// A job of three nodes with two slots each, on none of them.
fn inside(scratch: &Scratch, arguments: &[&str]) -> Mpirun {
    let path = std::env::var("PATH").expect("there is one");
    mpirun(arguments)
        .env("PATH", format!("{}:{path}", scratch.path().display()))
        .env("SLURM_JOB_ID", "7")
        .env("SLURM_JOB_NODELIST", "n[1-3]")
        .env("SLURM_TASKS_PER_NODE", "2(x3)")
}

fn run(arguments: &[&str]) -> Outcome {
    inside(&slurm(), arguments).run()
}

#[test]
fn ranks_of_three_nodes_exchange_their_cards() {
    run(&[&boot_rank(), "exchange"]).succeeds();
}

#[test]
fn hosts_and_slots_are_those_of_the_allocation() {
    let outcome = run(&[&boot_rank(), "print"]).succeeds();
    let lines = outcome.sorted();
    assert_eq!(lines.len(), 6);
    for (rank, line) in lines.iter().enumerate() {
        let (node, local) = (rank / 2, rank % 2);
        let words = format!(
            "rank {rank} of 6 local {local} of 2 node {node} host n{} bind 127.0.0.1 ",
            node + 1
        );
        assert!(line.starts_with(&words), "{line}");
        assert!(line.contains(" hosts n1,n1,n2,n2,n3,n3 "), "{line}");
    }
}

/// All three are this machine, but only one is the node of this `mpirun`.
#[test]
fn the_own_node_has_no_agent() {
    let scratch = slurm();
    let job = inside(&scratch, &[&boot_rank(), "exchange"]);
    job.env("SLURMD_NODENAME", "n2").run().succeeds();
    let words = std::fs::read_to_string(scratch.path().join("words")).unwrap();
    for word in [
        "--nodelist=n1,n3",
        "--nodes=2",
        "--ntasks=2",
        "--mpi=none",
        "--input=none",
    ] {
        assert!(words.lines().any(|it| it == word), "{word}: {words}");
    }
}

#[test]
fn nothing_secret_is_on_the_command_line_of_srun() {
    let scratch = slurm();
    inside(&scratch, &["-x", "SECRET=abc", "echo", "argument"])
        .run()
        .succeeds();
    let read = |name| std::fs::read_to_string(scratch.path().join(name)).unwrap();
    let words = read("words");
    let mut last = words.lines().rev();
    assert_eq!(last.next(), Some("--agent"));
    assert_eq!(last.next(), Some(env!("CARGO_BIN_EXE_mpirun")));
    assert!(last.all(|word| word.starts_with("--")), "{words}");
    let home = read("home");
    let token = home.split(' ').next().unwrap();
    assert_eq!(token.len(), 64);
    assert!(!words.contains(token) && !words.contains("abc"));
}

#[test]
fn ranks_get_no_variable_of_the_step_or_of_the_agent() {
    let outcome = run(&["env"]).succeeds();
    let lines = outcome.sorted();
    assert!(lines.iter().any(|line| line == "SLURM_JOB_ID=7"));
    for name in [
        "MPILITE_AGENT_HOME",
        "SLURM_STEP",
        "SLURM_PROCID",
        "SLURM_NODEID",
    ] {
        let found = lines.iter().find(|line| line.starts_with(name));
        assert_eq!(found, None);
    }
}

#[test]
fn named_hosts_win_over_the_allocation() {
    let scratch = slurm();
    let outcome = inside(&scratch, &["--host", "localhost:2", "echo", "x"]).run();
    assert_eq!(outcome.succeeds().out(), "x\nx\n");
    assert!(!scratch.path().join("words").exists());
    let outcome = inside(&scratch, &["--host", "n3", &boot_rank(), "print"]).run();
    let line = outcome.succeeds().out();
    assert!(line.contains(" host n3 "), "{line}");
}

#[test]
fn more_ranks_than_slots_are_noted() {
    run(&["-n", "7", "true"]).fails_with(0, &["note: 7 ranks on 6 slots"]);
}

#[test]
fn output_input_and_exit_status_pass_through() {
    let scratch = slurm();
    let outcome = inside(&scratch, &["-n", "1", "sh", "-c", "cat; exit 7"])
        .input("from here\n")
        .run();
    assert_eq!(
        (outcome.code, outcome.out().as_str()),
        (7, "from here\n"),
        "{outcome:?}"
    );
    let program = boot_rank();
    run(&[&program, "die", "5"]).fails_with(137, &["rank 5 (pid ", " on host n3) was killed"]);
    let many = inside(&scratch, &["sh", "-c", "seq 20000"])
        .run()
        .succeeds();
    assert_eq!(many.sorted().len(), 6 * 20000);
}

fn read_pid(path: &Path) -> Option<u32> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[test]
fn an_agent_that_is_killed_ends_the_job_and_its_host_is_named() {
    let scratch = slurm();
    let mark = crate::common::unique_sleep();
    let running = inside(&scratch, &["sleep", &mark]).start();
    crate::common::wait_for_sleepers(&mark, 6);
    let agent = scratch.path().join("agent.n2");
    let agent = wait_until("the agent is known", || read_pid(&agent));
    crate::common::signal_process(agent, "KILL");
    let outcome = running.finish();
    crate::common::wait_for_sleepers(&mark, 0);
    assert_eq!(outcome.code, 125, "{outcome:?}");
    assert!(outcome.stderr.contains("lost host n2"), "{outcome:?}");
}

#[test]
fn the_ranks_of_a_killed_mpirun_end() {
    let scratch = slurm();
    let mark = crate::common::unique_sleep();
    let running = inside(&scratch, &["sleep", &mark]).start();
    crate::common::wait_for_sleepers(&mark, 6);
    running.signal("KILL");
    crate::common::wait_for_sleepers(&mark, 0);
    running.finish();
}

#[test]
fn an_interrupt_reaches_all_ranks() {
    let scratch = slurm();
    let mark = crate::common::unique_sleep();
    let running = inside(&scratch, &["sleep", &mark]).start();
    crate::common::wait_for_sleepers(&mark, 6);
    running.signal("INT");
    assert_eq!(running.finish().code, 130);
    crate::common::wait_for_sleepers(&mark, 0);
}

/// It is dropped, and the agents say why they find no `mpirun`.
#[test]
fn an_agent_with_a_wrong_token_does_not_join_the_job() {
    let scratch = slurm();
    let outcome = inside(&scratch, &["true"])
        .env("FALSE_HOME", "0".repeat(64))
        .run();
    let words = [
        "hosts n1, n2, n3 cannot be reached: srun exited with status 125",
        "agent on node n",
    ];
    outcome.fails_with(125, &words);
}

/// Strangers at the port of `mpirun` disturb nobody.
#[test]
fn a_stranger_that_connects_is_dropped_and_the_job_goes_on() {
    let scratch = slurm();
    let running = inside(&scratch, &["true"]).env("IDLE", "1000").start();
    let home = scratch.path().join("home");
    let port = wait_until("srun is started", || {
        let text = std::fs::read_to_string(&home).ok()?;
        text.split(' ').nth(1)?.parse::<u16>().ok()
    });
    let mut stranger = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stranger.write_all(&[b'x'; 400]).expect("there is room");
    let mut received = Vec::new();
    // It gets a greeting and a nonce, and then the end.
    stranger.read_to_end(&mut received).ok();
    assert!(received.len() < 64, "{received:?}");
    running.signal("TERM");
    assert_eq!(running.finish().code, 143);
}

#[test]
fn mpirun_listens_no_more_when_all_agents_are_there() {
    let scratch = slurm();
    let mark = crate::common::unique_sleep();
    let running = inside(&scratch, &["sleep", &mark]).start();
    crate::common::wait_for_sleepers(&mark, 6);
    let home = std::fs::read_to_string(scratch.path().join("home")).expect("srun has written it");
    let port: u16 = home.split(' ').nth(1).unwrap().parse().expect("a port");
    let refused = TcpStream::connect(("127.0.0.1", port)).map_err(|error| error.kind());
    assert_eq!(refused.err(), Some(std::io::ErrorKind::ConnectionRefused));
    running.signal("TERM");
    running.finish();
}

#[test]
fn agents_that_do_not_come_are_given_up() {
    let scratch = slurm();
    inside(&scratch, &["--launch-timeout", "0.5", "true"])
        .env("IDLE", "1000")
        .run()
        .fails_with(125, &["hosts n1, n2, n3 did not answer within 0.5 s"]);
}

#[test]
fn a_missing_srun_is_named() {
    let scratch = Scratch::new();
    let env = scratch.path().join("env");
    std::os::unix::fs::symlink("/usr/bin/env", env).expect("the starter of our tests");
    inside(&scratch, &["/bin/true"])
        .env("PATH", scratch.path())
        .run()
        .fails_with(
            125,
            &["hosts n1, n2, n3 cannot be reached: 'srun' cannot be executed"],
        );
}

#[test]
fn a_refusing_srun_is_quoted() {
    let scratch = slurm();
    let reason = "Requested node configuration is not available";
    inside(&scratch, &["true"])
        .env("REFUSING", reason)
        .run()
        .fails_with(
            125,
            &[
                "hosts n1, n2, n3 cannot be reached: srun exited with status 1",
                reason,
            ],
        );
}

#[test]
fn an_older_srun_that_does_not_know_overlap_does_without() {
    let scratch = slurm();
    let job = inside(&scratch, &[&boot_rank(), "exchange"]);
    job.env("OLD", "1").run().succeeds();
    let words = std::fs::read_to_string(scratch.path().join("words")).unwrap();
    assert!(!words.contains("overlap"), "{words}");
}

#[test]
fn a_seal_is_refused_by_srun_and_possible_by_ssh() {
    let scratch = slurm();
    let reason = "--secure needs a private way for the job's key";
    for how in ["--secure", "--secure=tag"] {
        inside(&scratch, &[how, "true"])
            .run()
            .fails_with(2, &[reason, "use --launcher ssh"]);
    }
    inside(
        &scratch,
        &["--secure", "--launcher", "ssh", &boot_rank(), "exchange"],
    )
    .over_fake_ssh()
    .run()
    .succeeds();
    assert!(!scratch.path().join("words").exists());
}

#[test]
fn srun_outside_of_an_allocation_is_refused() {
    mpirun(&["--launcher", "srun", "--host", "n1", "true"])
        .run()
        .fails_with(
            2,
            &["--launcher srun: host n1 is not in a Slurm allocation"],
        );
    mpirun(&["--launcher", "rsh", "true"])
        .run()
        .fails_with(2, &["--launcher rsh: expected ssh or srun"]);
}

#[test]
fn an_allocation_that_cannot_be_read_is_an_error_unless_hosts_are_named() {
    let scratch = slurm();
    let broken = |arguments| inside(&scratch, arguments).env("SLURM_TASKS_PER_NODE", "2(x2)");
    broken(&["true"]).run().fails_with(
        125,
        &["cannot be read from SLURM_TASKS_PER_NODE: '2(x2)' is for 2 of 3 nodes"],
    );
    broken(&["-n", "1", "--host", "localhost", "true"])
        .run()
        .succeeds();
}
