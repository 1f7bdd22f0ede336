//! Ranks that have loaded the library of another MPI, and of which nobody hears.
//!
//! A program whose file names no MPI (a script, Python) may load Open MPI's library when it runs.
//! That one does not find our launcher, and each process is rank 0 of a job of its own. We see it
//! in the list of what its process has mapped (`/proc/PID/maps`), as long as it lives. So we look
//! early and often at first, at times that grow with its age, also when it writes, but then not
//! before a twentieth of its age has gone by; never at a rank that has called Init, nor at one
//! whose file names our library. After each look the whole watch rests. A library that is mapped
//! need not be used: a rank has time to call our Init before it is reported. It is reported as well
//! if what had loaded the library has ended meanwhile: a script may work on after that.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::unistd::Pid;

use super::activity::{Process, children_of};
use crate::node::elf::{self, Mpi};

/// When a rank is looked at for the first time, and the least time between two looks: a tenth of
/// what an Init of Open MPI takes.
const FIRST: Duration = Duration::from_millis(4);

/// How long a rank with the library of another MPI has to call our Init.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many processes of a rank are looked at.
const PROCESSES_MAX: usize = 64;

/// How many ranks are looked at in one go: a few milliseconds.
const RANKS_AT_ONCE: usize = 32;

/// After a look we do other things for so many times what it took.
const REST: u32 = 20;

/// A rank that writes is not looked at again before this part of its age has gone by: whoever
/// writes all the time is looked at some 400 times in a day.
const WRITER_PART: u32 = 20;

/// A rank that has not called Init.
#[derive(Debug)]
struct Suspect {
    pid: Pid,
    started: Instant,
    looked: Instant,
    next: Instant,
    /// The library that it has loaded, and when that was seen first.
    library: Option<(String, Instant)>,
}

impl Suspect {
    fn age(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.started)
    }
}

/// What the processes of a rank have mapped.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    /// A library of a strange MPI.
    Strange(String),
    /// Ours, and no strange one beside it in another process.
    Own,
    Nothing,
}

/// The watch over the ranks of a node.
#[derive(Debug, Default)]
pub(super) struct Strangers {
    proc: PathBuf,
    /// By place.
    suspects: Vec<Option<Suspect>>,
    /// Ranks with a channel for PMI: MPICH's library will speak there.
    pub(super) have_pmi: bool,
    resting_until: Option<Instant>,
}

impl Strangers {
    /// A watch that looks into this folder, `/proc` but for tests.
    pub(super) fn below(proc: PathBuf) -> Strangers {
        Strangers {
            proc,
            ..Strangers::default()
        }
    }

    /// Adds the next rank, which is watched or not.
    pub(super) fn add(&mut self, pid: Pid, is_watched: bool, now: Instant) {
        self.suspects.push(is_watched.then(|| Suspect {
            pid,
            started: now,
            looked: now,
            next: now + FIRST,
            library: None,
        }));
    }

    /// The rank has spoken to us, as a program of MPI.
    pub(super) fn clear(&mut self, place: usize) {
        self.suspects[place] = None;
    }

    /// When [`Strangers::look`] is to be called.
    pub(super) fn wake_at(&self) -> Option<Instant> {
        let next = self.suspects.iter().flatten().map(|it| it.next).min()?;
        Some(self.resting_until.map_or(next, |until| next.max(until)))
    }

    /// Looks at the ranks whose time has come. Returns the places of those that are to be reported,
    /// each with its library; they are watched no longer.
    pub(super) fn look(&mut self, now: Instant) -> Vec<(usize, String)> {
        if self.resting_until.is_some_and(|until| now < until) {
            return Vec::new();
        }
        let suspects = self.suspects.iter().enumerate();
        let due = suspects.filter_map(|(place, it)| Some((it.as_ref()?.next, place)));
        let mut due: Vec<_> = due.filter(|(next, _)| *next <= now).collect();
        due.sort_unstable();
        due.truncate(RANKS_AT_ONCE);
        let begun = Instant::now();
        let places = due.into_iter().map(|(_, place)| place);
        let found = places.filter_map(|place| Some((place, self.look_at(place, now)?)));
        let found = found.collect();
        self.resting_until = Some(now + begun.elapsed() * REST);
        found
    }

