//! Which algorithm is taken when: one table. All processes must choose alike, so it looks only
//! at what all of them know.
//!
//! Small messages: few rounds, because each costs a latency. Large ones: few bytes per link.
//! The limits are first guesses from the design of the algorithms, to be replaced by measurement.

/// Up to this many bytes per process, gather and scatter pass packed blocks along a tree; beyond,
/// the root deals with each process itself, without copies.
pub(super) const TREE_BLOCK_BYTES: u64 = 4096;

/// Up to this many bytes in all, allgather doubles what it knows in each round; beyond, each block
/// goes around a ring without copies.
pub(super) const DOUBLING_BYTES: u64 = 32 * 1024;

/// Up to this many bytes, allreduce exchanges whole vectors; beyond, each process reduces its part
/// and the parts are gathered.
pub(super) const WHOLE_VECTOR_BYTES: u64 = 16 * 1024;

/// From this many bytes on, bcast scatters the message and gathers the parts on a ring.
pub(super) const BCAST_TREE_BYTES: u64 = 64 * 1024;

/// How gather and scatter move blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rooted {
    /// Along a binomial tree.
    Tree,
    /// The root with each process.
    Direct,
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

/// For gather and scatter with `block` bytes per process.
pub(super) fn rooted(block: u64, size: usize) -> Rooted {
    if size > 2 && block <= TREE_BLOCK_BYTES {
        Rooted::Tree
    } else {
        Rooted::Direct
    }
}

/// For allgather with `block` bytes per process.
pub(super) fn spread(block: u64, size: usize) -> Spread {
    if block.saturating_mul(size as u64) <= DOUBLING_BYTES {
        Spread::Doubling
    } else {
        Spread::Ring
    }
}

/// For allreduce of `count` elements in `bytes` bytes.
pub(super) fn reduction(count: u64, bytes: u64, size: usize, commutative: bool) -> Reduction {
    let divisible = commutative && size > 2 && count >= size as u64;
    if divisible && bytes > WHOLE_VECTOR_BYTES {
        Reduction::Ring
    } else {
        Reduction::Doubling
    }
}

/// For bcast of `bytes` bytes.
pub(super) fn broadcast(bytes: u64, size: usize) -> Broadcast {
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
        assert_eq!(reduction(1 << 20, 8 << 20, 8, false), Reduction::Doubling);
        assert_eq!(reduction(1 << 20, 8 << 20, 8, true), Reduction::Ring);
        assert_eq!(reduction(4, 1 << 20, 8, true), Reduction::Doubling);
    }
}
