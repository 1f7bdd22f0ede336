//! Where a program runs: in namespaces of its own, which vanish with it.
//!
//! The kernel ends everything in them as soon as we end, by whatever cause: no rank, no loss and no
//! namespace is left behind by a comparison that was interrupted.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use mpi_lite_tests::Job;

/// Prepares the network and runs the words of its command line.
const SCRIPT: &str = include_str!("network.sh");
/// Ends what it starts when we end, and makes namespaces for processes and mounts.
const NAMESPACES: &str = "setpriv --pdeathsig KILL unshare --kill-child -p -f -m --mount-proc";
/// What the script may need beyond the limit of the program.
const GRACE: Duration = Duration::from_secs(10);

/// The network that a program sees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Place {
    /// The machine's own loopback.
    Machine,
    /// A loopback of the program's own.
    Own(Network),
}

/// A loopback interface.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Network {
    /// Its MTU in bytes.
    pub mtu_bytes: u32,
    /// Whether packets cross it one by one, as they cross a wire, not in bursts.
    pub is_like_a_wire: bool,
    /// How many of a hundred packets are lost.
    pub loss_percent: f64,
}

/// The loopback as it comes: 64 KiB packets, nothing lost.
pub const LOOPBACK: Network = Network {
    mtu_bytes: 65_536,
    is_like_a_wire: false,
    loss_percent: 0.0,
};

/// Packets of an Ethernet, with the offloads that an interface has as it comes.
pub const ETHERNET: Network = Network {
    mtu_bytes: 1500,
    ..LOOPBACK
};

/// The same with jumbo frames.
pub const JUMBO: Network = Network {
    mtu_bytes: 9000,
    ..LOOPBACK
};

/// The networks on which everything is measured.
pub const NETWORKS: [Network; 3] = [LOOPBACK, JUMBO, ETHERNET];

impl Network {
    /// The same network without offloads: packet by packet.
    #[must_use]
    pub fn like_a_wire(self) -> Self {
        Self {
            is_like_a_wire: true,
            ..self
        }
    }

    /// The same network, with this percentage of its packets lost.
    #[must_use]
    pub fn losing(self, loss_percent: f64) -> Self {
        Self {
            loss_percent,
            ..self
        }
    }
}

fn words(line: &str) -> (&str, Vec<&str>) {
    let mut words = line.split(' ');
    (words.next().expect("a program"), words.collect())
}

/// Whether namespaces can be made; they need root and util-linux.
fn has_namespaces() -> bool {
    static ANSWER: OnceLock<bool> = OnceLock::new();
    *ANSWER.get_or_init(|| {
        let (program, words) = words(NAMESPACES);
        let output = Command::new(program).args(words).arg("true").output();
        output.is_ok_and(|output| output.status.success())
    })
}

/// Says what this machine lacks for a network of its own that loses packets.
///
/// # Errors
/// One line for humans.
pub fn check_networks() -> Result<(), String> {
    static ANSWER: OnceLock<Result<(), String>> = OnceLock::new();
    let check = || {
        let network = ETHERNET.like_a_wire().losing(1.0);
        let job = Place::Own(network).job("udp", Duration::from_secs(10));
        let outcome = job.arg("true").run();
        let why = outcome.stderr.lines().next().unwrap_or_default().to_owned();
        let needs = "needs root and the packages util-linux, iproute2, iptables, ethtool";
        (outcome.code == Some(0))
            .then_some(())
            .ok_or_else(|| format!("a network that loses packets {needs}: {why}"))
    };
    ANSWER.get_or_init(check).clone()
}

impl std::fmt::Display for Network {
    /// What titles say of it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let offloads = if self.is_like_a_wire {
            ", no offloads"
        } else {
            ""
        };
        write!(f, "MTU {}{offloads}", self.mtu_bytes)
    }
}