    /// The rank has written something: it may be its last sign of life.
    pub(super) fn look_at_writer(&mut self, place: usize, now: Instant) {
        let is_resting = self.resting_until.is_some_and(|until| now < until);
        let Some(suspect) = self.suspects[place].as_ref().filter(|_| !is_resting) else {
            return;
        };
        let pause = (suspect.age(now) / WRITER_PART).max(FIRST);
        if suspect.library.is_none() && suspect.looked + pause <= now {
            let begun = Instant::now();
            self.look_at(place, now);
            self.resting_until = Some(now + begun.elapsed() * REST);
        }
    }

    /// The rank has ended. Returns the library that is to be reported, if there is one.
    pub(super) fn end(&mut self, place: usize) -> Option<String> {
        let (library, _) = self.suspects[place].take()?.library?;
        Some(library)
    }

    /// Returns the library of a rank that is to be reported.
    fn look_at(&mut self, place: usize, now: Instant) -> Option<String> {
        let have_pmi = self.have_pmi;
        let suspect = self.suspects[place].as_mut()?;
        suspect.looked = now;
        suspect.next = now + (suspect.age(now) / 2).max(FIRST);
        let is_strange = |mpi| mpi == Mpi::OpenMpi || (mpi == Mpi::Mpich && !have_pmi);
        match look_into(&self.proc, suspect.pid, &is_strange) {
            Seen::Strange(library) => {
                suspect.library.get_or_insert((library, now));
            }
            // It is about to call Init.
            Seen::Own => suspect.library = None,
            Seen::Nothing => {}
        }
        let (library, seen) = suspect.library.as_mut()?;
        if *seen + PATIENCE <= now {
            let library = std::mem::take(library);
            self.clear(place);
            return Some(library);
        }
        suspect.next = suspect.next.min(*seen + PATIENCE);
        None
    }
}

/// What a process has mapped, and those that it has started. Those of another process group are of
/// another launcher.
fn look_into(proc: &Path, pid: Pid, is_strange: &dyn Fn(Mpi) -> bool) -> Seen {
    let folder_of = |pid: Pid| proc.join(pid.to_string());
    let group_of = |pid| Process::read(&folder_of(pid)).map(|it| it.group);
    let Some(group) = group_of(pid) else {
        return Seen::Nothing;
    };
    let mut processes = vec![pid];
    let (mut next, mut seen) = (0, Seen::Nothing);
    while let Some(process) = processes.get(next).copied() {
        next += 1;
        match mapped(&folder_of(process), is_strange) {
            Seen::Strange(library) => return Seen::Strange(library),
            Seen::Own => seen = Seen::Own,
            Seen::Nothing => {}
        }
        let room = PROCESSES_MAX - processes.len();
        let children = children_of(&folder_of(process)).into_iter();
        let of_group = children.filter(|child| group_of(*child) == Some(group));
        processes.extend(of_group.take(room));
    }
    seen
}

