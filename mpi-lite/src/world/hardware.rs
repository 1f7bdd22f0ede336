//! The parts of this machine, and to which of them this process is bound, as Linux tells it.

use std::fs;

use rustix::thread::{CpuSet, sched_getaffinity};

/// A kind of part of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name.
    pub name: &'static str,
    /// The number of the one to which this process is bound; `None` if it may run on several of
    /// them, or the system does not tell.
    pub number: Option<u32>,
}

/// Returns the kinds of parts, the largest first: machine, package, NUMA node, core. They are the
/// same on all machines.
#[must_use]
pub fn parts() -> [Part; 4] {
    let allowed = sched_getaffinity(None).unwrap_or_default();
    let all = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu));
    let allowed: Vec<usize> = all.collect();
    let bound = |number: fn(usize) -> Option<u32>| common(allowed.iter().map(|&cpu| number(cpu)));
    [
        ("mpi-lite://machine", Some(0)),
        ("mpi-lite://package", bound(package)),
        ("mpi-lite://numa", bound(numa_node)),
        ("mpi-lite://core", bound(core)),
    ]
    .map(|(name, number)| Part { name, number })
}

/// The number that all have.
fn common(mut numbers: impl Iterator<Item = Option<u32>>) -> Option<u32> {
    let first = numbers.next()??;
    numbers.all(|number| number == Some(first)).then_some(first)
}

fn package(cpu: usize) -> Option<u32> {
    topology(cpu, "physical_package_id")
}

/// The first of the processors that share its core: unlike the numbers of cores, it is unique.
fn core(cpu: usize) -> Option<u32> {
    topology(cpu, "thread_siblings_list")
}

/// The first number of a file of the system about a processor.
fn topology(cpu: usize, file: &str) -> Option<u32> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/{file}");
    first_number(&fs::read_to_string(path).ok()?)
}

/// The folder of a processor has a link to its node, by name.
fn numa_node(cpu: usize) -> Option<u32> {
    let files = fs::read_dir(format!("/sys/devices/system/cpu/cpu{cpu}")).ok()?;
    let mut names = files.flatten().map(|file| file.file_name());
    names.find_map(|name| name.to_str()?.strip_prefix("node")?.parse().ok())
}

fn first_number(text: &str) -> Option<u32> {
    let mut numbers = text.split(|letter: char| !letter.is_ascii_digit());
    numbers.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_bound_to_what_all_its_processors_have_in_common() {
        assert_eq!(common([Some(3), Some(3)].into_iter()), Some(3));
        assert_eq!(common([Some(3), Some(4)].into_iter()), None);
        assert_eq!(common([Some(3), None].into_iter()), None);
        assert_eq!(common([].into_iter()), None);
    }

    #[test]
    fn lists_of_processors_begin_with_the_first() {
        assert_eq!(first_number("2-3,6\n"), Some(2));
        assert_eq!(first_number("-1\n"), None);
        assert_eq!(first_number(""), None);
    }
}
