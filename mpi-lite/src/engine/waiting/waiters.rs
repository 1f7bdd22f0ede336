//! Several threads of the program that wait at once: one of them leads, the others follow.
//!
//! The leader takes turns for all. A follower notes what it waits for, and sleeps until that may
//! have happened, or until it must lead. One lock covers all of it: a follower enters the list
//! before it leaves the lock under which it looked, and a thread that leaves the lock calls the
//! followers for which something has changed under it. So no call is lost, whichever thread makes
//! the change.
//!
//! `lane::followers` defines what is behind the lock, `lead` how a thread leads. Decision 0046.

use std::os::fd::{AsFd as _, OwnedFd};
use std::time::Duration;

use super::lock::{Guard, Leave};
use crate::clock::Instant;
use crate::slab::Key;
use crate::sync::{Thread, current_thread, yield_now};

/// What a follower waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// The operation of this request has finished.
    Finished(Key),
    /// This many operations of the lane have finished.
    Count(u64),
    /// Anything has changed, in the lane or in the memory of the node. The leader does not watch
    /// the memory for others: it calls these before and after each sleep, and now and then.
    Change,
}

/// How often a thread that waits for any change looks before it sleeps.
const LOOKS_OF_FOLLOWER: u32 = 16;

/// A thread that sleeps until it is called.
#[derive(Debug)]
struct Follower {
    thread: Thread,
    until: Until,
}

/// The threads of the program that wait.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    /// One of them takes turns.
    is_led: bool,
    /// A follower was called to lead, and has not woken yet.
    is_next_leader_called: bool,
    followers: Vec<Follower>,
    /// The state of the lane when followers were last called.
    seen: Seen,
    /// The leader sleeps, and must be woken if this changes.
    sleep: Option<Sleep>,
    /// When the followers that wait for any change were last called.
    called_at: Option<Instant>,
    /// When a sleeper must look again, though nothing has come.
    look_again_at: Option<Instant>,
    /// Wakes the leader. There is one if several threads may wait.
    doorbell: Option<OwnedFd>,
    /// Sleeps of threads that waited.
    sleeps: u64,
}

/// How often a leader that does not sleep wakes the followers that wait for any change.
const CALL: Duration = Duration::from_micros(100);

/// What followers may wait for, as far as the lane can check it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    finished: u64,
    others: [u64; 3],
}

impl Seen {
    /// So many operations have finished; `others` are counts that change with anything else.
    pub(crate) fn new(finished: u64, others: [u64; 3]) -> Self {
        Self { finished, others }
    }
}

/// What a leader that went to sleep waits for, and the state of the lane then.
#[derive(Clone, Copy, Debug)]
struct Sleep {
    awaits: Until,
    until: Option<Instant>,
    wants_room: bool,
}

/// Returns something if what a thread waits for has happened.
// Not generic: a thread that is alone has the code of its turns to itself, as it must be quick.
pub(crate) type Ready<'a, L, T> = &'a mut dyn FnMut(&mut L) -> Option<T>;

/// What is behind the lock under which threads wait.
pub(crate) trait Shared: Leave {
    /// The threads that wait.
    fn waiters(&mut self) -> &mut Waiters;

    /// Calls the followers for which something may have changed.
    fn tell_waiters(&mut self);

    /// Notes that a follower that waits for `until` is about to sleep. Returns when it must look
    /// again at the latest.
    fn note_follower(&mut self, until: Until) -> Option<Instant>;
}

impl Waiters {
    /// Returns true if a thread leads.
    #[inline]
    pub(crate) fn is_led(&self) -> bool {
        self.is_led
    }

    /// How many threads follow.
    pub(crate) fn followers(&self) -> usize {
        self.followers.len()
    }

    /// Calls the followers for whose condition `is_met` holds.
    pub(crate) fn call_if(&mut self, mut is_met: impl FnMut(Until) -> bool) {
        self.followers.retain(|follower| {
            let is_met = is_met(follower.until);
            if is_met {
                follower.thread.unpark();
            }
            !is_met
        });
    }

    /// Calls the followers for which something may have changed. Returns true if what a sleeping
    /// leader waits for may have happened.
    pub(crate) fn tell(&mut self, seen: Seen, has_finished: impl Fn(Key) -> bool) -> bool {
        if seen == self.seen {
            return false;
        }
        self.seen = seen;
        let may_be_over = |until| match until {
            Until::Finished(one) => has_finished(one),
            Until::Count(count) => count <= seen.finished,
            Until::Change => true,
        };
        self.call_if(may_be_over);
        self.sleep.is_some_and(|sleep| may_be_over(sleep.awaits))
    }

    /// Calls the followers whose condition the lane cannot check.
    fn call_to_look(&mut self) {
        self.call_if(|until| until == Until::Change);
    }

    /// Returns true if the leader, which does not sleep, has not called all followers for long. It
    /// does now: [`Waiters::tell`] must follow.
    pub(crate) fn call_now_and_then(&mut self, now: Instant) -> bool {
        let is_due = |at: Instant| now.since(at) >= CALL;
        let is_due = self.called_at.is_none_or(is_due);
        if is_due {
            self.called_at = Some(now);
            self.call_to_look();
        }
        is_due
    }

