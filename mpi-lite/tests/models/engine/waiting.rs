//! Of the threads that wait one leads, and none sleeps on when what it waits for has happened.

use super::lock::{Guard, Leave, Lock};
use super::waiters::{self, Ready, Shared, Until, Waiters};
use crate::clock::Instant;
use crate::memory::{Memory, Span};
use crate::node::doorbells::Doorbells;
use crate::sync::{Bug, check, is_planted};

/// The leader finishes the messages that have come, one after the other.
struct Lane {
    come: u64,
    finished: u64,
    waiters: Waiters,
    is_leader_asleep: bool,
    doorbells: Doorbells,
    bytes: Span,
}

impl Leave for Lane {
    fn before_leave(&mut self) {
        if self.waiters.is_led() {
            self.tell_waiters();
        }
    }
}

impl Shared for Lane {
    fn waiters(&mut self) -> &mut Waiters {
        &mut self.waiters
    }

    fn tell_waiters(&mut self) {
        let finished = self.finished;
        self.waiters.call_if(|until| match until {
            Until::Count(count) => count <= finished,
            Until::Finished(_) | Until::Change => unreachable!("they wait for counts"),
        });
        if self.is_leader_asleep && self.come > 0 && !is_planted(Bug::NoWake) {
            self.is_leader_asleep = false;
            self.doorbells.ring(0);
        }
    }

    fn note_follower(&mut self, _: Until) -> Option<Instant> {
        None
    }
}

fn lane() -> &'static Lock<Lane> {
    let [doorbells, _] = Doorbells::of_two();
    let lock = Lock::new(Lane {
        come: 0,
        finished: 0,
        waiters: Waiters::default(),
        is_leader_asleep: false,
        doorbells,
        bytes: Memory::at(1 << 40, 1, 1).span(),
    });
    lock.share();
    Box::leak(Box::new(lock))
}

fn lead(lane: &mut Guard<'_, Lane>, ready: Ready<'_, Lane, ()>) {
    loop {
        if lane.come > 0 {
            lane.come -= 1;
            lane.finished += 1;
            lane.bytes.fill(lane.finished);
        }
        if ready(lane).is_some() {
            return;
        }
        lane.tell_waiters();
        if lane.come == 0 {
            lane.is_leader_asleep = true;
            let doorbells = lane.doorbells;
            lane.unlocked(|| {
                doorbells.wait();
                doorbells.silence();
            });
            lane.is_leader_asleep = false;
        }
    }
}

/// Waits until `count` messages are finished.
fn wait_for(lock: &Lock<Lane>, count: u64) {
    let mut ready = |lane: &mut Lane| (lane.finished >= count).then_some(());
    let mut lane = lock.lock();
    if ready(&mut lane).is_none() {
        let park = |_: Option<Instant>| loom::thread::park();
        let until = |_: &Lane| Until::Count(count);
        waiters::wait(&mut lane, &until, &mut ready, &park, lead);
    }
    assert!(lane.bytes.is(lane.finished));
}

/// Each thread waits for as many of these messages as its count says; the thread from which they
/// come waits last, for `last` of them.
fn threads_wait_for(counts: &'static [u64], messages: u64, last: u64) {
    let lock = lane();
    let wait = |&count| loom::thread::spawn(move || wait_for(lock, count));
    let waiting: Vec<_> = counts.iter().map(wait).collect();
    for _ in 0..messages {
        lock.lock().come += 1;
    }
    wait_for(lock, last);
    for thread in waiting {
        thread.join().expect("it ends");
    }
    let lane = lock.lock();
    assert!(!lane.waiters.is_led() && lane.waiters.followers() == 0);
}

const BUGS: [Bug; 2] = [Bug::NoCall, Bug::NoWake];

#[test]
fn a_leader_passes_on_and_calls_the_threads_whose_message_has_come() {
    check(&BUGS, || threads_wait_for(&[1, 2], 2, 0));
}

#[test]
fn a_thread_that_is_called_twice_passes_the_second_call_on() {
    check(&BUGS, || threads_wait_for(&[1, 2, 3], 3, 2));
}
