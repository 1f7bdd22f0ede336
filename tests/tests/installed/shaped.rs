//! `mpirun --net`: programs on a network that loses, delays, doubles and reorders what is sent. The
//! ranks do this to themselves, so it needs no root.

use std::time::Duration;

use mpi_lite_tests::{Job, Outcome, Scratch, build};
use serde_json::Value;

/// A job on such a network that prints its counters.
fn on(network: &str, ranks: usize) -> Job {
    Job::mpirun(ranks)
        .args(["--net", network, "--stats=json"])
        .deadline(Duration::from_secs(180))
}

/// The sum of a counter over all ranks.
fn sum(outcome: &Outcome, counter: &str) -> u64 {
    let line = outcome.stderr.lines().find(|line| line.starts_with('{'));
    let line = line.unwrap_or_else(|| panic!("no counters: {}", outcome.report()));
    let object: Value = serde_json::from_str(line).expect("JSON");
    object["counters"][counter]["sum"]
        .as_u64()
        .unwrap_or_else(|| panic!("no sum of {counter}: {object}"))
}

/// Runs a C program that checks each byte.
fn run(program: &str, ranks: usize, network: &str) -> Outcome {
    let scratch = Scratch::new("shaped");
    let binary = build(program, &scratch);
    on(network, ranks).arg(binary).run().expect_code(0)
}

#[test]
fn messages_of_all_sizes_arrive_intact_on_a_network_with_losses_and_a_delay() {
    let network = "loss=2%,delay=200us,seed=1";
    let outcome = run("tests/c/point_to_point/sizes.c", 2, network);
    assert!(sum(&outcome, "udp_net_lost") > 0, "{}", outcome.report());
}

#[test]
fn collectives_are_right_though_losses_come_in_bursts() {
    let network = "loss=5%,burst=3,delay=100us,jitter=100us,seed=2";
    let outcome = run("tests/c/collective/mixed.c", 3, network);
    assert!(sum(&outcome, "udp_net_lost") > 0, "{}", outcome.report());
}

#[test]
fn what_comes_twice_or_out_of_order_is_received_once_and_in_order() {
    let network = "delay=1ms,jitter=500us,reorder=5%,duplicate=5%,seed=3";
    let outcome = run("tests/c/point_to_point/order.c", 2, network);
    for counter in ["udp_net_duplicated", "udp_net_reordered"] {
        assert!(sum(&outcome, counter) > 0, "{}", outcome.report());
    }
    assert_eq!(sum(&outcome, "udp_net_lost"), 0);
}

#[test]
fn a_slow_network_with_a_short_queue_drops_what_does_not_fit() {
    let network = "rate=100mbit,queue=4";
    let outcome = run("tests/c/point_to_point/flood.c", 4, network);
    assert!(
        sum(&outcome, "udp_net_overflowed") > 0,
        "{}",
        outcome.report()
    );
}

#[test]
fn encrypted_datagrams_pass_a_bad_network() {
    let scratch = Scratch::new("shaped-secure");
    let program = build("tests/c/point_to_point/sizes.c", &scratch);
    let job = on("loss=1%,reorder=1%,duplicate=1%,delay=50us,seed=4", 2);
    let outcome = job.args(["--secure"]).arg(program).run().expect_code(0);
    assert!(sum(&outcome, "udp_replayed") > 0, "{}", outcome.report());
}

#[test]
fn a_seed_that_was_drawn_is_printed_so_that_it_can_be_given_again() {
    let scratch = Scratch::new("shaped-seed");
    let program = build("tests/c/point_to_point/self.c", &scratch);
    let start = |network: &str| on(network, 1).arg(&program).run().expect_code(0);
    let printed = |outcome: &Outcome| {
        let told = |line: &str| Some(line.strip_prefix("mpirun: --net ")?.to_owned());
        outcome.stderr.lines().find_map(told)
    };
    let first = start("loss=1%,burst=2,delay=100us");
    let network = printed(&first).unwrap_or_else(|| panic!("no seed: {}", first.report()));
    let seed = network.strip_prefix("loss=1%,burst=2,delay=100us,seed=");
    assert!(seed.is_some_and(|it| it.parse::<u64>().is_ok()));
    assert_eq!(printed(&start(&network)), None);
}

#[test]
fn the_variable_is_as_good_as_the_option() {
    let scratch = Scratch::new("shaped-variable");
    let program = build("tests/c/point_to_point/order.c", &scratch);
    let job = Job::mpirun(2)
        .env("MPILITE_NET", "duplicate=20%,seed=5")
        .arg("--stats=json");
    let outcome = job.arg(program).run().expect_code(0);
    assert!(sum(&outcome, "udp_net_duplicated") > 0);
}

#[test]
fn a_wrong_network_is_one_line_before_anything_is_started() {
    for (network, line) in [
        (
            "loss=1%,delay=5",
            "mpirun: --net delay=5: a time up to 60s is possible, as 5ms (units: ns, us, ms, s)\n",
        ),
        (
            "los=1%",
            "mpirun: --net los=1%: expected loss, burst, delay, jitter, rate, queue, reorder, \
             duplicate or seed\n",
        ),
    ] {
        let outcome = Job::mpirun(2).args(["--net", network, "true"]).run();
        assert_eq!(outcome.expect_code(2).stderr, line);
    }
}

#[test]
fn transports_without_datagrams_are_refused() {
    for transport in ["shm", "loopback", "tcp", "tcp-trc"] {
        let job = Job::mpirun(2).args(["--net", "loss=1%", "--transport", transport, "true"]);
        let expected = format!(
            "mpirun: --net needs datagrams, and --transport {transport} sends none: leave it out, \
             or take rmpp or gobackn or unet or sctp\n"
        );
        assert_eq!(job.run().expect_code(2).stderr, expected);
    }
}
