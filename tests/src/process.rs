//! What `/proc` knows about the processes of a job.

use std::collections::BTreeSet;
use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Within this time a job that has failed is over. The aim is 2 s; a machine that compiles
/// something else at the same time gets more.
pub const SOON: Duration = Duration::from_secs(8);

/// Waits until none of these is alive.
///
/// # Panics
/// If one is, for longer than [`SOON`].
pub fn wait_until_gone(processes: &[Process]) {
    let deadline = Instant::now() + SOON;
    while let Some(left) = processes.iter().find(|process| process.is_alive()) {
        let id = left.id();
        assert!(Instant::now() < deadline, "process {id} outlives its job");
        std::thread::sleep(Duration::from_millis(5));
    }
}

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

    /// Ends it at once, whatever it does.
    pub fn kill(self) {
        self.signal(Signal::KILL);
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
        self.open("udp").iter().map(SocketAddrV4::port).collect()
    }

    /// The addresses that its UDP sockets are bound to.
    #[must_use]
    pub fn udp_addresses(self) -> Vec<Ipv4Addr> {
        self.open("udp")
            .iter()
            .map(|address| *address.ip())
            .collect()
    }

    /// The TCP ports on which it listens.
    #[must_use]
    pub fn listening_tcp(self) -> Vec<u16> {
        let own = self.sockets();
        let listens = |row: &&Row| row.state == LISTEN && own.contains(&row.inode);
        rows("tcp")
            .iter()
            .filter(listens)
            .map(|row| row.local.port())
            .collect()
    }

    fn open(self, table: &str) -> Vec<SocketAddrV4> {
        let own = self.sockets();
        let rows = rows(table);
        rows.iter()
            .filter(|row| own.contains(&row.inode))
            .map(|row| row.local)
            .collect()
    }
}

/// The state of a TCP socket that waits for connections, as `/proc/net/tcp` writes it.
const LISTEN: &str = "0A";

/// A line of `/proc/net/udp` or `/proc/net/tcp`.
struct Row {
    local: SocketAddrV4,
    state: String,
    inode: String,
}

impl Row {
    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<_> = line.split_whitespace().collect();
        let (address, port) = fields.get(1)?.split_once(':')?;
        // The kernel prints the bytes of the address as one number of the machine's byte order.
        let address = u32::from_str_radix(address, 16).ok()?.to_ne_bytes();
        let port = u16::from_str_radix(port, 16).ok()?;
        Some(Self {
            local: SocketAddrV4::new(address.into(), port),
            state: (*fields.get(3)?).to_owned(),
            inode: (*fields.get(9)?).to_owned(),
        })
    }
}

fn rows(table: &str) -> Vec<Row> {
    let text = fs::read_to_string(format!("/proc/net/{table}")).unwrap_or_default();
    text.lines().skip(1).filter_map(Row::parse).collect()
}

/// Every process there is.
fn all() -> impl Iterator<Item = Process> {
    let entries = fs::read_dir("/proc").expect("/proc is mounted");
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .map(Process::new)
}

/// The UDP ports that these processes have open.
#[must_use]
pub fn udp_ports(processes: &[Process]) -> Vec<u16> {
    processes
        .iter()
        .flat_map(|process| process.udp_ports())
        .collect()
}
