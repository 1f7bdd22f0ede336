//! The processors of this machine, as far as this process may use them.
//!
//! * [`Object`]: the parts of a machine that a rank can be bound to.
//! * [`Machine`]: the processors, and which of them make up each part.
//! * [`allowed`]: the processors that the affinity mask of this process leaves.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// No machine has a processor with a greater number than this.
const CPU_MAX: u32 = 1 << 16;

/// A part of a machine, from the smallest to the largest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Object {
    /// One hardware thread: a CPU as the system counts them.
    Thread,
    /// The hardware threads of one core.
    Core,
    /// The cores that share a cache of level 2.
    L2,
    /// The cores that share a cache of level 3.
    L3,
    /// The cores near to one part of the memory.
    Numa,
    /// One socket.
    Package,
    /// The whole machine.
    Board,
}

/// How the command line names the parts, the smallest first, and how a sentence names one.
const NAMES: [(&str, Object, &str); 8] = [
    ("hwthread", Object::Thread, "hardware thread"),
    ("core", Object::Core, "core"),
    ("l2cache", Object::L2, "L2 cache"),
    ("l3cache", Object::L3, "L3 cache"),
    ("numa", Object::Numa, "NUMA node"),
    ("socket", Object::Package, "socket"),
    ("package", Object::Package, "socket"),
    ("board", Object::Board, "machine"),
];

impl Object {
    /// The part that the command line calls `word`.
    #[must_use]
    pub fn named(word: &str) -> Option<Object> {
        let known = NAMES.iter().find(|(name, ..)| *name == word);
        known.map(|(_, object, _)| *object)
    }

    /// How the command line names this part.
    #[must_use]
    pub fn name(self) -> &'static str {
        let known = NAMES.iter().find(|(_, object, _)| *object == self);
        known.map_or("", |(name, ..)| name)
    }

    /// How a sentence names one part or several.
    #[must_use]
    pub fn noun(self, number: usize) -> String {
        let known = NAMES.iter().find(|(_, object, _)| *object == self);
        let noun = known.map_or("", |(_, _, noun)| noun);
        format!("{noun}{}", if number == 1 { "" } else { "s" })
    }
}

/// One part of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The system's number of it: of a socket or a NUMA node its own one, else its lowest CPU.
    pub number: u32,
    /// Its CPUs that this process may use: at least one, in the order of the machine.
    pub cpus: Vec<u32>,
}

/// One hardware thread: the numbers of the parts that it belongs to, itself the first.
type Cpu = [u32; 7];

/// What the system tells about a CPU. What it does not tell is taken from the next part that is
/// known: a CPU is a core, a core has its own L2 cache, a socket is one NUMA node.
fn read_cpu(root: &Path, number: u32, numa: Option<u32>) -> Cpu {
    let directory = root.join(format!("devices/system/cpu/cpu{number}"));
    let topology = directory.join("topology");
    let first = |file: &Path| read_list(file).into_iter().min();
    let core = first(&topology.join("thread_siblings_list")).unwrap_or(number);
    let package = read_number(&topology.join("physical_package_id")).unwrap_or(0);
    let (mut l2, mut l3) = (core, package);
    for index in 0..8 {
        let cache = directory.join(format!("cache/index{index}"));
        let shared = first(&cache.join("shared_cpu_list"));
        match (read_number(&cache.join("level")), shared) {
            (Some(2), Some(cpu)) => l2 = cpu,
            (Some(3), Some(cpu)) => l3 = cpu,
            (None, _) => break,
            _ => {}
        }
    }
    // In the order of `Object`.
    [number, core, l2, l3, numa.unwrap_or(package), package, 0]
}

/// The CPUs that this process may use, those that are near to each other side by side.
#[derive(Debug)]
pub struct Machine {
    cpus: Vec<Cpu>,
}

impl Machine {
    /// The machine that the files below `root` (else `/sys`) describe, without the CPUs that
    /// are not `allowed`.
    #[must_use]
    pub fn read(root: &Path, allowed: &[u32]) -> Machine {
        let numa = numa_nodes(root);
        let cpu = |number: &u32| read_cpu(root, *number, numa.get(number).copied());
        let mut cpus: Vec<Cpu> = allowed.iter().map(cpu).collect();
        cpus.sort_by(|one, other| one.iter().rev().cmp(other.iter().rev()));
        Machine { cpus }
    }

