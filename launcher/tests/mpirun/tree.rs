//! Hosts that are reached through the agents of other hosts, by a program that behaves like ssh.

use std::fs;

use crate::common::{
    Mpirun, Running, Scratch, boot_rank, mpirun, sleepers, unique_sleep, wait_for_sleepers,
    wait_until,
};

/// What ssh does, on this machine. It writes down from where it was called, and for which host. No
/// agent reaches a host whose name begins with `far`.
const TREE_SSH: &str = r#"#!/bin/sh
while [ "$1" != -- ]; do shift; done
host=$2
shift 2
echo "${TREE_HOST:-mpirun} $host" >> "$TREE_CALLS"
if [ -n "$TREE_HOST" ]; then
    case "$host" in
        far*) echo "ssh: connect to host $host port 22: No route to host" >&2; exit 255 ;;
    esac
fi
case "$host" in
    unknown) echo "ssh: Could not resolve hostname unknown" >&2; exit 255 ;;
esac
export TREE_HOST="$host"
exec sh -c "$*"
"#;

/// Where the stand-in of ssh and its list of calls are.
struct Tree(Scratch);

impl Tree {
    fn new() -> Tree {
        let scratch = Scratch::new();
        scratch.write("ssh", TREE_SSH, 0o755);
        Tree(scratch)
    }

    fn over(&self, run: Mpirun) -> Mpirun {
        let ssh = self.0.path().join("ssh");
        run.env("MPILITE_SSH", ssh)
            .env("MPILITE_SILENT_S", "0")
            .env("TREE_CALLS", self.0.path().join("calls"))
    }

    /// Each call: from where, and for which host; sorted.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.0.path().join("calls")).expect("ssh was called");
        let mut calls: Vec<String> = calls.lines().map(String::from).collect();
        calls.sort();
        calls
    }

    /// A job of one rank on each of the hosts: the first reaches all others.
    fn mpirun(&self, hosts: &str, words: &[&str]) -> Mpirun {
        let others = hosts.matches(',').count().to_string();
        let line = ["--launch-fanout", &others, "--host", hosts];
        self.over(mpirun(&[&line, words].concat()))
    }

    /// Sleeping ranks on a, b, c and d, and one on a that kills its agent when it may.
    fn start_with_killer(&self, mark: &str) -> Running {
        let go = self.0.path().join("go");
        let script = format!(
            "while [ ! -e {} ]; do sleep 0.01; done; kill -9 $PPID; sleep {mark}",
            go.display()
        );
        let words = [
            "-n", "1", "sh", "-c", &script, ":", "-n", "3", "sleep", mark,
        ];
        let run = self.mpirun("a,b,c,d", &words).start();
        wait_for_sleepers(mark, 3);
        fs::write(go, "").expect("it is ours");
        run
    }
}

#[test]
fn two_hundred_hosts_are_reached_through_seven_of_them() {
    let tree = Tree::new();
    let names: Vec<String> = (0..200).map(|number| format!("h{number}")).collect();
    let hosts = names.join(",");
    let line = ["--host", &hosts, "-n", "200", "sh", "-c", "echo here"];
    let outcome = tree.over(mpirun(&line)).run().succeeds();
    assert_eq!(outcome.out(), "here\n".repeat(200));
    let calls = tree.calls();
    assert_eq!(calls.len(), 200);
    let direct = calls.iter().filter(|call| call.starts_with("mpirun "));
    assert_eq!(direct.count(), 7);
}

#[test]
fn few_hosts_are_reached_by_mpirun_itself() {
    let tree = Tree::new();
    let line = ["--host", "a,b,c", "-n", "3", "true"];
    tree.over(mpirun(&line)).run().succeeds();
    assert_eq!(tree.calls(), ["mpirun a", "mpirun b", "mpirun c"]);
}

#[test]
fn ranks_below_an_agent_exchange_their_cards() {
    let tree = Tree::new();
    let program = boot_rank();
    let words = ["-n", "4", &program, "exchange"];
    tree.mpirun("a,b,c,localhost", &words).run().succeeds();
    assert_eq!(tree.calls(), ["mpirun a", "mpirun b", "mpirun c"]);
    let words = ["-n", "4", &program, "exchange"];
    tree.mpirun("a,b,c,d", &words).run().succeeds();
    let calls = tree.calls();
    assert_eq!(calls[..3], ["a b", "a c", "a d"]);
}

