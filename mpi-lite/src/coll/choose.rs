//! Chooses the algorithms: one table. All processes must choose alike, so it depends only on values
//! that are the same in all of them.
//!
//! Small messages: few rounds, because each costs a latency. Large ones: few bytes per link. The
//! limits between the two are [`Limits`](crate::config::Limits).

use super::near::Near;
use super::pieces::PIECE_BYTES;
use super::shared::SHARED_BYTES;
use crate::comm::{Everyone, Nodes, Peers};
use crate::data::{Buffer, Op};
use crate::engine::AtSite;
use crate::error::Result;

/// Bytes of a piece of a long message that is passed on: data that a sender need not be asked for.
pub(super) const RELAY_BYTES: u64 = 64 * 1024;

/// Up to this many bytes that the leader of a node holds for all processes there, it sends them to
/// the leader of each other node in one message.
pub(super) const LEADER_BYTES: u64 = 1024 * 1024;

/// Up to this many processes with cores of their own, each reads what all of them bring.
pub(super) const ALL_LOOK: usize = 8;

/// Up to this many processes pass on short data in a chain.
const FEW_IN_CHAIN: usize = 8;

/// Up to this many processes wait for each other in each piece of long data.
pub(super) const ALL_WAIT: usize = 16;

/// Up to this many bytes per block, processes that share cores exchange blocks in shared memory:
/// beyond, the copies cost more than the waits that are saved.
pub(super) const EXCHANGE_BLOCK_BYTES: u64 = 4096;

/// Reduce_scatter goes in pieces if these are at most so many times as many as of equal parts.
const UNEVEN: u64 = 4;

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

/// Chooses for reduce_scatter of `whole`, of which each process gets so many elements. A piece has
/// an element of each part at least, and as many of the longest as of the others.
pub(super) fn scattered<'a>(near: &Near<'a>, whole: &Buffer, counts: &[u64]) -> Result<Met<'a>> {
    let (bytes, element) = (whole.bytes()?, whole.datatype().size());
    let all = near.all() as u64;
    let longest = counts.iter().max().copied().unwrap_or(0);
    let is_even = longest.saturating_mul(all) <= whole.count().saturating_mul(UNEVEN);
    let met = meeting_of_all(near, bytes, element.saturating_mul(all));
    Ok(met.filter(|it| it.0 != Meeting::Pieces || is_even))
}

/// [`meeting`] of an operation in which each piece is waited for by all that read it from all: many
/// processes send messages instead.
#[inline]
pub(super) fn meeting_of_all<'a>(near: &Near<'a>, bytes: u64, size: u64) -> Met<'a> {
    unless_many(near, meeting(near, bytes, size))
}

/// Returns pieces if the site has room for them.
fn in_pieces(at_site: AtSite<'_>, size: u64) -> Met<'_> {
    let has_room = at_site.site().most_bytes() > PIECE_BYTES && size <= PIECE_BYTES as u64;
    has_room.then_some((Meeting::Pieces, at_site))
}

/// The same, but no pieces for many processes.
#[inline]
fn unless_many<'a>(near: &Near<'_>, met: Met<'a>) -> Met<'a> {
    met.filter(|it| it.0 != Meeting::Pieces || near.all() <= ALL_WAIT)
}

/// Chooses for barrier.
#[inline]
pub(super) fn barrier<'a>(near: &Near<'a>) -> Met<'a> {
    let at_site = near.at_site()?;
    let meeting = match at_site.site().is_oversubscribed() {
        true => Meeting::Last,
        false => Meeting::All,
    };
    Some((meeting, at_site))
}

/// Chooses for gather and scatter of blocks of any length. Returns where they meet in pieces.
pub(super) fn rooted_near<'a>(near: &Near<'a>) -> Option<AtSite<'a>> {
    in_pieces(near.at_site()?, 1).map(|(_, at_site)| at_site)
}

/// Chooses for allgather of blocks of `block` bytes.
pub(super) fn spread_near<'a>(near: &Near<'a>, block: u64) -> Met<'a> {
    blocks_near(near, block, block)
}

