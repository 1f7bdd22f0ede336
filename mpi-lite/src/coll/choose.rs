//! Chooses the algorithms: one table. All processes must choose alike, so it depends only on values
//! that are the same in all of them.
//!
//! Small messages: few rounds, because each costs a latency. Large ones: few bytes per link.
//! The limits are first guesses from the design of the algorithms, to be replaced by measurement.

use super::near::Near;
use super::pieces::PIECE_BYTES;
use super::shared::SHARED_BYTES;
use crate::comm::{Everyone, Nodes};
use crate::data::{Buffer, Op};
use crate::engine::AtSite;
use crate::error::Result;

/// Up to this many bytes per process, gather and scatter pass packed blocks along a tree; beyond,
/// the root deals with each process itself, without copies.
pub(super) const TREE_BLOCK_BYTES: u64 = 4096;

/// Up to this many bytes in all, allgather doubles its blocks in each round; beyond, each block
/// goes around a ring without copies.
pub(super) const DOUBLING_BYTES: u64 = 32 * 1024;

/// Up to this many bytes, allreduce exchanges whole vectors; beyond, each process reduces its part
/// and the parts are gathered.
pub(super) const WHOLE_VECTOR_BYTES: u64 = 16 * 1024;

/// From this many bytes on, bcast scatters the message and gathers the parts on a ring.
pub(super) const BCAST_TREE_BYTES: u64 = 64 * 1024;

/// Up to this many bytes per block, alltoall by messages sends several blocks in one message;
/// beyond, each goes straight to its process, since a block in hops goes ⌈log2 n⌉ / 2 times over
/// the wire (docs/decisions/0037).
pub(super) const HOPS_BLOCK_BYTES: u64 = 1024;

/// Up to this many bytes that the leader of a node holds for all processes there, it sends them to
/// the leader of each other node in one message.
pub(super) const LEADER_BYTES: u64 = 1024 * 1024;

/// Up to this many processes with cores of their own, each reads what all of them bring.
pub(super) const ALL_LOOK: usize = 8;

/// Up to this many bytes per block, processes that share cores exchange blocks in shared memory:
/// beyond, the copies cost more than the waits that are saved.
pub(super) const EXCHANGE_BLOCK_BYTES: u64 = 4096;

/// How the processes of a node meet in the memory that they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meeting {
    /// Each reads what it needs from all that bring something.
    All,
    /// The last member to come does the work for all.
    Last,
    /// Long data in pieces, each read by all that need it.
    Pieces,
}

/// A meeting, and where it is.
type Met<'a> = Option<(Meeting, AtSite<'a>)>;

/// Chooses for an operation to which each process brings `bytes` bytes at most, in elements of
/// `size` bytes. Nothing: by messages. All processes get the same result.
#[inline]
pub(super) fn meeting<'a>(near: &Near<'a>, bytes: u64, size: u64) -> Met<'a> {
    let at_site = near.at_site()?;
    if bytes > SHARED_BYTES {
        return in_pieces(at_site, size);
    }
    if at_site.site().is_oversubscribed() {
        return Some((Meeting::Last, at_site));
    }
    (near.all() <= ALL_LOOK).then_some((Meeting::All, at_site))
}

/// Returns pieces if the site has room for them.
fn in_pieces(at_site: AtSite<'_>, size: u64) -> Met<'_> {
    let has_room = at_site.site().most_bytes() > PIECE_BYTES && size <= PIECE_BYTES as u64;
    has_room.then_some((Meeting::Pieces, at_site))
}

/// Chooses for barrier.
#[inline]
pub(super) fn barrier<'a>(near: &Near<'a>) -> Met<'a> {
    let at_site = near.at_site()?;
    let is_oversubscribed = at_site.site().is_oversubscribed();
    Some((
        if is_oversubscribed {
            Meeting::Last
        } else {
            Meeting::All
        },
        at_site,
    ))
}

/// Chooses for gather and scatter of blocks of any length. Returns where they meet in pieces.
pub(super) fn rooted_near<'a>(near: &Near<'a>) -> Option<AtSite<'a>> {
    in_pieces(near.at_site()?, 1).map(|(_, at_site)| at_site)
}

/// Chooses for allgather of blocks of `block` bytes.
pub(super) fn spread_near<'a>(near: &Near<'a>, block: u64) -> Met<'a> {
    let at_site = near.at_site()?;
    match at_site.site().is_oversubscribed() {
        true => by_buffers(at_site, block).or_else(|| in_pieces(at_site, 1)),
        false => meeting(near, block, 1),
    }
}

/// Chooses for allgather of blocks of different lengths, `total` bytes in all.
pub(super) fn spread_unequal_near<'a>(near: &Near<'a>, total: u64) -> Option<AtSite<'a>> {
    let is_short = total <= EXCHANGE_BLOCK_BYTES * near.all() as u64;
    exchange_unequal_near(near).filter(|_| is_short)
}

