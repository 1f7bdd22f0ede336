//! What lies in the shared memory, with fewer and smaller things: a ring is wrapped soon.

use std::array::from_fn;

use crate::memory::{Memory, Span};
use crate::sync::{AtomicU32, AtomicU64, Role};

pub(super) const SLOTS: usize = 8;
pub(super) const WORDS: usize = 3;
pub(super) const BODIES: usize = 1024;
pub(super) const RELAY_BYTES: usize = 64;

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
