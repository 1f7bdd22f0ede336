//! Which rank runs on which node.

use crate::job::allocation::Allocation;
use std::collections::HashMap;

use crate::cli::mapping::RankBy;
use crate::cli::request::Options;
use crate::cli::values::Mapping;
use crate::failure::{Failure, printable};
use crate::job::hosts::{Host, RANKS_MAX, read_file, read_lines};
use crate::node::cores::{Machine, list};

/// A node of the job: one host with the ranks that run there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The host as the user named it.
    pub host: String,
    /// True if it is this machine.
    pub is_here: bool,
    /// The ranks on it, ascending.
    pub ranks: Vec<u32>,
}

/// The whole job: nodes that have at least one rank, and how many ranks there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The nodes in the user's order.
    pub places: Vec<Place>,
    /// The host of each rank as the user named it.
    pub hosts: Vec<String>,
    /// Number of ranks.
    pub size: u32,
    /// A remark for the user.
    pub note: Option<String>,
}

/// Deals the ranks to the hosts of the command line, else to those of the allocation.
///
/// # Errors
///
/// A usage failure if a host file cannot be used or slots do not suffice where they must.
pub fn place(options: &Options, allocation: Option<&Allocation>) -> Result<Placement, Failure> {
    if options.mapping == Mapping::Sequence {
        return place_in_sequence(options, allocation);
    }
    let mapping = per_host(options.mapping);
    let per_rank = options.local.slots_per_rank();
    let mut hosts = match &options.host_file {
        Some(path) => read_file(path)?,
        None => options.hosts.clone(),
    };
    if let Some(allocation) = allocation.filter(|_| hosts.is_empty()) {
        hosts.clone_from(&allocation.hosts);
    }
    if hosts.is_empty() {
        let wanted = options.ranks.filter(|_| !options.refuses_oversubscription);
        let slots = wanted.map_or_else(cpus, |ranks| ranks.saturating_mul(per_rank));
        hosts.push(Host {
            name: "localhost".into(),
            slots: Some(slots),
        });
    }
    let counts_slots = hosts.iter().any(|host| host.slots.is_some());
    let slots = slots_of(&hosts, mapping, per_rank);
    let total: u64 = slots.iter().map(|slots| u64::from(*slots)).sum();
    let size = match options.ranks {
        Some(ranks) => ranks,
        None if total > u64::from(RANKS_MAX) => {
            let line = format!("the hosts have {total} slots; give -n");
            return Err(Failure::usage(line));
        }
        None => u32::try_from(total).expect("checked against RANKS_MAX"),
    };
    let note = oversubscription(options, size, total, counts_slots)?;
    let ranks = numbered(deal(&slots, size, mapping), options.local.rank_by);
    let hosts = hosts.into_iter().map(|host| host.name).zip(ranks);
    Ok(Placement::new(size, note).with(hosts, allocation))
}

/// `--map-by seq`: a rank for each line of the host file.
fn place_in_sequence(
    options: &Options,
    allocation: Option<&Allocation>,
) -> Result<Placement, Failure> {
    let Some(path) = &options.host_file else {
        return Err(Failure::usage(
            "--map-by seq starts one rank per line of a host file: give --hostfile FILE",
        ));
    };
    let lines = read_lines(path)?;
    let size = options.ranks.map_or(lines.len(), |ranks| ranks as usize);
    if size > lines.len() {
        return Err(Failure::usage(format!(
            "--map-by seq starts one rank per line, but host file {} has {} for {size} ranks",
            printable(&path.to_string_lossy()),
            lines.len()
        )));
    }
    let mut hosts: Vec<(String, Vec<u32>)> = Vec::new();
    let mut places = HashMap::new();
    for (rank, line) in (0..).zip(lines.into_iter().take(size)) {
        let place = *places.entry(line.name.clone()).or_insert(hosts.len());
        if place == hosts.len() {
            hosts.push((line.name, Vec::new()));
        }
        hosts[place].1.push(rank);
    }
    let size = u32::try_from(size).expect("a host file has fewer lines");
    Ok(Placement::new(size, None).with(hosts.into_iter(), allocation))
}

