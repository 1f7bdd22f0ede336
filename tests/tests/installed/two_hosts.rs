//! Two hosts with a network, a name and a `/dev/shm` of their own: namespaces of this machine,
//! between which only ssh passes unless a test opens more. Needs root, `unshare`, `nsenter`, `ip`
//! and `iptables`.

use mpi_lite_tests::{Job, Scratch, build, tool};

/// Makes the second host, connects both by `eth0`, runs `PREPARE` on each with its number, then the
/// words.
const SCRIPT: &str = "\
set -e
mkfifo \"$LAB/ready\"
unshare -n -m -u sh -c 'echo $$ > \"$LAB/ready\"; exec sleep 1000' &
read -r LAB_SECOND < \"$LAB/ready\"
export LAB_SECOND
trap 'kill $LAB_SECOND' EXIT
ip link add eth0 type veth peer name eth0 netns \"$LAB_SECOND\"
sh -c \"$PREPARE\" prepare 1
nsenter -t \"$LAB_SECOND\" -n -m -u sh -c \"$PREPARE\" prepare 2
set +e
\"$@\"
";

/// What every host has: number 1 or 2 in its address.
const HOST: &str = "\
set -e
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /dev/shm
hostname host$1
ip link set lo up
ip address add 10.1.0.$1/24 dev eth0
ip link set eth0 up
";

/// What ssh does, without a network: it tells the command the addresses that it came by.
const SSH: &str = r#"#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift 2
export SSH_CONNECTION="10.1.0.1 4000 10.1.0.2 22"
exec nsenter -t "$LAB_SECOND" -n -m -u sh -c "$*"
"#;

/// Runs the farm with two ranks on each host, which a script has prepared.
fn farm(prepare: &str, options: &[&str]) {
    let scratch = Scratch::new("two-hosts");
    let farm = build("benches/c/farm.c", &scratch);
    let ssh = scratch.program("ssh", SSH);
    let job = Job::new("unshare")
        .args(["-n", "-m", "-u", "sh", "-c", SCRIPT, "lab"])
        .env("LAB", scratch.path())
        .env("PREPARE", format!("{HOST}{prepare}"))
        .env("MPILITE_SSH", ssh)
        .arg(tool("mpirun"))
        .args(["-n", "4", "--host", "localhost:2,n2:2"])
        .args(options)
        .arg(farm)
        .arg("300");
    let outcome = job.run().expect_code(0).expect_stdout("(right)");
    let mut lines = outcome.stderr.lines();
    let is_quiet = lines.all(|line| line.starts_with("farm: "));
    assert!(is_quiet, "mpirun has nothing to say: {}", outcome.report());
}

/// Docker and libvirt give their bridges the same addresses on every host.
#[test]
fn hosts_whose_bridges_have_the_same_addresses_need_no_option() {
    let bridges = "\
ip link add docker0 type bridge
ip address add 172.17.0.1/16 dev docker0
ip link set docker0 up
ip link add virbr0 type bridge
ip address add 192.168.122.1/24 dev virbr0
ip link set virbr0 up
";
    farm(bridges, &[]);
}

#[test]
fn hosts_with_200_more_interfaces_need_no_option() {
    let interfaces = "\
for i in $(seq 100); do
    echo link add v$i type veth peer name w$i
    for end in v w; do
        echo address add 10.20.$i.1/24 dev $end$i
        echo link set $end$i up
    done
done | ip -batch -
test $(ls /sys/class/net | wc -l) -ge 202
";
    farm(interfaces, &[]);
}

/// As clones of one image have it.
#[test]
fn hosts_of_the_same_name_are_two_hosts() {
    farm("hostname clone\n", &[]);
}

#[test]
fn the_ports_of_the_range_are_all_that_a_firewall_has_to_open() {
    let rules = "\
iptables -A INPUT -i eth0 -p udp --dport 5000:5010 -j ACCEPT
iptables -A INPUT -i eth0 -j DROP
";
    farm(rules, &["--port-range", "5000-5010"]);
}
