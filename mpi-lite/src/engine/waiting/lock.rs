//! A lock that one thread takes nearly always.
//!
//! The thread that made the lock is its owner. It pays a few plain instructions: it stores that it
//! is inside, and then loads whether another thread waits. The other thread stores that it waits,
//! and then loads whether the owner is inside. One of the two must see the other, so both need a
//! barrier between store and load. The other thread pays for both: membarrier(2) makes the owner
//! pass one.
//!
//! The ticker comes a few times in a second, and only when the program computes. A second thread of
//! the program would come often. Its first visit ends the ownership: from then on the lock is an
//! ordinary mutex. If the system has no membarrier, it is one from the start.
#![expect(unsafe_code, reason = "a lock hands out what several threads share")]

use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};

// Not one of `sync`: the models need no hint.
use core::sync::atomic::AtomicU32;

use crate::sync::{
    AtomicBool, AtomicUsize, Barrier, Mutex, compiler_fence, membarrier, this_thread, yield_now,
};

/// What may be behind a [`Lock`].
pub(crate) trait Leave {
    /// Called by a thread that holds the mutex, before it leaves the value to others.
    fn before_leave(&mut self) {}
}

/// How often a thread that gives way looks whether the waiting threads have had the value. It spins
/// between the first `LOOKS_ON_CORE` looks and yields its core between the others.
const LOOKS_AWAY: u32 = 96;
const LOOKS_ON_CORE: u32 = 64;

/// Nobody.
const NOBODY: usize = 0;

/// A value that one thread at a time has: nearly always the thread that made the lock.
#[derive(Debug)]
pub(crate) struct Lock<T: Leave> {
    /// The thread that need not take the mutex.
    owner: AtomicUsize,
    /// The owner has the value. Only the owner writes it.
    is_inside: AtomicBool,
    /// The holder of the mutex waits for the value. Only the holder of the mutex writes it.
    is_wanted: AtomicBool,
    mutex: Mutex<()>,
    /// How many threads wait for the mutex. A hint: nothing is ordered by it.
    waiting: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: one thread at a time reaches the value.
unsafe impl<T: Leave + Send> Sync for Lock<T> {}

impl<T: Leave> Lock<T> {
    /// A lock whose owner is the calling thread.
    pub(crate) fn new(value: T) -> Self {
        let has_barrier = membarrier(Barrier::JoinOwn);
        Self {
            owner: AtomicUsize::new(if has_barrier { this_thread() } else { NOBODY }),
            is_inside: AtomicBool::new(false),
            is_wanted: AtomicBool::new(false),
            mutex: Mutex::new(()),
            waiting: AtomicU32::new(0),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for the value. The owner must not have it already.
    #[inline(always)]
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        if self.owner.load(Relaxed) == this_thread() && self.enter() {
            self.guard(true)
        } else {
            self.lock_by_mutex()
        }
    }

    /// Returns true if the lock has an owner, who need not take the mutex.
    pub(crate) fn is_owned(&self) -> bool {
        self.owner.load(Relaxed) != NOBODY
    }

    /// Returns true if another thread waits for the value: for the mutex, or with the mutex for the
    /// owner. A hint: nothing is ordered by it.
    #[inline]
    fn is_awaited(&self) -> bool {
        let awaits_owner = || self.is_owned() && self.is_wanted.load(Relaxed);
        self.waiting.load(Relaxed) > 0 || awaits_owner()
    }

    /// Makes the lock a mutex for all threads. Only its owner may call this, outside.
    pub(crate) fn share(&self) {
        let _inside = self.mutex.lock();
        self.owner.store(NOBODY, Relaxed);
    }

    /// Lets the owner in, unless another thread waits. Returns true if it is in.
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
        self.lock_mutex();
        let owner = self.owner.load(Relaxed);
        if owner == this_thread() {
            // The last holder of the mutex has left; the next cannot come before we are inside.
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

    fn lock_mutex(&self) {
        if let Some(inside) = self.mutex.try_lock() {
            return core::mem::forget(inside);
        }
        self.waiting.fetch_add(1, Relaxed);
        core::mem::forget(self.mutex.lock());
        self.waiting.fetch_sub(1, Relaxed);
    }

    /// Asks the owner to end its ownership, and makes sure that the owner sees it or is seen
    /// inside. Returns true if it could.
    fn want(&self) -> bool {
        self.is_wanted.store(true, SeqCst);
        membarrier(Barrier::Own)
    }

    /// Returns the value, unless another thread has it. The lock keeps its owner: this is for a
    /// thread that comes only now and then.
    pub(crate) fn visit(&self) -> Option<Guard<'_, T>> {
        let owner = self.owner.load(Relaxed);
        if owner == this_thread() {
            let is_free = !self.is_inside.load(Relaxed) && self.enter();
            return is_free.then(|| self.guard(true));
        }
        core::mem::forget(self.mutex.try_lock()?);
        if self.is_owned() && (!self.want() || self.is_inside.load(Acquire)) {
            self.unlock_mutex();
            return None;
        }
        Some(self.guard(false))
    }

    #[cold]
    fn leave_by_mutex(&self) {
        // SAFETY: the guard that leaves is still inside, alone.
        unsafe { (*self.value.get()).before_leave() };
        self.unlock_mutex();
    }

    fn unlock_mutex(&self) {
        if self.is_owned() {
            self.is_wanted.store(false, Release);
        }
        // SAFETY: the guard that leaves has the mutex.
        unsafe { self.mutex.force_unlock() };
    }
}

/// The value, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Guard<'a, T: Leave> {
    lock: &'a Lock<T>,
    by_owner: bool,
    /// Makes the guard stay with its thread.
    _stays: PhantomData<*const ()>,
}

impl<T: Leave> Guard<'_, T> {
    /// Leaves the value to others while `act` runs.
    pub(crate) fn unlocked<R>(&mut self, act: impl FnOnce() -> R) -> R {
        /// Comes back, even if `act` does not.
        struct Absence<'a, 'b, T: Leave>(&'a mut Guard<'b, T>);

        impl<T: Leave> Drop for Absence<'_, '_, T> {
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

    /// Leaves the value to the threads that wait for it, if there are any, until they have had it
    /// or for a few microseconds.
    #[inline]
    pub(crate) fn give_way(&mut self) {
        if self.lock.is_awaited() {
            self.let_others_in();
        }
    }

    #[cold]
    fn let_others_in(&mut self) {
        let lock = self.lock;
        self.unlocked(|| {
            for look in 0..LOOKS_AWAY {
                if !lock.is_awaited() {
                    break;
                }
                match look < LOOKS_ON_CORE {
                    true => core::hint::spin_loop(),
                    false => yield_now(),
                }
            }
        });
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

impl<T: Leave> Deref for Guard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the holder of the guard is inside, alone.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: Leave> DerefMut for Guard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the holder of the guard is inside, alone, and lends it once.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: Leave> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.leave();
    }
}
