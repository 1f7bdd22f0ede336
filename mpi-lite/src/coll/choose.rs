//! Chooses the algorithms: one table. All processes must choose alike, so it depends only on values
//! that are the same in all of them.
//!
//! Small messages: few rounds, because each costs a latency. Large ones: few bytes per link.
//! The limits are first guesses from the design of the algorithms, to be replaced by measurement.

use super::pieces::PIECE_BYTES;
use super::shared::SHARED_BYTES;
use crate::comm::Peers;
use crate::engine::AtSite;

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

/// Up to this many processes with cores of their own, each reads what all of them bring.
pub(super) const ALL_LOOK: usize = 8;

/// Up to this many bytes per block, processes that share cores exchange blocks in shared memory:
/// beyond, the copies cost more than the waits that are saved.
pub(super) const EXCHANGE_BLOCK_BYTES: u64 = 4096;

/// How near the processes are to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nearness {
    /// They have only messages.
    Apart,
    /// They share memory, and each has a core of its own.
    Beside,
    /// They share memory and cores.
    Oversubscribed,
}

/// Returns how near the processes are to each other. All of them get the same result.
pub(super) fn nearness(peers: &impl Peers) -> Nearness {
    match peers.at_site() {
        None => Nearness::Apart,
        Some(at_site) if at_site.site().is_oversubscribed() => Nearness::Oversubscribed,
        Some(_) => Nearness::Beside,
    }
}

/// Returns what `choose` returns for how near the processes are. If that is `by_buffers` and this
/// communicator has no exchange buffers, it chooses as if the processes were apart.
pub(super) fn unless_without_buffers<C: PartialEq>(
    peers: &impl Peers,
    by_buffers: C,
    choose: impl Fn(Nearness) -> C,
) -> C {
    let choice = choose(nearness(peers));
    let lacks_buffers = || {
        peers
            .at_site()
            .is_some_and(|it| !it.site().has_exchange_buffers())
    };
    if choice == by_buffers && lacks_buffers() {
        return choose(Nearness::Apart);
    }
    choice
}

/// Returns the site of the processes, if it has room for pieces of long data: `bytes` bytes of each
/// process, in elements of `size` bytes. All of them get the same result.
pub(super) fn in_pieces(peers: &impl Peers, (bytes, size): (u64, u64)) -> Option<AtSite<'_>> {
    let has_room = |at_site: &AtSite<'_>| at_site.site().most_bytes() > PIECE_BYTES;
    let is_long = bytes > SHARED_BYTES && size <= PIECE_BYTES as u64;
    peers.at_site().filter(|it| is_long && has_room(it))
}

/// How a barrier detects that all have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Synchronisation {
    /// By messages: dissemination.
    Messages,
    /// By sequence words in shared memory: dissemination too.
    Rounds,
    /// By a counter in shared memory.
    Count,
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
    /// By messages: with one process after the other.
    Pairwise,
    /// By messages: Bruck, in hops of powers of two.
    Hops,
    /// In shared memory: each reads what all bring.
    All,
    /// In shared memory: the last member to come sorts it for all.
    Last,
}

/// How allgather moves blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spread {
    /// In shared memory: each reads what all bring.
    All,
    /// In shared memory: the last member to come joins it for all.
    Last,
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
    /// In shared memory: each process reduces what all bring.
    All,
    /// In shared memory: the last member to come reduces it for all.
    Last,
}

/// How scan and exscan compute the reduction of the lower ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefix {
    /// By messages: recursive doubling.
    Doubling,
    /// In shared memory: each process reduces what the lower ones bring.
    All,
    /// In shared memory: the last member to come reduces it for all.
    Last,
}

/// How bcast moves the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broadcast {
    /// Whole, along a binomial tree.
    Tree,
    /// In parts: scattered, then gathered around a ring.
    Parts,
    /// In shared memory: all read what the root brings.
    Site,
}

/// How reduce collects its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Collection {
    /// Along a binomial tree.
    Tree,
    /// In shared memory: the root reads what all bring.
    Site,
}

