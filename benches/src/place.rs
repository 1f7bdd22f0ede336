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

/// What Ethernet would carry: 1500 bytes, packet by packet.
pub const ETHERNET: Network = Network {
    mtu_bytes: 1500,
    is_like_a_wire: true,
    loss_percent: 0.0,
};

impl Network {
    /// The same network, of a hundred of whose packets so many are lost.
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
        let network = ETHERNET.losing(1.0);
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
