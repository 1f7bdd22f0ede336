//! Atomics, fences and barriers, under names that the models replace by their own
//! (`mpi-lite/tests/models/`). Decision 0024.
#![expect(
    unsafe_code,
    reason = "system calls, and a register that Rust does not name"
)]

use core::sync::atomic::AtomicU32;
pub(crate) use core::sync::atomic::{AtomicBool, AtomicUsize, compiler_fence, fence};
pub(crate) use std::thread::{Thread, current as current_thread, yield_now};
use std::time::Duration;

pub(crate) use parking_lot::Mutex;

/// What membarrier(2) can do.
#[derive(Clone, Copy, Debug)]
#[repr(i32)]
pub(crate) enum Barrier {
    /// Every running thread of every process that has registered passes a barrier.
    Everybody = 1 << 1,
    /// This process passes the barriers of [`Barrier::Everybody`] from now on.
    JoinEverybody = 1 << 2,
    /// Every running thread of this process passes a barrier.
    Own = 1 << 3,
    /// [`Barrier::Own`] is wanted from now on.
    JoinOwn = 1 << 4,
}

/// Asks for it. Returns false if the system does not do it. When it returns, every thread that it
/// is for has passed a full barrier since the call.
pub(crate) fn membarrier(barrier: Barrier) -> bool {
    if cfg!(miri) {
        return false;
    }
    // SAFETY: a system call on no memory.
    unsafe { libc::syscall(libc::SYS_membarrier, barrier as i32, 0, 0) == 0 }
}

/// Sleeps until another thread, perhaps of another process, calls [`wake_from`] for this word, or
/// for so long. Not at all if the word is not `seen` any more.
pub(crate) fn sleep_on(word: &AtomicU32, seen: u32, timeout: Duration) {
    let timeout = libc::timespec {
        tv_sec: libc::time_t::try_from(timeout.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    // SAFETY: a word and a time that live as long as the call.
    unsafe {
        let (word, timeout) = (word.as_ptr(), &raw const timeout);
        libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, seen, timeout);
    }
}

/// Wakes the thread that sleeps on this word.
pub(crate) fn wake_from(word: &AtomicU32) {
    // SAFETY: the system only takes the address.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
}

/// This thread handles no signals while this lives; others of the process may.
pub(crate) struct NoSignals(libc::sigset_t);

impl core::fmt::Debug for NoSignals {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("NoSignals")
    }
}

impl NoSignals {
    pub(crate) fn begin() -> Self {
        // SAFETY: sets of signals are plain bytes, which the calls fill.
        unsafe {
            let (mut all, mut before) = (core::mem::zeroed(), core::mem::zeroed());
            libc::sigfillset(&raw mut all);
            // Those of a fault are not to be kept back.
            for fault in [
                libc::SIGSEGV,
                libc::SIGBUS,
                libc::SIGFPE,
                libc::SIGILL,
                libc::SIGTRAP,
            ] {
                libc::sigdelset(&raw mut all, fault);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
            Self(before)
        }
    }
}

impl Drop for NoSignals {
    fn drop(&mut self) {
        // SAFETY: the set of before.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, core::ptr::null_mut())
        };
    }
}

/// A word that no other thread has at the same time, never 0.
#[inline(always)]
pub(crate) fn this_thread() -> usize {
    #[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
    {
        let this: usize;
        // SAFETY: the ABI keeps the address of the thread's control block there; it only reads.
        unsafe {
            core::arch::asm!("mov {}, fs:0", out(reg) this,
                options(nostack, preserves_flags, pure, readonly));
        }
        this
    }
    #[cfg(not(all(target_arch = "x86_64", target_os = "linux", not(miri))))]
    {
        // SAFETY: it only returns the system's name of the thread.
        let this = unsafe { libc::pthread_self() };
        usize::try_from(this).expect("the address of the thread's control block")
    }
}
