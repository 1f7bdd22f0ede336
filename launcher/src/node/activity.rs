//! What the processes of a rank are doing, as the system shows it in `/proc`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::Pid;

/// Milliseconds per tick of processor time in `/proc/PID/stat` (`USER_HZ` = 100).
const TICK_MS: u64 = 10;

/// The most threads that are looked at.
const THREADS_MAX: usize = 256;

/// What a file `stat` of a process or of a thread holds, proc_pid_stat(5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) state: char,
    /// Its process group.
    pub(super) group: i32,
    /// Processor time, of the program and of the system for it.
    pub(super) used: Duration,
}

impl Process {
    pub(super) fn of(pid: Pid) -> Option<Process> {
        Process::read(Path::new(&format!("/proc/{pid}")))
    }

    /// What the folder of a process or of a thread in `/proc` shows.
    pub(super) fn read(folder: &Path) -> Option<Process> {
        let text = std::fs::read(folder.join("stat")).ok()?;
        Process::parse(&String::from_utf8_lossy(&text))
    }

    fn parse(text: &str) -> Option<Process> {
        // The name of the program may hold anything.
        let (_, fields) = text.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        let ticks = |field: usize| fields.get(field)?.parse::<u64>().ok();
        let group = fields.get(2)?.parse().ok()?;
        let used = ticks(11)?.checked_add(ticks(12)?)?;
        Some(Process {
            state: fields.first()?.chars().next()?,
            group,
            used: Duration::from_millis(used.checked_mul(TICK_MS)?),
        })
    }

    /// Returns true if it neither runs nor waits for a core or for a disk.
    fn is_asleep(self) -> bool {
        !matches!(self.state, 'R' | 'D')
    }
}

/// The folders of the threads of a process.
fn tasks_of(process: &Path) -> impl Iterator<Item = PathBuf> {
    let tasks = std::fs::read_dir(process.join("task"))
        .into_iter()
        .flatten();
    tasks.flatten().map(|task| task.path())
}

/// The children of the process with this folder; none where the kernel does not list them.
pub(super) fn children_of(process: &Path) -> Vec<Pid> {
    let lists = tasks_of(process).map(|task| std::fs::read_to_string(task.join("children")));
    let lists: Vec<String> = lists.flatten().collect();
    let lists = lists.join(" ");
    let numbers = lists.split_ascii_whitespace().flat_map(str::parse);
    numbers.map(Pid::from_raw).collect()
}

/// The threads of a rank and of what it has started, by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Activity {
    threads: BTreeMap<i32, Process>,
}

impl Activity {
    /// What the threads of `pid` and of its children do now; `None` if the system does not show it.
    pub(super) fn of(pid: Pid) -> Option<Activity> {
        let mut activity = Activity::default();
        let mut processes = vec![pid];
        while let Some(process) = processes.pop() {
            let folder = PathBuf::from(format!("/proc/{process}"));
            for task in tasks_of(&folder) {
                let number = task.file_name()?.to_str()?.parse().ok();
                activity.threads.extend(number.zip(Process::read(&task)));
                if activity.threads.len() >= THREADS_MAX {
                    return Some(activity);
                }
            }
            processes.extend(children_of(&folder));
        }
        (!activity.threads.is_empty()).then_some(activity)
    }

    /// Returns true if each thread could have gone on since `first` was seen, and `last` after it:
    /// it has slept from then till now, or has run for `enough`. One that waits for a core cannot.
    pub(super) fn could_go_on(&self, first: &Activity, last: &Activity, enough: Duration) -> bool {
        self.threads.iter().all(|(number, now)| {
            let used = |before: &Activity| {
                let before = before.threads.get(number);
                now.used
                    .saturating_sub(before.map_or(Duration::ZERO, |it| it.used))
            };
            let before = last.threads.get(number);
            let has_slept = now.is_asleep() && before.is_some_and(|it| it.is_asleep());
            has_slept && used(last).is_zero() || used(first) >= enough
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Threads with these states and milliseconds of processor time.
    pub(in super::super) fn activity(threads: &[(char, u64)]) -> Activity {
        let threads = threads.iter().map(|(state, used_ms)| Process {
            state: *state,
            group: 1,
            used: Duration::from_millis(*used_ms),
        });
        Activity {
            threads: (1..).zip(threads).collect(),
        }
    }

    #[test]
    fn a_program_may_have_any_name() {
        let line = "42 (a) R (b)) T 1 42 42 0 -1 4194560 90 0 0 0 150 50 0 0 20 0 1 0 7 0 0";
        let process = Process {
            state: 'T',
            group: 42,
            used: Duration::from_secs(2),
        };
        assert_eq!(Process::parse(line), Some(process));
        for line in ["", "42 (a)", "42 (a) R 1 2 3"] {
            assert_eq!(Process::parse(line), None, "{line}");
        }
    }

    #[test]
    fn the_state_of_this_process_is_known() {
        let own = Process::of(Pid::this()).map(|it| it.state);
        assert!(own.is_some_and(|state| "RSD".contains(state)), "{own:?}");
    }

    #[test]
    fn this_thread_and_children_are_among_those_of_this_process() {
        let mut child = std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .unwrap();
        let seen = Activity::of(Pid::this()).unwrap();
        let numbers = [nix::unistd::gettid().as_raw(), child.id() as i32];
        assert!(numbers.iter().all(|it| seen.threads.contains_key(it)));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(Activity::of(Pid::from_raw(child.id() as i32)), None);
    }

    #[test]
    fn a_thread_that_waits_for_a_core_could_not_go_on() {
        let enough = Duration::from_millis(50);
        let goes = |first: &[_], last: &[_], now: &[_]| {
            activity(now).could_go_on(&activity(first), &activity(last), enough)
        };
        assert!(goes(&[('S', 10)], &[('S', 10)], &[('S', 10)]));
        assert!(!goes(&[('S', 10)], &[('S', 10)], &[('S', 20)]));
        assert!(!goes(&[('R', 10)], &[('R', 10)], &[('S', 10)]));
        assert!(!goes(&[('R', 10)], &[('R', 30)], &[('R', 50)]));
        assert!(goes(&[('R', 10)], &[('R', 50)], &[('R', 60)]));
        // Others of the rank have the cores.
        let before = [('R', 10), ('R', 10)];
        assert!(!goes(&before, &before, &[('R', 900), ('R', 10)]));
        assert!(goes(&before, &before, &[('R', 900), ('R', 80)]));
    }
}