    /// The machine that this process runs on.
    #[must_use]
    pub fn here() -> Machine {
        Machine::read(Path::new("/sys"), &allowed())
    }

    /// All parts of a kind, in the order of the machine. Each CPU belongs to one of them.
    #[must_use]
    pub fn parts(&self, object: Object) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::new();
        let mut places = HashMap::new();
        for cpu in &self.cpus {
            let number = cpu[object as usize];
            let place = *places.entry(number).or_insert(parts.len());
            if place == parts.len() {
                let cpus = Vec::new();
                parts.push(Part { number, cpus });
            }
            parts[place].cpus.push(cpu[0]);
        }
        parts
    }
}

/// The CPUs that the affinity mask of this process leaves: what a container, `taskset` or a batch
/// system gave it. Empty if the system does not tell.
#[must_use]
pub fn allowed() -> Vec<u32> {
    let Ok(mask) = sched_getaffinity(Pid::from_raw(0)) else {
        return Vec::new();
    };
    let all = 0..CpuSet::count();
    let set = all.filter(|cpu| mask.is_set(*cpu).unwrap_or(false));
    set.filter_map(|cpu| u32::try_from(cpu).ok()).collect()
}

/// CPUs as the system writes them: `0-3,8`.
#[must_use]
pub fn list(cpus: &[u32]) -> String {
    let mut sorted = cpus.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let runs = sorted.chunk_by(|one, next| one + 1 == *next);
    let words = runs.map(|run| match run {
        [only] => only.to_string(),
        [one, other] => format!("{one},{other}"),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    words.collect::<Vec<_>>().join(",")
}

/// The NUMA node of each CPU, where there are such.
fn numa_nodes(root: &Path) -> HashMap<u32, u32> {
    let entries = fs::read_dir(root.join("devices/system/node"));
    let mut nodes = HashMap::new();
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("node"));
        if let Some(number) = number.and_then(|number| number.parse().ok()) {
            let cpus = read_list(&entry.path().join("cpulist"));
            nodes.extend(cpus.into_iter().map(|cpu| (cpu, number)));
        }
    }
    nodes
}

fn read_number(file: &Path) -> Option<u32> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// A file with a list such as `0-3,8`. What is no such list is empty.
fn read_list(file: &Path) -> Vec<u32> {
    let text = fs::read_to_string(file).unwrap_or_default();
    parse_list(text.trim()).unwrap_or_default()
}

