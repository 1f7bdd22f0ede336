//! What members of a gathering say of it, and of each other, as words of the shared memory.

/// What a gathering is about: all members must say the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// The operation.
    pub kind: u8,
    /// The rank of the root, below 2^24; 0 where there is none.
    pub root: u32,
    /// Bytes that a member brings.
    pub bytes: u32,
}

impl About {
    pub(super) fn encode(self) -> u64 {
        u64::from(self.kind) | u64::from(self.root) << 8 | u64::from(self.bytes) << 32
    }

    pub(super) fn decode(word: u64) -> Self {
        Self {
            kind: word as u8,
            root: (word as u32) >> 8,
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
