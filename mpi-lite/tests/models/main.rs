//! Models of what two processes agree on through shared memory: loom tries every order in which
//! their steps may happen, and every old value that a load may still see.
//!
//! The code is that of the library, included by its path; what it stands on is the model's own:
//! `sync` for atomics, fences and barriers, `memory` for bytes that must never be touched by two
//! at once, `shm` and `node` for a channel of two slots. Each model is run with planted mistakes as
//! well, which it must find: else it would not show anything. Decision 0024.
//!
//! `LOOM_MAX_PREEMPTIONS=n` (2 if not set) tries orders with more interruptions of each side.

mod engine;
mod memory;
mod node;
mod shm;
mod sync;

mod clock {
    pub(crate) use rmpp_core::Instant;
}

mod slab {
    /// The name of an operation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Key(u32);
}

mod ids {
    /// A process.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct PeerId(pub u32);
}
