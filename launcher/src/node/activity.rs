//! What the processes of a rank are doing, as the system shows it in `/proc`.

use std::collections::BTreeMap;
use std::path::Path;
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
    /// Processor time, of the program and of the system for it.
    pub(super) used: Duration,
}

impl Process {
    pub(super) fn of(pid: Pid) -> Option<Process> {
        Process::read(Path::new(&format!("/proc/{pid}")))
    }

    fn read(folder: &Path) -> Option<Process> {
        let text = std::fs::read(folder.join("stat")).ok()?;
        Process::parse(&String::from_utf8_lossy(&text))
    }

    fn parse(text: &str) -> Option<Process> {
        // The name of the program may hold anything.
        let (_, fields) = text.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
        let ticks = |field: usize| fields.get(field)?.parse::<u64>().ok();
        let used = ticks(11)?.checked_add(ticks(12)?)?;
        Some(Process {
            state: fields.first()?.chars().next()?,
            used: Duration::from_millis(used.checked_mul(TICK_MS)?),
        })
    }

    /// Returns true if it neither runs nor waits for a core or for a disk.
    fn is_asleep(self) -> bool {
        !matches!(self.state, 'R' | 'D')
    }
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
        let mut processes = vec![pid.as_raw()];
        while let Some(process) = processes.pop() {
            let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
            for task in tasks.into_iter().flatten().flatten() {
                let number = task.file_name().to_string_lossy().parse().ok();
                let state = Process::read(&task.path());
                activity.threads.extend(number.zip(state));
                let children = std::fs::read_to_string(task.path().join("children"));
                let children = children.unwrap_or_default();
                let children = children.split_ascii_whitespace();
                processes.extend(children.filter_map(|child| child.parse::<i32>().ok()));
                if activity.threads.len() >= THREADS_MAX {
                    return Some(activity);
                }
            }
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
