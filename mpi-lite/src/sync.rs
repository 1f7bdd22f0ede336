//! Fences and barriers, under names in whose place the models put their own
//! (`mpi-lite/tests/models/`). Decision 0024.
#![expect(unsafe_code, reason = "membarrier is a bare system call")]

pub(crate) use core::sync::atomic::{compiler_fence, fence};

/// What membarrier(2) can do.
#[derive(Clone, Copy, Debug)]
#[repr(i32)]
pub(crate) enum Barrier {
    /// Every running thread of every process that has registered passes a barrier.
    Everybody = 1 << 1,
    /// This process passes the barriers of [`Barrier::Everybody`] from now on.
    JoinEverybody = 1 << 2,
}

/// Asks for it; `false` if the system does not do it. When it answers, every thread that it is for
/// has passed a full barrier since the call.
pub(crate) fn membarrier(barrier: Barrier) -> bool {
    // SAFETY: a system call on no memory.
    unsafe { libc::syscall(libc::SYS_membarrier, barrier as i32, 0, 0) == 0 }
}