/// Ranks per part of a host are ranks per host: the other hosts count as machines like this one.
fn per_host(mapping: Mapping) -> Mapping {
    let Mapping::PerPart(number, object) = mapping else {
        return mapping;
    };
    let parts = u32::try_from(Machine::here().parts(object).len()).unwrap_or(RANKS_MAX);
    let ranks = number.saturating_mul(parts.max(1));
    Mapping::PerNode(ranks.min(RANKS_MAX))
}

/// Gives each host the same number of ranks, but numbers them anew if the user asks for an order.
fn numbered(dealt: Vec<Vec<u32>>, order: Option<RankBy>) -> Vec<Vec<u32>> {
    let Some(order) = order else { return dealt };
    let size: usize = dealt.iter().map(Vec::len).sum();
    let turn = match order {
        RankBy::Slot | RankBy::Fill => size,
        RankBy::Node => 1,
    };
    let mut free: Vec<usize> = dealt.iter().map(Vec::len).collect();
    let mut numbered = vec![Vec::new(); dealt.len()];
    let mut ranks = (0..).take(size).peekable();
    while ranks.peek().is_some() {
        for (free, numbered) in free.iter_mut().zip(&mut numbered) {
            let number = turn.min(*free);
            numbered.extend(ranks.by_ref().take(number));
            *free -= number;
        }
    }
    numbered
}

impl Placement {
    /// A job of so many ranks that have no places yet.
    pub(super) fn new(size: u32, note: Option<String>) -> Placement {
        Placement {
            places: Vec::new(),
            hosts: vec![String::new(); size as usize],
            size,
            note,
        }
    }

    /// A line for each host with its ranks.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let line = |place: &Place| {
            let noun = if place.ranks.len() == 1 {
                "rank"
            } else {
                "ranks"
            };
            let host = printable(&place.host);
            format!("host {host}: {noun} {}", list(&place.ranks))
        };
        self.places.iter().map(line).collect()
    }

    /// The job with these ranks on each host.
    fn with(
        mut self,
        hosts: impl Iterator<Item = (String, Vec<u32>)>,
        allocation: Option<&Allocation>,
    ) -> Placement {
        for (host, ranks) in hosts.filter(|(_, ranks)| !ranks.is_empty()) {
            let is_here = is_here(&host, allocation);
            self.add(Place {
                host,
                is_here,
                ranks,
            });
        }
        self
    }

    /// Adds ranks on a host. This machine under a second name is the same node.
    pub(super) fn add(&mut self, place: Place) {
        for rank in &place.ranks {
            self.hosts[*rank as usize].clone_from(&place.host);
        }
        let is_same =
            |known: &&mut Place| known.is_here && place.is_here || known.host == place.host;
        match self.places.iter_mut().find(is_same) {
            Some(known) => {
                known.ranks.extend(&place.ranks);
                known.ranks.sort_unstable();
            }
            None => self.places.push(place),
        }
    }
}

fn slots_of(hosts: &[Host], mapping: Mapping, per_rank: u32) -> Vec<u32> {
    let slots = |host: &Host| match mapping {
        Mapping::PerNode(number) => number,
        _ => (host.slots.unwrap_or(1) / per_rank).max(1),
    };
    hosts.iter().map(slots).collect()
}

/// More ranks than slots are started all the same, with a note if slots were given.
fn oversubscription(
    options: &Options,
    size: u32,
    total: u64,
    counts_slots: bool,
) -> Result<Option<String>, Failure> {
    if u64::from(size) <= total {
        return Ok(None);
    }
    if options.refuses_oversubscription {
        return Err(Failure::usage(format!(
            "{size} ranks need more than the {total} slots of the hosts (--nooversubscribe)"
        )));
    }
    let is_told = counts_slots && !options.oversubscribes;
    Ok(is_told.then(|| {
        format!("note: {size} ranks on {total} slots (--oversubscribe silences this line)")
    }))
}

