//! A lock that nearly always the same thread takes.
//!
//! The thread that made it, its owner, pays a few plain instructions: it says that it is inside,
//! and then looks whether somebody else wants to be. Whoever else wants to be says so, and then
//! looks whether the owner is inside. One of the two must see the other, so between saying and
//! looking both need a barrier. The others pay for both: membarrier(2) makes the owner pass one.
//!
//! The ticker comes a few times in a second, and only when the program computes. A second thread of
//! the program would come often: with its first visit the lock has no owner any more, and is an
//! ordinary mutex from then on. So it is where the system does not know membarrier.
#![expect(unsafe_code, reason = "a lock hands out what several threads share")]

use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

use crate::sync::{
    AtomicBool, AtomicUsize, Barrier, Mutex, compiler_fence, membarrier, this_thread, yield_now,
};

/// Nobody.
const NOBODY: usize = 0;

/// A value that one thread at a time has, nearly always the one that made the lock.
#[derive(Debug)]
pub(super) struct Lock<T> {
    /// The thread that need not take the mutex.
    owner: AtomicUsize,
    /// The owner has the value. Only the owner writes it.
    is_inside: AtomicBool,
    /// Who has the mutex wants the value. Only who has the mutex writes it.
    is_wanted: AtomicBool,
    mutex: Mutex<()>,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time reaches the value.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    /// A lock whose owner is the calling thread.
    pub(super) fn new(value: T) -> Self {
        let has_barrier = membarrier(Barrier::JoinOwn);
        Self {
            owner: AtomicUsize::new(if has_barrier { this_thread() } else { NOBODY }),
            is_inside: AtomicBool::new(false),
            is_wanted: AtomicBool::new(false),
            mutex: Mutex::new(()),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for the value. The owner must not have it already.
    #[inline(always)]
    pub(super) fn lock(&self) -> Guard<'_, T> {
        if self.owner.load(Relaxed) == this_thread() && self.enter() {
            self.guard(true)
        } else {
            self.lock_by_mutex()
        }
    }

    /// Whether somebody need not take the mutex.
    pub(super) fn is_owned(&self) -> bool {
        self.owner.load(Relaxed) != NOBODY
    }

    /// The owner goes in, if nobody else wants to.
    #[inline(always)]
    fn enter(&self) -> bool {
        assert!(
            !self.is_inside.load(Relaxed),
            "MPI was called from inside MPI, perhaps by a signal handler"
        );
        self.is_inside.store(true, Relaxed);
        compiler_fence(SeqCst);
        let is_wanted = self.is_wanted.load(Acquire);
        if is_wanted {
            self.is_inside.store(false, Release);
        }
        !is_wanted
    }

    fn guard(&self, by_owner: bool) -> Guard<'_, T> {
        Guard {
            lock: self,
            by_owner,
            _stays: PhantomData,
        }
    }

    #[cold]
    fn lock_by_mutex(&self) -> Guard<'_, T> {
        core::mem::forget(self.mutex.lock());
        let owner = self.owner.load(Relaxed);
        if owner == this_thread() {
            // Who had the mutex has left, and the next one cannot come before we are inside.
            let is_in = self.enter();
            // SAFETY: locked above.
            unsafe { self.mutex.force_unlock() };
            assert!(is_in, "only who has the mutex can want the value");
            return self.guard(true);
        }
        if owner != NOBODY {
            while !self.want() {
                // The system has no memory for it just now.
                yield_now();
            }
            while self.is_inside.load(Acquire) {
                yield_now();
            }
            // The value stays wanted: an owner that was just about to enter must not.
            self.owner.store(NOBODY, Relaxed);
        }
        self.guard(false)
    }

    /// Tells the owner, and makes sure that it knows or is seen inside. Answers whether it could.
    fn want(&self) -> bool {
        self.is_wanted.store(true, SeqCst);
        membarrier(Barrier::Own)
    }

    /// The value, unless somebody has it. Who visits now and then leaves the lock to its owner.
    pub(super) fn visit(&self) -> Option<Guard<'_, T>> {
        let owner = self.owner.load(Relaxed);
        if owner == this_thread() {
            let is_free = !self.is_inside.load(Relaxed) && self.enter();
            return is_free.then(|| self.guard(true));
        }
        core::mem::forget(self.mutex.try_lock()?);
        let guard = self.guard(false);
        if self.is_owned() && (!self.want() || self.is_inside.load(Acquire)) {
            return None;
        }
        Some(guard)
    }

    #[cold]
    fn leave_by_mutex(&self) {
        if self.is_owned() {
            self.is_wanted.store(false, Release);
        }
        // SAFETY: the guard that leaves has the mutex.
        unsafe { self.mutex.force_unlock() };
    }
}

/// The value, for as long as this lives.
#[derive(Debug)]
pub(super) struct Guard<'a, T> {
    lock: &'a Lock<T>,
    by_owner: bool,
    /// It stays with its thread.
    _stays: PhantomData<*const ()>,
}

impl<T> Guard<'_, T> {
    /// Leaves the value to others while `act` runs.
    pub(super) fn unlocked<R>(&mut self, act: impl FnOnce() -> R) -> R {
        /// Comes back, even if `act` does not.
        struct Absence<'a, 'b, T>(&'a mut Guard<'b, T>);

        impl<T> Drop for Absence<'_, '_, T> {
            fn drop(&mut self) {
                let again = self.0.lock.lock();
                self.0.by_owner = again.by_owner;
                core::mem::forget(again);
            }
        }

        self.leave();
        let _absence = Absence(self);
        act()
    }

    #[inline(always)]
    fn leave(&self) {
        if self.by_owner {
            self.lock.is_inside.store(false, Release);
        } else {
            self.lock.leave_by_mutex();
        }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: who has the guard is inside, alone.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: who has the guard is inside, alone, and lends it once.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.leave();
    }
}
