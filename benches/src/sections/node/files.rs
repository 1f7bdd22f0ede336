//! Files that ranks write and read together: MPI-IO, beside processes that write without MPI.

use std::path::{Path, PathBuf};
use std::{fs, io};

use mpi_lite_tests::c_source;

use super::{AUTO, RMPP, figure, gather, peers, program};
use crate::bench::{Bench, Missing};
use crate::contender::{Contender, kernel};
use crate::goal::{Goal, Limit};
use crate::measurements::{Better, Measurements};
use crate::report::Report;
use crate::sections::{in_rounds_of, medians, ratios};

const RANKS: usize = 4;
/// Nobody needs a quarter of it on a machine that is not busy.
const LIMIT_S: u64 = 60;
/// The column of the processes that write without MPI.
const NO_MPI: &str = "no MPI";

/// What the program calls a row, and what tables call it.
type Row = (&'static str, &'static str);

const ROWS: [Row; 10] = [
    ("contiguous", "contiguous, 16 MiB a rank: write_at_all"),
    (
        "write_at_all",
        "interleaved, 16384 times 1 KiB a rank: write_at_all",
    ),
    ("read_at_all", "interleaved: read_at_all"),
    ("write_at", "interleaved: write_at, one call a rank"),
    ("read_at", "interleaved: read_at, one call a rank"),
    (CALLS, "write_at of 1 KiB, 16384 calls a rank"),
    ("write_shared", "write_shared of 1 KiB, 256 calls a rank"),
    ("write_ordered", "write_ordered of 1 KiB, 64 calls a rank"),
    (
        "atomic",
        "atomic mode: write_at of 1 KiB, 1024 calls a rank",
    ),
    ("open_close", "open and close"),
];
/// How much the memory of a rank grew by the collective write in the view.
const MEMORY: Row = (
    "memory",
    "memory that the interleaved write_at_all takes, MiB",
);
/// In memory the time of so many calls tells no more than on a disk's file system.
const CALLS: &str = "calls";
/// What is written without MPI, too.
const WITHOUT_MPI: [&str; 2] = ["contiguous", CALLS];

/// A file system, and a folder of ours in it, which goes with this.
#[derive(Debug)]
struct System {
    name: String,
    folder: PathBuf,
    rows: Vec<Row>,
}

impl System {
    /// An empty folder.
    fn clear(&self) -> io::Result<()> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)?;
        }
        fs::create_dir_all(&self.folder)
    }

    /// Under which name a figure is noted.
    fn noted(&self, row: Row) -> String {
        format!("{}: {}", self.name, row.1)
    }

    /// Rows of a table.
    fn shown(&self, rows: &[Row]) -> Vec<(String, String)> {
        let shown = |row: &Row| (row.1.to_owned(), self.noted(*row));
        rows.iter().map(shown).collect()
    }

    /// Those rows that the goals are about: times alone.
    fn times(&self) -> &[Row] {
        &self.rows[..self.rows.len() - 1]
    }
}