/// Deals ranks 0 to `size - 1`; when all slots are taken it starts again with the first host.
fn deal(slots: &[u32], size: u32, mapping: Mapping) -> Vec<Vec<u32>> {
    let mut dealt: Vec<Vec<u32>> = vec![Vec::new(); slots.len()];
    let mut free = slots.to_vec();
    let mut rank = 0;
    while rank < size {
        if free.iter().all(|free| *free == 0) {
            free = slots.to_vec();
        }
        for (free, dealt) in free.iter_mut().zip(&mut dealt) {
            let turn = if mapping == Mapping::ByNode {
                1
            } else {
                u32::MAX
            };
            let number = turn.min(*free).min(size - rank);
            dealt.extend(rank..rank + number);
            *free -= number;
            rank += number;
        }
    }
    dealt
}

/// Number of CPUs that this process may use.
fn cpus() -> u32 {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cpus).map_or(RANKS_MAX, |cpus| cpus.min(RANKS_MAX))
}

/// Returns true if a host is where `mpirun` runs. Several nodes of an allocation may be one
/// machine: there only the node that `mpirun` itself is on.
fn is_here(name: &str, allocation: Option<&Allocation>) -> bool {
    match allocation.filter(|allocation| allocation.contains(name)) {
        Some(Allocation { own: Some(own), .. }) => own == name,
        _ => is_this_machine(name),
    }
}

