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
use core::sync::atomic::{AtomicBool, AtomicUsize, compiler_fence};

use parking_lot::Mutex;

const REGISTER_PRIVATE_EXPEDITED: i32 = 1 << 4;
const PRIVATE_EXPEDITED: i32 = 1 << 3;

/// Nobody.
const NOBODY: usize = 0;

fn membarrier(command: i32) -> bool {
    // SAFETY: a system call on no memory.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// A word that no other thread has at the same time, never `NOBODY`.
#[inline(always)]
fn this_thread() -> usize {
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
        std::thread_local!(static MARK: u8 = const { 0 });
        MARK.with(|mark| core::ptr::from_ref(mark).addr())
    }
}

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
        let has_barrier = membarrier(REGISTER_PRIVATE_EXPEDITED);
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
            assert!(
                self.want(),
                "membarrier(2) failed, though it was there before"
            );
            while self.is_inside.load(Acquire) {
                std::thread::yield_now();
            }
            // The value stays wanted: an owner that was just about to enter must not.
            self.owner.store(NOBODY, Relaxed);
        }
        self.guard(false)
    }

    /// Tells the owner, and makes sure that it knows or is seen inside. Answers whether it could.
    fn want(&self) -> bool {
        self.is_wanted.store(true, SeqCst);
        membarrier(PRIVATE_EXPEDITED)
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
        let is_owned = self.owner.load(Relaxed) != NOBODY;
        if is_owned && (!self.want() || self.is_inside.load(Acquire)) {
            return None;
        }
        Some(guard)
    }

    #[cold]
    fn leave_by_mutex(&self) {
        if self.owner.load(Relaxed) != NOBODY {
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Relaxed;
    use std::time::Duration;

    use super::{Lock, NOBODY};
    use crate::clock::Clock;

    /// Two words that are always equal, unless two threads have them at once.
    #[derive(Default)]
    struct Pair(u64, u64);

    impl Pair {
        fn count(&mut self) {
            assert_eq!(self.0, self.1);
            self.0 += 1;
            core::hint::black_box(&mut *self);
            self.1 += 1;
        }
    }

    #[test]
    fn an_owner_and_a_visitor_never_have_it_at_once() {
        const OWNERS_TURNS: u64 = if cfg!(miri) { 200 } else { 2_000_000 };
        let lock = Lock::new(Pair::default());
        let visits = std::thread::scope(|scope| {
            let visitor = scope.spawn(|| {
                let mut visits = 0;
                loop {
                    let Some(mut pair) = lock.visit() else {
                        continue;
                    };
                    if pair.0 >= OWNERS_TURNS {
                        return visits;
                    }
                    pair.count();
                    visits += 1;
                }
            });
            for _ in 0..OWNERS_TURNS {
                lock.lock().count();
            }
            visitor.join().expect("it finds nothing wrong")
        });
        let pair = lock.lock();
        assert_eq!(pair.0, OWNERS_TURNS + visits);
    }

    #[test]
    fn a_second_thread_that_locks_makes_it_a_mutex_for_all() {
        const TURNS: u64 = if cfg!(miri) { 50 } else { 200_000 };
        let lock = Lock::new(Pair::default());
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..TURNS).for_each(|_| lock.lock().count()));
            }
            (0..TURNS).for_each(|_| lock.lock().count());
        });
        assert_eq!(lock.owner.load(Relaxed), NOBODY);
        assert_eq!(lock.lock().0, 3 * TURNS);
    }

    #[test]
    fn others_have_their_turn_while_the_owner_is_away() {
        let lock = Lock::new(Pair::default());
        let clock = Clock::start();
        let deadline = clock.now().plus(Duration::from_secs(60));
        std::thread::scope(|scope| {
            let visitor = scope.spawn(|| {
                while clock.now() < deadline {
                    if let Some(mut pair) = lock.visit() {
                        pair.count();
                        return true;
                    }
                }
                false
            });
            let mut pair = lock.lock();
            while pair.0 == 0 && clock.now() < deadline {
                pair.unlocked(std::thread::yield_now);
            }
            assert_eq!(pair.0, 1);
            drop(pair);
            assert!(visitor.join().expect("it finds nothing wrong"));
        });
    }

    #[test]
    fn the_value_is_there_after_a_panic_outside() {
        let lock = Lock::new(Pair::default());
        let outcome = std::panic::catch_unwind(core::panic::AssertUnwindSafe(|| {
            lock.lock()
                .unlocked(|| std::panic::resume_unwind(Box::new(())));
        }));
        assert!(outcome.is_err());
        lock.lock().count();
    }
}