fn parse_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        if last > CPU_MAX {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    impl Machine {
        /// The same machine with only some of its CPUs.
        pub(crate) fn only(&self, allowed: &[u32]) -> Machine {
            let cpus = self.cpus.iter().copied();
            let is_allowed = |cpu: &Cpu| allowed.contains(&cpu[0]);
            Machine {
                cpus: cpus.filter(is_allowed).collect(),
            }
        }
    }

    /// A description of a made-up machine in files, removed at the end.
    pub(crate) struct MadeUp(PathBuf);

    impl MadeUp {
        pub(crate) fn new() -> MadeUp {
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("mpi-lite-cores.{}.{number}", std::process::id());
            MadeUp(std::env::temp_dir().join(name))
        }

        pub(crate) fn root(&self) -> &Path {
            &self.0
        }

        fn write(&self, path: &str, text: &str) {
            let file = self.0.join("devices/system").join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text.to_string() + "\n").unwrap();
        }

        /// Two sockets of 4 cores with 2 threads each: CPUs 0-3 and 8-11 are socket 0. Two cores
        /// share an L2 cache.
        pub(crate) fn two_sockets() -> MadeUp {
            let machine = MadeUp::new();
            for cpu in 0..16 {
                let (core, socket) = (cpu % 8, cpu % 8 / 4);
                let pair = core / 2 * 2;
                let of_pair = format!("{pair},{},{},{}", pair + 1, pair + 8, pair + 9);
                let of_socket = ["0-3,8-11", "4-7,12-15"][socket];
                let cpu = format!("cpu/cpu{cpu}");
                let write = |file: &str, text: &str| machine.write(&format!("{cpu}/{file}"), text);
                write("topology/physical_package_id", &socket.to_string());
                let siblings = format!("{core},{}", core + 8);
                write("topology/thread_siblings_list", &siblings);
                write("cache/index0/level", "1");
                write("cache/index0/shared_cpu_list", &siblings);
                write("cache/index1/level", "2");
                write("cache/index1/shared_cpu_list", &of_pair);
                write("cache/index2/level", "3");
                write("cache/index2/shared_cpu_list", of_socket);
            }
            machine.write("node/node0/cpulist", "0-3,8-11");
            machine.write("node/node1/cpulist", "4-7,12-15");
            machine.write("node/possible", "0-1");
            machine
        }
    }

    impl Drop for MadeUp {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).ok();
        }
    }

    fn cpus(machine: &Machine, object: Object) -> Vec<String> {
        let parts = machine.parts(object);
        parts.iter().map(|part| list(&part.cpus)).collect()
    }

    #[test]
    fn the_parts_of_two_sockets_are_read() {
        let files = MadeUp::two_sockets();
        let all: Vec<u32> = (0..16).collect();
        let machine = Machine::read(files.root(), &all);
        let cores = ["0,8", "1,9", "2,10", "3,11", "4,12", "5,13", "6,14", "7,15"];
        assert_eq!(cpus(&machine, Object::Core), cores);
        let pairs = ["0,1,8,9", "2,3,10,11", "4,5,12,13", "6,7,14,15"];
        assert_eq!(cpus(&machine, Object::L2), pairs);
        for wide in [Object::L3, Object::Numa, Object::Package] {
            assert_eq!(cpus(&machine, wide), ["0-3,8-11", "4-7,12-15"], "{wide:?}");
        }
        assert_eq!(cpus(&machine, Object::Board), ["0-15"]);
        let threads = machine.parts(Object::Thread);
        let threads: Vec<u32> = threads.iter().map(|it| it.number).collect();
        assert_eq!(threads[..4], [0, 8, 1, 9]);
        assert_eq!(machine.parts(Object::Package)[1].number, 1);
    }

    #[test]
    fn only_allowed_cpus_are_counted() {
        let files = MadeUp::two_sockets();
        let machine = Machine::read(files.root(), &[1, 6, 9, 15]);
        assert_eq!(cpus(&machine, Object::Core), ["1,9", "6", "15"]);
        assert_eq!(cpus(&machine, Object::Package), ["1,9", "6,15"]);
        // A core is named by its lowest CPU, allowed or not.
        assert_eq!(machine.parts(Object::Core)[2].number, 7);
    }

    #[test]
    fn without_a_description_each_cpu_is_a_core_of_one_socket() {
        let files = MadeUp::new();
        let machine = Machine::read(files.root(), &[2, 3, 7]);
        assert_eq!(cpus(&machine, Object::Core), ["2", "3", "7"]);
        assert_eq!(cpus(&machine, Object::L2), ["2", "3", "7"]);
        for wide in [Object::L3, Object::Numa, Object::Package] {
            assert_eq!(cpus(&machine, wide), ["2,3,7"], "{wide:?}");
        }
    }

    #[test]
    fn nonsense_in_the_description_is_as_good_as_none() {
        let files = MadeUp::new();
        files.write("cpu/cpu0/topology/thread_siblings_list", "0-4000000000");
        files.write("cpu/cpu0/topology/physical_package_id", "-1");
        files.write("cpu/cpu1/topology/thread_siblings_list", "x");
        let machine = Machine::read(files.root(), &[0, 1]);
        assert_eq!(cpus(&machine, Object::Core), ["0", "1"]);
        assert_eq!(cpus(&machine, Object::Package), ["0,1"]);
    }

    #[test]
    fn this_machine_has_a_core_for_this_process() {
        let machine = Machine::here();
        assert!(!machine.parts(Object::Core).is_empty());
        let threads = machine.parts(Object::Thread).len();
        assert_eq!(threads, allowed().len());
    }

    #[test]
    fn lists_are_as_short_as_the_system_writes_them() {
        assert_eq!(list(&[8, 0, 1, 2, 3]), "0-3,8");
        assert_eq!(list(&[5, 13]), "5,13");
        assert_eq!(list(&[5, 4]), "4,5");
        assert_eq!(list(&[]), "");
    }
}
