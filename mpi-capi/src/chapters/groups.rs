//! Groups, section 7.3.

use std::collections::BinaryHeap;

use mpi_lite::comm;
use mpi_lite::ids::PeerId;

use super::communicators::{c_rank, comparison};
use crate::abi::{self, Handle};
use crate::args::*;
use crate::error::{Error, Result};
use crate::global::LIBRARY;
use crate::objects::session::ProcessSet;
use crate::registry;

mpi! {
    /// Compares two groups. MPI 5.0, 7.3.1.
    fn MPI_Group_compare(group1: Group, group2: Group, result: Out<Compared>) {
        result.set(comparison(group1.lite.compare(&group2.lite)))
    }

    /// The members of the first that are not in the second. MPI 5.0, 7.3.2.
    fn MPI_Group_difference(group1: Group, group2: Group, newgroup: Out<Group>) {
        let others = group2.lite.members();
        newgroup.set(select(&group1, |member| !others.contains(&member)))
    }

    /// All members but those of these ranks. MPI 5.0, 7.3.2.
    fn MPI_Group_excl(group: Group, n: Length, ranks: Ints, newgroup: Out<Group>) {
        let out = members_of(&group, ranks_of(n, ranks)?)?;
        newgroup.set(select(&group, |member| !out.contains(&member)))
    }

    /// Gives a group up. MPI 5.0, 7.3.3.
    fn MPI_Group_free(group: InOut<Group>) {
        if group.value.handle != abi::MPI_GROUP_EMPTY {
            registry::remove::<comm::Group>(group.value.handle).expect("it was just read");
        }
        group.set(abi::MPI_GROUP_NULL)
    }

    /// The processes of a set. If there is no set of this name, `newgroup` becomes the null handle,
    /// and the error is `MPI_ERR_ARG`. MPI 5.0, 7.3.2.
    fn MPI_Group_from_session_pset(session: Session, pset_name: Text, newgroup: Out<Group>) {
        let set = ProcessSet::named(pset_name.bytes())?;
        newgroup.set(insert(set.group().in_session(session.number())))
    }

    /// The members of these ranks in this order. MPI 5.0, 7.3.2.
    fn MPI_Group_incl(group: Group, n: Length, ranks: Ints, newgroup: Out<Group>) {
        let members = members_of(&group, ranks_of(n, ranks)?)?;
        newgroup.set(insert_members(&group, members))
    }

    /// The members of the first that are in the second. MPI 5.0, 7.3.2.
    fn MPI_Group_intersection(group1: Group, group2: Group, newgroup: Out<Group>) {
        let others = group2.lite.members();
        newgroup.set(select(&group1, |member| others.contains(&member)))
    }

    /// All members but those of these ranges of ranks. MPI 5.0, 7.3.2.
    fn MPI_Group_range_excl(group: Group, n: Length, ranges: Ranges, newgroup: Out<Group>) {
        let out = members_of(&group, ranks_of_ranges(&group, n, ranges)?)?;
        newgroup.set(select(&group, |member| !out.contains(&member)))
    }

    /// The members of these ranges of ranks in this order. MPI 5.0, 7.3.2.
    fn MPI_Group_range_incl(group: Group, n: Length, ranges: Ranges, newgroup: Out<Group>) {
        let members = members_of(&group, ranks_of_ranges(&group, n, ranges)?)?;
        newgroup.set(insert_members(&group, members))
    }

    /// This process's rank, or `MPI_UNDEFINED`. MPI 5.0, 7.3.1.
    fn MPI_Group_rank(group: Group, rank: Out<Int>) {
        let me = LIBRARY.process().me();
        let place = group.lite.members().iter().zip(0..).find(|(member, _)| **member == me);
        rank.set(place.map_or(abi::MPI_UNDEFINED, |(_, rank)| rank))
    }

    /// The number of members. MPI 5.0, 7.3.1.
    fn MPI_Group_size(group: Group, size: Out<Int>) {
        size.set(c_rank(group.lite.size()))
    }

    /// The ranks in one group of members of another. MPI 5.0, 7.3.1.
    fn MPI_Group_translate_ranks(
        group1: Group, n: Length, ranks1: Ranks, group2: Group, ranks2: OutRanks
    ) {
        let others = group2.lite.members();
        for (index, rank) in ranks1.to_vec(n.0 as usize)?.into_iter().enumerate() {
            let translated = match rank {
                abi::MPI_PROC_NULL => abi::MPI_PROC_NULL,
                _ => {
                    let member = member_of(&group1, rank)?;
                    let place = others.iter().zip(0..).find(|(other, _)| **other == member);
                    place.map_or(abi::MPI_UNDEFINED, |(_, rank)| rank)
                }
            };
            ranks2.set(index, translated)?;
        }
        Ok(())
    }

    /// The members of the first, then those of the second that are not in it. MPI 5.0, 7.3.2.
    fn MPI_Group_union(group1: Group, group2: Group, newgroup: Out<Group>) {
        let mut members = group1.lite.members().to_vec();
        let more = group2.lite.members().iter().filter(|it| !group1.lite.members().contains(it));
        members.extend(more);
        // The empty group is in no session.
        let first = if group1.lite.size() > 0 { &group1 } else { &group2 };
        newgroup.set(insert_members(first, members))
    }
}