impl Place {
    /// A job in this place that is ended after `limit`; its words are still to be added.
    /// `protocol` (`udp` or `tcp`) is what loss and cuts befall.
    #[must_use]
    pub fn job(self, protocol: &str, limit: Duration) -> Job {
        let network = match self {
            Place::Machine => None,
            Place::Own(network) => Some(network),
        };
        if network.is_none() && !has_namespaces() {
            return Job::new("env").deadline(limit);
        }
        let (program, words) = words(NAMESPACES);
        let mut job = Job::new(program).args(words);
        if let Some(network) = network {
            job = job
                .arg("-n")
                .env("BENCH_NETWORK", "own")
                .env("BENCH_MTU", network.mtu_bytes.to_string());
            if network.is_like_a_wire {
                job = job.env("BENCH_PACKETS", "wire");
            }
            if network.loss_percent > 0.0 {
                job = job.env("BENCH_LOSS", (network.loss_percent / 100.0).to_string());
            }
        }
        job.env("BENCH_PROTOCOL", protocol)
            .env("BENCH_LIMIT_S", limit.as_secs_f64().to_string())
            .args(["sh", "-c", SCRIPT, "network"])
            .deadline(limit + GRACE)
    }
}

/// Cuts the network of the job for `cut` once `ready` exists; makes `stop` and heals it.
#[must_use]
pub fn cut(job: Job, cut: Duration, ready: &Path, stop: &Path) -> Job {
    job.env("BENCH_CUT_S", cut.as_secs_f64().to_string())
        .env("BENCH_READY", ready)
        .env("BENCH_STOP", stop)
}

/// Sends stray packets with these words meanwhile.
#[must_use]
pub fn disturbed(job: Job, words: &str) -> Job {
    job.env("BENCH_STRAYS", words)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn sh(place: Place, script: &str) -> Job {
        check_networks().unwrap_or_else(|why| panic!("{why}"));
        place.job("udp", PATIENCE).args(["sh", "-c", script])
    }

    #[test]
    fn a_network_of_its_own_has_the_mtu_and_the_loss_that_were_asked_for() {
        let place = Place::Own(ETHERNET.like_a_wire().losing(2.0));
        let look = "cat /sys/class/net/lo/mtu; ethtool -k lo; iptables -S INPUT";
        let outcome = sh(place, look).run().expect_code(0);
        for expected in [
            "1500\n",
            "generic-segmentation-offload: off",
            "-p udp -m statistic --mode random --probability 0.02",
        ] {
            assert!(
                outcome.stdout.contains(expected),
                "{expected}: {}",
                outcome.report()
            );
        }
        let outcome = sh(Place::Own(LOOPBACK), look).run().expect_code(0);
        assert!(
            outcome.stdout.starts_with("65536\n"),
            "{}",
            outcome.report()
        );
        assert!(!outcome.stdout.contains("DROP"), "{}", outcome.report());
    }

    #[test]
    fn the_exit_code_is_that_of_the_program_and_too_much_time_is_124() {
        for (script, code) in [("exit 7", 7), ("exit 0", 0)] {
            drop(sh(Place::Machine, script).run().expect_code(code));
        }
        let job = Place::Machine.job("udp", Duration::from_millis(100));
        drop(job.args(["sleep", "60"]).run().expect_code(124));
    }

    #[test]
    fn a_network_is_cut_once_its_program_is_ready_and_healed_before_it_ends() {
        let scratch = mpi_lite_tests::Scratch::new("cut");
        let file = |name| scratch.path().join(name);
        let (ready, stop) = (file("ready"), file("stop"));
        let wait = ": >\"$0\"; while ! iptables -S INPUT | grep -q DROP; do :; done; echo cut;
            while iptables -S INPUT | grep -q DROP; do :; done; [ -e \"$1\" ] && echo over";
        let job = sh(Place::Own(LOOPBACK), wait).args([&ready, &stop]);
        let outcome = cut(job, Duration::from_millis(100), &ready, &stop).run();
        let outcome = outcome
            .expect_code(0)
            .expect_stdout("cut\n")
            .expect_stdout("over\n");
        assert!(outcome.stdout.contains("healed: "), "{}", outcome.report());
    }

    #[test]
    fn nothing_is_left_when_the_one_who_started_it_is_killed() {
        let mut running = sh(Place::Own(ETHERNET), "echo ready; sleep 60 & sleep 60").start();
        running.wait_for("ready", 1);
        let descendants = running.process().descendants();
        assert!(descendants.len() >= 3, "{descendants:?}");
        running.process().kill();
        let start = Instant::now();
        while descendants.iter().any(|process| process.is_alive()) {
            assert!(start.elapsed() < PATIENCE, "still alive: {descendants:?}");
        }
    }
}
