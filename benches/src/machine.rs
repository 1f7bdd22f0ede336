//! What a reader must know of the machine to judge its figures.

use std::fs;
use std::process::Command;
use std::thread::available_parallelism;

use crate::contender::Contender;

/// Above so many busy processes before we begin, figures are to be doubted.
const QUIET: f64 = 0.5;

fn load() -> Option<f64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    text.split(' ').next()?.parse().ok()
}

/// Cores, kernel and load, in one line; more than one if others use the machine as well.
#[must_use]
pub fn describe() -> String {
    let cores = available_parallelism().map_or(0, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let load = load();
    let busy = if load.is_some_and(|load| load > QUIET) {
        "\nothers use this machine: doubt figures that took their time, trust counts"
    } else {
        ""
    };
    let load = load.map_or_else(|| "unknown".to_owned(), |load| load.to_string());
    format!("{cores} cores, Linux {}, load {load}{busy}", kernel.trim())
}

/// What a peer says of itself, or that it is not there.
#[must_use]
pub fn version(peer: &Contender) -> String {
    let says = || {
        let output = Command::new(peer.launcher.as_ref()?)
            .arg("--version")
            .output()
            .ok()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // MPICH's launcher has its version in a line of its own.
        let line = text
            .lines()
            .find(|line| line.contains(|c: char| c.is_ascii_digit()))?;
        Some(line.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let said = if peer.is_installed { says() } else { None };
    let missing = "not installed (Debian: openmpi-bin libopenmpi-dev mpich libmpich-dev)";
    format!("{}: {}", peer.name, said.as_deref().unwrap_or(missing))
}