#[test]
fn the_exit_status_of_a_rank_below_an_agent_is_that_of_the_job() {
    let tree = Tree::new();
    let program = boot_rank();
    let words = ["-n", "3", &program, "exit", "2", "7"];
    let outcome = tree.mpirun("a,b,c", &words).run();
    assert_eq!(outcome.code, 7, "{outcome:?}");
    assert!(outcome.stderr.contains("on host c"), "{outcome:?}");
}

#[test]
fn input_goes_down_to_a_rank_and_comes_back() {
    let tree = Tree::new();
    let bytes: Vec<u8> = (0..3_000_000_u32)
        .map(|at| b'a' + (at % 23) as u8)
        .collect();
    let words = ["-n", "3", "--stdin", "2", "cat"];
    let run = tree.mpirun("a,b,c", &words).input(bytes.clone());
    let outcome = run.run().succeeds();
    assert!(outcome.stdout == bytes, "{} bytes", outcome.stdout.len());
}

#[test]
fn a_program_is_sent_to_hosts_below_an_agent() {
    let tree = Tree::new();
    let program = boot_rank();
    let words = ["-n", "3", "--preload", &program, "appnum"];
    let outcome = tree.mpirun("a,b,c", &words).run().succeeds();
    assert_eq!(outcome.sorted().len(), 3);
}

#[test]
fn a_signal_reaches_ranks_below_an_agent() {
    let tree = Tree::new();
    let mark = unique_sleep();
    let run = tree.mpirun("a,b,c", &["-n", "3", "sleep", &mark]).start();
    wait_for_sleepers(&mark, 3);
    run.signal("TERM");
    assert_eq!(run.finish().code, 143);
    wait_for_sleepers(&mark, 0);
}

#[test]
fn the_loss_of_an_agent_is_one_line_that_counts_the_hosts_below() {
    let tree = Tree::new();
    let mark = unique_sleep();
    let run = tree.start_with_killer(&mark);
    let parts = [
        "lost host a (",
        ", through which 3 other hosts were reached; ending the job",
    ];
    run.finish().fails_with(125, &parts);
    wait_for_sleepers(&mark, 0);
}

#[test]
fn nothing_is_left_below_an_agent_when_mpirun_is_killed() {
    let tree = Tree::new();
    let mark = unique_sleep();
    let script = format!("sleep {mark} & wait");
    let words = ["-n", "3", "sh", "-c", &script];
    let run = tree.mpirun("a,b,c", &words).start();
    wait_for_sleepers(&mark, 3);
    run.signal("KILL");
    assert_eq!(run.finish().code, 137);
    wait_for_sleepers(&mark, 0);
    assert_eq!(sleepers(&mark), [0; 0]);
}

#[test]
fn mpirun_itself_reaches_a_host_that_no_agent_reaches() {
    let tree = Tree::new();
    let words = ["-n", "3", "sh", "-c", "echo here"];
    let outcome = tree.mpirun("a,far,c", &words).run();
    assert_eq!(outcome.out(), "here\nhere\nhere\n", "{outcome:?}");
    let parts = ["note: host a cannot reach host far (", "No route to host)"];
    outcome.fails_with(0, &parts);
    assert_eq!(tree.calls(), ["a c", "a far", "mpirun a", "mpirun far"]);
}

#[test]
fn an_error_of_a_host_below_an_agent_reads_as_that_of_any_host() {
    let tree = Tree::new();
    let mark = unique_sleep();
    let words = ["-n", "3", "sleep", &mark];
    let below = tree.mpirun("a,b,unknown", &words).run();
    below.fails_with(125, &["cannot start on host unknown: ", "resolve hostname"]);
    let line = ["--host", "a,b,unknown"];
    let flat = tree.over(mpirun(&[&line, &words[..]].concat())).run();
    assert_eq!(below.stderr, flat.stderr);
    wait_until("no agent is left", || {
        sleepers(&mark).is_empty().then_some(())
    });
}

#[test]
fn a_host_that_does_not_read_its_orders_delays_no_other_host() {
    let tree = Tree::new();
    // A rank that reads nothing holds up the input of all, but neither output nor the end.
    let words = ["-n", "3", "--stdin", "all", "sh", "-c", "echo here"];
    let run = tree.mpirun("a,b,c", &words);
    let outcome = run.input(vec![b'x'; 4 << 20]).run().succeeds();
    assert_eq!(outcome.out(), "here\nhere\nhere\n");
}

#[test]
fn a_fanout_that_is_no_number_is_refused() {
    let outcome = mpirun(&["--launch-fanout", "many", "true"]).run();
    outcome.fails_with(2, &["--launch-fanout many: a number from 0 to 65535"]);
}