/// Chooses for allgather of blocks of different lengths, `total` bytes in all.
pub(super) fn spread_unequal_near<'a>(near: &Near<'a>, total: u64) -> Option<AtSite<'a>> {
    let is_short = total <= EXCHANGE_BLOCK_BYTES * near.all() as u64;
    exchange_unequal_near(near).filter(|_| is_short)
}

/// Chooses for alltoall of blocks of `block` bytes.
pub(super) fn exchange_near<'a>(near: &Near<'a>, block: u64) -> Met<'a> {
    blocks_near(near, block, block.saturating_mul(near.all() as u64))
}

/// Returns where alltoall and allgather of blocks of different lengths may meet.
pub(super) fn exchange_unequal_near<'a>(near: &Near<'a>) -> Option<AtSite<'a>> {
    let fits = |at_site: &AtSite<'_>| {
        let site = at_site.site();
        site.is_oversubscribed() && site.has_exchange_buffers()
    };
    near.at_site().filter(fits)
}

/// Chooses for blocks of `block` bytes, of which each process brings `brought` bytes.
fn blocks_near<'a>(near: &Near<'a>, block: u64, brought: u64) -> Met<'a> {
    let at_site = near.at_site()?;
    match at_site.site().is_oversubscribed() {
        true => by_buffers(at_site, block).or_else(|| unless_many(near, in_pieces(at_site, 1))),
        false => meeting_of_all(near, brought, 1),
    }
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
    let nodes = peers
        .nodes()
        .filter(|_| block <= peers.limits().alltoall_hops);
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
    /// In pieces, that are passed on: see [`Relay`](super::tree::Relay).
    Pieces,
}

/// Chooses for gather and scatter with `block` bytes per process.
pub(super) fn rooted(peers: &impl Peers, block: u64) -> Rooted {
    match peers.all() > 2 && block <= peers.limits().gather_tree {
        true => Rooted::Tree,
        false => Rooted::Direct,
    }
}

/// Chooses for alltoall with `block` bytes per pair of processes.
pub(super) fn exchange(peers: &impl Peers, block: u64) -> Exchange {
    match peers.all() > 3 && block <= peers.limits().alltoall_hops {
        true => Exchange::Hops,
        false => Exchange::Pairwise,
    }
}

/// Chooses for allgather with `block` bytes per process.
pub(super) fn spread(peers: &impl Peers, block: u64) -> Spread {
    match block.saturating_mul(peers.all() as u64) <= peers.limits().allgather_doubling {
        true => Spread::Doubling,
        false => Spread::Ring,
    }
}

/// Chooses for allreduce of the elements of `own`.
pub(super) fn allreduce(peers: &impl Peers, own: &Buffer, op: &Op) -> Result<Reduction> {
    let (count, size) = (own.count(), peers.all());
    let is_divisible = op.is_commutative() && size > 1 && count >= size as u64;
    match is_divisible && own.bytes()? > peers.limits().allreduce_whole {
        true => Ok(Reduction::Ring),
        false => Ok(Reduction::Doubling),
    }
}

/// How reduce collects its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Collection {
    /// Whole, along a binomial tree.
    Tree,
    /// In pieces, that are passed on: see [`Relay`](super::tree::Relay).
    Pieces,
}

/// Chooses for reduce of `bytes` bytes.
pub(super) fn collection(peers: &impl Peers, bytes: u64) -> Collection {
    match peers.all() > 2 && bytes > peers.limits().reduce_tree {
        true => Collection::Pieces,
        false => Collection::Tree,
    }
}

/// How reduce_scatter moves vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scattering {
    /// Reduced at one process, which scatters the result.
    Root,
    /// Each part to its process, which reduces it.
    Pairwise,
}

/// Chooses for reduce_scatter of the elements of `whole`.
pub(super) fn scattering(peers: &impl Everyone, whole: &Buffer, op: &Op) -> Result<Scattering> {
    let is_long = peers.all() == 2 || whole.bytes()? > peers.limits().allreduce_whole;
    match op.is_commutative() && is_long && peers.nodes().is_none() {
        true => Ok(Scattering::Pairwise),
        false => Ok(Scattering::Root),
    }
}

