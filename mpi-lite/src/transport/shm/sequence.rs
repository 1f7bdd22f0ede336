//! The sequence word of a slot: which slot of the stream it is, and what it has.

/// Bits of a sequence word for the kind of the slot and a length.
pub(super) const KIND_BITS: u32 = 32;

/// The header of a slot: its kind, and a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SlotHeader {
    /// One of the kinds of the level above, at most 255.
    pub(super) kind: u8,
    /// Bytes, below 2^22: of what lies in the slot, in the ring of bodies or in the reply buffer.
    pub(super) bytes: usize,
    /// Where the body lies.
    pub(super) place: BodyPlace,
}

/// Where a body lies, as bits of a sequence word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum BodyPlace {
    /// In the ring, behind the one before it.
    Next = 0,
    /// At the start of the ring, wherever the one before it ended.
    Start = 1 << 31,
    /// In the reply buffer.
    Reply = 1 << 30,
}

impl BodyPlace {
    const BITS: u32 = Self::Start as u32 | Self::Reply as u32;

    #[inline(always)]
    fn of(says: u32) -> Self {
        if says & Self::BITS == 0 {
            Self::Next
        } else if says & Self::Reply as u32 != 0 {
            Self::Reply
        } else {
            Self::Start
        }
    }
}

impl SlotHeader {
    /// A slot of this kind with `bytes` bytes.
    #[inline]
    pub(super) const fn new(kind: u8, bytes: usize) -> Self {
        Self {
            kind,
            bytes,
            place: BodyPlace::Next,
        }
    }

    /// Returns true if the body lies in the reply buffer.
    #[inline(always)]
    pub(super) fn is_relayed(self) -> bool {
        self.place == BodyPlace::Reply
    }

    #[inline]
    pub(super) fn encode(self) -> u32 {
        u32::from(self.kind) | (self.bytes as u32) << 8 | self.place as u32
    }

    #[inline]
    pub(super) fn decode(says: u32) -> Self {
        Self {
            kind: says as u8,
            bytes: ((says & !BodyPlace::BITS) >> 8) as usize,
            place: BodyPlace::of(says),
        }
    }
}

/// The sequence word of position `at` with the header `says`. A slot has this one or that of the
/// round before, so it is enough that a part of the position fits.
#[inline]
pub(super) fn sequence(at: u64, says: u32) -> u64 {
    (at + 1) << KIND_BITS | u64::from(says)
}