/// Chooses for alltoall of blocks of `block` bytes.
pub(super) fn exchange_near<'a>(near: &Near<'a>, block: u64) -> Met<'a> {
    let at_site = near.at_site()?;
    match at_site.site().is_oversubscribed() {
        true => by_buffers(at_site, block).or_else(|| in_pieces(at_site, 1)),
        false => meeting(near, block.saturating_mul(near.all() as u64), 1),
    }
}

/// Returns where alltoall and allgather of blocks of different lengths may meet.
pub(super) fn exchange_unequal_near<'a>(near: &Near<'a>) -> Option<AtSite<'a>> {
    let fits = |at_site: &AtSite<'_>| {
        let site = at_site.site();
        site.is_oversubscribed() && site.has_exchange_buffers()
    };
    near.at_site().filter(fits)
}

/// The last member to come sorts the blocks of all, if the site has buffers for that and they are
/// short.
fn by_buffers(at_site: AtSite<'_>, block: u64) -> Met<'_> {
    let fits = block <= EXCHANGE_BLOCK_BYTES && at_site.site().has_exchange_buffers();
    fits.then_some((Meeting::Last, at_site))
}

/// Returns the nodes of the processes if a reduction goes by them: within each node, and between
/// their leaders. Each partial result must cover adjacent ranks unless the operator commutes.
pub(super) fn nodes_to_reduce(peers: &impl Everyone, commutes: bool) -> Option<&Nodes> {
    let nodes = peers.nodes();
    nodes.filter(|nodes| commutes || nodes.are_in_order())
}

/// Returns the nodes of the processes if an alltoall of `block` bytes per pair of processes goes by
/// their leaders.
pub(super) fn nodes_to_exchange(peers: &impl Everyone, block: u64) -> Option<&Nodes> {
    let of_leader = |nodes: &Nodes| {
        let pairs = peers.all() as u64 * nodes.most() as u64;
        block.saturating_mul(pairs)
    };
    let nodes = peers.nodes().filter(|_| block <= HOPS_BLOCK_BYTES);
    nodes.filter(|nodes| of_leader(nodes) <= LEADER_BYTES)
}

/// How gather and scatter move blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rooted {
    /// Along a binomial tree.
    Tree,
    /// The root with each process.
    Direct,
}

/// How alltoall moves blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exchange {
    /// With one process after the other.
    Pairwise,
    /// Bruck, in hops of powers of two.
    Hops,
}

/// How allgather moves blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// Bruck: twice as many in each round.
    Doubling,
    /// Around a ring.
    Ring,
}

/// How allreduce splits the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reduction {
    /// Recursive doubling with whole vectors, which keeps the order of the operands.
    Doubling,
    /// Reduce-scatter around a ring, then allgather.
    Ring,
}

/// How bcast moves the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broadcast {
    /// Whole, along a binomial tree.
    Tree,
    /// In parts: scattered, then gathered around a ring.
    Parts,
}

/// Chooses for gather and scatter with `block` bytes per process.
pub(super) fn rooted(block: u64, size: usize) -> Rooted {
    if size > 2 && block <= TREE_BLOCK_BYTES {
        Rooted::Tree
    } else {
        Rooted::Direct
    }
}

/// Chooses for alltoall with `block` bytes per pair of processes.
pub(super) fn exchange(block: u64, size: usize) -> Exchange {
    match size > 3 && block <= HOPS_BLOCK_BYTES {
        true => Exchange::Hops,
        false => Exchange::Pairwise,
    }
}

/// Chooses for allgather with `block` bytes per process.
pub(super) fn spread(block: u64, size: usize) -> Spread {
    match block.saturating_mul(size as u64) <= DOUBLING_BYTES {
        true => Spread::Doubling,
        false => Spread::Ring,
    }
}

/// Chooses for allreduce of the elements of `own`.
pub(super) fn allreduce(own: &Buffer, op: &Op, size: usize) -> Result<Reduction> {
    let vector = (own.count(), own.bytes()?, op.is_commutative());
    Ok(reduction(vector, size))
}

/// Chooses for allreduce of `count` elements in `bytes` bytes.
fn reduction((count, bytes, commutative): (u64, u64, bool), size: usize) -> Reduction {
    let divisible = commutative && size > 2 && count >= size as u64;
    match divisible && bytes > WHOLE_VECTOR_BYTES {
        true => Reduction::Ring,
        false => Reduction::Doubling,
    }
}

/// Chooses for bcast of `bytes` bytes.
pub(super) fn broadcast(bytes: u64, size: usize) -> Broadcast {
    match size > 3 && bytes >= BCAST_TREE_BYTES {
        true => Broadcast::Parts,
        false => Broadcast::Tree,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_that_does_not_commute_keeps_its_order() {
        let choice = |vector| reduction(vector, 8);
        assert_eq!(choice((1 << 20, 8 << 20, false)), Reduction::Doubling);
        assert_eq!(choice((1 << 20, 8 << 20, true)), Reduction::Ring);
        assert_eq!(choice((4, 1 << 20, true)), Reduction::Doubling);
    }
}
