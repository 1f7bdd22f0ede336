//! Ranks that the system killed since memory was short. The system counts such kills for each group
//! of processes (cgroups(7)), and for the whole machine (`/proc/vmstat`).

use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;

use crate::wire::Ended;

/// Where the groups are on every usual system.
const GROUPS: &str = "/sys/fs/cgroup";

/// A group of processes that has limits: its files, in both versions of the interface.
const COUNTERS: [&str; 2] = ["memory.events", "memory.oom_control"];
const LIMITS: [&str; 2] = ["memory.max", "memory.limit_in_bytes"];

/// A limit that is none, in bytes: the first version writes the highest number of whole pages.
const NO_LIMIT: u64 = 1 << 60;

/// How many processes were killed, of those that count together with this one.
#[derive(Debug)]
pub(super) struct Shortage {
    /// The folder of the group, unless the machine counts.
    group: Option<PathBuf>,
    counter: PathBuf,
    kills: u64,
}

impl Shortage {
    /// Counts the kills in the group of this process from now on.
    pub(super) fn new() -> Shortage {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Shortage::below(Path::new(GROUPS), &groups)
    }

    /// Counts for a process of `groups`, a text as in `/proc/self/cgroup`; their folders are in
    /// `root`.
    fn below(root: &Path, groups: &str) -> Shortage {
        let counter_in = |folder: &PathBuf| {
            let files = COUNTERS.map(|name| folder.join(name));
            files.into_iter().find(|file| file.exists())
        };
        let mut folders = folders(root, groups).into_iter();
        let found = folders.find_map(|folder| Some((counter_in(&folder)?, folder)));
        let (counter, group) = match found {
            Some((counter, folder)) => (counter, Some(folder)),
            None => ("/proc/vmstat".into(), None),
        };
        Shortage {
            kills: kills(&counter),
            group,
            counter,
        }
    }

    /// Returns how a rank ended that this signal killed.
    pub(super) fn explain(&mut self, signal: Signal) -> Ended {
        if signal != Signal::SIGKILL {
            return Ended::Killed(signal as i32);
        }
        let before = std::mem::replace(&mut self.kills, kills(&self.counter));
        match self.kills > before {
            true => Ended::OutOfMemory {
                limit: self.group.as_deref().and_then(limit),
            },
            false => Ended::Killed(signal as i32),
        }
    }
}

/// The folders that may be this process's group, the likeliest first. In a container the path may
/// be that outside of it, while the folder of the container is the root.
fn folders(root: &Path, groups: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
            continue;
        };
        let mount = match controllers {
            "" => root.to_path_buf(),
            _ if controllers.split(',').any(|it| it == "memory") => root.join("memory"),
            _ => continue,
        };
        folders.extend([mount.join(path.trim_start_matches('/')), mount]);
    }
    folders
}

/// The number after `oom_kill` in a file of lines "name number"; 0 if there is none.
fn kills(counter: &Path) -> u64 {
    let text = fs::read_to_string(counter).unwrap_or_default();
    let mut numbers = text.lines().filter_map(|line| {
        let (name, number) = line.split_once(' ')?;
        (name == "oom_kill").then(|| number.trim().parse().ok())?
    });
    numbers.next().unwrap_or(0)
}

/// The lowest limit of a group and of those that it is in, in bytes.
fn limit(group: &Path) -> Option<u64> {
    let of = |folder: &Path| {
        let texts = LIMITS.map(|name| fs::read_to_string(folder.join(name)));
        let bytes = texts.into_iter().flatten().next()?.trim().parse().ok();
        bytes.filter(|bytes| *bytes < NO_LIMIT)
    };
    group.ancestors().filter_map(of).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of groups with these files.
    fn groups(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("in a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        root
    }

    fn write(root: &tempfile::TempDir, path: &str, text: &str) {
        fs::write(root.path().join(path), text).expect("a file");
    }

    #[test]
    fn a_kill_for_memory_has_the_lowest_limit_in_both_versions_of_groups() {
        let (events, control) = ("job/memory.events", "memory/job/memory.oom_control");
        let second = [
            (events, "oom 7\noom_kill 2\n"),
            ("job/memory.max", "max\n"),
            ("memory.max", "1048576\n"),
        ];
        let first = [
            (control, "oom_kill_disable 0\noom_kill 2\n"),
            ("memory/job/memory.limit_in_bytes", "1048576\n"),
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ];
        let of_process = ["0::/job\n", "5:cpu,memory:/job\n0::/\n"];
        for ((files, counter), of_process) in [(second, events), (first, control)]
            .into_iter()
            .zip(of_process)
        {
            let root = groups(&files);
            let mut shortage = Shortage::below(root.path(), of_process);
            assert_eq!(shortage.explain(Signal::SIGKILL), Ended::Killed(9));
            write(&root, counter, "oom 8\noom_kill 3\n");
            assert_eq!(shortage.explain(Signal::SIGSEGV), Ended::Killed(11));
            let limit = Some(1 << 20);
            assert_eq!(
                shortage.explain(Signal::SIGKILL),
                Ended::OutOfMemory { limit }
            );
            assert_eq!(shortage.explain(Signal::SIGKILL), Ended::Killed(9));
        }
    }

    #[test]
    fn a_container_whose_path_is_that_outside_of_it_has_the_group_of_the_root() {
        let root = groups(&[
            ("memory/memory.oom_control", "oom_kill 0\n"),
            ("memory/memory.limit_in_bytes", "4096\n"),
        ]);
        let mut shortage = Shortage::below(root.path(), "4:memory:/docker/0123\n");
        write(&root, "memory/memory.oom_control", "oom_kill 1\n");
        let limit = Some(4096);
        assert_eq!(
            shortage.explain(Signal::SIGKILL),
            Ended::OutOfMemory { limit }
        );
    }

    #[test]
    fn without_groups_the_machine_counts() {
        let root = groups(&[]);
        let shortage = Shortage::below(root.path(), "0::/\n");
        assert_eq!(shortage.counter, Path::new("/proc/vmstat"));
    }
}
