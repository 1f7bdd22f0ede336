//! What lies in the shared memory, with fewer and smaller things: a ring is wrapped soon.

use std::array::from_fn;

use crate::memory::{Memory, Span};
use crate::sync::{AtomicU32, AtomicU64, Role};

pub(crate) const SLOTS: usize = 8;
pub(crate) const WORDS: usize = 3;
pub(crate) const BODIES: usize = 1024;
/// Pieces in it are of a line each.
pub(crate) const REPLY_BUFFER_BYTES: usize = 16 * 64;

/// As many as ranks with cores of their own have.
pub(crate) const AHEAD: usize = 2;
pub const PLACES: u32 = 1;
pub const RANKS_MAX: u32 = 1024;
pub(crate) const PAYLOAD_BYTES: usize = 64;

/// Bytes of a buffer's part for each rank: watched by itself.
pub(crate) const PART_BYTES: usize = 64;
pub const EXCHANGE_BYTES: usize = 3 * PART_BYTES;

pub(crate) const ASLEEP: u32 = 1;
pub(crate) const DOZES: u32 = 4;
pub(crate) const PARKED: u32 = 8;

#[derive(Debug)]
pub(crate) struct RingSlot {
    pub(crate) sequence: AtomicU64,
    pub(crate) words: [AtomicU64; WORDS],
}

impl RingSlot {
    fn new() -> Self {
        Self {
            sequence: AtomicU64::new(Role::Sequence),
            words: from_fn(|_| AtomicU64::new(Role::Word)),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) slot: RingSlot,
    /// Only its address is used.
    body: [u8; REPLY_BUFFER_BYTES],
}

impl Reply {
    pub(crate) fn part(&self, at: usize, bytes: usize) -> Option<Span> {
        let start = self.body.as_ptr().addr() as u64;
        (at + bytes <= REPLY_BUFFER_BYTES).then(|| Span::at(start + at as u64, bytes))
    }
}

#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) slots: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) relayed: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct Transfer {
    pub(crate) place: AtomicU64,
    pub(crate) bytes: AtomicU64,
    pub(crate) claims: AtomicU64,
    pub(crate) copied: AtomicU32,
    pub(crate) failed: AtomicU32,
}

impl Transfer {
    pub(crate) fn leak() -> &'static Self {
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
pub(crate) struct Pair {
    pub(crate) taken: Taken,
    pub(crate) slots: [RingSlot; SLOTS],
    pub(crate) bodies: Bodies,
    pub(crate) reply: Reply,
}

impl Pair {
    pub(crate) fn leak() -> &'static Self {
        let this: &'static Self = Box::leak(Box::new(Self {
            taken: Taken {
                slots: AtomicU64::new(Role::Taken),
                bytes: AtomicU64::new(Role::Taken),
                relayed: AtomicU64::new(Role::Taken),
            },
            slots: from_fn(|_| RingSlot::new()),
            bodies: Bodies([0; BODIES]),
            reply: Reply {
                slot: RingSlot::new(),
                body: [0; REPLY_BUFFER_BYTES],
            },
        }));
        // Each line of the ring is watched by itself.
        Memory::at(this.bodies.start().addr(), BODIES, 64);
        Memory::at(this.reply.body.as_ptr().addr(), REPLY_BUFFER_BYTES, 64);
        this
    }
}

/// Only its address is used.
#[derive(Debug)]
pub(crate) struct Bodies([u8; BODIES]);

impl Bodies {
    pub(crate) fn start(&self) -> *mut u8 {
        self.0.as_ptr().cast_mut()
    }
}

#[derive(Debug)]
pub(crate) struct Area {
    pub(crate) attention: AtomicU32,
    pub(crate) needs_fence: AtomicU64,
}

impl Area {
    pub(crate) fn leak() -> &'static Self {
        Box::leak(Box::new(Self {
            attention: AtomicU32::new(Role::Attention),
            needs_fence: AtomicU64::new(Role::NeedsFence),
        }))
    }
}

/// A number that ranks count or tell.
#[derive(Debug)]
pub(crate) struct Count(pub(crate) AtomicU64);

#[derive(Debug)]
pub(crate) struct MemberSlot {
    pub(crate) brought: [RingSlot; AHEAD],
    pub(crate) results: [RingSlot; 2],
    pub(crate) come: Count,
    pub(crate) given: [Count; AHEAD],
    pub(crate) at: Count,
    pub(crate) left: Count,
    pub(crate) shared: Count,
}

/// The models bring nothing that needs one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Payloads;

impl Payloads {
    pub(crate) fn each(&self) -> usize {
        PAYLOAD_BYTES
    }

    pub(crate) fn span(&self, _: usize, bytes: usize) -> Span {
        assert_eq!(bytes, 0, "the models use exchange buffers alone");
        Span::EMPTY
    }
}

/// Only its address is used.
#[derive(Debug)]
pub(crate) struct ExchangeBuffer([u8; EXCHANGE_BYTES]);

impl ExchangeBuffer {
    fn leak() -> &'static Self {
        let this: &'static Self = Box::leak(Box::new(Self([0; EXCHANGE_BYTES])));
        Memory::at(this.0.as_ptr().addr(), EXCHANGE_BYTES, PART_BYTES);
        this
    }

    pub(crate) fn span(&self) -> Span {
        Span::at(self.0.as_ptr().addr() as u64, EXCHANGE_BYTES)
    }
}

/// What each rank has.
#[derive(Debug)]
struct Own {
    area: &'static Area,
    slot: MemberSlot,
    payloads: Payloads,
    send_buffer: &'static ExchangeBuffer,
    receive_buffer: &'static ExchangeBuffer,
    broadcast_buffer: &'static ExchangeBuffer,
}

/// The memory of a node with one place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment(&'static [Own]);

impl Segment {
    pub(crate) fn leak(ranks: usize) -> Self {
        let count = |role| Count(AtomicU64::new(role));
        let own = |_| Own {
            area: Area::leak(),
            slot: MemberSlot {
                brought: from_fn(|_| RingSlot::new()),
                results: from_fn(|_| RingSlot::new()),
                come: count(Role::Come),
                given: from_fn(|_| count(Role::Count)),
                at: count(Role::Count),
                left: count(Role::Count),
                shared: count(Role::Count),
            },
            payloads: Payloads,
            send_buffer: ExchangeBuffer::leak(),
            receive_buffer: ExchangeBuffer::leak(),
            broadcast_buffer: ExchangeBuffer::leak(),
        };
        Self(Box::leak((0..ranks).map(own).collect()))
    }

    fn own(self, rank: u32) -> &'static Own {
        &self.0[rank as usize]
    }

    pub(crate) fn area(self, rank: u32) -> &'static Area {
        self.own(rank).area
    }

    pub(crate) fn slot(self, _: u32, rank: u32) -> &'static MemberSlot {
        &self.own(rank).slot
    }

    pub(crate) fn payloads(self, _: u32, rank: u32) -> Payloads {
        self.own(rank).payloads
    }

    pub(crate) fn send_buffer(self, rank: u32) -> &'static ExchangeBuffer {
        self.own(rank).send_buffer
    }

    pub(crate) fn receive_buffer(self, rank: u32) -> &'static ExchangeBuffer {
        self.own(rank).receive_buffer
    }

    pub(crate) fn broadcast_buffer(self, _: u32, rank: u32) -> &'static ExchangeBuffer {
        self.own(rank).broadcast_buffer
    }
}
