//! What the machine has, as this process may use it.

use std::fs::read_to_string;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};

/// Bytes of memory that this process and others with it may use: of the machine, or of the control
/// group (a container, a job) that allows less. `None` if the system reports nothing.
///
/// Source: `proc(5)`, `cgroups(7)`; Linux, Documentation/admin-guide/cgroup-v2.rst and
/// cgroup-v1/memory.rst.
#[must_use]
pub fn memory_bytes() -> Option<u64> {
    memory_below(Path::new("/"))
}

fn memory_below(root: &Path) -> Option<u64> {
    limits(root).chain(installed_bytes(root)).min()
}

/// Bytes of memory that the control group of this process allows, if that is less than the machine
/// has. `root` is the folder of `proc` and `sys`.
#[must_use]
pub fn memory_limit_bytes(root: &Path) -> Option<u64> {
    let installed = installed_bytes(root).unwrap_or(u64::MAX);
    limits(root).min().filter(|limit| *limit < installed)
}

/// How many processes the system has killed since memory was short: of the control group of this
/// process, or of the whole machine where groups count none. `root` is the folder of `proc` and
/// `sys`.
///
/// Source: Linux, Documentation/admin-guide/cgroup-v2.rst (`memory.events`) and
/// cgroup-v1/memory.rst (`memory.oom_control`); `proc(5)` (`vmstat`).
#[must_use]
pub fn memory_kills(root: &Path) -> u64 {
    let of_groups = groups(root, "memory").into_iter();
    let of_groups = of_groups.map(|(version, folder)| {
        folder.join(match version {
            Version::First => "memory.oom_control",
            Version::Second => "memory.events",
        })
    });
    let counters = of_groups.chain([root.join("proc/vmstat")]);
    let mut counts = counters.filter_map(|counter| {
        let text = read_to_string(counter).ok()?;
        let mut numbers = text
            .lines()
            .filter_map(|line| line.strip_prefix("oom_kill "));
        numbers.next()?.trim().parse().ok()
    });
    counts.next().unwrap_or(0)
}

/// What processes of one machine have in common, those of one container if they run in one.
#[must_use]
pub fn identity() -> Option<String> {
    let boot = read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let mut identity = boot.trim().to_string();
    for space in ["net", "pid"] {
        let inode = std::fs::metadata(format!("/proc/self/ns/{space}"))
            .ok()?
            .ino();
        identity += &format!(" {inode}");
    }
    Some(identity)
}

/// A line for a human: this process cannot do `what`, because of `error` of the system, and what to
/// raise or to allow.
#[cold]
#[must_use]
pub fn cannot(what: &str, error: &io::Error) -> String {
    let advice = error.raw_os_error().map_or_else(String::new, advice);
    format!("cannot {what}: {error}{advice}")
}

/// What helps against `error` where something new is to be had of the system; empty if nothing is
/// known.
fn advice(error: i32) -> String {
    match error {
        libc::EMFILE => format!(
            "; {}: raise ulimit -n",
            limit(Resource::Nofile, "open files of this process")
        ),
        libc::ENFILE => "; the whole machine has too many open files: raise sysctl fs.file-max, \
                         or end other programs"
            .into(),
        libc::EAGAIN => {
            let of_user = getrlimit(Resource::Nproc).current;
            match processes_limit(Path::new("/"), of_user) {
                Some(limit) => format!(
                    "; the limit is {limit} processes and threads of the control group (pids.max): \
                     raise that of the container or of the job, or start fewer ranks here"
                ),
                None => format!(
                    "; {}: raise ulimit -u; memory may be short, too (ulimit -v)",
                    limit(Resource::Nproc, "processes and threads of this user")
                ),
            }
        }
        libc::ENOMEM => format!(
            "; {}: raise ulimit -v or the memory limit of the container",
            limit(Resource::As, "bytes of memory of this process")
        ),
        libc::EPERM | libc::EACCES | libc::ENOSYS => {
            "; does a sandbox (seccomp, a container's profile) forbid it? Allow it there".into()
        }
        _ => String::new(),
    }
}