/// Returns true if a name means this machine, without asking any name service.
fn is_this_machine(name: &str) -> bool {
    let own = nix::unistd::gethostname().unwrap_or_default();
    matches!(name, "localhost" | "127.0.0.1" | "::1") || own.to_str() == Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::parse;
    use crate::cli::request::Request;

    fn placed(line: &str) -> Result<Placement, Failure> {
        match parse(line.split(' ').map(Into::into)).unwrap() {
            Request::Run(options) => place(&options, None),
            other => panic!("{other:?}"),
        }
    }

    fn ranks(line: &str) -> Vec<Vec<u32>> {
        placed(line)
            .unwrap()
            .places
            .into_iter()
            .map(|place| place.ranks)
            .collect()
    }

    #[test]
    fn slots_are_filled_host_after_host() {
        assert_eq!(ranks("-n 4 --host a:2,b:2 p"), [vec![0, 1], vec![2, 3]]);
        assert_eq!(ranks("-n 3 --host a:2,b:2 p"), [vec![0, 1], vec![2]]);
        assert_eq!(ranks("-n 1 --host a:2,b:2 p"), [vec![0]]);
    }

    #[test]
    fn without_a_number_every_slot_gets_a_rank() {
        assert_eq!(placed("--host a:2,b p").unwrap().size, 3);
        assert_eq!(placed("-ppn 2 --host a,b p").unwrap().size, 4);
        assert_eq!(placed("p").unwrap().size, cpus());
    }

    /// Places of a job in an allocation of two nodes that has its `mpirun` on the second one.
    fn in_allocation(line: &str) -> Placement {
        let host = |name: &str| Host {
            name: name.into(),
            slots: Some(2),
        };
        let allocation = Allocation {
            system: crate::job::allocation::System::Slurm,
            hosts: vec![host("n1"), host("n2")],
            own: Some("n2".into()),
        };
        match parse(line.split(' ').map(Into::into)).unwrap() {
            Request::Run(options) => place(&options, Some(&allocation)).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn hosts_come_from_the_allocation_unless_the_user_names_some() {
        let places = |line| {
            let places = in_allocation(line).places.into_iter();
            let places = places.map(|place| (place.host, place.is_here, place.ranks));
            places.collect::<Vec<_>>()
        };
        let both = [
            ("n1".to_string(), false, vec![0, 1]),
            ("n2".to_string(), true, vec![2, 3]),
        ];
        assert_eq!(places("p"), both);
        let named = ("localhost".to_string(), true, vec![0]);
        assert_eq!(places("--host localhost p"), [named]);
        assert_eq!(places("--host n2 p"), [("n2".to_string(), true, vec![0])]);
        let note = in_allocation("-n 5 p").note.unwrap();
        assert!(note.starts_with("note: 5 ranks on 4 slots"), "{note}");
    }

    #[test]
    fn ranks_beyond_the_slots_start_again_with_the_first_host() {
        assert_eq!(ranks("-n 5 --host a,b p"), [vec![0, 2, 4], vec![1, 3]]);
        assert_eq!(ranks("-n 5 --host a:2,b p"), [vec![0, 1, 3, 4], vec![2]]);
    }

    #[test]
    fn by_node_deals_in_turn() {
        assert_eq!(
            ranks("-n 4 --map-by node --host a:3,b:1 p"),
            [vec![0, 2, 3], vec![1]]
        );
        assert_eq!(ranks("-n 4 -ppn 2 --host a,b p"), [vec![0, 1], vec![2, 3]]);
    }

    #[test]
    fn a_rank_with_several_cores_takes_as_many_slots() {
        assert_eq!(
            ranks("--host a:8,b:4 --map-by slot:pe=4 p"),
            [vec![0, 1], vec![2]]
        );
        assert_eq!(ranks("--host a:2 --map-by slot:pe=4 p"), [vec![0]]);
        assert_eq!(
            placed("-n 3 --map-by :pe=2:nooversubscribe p").is_ok(),
            cpus() >= 6
        );
    }

    #[test]
    fn ranks_are_numbered_anew_without_moving_to_another_host() {
        let hosts = "--host a:3,b:1,c:2";
        let in_turn = [vec![0, 3, 5], vec![1], vec![2, 4]];
        for order in ["node", "span"] {
            assert_eq!(ranks(&format!("{hosts} --rank-by {order} p")), in_turn);
        }
        let in_a_row = [vec![0, 1, 2], vec![3], vec![4, 5]];
        for order in ["slot", "fill"] {
            let line = format!("{hosts} --map-by node --rank-by {order} p");
            assert_eq!(ranks(&line), in_a_row);
        }
        assert_eq!(ranks(&format!("{hosts} --map-by core:span p")), in_turn);
    }

    #[test]
    fn ranks_per_part_are_ranks_per_host() {
        let placement = placed("--map-by ppr:2:board --host a:7,b p").unwrap();
        assert_eq!(placement.size, 4);
        let cores = Machine::here()
            .parts(crate::node::cores::Object::Core)
            .len();
        assert_eq!(
            placed("--map-by ppr:3:core p").unwrap().size as usize,
            3 * cores
        );
    }

    #[test]
    fn a_line_for_each_host_names_its_ranks() {
        let lines = placed("-n 5 --host a:4,b p").unwrap().lines();
        assert_eq!(lines, ["host a: ranks 0-3", "host b: rank 4"]);
    }

    #[test]
    fn without_hosts_the_slots_are_the_cpus_where_more_are_refused() {
        let line = |ranks| format!("--nooversubscribe -n {ranks} p");
        assert!(placed(&line(cpus())).is_ok());
        let refused = placed(&line(cpus() + 1)).unwrap_err();
        assert!(refused.text.contains("--nooversubscribe"), "{refused}");
    }

    #[test]
    fn more_ranks_than_given_slots_get_a_note_unless_allowed_or_refused() {
        assert!(placed("-n 3 --host a:2 p").unwrap().note.is_some());
        assert!(
            placed("-n 3 --oversubscribe --host a:2 p")
                .unwrap()
                .note
                .is_none()
        );
        assert!(placed("-n 3 --host a p").unwrap().note.is_none());
        assert!(placed("-n 16 p").unwrap().note.is_none());
        assert_eq!(
            placed("-n 3 --nooversubscribe --host a:2 p")
                .unwrap_err()
                .code,
            2
        );
    }

    #[test]
    fn this_machine_is_one_node_whatever_its_names() {
        let placement = placed("-n 4 --host localhost,nowhere.invalid:2,127.0.0.1 p").unwrap();
        let here: Vec<bool> = placement.places.iter().map(|place| place.is_here).collect();
        assert_eq!(here, [true, false]);
        assert_eq!(placement.places[0].ranks, [0, 3]);
        assert_eq!(placement.hosts[3], "127.0.0.1");
    }
}