    /// Allows several threads. `doorbell` wakes the one that leads.
    pub(crate) fn allow_several(&mut self, doorbell: OwnedFd) {
        self.doorbell = Some(doorbell);
    }

    /// Returns true if several threads may wait.
    pub(crate) fn may_be_several(&self) -> bool {
        self.doorbell.is_some()
    }

    /// Notes that the leader, which waits for `awaits`, is about to sleep until then. `wants_room`:
    /// a message was not taken in. Local peers wake it already.
    pub(crate) fn begin_sleep(&mut self, awaits: Until, until: Option<Instant>, wants_room: bool) {
        self.sleep = Some(Sleep {
            awaits,
            until,
            wants_room,
        });
        self.call_to_look();
    }

    pub(crate) fn end_sleep(&mut self) {
        self.sleep = None;
        self.call_to_look();
    }

    /// Returns true if the leader sleeps.
    pub(crate) fn is_leader_asleep(&self) -> bool {
        self.sleep.is_some()
    }

    /// Returns true if the leader sleeps, and for longer than the lane may: until `wake_at`; or it
    /// does not know that a message was not taken in.
    pub(crate) fn oversleeps(&self, wake_at: Option<Instant>, wants_room: bool) -> bool {
        self.sleep.is_some_and(|sleep| {
            let is_earlier = |at| sleep.until.is_none_or(|until| at < until);
            wake_at.is_some_and(is_earlier) || (wants_room && !sleep.wants_room)
        })
    }

    /// Wakes the leader from its sleep.
    pub(crate) fn wake_leader(&mut self) {
        if let Some(doorbell) = &self.doorbell {
            self.sleep = None;
            let _ = rustix::io::write(doorbell.as_fd(), &1u64.to_ne_bytes());
        }
    }

    /// Counts a sleep of a thread.
    pub(crate) fn note_sleep(&mut self) {
        self.sleeps += 1;
    }

    /// How often threads that waited have slept.
    pub(crate) fn sleeps(&self) -> u64 {
        self.sleeps
    }

    /// When a sleeper must look again, though nothing has come.
    pub(crate) fn look_again_at(&self) -> Option<Instant> {
        self.look_again_at
    }

    /// Sets when a sleeper must look again. The thread that looks sets it for itself.
    pub(crate) fn look_again(&mut self, at: Option<Instant>) {
        self.look_again_at = at;
    }

    /// Takes the time when a follower that waits for `until` must look again.
    pub(crate) fn take_look_again(&mut self, until: Until) -> Option<Instant> {
        let look_again_at = self.look_again_at.take();
        look_again_at.filter(|_| until == Until::Change)
    }

    /// Nobody leads any more, or the thread that may have been called to lead does not: calls
    /// another one.
    fn pass_on(&mut self) {
        if self.is_led || self.is_next_leader_called {
            return;
        }
        if let Some(next) = self.followers.pop() {
            self.is_next_leader_called = true;
            next.thread.unpark();
        }
    }
}

/// Waits as one of several threads, after it has looked in vain. If no thread leads this one does,
/// by `lead`, which returns what it is `ready` with; else it follows, and sleeps in `park`, which
/// returns when the thread is unparked, at that time at the latest, or earlier.
pub(crate) fn wait<L: Shared, T>(
    lane: &mut Guard<'_, L>,
    until: &dyn Fn(&L) -> Until,
    ready: Ready<'_, L, T>,
    park: &dyn Fn(Option<Instant>),
    lead: impl FnOnce(&mut Guard<'_, L>, Ready<'_, L, T>) -> T,
) -> T {
    while lane.waiters().is_led {
        let until = until(lane);
        if let Some(answer) = follow(lane, until, ready, park) {
            lane.waiters().pass_on();
            return answer;
        }
    }
    lane.waiters().is_led = true;
    let answer = lead(lane, ready);
    lane.tell_waiters();
    lane.waiters().is_led = false;
    lane.waiters().pass_on();
    answer
}

/// Sleeps as a follower, and looks.
fn follow<L: Shared, T>(
    lane: &mut Guard<'_, L>,
    until: Until,
    ready: Ready<'_, L, T>,
    park: &dyn Fn(Option<Instant>),
) -> Option<T> {
    if until == Until::Change {
        for _ in 0..LOOKS_OF_FOLLOWER {
            lane.unlocked(yield_now);
            if let Some(answer) = ready(lane) {
                return Some(answer);
            }
        }
        if !lane.waiters().is_led {
            return None;
        }
    }
    let latest = lane.note_follower(until);
    let thread = current_thread();
    let me = thread.id();
    lane.waiters().followers.push(Follower { thread, until });
    lane.unlocked(|| park(latest));
    let waiters = lane.waiters();
    waiters.is_next_leader_called = false;
    waiters.followers.retain(|other| other.thread.id() != me);
    ready(lane)
}