/// Chooses for barrier.
pub(super) fn barrier(nearness: Nearness) -> Synchronisation {
    match nearness {
        Nearness::Apart => Synchronisation::Messages,
        Nearness::Beside => Synchronisation::Rounds,
        Nearness::Oversubscribed => Synchronisation::Count,
    }
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
pub(super) fn exchange(block: u64, size: usize, nearness: Nearness) -> Exchange {
    match nearness {
        Nearness::Beside if meets(block.saturating_mul(size as u64), size, nearness) => {
            Exchange::All
        }
        Nearness::Oversubscribed if block <= EXCHANGE_BLOCK_BYTES => Exchange::Last,
        Nearness::Apart if size > 3 && block <= HOPS_BLOCK_BYTES => Exchange::Hops,
        _ => Exchange::Pairwise,
    }
}

/// Chooses for allgather with `block` bytes per process.
pub(super) fn spread(block: u64, size: usize, nearness: Nearness) -> Spread {
    match nearness {
        Nearness::Beside if meets(block, size, nearness) => return Spread::All,
        Nearness::Oversubscribed if block <= EXCHANGE_BLOCK_BYTES => return Spread::Last,
        _ => {}
    }
    if block.saturating_mul(size as u64) <= DOUBLING_BYTES {
        Spread::Doubling
    } else {
        Spread::Ring
    }
}

/// Chooses for allgather of blocks of different lengths, `total` bytes in all.
pub(super) fn spread_unequal(total: u64, size: usize, nearness: Nearness) -> Spread {
    match nearness {
        Nearness::Oversubscribed if total <= EXCHANGE_BLOCK_BYTES * size as u64 => Spread::Last,
        _ => Spread::Ring,
    }
}

/// Chooses for allreduce of `count` elements in `bytes` bytes.
pub(super) fn reduction(
    (count, bytes, commutative): (u64, u64, bool),
    size: usize,
    nearness: Nearness,
) -> Reduction {
    match nearness {
        Nearness::Beside if meets(bytes, size, nearness) => return Reduction::All,
        Nearness::Oversubscribed if meets(bytes, size, nearness) => return Reduction::Last,
        _ => {}
    }
    let divisible = commutative && size > 2 && count >= size as u64;
    if divisible && bytes > WHOLE_VECTOR_BYTES {
        Reduction::Ring
    } else {
        Reduction::Doubling
    }
}

/// Chooses for scan and exscan of `bytes` bytes.
pub(super) fn prefix(bytes: u64, size: usize, nearness: Nearness) -> Prefix {
    match nearness {
        Nearness::Beside if meets(bytes, size, nearness) => Prefix::All,
        Nearness::Oversubscribed if meets(bytes, size, nearness) => Prefix::Last,
        _ => Prefix::Doubling,
    }
}

/// Chooses for reduce of `bytes` bytes.
pub(super) fn collection(bytes: u64, size: usize, nearness: Nearness) -> Collection {
    match meets(bytes, size, nearness) {
        true => Collection::Site,
        false => Collection::Tree,
    }
}

/// Returns true if `size` processes use shared memory for `bytes` bytes each.
fn meets(bytes: u64, size: usize, nearness: Nearness) -> bool {
    let is_small = bytes <= SHARED_BYTES;
    match nearness {
        Nearness::Apart => false,
        Nearness::Beside => is_small && size <= ALL_LOOK,
        Nearness::Oversubscribed => is_small,
    }
}

/// Chooses for bcast of `bytes` bytes.
pub(super) fn broadcast(bytes: u64, size: usize, nearness: Nearness) -> Broadcast {
    if meets(bytes, size, nearness) {
        return Broadcast::Site;
    }
    if size > 3 && bytes >= BCAST_TREE_BYTES {
        Broadcast::Parts
    } else {
        Broadcast::Tree
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_that_does_not_commute_keeps_its_order() {
        let choice = |vector| reduction(vector, 8, Nearness::Apart);
        assert_eq!(choice((1 << 20, 8 << 20, false)), Reduction::Doubling);
        assert_eq!(choice((1 << 20, 8 << 20, true)), Reduction::Ring);
        assert_eq!(choice((4, 1 << 20, true)), Reduction::Doubling);
    }
}
