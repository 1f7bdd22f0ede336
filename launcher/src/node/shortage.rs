//! Ranks that were killed since they had too little memory.

use std::path::PathBuf;

use mpi_boot::machine;
use nix::sys::resource::{Resource, getrlimit, rlim_t};
use nix::sys::signal::Signal;

use crate::wire::Ended;

/// A stack below this is too small for many a program; the usual limit is 8 MiB.
const LITTLE_STACK: rlim_t = 1 << 20;

/// How many processes the system has killed, of those that count together with this one; and what
/// the stack of a rank may take.
#[derive(Debug, Default)]
pub(super) struct Shortage {
    stack_bytes: rlim_t,
    root: PathBuf,
    kills: u64,
}

impl Shortage {
    /// Counts from now on, by `proc` and `sys` in this folder.
    pub(super) fn below(root: PathBuf) -> Shortage {
        let kills = machine::memory_kills(&root);
        let stack = getrlimit(Resource::RLIMIT_STACK);
        Shortage {
            stack_bytes: stack.map_or(rlim_t::MAX, |(soft, _)| soft),
            root,
            kills,
        }
    }

    /// Returns how a rank ended that this signal killed.
    pub(super) fn explain(&mut self, signal: Signal) -> Ended {
        if signal == Signal::SIGSEGV && self.stack_bytes < LITTLE_STACK {
            let limit = self.stack_bytes;
            return Ended::LittleStack { limit };
        }
        if signal != Signal::SIGKILL {
            return Ended::Killed(signal as i32);
        }
        let before = std::mem::replace(&mut self.kills, machine::memory_kills(&self.root));
        match self.kills > before {
            true => Ended::OutOfMemory {
                limit: machine::memory_limit_bytes(&self.root),
            },
            false => Ended::Killed(signal as i32),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const GROUPS: &str = "proc/self/cgroup";

    /// A system with these files.
    fn system(files: &[(&str, &str)]) -> tempfile::TempDir {
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
        let events = "sys/fs/cgroup/job/memory.events";
        let control = "sys/fs/cgroup/memory/job/memory.oom_control";
        let second = [
            (GROUPS, "0::/job\n"),
            (events, "oom 7\noom_kill 2\n"),
            ("sys/fs/cgroup/job/memory.max", "max\n"),
            ("sys/fs/cgroup/memory.max", "1048576\n"),
        ];
        let first = [
            (GROUPS, "5:cpu,memory:/job\n0::/\n"),
            (control, "oom_kill_disable 0\noom_kill 2\n"),
            (
                "sys/fs/cgroup/memory/job/memory.limit_in_bytes",
                "1048576\n",
            ),
            (
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
        ];
        for (files, counter) in [(second, events), (first, control)] {
            let root = system(&files);
            let mut shortage = Shortage::below(root.path().into());
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
    fn a_little_stack_may_be_why_a_rank_went_beyond_its_memory() {
        let root = system(&[]);
        let mut shortage = Shortage::below(root.path().into());
        for (stack_bytes, expected) in [
            (64 << 10, Ended::LittleStack { limit: 64 << 10 }),
            (8 << 20, Ended::Killed(11)),
        ] {
            shortage.stack_bytes = stack_bytes;
            assert_eq!(shortage.explain(Signal::SIGSEGV), expected);
            assert_eq!(shortage.explain(Signal::SIGKILL), Ended::Killed(9));
        }
    }

    #[test]
    fn a_container_whose_path_is_that_outside_of_it_has_the_group_of_the_root() {
        let counter = "sys/fs/cgroup/memory/memory.oom_control";
        let root = system(&[
            (GROUPS, "4:memory:/docker/0123\n"),
            (counter, "oom_kill 0\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n"),
        ]);
        let mut shortage = Shortage::below(root.path().into());
        write(&root, counter, "oom_kill 1\n");
        let limit = Some(4096);
        assert_eq!(
            shortage.explain(Signal::SIGKILL),
            Ended::OutOfMemory { limit }
        );
    }

    #[test]
    fn without_groups_the_machine_counts() {
        let counter = "proc/vmstat";
        let root = system(&[(GROUPS, "0::/\n"), (counter, "pgpgin 7\noom_kill 3\n")]);
        let mut shortage = Shortage::below(root.path().into());
        write(&root, counter, "pgpgin 8\noom_kill 4\n");
        let limit = None;
        assert_eq!(
            shortage.explain(Signal::SIGKILL),
            Ended::OutOfMemory { limit }
        );
    }
}
