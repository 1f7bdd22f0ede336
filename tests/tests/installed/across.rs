//! What collectives send between hosts, counted by the ranks. The hosts are names of this machine:
//! a stand-in for ssh starts their ranks here, which share no memory with those of another name.

use mpi_lite_tests::{Job, Scratch, build};

use crate::stats::{object, sum};

const SSH: &str = r#"#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift 2
exec sh -c "$*"
"#;

const ROUNDS: usize = 10;

/// The messages that cross between hosts in one call of an operation on `count` doubles: `hosts` of
/// them with `each` ranks, placed by `order`.
fn crossing((hosts, each): (usize, usize), order: &str, operation: &str, count: usize) -> f64 {
    let scratch = Scratch::new("across");
    let program = build("tests/c/managed/across.c", &scratch);
    let ssh = scratch.program("ssh", SSH);
    let names: Vec<_> = (1..=hosts).map(|host| format!("n{host}:{each}")).collect();
    let job = Job::mpirun(hosts * each)
        .env("MPILITE_SSH", ssh)
        .args([
            "--host",
            &names.join(","),
            "--map-by",
            order,
            "--stats=json",
        ])
        .arg(program)
        .args([operation, &ROUNDS.to_string(), &count.to_string()]);
    let outcome = job.run().expect_code(0);
    let messages = sum(&object(&outcome.stderr), "rmpp_messages_sent");
    messages as f64 / ROUNDS as f64
}

/// Rounds of messages until each of `hosts` has heard from all.
fn rounds(hosts: usize) -> usize {
    hosts.next_power_of_two().ilog2() as usize
}

fn check(hosts: usize, each: usize) {
    for order in ["slot", "node"] {
        let most = [
            ("bcast", 1, hosts - 1),
            ("reduce", 1, hosts - 1),
            ("barrier", 1, hosts * rounds(hosts)),
            ("allreduce", 1, hosts * rounds(hosts)),
            // In pieces of at most 64 KiB, the first one of less.
            ("bcast", 1 << 17, 17 * (hosts - 1)),
            ("reduce", 1 << 17, 17 * (hosts - 1)),
        ];
        for (operation, count, most) in most {
            let messages = crossing((hosts, each), order, operation, count);
            assert!(
                messages <= most as f64 && messages >= (hosts - 1) as f64,
                "{operation} of {count}, {hosts} x {each} by {order}: {messages}, at most {most}"
            );
        }
    }
}

#[test]
fn one_rank_of_each_of_three_hosts_deals_with_the_others() {
    check(3, 4);
}

#[test]
fn one_rank_of_each_of_two_hosts_deals_with_the_other() {
    check(2, 2);
}