impl Drop for System {
    fn drop(&mut self) {
        // What stays there, the next comparison removes.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The type of the file system in which this path is, by a list of mounts.
fn type_of(path: &Path, mounts: &str) -> Option<String> {
    let mount = |line: &str| {
        let mut words = line.split(' ').skip(1);
        let (at, kind) = (words.next()?.to_owned(), words.next()?.to_owned());
        path.starts_with(&at).then_some((at.len(), kind))
    };
    // Of two at one place the later one hides the other.
    let longest = mounts.lines().filter_map(mount).max_by_key(|it| it.0);
    longest.map(|(_, kind)| kind)
}

/// That of the source tree, and that of shared memory; one, if they are the same.
fn systems() -> Result<Vec<System>, String> {
    let mounts = fs::read_to_string("/proc/self/mounts").map_err(|error| error.to_string())?;
    let in_memory = Path::new("/dev/shm/mpi-lite-compare").to_owned();
    let mut all: Vec<System> = Vec::new();
    for folder in [c_source("target/compare/files"), in_memory] {
        let name = type_of(&folder, &mounts).unwrap_or_else(|| "a file system".to_owned());
        let is_tmpfs = name == "tmpfs";
        let times = ROWS.into_iter();
        let times = times.filter(|row| row.0 != CALLS || !is_tmpfs);
        let system = System {
            rows: times.chain([MEMORY]).collect(),
            name,
            folder,
        };
        system
            .clear()
            .map_err(|error| format!("{}: {error}", system.folder.display()))?;
        if all.iter().all(|other| other.name != system.name) {
            all.push(system);
        }
    }
    Ok(all)
}

fn measure(bench: &Bench, (system, who): (&System, &Contender), all: &mut Measurements) {
    let (name, mut rows) = ("files", system.rows.clone());
    let name = if who.is_kernel() {
        rows.retain(|row| WITHOUT_MPI.contains(&row.0));
        "files_probe"
    } else {
        name
    };
    let path = system.folder.join("file").display().to_string();
    let names = rows.iter().map(|row| row.0);
    let words: Vec<&str> = std::iter::once(path.as_str()).chain(names).collect();
    let (printed, ended) = match system.clear() {
        Ok(()) => bench.run_and_keep(who, &program(name, RANKS, &words, LIMIT_S)),
        Err(error) => (String::new(), Err(Missing::NoFigure(error.to_string()))),
    };
    let why = ended.err().unwrap_or_else(Missing::figure);
    for row in rows {
        let figure = figure(&printed, row.0).unwrap_or_else(|| Err(why.clone()));
        all.enter(&who.name, &system.noted(row), figure);
    }
}

pub(in crate::sections) fn run(bench: &Bench, report: &mut Report) -> Result<(), String> {
    let systems = systems()?;
    let mut contenders = gather(bench, report);
    // Which way data take between ranks of one machine is no question of files.
    contenders.retain(|who| who.name != RMPP);
    let with_probe = [&contenders[..], &[kernel(NO_MPI, "udp")]].concat();
    let rounds = bench.options.rounds(5, 1);
    let how = bench.how(rounds);
    let all = in_rounds_of(rounds, (&systems, &with_probe), |system, who, all| {
        measure(bench, (system, who), all);
    });
    for system in &systems {
        let title = format!("files on {}, {RANKS} ranks, ms, {how}", system.name);
        let rows = system.shown(&system.rows);
        report.table(&medians(&title, "", (&rows, &with_probe), &all));
        let title = format!("files on {} (below 1 is better)", system.name);
        let rows = system.shown(system.times());
        report.table(&ratios(&title, "", (&rows, &contenders), &all));
        set_goals(report, system, &all, &peers(&contenders));
    }
    Ok(())
}

fn set_goals(report: &mut Report, system: &System, all: &Measurements, peers: &[&str]) {
    let names: Vec<String> = system
        .times()
        .iter()
        .map(|row| system.noted(*row))
        .collect();
    let mean = all.mean_ratio(AUTO, peers, &names, Better::Smaller);
    let what = format!("{}: geometric mean / best peer", system.name);
    report.goal(Goal::new(what, Limit::Most(0.8), mean));
    for name in &names {
        let ratio = all.ratio(AUTO, peers, name, Better::Smaller);
        let what = format!("{name} / best peer");
        report.goal(Goal::new(what, Limit::Most(1.0), ratio));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_know_every_row() {
        let source = |name: &str| {
            let path = c_source(&format!("benches/c/{name}.c"));
            fs::read_to_string(path).expect("a program")
        };
        let (files, probe) = (source("files"), source("files_probe"));
        for (row, _) in ROWS.iter().chain([&MEMORY]) {
            assert!(files.contains(&format!("\"{row}\"")), "{row}");
        }
        for row in WITHOUT_MPI {
            assert!(probe.contains(&format!("\"{row}\"")), "{row}");
        }
    }

    #[test]
    fn a_file_system_is_that_of_the_longest_mount() {
        let mounts = "rootfs / rootfs rw 0 0\n/dev/a / ext4 rw 0 0\ntmpfs /dev/shm tmpfs rw 0 0\n";
        let kind = |path: &str| type_of(Path::new(path), mounts);
        assert_eq!(kind("/dev/shm/x").as_deref(), Some("tmpfs"));
        assert_eq!(kind("/dev/shmx").as_deref(), Some("ext4"));
        assert_eq!(type_of(Path::new("/x"), ""), None);
    }
}
