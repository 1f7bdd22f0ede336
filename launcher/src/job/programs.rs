//! Where the programs of a job run: their ranks are dense, in the order of the programs, and each
//! program may have hosts of its own.

use crate::cli::part::at;
use crate::cli::request::Options;
use crate::failure::Failure;
use crate::job::allocation::Allocation;
use crate::job::place::{self, Place, Placement};

/// Deals the ranks of all programs to their hosts. Fails as [`place::place`], with the program that
/// is to blame if it has hosts of its own.
pub fn place(options: &Options, allocation: Option<&Allocation>) -> Result<Placement, Failure> {
    if options.programs.iter().all(|part| part.hosts.is_empty()) {
        return place::place(options, allocation);
    }
    let ranks = ranks(options);
    let size = options.ranks.unwrap_or(0);
    let mut whole = Placement::new(size, None);
    // Those without hosts of their own share the hosts of the job.
    let shared = options.programs.iter().zip(&ranks);
    let shared = shared.filter(|(part, _)| part.hosts.is_empty());
    let shared: Vec<u32> = shared.flat_map(|(_, ranks)| ranks.clone()).collect();
    if !shared.is_empty() {
        let group = place::place(&with_ranks(options, &shared), allocation)?;
        merge(&mut whole, &group, &shared);
    }
    for (number, (part, ranks)) in options.programs.iter().zip(ranks).enumerate() {
        if part.hosts.is_empty() {
            continue;
        }
        let ranks: Vec<u32> = ranks.collect();
        let mut own = with_ranks(options, &ranks);
        own.hosts.clone_from(&part.hosts);
        own.host_file = None;
        let program = format!("program {} of the job", number + 1);
        let group = place::place(&own, allocation).map_err(|failure| at(&program, failure))?;
        merge(&mut whole, &group, &ranks);
    }
    Ok(whole)
}

/// The ranks of each program.
fn ranks(options: &Options) -> Vec<std::ops::Range<u32>> {
    let numbers = options.programs.iter().map(|part| part.ranks.unwrap_or(0));
    let ranks = numbers.scan(0, |next, number| {
        let first = std::mem::replace(next, *next + number);
        Some(first..*next)
    });
    ranks.collect()
}

/// The number of each rank's program, of a job of `size` ranks.
pub fn program_of_ranks(options: &Options, size: u32) -> Vec<u32> {
    if options.programs.len() <= 1 {
        return vec![0; size as usize];
    }
    let each = (0..).zip(ranks(options));
    each.flat_map(|(number, ranks)| ranks.map(move |_| number))
        .collect()
}

fn with_ranks(options: &Options, ranks: &[u32]) -> Options {
    let mut own = options.clone();
    own.ranks = u32::try_from(ranks.len()).ok();
    own.programs.clear();
    own
}

/// Adds the places of a group, of which rank `i` is `ranks[i]` of the job.
fn merge(whole: &mut Placement, group: &Placement, ranks: &[u32]) {
    for place in &group.places {
        let of_job = place.ranks.iter().map(|rank| ranks[*rank as usize]);
        whole.add(Place {
            ranks: of_job.collect(),
            ..place.clone()
        });
    }
    // A rank keeps the name that was used for it, also if its node has another one.
    for (host, rank) in group.hosts.iter().zip(ranks) {
        whole.hosts[*rank as usize].clone_from(host);
    }
    whole.note = whole.note.take().or_else(|| group.note.clone());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::parse;
    use crate::cli::request::Request;

    fn options(line: &str) -> Options {
        match parse(line.split(' ').map(Into::into)).unwrap() {
            Request::Run(options) => *options,
            other => panic!("{other:?}"),
        }
    }

    fn placed(line: &str) -> Vec<(String, Vec<u32>)> {
        let placement = place(&options(line), None).unwrap();
        let places = placement.places.into_iter();
        places.map(|place| (place.host, place.ranks)).collect()
    }

    #[test]
    fn programs_without_hosts_of_their_own_share_the_slots_of_the_job() {
        assert_eq!(
            placed("--host a:2,b:2 -n 1 p : -n 2 q : -n 1 r"),
            [("a".into(), vec![0, 1]), ("b".into(), vec![2, 3])]
        );
    }

    #[test]
    fn a_program_with_hosts_runs_there_and_a_host_is_one_node() {
        assert_eq!(
            placed("--host a:2,b:2 -n 3 p : -n 2 --host b:1,c:1 q : -n 1 r"),
            [
                ("a".into(), vec![0, 1]),
                ("b".into(), vec![2, 3, 5]),
                ("c".into(), vec![4])
            ]
        );
        let placement = place(&options("-n 1 p : -n 2 --host n1:2 q"), None).unwrap();
        assert_eq!(placement.hosts, ["localhost", "n1", "n1"]);
        assert_eq!(placement.size, 3);
    }

    #[test]
    fn ranks_are_dense_in_the_order_of_the_programs() {
        let several = options("-n 2 p : -n 1 q : -n 2 r");
        assert_eq!(program_of_ranks(&several, 5), [0, 0, 1, 2, 2]);
        assert_eq!(program_of_ranks(&options("p"), 3), [0, 0, 0]);
    }
}
