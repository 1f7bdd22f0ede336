//! The words of the shared memory that name an epoch's operation and some of its members.

use core::sync::atomic::AtomicU64;
use core::sync::atomic::Ordering::Relaxed;

use super::segment::RANKS_MAX;

/// What an epoch is about: it must be the same for all members. It is a word of the shared memory
/// as it stands there: the operation and the root, operation and root of the epoch before, and
/// above them 32 bits for the bytes that a member brings. So it fits a register, and one comparison
/// is enough.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct About(u64);

/// The epoch before, in a quarter of a word: its operation and its root, 0 if there was none. This
/// finds members whose calls differed there unnoticed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Before(u16);

/// Bits of the operation; the root is above them.
const KIND_BITS: u32 = 6;

const _: () = assert!(RANKS_MAX <= 1 << (u16::BITS - KIND_BITS));

/// Where the epoch before begins in a word.
const BEFORE_AT: u32 = 16;

/// Where the bytes begin in a word.
const BYTES_AT: u32 = 32;

impl Before {
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
    /// No operation. The last member to come releases with it if not all came for one operation. It
    /// also stands for a member that was counted without a line.
    pub const NONE: Self = Self(0);

    /// The operation, the rank of its root, and the bytes that a member brings. The root is 0 if
    /// there is none, and below [`RANKS_MAX`].
    #[must_use]
    pub const fn new(kind: u8, root: u32, bytes: u32) -> Self {
        let now = (kind as u32 | root << KIND_BITS) as u16;
        Self(now as u64 | (bytes as u64) << BYTES_AT)
    }

    /// The operation.
    #[must_use]
    pub fn kind(self) -> u8 {
        self.now().kind()
    }

    /// The rank of the root.
    #[must_use]
    pub fn root(self) -> u32 {
        self.now().root()
    }

    /// Bytes that a member brings.
    #[inline]
    #[must_use]
    pub const fn bytes(self) -> u32 {
        (self.0 >> BYTES_AT) as u32
    }

    /// The epoch before.
    #[must_use]
    pub fn before(self) -> Before {
        Before((self.0 >> BEFORE_AT) as u16)
    }

    /// This operation with `bytes` bytes.
    #[inline]
    #[must_use]
    pub const fn with_bytes(self, bytes: u32) -> Self {
        Self(self.0 as u32 as u64 | (bytes as u64) << BYTES_AT)
    }

    /// This operation with another root.
    #[must_use]
    pub fn with_root(self, root: u32) -> Self {
        let now = Self::new(self.kind(), root, self.bytes());
        Self(now.0 | u64::from(self.before().0) << BEFORE_AT)
    }

    /// What later epochs keep of this one.
    pub(crate) fn now(self) -> Before {
        Before(self.0 as u16)
    }

    /// This operation at the next epoch; `word` is kept between the two.
    #[inline]
    pub(crate) fn after(self, word: &AtomicU64) -> Self {
        let before = word.load(Relaxed);
        word.store(u64::from(self.now().0) << BEFORE_AT, Relaxed);
        Self(self.0 | before)
    }

    /// Returns true if both are the same operation with the same root, and so were the epochs
    /// before.
    pub(crate) fn is_as(self, other: Self) -> bool {
        self.with_bytes(0) == other.with_bytes(0)
    }

    /// This operation as if `before` had been the epoch before.
    pub(crate) fn with_before(self, before: Self) -> Self {
        let cleared = self.0 & !(u64::from(u16::MAX) << BEFORE_AT);
        Self(cleared | u64::from(before.now().0) << BEFORE_AT)
    }

    /// The word of the shared memory.
    #[inline]
    #[must_use]
    pub fn encode(self) -> u64 {
        self.0
    }

    /// Decodes a word of the shared memory.
    #[inline]
    #[must_use]
    pub fn decode(word: u64) -> Self {
        Self(word)
    }
}

/// A member that has come to fewer epochs than another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Straggler {
    /// Its rank.
    pub rank: usize,
    /// The rank of the other one.
    pub ahead: usize,
    /// What the other one came for at the first epoch to which this one has not come, if its line
    /// still contains that.
    pub missed: Option<About>,
}

impl core::fmt::Debug for About {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("About")
            .field("kind", &self.kind())
            .field("root", &self.root())
            .field("before", &self.before())
            .field("bytes", &self.bytes())
            .finish()
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
    pub(crate) fn encode(self) -> u64 {
        match self {
            Self::Nobody => 0,
            Self::One(rank) => rank as u64 + 1,
            Self::Others => u64::MAX,
        }
    }

    pub(crate) fn decode(word: u64) -> Self {
        match word {
            0 => Self::Nobody,
            u64::MAX => Self::Others,
            rank => Self::One(rank as usize - 1),
        }
    }
}
