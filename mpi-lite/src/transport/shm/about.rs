//! What members of a gathering say of it, and of each other, as words of the shared memory.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use super::segment::RANKS_MAX;

/// What a gathering is about: all members must say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// The operation.
    pub kind: u8,
    /// The rank of the root, at most [`RANKS_MAX`]; 0 where there is none.
    pub root: u32,
    /// The gathering before: by this, members that parted there without noticing are found out.
    pub before: Before,
    /// Bytes that a member brings.
    pub bytes: u32,
}

/// Which gathering was before, to a word's quarter: its operation and its root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Before(u16);

/// Bits of the operation; the root is above them.
const KIND_BITS: u32 = 5;

const _: () = assert!(RANKS_MAX < 1 << (u16::BITS - KIND_BITS));

impl Before {
    /// There was none.
    pub const NONE: Self = Self(0);

    fn of(about: About) -> Self {
        Self(u16::from(about.kind) | (about.root << KIND_BITS) as u16)
    }

    /// The operation.
    #[must_use]
    pub fn kind(self) -> u8 {
        (self.0 & ((1 << KIND_BITS) - 1)) as u8
    }

    /// The root.
    #[must_use]
    pub fn root(self) -> u32 {
        u32::from(self.0 >> KIND_BITS)
    }
}

impl About {
    /// The same for the next gathering; `word` is kept between the two.
    pub(super) fn after(self, word: &AtomicU64) -> Self {
        let before = Before(word.load(Relaxed) as u16);
        word.store(u64::from(Before::of(self).0), Relaxed);
        Self { before, ..self }
    }

    pub(super) fn encode(self) -> u64 {
        let now = u64::from(Before::of(self).0);
        now | u64::from(self.before.0) << 16 | u64::from(self.bytes) << 32
    }

    pub(super) fn decode(word: u64) -> Self {
        let now = Before(word as u16);
        Self {
            kind: now.kind(),
            root: now.root(),
            before: Before((word >> 16) as u16),
            bytes: (word >> 32) as u32,
        }
    }
}

/// Some of the members, by rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// None of them.
    Nobody,
    /// This one.
    One(usize),
    /// All but this process.
    Others,
}

impl Who {
    pub(super) fn encode(self) -> u64 {
        match self {
            Self::Nobody => 0,
            Self::One(rank) => rank as u64 + 1,
            Self::Others => u64::MAX,
        }
    }

    pub(super) fn decode(word: u64) -> Self {
        match word {
            0 => Self::Nobody,
            u64::MAX => Self::Others,
            rank => Self::One(rank as usize - 1),
        }
    }
}