/// Gives a handle to a group; the empty one has its own.
pub(super) fn insert(group: comm::Group) -> Handle {
    match group.size() {
        0 => abi::MPI_GROUP_EMPTY,
        _ => registry::insert(group),
    }
}

/// Gives a handle to a group of `members` in the session of `group`.
fn insert_members(group: &Group, members: Vec<PeerId>) -> Handle {
    insert(group.lite.with_members(members.into()))
}

fn select(group: &Group, is_in: impl Fn(PeerId) -> bool) -> Handle {
    let members = group.lite.members().iter().copied();
    insert_members(group, members.filter(|member| is_in(*member)).collect())
}

fn ranks_of(n: Length, ranks: Ints) -> Result<Vec<i32>> {
    (0..n.0 as usize).map(|index| ranks.get(index)).collect()
}

/// The ranks that triplets of first, last and stride name: those of the group, none twice as far as
/// their number shows that. A range may name any number of ranks, so it is written out only when
/// its ends are known to be in the group.
fn ranks_of_ranges(group: &Group, n: Length, ranges: Ranges) -> Result<Vec<i32>> {
    let size = group.lite.size() as usize;
    let mut ranks = Vec::new();
    for index in 0..n.0 as usize {
        ranks.extend(range(group, ranges.get(index)?)?);
        if ranks.len() > size {
            return Err(Error::new(abi::MPI_ERR_RANK, TWICE));
        }
    }
    Ok(ranks)
}

/// The ranks that one triplet names. Source: MPI 5.0, 7.3.2.
fn range(group: &Group, triplet: [i32; 3]) -> Result<impl Iterator<Item = i32>> {
    let [first, last, stride] = triplet.map(i64::from);
    if stride == 0 {
        return Err(Error::new(abi::MPI_ERR_ARG, "the stride of a range is 0"));
    }
    if (last - first).signum() == -stride.signum() {
        let why = "the stride of a range leads away from its last rank";
        return Err(Error::new(abi::MPI_ERR_ARG, why));
    }
    let steps = (last - first) / stride;
    // The rank at which the range ends may be nearer than the last rank.
    let end = first + steps * stride;
    let inside = 0..i64::from(group.lite.size());
    if last < 0 || !inside.contains(&first) || !inside.contains(&end) {
        let why = "a range begins or ends with a rank that is not in the group";
        return Err(Error::new(abi::MPI_ERR_RANK, why));
    }
    Ok((0..=steps).map(move |step| (first + step * stride) as i32))
}

const TWICE: &str = "a rank is named twice";

fn member_of(group: &Group, rank: i32) -> Result<PeerId> {
    let place = usize::try_from(rank).ok();
    place
        .and_then(|place| group.lite.members().get(place).copied())
        .ok_or_else(|| Error::new(abi::MPI_ERR_RANK, "a rank is not in the group"))
}

/// The members of ranks, none of which may be named twice.
fn members_of(group: &Group, ranks: Vec<i32>) -> Result<Vec<PeerId>> {
    let members: Vec<PeerId> = ranks
        .into_iter()
        .map(|rank| member_of(group, rank))
        .collect::<Result<_>>()?;
    let sorted = BinaryHeap::from(members.clone()).into_sorted_vec();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Error::new(abi::MPI_ERR_RANK, TWICE));
    }
    Ok(members)
}
