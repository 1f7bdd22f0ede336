//! Atomics, fences and barriers of the models: loom's, weakened where a mistake is planted.
#![expect(
    unsafe_code,
    reason = "a method that is unsafe where the library has it from"
)]

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use loom::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use loom::sync::atomic::{self as of_loom};

/// What an atomic is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Sequence,
    Word,
    Taken,
    Attention,
    NeedsFence,
    Place,
    Claims,
    Copied,
    Failed,
    Inside,
    Wanted,
    Come,
    Count,
}

/// A mistake that a model must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// Stores, and changes, order nothing.
    StoresRelaxed(Role),
    /// Loads order nothing.
    LoadsRelaxed(Role),
    /// A change tells others nothing of what was before it.
    Unreleased(Role),
    /// A change learns nothing of what others did before it.
    Unacquired(Role),
    /// A number is read as one more than it is.
    OneTooMany(Role),
    /// What is compared may have changed before it is exchanged.
    Torn(Role),
    /// A fence does nothing.
    NoFence { of_waker: bool },
    /// membarrier does nothing.
    NoBarrier,
    /// A thread that goes to sleep does not look once more.
    NoSecondLook,
    /// The other side is not told that there is something.
    NoWake,
    /// A thread that is called sleeps on.
    NoCall,
    /// Both sides begin with the reply slot.
    TwoReplySlots,
}

thread_local! {
    /// All threads of a model are one thread of the system.
    static PLANTED: Cell<Option<Bug>> = const { Cell::new(None) };
    static MAIN: Cell<Option<loom::thread::ThreadId>> = const { Cell::new(None) };
    static FLAGS: Cell<usize> = const { Cell::new(0) };
    static THREADS: Cell<usize> = const { Cell::new(0) };
    static MACHINE: Cell<Option<&'static Machine>> = const { Cell::new(None) };
}

loom::thread_local! {
    static NUMBER: usize = THREADS.replace(THREADS.get() + 1) + 1;
    static IS_INTERRUPTED: Cell<bool> = Cell::new(false);
}

pub(crate) fn is_planted(bug: Bug) -> bool {
    PLANTED.get() == Some(bug)
}

fn explore(bug: Option<Bug>, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(2));
    builder.max_branches = builder.max_branches.max(20_000);
    builder.check(move || {
        PLANTED.set(bug);
        FLAGS.set(0);
        THREADS.set(0);
        MAIN.set(Some(loom::thread::current().id()));
        let machine = Machine {
            asked: of_loom::AtomicU32::new(0),
            passed: of_loom::AtomicU32::new(0),
            futex: loom::sync::Mutex::new(()),
            woken: loom::sync::Condvar::new(),
        };
        MACHINE.set(Some(Box::leak(Box::new(machine))));
        model();
    });
}

/// Tries all that may happen in `model`; then that none of `bugs` goes unnoticed in it.
pub(crate) fn check(bugs: &[Bug], model: impl Fn() + Copy + Send + Sync + 'static) {
    explore(None, model);
    for &bug in bugs {
        let found = catch_unwind(AssertUnwindSafe(|| explore(Some(bug), model)));
        assert!(found.is_err(), "{bug:?} goes unnoticed");
    }
}

fn when_stored(role: Role, order: Ordering) -> Ordering {
    if is_planted(Bug::StoresRelaxed(role)) {
        Relaxed
    } else {
        order
    }
}

fn when_changed(role: Role, order: Ordering) -> Ordering {
    match when_stored(role, order) {
        AcqRel if is_planted(Bug::Unreleased(role)) => Acquire,
        AcqRel if is_planted(Bug::Unacquired(role)) => Release,
        order => order,
    }
}

fn when_loaded(role: Role, order: Ordering) -> Ordering {
    if is_planted(Bug::LoadsRelaxed(role)) {
        Relaxed
    } else {
        order
    }
}

