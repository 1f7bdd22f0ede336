//! Where the parts of the memory lie that all ranks of a node share. The library gives them their
//! types (`node::segment`); the launcher, which makes the memory, only needs its length.
//!
//! ```text
//!  area of rank 0 | area of rank 1 | ...      what all ranks may read
//!  pair 0 -> 0    | pair 0 -> 1    | ...      one channel for each ordered pair
//!  reply 0, 0     | reply 0, 1     | reply 1, 1 | ...   what two ranks pass to each other
//!  place 0: slot of rank 0 | of rank 1 | ...   where communicators meet (`site`)
//!  place 0: payloads of rank 0 | of rank 1 | ...   what does not fit a slot's line
//!  exchange buffers of rank 0 | of rank 1 | ... what a rank exchanges with all others (`exchange`)
//! ```
//! It is zeroed and sealed: nobody can shorten it. Pages that nobody uses are never allocated, so a
//! job of 256 ranks costs what it uses.

/// Most ranks of a node that share memory.
pub const RANKS_MAX: u32 = 1024;

/// Bytes of a page. Areas and slots are rounded up to whole pages; all else has whole pages.
pub const PAGE: u64 = 4096;

/// Bytes of an area.
pub const AREA_BYTES: usize = 448;

/// Bytes of a pair's ring of bodies.
pub const BODIES: usize = 1 << 18;

/// Bytes of a pair: its slots, its transfers, its bodies.
pub const PAIR_BYTES: usize = 8192 + 4096 + BODIES;

/// Bytes of the reply buffer of two ranks, which goes to and fro with their reply slot.
pub const REPLY_BUFFER_BYTES: usize = 1 << 18;

/// Bytes of a reply: its slot, alone in a page, and its buffer.
pub const REPLY_BYTES: usize = 4096 + REPLY_BUFFER_BYTES;

/// Places at which communicators meet. Each costs its ranks a bit in an agreement, and memory only
/// once it is used.
pub const PLACES: u32 = 64;

/// Epochs in a row to which a rank can bring something before the first of them is read.
pub const AHEAD: usize = 16;

/// Bytes of what a rank has at a place: a line for each epoch, twice, and six more.
pub const MEMBER_SLOT_BYTES: usize = (2 * AHEAD + 6) * 64;

/// Bytes of a payload.
pub const PAYLOAD_BYTES: usize = 4096;

/// The first places have long payloads, for the pieces of long data: the first communicators of a
/// node meet there.
pub const LONG_PLACES: u32 = 8;

/// Bytes of a long payload: what a cache of a core holds beside what it is copied to. The page more
/// lets the payloads of a rank begin at different lines of a cache.
pub const LONG_PAYLOAD_BYTES: usize = (1 << 16) + PAGE as usize;

/// Payloads of a rank at a place: for what it brings, and two for results.
pub const PAYLOADS: usize = AHEAD + 2;

/// Bytes that a rank gives to all others at a time, or gets from them: 64 for each of the most
/// ranks that a node can have.
pub const EXCHANGE_BYTES: usize = 1 << 16;

/// Where the pairs begin, after the areas.
#[must_use]
pub const fn pairs_at(ranks: u32) -> u64 {
    (ranks as u64 * AREA_BYTES as u64).next_multiple_of(PAGE)
}

/// Where the replies begin.
#[must_use]
pub const fn replies_at(ranks: u32) -> u64 {
    pairs_at(ranks) + ranks as u64 * ranks as u64 * PAIR_BYTES as u64
}

/// The number of the reply of two ranks, or of the replies of all ranks below `high`.
#[must_use]
pub const fn reply_number(low: u32, high: u32) -> u64 {
    high as u64 * (high as u64 + 1) / 2 + low as u64
}

/// Where the slots begin.
#[must_use]
pub const fn slots_at(ranks: u32) -> u64 {
    replies_at(ranks) + reply_number(0, ranks) * REPLY_BYTES as u64
}

/// Where the payloads begin.
#[must_use]
pub const fn payloads_at(ranks: u32) -> u64 {
    let slots = PLACES as u64 * ranks as u64 * MEMBER_SLOT_BYTES as u64;
    slots_at(ranks) + slots.next_multiple_of(PAGE)
}

/// Bytes of a payload at `place`.
#[must_use]
pub const fn payload_bytes(place: u32) -> usize {
    match place < LONG_PLACES {
        true => LONG_PAYLOAD_BYTES,
        false => PAYLOAD_BYTES,
    }
}

/// Bytes of the payloads of `ranks` ranks at all places before `place`.
#[must_use]
pub const fn payloads_before(place: u32, ranks: u32) -> u64 {
    let long = if place < LONG_PLACES {
        place
    } else {
        LONG_PLACES
    };
    let bytes =
        long as u64 * LONG_PAYLOAD_BYTES as u64 + (place - long) as u64 * PAYLOAD_BYTES as u64;
    bytes * ranks as u64 * PAYLOADS as u64
}

/// Where the exchange buffers begin: for sends, for receives, then those of the places.
#[must_use]
pub const fn exchange_at(ranks: u32) -> u64 {
    payloads_at(ranks) + payloads_before(PLACES, ranks)
}

/// Bytes of the memory that `ranks` ranks share.
#[must_use]
pub const fn bytes_of(ranks: u32) -> u64 {
    exchange_at(ranks) + (2 + PLACES as u64) * ranks as u64 * EXCHANGE_BYTES as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_many_ranks_is_bounded() {
        assert!(bytes_of(256) < 1 << 35);
        assert!(bytes_of(RANKS_MAX) < 1 << 39);
    }
}