fn limit(of: Resource, what: &str) -> String {
    match getrlimit(of).current {
        Some(limit) => format!("the limit is {limit} {what}"),
        None => format!("{what} have no limit of their own"),
    }
}

/// `MemTotal:       24684096 kB`
fn installed_bytes(root: &Path) -> Option<u64> {
    let meminfo = read_to_string(root.join("proc/meminfo")).ok()?;
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// How many processes and threads the control group of this process may have, if it is that which
/// hinders a new one: a group that is full, or one that allows less than the user may have.
///
/// Source: Linux, Documentation/admin-guide/cgroup-v2.rst (`pids.max`) and cgroup-v1/pids.rst.
fn processes_limit(root: &Path, of_user: Option<u64>) -> Option<u64> {
    let number = |path: PathBuf| -> Option<u64> { read_to_string(path).ok()?.trim().parse().ok() };
    let of_groups = groups(root, "pids").into_iter();
    let limits = of_groups.filter_map(|(_, folder)| {
        let limit = number(folder.join("pids.max"))?;
        let is_full = number(folder.join("pids.current")).is_some_and(|it| it >= limit);
        Some((!is_full, limit))
    });
    let (has_room, limit) = limits.min()?;
    (!has_room || of_user.is_none_or(|of_user| limit < of_user)).then_some(limit)
}

/// The two versions of control groups.
#[derive(Debug, Clone, Copy)]
enum Version {
    First,
    Second,
}

/// The groups of this process for which `controller` counts, each before those around it.
fn groups(root: &Path, controller: &str) -> Vec<(Version, PathBuf)> {
    let text = read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let of_lines = text
        .lines()
        .filter_map(|line| groups_of(root, line, controller));
    of_lines.flatten().collect()
}

/// The groups that a line names: `0::/path` of version 2, where one hierarchy is for everything, or
/// `4:memory:/path` of version 1.
fn groups_of(root: &Path, line: &str, controller: &str) -> Option<Vec<(Version, PathBuf)>> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, path) = (parts.next()?, parts.next()?);
    let mount = root.join("sys/fs/cgroup");
    let (version, mount) = if controllers.is_empty() {
        (Version::Second, mount)
    } else if controllers.split(',').any(|name| name == controller) {
        (Version::First, mount.join(controller))
    } else {
        return None;
    };
    // The path may exist only outside of the container: then its root still counts.
    let groups = Path::new(path.trim_start_matches('/')).ancestors();
    let folders = groups.map(|group| (version, mount.join(group)));
    Some(folders.collect())
}