macro_rules! atomic {
    ($name:ident, $word:ty) => {
        /// An atomic word.
        #[derive(Debug)]
        pub(crate) struct $name {
            word: of_loom::$name,
            role: Role,
        }

        #[allow(dead_code, reason = "not every word is used in every way")]
        impl $name {
            pub(crate) fn new(role: Role) -> Self {
                let word = of_loom::$name::new(0);
                Self { word, role }
            }

            pub(crate) fn load(&self, order: Ordering) -> $word {
                interrupt();
                let more = <$word>::from(is_planted(Bug::OneTooMany(self.role)));
                self.word.load(when_loaded(self.role, order)) + more
            }

            pub(crate) fn store(&self, word: $word, order: Ordering) {
                interrupt();
                self.word.store(word, when_stored(self.role, order));
            }

            pub(crate) fn fetch_or(&self, bits: $word, order: Ordering) -> $word {
                interrupt();
                self.word.fetch_or(bits, when_stored(self.role, order))
            }

            pub(crate) fn fetch_and(&self, bits: $word, order: Ordering) -> $word {
                interrupt();
                self.word.fetch_and(bits, when_stored(self.role, order))
            }

            pub(crate) fn fetch_add(&self, more: $word, order: Ordering) -> $word {
                interrupt();
                self.word.fetch_add(more, when_changed(self.role, order))
            }

            pub(crate) fn compare_exchange_weak(
                &self,
                old: $word,
                new: $word,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$word, $word> {
                interrupt();
                if is_planted(Bug::Torn(self.role)) {
                    let seen = self.word.load(failure);
                    if seen != old {
                        return Err(seen);
                    }
                    self.word.store(new, success_of_store(success));
                    return Ok(old);
                }
                let success = when_stored(self.role, success);
                self.word.compare_exchange_weak(old, new, success, failure)
            }
        }
    };
}

atomic!(AtomicU32, u32);
atomic!(AtomicU64, u64);

fn success_of_store(order: Ordering) -> Ordering {
    match order {
        AcqRel => Release,
        Acquire => Relaxed,
        order => order,
    }
}

pub(crate) fn fence(order: Ordering) {
    interrupt();
    let of_waker = loom::thread::current().id() != MAIN.get().expect("a model is running");
    if !is_planted(Bug::NoFence { of_waker }) {
        of_loom::fence(order);
    }
}

/// The processor does not see it.
pub(crate) fn compiler_fence(_: Ordering) {
    interrupt();
}

/// The flags of a lock: the first one that is made says that its owner is inside, the second one
/// that another thread wants to be.
#[derive(Debug)]
pub(crate) struct AtomicBool(AtomicU32);

impl AtomicBool {
    pub(crate) fn new(is_set: bool) -> Self {
        assert!(!is_set, "no flag begins so");
        let role = if FLAGS.replace(FLAGS.get() + 1).is_multiple_of(2) {
            Role::Inside
        } else {
            Role::Wanted
        };
        Self(AtomicU32::new(role))
    }

    pub(crate) fn load(&self, order: Ordering) -> bool {
        self.0.load(order) != 0
    }

    pub(crate) fn store(&self, is_set: bool, order: Ordering) {
        self.0.store(u32::from(is_set), order);
    }
}

/// The owner of a lock.
#[derive(Debug)]
pub(crate) struct AtomicUsize(of_loom::AtomicUsize);

impl AtomicUsize {
    pub(crate) fn new(word: usize) -> Self {
        Self(of_loom::AtomicUsize::new(word))
    }

    pub(crate) fn load(&self, order: Ordering) -> usize {
        interrupt();
        self.0.load(order)
    }

    pub(crate) fn store(&self, word: usize, order: Ordering) {
        interrupt();
        self.0.store(word, order);
    }
}

/// A mutex that a thread can unlock after it has forgotten its guard. A thread that waits for it is
/// blocked, since loom would let threads that spin take turns for ever; but a thread that passes
/// the barriers of others goes on passing them.
#[derive(Debug)]
pub(crate) struct Mutex<T> {
    is_locked: loom::sync::Mutex<bool>,
    unlocked: loom::sync::Condvar,
    _value: T,
}

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self {
            is_locked: loom::sync::Mutex::new(false),
            unlocked: loom::sync::Condvar::new(),
            _value: value,
        }
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        interrupt();
        let mut is_locked = self.is_locked.lock().expect("no panic");
        let was_locked = std::mem::replace(&mut *is_locked, true);
        (!was_locked).then(|| MutexGuard(self))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        while IS_INTERRUPTED.with(Cell::get) {
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            loom::thread::yield_now();
        }
        let mut is_locked = self.is_locked.lock().expect("no panic");
        while *is_locked {
            is_locked = self.unlocked.wait(is_locked).expect("no panic");
        }
        *is_locked = true;
        MutexGuard(self)
    }

    /// # Safety
    /// None: a wrong call is a wrong model.
    pub(crate) unsafe fn force_unlock(&self) {
        interrupt();
        *self.is_locked.lock().expect("no panic") = false;
        self.unlocked.notify_one();
    }
}

