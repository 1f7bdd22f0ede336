//! What lies in the shared memory, with fewer and smaller things: a ring is wrapped soon.

use std::array::from_fn;

use crate::memory::{Memory, Span};
use crate::sync::{AtomicU32, AtomicU64, Role};

pub(super) const SLOTS: usize = 8;
pub(super) const WORDS: usize = 3;
pub(super) const BODIES: usize = 1024;
pub(super) const RELAY_BYTES: usize = 64;

/// So many as ranks with cores of their own have.
pub(super) const AHEAD: usize = 2;
pub const PLACES: u32 = 1;
pub const RANKS_MAX: u32 = 1024;
pub(super) const BAG_BYTES: usize = 64;

/// Bytes of a sheet's part for each rank: watched by itself.
pub(super) const PART_BYTES: usize = 64;
pub const SHEET_BYTES: usize = 3 * PART_BYTES;

pub(super) const ASLEEP: u32 = 1;
pub(super) const DOZES: u32 = 4;
pub(super) const PARKED: u32 = 8;

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) stamp: AtomicU64,
    pub(super) words: [AtomicU64; WORDS],
}

impl Slot {
    fn new() -> Self {
        Self {
            stamp: AtomicU64::new(Role::Stamp),
            words: from_fn(|_| AtomicU64::new(Role::Word)),
        }
    }
}

#[derive(Debug)]
pub(super) struct Relay {
    pub(super) slot: Slot,
    /// Only its address is used.
    body: [u8; RELAY_BYTES],
}

impl Relay {
    pub(super) fn body(&self, bytes: usize) -> Span {
        Span::at(self.body.as_ptr().addr() as u64, bytes)
    }
}

#[derive(Debug)]
pub(super) struct Taken {
    pub(super) slots: AtomicU64,
    pub(super) bytes: AtomicU64,
}

#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) place: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) claims: AtomicU64,
    pub(super) copied: AtomicU32,
    pub(super) failed: AtomicU32,
}

impl Transfer {
    pub(super) fn leak() -> &'static Self {
        Box::leak(Box::new(Self {
            place: AtomicU64::new(Role::Place),
            bytes: AtomicU64::new(Role::Word),
            claims: AtomicU64::new(Role::Claims),
            copied: AtomicU32::new(Role::Copied),
            failed: AtomicU32::new(Role::Failed),
        }))
    }
}

#[derive(Debug)]
pub(super) struct Pair {
    pub(super) taken: Taken,
    pub(super) slots: [Slot; SLOTS],
    pub(super) bodies: Bodies,
    pub(super) relay: Relay,
}

impl Pair {
    pub(super) fn leak() -> &'static Self {
        let this: &'static Self = Box::leak(Box::new(Self {
            taken: Taken {
                slots: AtomicU64::new(Role::Taken),
                bytes: AtomicU64::new(Role::Taken),
            },
            slots: from_fn(|_| Slot::new()),
            bodies: Bodies([0; BODIES]),
            relay: Relay {
                slot: Slot::new(),
                body: [0; RELAY_BYTES],
            },
        }));
        // Each line of the ring is watched by itself.
        Memory::at(this.bodies.start().addr(), BODIES, 64);
        Memory::at(this.relay.body.as_ptr().addr(), RELAY_BYTES, 64);
        this
    }
}

/// Only its address is used.
#[derive(Debug)]
pub(super) struct Bodies([u8; BODIES]);

impl Bodies {
    pub(super) fn start(&self) -> *mut u8 {
        self.0.as_ptr().cast_mut()
    }
}

#[derive(Debug)]
pub(super) struct Area {
    pub(super) attention: AtomicU32,
    pub(super) needs_fence: AtomicU64,
}

impl Area {
    pub(super) fn leak() -> &'static Self {
        Box::leak(Box::new(Self {
            attention: AtomicU32::new(Role::Attention),
            needs_fence: AtomicU64::new(Role::NeedsFence),
        }))
    }
}

/// A number that ranks count or tell.
#[derive(Debug)]
pub(super) struct Count(pub(super) AtomicU64);

#[derive(Debug)]
pub(super) struct Seat {
    pub(super) brought: [Slot; AHEAD],
    pub(super) results: [Slot; 2],
    pub(super) come: Count,
    pub(super) given: [Count; AHEAD],
    pub(super) at: Count,
    pub(super) left: Count,
}

/// The models bring nothing that needs one.
#[derive(Debug)]
pub(super) struct Bags;

impl Bags {
    pub(super) fn span(&self, _: usize, bytes: usize) -> Span {
        assert_eq!(bytes, 0, "the models bring sheets alone");
        Span::EMPTY
    }
}

/// Only its address is used.
#[derive(Debug)]
pub(super) struct Sheet([u8; SHEET_BYTES]);

impl Sheet {
    fn leak() -> &'static Self {
        let this: &'static Self = Box::leak(Box::new(Self([0; SHEET_BYTES])));
        Memory::at(this.0.as_ptr().addr(), SHEET_BYTES, PART_BYTES);
        this
    }

    pub(super) fn span(&self) -> Span {
        Span::at(self.0.as_ptr().addr() as u64, SHEET_BYTES)
    }
}

/// What each rank has.
#[derive(Debug)]
struct Own {
    area: &'static Area,
    seat: Seat,
    bags: Bags,
    row: &'static Sheet,
    column: &'static Sheet,
    board: &'static Sheet,
}

/// The memory of a node with one place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment(&'static [Own]);

impl Segment {
    pub(super) fn leak(ranks: usize) -> Self {
        let count = |role| Count(AtomicU64::new(role));
        let own = |_| Own {
            area: Area::leak(),
            seat: Seat {
                brought: from_fn(|_| Slot::new()),
                results: from_fn(|_| Slot::new()),
                come: count(Role::Come),
                given: from_fn(|_| count(Role::Count)),
                at: count(Role::Count),
                left: count(Role::Count),
            },
            bags: Bags,
            row: Sheet::leak(),
            column: Sheet::leak(),
            board: Sheet::leak(),
        };
        Self(Box::leak((0..ranks).map(own).collect()))
    }

    fn own(self, rank: u32) -> &'static Own {
        &self.0[rank as usize]
    }

    pub(super) fn area(self, rank: u32) -> &'static Area {
        self.own(rank).area
    }

    pub(super) fn seat(self, _: u32, rank: u32) -> &'static Seat {
        &self.own(rank).seat
    }

    pub(super) fn bags(self, _: u32, rank: u32) -> &'static Bags {
        &self.own(rank).bags
    }

    pub(super) fn row(self, rank: u32) -> &'static Sheet {
        self.own(rank).row
    }

    pub(super) fn column(self, rank: u32) -> &'static Sheet {
        self.own(rank).column
    }

    pub(super) fn board(self, _: u32, rank: u32) -> &'static Sheet {
        self.own(rank).board
    }
}
