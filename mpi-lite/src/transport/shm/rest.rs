//! Sleeping, and being woken, without a system call when nobody sleeps.
//!
//! Who goes to sleep says so in its area, and then looks once more. Who sends writes its slot, and
//! then looks whether the receiver sleeps. One of the two must see the other, so between writing
//! and looking both need a barrier. The sender's would cost as much as the message itself; so the
//! sleeper pays for both: membarrier(2) makes every running neighbour pass one. Where the system
//! does not know that, or ranks share cores and sleep all the time, senders fence.
#![expect(unsafe_code, reason = "membarrier is a bare system call")]

use core::cell::Cell;
use core::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use core::sync::atomic::{compiler_fence, fence};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::segment::{ASLEEP, Area};

const GLOBAL_EXPEDITED: i32 = 1 << 1;
const REGISTER_GLOBAL_EXPEDITED: i32 = 1 << 2;

fn membarrier(command: i32) -> bool {
    // SAFETY: a system call on no memory.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// How this rank sleeps, and how it wakes others.
#[derive(Debug)]
pub(super) struct Rest {
    area: &'static Area,
    bells: Vec<OwnedFd>,
    me: usize,
    /// This rank's senders do not fence: it does, before it sleeps.
    pays: bool,
    /// This rank passes the barriers of others.
    is_registered: bool,
    /// How often this rank has woken another one.
    rung: Cell<u64>,
}

impl Rest {
    /// `is_crowded`: ranks share cores.
    pub(super) fn new(area: &'static Area, bells: Vec<OwnedFd>, me: u32, is_crowded: bool) -> Self {
        let is_registered = membarrier(REGISTER_GLOBAL_EXPEDITED);
        let pays = is_registered && !is_crowded;
        area.needs_fence.store(u64::from(!pays), SeqCst);
        Self {
            area,
            bells,
            me: me as usize,
            pays,
            is_registered,
            rung: Cell::new(0),
        }
    }

    pub(super) fn rung(&self) -> u64 {
        self.rung.get()
    }

    pub(super) fn bell(&self) -> BorrowedFd<'_> {
        self.bells[self.me].as_fd()
    }

    /// Whether this rank has to fence before it looks whether the one of `area` sleeps.
    pub(super) fn must_fence(&self, area: &Area) -> bool {
        !self.is_registered || area.needs_fence.load(Acquire) != 0
    }

    /// From now on senders ring the bell. The caller looks once more before it sleeps.
    pub(super) fn begin(&self) {
        self.area.attention.fetch_or(ASLEEP, SeqCst);
        if self.pays {
            membarrier(GLOBAL_EXPEDITED);
        } else {
            fence(SeqCst);
        }
    }

    pub(super) fn end(&self) {
        self.area.attention.fetch_and(!ASLEEP, SeqCst);
        // Rung or not: whoever rings after this finds nobody asleep.
        let _ = rustix::io::read(self.bell(), &mut [0; 8]);
    }

    /// Wakes the neighbour of `area` if it sleeps; what it shall see is written.
    #[inline]
    pub(super) fn wake(&self, neighbour: u32, area: &Area, must_fence: bool) {
        if must_fence {
            fence(SeqCst);
        } else {
            compiler_fence(SeqCst);
        }
        if area.attention.load(Relaxed) & ASLEEP != 0 {
            self.ring(neighbour, area);
        }
    }

    #[cold]
    fn ring(&self, neighbour: u32, area: &Area) {
        // The first who sees it rings.
        if area.attention.fetch_and(!ASLEEP, SeqCst) & ASLEEP != 0
            && let Some(bell) = self.bells.get(neighbour as usize)
        {
            self.rung.set(self.rung.get() + 1);
            let _ = rustix::io::write(bell, &1_u64.to_ne_bytes());
        }
    }
}