/// How scan moves vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefix {
    /// In each round to the process twice as far above.
    Doubling,
    /// In pieces, from each process to the next.
    Chain,
}

/// Chooses for scan of `bytes` bytes: few processes pass little on in less time than it takes more
/// messages to be handled.
pub(super) fn prefix(peers: &impl Peers, bytes: u64) -> Prefix {
    match peers.all() <= FEW_IN_CHAIN || bytes > RELAY_BYTES {
        true => Prefix::Chain,
        false => Prefix::Doubling,
    }
}

/// Chooses for bcast of `bytes` bytes.
pub(super) fn broadcast(peers: &impl Peers, bytes: u64) -> Broadcast {
    match peers.all() > 2 && bytes > peers.limits().bcast_tree {
        true => Broadcast::Pieces,
        false => Broadcast::Tree,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::config::Limits;
    use crate::data::{Basic, UserOp};

    /// So many processes, that only choose.
    struct Many(usize, Limits);

    impl Peers for Many {
        fn here(&self) -> usize {
            0
        }

        fn all(&self) -> usize {
            self.0
        }

        fn limits(&self) -> Limits {
            self.1
        }

        async fn send(&self, _: usize, _: &Buffer) -> Result<()> {
            unreachable!("they only choose")
        }

        async fn receive(&self, _: usize, _: &Buffer) -> Result<()> {
            unreachable!("they only choose")
        }

        async fn exchange(&self, _: (usize, &Buffer), _: (usize, &Buffer)) -> Result<()> {
            unreachable!("they only choose")
        }

        async fn exchange_all(&self, _: &[(usize, Buffer)], _: &[(usize, Buffer)]) -> Result<()> {
            unreachable!("they only choose")
        }
    }

    fn doubles(bytes: u64) -> Buffer {
        let bytes = usize::try_from(bytes).unwrap();
        let all = Buffer::zeroed(bytes).unwrap();
        Buffer::at(all.origin(), bytes as u64 / 8, Basic::Double.into())
    }

    /// What is chosen for up to 32 processes and 16 MiB.
    fn choices(limits: Limits, op: &Op) -> BTreeSet<String> {
        let sizes =
            (2..=32).flat_map(|all| (3..=24).map(move |bits| (Many(all, limits), 1 << bits)));
        let each = sizes.flat_map(|(peers, bytes)| {
            let reduction = allreduce(&peers, &doubles(bytes), op).unwrap();
            [
                format!("rooted {:?}", rooted(&peers, bytes)),
                format!("allgather {:?}", spread(&peers, bytes)),
                format!("allreduce {reduction:?}"),
                format!("bcast {:?}", broadcast(&peers, bytes)),
                format!("reduce {:?}", collection(&peers, bytes)),
                format!("alltoall {:?}", exchange(&peers, bytes)),
            ]
        });
        each.collect()
    }

    /// Two ways for each of six limits.
    #[test]
    fn each_limit_of_the_table_lies_between_sizes_that_occur() {
        assert_eq!(choices(Limits::MEASURED, &Op::Sum).len(), 12);
    }

    #[test]
    fn a_limit_beyond_all_sizes_leaves_the_first_way() {
        let names = Limits::NAMES.iter();
        let text: Vec<_> = names.map(|name| format!("{name}={}", u64::MAX)).collect();
        let all = choices(text.join(",").parse().unwrap(), &Op::Sum);
        let first = ["rooted Tree", "allgather Doubling", "allreduce Doubling"];
        let second = ["bcast Tree", "reduce Tree", "alltoall Hops"];
        // Few processes deal with each other directly, whatever the limit.
        let direct = ["rooted Direct", "alltoall Pairwise"];
        let expected = first.iter().chain(&second).chain(&direct);
        assert_eq!(all, expected.map(|it| (*it).to_owned()).collect());
    }

    #[test]
    fn an_operator_that_does_not_commute_keeps_its_order() {
        let last = Op::User(UserOp::on_slices(|_, _, _, _| (), false));
        let all = choices(Limits::MEASURED, &last);
        assert!(!all.contains("allreduce Ring") && all.contains("allreduce Doubling"));
    }
}
