//! What `/proc` knows about the processes of a job.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

/// A process, alive or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Process {
    id: u32,
}

impl Process {
    /// The process with this number.
    #[must_use]
    pub fn new(id: u32) -> Self {
        Self { id }
    }

    /// Its number.
    #[must_use]
    pub fn id(self) -> u32 {
        self.id
    }

    /// Its children, their children and so on.
    #[must_use]
    pub fn descendants(self) -> Vec<Process> {
        let parents: Vec<_> = all().filter_map(|p| Some((p, p.stat_field(1)?))).collect();
        let mut found = vec![self];
        let mut next = 0;
        while next < found.len() {
            let parent = found[next].id;
            found.extend(
                parents
                    .iter()
                    .filter(|(_, of)| *of == parent)
                    .map(|(p, _)| *p),
            );
            next += 1;
        }
        found.split_off(1)
    }

    /// The descendants that run a program of this file name, in the order of their numbers.
    #[must_use]
    pub fn running(self, program: &Path) -> Vec<Process> {
        let runs = |p: &Process| fs::read_link(p.file("exe")).is_ok_and(|exe| exe == program);
        let mut found: Vec<_> = self.descendants().into_iter().filter(runs).collect();
        found.sort();
        found
    }

    /// Whether it is still there and not merely waiting to be collected.
    #[must_use]
    pub fn is_alive(self) -> bool {
        self.state()
            .is_some_and(|state| state != 'Z' && state != 'X')
    }

    /// The letter of its state (R, S, D, T, Z ...).
    #[must_use]
    pub fn state(self) -> Option<char> {
        self.stat()?.first()?.chars().next()
    }

    /// A variable of the environment that it was started with.
    #[must_use]
    pub fn variable(self, name: &str) -> Option<String> {
        let environment = fs::read(self.file("environ")).ok()?;
        let start = format!("{name}=");
        environment
            .split(|byte| *byte == 0)
            .map(|entry| String::from_utf8_lossy(entry).into_owned())
            .find_map(|entry| entry.strip_prefix(&start).map(str::to_owned))
    }

    /// Its words on the command line.
    #[must_use]
    pub fn words(self) -> Vec<String> {
        let line = fs::read(self.file("cmdline")).unwrap_or_default();
        let words = line
            .split(|byte| *byte == 0)
            .map(|word| String::from_utf8_lossy(word).into());
        words.filter(|word: &String| !word.is_empty()).collect()
    }

    /// Sends it a signal; a process that is gone already takes no notice.
    pub fn signal(self, signal: Signal) {
        let id = i32::try_from(self.id).ok().and_then(Pid::from_raw);
        if let Some(id) = id {
            let _ = kill_process(id, signal);
        }
    }

    fn file(self, name: &str) -> String {
        format!("/proc/{}/{name}", self.id)
    }

    /// The fields of `/proc/N/stat` behind the name, which may hold anything.
    fn stat(self) -> Option<Vec<String>> {
        let stat = fs::read_to_string(self.file("stat")).ok()?;
        let (_, fields) = stat.rsplit_once(") ")?;
        Some(fields.split(' ').map(str::to_owned).collect())
    }

    fn stat_field(self, field: usize) -> Option<u32> {
        self.stat()?.get(field)?.parse().ok()
    }

    fn sockets(self) -> BTreeSet<String> {
        let Ok(files) = fs::read_dir(self.file("fd")) else {
            return BTreeSet::new();
        };
        let target = |file: fs::DirEntry| fs::read_link(file.path()).ok();
        let inode = |link: std::path::PathBuf| {
            let name = link.to_string_lossy().into_owned();
            name.strip_prefix("socket:[")?
                .strip_suffix(']')
                .map(str::to_owned)
        };
        files
            .flatten()
            .filter_map(target)
            .filter_map(inode)
            .collect()
    }

    /// The UDP ports that it has open.
    #[must_use]
    pub fn udp_ports(self) -> Vec<u16> {
        let own = self.sockets();
        let mine = udp_sockets()
            .into_iter()
            .filter(|(_, inode)| own.contains(inode));
        mine.map(|(port, _)| port).collect()
    }
}

/// Every process there is.
fn all() -> impl Iterator<Item = Process> {
    let entries = fs::read_dir("/proc").expect("/proc is mounted");
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .map(Process::new)
}

/// Local port and inode of each IPv4 UDP socket.
fn udp_sockets() -> Vec<(u16, String)> {
    let table = fs::read_to_string("/proc/net/udp").unwrap_or_default();
    let row = |line: &str| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let (_, port) = fields.get(1)?.split_once(':')?;
        Some((
            u16::from_str_radix(port, 16).ok()?,
            (*fields.get(9)?).to_owned(),
        ))
    };
    table.lines().skip(1).filter_map(row).collect()
}

/// The UDP ports that these processes have open.
#[must_use]
pub fn udp_ports(processes: &[Process]) -> Vec<u16> {
    processes
        .iter()
        .flat_map(|process| process.udp_ports())
        .collect()
}
