//! Sleeping: a rank that has something to read, or room to write, does not sleep on.

use std::time::Duration;

use loom::sync::atomic::AtomicU32;
use loom::sync::atomic::Ordering::{Acquire, Release};

use super::reply_slot::ReplySlot;
use super::ring::{Consumer, Producer, SlotHeader};
use crate::node::doorbells::Doorbells;
use crate::node::segment::{Area, Pair, SLOTS};
use crate::node::wakeup::Wakeup;
use crate::sync::{Bug, Role, check, interrupted, is_planted};

const NOTE: SlotHeader = SlotHeader::new(1, 0);

/// How a rank wakes the one that sleeps.
struct Waker {
    wakeup: Wakeup,
    area: &'static Area,
    must_fence: bool,
}

impl Waker {
    fn wake(&self) {
        if !is_planted(Bug::NoWake) {
            self.wakeup.wake(1, self.area, self.must_fence);
        }
    }

    fn wake_with_ticker(&self) {
        if !is_planted(Bug::NoWake) {
            self.wakeup.wake_with_ticker(1, self.area);
        }
    }

    fn run(self, act: impl FnOnce(Self) + 'static) -> loom::thread::JoinHandle<()> {
        let is_interrupted = !self.must_fence;
        loom::thread::spawn(move || {
            if is_interrupted {
                interrupted(|| act(self));
            } else {
                act(self);
            }
        })
    }
}

struct Sleeper {
    wakeup: Wakeup,
    doorbell: Doorbells,
}

impl Sleeper {
    /// Sleeps until `is_there`, as `Waiting::sleep` does.
    fn sleep_until(&self, mut is_there: impl FnMut() -> bool) {
        while !is_there() {
            self.wakeup.begin();
            if is_planted(Bug::NoSecondLook) || !is_there() {
                self.doorbell.wait();
            }
            self.wakeup.end();
        }
    }

    /// The same while the program computes, as the ticker does.
    fn doze_until(&self, mut is_there: impl FnMut() -> bool) {
        let watch = self.wakeup.watch();
        loop {
            watch.begin();
            if !is_planted(Bug::NoSecondLook) && is_there() {
                return;
            }
            self.doorbell.wait();
            watch.end();
            self.doorbell.silence();
            if is_there() {
                return;
            }
        }
    }
}

/// Two ranks: one that wakes, one that sleeps.
fn two(is_oversubscribed: bool) -> (Waker, Sleeper) {
    let doorbells = Doorbells::of_two();
    let areas = [0, 1].map(|_| Area::leak());
    let [waker, sleeper] =
        [0, 1].map(|me| Wakeup::new(areas[me], doorbells[me], is_oversubscribed));
    let must_fence = waker.must_fence(areas[1]);
    assert_eq!(must_fence, is_oversubscribed);
    let waker = Waker {
        wakeup: waker,
        area: areas[1],
        must_fence,
    };
    let sleeper = Sleeper {
        wakeup: sleeper,
        doorbell: doorbells[1],
    };
    (waker, sleeper)
}

/// Two messages, each of which wakes its receiver.
fn wait_for_messages(
    is_oversubscribed: bool,
    wake: fn(&Waker),
    sleep_until: fn(&Sleeper, &mut dyn FnMut() -> bool),
) {
    const MESSAGES: usize = 2;
    let (waker, sleeper) = two(is_oversubscribed);
    let pair = Pair::leak();
    let sender = waker.run(move |waker| {
        let mut ring = Producer::new(pair, ReplySlot::new(&pair.reply, true), 2);
        for _ in 0..MESSAGES {
            assert!(ring.has_room(1, 0));
            ring.push(NOTE, [0]);
            wake(&waker);
        }
    });
    let mut ring = Consumer::new(pair, ReplySlot::new(&pair.reply, false), 2);
    for _ in 0..MESSAGES {
        sleep_until(&sleeper, &mut || ring.peek().is_some());
        ring.take(None);
    }
    sender.join().expect("it ends");
}

fn wait_for_short_messages(is_oversubscribed: bool) {
    wait_for_messages(is_oversubscribed, Waker::wake, |sleeper, is_there| {
        sleeper.sleep_until(is_there);
    });
}

/// A rank that computes: its ticker waits for long messages. Their sender fences, whichever side
/// pays for short ones.
fn wait_for_long_messages() {
    wait_for_messages(true, Waker::wake_with_ticker, |sleeper, is_there| {
        sleeper.doze_until(is_there);
    });
}

fn wait_for_room(is_oversubscribed: bool) {
    let (waker, sleeper) = two(is_oversubscribed);
    let pair = Pair::leak();
    let mut ring = Producer::new(pair, ReplySlot::new(&pair.reply, true), 2);
    for _ in 0..SLOTS {
        assert!(ring.has_room(1, 0));
        ring.push(NOTE, [0]);
    }
    let receiver = waker.run(move |waker| {
        let mut ring = Consumer::new(pair, ReplySlot::new(&pair.reply, false), 2);
        for _ in 0..2 {
            if ring.take(None) {
                waker.wake();
            }
        }
    });
    sleeper.sleep_until(|| ring.has_room(2, 0));
    receiver.join().expect("it ends");
}

/// A ticker that is parked when it is told to end, or about to be.
fn end_while_parked() {
    let (_, sleeper) = two(true);
    let watch = sleeper.wakeup.watch();
    let is_over: &AtomicU32 = Box::leak(Box::new(AtomicU32::new(0)));
    let ender = loom::thread::spawn(move || {
        is_over.store(1, Release);
        if !is_planted(Bug::NoWake) {
            watch.unpark();
        }
    });
    while is_over.load(Acquire) == 0 {
        let look = || !is_planted(Bug::NoSecondLook) && is_over.load(Acquire) != 0;
        let _ = watch.park(Duration::MAX, look);
    }
    ender.join().expect("it ends");
}

/// Ranks that share cores sleep all the time: both sides fence.
const OVERSUBSCRIBED: &[Bug] = &[
    Bug::NoFence { of_waker: true },
    Bug::NoFence { of_waker: false },
    Bug::NoSecondLook,
    Bug::NoWake,
];

/// Ranks with a core each: the sleeper pays for both.
const APART: &[Bug] = &[Bug::NoBarrier, Bug::NoSecondLook, Bug::NoWake];

#[test]
fn a_message_wakes_its_receiver_where_both_fence() {
    check(OVERSUBSCRIBED, || wait_for_short_messages(true));
}

#[test]
fn a_message_wakes_its_receiver_where_the_sleeper_fences() {
    check(APART, || wait_for_short_messages(false));
}

#[test]
fn room_wakes_its_sender_where_both_fence() {
    check(OVERSUBSCRIBED, || wait_for_room(true));
}

#[test]
fn room_wakes_its_sender_where_the_sleeper_fences() {
    check(APART, || wait_for_room(false));
}

#[test]
fn a_long_message_wakes_the_ticker_of_a_rank_that_computes() {
    check(OVERSUBSCRIBED, wait_for_long_messages);
}

#[test]
fn a_ticker_that_is_about_to_park_notices_the_end() {
    let bugs = [
        Bug::StoresRelaxed(Role::Attention),
        Bug::NoSecondLook,
        Bug::NoWake,
    ];
    check(&bugs, end_while_parked);
}
