//! What a reader must know of the machine to judge its figures.

use std::fs;
use std::thread::available_parallelism;
use std::time::Duration;

use crate::contender::Contender;

/// If more processes than this run beside us, figures are doubtful.
const QUIET: f64 = 0.5;
/// How often we look, and how long we wait in between.
const LOOKS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(10);

/// How many processes run beside us: the mean of some looks. The usual load also counts what ran
/// in the minute before, our own compiler for instance.
fn others_running() -> Option<f64> {
    let mut sum = 0.0;
    for _ in 0..LOOKS {
        let text = fs::read_to_string("/proc/loadavg").ok()?;
        let running: f64 = text.split(' ').nth(3)?.split_once('/')?.0.parse().ok()?;
        sum += (running - 1.0).max(0.0);
        std::thread::sleep(PAUSE);
    }
    Some(sum / f64::from(LOOKS))
}

/// Whether others use the machine, as it is now.
#[must_use]
pub fn is_busy() -> bool {
    others_running().is_some_and(|others| others > QUIET)
}

/// Cores, kernel and what else runs, in one line; and a second line if the machine is busy.
#[must_use]
pub fn describe() -> String {
    let others = others_running();
    let busy = if others.is_some_and(|others| others > QUIET) {
        "\nothers use this machine: doubt figures that took their time, trust counts"
    } else {
        ""
    };
    let others = others.map_or_else(|| "unknown".to_owned(), |others| format!("{others:.1}"));
    let machine = cores_and_kernel();
    format!("{machine}, other processes running: {others}{busy}")
}

/// `2 cores, Linux 6.1.0`.
#[must_use]
pub(crate) fn cores_and_kernel() -> String {
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{} cores, Linux {}", cores(), kernel.trim())
}

/// What a peer says of itself, or how to get it.
#[must_use]
pub fn version(peer: &Contender) -> String {
    let missing = || format!("not installed ({})", peer.source);
    format!("{}: {}", peer.name, peer.version().unwrap_or_else(missing))
}

/// The numbers of the cores that this process may use.
pub(crate) fn allowed_cores() -> Vec<usize> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.map(|list| numbers_of(list.trim())).unwrap_or_default()
}

/// The numbers of a list as the kernel writes it: `0-2,5`.
fn numbers_of(list: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// How many cores this process may use.
#[must_use]
pub fn cores() -> usize {
    available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_cores_has_numbers_and_ranges() {
        assert_eq!(numbers_of("0-2,5"), [0, 1, 2, 5]);
        assert_eq!(numbers_of("3"), [3]);
        assert_eq!(numbers_of(""), [0; 0]);
        assert_eq!(allowed_cores().len(), cores());
    }
}