/// Unlocks it, unless it is forgotten.
#[derive(Debug)]
pub(crate) struct MutexGuard<'a, T>(&'a Mutex<T>);

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        // SAFETY: a model.
        unsafe { self.0.force_unlock() };
    }
}

pub(crate) fn yield_now() {
    interrupt();
    loom::thread::yield_now();
}

/// A number of this thread, never 0.
pub(crate) fn this_thread() -> usize {
    NUMBER.with(|number| *number)
}

/// A thread that may be parked.
#[derive(Debug)]
pub(crate) struct Thread(loom::thread::Thread);

impl Thread {
    pub(crate) fn unpark(&self) {
        interrupt();
        if !is_planted(Bug::NoCall) {
            self.0.unpark();
        }
    }

    pub(crate) fn id(&self) -> loom::thread::ThreadId {
        self.0.id()
    }
}

pub(crate) fn current_thread() -> Thread {
    Thread(loom::thread::current())
}

/// The commands of membarrier(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Barrier {
    Everybody,
    JoinEverybody,
    Own,
    JoinOwn,
}

/// How membarrier(2) reaches the other side.
#[derive(Debug)]
struct Machine {
    /// How often it was called.
    asked: of_loom::AtomicU32,
    /// How many of these calls the other side has heard.
    passed: of_loom::AtomicU32,
    /// Locked by threads that sleep on a word or wake sleepers, whichever word it is.
    futex: loom::sync::Mutex<()>,
    woken: loom::sync::Condvar,
}

fn machine() -> &'static Machine {
    MACHINE.get().expect("a model is running")
}

/// What membarrier(2) guarantees, and no more: between the call and the answer every other running
/// thread passes a full barrier, somewhere between two of its steps; so does the caller at both
/// ends. Which two steps those are loom chooses: see [`interrupt`].
pub(crate) fn membarrier(barrier: Barrier) -> bool {
    let joins = matches!(barrier, Barrier::JoinEverybody | Barrier::JoinOwn);
    if joins || is_planted(Bug::NoBarrier) {
        return true;
    }
    let machine = machine();
    of_loom::fence(SeqCst);
    let calls = machine.asked.fetch_add(1, AcqRel) + 1;
    while machine.passed.load(Acquire) < calls {
        loom::thread::yield_now();
    }
    of_loom::fence(SeqCst);
    true
}

/// futex(2), without its time-out: what must be noticed is not to be noticed late.
pub(crate) fn sleep_on(word: &AtomicU32, seen: u32, _: Duration) {
    let machine = machine();
    let sleeping = machine.futex.lock().expect("no panic");
    if word.load(SeqCst) == seen {
        drop(machine.woken.wait(sleeping).expect("no panic"));
    }
}

pub(crate) fn wake_from(_: &AtomicU32) {
    let machine = machine();
    let _sleeping = machine.futex.lock().expect("no panic");
    machine.woken.notify_one();
}

/// Before each step of a thread that others may interrupt: perhaps one has.
pub(crate) fn interrupt() {
    if !IS_INTERRUPTED.with(Cell::get) {
        return;
    }
    let machine = machine();
    let asked = machine.asked.load(Acquire);
    if machine.passed.load(Relaxed) < asked {
        of_loom::fence(SeqCst);
        machine.passed.store(asked, Release);
    }
}

/// Runs a thread of the model that passes the barriers of the other one.
pub(crate) fn interrupted(act: impl FnOnce()) {
    IS_INTERRUPTED.with(|is| is.set(true));
    act();
    // A thread that does not run has passed every barrier.
    of_loom::fence(SeqCst);
    machine().passed.store(u32::MAX, Release);
}
