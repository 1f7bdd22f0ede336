//! Limits of shared memory: lengths of messages and pieces, and how often a rank looks.

use super::ring::{PIECE_BYTES, RELAY_PIECE_BYTES};

/// The longest message that goes through the ring without being asked for.
pub(super) const EAGER_BYTES: usize = PIECE_BYTES;

/// The longest message that goes through the reply buffer without being asked for.
pub(super) const EAGER_REPLY_BYTES: usize = 4 * RELAY_PIECE_BYTES;

/// No process has more memory.
pub(super) const LONGEST_BYTES: u64 = 1 << 47;

/// The longest body that goes through the ring in one piece, and the shortest piece of one that was
/// asked for.
pub(super) const EAGER_PIECE_BYTES: usize = 4096;

/// Pieces of a longer one that goes unasked: the receiver copies one while the next comes. With
/// 4096 bytes 8 KiB take an eighth longer, with 1024 as well.
pub(super) const PIPELINED_BYTES: usize = 2048;

/// The same if they go past the caches: the sender waits for the stores of each piece. With 2048
/// bytes 16 KiB take half as long again.
pub(super) const STREAMED_PIECE_BYTES: usize = 4096;

/// Chunks of a long message that are copied before something else is looked at.
pub(super) const CHUNKS_PER_TURN: usize = 2;

/// Messages of which a sender looks whether they were asked for, if they cannot be copied across.
pub(super) const WATCHED: usize = 3;

/// A rank knocks after this many looks in vain for progress of a long message, some 50 us. It
/// knocks again after twice as many looks.
pub(super) const LOOKS_PER_KNOCK: u32 = 512;

/// Counts a look in vain. Returns true if it is time to knock.
pub(super) fn has_waited(looks: &mut u32) -> bool {
    *looks = looks.wrapping_add(1);
    *looks >= LOOKS_PER_KNOCK && looks.is_power_of_two()
}

/// How often a rank looks for messages of its callers, before it looks for a new caller.
pub(super) const LOOKS_PER_CALLER: u32 = 8;

/// Other work has its turn after this many looks in which `wants_more` returned false.
pub(super) const LOOKS_BETWEEN_WORK: u32 = 64;