/// What a process has mapped. Ours counts if there are two.
fn mapped(process: &Path, is_strange: &dyn Fn(Mpi) -> bool) -> Seen {
    let maps = fs::read(process.join("maps")).unwrap_or_default();
    let mut seen = Seen::Nothing;
    for line in maps.split(|byte| *byte == b'\n') {
        let Some(name) = line.rsplit(|byte| *byte == b'/').next() else {
            continue;
        };
        // Most lines are of other files, or of none.
        if !name.starts_with(b"libmpi") || name.len() == line.len() {
            continue;
        }
        let name = String::from_utf8_lossy(name);
        match elf::owner(&name) {
            Some(Mpi::Own) => return Seen::Own,
            Some(mpi) if is_strange(mpi) => seen = Seen::Strange(name.into_owned()),
            _ => {}
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const OPEN_MPI: &str = "7f1000-7f2000 r-xp 0 08:01 9 /usr/lib/libmpi.so.40.30.4\n";
    const MPICH: &str = "7f1000-7f2000 r-xp 0 08:01 9 /opt/a b/libmpi.so.12.2.0 (deleted)\n";
    const OWN: &str = "7f3000-7f4000 r-xp 0 08:01 8 /opt/lib/libmpi_abi.so.1.0.0\n";
    const OTHER: &str = "7f5000-7f6000 r-xp 0 08:01 7 /lib/libc.so.6\n7f7000-7f8000 rw-p 0 0 0\n";

    /// A folder with these processes: number, group, children, maps.
    fn system(processes: &[(i32, i32, &str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        for (pid, group, children, maps) in processes {
            let folder = root.path().join(pid.to_string());
            let task = folder.join(format!("task/{pid}"));
            fs::create_dir_all(&task).expect("a folder");
            let stat = format!("{pid} (a ) b) S 1 {group} 1 0 -1 0 0 0 0 0 0 0");
            let files = [(folder.join("stat"), &*stat), (folder.join("maps"), maps)];
            for (path, text) in files
                .into_iter()
                .chain([(task.join("children"), *children)])
            {
                fs::write(path, text).expect("a file");
            }
        }
        root
    }

    fn seen(processes: &[(i32, i32, &str, &str)], have_pmi: bool) -> Seen {
        let system = system(processes);
        let is_strange = |mpi| mpi == Mpi::OpenMpi || (mpi == Mpi::Mpich && !have_pmi);
        look_into(system.path(), Pid::from_raw(7), &is_strange)
    }

    #[test]
    fn a_library_is_found_in_the_rank_and_what_it_has_started() {
        let open_mpi = Seen::Strange("libmpi.so.40.30.4".to_string());
        let maps = format!("{OTHER}{OPEN_MPI}{OTHER}");
        assert_eq!(seen(&[(7, 7, "", &maps)], true), open_mpi);
        let shell = (7, 7, "8 9 ", OTHER);
        let family = [
            shell,
            (8, 7, "", OTHER),
            (9, 7, "10", OTHER),
            (10, 7, "", OPEN_MPI),
        ];
        assert_eq!(seen(&family, true), open_mpi);
        // Another launcher gives its ranks groups of their own.
        assert_eq!(
            seen(&[shell, (8, 8, "9", OTHER), (9, 8, "", OPEN_MPI)], true),
            Seen::Nothing
        );
        let both = format!("{OPEN_MPI}{OWN}");
        assert_eq!(seen(&[(7, 7, "", &both)], true), Seen::Own);
        let strange_child = (9, 7, "", OPEN_MPI);
        assert_eq!(
            seen(
                &[(7, 7, "8 9", OTHER), (8, 7, "", OWN), strange_child],
                true
            ),
            open_mpi
        );
        assert_eq!(seen(&[], true), Seen::Nothing);
    }

    #[test]
    fn the_library_of_mpich_will_speak_where_it_has_a_channel() {
        assert_eq!(seen(&[(7, 7, "", MPICH)], true), Seen::Nothing);
        let mpich = Seen::Strange("libmpi.so.12.2.0 (deleted)".to_string());
        assert_eq!(seen(&[(7, 7, "", MPICH)], false), mpich);
    }

    fn watch(system: &tempfile::TempDir, now: Instant) -> Strangers {
        let mut strangers = Strangers::below(system.path().into());
        strangers.add(Pid::from_raw(7), true, now);
        strangers
    }

    /// When a look is due, without the rests: these take real time, which differs from the tests'.
    fn wake_at(strangers: &mut Strangers) -> Option<Instant> {
        strangers.resting_until = None;
        strangers.wake_at()
    }

    /// Looks when it is time to, until something is found or that time.
    fn look_until(strangers: &mut Strangers, end: Instant) -> Option<(Instant, String)> {
        while let Some(now) = wake_at(strangers).filter(|at| *at <= end) {
            if let Some((0, library)) = strangers.look(now).pop() {
                return Some((now, library));
            }
        }
        None
    }

    #[test]
    fn a_rank_has_a_second_for_its_init_before_it_is_reported_once() {
        let system = system(&[(7, 7, "", OPEN_MPI)]);
        let now = Instant::now();
        let mut strangers = watch(&system, now);
        let (at, library) = look_until(&mut strangers, now + 3 * PATIENCE).expect("it is seen");
        assert!(at >= now + PATIENCE && library == "libmpi.so.40.30.4");
        assert_eq!((strangers.wake_at(), strangers.end(0)), (None, None));
        let mut strangers = watch(&system, now);
        assert_eq!(look_until(&mut strangers, now + PATIENCE / 2), None);
        strangers.clear(0);
        assert_eq!((strangers.wake_at(), strangers.end(0)), (None, None));
    }

    #[test]
    fn a_rank_that_ends_earlier_is_reported_then() {
        let system = system(&[(7, 7, "", OPEN_MPI)]);
        let now = Instant::now();
        let mut strangers = watch(&system, now);
        strangers.look_at_writer(0, now + FIRST);
        assert_eq!(strangers.end(0).as_deref(), Some("libmpi.so.40.30.4"));
        assert_eq!(strangers.end(0), None);
    }

    #[test]
    fn a_script_that_works_on_after_its_program_has_ended_is_reported() {
        let system = system(&[(7, 7, "8", OTHER), (8, 7, "", OPEN_MPI)]);
        let now = Instant::now();
        let mut strangers = watch(&system, now);
        assert_eq!(look_until(&mut strangers, now + PATIENCE / 2), None);
        fs::remove_dir_all(system.path().join("8")).expect("it is gone");
        let (at, library) = look_until(&mut strangers, now + 3 * PATIENCE).expect("it is known");
        assert!(at >= now + PATIENCE && library == "libmpi.so.40.30.4");
    }

    #[test]
    fn a_rank_that_loads_our_library_meanwhile_is_not_reported() {
        let system = system(&[(7, 7, "", OPEN_MPI)]);
        let now = Instant::now();
        let mut strangers = watch(&system, now);
        assert_eq!(look_until(&mut strangers, now + PATIENCE / 2), None);
        let both = format!("{OPEN_MPI}{OWN}");
        fs::write(system.path().join("7/maps"), both).expect("a file");
        assert_eq!(look_until(&mut strangers, now + 3 * PATIENCE), None);
        assert_eq!(strangers.end(0), None);
    }

    #[test]
    fn looks_become_rare_and_are_no_burden() {
        let system = system(&[(7, 7, "", OTHER)]);
        let now = Instant::now();
        let mut strangers = watch(&system, now);
        let (mut looks, mut last) = (0, now);
        let end = now + Duration::from_secs(86400);
        while let Some(at) = wake_at(&mut strangers).filter(|at| *at < end) {
            assert!(at > last && strangers.look(at).is_empty());
            (looks, last) = (looks + 1, at);
        }
        assert!(looks < 60, "{looks}");
    }

    #[test]
    fn a_rank_that_writes_all_the_time_is_looked_at_rarely_too() {
        let system = system(&[(7, 7, "", OTHER)]);
        let now = Instant::now();
        let mut strangers = watch(&system, now);
        let mut looks = HashSet::new();
        for written in 1..90_000 {
            strangers.resting_until = None;
            strangers.look_at_writer(0, now + written * FIRST);
            looks.insert(
                strangers.suspects[0]
                    .as_ref()
                    .expect("it is watched")
                    .looked,
            );
        }
        assert!((100..300).contains(&looks.len()), "{}", looks.len());
    }

    #[test]
    fn after_a_look_at_a_writer_the_watch_rests() {
        let system = system(&[(7, 7, "", OTHER), (8, 8, "", OPEN_MPI)]);
        let now = Instant::now();
        let mut strangers = watch(&system, now);
        strangers.add(Pid::from_raw(8), true, now);
        strangers.look_at_writer(0, now + FIRST);
        let until = strangers.resting_until.expect("it rests");
        assert!(until > now + FIRST && strangers.wake_at() >= Some(until));
        strangers.look_at_writer(1, now + FIRST);
        assert_eq!(strangers.look(now + FIRST), []);
        assert!(
            strangers.suspects[1]
                .as_ref()
                .is_some_and(|it| it.looked == now)
        );
        strangers.look_at_writer(1, until);
        assert_eq!(strangers.end(1).as_deref(), Some("libmpi.so.40.30.4"));
    }
}
