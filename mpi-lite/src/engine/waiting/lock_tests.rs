//! The lock among real threads; in every order of their steps: `mpi-lite/tests/models/`.

use std::time::Duration;

use crate::clock::Clock;
use crate::engine::waiting::lock::{Leave, Lock};

/// Two words that are always equal, unless two threads have them at once.
#[derive(Default)]
struct Pair(u64, u64);

impl Leave for Pair {}

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
    assert!(!lock.is_owned());
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
