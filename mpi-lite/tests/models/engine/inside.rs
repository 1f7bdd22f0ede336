//! One thread at a time is inside.

use super::lock::{Leave, Lock};
use crate::memory::{Memory, Span};
use crate::sync::{Bug, Role, check, interrupted};

/// What only one thread may touch at a time.
struct Lane(Span);

impl Leave for Lane {}

impl Lane {
    fn work(&mut self, by: u64) {
        self.0.fill(by);
        assert!(self.0.is(by));
    }
}

fn lane() -> &'static Lock<Lane> {
    Box::leak(Box::new(Lock::new(Lane(Memory::at(1 << 40, 1, 1).span()))))
}

/// What the owner and its visitors rely on.
const BUGS: [Bug; 5] = [
    Bug::NoBarrier,
    Bug::StoresRelaxed(Role::Inside),
    Bug::LoadsRelaxed(Role::Inside),
    Bug::StoresRelaxed(Role::Wanted),
    Bug::LoadsRelaxed(Role::Wanted),
];

#[test]
fn an_owner_and_a_visitor_are_not_inside_at_once() {
    check(&BUGS, || {
        let lock = lane();
        let visitor = loom::thread::spawn(move || {
            for _ in 0..2 {
                if let Some(mut lane) = lock.visit() {
                    lane.work(2);
                }
            }
        });
        interrupted(|| (0..2).for_each(|_| lock.lock().work(1)));
        visitor.join().expect("it ends");
        assert!(lock.is_owned());
    });
}

#[test]
fn an_owner_and_the_thread_that_ends_its_ownership_are_never_both_inside() {
    let bugs = [
        Bug::NoBarrier,
        Bug::StoresRelaxed(Role::Inside),
        Bug::LoadsRelaxed(Role::Inside),
    ];
    check(&bugs, || {
        let lock = lane();
        let second = loom::thread::spawn(move || (0..2).for_each(|_| lock.lock().work(2)));
        interrupted(|| (0..2).for_each(|_| lock.lock().work(1)));
        second.join().expect("it ends");
        assert!(!lock.is_owned());
    });
}