/// The limits of the groups of this process, in bytes.
fn limits(root: &Path) -> impl Iterator<Item = u64> {
    let of_groups = groups(root, "memory").into_iter();
    of_groups.filter_map(|(version, folder)| {
        let text = read_to_string(folder.join(match version {
            Version::First => "memory.limit_in_bytes",
            Version::Second => "memory.max",
        }));
        // `max`: no limit.
        text.ok()?.trim().parse().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A system with these files, gone at the end.
    struct System(PathBuf);

    impl System {
        fn of(name: &str, files: &[(&str, &str)]) -> Self {
            let name = format!("mpi-lite-machine-{}-{name}", std::process::id());
            let root = std::env::temp_dir().join(name);
            for (path, text) in files {
                let path = root.join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            }
            Self(root)
        }
    }

    impl Drop for System {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal:   1048576 kB\nMemFree: 5 kB\n");
    const INSTALLED: u64 = 1 << 30;

    fn check(name: &str, files: &[(&str, &str)], expected: Option<u64>) {
        let system = System::of(name, files);
        assert_eq!(memory_below(&system.0), expected, "{name}");
    }

    #[test]
    fn a_limit_of_processes_is_that_of_the_group_which_hinders() {
        let of_second = ("proc/self/cgroup", "0::/a/b\n");
        let of_first = ("proc/self/cgroup", "7:pids:/a/b\n5:memory:/\n");
        let folders = [
            (of_second, "sys/fs/cgroup"),
            (of_first, "sys/fs/cgroup/pids"),
        ];
        for (version, (groups, mount)) in folders.into_iter().enumerate() {
            let check = |max: &str, current: &str, of_user, expected| {
                let path = |name| format!("{mount}/a/{name}");
                let paths = [path("pids.max"), path("pids.current")];
                let files = [groups, (&*paths[0], max), (&*paths[1], current)];
                let system = System::of(&format!("pids {version}"), &files);
                assert_eq!(processes_limit(&system.0, of_user), expected, "{max}");
            };
            check("12\n", "7\n", Some(96_365), Some(12));
            check("12\n", "7\n", None, Some(12));
            check("12\n", "7\n", Some(10), None);
            check("12\n", "12\n", Some(10), Some(12));
            check("max\n", "12\n", Some(96_365), None);
        }
        let nothing = System::of("no pids", &[of_first]);
        assert_eq!(processes_limit(&nothing.0, None), None);
    }

    #[test]
    fn the_least_of_machine_and_control_groups_counts() {
        check("nothing", &[("proc/self/cgroup", "")], None);
        check("machine", &[MEMINFO], Some(INSTALLED));
        let groups = ("proc/self/cgroup", "0::/a/b\n");
        let (free, tight) = ("max\n", "4096000\n");
        let (inner, outer) = ("sys/fs/cgroup/a/b/memory.max", "sys/fs/cgroup/a/memory.max");
        let files = [MEMINFO, groups, (inner, free), (outer, tight)];
        check("version 2, a group around", &files, Some(4_096_000));
        check(
            "version 2, no limit",
            &[MEMINFO, groups, (inner, free)],
            Some(INSTALLED),
        );
        let groups = ("proc/self/cgroup", "5:cpu:/\n4:memory:/x/y\n0::/\n");
        let inner = "sys/fs/cgroup/memory/x/y/memory.limit_in_bytes";
        let files = [MEMINFO, groups, (inner, "8192\n")];
        check("version 1", &files, Some(8192));
        // Without a limit version 1 reports the greatest number.
        let files = [MEMINFO, groups, (inner, "9223372036854771712\n")];
        check("version 1, no limit", &files, Some(INSTALLED));
        let mount = "sys/fs/cgroup/memory/memory.limit_in_bytes";
        let files = [MEMINFO, groups, (mount, "12288\n")];
        check("version 1, in a container", &files, Some(12288));
    }

    #[test]
    fn an_error_names_what_cannot_be_had_the_limit_and_what_to_raise() {
        for (error, words) in [
            (
                libc::EMFILE,
                ["Too many open files", " open files", "ulimit -n"],
            ),
            (
                libc::ENFILE,
                ["Too many open files", "machine", "fs.file-max"],
            ),
            (
                libc::EAGAIN,
                ["unavailable", "processes and threads of", ": raise"],
            ),
            (
                libc::ENOMEM,
                ["allocate memory", " bytes of memory", "ulimit -v"],
            ),
            (libc::EPERM, ["not permitted", "sandbox", "Allow it"]),
            (libc::ENOSYS, ["not implemented", "sandbox", "seccomp"]),
        ] {
            let line = cannot("make a thing", &io::Error::from_raw_os_error(error));
            assert!(line.starts_with("cannot make a thing: "), "{line}");
            let has_all = words.iter().all(|word| line.contains(word));
            assert!(has_all, "{words:?} in {line}");
        }
        let other = cannot("make a thing", &io::Error::other("odd"));
        assert_eq!(other, "cannot make a thing: odd");
    }

    #[test]
    fn this_machine_has_memory() {
        assert!(memory_bytes().is_some_and(|bytes| bytes > 1 << 20));
    }
}
